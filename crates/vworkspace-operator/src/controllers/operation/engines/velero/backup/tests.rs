use super::super::testing::*;
use super::*;
use crate::controllers::operation::MANAGED_BY;
use crate::controllers::operation::engines::{Ending, Outcome, Progress};
use operator_kit::Dependents;
use serde_json::Value;
use vworkspace_api::operation::Failed;

fn state(status: &Value) -> State {
    BackupWork { backup: Sight::Present(backup(status)), ..backup_work() }.state()
}

fn child(spec: &Value) -> Child {
    let (label, value) = MANAGED_BY;
    Child::new::<Backup>(&key()).labels([(label.to_owned(), value.to_owned())].into()).spec(spec)
}

#[test]
fn velero_is_told_what_we_have_read() {
    let plain = backup_work().start(&operation(&json!({})));
    let expected = json!({"includedNamespaces": ["shop"], "storageLocation": "default",
        "excludedResources": ["operations.ops.vworkspace.io"]});
    assert_eq!(plain, [child(&expected)]);
    let parameters = json!({"retention": "30d12h", "snapshotVolumes": false, "storageLocation": "cold",
        "includedResources": ["deployments.apps", "secrets"], "excludedResources": ["events", "operations.ops.vworkspace.io"]});
    let operation = operation(&json!({"parameters": parameters}));
    let vworkspace_api::operation::Request::Backup(parameters) = operation.spec.request().unwrap() else {
        panic!("it is a backup")
    };
    let full = BackupWork { parameters, ..backup_work() }.start(&operation);
    let expected = json!({"includedNamespaces": ["shop"], "storageLocation": "cold", "ttl": "732h0m0s", "snapshotVolumes": false,
        "includedResources": ["deployments.apps", "secrets"], "excludedResources": ["events", "operations.ops.vworkspace.io"]});
    assert_eq!(full, [child(&expected)]);
}

#[test]
fn a_ttl_is_written_as_go_writes_it() {
    let table = [(0, "0h0m0s"), (1, "0h0m1s"), (61, "0h1m1s"), (3600, "1h0m0s"), (30 * 86_400, "720h0m0s")];
    for (seconds, expected) in table {
        assert_eq!(go_duration(Duration::from_secs(seconds)), expected);
    }
}

#[test]
fn the_location_that_says_so_is_the_default() {
    let status = json!({"phase": "Available"});
    let other = location("primary", &json!({"default": true}), &status);
    let work = BackupWork {
        locations: locations(vec![location("default", &json!({}), &status), other]),
        ..backup_work()
    };
    assert_eq!(work.start(&operation(&json!({})))[0].at("/spec/storageLocation"), Some(&json!("primary")));
}

#[test]
fn what_is_missing_is_named() {
    let told = |found: Found<_>| BackupWork {
        locations: Locations { namespace: "velero".to_owned(), found },
        ..backup_work()
    };
    let one = |spec: Value, status: Value| told(Found::Objects(vec![location("default", &spec, &status)]));
    let table = [
        (backup_work(), None),
        (
            BackupWork { backup: Sight::NotInstalled, ..backup_work() },
            Some("Velero is not installed: this cluster has no kind backups.velero.io."),
        ),
        (
            told(Found::NotInstalled),
            Some("Velero is not installed: this cluster has no kind backupstoragelocations.velero.io."),
        ),
        (
            told(Found::Unlisted("forbidden".to_owned())),
            Some("Velero's storage locations cannot be seen: forbidden"),
        ),
        (
            told(Found::Objects(vec![])),
            Some("Velero has no BackupStorageLocation default in namespace velero."),
        ),
        (
            one(json!({}), json!({})),
            Some("BackupStorageLocation default is not Available: Velero has not looked at it yet"),
        ),
        (
            one(json!({}), json!({"phase": "Unavailable"})),
            Some("BackupStorageLocation default is not Available: Unavailable"),
        ),
        (
            one(
                json!({}),
                json!({"phase": "Unavailable", "message": "S3: StatusCode: 404, RequestID: 17B, HostID: x, NoSuchBucket"}),
            ),
            Some(
                "BackupStorageLocation default is not Available: S3: StatusCode: 404, RequestID: ..., HostID: ..., NoSuchBucket",
            ),
        ),
        (
            one(json!({"accessMode": "ReadOnly"}), json!({"phase": "Available"})),
            Some("BackupStorageLocation default is read-only (spec.accessMode)."),
        ),
    ];
    for (work, expected) in table {
        assert_eq!(work.lacks().as_deref(), expected);
    }
    let parameters =
        BackupParameters { storage_location: Some("cold".to_owned()), ..BackupParameters::default() };
    let other = BackupWork { parameters, ..backup_work() }.lacks();
    assert_eq!(other.as_deref(), Some("Velero has no BackupStorageLocation cold in namespace velero."));
}

#[test]
fn what_is_both_taken_and_left_out_is_refused_before_velero_does() {
    let work = |included: &str, excluded: &str| {
        let parameters = BackupParameters {
            included_resources: vec![included.to_owned()],
            excluded_resources: vec![excluded.to_owned()],
            ..BackupParameters::default()
        };
        BackupWork { parameters, ..backup_work() }.permission(&operation(&json!({})))
    };
    assert_eq!(work("secrets", "events"), Permission::Granted);
    for (included, excluded) in [("events", "events"), ("operations.ops.vworkspace.io", "events")] {
        let Permission::Refused(why) = work(included, excluded) else { panic!("{included} was granted") };
        assert!(why.starts_with(&format!("spec.parameters.includedResources: found '{included}'")), "{why}");
    }
}

#[test]
fn what_has_not_begun_waits() {
    for status in [json!({}), json!({"phase": "New"})] {
        let State::Waiting(progress) = state(&status) else { panic!("{status}") };
        assert_eq!((progress.made, progress.since), (Some(at(MADE)), None));
        let table = [
            (29, "Backup nightly waits for Velero."),
            (
                30,
                "Velero has not picked up Backup nightly for more than 30 s; one Backup that it cannot read, such as one \
                 with ttl 30d, stops it for all.",
            ),
            (
                180,
                "Velero is not running? It has not picked up Backup nightly, and last looked at BackupStorageLocation \
                 default at 2026-11-15T06:00:00Z.",
            ),
        ];
        for (seconds, expected) in table {
            assert_eq!(progress.clone().at(after(seconds)).message, expected);
        }
        assert_eq!(
            progress.at(after(31)).later.first().map(|(at, _)| *at),
            Some(after(180)),
            "looked at again"
        );
    }
    for (status, expected) in [
        (
            json!({"phase": "Queued", "queuePosition": 3}),
            "Backup nightly is in Velero's queue, at position 3.",
        ),
        (json!({"phase": "Queued"}), "Backup nightly is in Velero's queue."),
    ] {
        let State::Waiting(Progress { made, since: None, message, later, .. }) = state(&status) else {
            panic!("{status}")
        };
        assert_eq!((message.as_str(), made, later), (expected, Some(at(MADE)), vec![]));
    }
}

#[test]
fn nobody_says_that_velero_is_down_who_has_not_seen_it_alive() {
    let work = BackupWork {
        locations: locations(vec![]),
        backup: Sight::Present(backup(&json!({}))),
        ..backup_work()
    };
    let State::Waiting(progress) = work.state() else { panic!("it waits") };
    assert_eq!(progress.later.len(), 1);
}

#[test]
fn what_runs_is_told_in_tenths() {
    let started = "2026-11-15T06:00:05Z";
    let table = [
        ("ReadyToStart", json!({}), "Backup nightly runs: 0 % of the items."),
        ("InProgress", json!({}), "Backup nightly runs: 0 % of the items."),
        ("InProgress", json!({"totalItems": 14}), "Backup nightly runs: 0 % of the items."),
        (
            "InProgress",
            json!({"totalItems": 1503, "itemsBackedUp": 149}),
            "Backup nightly runs: 0 % of the items.",
        ),
        (
            "InProgress",
            json!({"totalItems": 1503, "itemsBackedUp": 1502}),
            "Backup nightly runs: 90 % of the items.",
        ),
        (
            "InProgress",
            json!({"totalItems": 10, "itemsBackedUp": 12}),
            "Backup nightly runs: 100 % of the items.",
        ),
        (
            "InProgress",
            json!({"totalItems": 0, "itemsBackedUp": 1}),
            "Backup nightly runs: 0 % of the items.",
        ),
        (
            "Finalizing",
            json!({"totalItems": 2, "itemsBackedUp": 2}),
            "Backup nightly runs: 100 % of the items.",
        ),
        (
            "FinalizingPartiallyFailed",
            json!({"totalItems": 2, "itemsBackedUp": 2}),
            "Backup nightly runs: 100 % of the items.",
        ),
        ("WaitingForPluginOperations", json!({}), "Backup nightly waits for operations of Velero's plugins."),
        (
            "WaitingForPluginOperationsPartiallyFailed",
            json!({}),
            "Backup nightly waits for operations of Velero's plugins.",
        ),
        ("Deleting", json!({}), "Velero removes Backup nightly."),
        ("Later", json!({}), "Backup nightly is in phase Later, which this version does not know."),
    ];
    for (phase, progress, expected) in table {
        let status = json!({"phase": phase, "progress": progress, "startTimestamp": started});
        let State::Running(Progress { since, message, .. }) = state(&status) else { panic!("{phase}") };
        assert_eq!((message.as_str(), since), (expected, Some(at(started))), "{phase}");
    }
}

#[test]
fn what_has_ended_says_how() {
    let times =
        json!({"startTimestamp": "2026-11-15T06:00:05Z", "completionTimestamp": "2026-11-15T06:00:09Z"});
    let known = json!({"backupName": "nightly", "storageLocation": "default"});
    let failed = Outcome::Failed(Failed::VeleroBackupFailed);
    let table = [
        (
            json!({"phase": "Completed", "progress": {"totalItems": 14, "itemsBackedUp": 14}, "expiration": "2026-12-15T06:00:05Z"}),
            Outcome::Succeeded,
            "Backup nightly has completed: 14 items, kept until 2026-12-15T06:00:05Z.",
            json!({"backupItemCount": 14, "expiration": "2026-12-15T06:00:05Z"}),
        ),
        (
            json!({"phase": "Completed", "progress": {}, "warnings": 3}),
            Outcome::Succeeded,
            "Backup nightly has completed: 0 items.",
            json!({"backupItemCount": 0, "warningCount": 3}),
        ),
        (
            json!({"phase": "PartiallyFailed", "progress": {"itemsBackedUp": 1}, "errors": 2, "warnings": 1}),
            Outcome::Succeeded,
            "Backup nightly has ended and can be restored: 2 errors, 1 warning; `velero backup logs nightly` has them.",
            json!({"backupItemCount": 1, "errorCount": 2, "warningCount": 1,
                "warnings": ["2 errors, 1 warning; `velero backup logs nightly` has them"]}),
        ),
        (
            json!({"phase": "Failed", "failureReason": "GET https://me:hunter2@s3: NoSuchBucket, RequestID: 17B"}),
            failed,
            "Backup nightly has failed: GET https://***@s3: NoSuchBucket, RequestID: ...",
            json!({}),
        ),
        (json!({"phase": "Failed"}), failed, "Backup nightly has failed: no reason is given", json!({})),
        (
            json!({"phase": "FailedValidation", "validationErrors": ["one", "two"]}),
            failed,
            "Velero does not take Backup nightly: one; two",
            json!({}),
        ),
    ];
    for (mut status, outcome, message, more) in table {
        status.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        let mut outputs = known.as_object().unwrap().clone();
        outputs.extend(more.as_object().unwrap().clone());
        let expected = Ending {
            outcome,
            message: message.to_owned(),
            outputs,
            logs_ref: None,
            since: Some(at("2026-11-15T06:00:05Z")),
            at: Some(at("2026-11-15T06:00:09Z")),
        };
        assert_eq!(state(&status), State::Ended(expected));
    }
}

#[test]
fn only_the_location_knows_why_it_is_not_available() {
    let unavailable =
        location("default", &json!({}), &json!({"phase": "Unavailable", "message": "connection refused"}));
    let status = json!({"phase": "FailedValidation", "validationErrors": ["location default is in Unavailable status."]});
    let work = BackupWork {
        backup: Sight::Present(backup(&status)),
        locations: locations(vec![unavailable]),
        ..backup_work()
    };
    let State::Ended(Ending { message, at: None, .. }) = work.state() else { panic!("it has ended") };
    assert_eq!(
        message,
        "Velero does not take Backup nightly: location default is in Unavailable status. (connection refused)"
    );
}

#[test]
fn what_cannot_be_seen_is_not_taken_for_absent() {
    let state = |backup| BackupWork { backup, ..backup_work() }.state();
    assert_eq!(state(Sight::Absent), State::NotStarted);
    assert_eq!(state(Sight::NotInstalled), State::NotStarted);
    assert_eq!(state(Sight::Unknown("why".to_owned())), State::Unknown("why".to_owned()));
    assert_eq!(state(Sight::Unreadable("why".to_owned())), State::Unknown("why".to_owned()));
}

#[test]
fn only_what_has_not_begun_is_deleted() {
    let stop = |status: Value| BackupWork { backup: Sight::Present(backup(&status)), ..backup_work() }.stop();
    let delete =
        Deletion::new::<Backup>(key(), "b", Dependents::GoToo).unchanged_since(Some(&"7".to_owned()));
    for status in [json!({}), json!({"phase": "New"}), json!({"phase": "Queued"})] {
        assert_eq!(stop(status), Stop::Delete(Box::new(delete.clone())));
    }
    for phase in [
        "ReadyToStart",
        "InProgress",
        "WaitingForPluginOperations",
        "Finalizing",
        "FinalizingPartiallyFailed",
    ] {
        let Stop::Impossible(why) = stop(json!({"phase": phase})) else { panic!("{phase}") };
        assert_eq!(why, "Velero cannot stop a backup that runs; it is removed when it has ended.");
    }
    assert_eq!(stop(json!({"phase": "Deleting"})), Stop::Underway);
    assert_eq!(backup_work().stop(), Stop::Underway);
    let mut leaving = backup(&json!({}));
    leaving.metadata.deletion_timestamp.clone_from(&leaving.metadata.creation_timestamp);
    assert_eq!(BackupWork { backup: Sight::Present(leaving), ..backup_work() }.stop(), Stop::Underway);
}

#[test]
fn a_backup_that_nobody_wants_is_removed_by_velero_once() {
    let operation = operation(&json!({}));
    let discard = |phase: &str, removal| {
        let backup = Sight::Present(backup(&json!({"phase": phase})));
        BackupWork { backup, removal, ..backup_work() }.discard(&operation)
    };
    let (label, value) = MANAGED_BY;
    let request = Child::new::<DeleteBackupRequest>(&ObjectKey::namespaced("velero", "nightly-12345678"))
        .labels([(label.to_owned(), value.to_owned())].into())
        .spec(json!({"backupName": "nightly"}));
    for phase in ["Completed", "PartiallyFailed", "Failed"] {
        assert_eq!(discard(phase, Sight::Absent), Discard::Create(Box::new(request.clone())), "{phase}");
    }
    let delete =
        Deletion::new::<Backup>(key(), "b", Dependents::GoToo).unchanged_since(Some(&"7".to_owned()));
    assert_eq!(discard("FailedValidation", Sight::Absent), Discard::Delete(Box::new(delete)));
    for status in [json!({}), json!({"phase": "InProgress"}), json!({"phase": "Processed"})] {
        let underway = Discard::Underway("Velero removes Backup nightly.".to_owned());
        assert_eq!(discard("Completed", Sight::Present(removal(&status))), underway, "{status}");
    }
    let failed = json!({"phase": "Processed", "errors": ["backup storage location default not found"]});
    let stuck = "Backup nightly is still there: Velero could not remove it: backup storage location default not found";
    assert_eq!(discard("Completed", Sight::Present(removal(&failed))), Discard::Stuck(stuck.to_owned()));
    assert!(matches!(discard("Completed", Sight::NotInstalled), Discard::Stuck(_)));
    assert!(matches!(discard("Completed", Sight::Unknown("forbidden".to_owned())), Discard::Underway(_)));
}

#[test]
fn a_backup_that_cannot_be_removed_has_ended() {
    let work = |removal| {
        let backup = Sight::Present(backup(&json!({"phase": "Deleting"})));
        BackupWork { backup, removal, ..backup_work() }.state()
    };
    assert!(matches!(work(Sight::Present(removal(&json!({"phase": "InProgress"})))), State::Running(_)));
    let failed = removal(&json!({"phase": "Processed", "errors": ["no"]}));
    assert!(matches!(work(Sight::Present(failed)), State::Ended(_)));
}

#[test]
fn the_object_that_does_the_work_is_named() {
    let work = BackupWork { backup: Sight::Present(backup(&json!({}))), ..backup_work() };
    let seen = work.engine_ref().unwrap();
    let expected = ["velero.io/v1", "Backup", "nightly", "velero"].map(str::to_owned);
    assert_eq!([seen.api_version, seen.kind, seen.name, seen.namespace], expected);
    assert_eq!(seen.uid.as_deref(), Some("b"));
    assert_eq!(work.cleanup(), None, "a backup outlives its operation");
}

#[test]
fn what_was_copied_of_volumes_is_looked_at_before_the_end_is_told() {
    let copied = |bytes: Value| -> PodVolumeBackup {
        serde_json::from_value(json!({"metadata": {"name": "v"}, "status": {"progress": bytes}})).unwrap()
    };
    let work = |phase: &str, volumes| {
        let backup = Sight::Present(backup(&json!({"phase": phase})));
        BackupWork { backup, volumes, ..backup_work() }
    };
    for phase in ["Completed", "PartiallyFailed"] {
        let unseen = work(phase, Found::NotYet);
        assert!(matches!(unseen.state(), State::Ending(_)), "{phase}");
        assert_eq!(unseen.outcome_watches().len(), 1, "{phase}");
    }
    for phase in ["InProgress", "Failed"] {
        let other = work(phase, Found::NotYet);
        assert!(!matches!(other.state(), State::Ending(_)), "{phase}");
        assert_eq!(other.outcome_watches(), [], "{phase}");
    }
    let table = [
        (Found::Objects(vec![]), None),
        (Found::NotInstalled, None),
        (Found::Unlisted("forbidden".to_owned()), None),
        (Found::Objects(vec![copied(json!({}))]), None),
        (
            Found::Objects(vec![copied(json!({"bytesDone": 5})), copied(json!({"bytesDone": 7}))]),
            Some(json!(12)),
        ),
    ];
    for (volumes, expected) in table {
        let State::Ended(ending) = work("Completed", volumes.clone()).state() else { panic!("{volumes:?}") };
        assert_eq!(ending.outputs.get("backupSizeBytes"), expected.as_ref(), "{volumes:?}");
    }
}
