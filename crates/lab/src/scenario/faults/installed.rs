//! The operator that the lab has installed, by its chart.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::super::{Ground, seen};

pub(in super::super) const PROGRAM: &str = "vworkspace-operator";
pub(in super::super) const NAMESPACE: &str = "vworkspace-system";
pub(in super::super) const NAME: &str = "vworkspace-app-operator";

/// A copy of the program that its image holds, taken from a replica that runs.
pub(super) fn copy_program(ground: &Ground) -> Result<PathBuf> {
    let node = ground.cluster.node.as_ref().context("this cluster has no node of ours")?;
    let processes = node.processes();
    let running = processes.iter().find(|process| process.program() == PROGRAM);
    let running = running.context("the installed operator does not run")?;
    let copy = ground.cluster.paths.state.join("faults").join(PROGRAM);
    fs::create_dir_all(copy.parent().context("a file in no folder")?)?;
    fs::copy(Path::new("/proc").join(running.pid.to_string()).join("exe"), &copy)
        .with_context(|| format!("failed to copy the operator's program to {}", copy.display()))?;
    Ok(copy)
}

/// Gives a Deployment so many replicas, and waits until they are there.
pub(in super::super) async fn scale(ground: &Ground, replicas: i64) -> Result<()> {
    scale_of(ground, NAMESPACE, NAME, replicas).await
}

/// The same for any Deployment.
pub(in super::super) async fn scale_of(
    ground: &Ground,
    namespace: &str,
    name: &str,
    replicas: i64,
) -> Result<()> {
    let deployments = ground.cluster.dynamic("apps/v1", "Deployment", Some(namespace));
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    deployments
        .patch(name, &PatchParams::default(), &patch)
        .await
        .with_context(|| format!("failed to scale {name}"))?;
    let number = |data: &Value, field: &str| {
        data.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or_default()
    };
    let is_there =
        |data: &Value| number(data, "replicas") == replicas && number(data, "availableReplicas") == replicas;
    seen(&deployments, "Deployment", name, is_there).await.map(|_| ())
}
