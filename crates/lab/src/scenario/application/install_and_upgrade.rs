//! The plain life of an instance, word by word.

use anyhow::Result;

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario};
use super::instance::instance;
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_install_and_upgrade_every_step_is_told_and_read_by_kubectl_and_the_plugin",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::SlowGoodbye]).await?;
    let mut shop =
        instance(ground).chart(&chart).with("values: {source: inline, inline: {delay: 3}}").applied().await?;
    shop.says_all(&[("Ready", "False/Installing"), ("Reconciling", "True/HelmReleaseInstalling")]).await?;
    shop.kubectl_wait("Reconciling").await?;
    shop.plugin_status("InProgress").await?;

    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&chart.version)?;
    shop.says_all(&[
        ("Ready", "True/HelmReleaseReady"),
        ("Reconciling", "False/Stable"),
        ("Degraded", "False/NotDegraded"),
        ("Suspended", "False/Active"),
        ("Blocked", "False/NotBlocked"),
        ("Deleting", "False/NotDeleting"),
        ("Stalled", "False/NotStalled"),
    ])
    .await?;
    shop.kubectl_wait("Ready").await?;
    shop.kubectl_wait("Reconciling=false").await?;
    shop.plugin_status("Current").await?;
    // Before Flux had looked at anything.
    shop.has_said("Ready", "Unknown/Reconciling").await?;
    shop.has_said("Reconciling", "True/ChartSourceSyncing").await?;

    shop.change("values: {inline: {greeting: once more}}").await?;
    shop.says_all(&[("Ready", "False/Upgrading"), ("Reconciling", "True/HelmReleaseUpgrading")]).await?;
    shop.kubectl_wait("Ready=false").await?;
    shop.plugin_status("InProgress").await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming("revision 2")?;
    shop.plugin_status("Current").await?;

    shop.delete().await?;
    shop.says_all(&[("Deleting", "True/Uninstalling"), ("Ready", "False/Uninstalling")]).await?;
    shop.kubectl_wait("Deleting").await?;
    shop.plugin_status("Terminating").await?;
    shop.is_gone().await
}
