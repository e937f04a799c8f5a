//! `op cancel`.

use serde_json::{Value, json};

use crate::server::{Answer, Cluster, OPERATIONS, absent, list, operation};

fn status(phase: &str, has_work: bool) -> Value {
    let engine = json!({"apiVersion": "v1", "kind": "Backup", "name": "a", "namespace": "velero"});
    let mut status = json!({"phase": phase, "reason": "X", "message": "so"});
    if has_work {
        status["engineRef"] = engine;
    }
    status
}

#[test]
fn cancel_is_asked_for_and_what_it_means_is_told() {
    let told = [
        ("Backup", "velero", false, "Cancelling a: the engine has not got its work, and will not get it.\n"),
        (
            "Backup",
            "velero",
            true,
            "Cancelling a: Velero cannot stop a backup that runs; it goes on to its end and is removed then.\n",
        ),
        (
            "Restore",
            "velero",
            true,
            "Cancelling a: a restore that has started cannot be stopped; it goes on to its end.\n",
        ),
        ("RunCommand", "job", true, "Cancelling a: the engine is stopped, and its pods end.\n"),
    ];
    for (type_, engine, has_work, wanted) in told {
        let cluster = Cluster::with(vec![operation("a", type_, engine, status("Running", has_work))]);
        let run = cluster.run(&["cancel", "a"]);
        assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), (wanted, "", Some(0)));
        assert_eq!(cluster.written(), [json!({"spec": {"cancel": true}})]);
    }
}

#[test]
fn what_has_ended_is_left_alone() {
    for phase in ["Succeeded", "Failed", "Cancelled"] {
        let cluster = Cluster::with(vec![operation("a", "Backup", "velero", status(phase, true))]);
        let run = cluster.run(&["cancel", "a"]);
        let wanted = format!("There is nothing to cancel, it has ended: a  {phase}  X  so\n");
        assert_eq!((run.out, run.exit), (wanted, Some(1)));
        assert_eq!(cluster.written(), [Value::Null; 0]);
    }
}

#[test]
fn waiting_for_the_cancelled_ends_with_it() {
    for (phase, exit) in [("Cancelled", 0), ("Succeeded", 2)] {
        let cluster = Cluster::start(move |asked, _| match asked.method.as_str() {
            "GET" if asked.query.contains("watch=true") => {
                let ended = operation("a", "RunCommand", "job", status(phase, true));
                Answer::Events(vec![json!({"type": "MODIFIED", "object": ended})])
            }
            "GET" if asked.path == OPERATIONS => Answer::Json(
                200,
                list("OperationList", &[operation("a", "RunCommand", "job", status("Running", true))]),
            ),
            "GET" | "PATCH" => {
                Answer::Json(200, operation("a", "RunCommand", "job", status("Running", true)))
            }
            _ => absent("nothing is recorded"),
        });
        let run = cluster.run(&["cancel", "a", "--wait"]);
        assert_eq!(run.exit, Some(exit), "{}", run.err);
        assert!(run.out.ends_with(&format!("a  {phase}  X  so\n")), "{}", run.out);
    }
}
