//! An instance that is left alone: what runs stays as it is, and a change waits where everybody can see it.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::{HELM, Instance, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_pause_a_change_waits_while_it_is_annotated_or_suspended_and_goes_out_after",
    |ground| Box::pin(run(ground)),
);

const RECONCILE: &str = "apps.vworkspace.io/reconcile";

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground)
        .chart(&chart)
        .with("values: {source: inline, inline: {greeting: first}}")
        .applied()
        .await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    by_annotation(ground, &mut shop).await?;
    by_spec(ground, &mut shop).await
}

async fn by_annotation(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    shop.annotate(RECONCILE, Some("disabled")).await?;
    shop.says("Suspended", "True/ReconcilePaused").await?.naming(RECONCILE)?;
    shop.kubectl_wait("Suspended").await?;
    // Nothing waits yet.
    shop.plugin_status("Current").await?;
    ensure!(!is_suspended(ground).await?, "the release is suspended, although only status may be written");

    shop.change("values: {inline: {greeting: second}}").await?;
    waits(ground, shop, "first").await?;

    shop.annotate(RECONCILE, None).await?;
    shop.says("Suspended", "False/Active").await?;
    goes_out(ground, shop, "second").await?;

    // The same once more: an Event that was told before is counted, not told again.
    shop.annotate(RECONCILE, Some("disabled")).await?;
    shop.says("Suspended", "True/ReconcilePaused").await?;
    shop.annotate(RECONCILE, None).await?;
    shop.says("Suspended", "False/Active").await.map(|_| ())
}

async fn by_spec(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    shop.change("suspend: true").await?;
    shop.says("Suspended", "True/ManuallySuspended").await?.naming("spec.suspend")?;
    shop.kubectl_wait("Suspended").await?;
    ground
        .until(HELM, "HelmRelease", "web", |data| data.pointer("/spec/suspend") == Some(&Value::Bool(true)))
        .await?;
    shop.plugin_status("Current").await?;

    shop.change("values: {inline: {greeting: third}}").await?;
    waits(ground, shop, "second").await?;

    shop.change("suspend: false").await?;
    shop.says("Suspended", "False/Active").await?;
    goes_out(ground, shop, "third").await
}

/// What runs is as it was, and nobody takes the change for live.
async fn waits(ground: &Ground, shop: &Instance<'_>, runs: &str) -> Result<()> {
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "True/ChangePending")]).await?;
    shop.kubectl_wait("Reconciling").await?;
    shop.plugin_status("InProgress").await?;
    let settings = ground.until("v1", "ConfigMap", "web-settings", |_| true).await?;
    let greeting = text_at(&settings.data, "/data/greeting");
    ensure!(greeting == runs, "greeting '{greeting}' runs, not '{runs}'");
    Ok(())
}

async fn goes_out(ground: &Ground, shop: &Instance<'_>, runs: &str) -> Result<()> {
    ground.until("v1", "ConfigMap", "web-settings", |data| text_at(data, "/data/greeting") == runs).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    shop.plugin_status("Current").await
}

async fn is_suspended(ground: &Ground) -> Result<bool> {
    let release = ground.objects(HELM, "HelmRelease").get("web").await?;
    Ok(release.data.pointer("/spec/suspend") == Some(&Value::Bool(true)))
}
