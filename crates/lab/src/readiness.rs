//! When an add-on's objects are ready, and what to say when they are not.

use std::time::Duration;

use anyhow::{Result, bail};
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::{Cluster, wait_until};
use crate::diagnosis;

/// Something to wait for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Expected {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// A condition type that must be True.
    #[serde(default)]
    pub(crate) condition: Option<String>,
    /// A JSON pointer and the value it must have.
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default)]
    pub(crate) value: Option<String>,
}

impl Expected {
    /// The workloads among the objects: they are ready when all their pods are.
    pub(crate) fn workload(object: &DynamicObject) -> Option<Self> {
        let types = object.types.as_ref()?;
        let expected = Self {
            api_version: types.api_version.clone(),
            kind: types.kind.clone(),
            namespace: object.namespace(),
            name: object.name_any(),
            condition: None,
            path: None,
            value: None,
        };
        expected.is_workload().then_some(expected)
    }

    /// Whether it is a kind that runs pods.
    pub(crate) fn is_workload(&self) -> bool {
        matches!(self.kind.as_str(), "Deployment" | "DaemonSet" | "StatefulSet")
    }

    pub(crate) async fn exists(&self, cluster: &Cluster) -> Result<bool> {
        let api = cluster.dynamic(&self.api_version, &self.kind, self.namespace.as_deref());
        Ok(api.get_opt(&self.name).await?.is_some())
    }

    /// Waits; when it does not get ready the error says what was seen last and what the logs say.
    pub(crate) async fn wait(&self, cluster: &Cluster, logs_of: &str, limit: Duration) -> Result<()> {
        let api = cluster.dynamic(&self.api_version, &self.kind, self.namespace.as_deref());
        let is_ready = |object: Option<&DynamicObject>| object.is_some_and(|object| self.is_ready(object));
        let waited = wait_until(&api, &self.name, Instant::now() + limit, is_ready).await;
        let Err(not_in_time) = waited else { return Ok(()) };
        let seen = not_in_time.describe(|object| diagnosis::state_of(&object.data));
        let logs = diagnosis::pods(cluster, logs_of).await;
        bail!("{} {} is not ready after {} s: {seen}\n{logs}", self.kind, self.name, limit.as_secs());
    }

    /// Whether the object says so itself, of its present generation.
    pub(crate) fn is_ready(&self, object: &DynamicObject) -> bool {
        let data = &object.data;
        if let Some(observed) = data.pointer("/status/observedGeneration").and_then(Value::as_i64)
            && observed < object.metadata.generation.unwrap_or_default()
        {
            return false;
        }
        match (&self.condition, &self.path) {
            (Some(condition), _) => has_condition(data, condition, "True"),
            (None, Some(path)) => data.pointer(path).and_then(Value::as_str) == self.value.as_deref(),
            (None, None) => workload_is_ready(&self.kind, data),
        }
    }
}

/// Whether `status.conditions` has this type with this status.
pub(crate) fn has_condition(data: &Value, condition: &str, status: &str) -> bool {
    let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|entry| {
        entry.get("type").and_then(Value::as_str) == Some(condition)
            && entry.get("status").and_then(Value::as_str) == Some(status)
    })
}

fn workload_is_ready(kind: &str, data: &Value) -> bool {
    let number = |path: &str| data.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    if data.pointer("/status/observedGeneration").is_none() {
        return false;
    }
    let (wanted, updated, ready) = match kind {
        "DaemonSet" => {
            ("/status/desiredNumberScheduled", "/status/updatedNumberScheduled", "/status/numberAvailable")
        }
        _ => ("/spec/replicas", "/status/updatedReplicas", "/status/availableReplicas"),
    };
    let wanted = number(wanted);
    // While an old pod is there, it may be the one that is available.
    let is_replaced = number("/status/replicas") <= number(updated);
    // A DaemonSet that has not been looked at yet wants no pods.
    (kind != "DaemonSet" || wanted > 0) && is_replaced && number(updated) >= wanted && number(ready) >= wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(generation: i64, data: Value) -> DynamicObject {
        let mut object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "generation": generation}}))
        .expect("an object");
        object.data = data;
        object
    }

    #[test]
    fn a_deployment_is_ready_when_all_pods_of_its_present_generation_are_available() {
        let all = json!({"spec": {"replicas": 2},
                         "status": {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 2}});
        let expected = Expected::workload(&deployment(3, all.clone())).expect("a workload");
        assert!(expected.is_ready(&deployment(3, all.clone())));
        assert!(!expected.is_ready(&deployment(4, all)), "the newer generation was not looked at");
        let one_missing = json!({"spec": {"replicas": 2},
                                 "status": {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 1}});
        assert!(!expected.is_ready(&deployment(3, one_missing)));
        let old_ones = json!({"spec": {"replicas": 2},
                              "status": {"observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}});
        assert!(
            !expected.is_ready(&deployment(3, old_ones)),
            "the one that is to go may be among the available"
        );
        assert!(
            !expected.is_ready(&deployment(3, json!({"spec": {"replicas": 0}}))),
            "nobody looked at it yet"
        );
    }

    #[test]
    fn a_daemon_set_that_wants_no_pods_yet_is_not_ready() {
        assert!(!workload_is_ready("DaemonSet", &json!({"status": {"observedGeneration": 1}})));
    }
}
