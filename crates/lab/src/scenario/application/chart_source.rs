//! A chart that cannot be had from a registry: a version that does not exist, and a registry that does not answer.

use anyhow::Result;

use super::super::chart::{Chart, NAME};
use super::super::{Ground, Scenario};
use super::instance::{REGISTRY, instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_chart_source_a_version_that_is_missing_blocks_and_a_registry_that_is_silent_is_waited_for",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    tokio::try_join!(missing(ground), unreachable(ground), missing_later(ground))?;
    Ok(())
}

/// The version is published later.
async fn missing(ground: &Ground) -> Result<()> {
    let chart = Chart::write(ground, &[])?;
    let shop = instance(ground).chart(&chart).applied().await?;
    shop.says("Blocked", "True/MissingChartSource").await?.naming(&chart.version)?;
    shop.says("Ready", "False/Blocked").await?.naming("MissingChartSource")?;
    shop.says("Stalled", "True/MissingChartSource").await?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await?;
    shop.keeps_saying("Blocked", "True/MissingChartSource").await?;

    chart.publish(ground).await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&chart.version)?;
    shop.says_all(&[("Blocked", "False/Unblocked"), ("Stalled", "False/NotStalled")]).await?;
    shop.plugin_status("Current").await
}

/// Nobody listens at the port; then the address is corrected.
async fn unreachable(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let silent = REGISTRY.replace(":5000", ":5999");
    let mut far = named(ground, "far", "far")
        .chart(&chart)
        .with(&format!("chart: {{url: '{silent}'}}"))
        .applied()
        .await?;
    far.says("Ready", "False/ChartUnreachable").await?.naming("5999")?;
    far.says_all(&[("Reconciling", "True/ChartSourceSyncing"), ("Blocked", "False/NotBlocked")]).await?;
    far.kubectl_wait("Ready=false").await?;
    far.plugin_status("InProgress").await?;
    far.keeps_saying("Ready", "False/ChartUnreachable").await?;

    far.change(&format!("chart: {{url: '{REGISTRY}'}}")).await?;
    far.says("Ready", "True/HelmReleaseReady").await?.naming(&chart.version)?;
    far.plugin_status("Current").await
}

/// What runs is not touched by a version that does not exist, and going back to it ends the matter.
async fn missing_later(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut old = named(ground, "old", "old").chart(&chart).applied().await?;
    old.says("Ready", "True/HelmReleaseReady").await?;
    old.change(&format!("chart: {{name: {NAME}, version: 9.9.9}}")).await?;
    old.says("Blocked", "True/MissingChartSource").await?.naming("9.9.9")?;
    old.plugin_status("Failed").await?;

    old.change(&format!("chart: {{version: {}}}", chart.version)).await?;
    old.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    old.says("Ready", "True/HelmReleaseReady").await?.naming("revision 1")?;
    old.plugin_status("Current").await
}
