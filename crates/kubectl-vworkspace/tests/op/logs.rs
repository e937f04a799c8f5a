//! `op logs`.

use serde_json::{Value, json};

use crate::server::{Answer, Cluster, OPERATIONS, absent, list, operation};

fn pod(name: &str, created: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "creationTimestamp": created},
        "spec": {"containers": [{"name": "command"}, {"name": "proxy"}]}})
}

fn cluster(operation: Value, pods: Vec<Value>) -> Cluster {
    Cluster::start(move |asked, _| match asked.path.as_str() {
        path if path.starts_with(OPERATIONS) => Answer::Json(200, operation.clone()),
        "/api/v1/namespaces/shop/pods" => Answer::Json(200, list("PodList", &pods)),
        "/api/v1/namespaces/shop/pods/one/log" => Answer::Text(200, "first\nlast\n"),
        "/api/v1/namespaces/shop/pods/two/log" => Answer::Text(200, "again\n"),
        path => match pods.iter().find(|pod| path.ends_with(pod["metadata"]["name"].as_str().unwrap())) {
            Some(pod) => Answer::Json(200, pod.clone()),
            None => absent("pods not found"),
        },
    })
}

#[test]
fn the_log_of_the_pod_that_the_status_names() {
    let done = operation(
        "tidy",
        "RunCommand",
        "job",
        json!({"logsRef": {"kind": "Pod", "name": "one", "namespace": "shop"}}),
    );
    let cluster = cluster(done, vec![pod("one", "2026-01-02T03:00:00Z")]);
    let run = cluster.run(&["logs", "tidy", "--tail", "2", "-f"]);
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("first\nlast\n", "", Some(0)));
    let query = cluster.asked().pop().unwrap().query;
    assert!(
        ["container=command", "follow=true", "tailLines=2"].iter().all(|part| query.contains(part)),
        "{query}"
    );
}

#[test]
fn the_logs_of_the_pods_that_carry_its_uid_oldest_first() {
    let running = operation("tidy", "RunCommand", "job", json!({"phase": "Running"}));
    let pods = vec![pod("two", "2026-01-02T03:00:09Z"), pod("one", "2026-01-02T03:00:00Z")];
    let cluster = cluster(running, pods);
    let run = cluster.run(&["logs", "tidy"]);
    assert_eq!(run.out, "==> pod one <==\nfirst\nlast\n==> pod two <==\nagain\n", "{}", run.err);
    assert!(cluster.asked()[1].query.contains("labelSelector=ops.vworkspace.io%2Foperation%3Dtidy-uid"));
}

#[test]
fn where_there_is_none_it_is_said_with_where_to_look() {
    let engine =
        json!({"apiVersion": "velero.io/v1", "kind": "Backup", "name": "nightly-1", "namespace": "velero"});
    let backup = operation("nightly", "Backup", "velero", json!({"phase": "Running", "engineRef": engine}));
    let run = cluster(backup, Vec::new()).run(&["logs", "nightly"]);
    let wanted = "nightly has no log of its own: Running  -\nVelero keeps it: velero backup logs nightly-1 -n velero\n\
        What Velero does for all: kubectl logs -n velero deploy/velero --tail=200\n";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("", wanted, Some(1)));

    let gone = operation(
        "tidy",
        "RunCommand",
        "job",
        json!({"logsRef": {"kind": "Pod", "name": "gone", "namespace": "shop"},
        "outputs": {"lastLines": ["a", "b"]}}),
    );
    let run = cluster(gone, Vec::new()).run(&["logs", "tidy"]);
    let wanted = "tidy has no log any more: Pod gone, which had it, is gone.\nIts last lines were kept (spec.policy.captureLogs):\n";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("a\nb\n", wanted, Some(1)));
}

#[test]
fn before_the_start_there_is_none_yet_and_afterwards_none_any_more() {
    let told = json!({"phase": "Pending", "reason": "EngineNotStarted", "message": "Job tidy-1 waits for its pod to start."});
    let mut waiting = pod("one", "2026-01-02T03:00:00Z");
    waiting["status"] = json!({"phase": "Pending"});
    let run = cluster(operation("tidy", "RunCommand", "job", told), vec![waiting]).run(&["logs", "tidy"]);
    let wanted = "tidy has no log yet: Pending  EngineNotStarted  Job tidy-1 waits for its pod to start.\n";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("", wanted, Some(1)));

    let told = json!({"phase": "Cancelled", "reason": "UserCancelled", "message": "Stopped."});
    let run = cluster(operation("tidy", "RunCommand", "job", told), Vec::new()).run(&["logs", "-f", "tidy"]);
    let wanted = "tidy has no log: Cancelled  UserCancelled  Stopped.\nNo pod carries ops.vworkspace.io/operation=tidy-uid (any more).\n";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("", wanted, Some(1)));
}

#[test]
fn who_follows_before_the_start_waits_for_it() {
    let state = |phase: &str| {
        operation("tidy", "RunCommand", "job", json!({"phase": phase, "reason": "X", "message": "so"}))
    };
    let (pending, running) = (state("Pending"), state("Running"));
    let begun = std::sync::atomic::AtomicBool::new(false);
    let cluster = Cluster::start(move |asked, _| match asked.path.as_str() {
        OPERATIONS if asked.query.contains("watch=true") => {
            begun.store(true, std::sync::atomic::Ordering::Relaxed);
            Answer::Events(vec![json!({"type": "MODIFIED", "object": running})])
        }
        OPERATIONS => Answer::Json(200, list("OperationList", std::slice::from_ref(&pending))),
        "/api/v1/namespaces/shop/pods" => {
            let pods =
                begun.load(std::sync::atomic::Ordering::Relaxed).then(|| pod("one", "2026-01-02T03:00:00Z"));
            Answer::Json(200, list("PodList", &pods.into_iter().collect::<Vec<_>>()))
        }
        "/api/v1/namespaces/shop/pods/one/log" => Answer::Text(200, "first\n"),
        path if path.starts_with(OPERATIONS) => Answer::Json(200, pending.clone()),
        _ => absent("nothing is recorded"),
    });
    let run = cluster.run(&["logs", "-f", "tidy"]);
    let wanted = "tidy has no log yet: Pending  X  so\n";
    assert_eq!((run.out.as_str(), run.err.as_str(), run.exit), ("first\n", wanted, Some(0)));
}
