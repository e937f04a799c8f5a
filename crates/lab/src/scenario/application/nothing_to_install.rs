//! Instances that Flux never hears of: a placeholder, and specs that cannot be carried out here.

use anyhow::Result;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_nothing_to_install_a_placeholder_is_ready_and_a_spec_that_cannot_be_carried_out_says_why",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    tokio::try_join!(placeholder(ground), native_storage(ground, &chart), invalid(ground, &chart))?;
    Ok(())
}

async fn placeholder(ground: &Ground) -> Result<()> {
    let stand = instance(ground).with("{mode: placeholder, release: null}").applied().await?;
    stand.says("Ready", "True/Placeholder").await?.naming("spec.mode")?;
    stand.kubectl_wait("Ready").await?;
    stand.plugin_status("Current").await
}

/// The way back is a chart.
async fn native_storage(ground: &Ground, chart: &Chart) -> Result<()> {
    let store = named(ground, "store", "store").with("appRef: {catalogId: seaweedfs}").applied().await?;
    store.says("Blocked", "True/MissingDependencies").await?.naming("spec.chart")?;
    store.says("Ready", "False/Blocked").await?.naming("MissingDependencies")?;
    store.kubectl_wait("Blocked").await?;
    store.plugin_status("InProgress").await?;

    let store = store.chart(chart).applied().await?;
    store.says("Ready", "True/HelmReleaseReady").await?;
    store.says("Blocked", "False/Unblocked").await?;
    store.kubectl_wait("Blocked=false").await?;
    store.plugin_status("Current").await
}

/// A name that cannot be a label: neither schema nor policy has a word against it. Only another instance helps.
async fn invalid(ground: &Ground, chart: &Chart) -> Result<()> {
    let name = "a-name-of-an-instance-with-more-letters-than-a-label-has-room-for";
    let odd = named(ground, name, "odd").chart(chart).applied().await?;
    odd.says("Blocked", "True/InvalidSpec").await?.naming("metadata.name")?;
    odd.says("Ready", "False/Blocked").await?;
    odd.says("Stalled", "True/InvalidSpec").await?;
    odd.kubectl_wait("Stalled").await?;
    odd.plugin_status("Failed").await?;
    odd.delete().await?;
    odd.is_gone().await
}
