//! An instance that needs another one first.

use anyhow::Result;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_dependency_an_instance_waits_for_another_one_and_is_installed_when_that_is_ready",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let shop = instance(ground).chart(&chart).with("dependsOn: [{name: stock}]").applied().await?;
    shop.says("Blocked", "True/DependencyNotReady").await?.naming("stock")?;
    shop.says("Ready", "False/Blocked").await?.naming("DependencyNotReady")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("InProgress").await?;

    let stock = named(ground, "stock", "stock")
        .chart(&chart)
        .with("values: {source: inline, inline: {delay: 3}}")
        .applied()
        .await?;
    stock.says("Ready", "False/Installing").await?;
    shop.says("Blocked", "True/DependencyNotReady").await?.naming("stock")?;
    stock.says("Ready", "True/HelmReleaseReady").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await
}
