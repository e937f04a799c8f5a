//! The blind spots of the reference, one row each: what it says, and what the strict profile says. The documentation
//! lists the same rows.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and reads better without borrows"
)]

use kstatus::{Options, Profile, compute};
use serde_json::{Value, json};

const NOON: &str = "2026-01-01T12:00:00Z";
const DOCS: &str = include_str!("../../../docs/reference/kstatus.md");

/// Status and reason, as `Failed/PodFailed`; `Current` has no reason.
fn answer(object: &Value, profile: Profile) -> String {
    let outcome = compute(object, &Options { profile, now: NOON.parse().unwrap() }).unwrap();
    match outcome.reason() {
        Some(reason) => format!("{}/{reason}", outcome.status),
        None => outcome.status.to_string(),
    }
}

fn blind_spot(row: &str, object: Value, compatible: &str, strict: &str) {
    assert!(DOCS.contains(&format!("| {row} |")), "the documentation has no row {row:?}");
    assert_eq!(answer(&object, Profile::Compatible), compatible, "compatible: {row}");
    assert_eq!(answer(&object, Profile::Strict), strict, "strict: {row}");
}

/// Both profiles agree.
fn no_blind_spot(object: Value, both: &str) {
    assert_eq!(answer(&object, Profile::Compatible), both, "compatible");
    assert_eq!(answer(&object, Profile::Strict), both, "strict");
}

fn custom(generation: i64, status: Value) -> Value {
    let metadata = json!({"name": "b", "generation": generation});
    json!({"apiVersion": "shop.example.org/v1", "kind": "Basket", "metadata": metadata, "status": status})
}

fn object(version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, "status": status})
}

fn ready(status: &str, reason: &str, since: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": since}]})
}

#[test]
fn no_status_yet() {
    let mut basket = custom(1, Value::Null);
    blind_spot("no status at all", basket.clone(), "Current", "InProgress/StatusNotObserved");
    basket["metadata"] = json!({"name": "b"});
    no_blind_spot(basket, "Current");
    let mut role = object("rbac.authorization.k8s.io/v1", "Role", Value::Null, Value::Null);
    role["metadata"]["generation"] = json!(1);
    no_blind_spot(role, "Current");
}

#[test]
fn a_generation_that_nobody_mentions() {
    let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    blind_spot(
        "unobserved generation",
        custom(2, status.clone()),
        "Current",
        "InProgress/GenerationNotObserved",
    );
    no_blind_spot(custom(1, status), "Current");
    let observed = json!({"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]});
    no_blind_spot(custom(2, observed), "Current");
}

#[test]
fn a_condition_about_an_older_generation() {
    let ready =
        |seen| json!({"conditions": [{"type": "Ready", "status": "True", "observedGeneration": seen}]});
    blind_spot("stale condition", custom(5, ready(4)), "Current", "InProgress/GenerationNotObserved");
    no_blind_spot(custom(5, ready(5)), "Current");
}

#[test]
fn only_a_phase() {
    for status in
        [json!({"phase": "Failed"}), json!({"state": "error"}), json!({"health": {"status": "Degraded"}})]
    {
        blind_spot("failing phase", custom(1, status), "Current", "Failed/PhaseFailed");
    }
    let pending = custom(1, json!({"phase": "Provisioning"}));
    blind_spot("phase under way", pending, "Current", "InProgress/PhaseInProgress");
    no_blind_spot(custom(1, json!({"phase": "Running"})), "Current");
}

#[test]
fn not_ready_for_a_reason() {
    let failed = custom(1, ready("False", "InstallFailed", "2026-01-01T11:59:00Z"));
    blind_spot("Ready=False that says it failed", failed, "InProgress/InstallFailed", "Failed/InstallFailed");
    no_blind_spot(custom(1, ready("False", "Installing", "2026-01-01T11:59:00Z")), "InProgress/Installing");
    no_blind_spot(
        custom(1, ready("Unknown", "InstallFailed", "2020-01-01T00:00:00Z")),
        "InProgress/InstallFailed",
    );
}

#[test]
fn not_ready_for_long() {
    let row = "Ready=False for ten minutes";
    let stuck = custom(1, ready("False", "Installing", "2026-01-01T11:50:00Z"));
    blind_spot(row, stuck, "InProgress/Installing", "Failed/Installing");
    no_blind_spot(custom(1, ready("False", "Installing", "2026-01-01T11:50:01Z")), "InProgress/Installing");
}

#[test]
fn other_conditions() {
    let with = |kind, status, reason| {
        custom(1, json!({"conditions": [{"type": kind, "status": status, "reason": reason}]}))
    };
    blind_spot("failing condition", with("Degraded", "True", "Lagging"), "Current", "Failed/Lagging");
    blind_spot("condition under way", with("Available", "False", "Rolling"), "Current", "InProgress/Rolling");
    no_blind_spot(with("Degraded", "False", "Fine"), "Current");
}

#[test]
fn stalled_and_reconciling() {
    let both = json!({"conditions": [
        {"type": "Reconciling", "status": "True", "reason": "Retrying"},
        {"type": "Stalled", "status": "True", "reason": "GaveUp"},
    ]});
    blind_spot("Stalled after Reconciling", custom(1, both), "InProgress/Retrying", "Failed/GaveUp");
}

#[test]
fn pods() {
    let pod = |status| object("v1", "Pod", Value::Null, status);
    blind_spot("failed Pod", pod(json!({"phase": "Failed"})), "Current", "Failed/PodFailed");
    let evicted = pod(json!({"phase": "Failed", "reason": "Evicted"}));
    blind_spot("failed Pod", evicted, "Current", "Failed/Evicted");
    let waiting = |list: &str, phase: &str, reason: &str| {
        pod(json!({"phase": phase, list: [{"name": "a", "state": {"waiting": {"reason": reason}}}]}))
    };
    let image = waiting("containerStatuses", "Pending", "ImagePullBackOff");
    blind_spot("container that cannot start", image, "InProgress/PodPending", "Failed/ImagePullBackOff");
    let init = waiting("initContainerStatuses", "Pending", "CrashLoopBackOff");
    blind_spot("container that cannot start", init, "InProgress/PodPending", "Failed/CrashLoopBackOff");
    no_blind_spot(waiting("containerStatuses", "Pending", "ContainerCreating"), "InProgress/PodPending");
}

#[test]
fn jobs() {
    let job = |conditions| {
        object("batch/v1", "Job", Value::Null, json!({"startTime": NOON, "conditions": conditions}))
    };
    blind_spot("running Job", job(json!([])), "Current", "InProgress/JobInProgress");
    let target = job(json!([{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"}]));
    blind_spot("Job bound to fail", target, "Current", "Failed/BackoffLimitExceeded");
    let failed = job(json!([{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]));
    blind_spot("failed Job", failed, "Failed/JobFailed", "Failed/DeadlineExceeded");
    no_blind_spot(job(json!([{"type": "Complete", "status": "True"}])), "Current");
    let mut suspended = job(json!([{"type": "Suspended", "status": "True"}]));
    suspended["spec"] = json!({"suspend": true});
    no_blind_spot(suspended, "Current");
}

#[test]
fn volumes() {
    let claim = |phase| object("v1", "PersistentVolumeClaim", Value::Null, json!({"phase": phase}));
    blind_spot("lost claim", claim("Lost"), "InProgress/NotBound", "Failed/ClaimLost");
    no_blind_spot(claim("Pending"), "InProgress/NotBound");
    let volume = |phase| object("v1", "PersistentVolume", Value::Null, json!({"phase": phase}));
    blind_spot("failed volume", volume("Failed"), "Current", "Failed/VolumeFailed");
    no_blind_spot(volume("Available"), "Current");
}

#[test]
fn load_balancers() {
    let spec = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"});
    let waits = object("v1", "Service", spec.clone(), json!({"loadBalancer": {}}));
    blind_spot("load balancer without address", waits, "Current", "InProgress/NoLoadBalancerAddress");
    let status = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
    no_blind_spot(object("v1", "Service", spec, status), "Current");
}

fn deployment(ready: i64, paused: bool, progressing: &str) -> Value {
    let spec = json!({"replicas": 2, "progressDeadlineSeconds": 600, "paused": paused});
    let status = json!({
        "replicas": 2, "updatedReplicas": ready, "readyReplicas": ready, "availableReplicas": ready,
        "conditions": [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": progressing},
        ],
    });
    object("apps/v1", "Deployment", spec, status)
}

#[test]
fn paused_deployments() {
    let done = deployment(2, true, "DeploymentPaused");
    blind_spot("paused Deployment, nothing to do", done, "InProgress/ReplicaSetNotAvailable", "Current");
    let half = deployment(1, true, "DeploymentPaused");
    blind_spot(
        "paused Deployment, unfinished",
        half,
        "InProgress/LessUpdated",
        "InProgress/DeploymentPaused",
    );
    no_blind_spot(deployment(2, true, "NewReplicaSetAvailable"), "Current");
    no_blind_spot(deployment(1, false, "ReplicaSetUpdated"), "InProgress/LessUpdated");
}

#[test]
fn pods_that_cannot_be_created() {
    let failure = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"});
    let mut owner = deployment(1, false, "ReplicaSetUpdated");
    owner["status"]["conditions"].as_array_mut().unwrap().push(failure.clone());
    blind_spot("pods cannot be created", owner, "InProgress/LessUpdated", "Failed/FailedCreate");
    let set = object("apps/v1", "ReplicaSet", Value::Null, json!({"conditions": [failure]}));
    blind_spot("pods cannot be created", set, "InProgress/ReplicaFailure", "Failed/FailedCreate");
}

#[test]
fn replication_controllers() {
    let status = json!({"replicas": 2, "readyReplicas": 1});
    let waits = object("v1", "ReplicationController", json!({"replicas": 2}), status);
    blind_spot("ReplicationController", waits, "Current", "InProgress/LessReady");
}

#[test]
fn stateful_sets() {
    let set = |strategy: &str, ready: i64, available: i64| {
        let spec = json!({"replicas": 2, "updateStrategy": {"type": strategy}});
        let status = json!({
            "replicas": 2, "readyReplicas": ready, "currentReplicas": 2, "availableReplicas": available,
            "currentRevision": "a", "updateRevision": if strategy == "OnDelete" { "b" } else { "a" },
        });
        object("apps/v1", "StatefulSet", spec, status)
    };
    blind_spot("StatefulSet with OnDelete", set("OnDelete", 1, 1), "Current", "InProgress/LessReady");
    no_blind_spot(set("OnDelete", 2, 2), "Current");
    blind_spot("ready but not available", set("RollingUpdate", 2, 1), "Current", "InProgress/LessAvailable");
    no_blind_spot(set("RollingUpdate", 2, 2), "Current");
}

#[test]
fn daemon_sets_with_on_delete() {
    let set = |strategy: &str, available: i64| {
        let status = json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
            "updatedNumberScheduled": 1, "numberAvailable": available, "numberReady": 2,
        });
        let mut set = object("apps/v1", "DaemonSet", json!({"updateStrategy": {"type": strategy}}), status);
        set["metadata"]["generation"] = json!(1);
        set
    };
    blind_spot("DaemonSet with OnDelete", set("OnDelete", 2), "InProgress/LessUpdated", "Current");
    blind_spot(
        "DaemonSet with OnDelete",
        set("OnDelete", 1),
        "InProgress/LessUpdated",
        "InProgress/LessAvailable",
    );
    no_blind_spot(set("RollingUpdate", 2), "InProgress/LessUpdated");
}

#[test]
fn disruption_budgets() {
    let budget = |status| object("policy/v1", "PodDisruptionBudget", Value::Null, status);
    blind_spot(
        "unobserved PodDisruptionBudget",
        budget(json!({})),
        "Current",
        "InProgress/StatusNotObserved",
    );
    let failed = json!({
        "observedGeneration": 1,
        "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}],
    });
    blind_spot("PodDisruptionBudget that failed", budget(failed), "Current", "Failed/SyncFailed");
    no_blind_spot(budget(json!({"observedGeneration": 1})), "Current");
}

#[test]
fn extensions_of_the_api() {
    let with = |kind, status, reason| json!({"type": kind, "status": status, "reason": reason});
    let conditions = json!({"conditions": [with("Available", "False", "MissingEndpoints")]});
    let api = object("apiregistration.k8s.io/v1", "APIService", Value::Null, conditions);
    blind_spot("unavailable APIService", api, "Current", "InProgress/MissingEndpoints");
    let conditions = json!({"conditions": [with("Established", "True", "Ok"), with("NamesAccepted", "False", "PluralConflict")]});
    let definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", Value::Null, conditions);
    blind_spot("CRD with rejected names", definition, "Current", "Failed/PluralConflict");
}

/// Every row of the table in the documentation is one that a test above names.
#[test]
fn the_documentation_promises_nothing_else() {
    let source = include_str!("strict.rs");
    let rows = DOCS.lines().skip_while(|line| !line.starts_with("| Situation |")).skip(2);
    let rows: Vec<&str> =
        rows.take_while(|line| line.starts_with("| ")).filter_map(|line| line.split(" | ").next()).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let name = row.trim_start_matches("| ");
        assert!(source.contains(&format!("\"{name}\"")), "no test for {name:?}");
    }
}
