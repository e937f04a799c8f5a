//! Operations under the running operator and real engines: each documented reason with its cause, what kubectl and the plugin
//! make of it, and the way back where there is one.

pub(super) mod approval;
pub(super) mod backup;
pub(super) mod cancel;
pub(super) mod command;
mod explained;
pub(super) mod plugin;
pub(super) mod refused;
pub(super) mod runbook;
pub(super) mod troubleshooting;
pub(super) mod upgrade;
pub(super) mod waiting;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::application::instance::{APPS, Instance, instance};
use super::own_object::{OwnKind, OwnObject};
use super::{Ground, Running, Scenario, text_at};

pub(in super::super) const OPS: &str = "ops.vworkspace.io/v1alpha1";
pub(super) const OPERATION: OwnKind =
    OwnKind { api_version: OPS, kind: "Operation", resource: "operations.ops.vworkspace.io" };
/// It has a shell.
const IMAGE: &str = "lab.local/busybox:1";

const fn scenario(name: &'static str, run: for<'a> fn(&'a Ground) -> Running<'a>) -> Scenario {
    Scenario { name, needs: &["operator"], needs_node: false, alone: false, run }
}

/// Something to work on that is ready at once and lets commands be run: a placeholder.
async fn target(ground: &Ground) -> Result<Instance<'_>> {
    let mut target = instance(ground).with("{mode: placeholder, release: null}").applied().await?;
    target.annotate("ops.vworkspace.io/runcommand", Some("job")).await?;
    target.says("Ready", "True/Placeholder").await?;
    Ok(target)
}

/// A command on `shop` in a shell.
fn command<'a>(ground: &'a Ground, name: &str, script: &str) -> OwnObject<'a> {
    let spec = json!({
        "targetRef": {"apiVersion": APPS, "kind": "ApplicationInstance", "name": "shop"},
        "type": "RunCommand",
        "engine": "job",
        "parameters": {"image": IMAGE, "command": ["sh", "-c", script]},
    });
    OwnObject::new(ground, OPERATION, name, &spec)
}

/// The Job that an operation says that it has.
async fn job_of(operation: &OwnObject<'_>) -> Result<DynamicObject> {
    let object = operation.read().await?;
    let name = text_at(&object.data, "/status/engineRef/name");
    let jobs = operation.ground.objects("batch/v1", "Job");
    jobs.get(name).await.with_context(|| format!("status.engineRef names Job '{name}'"))
}

/// A value of the status.
fn at<'a>(object: &'a DynamicObject, pointer: &str) -> &'a Value {
    object.data.pointer(pointer).unwrap_or(&Value::Null)
}
