//! The operations of a bench: each runs a command in a Job, on an instance that is ready and says that it can be worked on so.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::bench::instances::{self, APPS, INSTANCE, OPERATION, OPS, Which};
use crate::bench::operator::Operator;
use crate::bench::workbench::Workbench;
use crate::cluster::Cluster;

/// An operation of a bench.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) target: Which,
    pub(super) policy: Value,
}

impl Command {
    /// Operation `number` on a target.
    pub(super) fn on(target: &Which, number: usize) -> Self {
        Self { name: format!("command-{number}"), target: target.clone(), policy: json!({}) }
    }

    /// The same, but not beside others on its target.
    pub(super) fn alone(self) -> Self {
        Self { policy: json!({"exclusive": true}), ..self }
    }

    fn manifest(&self) -> Value {
        json!({
            "apiVersion": OPS, "kind": OPERATION,
            "metadata": {"name": self.name, "namespace": self.target.namespace},
            "spec": {
                "targetRef": {"apiVersion": APPS, "kind": INSTANCE, "name": self.target.name},
                "type": "RunCommand", "engine": "job", "policy": self.policy,
                "parameters": {
                    "image": "registry.example.org/tools:1.0.0",
                    "command": ["/bin/sh", "-c"],
                    "args": [format!("curl --fail http://{}.{}/healthz", self.target.name, self.target.namespace)],
                    "env": [{"name": "LEVEL", "value": "debug"}],
                    "resources": {"limits": {"cpu": "1", "memory": "256Mi"}},
                },
            },
        })
    }

    pub(super) async fn create(&self, cluster: &Cluster) -> Result<DynamicObject> {
        let object = serde_json::from_value(self.manifest())?;
        Ok(of(cluster, Some(&self.target.namespace)).create(&PostParams::default(), &object).await?)
    }
}

pub(super) fn of(cluster: &Cluster, namespace: Option<&str>) -> Api<DynamicObject> {
    cluster.dynamic(OPS, OPERATION, namespace)
}

/// Creates operations, some at once.
pub(super) async fn create(cluster: &Cluster, commands: &[Command]) -> Result<()> {
    instances::for_each(commands, async |command| command.create(cluster).await.map(|_| ())).await
}

/// An operator that has brought these instances to rest, on which commands can be run.
pub(super) async fn with_targets(bench: &Workbench, prefix: &str, targets: &[Which]) -> Result<Operator> {
    let manifest = |which: &Which| {
        let mut manifest = which.manifest(0);
        if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("annotations".to_owned(), json!({"ops.vworkspace.io/runcommand": "job"}));
        }
        manifest
    };
    bench.with(prefix, targets, targets.len(), manifest).await
}

/// How far an operation has come.
pub(super) fn phase(operation: &DynamicObject) -> Option<&str> {
    operation.data.pointer("/status/phase").and_then(Value::as_str)
}

/// Whether all operations of a part have gone well.
pub(super) async fn all_succeeded(cluster: &Cluster, prefix: &str, count: usize) -> Result<()> {
    let all = instances::all_below(cluster, (OPS, OPERATION), prefix).await?;
    let (well, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| phase(one) == Some("Succeeded"));
    let first = others.first().map(|one| format!("{} says {:?}", one.name_any(), one.data.get("status")));
    ensure!(
        well.len() == count,
        "{} of {count} operations succeeded; {}",
        well.len(),
        first.unwrap_or_default()
    );
    Ok(())
}
