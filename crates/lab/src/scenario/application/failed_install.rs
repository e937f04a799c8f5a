//! A first installation that fails: before Helm has begun, and because pods do not get ready.

use anyhow::Result;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_failed_install_a_broken_template_is_retried_and_a_pod_that_never_gets_ready_is_given_up",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    tokio::try_join!(template(ground, &chart), never_ready(ground, &chart))?;
    Ok(())
}

/// Flux tries on for ever.
async fn template(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut shop = instance(ground)
        .chart(chart)
        .with("values: {source: inline, inline: {fail: the price list is empty}}")
        .applied()
        .await?;
    shop.says("Ready", "False/HelmReleaseFailed").await?.naming("the price list is empty")?;
    shop.says_all(&[("Ready", "False/HelmReleaseFailed"), ("Reconciling", "True/HelmReleaseInstalling")])
        .await?;
    shop.kubectl_wait("Ready=false").await?;
    shop.plugin_status("InProgress").await?;
    shop.keeps_saying("Ready", "False/HelmReleaseFailed").await?;

    shop.change("values: {inline: {fail: ''}}").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/NotDegraded")]).await?;
    shop.plugin_status("Current").await
}

/// Flux gives up after its retries: only a person helps.
async fn never_ready(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut slow = named(ground, "slow", "slow")
        .chart(chart)
        .with("{timeout: 8s, install: {retries: 0}, values: {source: inline, inline: {ready: false}}}")
        .applied()
        .await?;
    slow.says("Ready", "False/HelmReleaseFailed").await?.naming("deadline exceeded")?;
    slow.says_all(&[
        ("Ready", "False/HelmReleaseFailed"),
        ("Reconciling", "False/Stable"),
        ("Stalled", "True/HelmReleaseFailed"),
        // Nothing has ever been well.
        ("Degraded", "False/NotDegraded"),
    ])
    .await?;
    slow.kubectl_wait("Stalled").await?;
    slow.plugin_status("Failed").await?;

    slow.change("values: {inline: {ready: true}}").await?;
    slow.says_all(&[("Ready", "True/HelmReleaseReady"), ("Stalled", "False/NotStalled")]).await?;
    slow.plugin_status("Current").await
}
