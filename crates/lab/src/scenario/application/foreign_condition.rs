//! What somebody else writes into the status of an instance: a condition is theirs to set and theirs to take back, a field of
//! ours is not.

use anyhow::{Context, Result, ensure};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::chart::Chart;
use super::super::{Ground, Scenario, application_life, text_at};
use super::instance::{APPS, Instance, KIND, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    // For the audit log.
    needs_node: true,
    ..scenario("application_foreign_condition_is_left_alone_and_costs_no_write", |ground| {
        Box::pin(run(ground))
    })
};

const TYPE: &str = "Foo";

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground)
        .chart(&chart)
        .with("values: {source: inline, inline: {greeting: first, replicas: 0}}")
        .applied()
        .await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    let condition = json!({"type": TYPE, "status": "True", "reason": "Bar", "message": "of somebody else",
        "lastTransitionTime": "2026-01-02T03:04:05Z"});
    write(ground, json!({"conditions": [condition]})).await?;
    application_life::rests(ground).await?;
    is_still_there(&shop, &condition).await?;

    // The operator has something of its own to write.
    is_upgraded(&mut shop, "second").await?;
    is_still_there(&shop, &condition).await?;

    write(ground, json!({"conditions": []})).await?;
    shop.until(|object| found(object).is_none())
        .await
        .with_context(|| format!("condition {TYPE} does not go with its owner's last word"))?;
    is_upgraded(&mut shop, "third").await?;
    let back = found(&shop.read().await?);
    ensure!(back.is_none(), "condition {TYPE}, which its owner took back, is there again: {back:?}");

    // An apply cannot remove what another field manager owns: a restored backup, or somebody's editor.
    write(ground, json!({"openWindow": {"name": "night", "origin": "Spec"}})).await?;
    shop.until(|object| object.data.pointer("/status/openWindow").is_none())
        .await
        .context("status.openWindow, which somebody else added, stays")?;
    application_life::rests(ground).await
}

async fn is_upgraded(shop: &mut Instance<'_>, greeting: &str) -> Result<()> {
    shop.change(&format!("values: {{inline: {{greeting: {greeting}}}}}")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await
}

/// As a controller of somebody else would, which knows of nothing but its own conditions.
async fn write(ground: &Ground, status: Value) -> Result<()> {
    let object = json!({"apiVersion": APPS, "kind": KIND, "status": status});
    let params = PatchParams::apply("somebody-else");
    ground.objects(APPS, KIND).patch_status("shop", &params, &Patch::Apply(&object)).await?;
    Ok(())
}

async fn is_still_there(shop: &Instance<'_>, condition: &Value) -> Result<()> {
    let kept = found(&shop.read().await?);
    ensure!(kept.as_ref() == Some(condition), "condition {TYPE} was {condition} and became {kept:?}");
    Ok(())
}

fn found(object: &DynamicObject) -> Option<Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|known| text_at(known, "/type") == TYPE).cloned()
}
