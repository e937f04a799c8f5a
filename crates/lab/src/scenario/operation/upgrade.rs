//! Upgrades by Helm: the instance is changed once and followed to its end. Somebody else's edit, a failure and nothing to do are
//! told for what they are.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::application::instance::{APPS, Instance, instance};
use super::super::chart::Chart;
use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario, text_at};
use super::{OPERATION, at, scenario};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_upgrade_by_helm_is_written_once_and_followed_to_its_end", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    let (first, second) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    let mut shop =
        instance(ground).chart(&first).with("{timeout: 8s, upgrade: {retries: 0}}").applied().await?;
    shop.annotate("ops.vworkspace.io/upgrade", Some("helm")).await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    another_version(&shop, &first.version, &second.version).await?;
    one_after_the_other(ground).await?;
    nothing_to_do(&shop, &second.version).await?;
    edited_meanwhile(&shop, &first.version, &second.version).await?;
    failed(ground, &second.version).await
}

fn upgrade<'a>(ground: &'a Ground, name: &str, parameters: &Value) -> OwnObject<'a> {
    let spec = json!({
        "targetRef": {"apiVersion": APPS, "kind": "ApplicationInstance", "name": "shop"},
        "type": "Upgrade", "engine": "helm", "parameters": parameters,
    });
    OwnObject::new(ground, OPERATION, name, &spec)
}

/// A change by somebody who does not apply the whole instance: that would put the old version back.
async fn edit(shop: &Instance<'_>, spec: &Value) -> Result<()> {
    let edit = Patch::Merge(json!({ "spec": spec }));
    shop.api().patch(&shop.name, &PatchParams::default(), &edit).await?;
    Ok(())
}

async fn another_version(shop: &Instance<'_>, from: &str, to: &str) -> Result<()> {
    let ground = shop.ground;
    let vague = upgrade(ground, "vague", &json!({"targetVersion": "latest"})).applied().await?;
    vague.says("Accepted", "False/ValidationFailed").await?.naming("'latest'")?;
    vague.delete().await?;

    let next = upgrade(ground, "next", &json!({"targetVersion": to})).applied().await?;
    next.says_all(&[("Succeeded", "True/EngineCompleted"), ("Running", "False/EngineFinished")]).await?;
    next.kubectl_wait("Succeeded").await?;
    next.plugin_status("Current").await?;
    let ended = next.read().await?;
    let outputs = at(&ended, "/status/outputs");
    let told = |name: &str| text_at(outputs, &format!("/{name}")).to_owned();
    ensure!(
        (told("fromVersion"), told("toVersion")) == (from.to_owned(), to.to_owned()),
        "outputs: {outputs}"
    );
    let revisions = (at(&ended, "/status/outputs/fromRevision"), at(&ended, "/status/outputs/toRevision"));
    ensure!(revisions == (&json!(1), &json!(2)), "outputs: {outputs}");
    ensure!(
        text_at(&ended.data, "/status/engineRef/kind") == "ApplicationInstance",
        "status: {}",
        ended.data
    );
    let is_new = |data: &Value| text_at(data, "/data/version").starts_with(to);
    ground.until("v1", "ConfigMap", "web-settings", is_new).await?;
    Ok(())
}

/// Created in the same second either may be the first.
async fn one_after_the_other(ground: &Ground) -> Result<()> {
    let values = |greeting: &str| json!({"valuesPatch": {"greeting": greeting, "delay": 2}});
    let (one, other) = (upgrade(ground, "one", &values("one")), upgrade(ground, "other", &values("other")));
    let (one, other) = tokio::try_join!(one.applied(), other.applied())?;
    one.says("Succeeded", "True/EngineCompleted").await?;
    other.says("Succeeded", "True/EngineCompleted").await?;
    let (one, other) = (one.read().await?, other.read().await?);
    let text =
        |object: &DynamicObject, name: &str| text_at(&object.data, &format!("/status/{name}")).to_owned();
    let is_after = |later: &DynamicObject, earlier: &DynamicObject| {
        text(earlier, "finishedAt") <= text(later, "startedAt")
            && at(earlier, "/status/outputs/toRevision") == at(later, "/status/outputs/fromRevision")
    };
    ensure!(
        is_after(&one, &other) || is_after(&other, &one),
        "they ran at the same time: {} and {}",
        at(&one, "/status"),
        at(&other, "/status")
    );
    Ok(())
}

async fn nothing_to_do(shop: &Instance<'_>, version: &str) -> Result<()> {
    let before = shop.read().await?;
    let same = upgrade(shop.ground, "same", &json!({"targetVersion": version})).applied().await?;
    same.says("Succeeded", "True/EngineCompleted").await?.naming("Nothing to do")?;
    same.plugin_status("Current").await?;
    let after = shop.read().await?;
    ensure!(after.metadata.annotations == before.metadata.annotations, "the instance was written");
    ensure!(after.metadata.generation == before.metadata.generation, "the instance was changed");
    Ok(())
}

/// The change waits because the instance is suspended, and somebody takes it back.
async fn edited_meanwhile(shop: &Instance<'_>, wanted: &str, running: &str) -> Result<()> {
    edit(shop, &json!({"suspend": true})).await?;
    shop.says_all(&[("Suspended", "True/ManuallySuspended"), ("Ready", "True/HelmReleaseReady")]).await?;
    let back = upgrade(shop.ground, "back", &json!({"targetVersion": wanted})).applied().await?;
    back.says("Running", "True/EngineStarted").await?;
    let waits =
        |now: &DynamicObject| text_at(&now.data, "/status/message").contains("has not been given the change");
    back.until(waits).await?;
    back.plugin_status("InProgress").await?;
    edit(shop, &json!({"chart": {"version": running}})).await?;
    let said = back.says("Failed", "True/EngineFailed").await?;
    said.naming("Somebody else changed")?.naming(running)?;
    back.plugin_status("Failed").await?;
    edit(shop, &json!({"suspend": false})).await?;
    shop.says_all(&[("Suspended", "False/Active"), ("Ready", "True/HelmReleaseReady")]).await
}

/// The message names what runs now.
async fn failed(ground: &Ground, running: &str) -> Result<()> {
    let broken = upgrade(ground, "broken", &json!({"valuesPatch": {"ready": false}})).applied().await?;
    let said = broken.says("Failed", "True/EngineFailed").await?;
    said.naming("UpgradeFailed")?.naming("Rolled back")?.naming(running)?;
    broken.kubectl_wait("Failed").await?;
    broken.plugin_status("Failed").await
}
