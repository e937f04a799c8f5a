//! What the cluster does not have, does not serve, or does not allow.

use crate::server::{Answer, Cluster, refusal, run};

const EACH: [&[&str]; 6] = [
    &["list"],
    &["show", "a"],
    &["logs", "a"],
    &["cancel", "a"],
    &["create", "backup.velero", "--target", "web", "--name", "a"],
    &["create", "backup.velero", "--target", "web", "--name", "a", "--wait"],
];

fn said(cluster: &Cluster, arguments: &[&str]) -> String {
    let run = cluster.run(arguments);
    assert_eq!(
        (run.out.as_str(), run.exit, run.err.lines().count()),
        ("", Some(3), 1),
        "{arguments:?}: {}",
        run.err
    );
    run.err
}

#[test]
fn an_absent_operation_is_named_with_where_it_was_looked_for() {
    let cluster = Cluster::with(Vec::new());
    for command in ["show", "logs", "cancel"] {
        assert_eq!(
            said(&cluster, &[command, "a", "-n", "shop"]),
            "error: there is no Operation \"a\" in namespace shop; `kubectl get operations.ops.vworkspace.io -n shop` lists what there is\n"
        );
    }
}

#[test]
fn a_cluster_without_the_crd_is_told_apart_from_one_without_the_object() {
    let cluster = Cluster::start(|_, _| Answer::Text(404, "404 page not found\n"));
    for arguments in EACH {
        let said = said(&cluster, arguments);
        let wanted = "the cluster does not serve operations.ops.vworkspace.io; expected its CRD, which the chart vworkspace-operator installs";
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn what_is_forbidden_is_told_in_the_words_of_the_server() {
    let cluster = Cluster::start(|_, _| refusal(403, "Forbidden", "operations is forbidden: no way"));
    for arguments in EACH {
        let said = said(&cluster, arguments);
        assert!(
            said.starts_with("error: failed to ")
                && said.ends_with("in namespace shop: operations is forbidden: no way (403)\n"),
            "{said}"
        );
    }
}

#[test]
fn without_a_cluster_it_says_what_it_looked_for() {
    let run = run(&["list"]);
    assert!(run.err.starts_with("error: failed to find a cluster: expected --kubeconfig"), "{}", run.err);
    assert_eq!(run.exit, Some(3));
}
