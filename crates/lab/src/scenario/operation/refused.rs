//! What cannot be carried out: refused by the API server where it can say so, and by a condition that names the field where it
//! cannot. Each with its way back where there is one.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario};
use super::{command, scenario, target};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_refused_bad_input_names_the_field_what_was_found_and_what_is_expected", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    by_the_api_server(ground).await?;
    by_condition(ground).await
}

async fn by_the_api_server(ground: &Ground) -> Result<()> {
    let many: String = (0..5000).map(|at| format!("p{at}: 1, ")).collect();
    let table: [(&str, String, &str); 9] = [
        ("an unknown parameter", "parameters: {imag: x}".into(), "imag"),
        ("a parameter of another type", "parameters: {command: 'ls -l'}".into(), "command"),
        ("no image", "parameters: {image: null}".into(), "image"),
        ("an unknown engine", "engine: bash".into(), "spec.engine"),
        ("an unknown type", "type: Delete".into(), "spec.type"),
        ("a pair that does not exist", "{type: Backup, engine: job}".into(), "spec.engine"),
        ("another kind of target", "targetRef: {kind: Deployment}".into(), "targetRef.kind"),
        ("a timeout below zero", "timeout: '-1'".into(), "spec.timeout"),
        ("5,000 parameters", format!("parameters: {{{many}}}"), "spec.parameters"),
    ];
    for (name, spec, field) in table {
        let refused = command(ground, "bad", "exit 0").with(&spec).applied().await;
        let words = refused.err().map(|error| format!("{error:#}"));
        ensure!(words.is_some(), "{name} was taken");
        let words = words.unwrap_or_default();
        ensure!(words.contains(field), "{name}: '{field}' is not named: {words}");
    }
    Ok(())
}

async fn by_condition(ground: &Ground) -> Result<()> {
    let early = command(ground, "early", "exit 0").applied().await?;
    early.says("Accepted", "False/ValidationFailed").await?.naming("spec.targetRef.name")?.naming("shop")?;
    early.says("Running", "False/EngineNotStarted").await?;
    early.kubectl_wait("Accepted=false").await?;
    early.plugin_status("InProgress").await?;
    let _shop = target(ground).await?;
    early.says_all(&[("Accepted", "True/AdmissionPassed"), ("Succeeded", "True/EngineCompleted")]).await?;

    allow(ground, Some("Backup, Upgrade")).await?;
    let forbidden = command(ground, "forbidden", "exit 0").applied().await?;
    forbidden.says("Accepted", "False/ValidationFailed").await?.naming("Backup, Upgrade")?;
    allow(ground, Some("Backup, RunCommand")).await?;
    forbidden.says("Succeeded", "True/EngineCompleted").await?;
    allow(ground, None).await?;

    came_back(ground).await
}

async fn allow(ground: &Ground, types: Option<&str>) -> Result<()> {
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(ground.cluster.client.clone());
    let patch =
        Patch::Merge(json!({"metadata": {"annotations": {"ops.vworkspace.io/allowed-types": types}}}));
    namespaces.patch(&ground.namespace, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// From a backup: it did its work once.
async fn came_back(ground: &Ground) -> Result<()> {
    let mut restored: OwnObject<'_> = command(ground, "restored", "exit 0");
    super::super::application_crd::merge(
        &mut restored.manifest,
        &json!({"metadata": {"labels": {"velero.io/restore-name": "monday"}}}),
    );
    let restored = restored.applied().await?;
    restored.says("Accepted", "False/ValidationFailed").await?.naming("monday")?;
    Ok(())
}
