//! `op list`.

use serde_json::{Value, json};
use vworkspace_api::operation::Operation;

use crate::server::{Cluster, operation};

fn all() -> Vec<Value> {
    let mut newest = operation(
        "web-restore",
        "Restore",
        "velero",
        json!({"phase": "Pending", "reason": "AwaitingApproval", "message": "a\nb"}),
    );
    newest["metadata"]["creationTimestamp"] = json!("2026-01-02T05:00:00Z");
    let mut other = operation("db-upgrade", "Upgrade", "helm", Value::Null);
    other["metadata"]["creationTimestamp"] = json!("2026-01-02T04:00:00Z");
    other["spec"]["targetRef"]["name"] = json!("db");
    let running = operation(
        "tidy",
        "RunCommand",
        "job",
        json!({"phase": "Running", "reason": "EngineStarted", "startedAt": "2026-01-02T04:59:00Z"}),
    );
    let done = operation(
        "nightly",
        "Backup",
        "velero",
        json!({"phase": "Succeeded", "reason": "EngineCompleted",
        "message": "9 items.", "duration": "1m30s", "startedAt": "2026-01-02T03:00:01Z", "finishedAt": "2026-01-02T03:01:31Z"}),
    );
    vec![newest, other, running, done]
}

fn names(arguments: &[&str]) -> Vec<String> {
    let run = Cluster::with(all()).run(&[&["list", "-o", "json"], arguments].concat());
    assert_eq!((run.err.as_str(), run.exit), ("", Some(0)), "{arguments:?}");
    let rows: Vec<Value> = serde_json::from_str(&run.out).unwrap();
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_newest_comes_last_and_filters_leave_out() {
    assert_eq!(names(&[]), ["nightly", "tidy", "db-upgrade", "web-restore"]);
    assert_eq!(names(&["-A"]), ["nightly", "tidy", "db-upgrade", "web-restore"]);
    assert_eq!(names(&["--target", "db"]), ["db-upgrade"]);
    assert_eq!(names(&["--type", "backup"]), ["nightly"]);
    assert_eq!(names(&["--running"]), ["tidy", "db-upgrade", "web-restore"]);
    assert_eq!(names(&["--finished"]), ["nightly"]);
    assert_eq!(names(&["--finished", "--target", "db"]), [""; 0]);
}

#[test]
fn the_table_is_as_recorded() {
    let operations: Vec<Operation> =
        all().into_iter().rev().map(|one| serde_json::from_value(one).unwrap()).collect();
    let mut out = Vec::new();
    let now = "2026-01-02T05:00:30Z".parse().unwrap();
    kubectl_vworkspace::op::list::write_table(&operations, false, now, &mut out).unwrap();
    kubectl_vworkspace::op::list::write_table(&operations, true, now, &mut out).unwrap();
    let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    insta::assert_snapshot!(text);
}

#[test]
fn json_is_as_recorded() {
    insta::assert_snapshot!(Cluster::with(all()).run(&["list", "-o", "json"]).out);
}

#[test]
fn nothing_is_said_in_words_and_an_empty_array() {
    assert_eq!(Cluster::with(Vec::new()).run(&["list"]).out, "No operations found.\n");
    assert_eq!(Cluster::with(Vec::new()).run(&["list", "-o", "json"]).out, "[]\n");
    let wrong = Cluster::with(Vec::new()).run(&["list", "--type", "copy"]);
    assert!(
        wrong.err.contains("expected one of Backup, Restore, Upgrade, Migration, RunCommand, Runbook"),
        "{}",
        wrong.err
    );
    assert_eq!(wrong.exit, Some(3));
}
