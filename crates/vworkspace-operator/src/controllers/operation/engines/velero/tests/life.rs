//! An operation from its start to its end, as Velero shows it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Cause, Deed, Finalizer, Plan, Refusal, Sight};
use serde_json::{Value, json};
use vworkspace_api::operation::{Operation, OperationStatus, Phase};

use super::super::testing::*;
use super::super::{BackupWork, RestoreWork, backup_watch};
use crate::controllers::operation::decide::{self, Rules};
use crate::controllers::operation::engines::Engine;
use crate::controllers::operation::observe::{self, AllowedTypes, World};

const STARTED: &str = "2026-11-15T06:00:05Z";

fn world(engine: impl Engine + 'static) -> World {
    let annotations = json!({"ops.vworkspace.io/backup": "velero", "ops.vworkspace.io/restore": "velero"});
    let target = json!({"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "spec": {"appRef": {"catalogId": "web"}},
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations}});
    World {
        engine: Ok(Box::new(engine)),
        target: Sight::Present(serde_json::from_value(target).unwrap()),
        others: Vec::new(),
        allowed_types: AllowedTypes::All,
        is_namespace_ending: false,
        refusals: Vec::new(),
        cluster: "c".to_owned(),
    }
}

fn plan(operation: &Operation, world: &World, seconds: i64) -> Plan<OperationStatus> {
    let rules = Rules { approval_keys: Default::default(), claim_secret: None };
    decide::plan(operation, world, &rules, after(seconds))
}

/// One that starts whatever its target's state.
fn asked(spec: &Value) -> Operation {
    let mut whole = json!({"policy": {"requireReady": false}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    operation(&whole)
}

/// The engine was given its work, and the status knows.
fn begun(spec: &Value, kind: &str) -> Operation {
    let mut operation = asked(spec);
    let status = json!({"phase": "Running", "startedAt": STARTED,
        "engineRef": {"apiVersion": "velero.io/v1", "kind": kind, "name": "nightly", "namespace": "velero", "uid": "b"}});
    operation.status = Some(serde_json::from_value(status).unwrap());
    operation
}

fn deleted(mut operation: Operation) -> Operation {
    operation.metadata.deletion_timestamp = Some(Time(after(60)));
    operation
}

fn backed_up(status: &Value) -> BackupWork {
    BackupWork { backup: Sight::Present(backup(status)), ..backup_work() }
}

fn restored(status: &Value) -> RestoreWork {
    RestoreWork { restore: Sight::Present(restore(status)), ..restore_work() }
}

/// Ended so many seconds after everything was made.
fn completed(seconds: i64) -> Value {
    json!({"phase": "Completed", "startTimestamp": STARTED, "completionTimestamp": after(seconds).to_string()})
}

fn said(plan: &Plan<OperationStatus>) -> (Option<Phase>, &str, &str) {
    let status = &plan.status;
    (
        status.phase,
        status.reason.as_deref().unwrap_or_default(),
        status.message.as_deref().unwrap_or_default(),
    )
}

fn made(plan: &Plan<OperationStatus>) -> Vec<String> {
    plan.creations.iter().map(|child| child.id().to_string()).collect()
}

#[test]
fn a_backup_is_made_and_followed() {
    let fresh = asked(&json!({}));
    let starts = plan(&fresh, &world(backup_work()), 0);
    assert_eq!(
        (made(&starts), starts.finalizer),
        (vec!["Backup velero/nightly".to_owned()], Finalizer::Hold)
    );
    assert_eq!(starts.status.engine_ref.unwrap().name, "nightly", "it is recorded with its making");
    let waits = plan(&fresh, &world(backed_up(&json!({}))), 2);
    assert_eq!(said(&waits), (Some(Phase::Pending), "EngineNotStarted", "Backup nightly waits for Velero."));
    assert_eq!(waits.requeue_at, Some(after(30)), "nothing but the clock tells that it is late");
    assert_eq!(waits.status.engine_ref.unwrap().name, "nightly");
    let runs = plan(&fresh, &world(backed_up(&json!({"phase": "InProgress", "startTimestamp": STARTED}))), 6);
    assert_eq!(
        said(&runs),
        (Some(Phase::Running), "EngineStarted", "Backup nightly runs: 0 % of the items.")
    );
    assert_eq!(runs.status.started_at, Some(Time(at(STARTED))));
    let ends = plan(&fresh, &world(backed_up(&completed(9))), 10);
    assert_eq!((ends.status.phase, ends.status.duration.as_deref()), (Some(Phase::Succeeded), Some("4s")));
    assert_eq!(ends.status.started_at, Some(Time(at(STARTED))), "also if nobody saw it run");
}

#[test]
fn what_was_refused_is_asked_for_again_and_told() {
    let refusal = Refusal {
        object: "Backup velero/nightly".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: "quota".to_owned(),
    };
    let world = World { refusals: vec![refusal], ..world(backup_work()) };
    let plan = plan(&asked(&json!({})), &world, 0);
    assert_eq!(made(&plan), ["Backup velero/nightly"]);
    let expected = "Backup velero/nightly could not be created: quota";
    assert_eq!(said(&plan), (Some(Phase::Pending), "EngineNotStarted", expected));
    assert_eq!(plan.temporary_watches.len(), 1, "what decides about the start still does");
}

#[test]
fn a_backup_that_has_not_begun_is_cancelled_at_once() {
    for status in [json!({}), json!({"phase": "Queued", "queuePosition": 1})] {
        let plan = plan(&begun(&json!({"cancel": true}), "Backup"), &world(backed_up(&status)), 60);
        assert_eq!((plan.deletions.len(), plan.status.phase), (1, Some(Phase::Pending)));
    }
    let gone = plan(&begun(&json!({"cancel": true}), "Backup"), &world(backup_work()), 60);
    assert_eq!(said(&gone), (Some(Phase::Cancelled), "UserCancelled", "Backup nightly was removed."));
}

#[test]
fn a_backup_that_runs_is_removed_when_it_has_ended() {
    let running = json!({"phase": "InProgress", "startTimestamp": STARTED});
    for operation in [begun(&json!({"cancel": true}), "Backup"), deleted(begun(&json!({}), "Backup"))] {
        let runs = plan(&operation, &world(backed_up(&running)), 60);
        assert_eq!((runs.deletions.len(), runs.creations.len(), runs.finalizer), (0, 0, Finalizer::Hold));
        let (phase, _, message) = said(&runs);
        assert_eq!(phase, Some(Phase::Running));
        assert!(
            message.contains("Velero cannot stop a backup that runs; it is removed when it has ended."),
            "{message}"
        );

        let ended = plan(&operation, &world(backed_up(&completed(70))), 71);
        assert_eq!(made(&ended), ["DeleteBackupRequest velero/nightly-12345678"]);
        let words = "It was to be cancelled. It is being removed.";
        assert_eq!(said(&ended), (Some(Phase::Running), "EngineStarted", words));

        let asked = BackupWork { removal: Sight::Present(removal(&json!({}))), ..backed_up(&completed(70)) };
        let removed = plan(&operation, &world(asked), 72);
        assert_eq!((made(&removed), removed.status.phase), (vec![], Some(Phase::Running)), "asked for once");

        let deleting = plan(&operation, &world(backed_up(&json!({"phase": "Deleting"}))), 73);
        assert_eq!((made(&deleting), deleting.status.phase), (vec![], Some(Phase::Running)));

        let gone = plan(&operation, &world(backup_work()), 74);
        assert_eq!(said(&gone), (Some(Phase::Cancelled), "UserCancelled", "Backup nightly was removed."));
    }
}

#[test]
fn what_is_not_recorded_is_recorded_before_it_is_removed() {
    let operation = asked(&json!({"timeout": "10s"}));
    let late = plan(&operation, &world(backed_up(&completed(70))), 71);
    assert_eq!((made(&late), late.status.phase), (vec![], Some(Phase::Running)));
    let recorded = Operation { status: Some(late.status), ..operation };
    assert_eq!(made(&plan(&recorded, &world(backed_up(&completed(70))), 72)).len(), 1);
}

#[test]
fn a_backup_that_cannot_be_removed_is_told_and_not_tried_for_ever() {
    let failed = removal(&json!({"phase": "Processed", "errors": ["no location"]}));
    for status in [completed(70), json!({"phase": "Deleting", "startTimestamp": STARTED})] {
        let work = BackupWork { removal: Sight::Present(failed.clone()), ..backed_up(&status) };
        let plan = plan(&begun(&json!({"cancel": true}), "Backup"), &world(work), 80);
        let words =
            "It was to be cancelled. Backup nightly is still there: Velero could not remove it: no location";
        assert_eq!((said(&plan), made(&plan)), ((Some(Phase::Cancelled), "UserCancelled", words), vec![]));
    }
}

#[test]
fn a_removal_that_is_refused_is_told() {
    let refusal = Refusal {
        object: "DeleteBackupRequest velero/nightly-12345678".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: "no right".to_owned(),
    };
    let world = World { refusals: vec![refusal], ..world(backed_up(&completed(70))) };
    let plan = plan(&begun(&json!({"cancel": true}), "Backup"), &world, 80);
    assert_eq!(made(&plan).len(), 1);
    assert!(
        said(&plan).2.ends_with("DeleteBackupRequest velero/nightly-12345678 could not be created: no right")
    );
}

#[test]
fn a_timeout_counts_from_the_start_of_the_backup() {
    let operation = begun(&json!({"timeout": "60s"}), "Backup");
    let in_time = plan(&operation, &world(backed_up(&completed(65))), 600);
    assert_eq!(in_time.status.phase, Some(Phase::Succeeded), "it ended in time and was seen late");
    let running = json!({"phase": "InProgress", "startTimestamp": STARTED});
    let runs = plan(&operation, &world(backed_up(&running)), 64);
    assert_eq!((runs.requeue_at, runs.status.phase), (Some(after(65)), Some(Phase::Running)));
    let late = plan(&operation, &world(backed_up(&running)), 66);
    assert!(
        said(&late).2.starts_with("spec.timeout (1m) has passed: Velero cannot stop"),
        "{:?}",
        said(&late)
    );
    let ended = plan(&operation, &world(backed_up(&completed(66))), 67);
    assert_eq!((made(&ended).len(), ended.status.phase), (1, Some(Phase::Running)));
    let gone = plan(&operation, &world(backup_work()), 68);
    assert_eq!((gone.status.phase, said(&gone).1), (Some(Phase::Failed), "Timeout"));
    let queued = plan(
        &begun(&json!({"timeout": "1s"}), "Backup"),
        &world(backed_up(&json!({"phase": "Queued"}))),
        600,
    );
    assert_eq!(
        (queued.deletions.len(), queued.status.phase),
        (0, Some(Phase::Pending)),
        "it has not started"
    );
}

#[test]
fn a_restore_that_ends_after_all_tells_the_truth() {
    let restore = json!({"type": "Restore", "cancel": true});
    let running = restored(&json!({"phase": "InProgress", "startTimestamp": STARTED}));
    let runs = plan(&begun(&restore, "Restore"), &world(running), 60);
    assert!(said(&runs).2.contains("A restore that has started cannot be stopped."));
    for operation in [begun(&restore, "Restore"), deleted(begun(&json!({"type": "Restore"}), "Restore"))] {
        let ended = plan(&operation, &world(restored(&completed(70))), 71);
        assert_eq!((ended.status.phase, made(&ended)), (Some(Phase::Succeeded), vec![]));
    }
    let late = begun(&json!({"type": "Restore", "timeout": "10s"}), "Restore");
    let ended = plan(&late, &world(restored(&completed(70))), 71);
    let (phase, reason, message) = said(&ended);
    assert_eq!((phase, reason), (Some(Phase::Failed), "Timeout"));
    assert!(
        message.starts_with("It ended after spec.timeout (10s) had passed: Restore nightly has completed"),
        "{message}"
    );
    assert_eq!(ended.status.outputs["backupName"], "before", "what came of it is still there");
}

#[test]
fn what_vanishes_while_it_runs_did_not_end_well() {
    let backup = plan(&begun(&json!({}), "Backup"), &world(backup_work()), 60);
    let words = "Backup nightly is gone, and its end was not seen; Velero goes on to the end all the same, and what it stores \
                 then cannot be seen.";
    assert_eq!(said(&backup), (Some(Phase::Failed), "EngineFailed", words));
    let restore =
        plan(&begun(&json!({"type": "Restore", "cancel": true}), "Restore"), &world(restore_work()), 60);
    let words = "Restore nightly is gone, and its end was not seen; what it has done by then is not known.";
    assert_eq!(said(&restore), (Some(Phase::Failed), "EngineFailed", words), "it had started");
    let mut waiting = begun(&json!({"type": "Restore", "cancel": true}), "Restore");
    waiting.status.as_mut().unwrap().started_at = None;
    let gone = plan(&waiting, &world(restore_work()), 60);
    assert_eq!(gone.status.phase, Some(Phase::Cancelled), "it had not");
    let mut another = backup_work();
    another.backup = Sight::Present(super::super::testing::backup(&completed(9)));
    if let Sight::Present(backup) = &mut another.backup {
        backup.metadata.uid = Some("back from the bucket".to_owned());
    }
    let synced = plan(&begun(&json!({"cancel": true}), "Backup"), &world(another), 60);
    assert_eq!(synced.status.phase, Some(Phase::Cancelled), "a namesake is not the one that was made");
}

#[test]
fn a_restore_that_may_not_be_is_not_accepted_and_looked_at_again() {
    let restore = asked(&json!({"type": "Restore", "parameters": {"backupName": "before"}}));
    let unapproved = plan(&restore, &world(RestoreWork { backup: None, ..restore_work() }), 5);
    assert_eq!(said(&unapproved).1, "AwaitingApproval", "a restore always needs one");
    let own = vec![observe::namespace_watch(&restore)];
    assert_eq!(unapproved.temporary_watches, own, "whose backup it is is nobody's business before");
    // Of a type that needs no approval: what may be is the same.
    let operation = asked(&json!({}));
    let unseen = RestoreWork { backup: None, ..restore_work() };
    let watches = vec![observe::namespace_watch(&operation), backup_watch(&unseen.parameters, "velero")];
    let looks = plan(&operation, &world(unseen), 5);
    assert_eq!((&looks.temporary_watches, looks.status.phase), (&watches, None), "nothing is said");
    let absent = RestoreWork { backup: Some(Sight::Absent), ..restore_work() };
    let refused = plan(&operation, &world(absent), 5);
    let words = "spec.parameters.backupName: found no Backup before in namespace velero; expected the name of one that exists";
    assert_eq!(said(&refused), (Some(Phase::Pending), "ValidationFailed", words));
    assert_eq!((&refused.temporary_watches, made(&refused)), (&watches, vec![]));
    let granted = plan(&operation, &world(restore_work()), 5);
    assert_eq!(made(&granted).len(), 1);
}

#[test]
fn a_restore_in_place_waits_until_its_target_is_at_rest() {
    // Of a type that needs no approval: what waits is the same.
    let waiting = RestoreWork {
        lacks_pause: Some("HelmRelease web is not suspended yet.".to_owned()),
        ..restore_work()
    };
    let plan = plan(&asked(&json!({})), &world(waiting), 5);
    assert_eq!(made(&plan), Vec::<String>::new());
    assert_eq!(
        said(&plan),
        (Some(Phase::Pending), "EngineNotStarted", "HelmRelease web is not suspended yet.")
    );
}
