//! An upgrade that fails: rolled back, or left as it is.

use anyhow::Result;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_failed_upgrade_it_is_degraded_until_a_later_one_succeeds_rolled_back_or_not",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    tokio::try_join!(rolled_back(ground, &chart), kept(ground, &chart))?;
    Ok(())
}

async fn rolled_back(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut shop =
        instance(ground).chart(chart).with("{timeout: 8s, upgrade: {retries: 0}}").applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    shop.change("values: {source: inline, inline: {ready: false}}").await?;
    // The revision that users have.
    shop.says("Degraded", "True/UpgradeFailed").await?.naming(&chart.version)?;
    shop.says("Ready", "False/HelmReleaseFailed").await?.naming("deadline exceeded")?;
    shop.says_all(&[
        ("Ready", "False/HelmReleaseFailed"),
        ("Degraded", "True/UpgradeFailed"),
        ("Reconciling", "False/Stable"),
        ("Stalled", "True/HelmReleaseFailed"),
    ])
    .await?;
    shop.kubectl_wait("Degraded").await?;
    shop.plugin_status("Failed").await?;

    shop.change("values: {inline: {ready: true, greeting: mended}}").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await?;
    shop.kubectl_wait("Degraded=false").await?;
    shop.plugin_status("Current").await
}

async fn kept(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut kept = named(ground, "kept", "kept")
        .chart(chart)
        .with("{timeout: 8s, upgrade: {retries: 0, onFailure: Keep}}")
        .applied()
        .await?;
    kept.says("Ready", "True/HelmReleaseReady").await?;
    kept.change("values: {source: inline, inline: {ready: false}}").await?;
    kept.says("Degraded", "True/HelmReleaseDegraded").await?.naming("deadline exceeded")?;
    kept.says_all(&[
        ("Ready", "False/HelmReleaseFailed"),
        ("Degraded", "True/HelmReleaseDegraded"),
        ("Stalled", "True/HelmReleaseFailed"),
    ])
    .await?;
    kept.kubectl_wait("Degraded").await?;
    kept.plugin_status("Failed").await?;

    kept.change("values: {inline: {ready: true}}").await?;
    kept.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await?;
    kept.plugin_status("Current").await
}
