//! Objects of a release that somebody changes behind Helm's back: told, and left as they are.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::instance;
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_drift_a_change_by_another_hand_is_told_until_it_is_undone_and_never_corrected",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let shop = instance(ground).chart(&chart).applied().await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/NotDegraded")]).await?;

    greet(ground, "by hand").await?;
    shop.says("Degraded", "True/Drifted").await?.naming("web-settings")?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "True/Drifted")]).await?;
    shop.kubectl_wait("Degraded").await?;
    // It runs, and the spec was carried out.
    shop.plugin_status("Current").await?;
    let settings = ground.objects("v1", "ConfigMap").get("web-settings").await?;
    ensure!(text_at(&settings.data, "/data/greeting") == "by hand", "the change was undone");

    // Two intervals without drift.
    greet(ground, "from the chart").await?;
    shop.says("Degraded", "False/Recovered").await?;
    shop.kubectl_wait("Degraded=false").await
}

async fn greet(ground: &Ground, greeting: &str) -> Result<()> {
    let change = Patch::Merge(json!({"data": {"greeting": greeting}}));
    ground.objects("v1", "ConfigMap").patch("web-settings", &PatchParams::default(), &change).await?;
    Ok(())
}
