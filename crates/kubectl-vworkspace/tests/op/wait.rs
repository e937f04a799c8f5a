//! `--wait`: a recorded watch.

use serde_json::{Value, json};

use crate::server::{Answer, Cluster, OPERATIONS, absent, list, operation};

fn state(phase: &str, reason: &str, message: &str) -> Value {
    operation("nightly", "Backup", "velero", json!({"phase": phase, "reason": reason, "message": message}))
}

/// Takes the operation, lists it, and then tells `events`.
fn telling(events: Vec<Value>) -> Cluster {
    Cluster::start(move |asked, _| match asked.method.as_str() {
        "POST" => Answer::Json(201, operation("nightly", "Backup", "velero", Value::Null)),
        "GET" if asked.query.contains("watch=true") => Answer::Events(events.clone()),
        "GET" if asked.path == OPERATIONS => {
            Answer::Json(200, list("OperationList", &[operation("nightly", "Backup", "velero", Value::Null)]))
        }
        _ => absent("nothing is recorded"),
    })
}

fn modified(object: &Value) -> Value {
    json!({"type": "MODIFIED", "object": object})
}

const WAIT: [&str; 6] = ["create", "backup.velero", "--target", "web", "--name=nightly", "--wait"];

#[test]
fn every_change_is_a_line_and_the_end_decides_the_exit_code() {
    let blocked = state("Pending", "TargetNotReady", "web is not Ready");
    let running = state("Running", "EngineStarted", "Backup velero/nightly: 3 of 9 items.");
    let mut done = state("Succeeded", "EngineCompleted", "9 items.");
    done["status"]["duration"] = json!("1m30s");
    let events = [blocked.clone(), blocked, running, done].into_iter().map(|object| modified(&object));
    let cluster = telling(events.collect());
    let run = cluster.run(&WAIT);
    assert_eq!(run.exit, Some(0), "{}", run.err);
    assert_eq!(
        run.out,
        "operation.ops.vworkspace.io/nightly created\nnightly  Succeeded  EngineCompleted  9 items.  (1m30s)\n"
    );
    let lines: Vec<&str> = run.err.lines().map(|line| line.split_once("s  ").unwrap().1).collect();
    assert_eq!(
        lines,
        [
            "Pending  -  The operator has not looked at it yet.",
            "Pending  TargetNotReady  web is not Ready",
            "Running  EngineStarted  Backup velero/nightly: 3 of 9 items.",
            "Succeeded  EngineCompleted  9 items.",
        ]
    );
    // One list, one watch: nobody polls.
    let gets: Vec<String> = cluster
        .asked()
        .iter()
        .filter(|asked| asked.method == "GET")
        .map(|asked| asked.query.clone())
        .collect();
    assert_eq!(gets.len(), 2, "{gets:?}");
    assert!(gets.iter().all(|query| query.contains("fieldSelector=metadata.name%3Dnightly")), "{gets:?}");
}

#[test]
fn what_ends_badly_is_2_what_does_not_end_is_1() {
    let cases = [
        (
            vec![modified(&state("Failed", "VeleroBackupFailed", "no bucket"))],
            Some(2),
            "Failed  VeleroBackupFailed  no bucket",
        ),
        (
            vec![modified(&state("Cancelled", "UserCancelled", "by spec.cancel"))],
            Some(2),
            "Cancelled  UserCancelled",
        ),
        (
            vec![json!({"type": "DELETED", "object": state("Running", "EngineStarted", "")})],
            Some(2),
            "error: nightly was deleted before it had ended",
        ),
        (
            vec![modified(&state("Running", "EngineStarted", ""))],
            Some(1),
            "error: nightly has not ended after 1s: it is Running, and goes on. More: kubectl vworkspace op show nightly -n shop",
        ),
    ];
    for (events, exit, said) in cases {
        let run = telling(events).run(&[&WAIT[..], &["--wait-timeout", "1s"]].concat());
        assert_eq!(run.exit, exit, "{said}: {}", run.err);
        assert!(run.err.contains(said), "{}", run.err);
    }
}

#[test]
fn where_waiting_does_not_help_it_says_what_does() {
    let waiting = state("Pending", "AwaitingApproval", "there is no approval claim");
    let failed = state("Failed", "VeleroBackupFailed", "no bucket");
    let run = telling([&waiting, &waiting, &failed].map(modified).to_vec()).run(&WAIT);
    assert_eq!(run.exit, Some(2), "{}", run.err);
    let hints: Vec<&str> = run.err.lines().filter(|line| line.contains("kubectl")).collect();
    assert_eq!(
        hints,
        [
            "To approve it: kubectl vworkspace op approve nightly -n shop --key FILE",
            "More: kubectl vworkspace op show nightly -n shop"
        ]
    );
}

#[test]
fn programs_get_the_object_at_its_end() {
    let done = state("Succeeded", "EngineCompleted", "9 items.");
    let run = telling(vec![modified(&done)]).run(&[&WAIT[..], &["-o", "json"]].concat());
    assert_eq!(run.exit, Some(0), "{}", run.err);
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["status"], done["status"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_operation_alone_and_tells_how_to_cancel_it() {
    use std::io::{BufRead, BufReader, Read};
    let cluster = telling(vec![modified(&state("Running", "EngineStarted", ""))]);
    let mut child = cluster.command(&WAIT).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Running") {
        line.clear();
        assert_ne!(err.read_line(&mut line).unwrap(), 0);
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(
        rest,
        "nightly goes on; nobody waits for it any more. To cancel it: kubectl vworkspace op cancel nightly -n shop\n"
    );
    assert_eq!(cluster.written().len(), 1, "only the creation");
}
