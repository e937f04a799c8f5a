//! The Jobs of operations, without anybody who runs them: the controllers of Kubernetes are held, and the bench writes what
//! the Job controller writes of a Job that went well.

use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use crate::bench::replay::{self, Replay};
use crate::cluster::Cluster;
use crate::node::processes::CONTROLLER_MANAGER;
use crate::node::{self, Held};

/// By which the operator knows its Jobs.
pub(super) const LABEL: &str = "ops.vworkspace.io/operation";

pub(super) fn of(cluster: &Cluster, namespace: Option<&str>) -> Api<DynamicObject> {
    cluster.dynamic("batch/v1", "Job", namespace)
}

/// Nobody but the bench works on Jobs while this lives. Nothing can be cleared meanwhile: namespaces do not end.
pub(super) fn without_controllers(cluster: &Cluster) -> Result<Held> {
    let node = cluster.node.as_ref().context("this cluster has no node of ours")?;
    node.hold(&cluster.paths, CONTROLLER_MANAGER)
}

/// After a run that was killed.
pub(super) fn let_controllers_run(cluster: &Cluster) -> Result<()> {
    node::let_run(&cluster.paths, CONTROLLER_MANAGER)
}

/// Ends each Job of an operation as soon as it is seen, for as long as the answer lives.
pub(super) fn replay(cluster: &Cluster) -> Replay {
    let cluster = cluster.clone();
    Replay::start("the Job controller", async move {
        let say = |job: &DynamicObject| (!is_finished(job)).then(|| completed(Timestamp::now()));
        replay::follow(|namespace| of(&cluster, namespace), LABEL, say).await
    })
}

/// Ends one Job.
pub(super) async fn finish(api: &Api<DynamicObject>, name: &str) -> Result<()> {
    replay::write(api, name, &completed(Timestamp::now())).await
}

/// What Kubernetes 1.34 says of a Job whose pod has succeeded.
fn completed(now: Timestamp) -> Value {
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
            "lastProbeTime": now, "lastTransitionTime": now})
    };
    json!({"startTime": now, "completionTime": now, "succeeded": 1, "ready": 0, "terminating": 0,
        "uncountedTerminatedPods": {},
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]})
}

pub(super) fn is_finished(job: &DynamicObject) -> bool {
    let conditions = job.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&json!("Complete")) && condition.get("status") == Some(&json!("True"))
    })
}

/// The body of the apply that made this Job, for another one that is nobody's: without what the API server added to it.
pub(super) fn raw_copy(job: &DynamicObject) -> Result<Value> {
    let mut copy = crate::bench::instances::raw_copy(job);
    if let Some(spec) = copy.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("selector");
    }
    let added =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    for place in ["/metadata/labels", "/spec/template/metadata/labels"] {
        if let Some(labels) = copy.pointer_mut(place).and_then(Value::as_object_mut) {
            labels.retain(|label, _| !added.contains(&label.as_str()));
        }
    }
    Ok(serde_json::from_str(&copy.to_string().replace(LABEL, "ops.vworkspace.io/imitation"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_finished_once_it_is_complete() {
        let job = |status: Value| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a"}, "status": status})).unwrap()
        };
        assert!(!is_finished(&job(json!({}))));
        let decided = json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]});
        assert!(!is_finished(&job(decided)));
        assert!(is_finished(&job(completed(Timestamp::UNIX_EPOCH))));
    }

    #[test]
    fn a_raw_copy_can_be_created_and_is_not_the_operators_own() {
        let labels = json!({LABEL: "u", "job-name": "a", "batch.kubernetes.io/controller-uid": "1"});
        let job: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "labels": labels},
            "spec": {"backoffLimit": 0, "selector": {}, "template": {"metadata": {"labels": labels}}}}))
        .unwrap();
        let copy = raw_copy(&job).unwrap();
        let left = json!({"ops.vworkspace.io/imitation": "u"});
        assert_eq!(copy.pointer("/metadata/labels"), Some(&left));
        let spec = json!({"backoffLimit": 0, "template": {"metadata": {"labels": left}}});
        assert_eq!(copy.get("spec"), Some(&spec));
    }
}
