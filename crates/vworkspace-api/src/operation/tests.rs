use serde_json::{Value, json};

use super::*;

fn operation(spec: &Value) -> Operation {
    let object = json!({"apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": "nightly"}, "spec": spec});
    serde_json::from_value(object).expect("an operation")
}

fn spec(type_: &str, engine: &str) -> OperationSpec {
    let target =
        json!({"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "shop"});
    operation(&json!({"targetRef": target, "type": type_, "engine": engine})).spec
}

#[test]
fn words_are_written_as_they_are_read() {
    for type_ in ["Backup", "Restore", "Upgrade", "Migration", "RunCommand", "Runbook"] {
        assert_eq!(spec(type_, "job").type_.to_string(), type_);
    }
    for engine in ["velero", "workflow", "job", "helm", "volsync", "helmHookJob", "snapshot"] {
        assert_eq!(spec("Backup", engine).engine.to_string(), engine);
    }
    for phase in [Phase::Pending, Phase::Running, Phase::Succeeded, Phase::Failed, Phase::Cancelled] {
        assert_eq!(json!(phase), phase.to_string());
    }
}

#[test]
fn an_operation_that_says_nothing_waits_for_its_target_unless_it_is_a_restore() {
    let backup = spec("Backup", "velero");
    assert!(backup.requires_ready() && !backup.needs_approval());
    assert_eq!((backup.timeout, backup.policy.wait_timeout, backup.cancel), (None, None, false));
    let restore = spec("Restore", "velero");
    assert!(!restore.requires_ready() && restore.needs_approval());
}

#[test]
fn policy_and_approvals_decide_where_they_say_something() {
    let mut broken = spec("Backup", "velero");
    broken.policy.require_ready = Some(false);
    broken.approvals.required = true;
    assert!(!broken.requires_ready() && broken.needs_approval());
    let mut careful = spec("Restore", "velero");
    careful.policy.require_ready = Some(true);
    assert!(careful.requires_ready() && careful.needs_approval());
}

#[test]
fn what_no_engine_can_do_waits_for_a_ready_target() {
    let unknown = spec("Backup", "job");
    assert!(unknown.template().is_none() && unknown.requires_ready() && !unknown.needs_approval());
}

#[test]
fn a_block_that_is_left_out_means_the_same_as_an_empty_one() {
    assert_eq!(serde_json::from_value::<Approvals>(json!({})).expect("a block"), Approvals::default());
    assert_eq!(serde_json::from_value::<Policy>(json!({})).expect("a block"), Policy::default());
}

#[test]
fn a_status_comes_back_as_it_was_written() {
    let time = "2026-01-02T03:04:05Z";
    let status = json!({
        "observedGeneration": 3,
        "sequence": 7,
        "phase": "Succeeded",
        "reason": "EngineCompleted",
        "message": "the backup is complete",
        "duration": "1m30s",
        "startedAt": time,
        "finishedAt": time,
        "engineRef": {"apiVersion": "velero.io/v1", "kind": "Backup", "name": "nightly", "namespace": "velero", "uid": "1"},
        "outputs": {"backupName": "nightly", "warnings": ["one"]},
        "logsRef": {"kind": "Pod", "name": "nightly", "namespace": "shop", "url": "https://logs.example.org"},
        "approved": {"by": "admin", "claimId": "42", "approvedAt": time},
        "outcomeDigest": "sha256:1",
        "conditions": [{"type": "Succeeded", "status": "True", "reason": "EngineCompleted", "message": "",
            "lastTransitionTime": time, "observedGeneration": 3}],
    });
    let read: OperationStatus = serde_json::from_value(status.clone()).expect("a status");
    assert_eq!(serde_json::to_value(read).expect("a status is JSON"), status);
}

#[test]
fn a_status_of_an_earlier_operator_can_be_read() {
    let status = json!({"phase": "Running", "engineRef": {"kind": "Job", "name": "shop--nightly"},
        "logsRef": {"kind": "Pod", "name": "nightly"}});
    let read: OperationStatus = serde_json::from_value(status).expect("a status");
    assert_eq!(read.engine_ref.map(|reference| reference.uid), Some(None));
}
