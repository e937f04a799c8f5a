//! `op show`.

use serde_json::{Value, json};

use crate::server::{Cluster, condition, operation};

fn failed() -> Value {
    let mut failed = operation(
        "nightly",
        "Backup",
        "velero",
        json!({
            "phase": "Failed", "reason": "VeleroBackupFailed", "message": "Backup velero/nightly failed: no bucket",
            "startedAt": "2026-01-02T03:00:02Z", "finishedAt": "2026-01-02T03:01:32Z", "duration": "1m30s",
            "engineRef": {"apiVersion": "velero.io/v1", "kind": "Backup", "name": "nightly", "namespace": "velero", "uid": "b-1"},
            "outputs": {"backupName": "nightly", "warnings": ["one", "two"]},
            "conditions": [
                condition("Accepted", "True", "AdmissionPassed", "", "2026-01-02T03:00:01Z"),
                condition("Running", "False", "EngineFinished", "", "2026-01-02T03:01:32Z"),
                condition("Succeeded", "False", "NotYetSucceeded", "", "2026-01-02T03:00:01Z"),
                condition("Failed", "True", "VeleroBackupFailed", "Backup velero/nightly failed: no bucket", "2026-01-02T03:01:32Z"),
                condition("Cancelled", "False", "NotCancelled", "", "2026-01-02T03:00:01Z"),
                condition("Blocked", "False", "Unblocked", "", "2026-01-02T03:00:02Z"),
                condition("Stalled", "True", "VeleroBackupFailed", "Backup velero/nightly failed: no bucket", "2026-01-02T03:01:32Z"),
            ],
        }),
    );
    failed["spec"]["parameters"] = json!({"retention": "30d", "snapshotVolumes": true});
    failed["spec"]["timeout"] = json!("2h");
    failed
}

#[test]
fn what_was_asked_what_happened_and_what_to_type_next() {
    let run = Cluster::with(vec![failed()]).run(&["show", "nightly"]);
    assert_eq!((run.err.as_str(), run.exit), ("", Some(0)));
    insta::assert_snapshot!(run.out);
    assert!(!run.out.contains("{name}") && !run.out.contains("{namespace}"));
}

#[test]
fn json_is_as_recorded() {
    insta::assert_snapshot!(Cluster::with(vec![failed()]).run(&["show", "nightly", "-o", "json"]).out);
}

#[test]
fn what_waits_for_an_approval_is_told_how_to_get_it_and_no_claim_is_shown() {
    let mut waiting = operation(
        "back",
        "Restore",
        "velero",
        json!({"phase": "Pending", "reason": "AwaitingApproval",
        "conditions": [condition("Blocked", "True", "AwaitingApproval", "To approve: ...", "2026-01-02T03:00:01Z")]}),
    );
    waiting["spec"]["approvals"] = json!({"required": true, "claim": "vws2.secret.secret"});
    let cluster = Cluster::with(vec![waiting, operation("new", "Backup", "velero", Value::Null)]);
    for output in ["text", "json"] {
        let run = cluster.run(&["show", "back", "-o", output]);
        assert!(run.out.contains("kubectl vworkspace op approve back -n shop --key"), "{}", run.out);
        assert!(!run.out.contains("vws2"), "{}", run.out);
    }
    // Nobody has looked at it yet.
    let run = cluster.run(&["show", "new"]);
    assert_eq!(run.exit, Some(0));
    assert!(run.out.contains("Pending"), "{}", run.out);
}

#[test]
fn where_there_is_a_log_it_is_the_first_thing_to_read() {
    let reference = json!({"kind": "Pod", "name": "tidy-1", "namespace": "shop"});
    let failed = json!({"phase": "Failed", "reason": "JobFailedBackoffExceeded", "logsRef": reference,
        "conditions": [condition("Failed", "True", "JobFailedBackoffExceeded", "", "2026-01-02T03:00:01Z")]});
    let stopped = json!({"phase": "Failed", "reason": "Timeout",
        "conditions": [condition("Failed", "True", "Timeout", "", "2026-01-02T03:00:01Z")]});
    for (status, is_there) in [(failed, true), (json!({"phase": "Running"}), true), (stopped, false)] {
        let cluster = Cluster::with(vec![operation("tidy", "RunCommand", "job", status)]);
        let told: Value = serde_json::from_str(&cluster.run(&["show", "tidy", "-o", "json"]).out).unwrap();
        let first = told["next"]["investigate"][0] == "kubectl vworkspace op logs tidy -n shop";
        assert_eq!(first, is_there, "{told}");
    }
}
