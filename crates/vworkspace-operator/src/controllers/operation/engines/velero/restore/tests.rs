use super::super::testing::*;
use super::*;
use crate::controllers::operation::MANAGED_BY;
use crate::controllers::operation::engines::{Ending, Outcome, Progress};
use operator_kit::Dependents;
use serde_json::{Value, json};
use std::sync::Arc;
use vworkspace_api::operation::Failed;

/// What is never brought back, as Velero is told.
fn never() -> Value {
    json!([
        "operations.ops.vworkspace.io",
        "applicationinstances.apps.vworkspace.io",
        "helmreleases.helm.toolkit.fluxcd.io",
        "helmcharts.source.toolkit.fluxcd.io",
        "helmrepositories.source.toolkit.fluxcd.io",
        "ocirepositories.source.toolkit.fluxcd.io",
        "gitrepositories.source.toolkit.fluxcd.io",
        "buckets.source.toolkit.fluxcd.io",
        "externalartifacts.source.toolkit.fluxcd.io",
        "kustomizations.kustomize.toolkit.fluxcd.io",
        "alerts.notification.toolkit.fluxcd.io",
        "providers.notification.toolkit.fluxcd.io",
        "receivers.notification.toolkit.fluxcd.io",
        "imagepolicies.image.toolkit.fluxcd.io",
        "imagerepositories.image.toolkit.fluxcd.io",
        "imageupdateautomations.image.toolkit.fluxcd.io",
        "events",
        "events.events.k8s.io",
        "nodes",
        "csinodes.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "backups.velero.io",
        "restores.velero.io",
        "backuprepositories.velero.io"
    ])
}

fn of_namespaces(namespaces: &[&str]) -> Backup {
    let mut backup = backup(&json!({"phase": "Completed"}));
    backup.spec.included_namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
    backup
}

fn child(spec: &Value) -> Child {
    let (label, value) = MANAGED_BY;
    Child::new::<Restore>(&key()).labels([(label.to_owned(), value.to_owned())].into()).spec(spec)
}

fn asked(parameters: &Value) -> (Operation, RestoreParameters) {
    let operation = operation(&json!({"type": "Restore", "parameters": parameters}));
    match operation.spec.request().unwrap() {
        vworkspace_api::operation::Request::Restore(parameters) => (operation, parameters),
        other => panic!("it is a restore: {other:?}"),
    }
}

#[test]
fn a_restore_in_place_brings_back_its_own_namespace() {
    let (operation, parameters) = asked(&json!({"backupName": "before"}));
    let made = RestoreWork { parameters, ..restore_work() }.start(&operation);
    let expected =
        json!({"backupName": "before", "includedNamespaces": ["shop"], "excludedResources": never()});
    assert_eq!(made, [child(&expected)]);
}

#[test]
fn a_restore_of_another_namespace_is_mapped_and_leaves_helms_records_out() {
    let (operation, parameters) = asked(
        &json!({"backupName": "before", "restorePVs": false, "existingResourcePolicy": "update",
        "namespaceMapping": {"old": "shop"}, "includedResources": ["secrets"], "excludedResources": ["pods", "events"]}),
    );
    let backup = Some(Sight::Present(of_namespaces(&["old"])));
    let made = RestoreWork { parameters, backup, ..restore_work() }.start(&operation);
    let mut excluded = vec![json!("pods"), json!("events")];
    excluded.extend(never().as_array().unwrap().iter().filter(|kind| **kind != "events").cloned());
    let expected = json!({"backupName": "before", "includedNamespaces": ["old"], "namespaceMapping": {"old": "shop"},
        "includedResources": ["secrets"], "excludedResources": excluded, "restorePVs": false, "existingResourcePolicy": "update",
        "labelSelector": {"matchExpressions": [{"key": "owner", "operator": "NotIn", "values": ["helm"]}]}});
    assert_eq!(made, [child(&expected)]);
}

#[test]
fn nothing_is_made_of_a_backup_that_is_not_of_one_namespace() {
    for namespaces in [&[][..], &["shop", "bank"], &["*"], &["shop*"], &[""]] {
        let backup = Some(Sight::Present(of_namespaces(namespaces)));
        let work = RestoreWork { backup, ..restore_work() };
        assert_eq!(work.start(&operation(&json!({"type": "Restore"}))), [], "{namespaces:?}");
    }
    assert_eq!(
        RestoreWork { backup: None, ..restore_work() }.start(&operation(&json!({"type": "Restore"}))),
        []
    );
}

#[test]
fn a_restore_takes_only_what_its_namespace_may_have() {
    let allowed = |others: &[&str]| Origin::LetsInto(others.iter().map(|name| (*name).to_owned()).collect());
    let of = |namespaces: &[&str], origin| RestoreWork {
        backup: Some(Sight::Present(of_namespaces(namespaces))),
        origin,
        ..restore_work()
    };
    let seen = |backup| RestoreWork { backup, ..restore_work() };
    let in_phase = |phase: &str| seen(Some(Sight::Present(backup(&json!({"phase": phase})))));
    let mapped = |from: &str, to: &str| {
        let mut work = of(&["old"], allowed(&["shop"]));
        work.parameters.namespace_mapping = [(from.to_owned(), to.to_owned())].into();
        work
    };
    let table = [
        ("its own", restore_work(), Ok(true)),
        ("not everything worked", in_phase("PartiallyFailed"), Ok(true)),
        ("let in", of(&["old"], allowed(&["bank", "shop"])), Ok(true)),
        ("mapped as it is anyway", mapped("old", "shop"), Ok(true)),
        ("without Velero", seen(Some(Sight::NotInstalled)), Ok(true)),
        ("not seen yet", seen(None), Ok(false)),
        ("its namespace not seen yet", of(&["old"], Origin::NotYet), Ok(false)),
        (
            "another tenant's",
            of(&["bank"], allowed(&["elsewhere"])),
            Err("found Backup before of namespace bank; expected one of namespace shop, or annotation \
                 ops.vworkspace.io/restore-to: shop on namespace bank"),
        ),
        (
            "another tenant's, which lets nobody in",
            of(&["bank"], allowed(&[""])),
            Err("found Backup before of namespace bank; "),
        ),
        (
            "of a namespace that is gone",
            of(&["bank"], Origin::Absent),
            Err("found Backup before of namespace bank, which does not exist"),
        ),
        (
            "of one that cannot be seen",
            of(&["bank"], Origin::Unknown("forbidden".to_owned())),
            Err(
                "whether namespace bank lets Backup before be restored into namespace shop cannot be seen: forbidden",
            ),
        ),
        (
            "of all",
            of(&[], allowed(&["shop"])),
            Err("found Backup before of all namespaces; expected one of a single"),
        ),
        (
            "of several",
            of(&["shop", "bank"], Origin::NotYet),
            Err("found Backup before of namespaces 'shop, bank'; "),
        ),
        (
            "of a pattern",
            of(&["sho?"], allowed(&["shop"])),
            Err("found Backup before of namespaces 'sho?'; "),
        ),
        (
            "absent",
            seen(Some(Sight::Absent)),
            Err("found no Backup before in namespace velero; expected the name of one"),
        ),
        (
            "unreadable",
            seen(Some(Sight::Unreadable("why".to_owned()))),
            Err("Backup before in namespace velero cannot be read: why"),
        ),
        ("without a phase", in_phase(""), Err("found Backup before without a phase")),
        (
            "still running",
            in_phase("InProgress"),
            Err("found Backup before in phase InProgress; expected one that has completed"),
        ),
        ("failed", in_phase("Failed"), Err("found Backup before in phase Failed")),
    ];
    for (name, work, expected) in table {
        let told = work.permission(&operation(&json!({"type": "Restore"})));
        match expected {
            Ok(is_seen) => {
                let expected = if is_seen { Permission::Granted } else { Permission::Unseen };
                assert_eq!(told, expected, "{name}");
            }
            Err(words) => {
                let words = format!("spec.parameters.backupName: {words}");
                assert!(
                    matches!(&told, Permission::Refused(why) if why.starts_with(&words)),
                    "{name}: {told:?}"
                );
            }
        }
    }
    for (work, expected) in [
        (
            mapped("old", "bank"),
            "spec.parameters.namespaceMapping.old: found 'bank'; expected 'shop', the namespace of the operation",
        ),
        (
            mapped("bank", "shop"),
            "spec.parameters.namespaceMapping: found 'bank'; expected only 'old', which Backup before is of",
        ),
    ] {
        let told = work.permission(&operation(&json!({"type": "Restore"})));
        assert_eq!(told, Permission::Refused(expected.to_owned()));
    }
}

#[test]
fn our_own_kinds_cannot_be_asked_for() {
    let mut work = restore_work();
    work.parameters.included_resources = vec!["helmreleases.helm.toolkit.fluxcd.io".to_owned()];
    let told = work.permission(&operation(&json!({"type": "Restore"})));
    assert!(
        matches!(told, Permission::Refused(why) if why.contains("found 'helmreleases.helm.toolkit.fluxcd.io'"))
    );
}

#[test]
fn a_namespace_says_whom_it_lets_in() {
    let namespace = |annotations: Value| {
        let object = json!({"metadata": {"name": "old", "annotations": annotations}});
        Arc::new(serde_json::from_value::<DynamicObject>(object).unwrap())
    };
    let into = |annotations| match Origin::of(&Found::Objects(vec![namespace(annotations)])) {
        Origin::LetsInto(others) => others,
        other => panic!("{other:?}"),
    };
    assert_eq!(into(json!({"ops.vworkspace.io/restore-to": "shop, bank"})), ["shop", "bank"]);
    assert_eq!(into(json!({"other": "shop"})), [""], "which is no namespace");
    let none: Found<Arc<DynamicObject>> = Found::Objects(Vec::new());
    assert_eq!(Origin::of(&none), Origin::Absent);
    assert_eq!(Origin::of(&Found::<Arc<DynamicObject>>::NotYet), Origin::NotYet);
}

#[test]
fn the_backup_is_looked_at_and_its_namespace_if_that_is_another() {
    let operation = operation(&json!({"type": "Restore"}));
    let backup = TemporaryWatch::of::<Backup>(Selection::named("before").within("velero"));
    let origin = TemporaryWatch::of::<Namespace>(Selection::named("old").metadata_only());
    let of = |namespaces: &[&str]| RestoreWork {
        backup: Some(Sight::Present(of_namespaces(namespaces))),
        ..restore_work()
    };
    assert_eq!(
        RestoreWork { backup: None, ..restore_work() }.temporary_watches(&operation),
        std::slice::from_ref(&backup)
    );
    assert_eq!(restore_work().temporary_watches(&operation), std::slice::from_ref(&backup));
    assert_eq!(of(&["old"]).temporary_watches(&operation), [backup.clone(), origin]);
    assert_eq!(of(&["old*"]).temporary_watches(&operation), [backup], "no pattern is a name");
}

#[test]
fn what_is_missing_is_named() {
    let missing = "Velero is not installed: this cluster has no kind restores.velero.io.";
    let locations = locations(vec![location(
        "default",
        &json!({"accessMode": "ReadOnly"}),
        &json!({"phase": "Available"}),
    )]);
    let mut gone = of_namespaces(&["shop"]);
    gone.spec.storage_location = "cold".to_owned();
    let table = [
        (restore_work(), None),
        (RestoreWork { locations, ..restore_work() }, None),
        (RestoreWork { restore: Sight::NotInstalled, ..restore_work() }, Some(missing)),
        (RestoreWork { backup: Some(Sight::NotInstalled), ..restore_work() }, Some(missing)),
        (RestoreWork { backup: None, ..restore_work() }, None),
        (
            RestoreWork { backup: Some(Sight::Present(gone)), ..restore_work() },
            Some("Velero has no BackupStorageLocation cold in namespace velero."),
        ),
    ];
    for (work, expected) in table {
        assert_eq!(work.lacks().as_deref(), expected);
    }
}

fn seen(status: &Value) -> RestoreWork {
    RestoreWork { restore: Sight::Present(restore(status)), ..restore_work() }
}

#[test]
fn what_has_not_ended_says_how_far_it_is() {
    for status in [json!({}), json!({"phase": "New"})] {
        let State::Waiting(progress) = seen(&status).state() else { panic!("{status}") };
        let table = [
            (0, "Restore nightly waits for Velero."),
            (
                30,
                "Velero has not picked up Restore nightly for more than 30 s: it brings one backup back after the other.",
            ),
            (
                180,
                "Velero is not running? It has not picked up Restore nightly, and last looked at BackupStorageLocation \
                 default at 2026-11-15T06:00:00Z.",
            ),
        ];
        for (seconds, expected) in table {
            assert_eq!(progress.clone().at(after(seconds)).message, expected);
        }
    }
    let table = [
        ("InProgress", json!({}), "Restore nightly runs: 0 % of the items."),
        (
            "InProgress",
            json!({"totalItems": 8, "itemsRestored": 4}),
            "Restore nightly runs: 50 % of the items.",
        ),
        (
            "Finalizing",
            json!({"totalItems": 8, "itemsRestored": 8}),
            "Restore nightly runs: 100 % of the items.",
        ),
        (
            "FinalizingPartiallyFailed",
            json!({"totalItems": 8, "itemsRestored": 8}),
            "Restore nightly runs: 100 % of the items.",
        ),
        (
            "WaitingForPluginOperations",
            json!({}),
            "Restore nightly waits for operations of Velero's plugins.",
        ),
        (
            "WaitingForPluginOperationsPartiallyFailed",
            json!({}),
            "Restore nightly waits for operations of Velero's plugins.",
        ),
        ("Later", json!({}), "Restore nightly is in phase Later, which this version does not know."),
    ];
    for (phase, progress, expected) in table {
        let status = json!({"phase": phase, "progress": progress, "startTimestamp": MADE});
        let mut work = seen(&status);
        for is_deleted in [false, true] {
            if let (true, Sight::Present(restore)) = (is_deleted, &mut work.restore) {
                restore.metadata.deletion_timestamp.clone_from(&restore.metadata.creation_timestamp);
            }
            let State::Running(Progress { since, message, .. }) = work.state() else { panic!("{phase}") };
            assert_eq!(
                (message.as_str(), since),
                (expected, Some(at(MADE))),
                "{phase}, deleted: {is_deleted}"
            );
        }
    }
}

#[test]
fn what_has_ended_says_how() {
    let failed = Outcome::Failed(Failed::EngineFailed);
    let table = [
        (
            json!({"phase": "Completed", "warnings": 2, "progress": {"itemsRestored": 8}}),
            Outcome::Succeeded,
            "Restore nightly has completed: 8 items. Claims that existed before are as they were: Velero does not overwrite \
             them.",
            json!({"restoredItemCount": 8, "warningCount": 2}),
        ),
        (
            json!({"phase": "PartiallyFailed", "errors": 1, "warnings": 2, "progress": {"itemsRestored": 7}}),
            Outcome::Succeeded,
            "Restore nightly has ended, not with everything: 1 error, 2 warnings; `velero restore logs nightly` has them.",
            json!({"restoredItemCount": 7, "errorCount": 1, "warningCount": 2,
                "warnings": ["1 error, 2 warnings; `velero restore logs nightly` has them"]}),
        ),
        (
            json!({"phase": "Failed", "failureReason": "found a restore with status \"InProgress\""}),
            failed,
            "Restore nightly has failed: found a restore with status \"InProgress\". What it had brought back by then stays.",
            json!({}),
        ),
        (
            json!({"phase": "FailedValidation", "validationErrors": ["Error retrieving backup"]}),
            failed,
            "Velero does not take Restore nightly: Error retrieving backup",
            json!({}),
        ),
    ];
    for (status, outcome, message, more) in table {
        let mut outputs =
            json!({"restoreName": "nightly", "backupName": "before"}).as_object().unwrap().clone();
        outputs.extend(more.as_object().unwrap().clone());
        let message = message.to_owned();
        let expected = Ending { outcome, message, outputs, logs_ref: None, since: None, at: None };
        assert_eq!(seen(&status).state(), State::Ended(expected));
    }
}

#[test]
fn only_what_velero_has_not_touched_is_deleted() {
    let delete =
        Deletion::new::<Restore>(key(), "b", Dependents::GoToo).unchanged_since(Some(&"7".to_owned()));
    assert_eq!(seen(&json!({})).stop(), Stop::Delete(Box::new(delete)));
    let impossible = Stop::Impossible("A restore that has started cannot be stopped.");
    for phase in ["New", "InProgress", "Finalizing"] {
        assert_eq!(seen(&json!({"phase": phase})).stop(), impossible, "{phase}");
    }
    let mut touched = restore(&json!({}));
    touched.metadata.finalizers = Some(vec!["restores.velero.io/external-resources-finalizer".to_owned()]);
    assert_eq!(RestoreWork { restore: Sight::Present(touched), ..restore_work() }.stop(), impossible);
    assert_eq!(restore_work().stop(), Stop::Underway);
}
