//! Chart sources that the catalog policy allows. The policy is everybody's, so this runs alone.

use anyhow::Result;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{REGISTRY, instance};
use super::{catalog_policy, scenario};

pub(in super::super) const SCENARIO: Scenario = Scenario {
    alone: true,
    ..scenario("application_allow_list_a_source_that_is_not_on_it_blocks_until_it_is", |ground| {
        Box::pin(catalog_policy::removed_after(ground, not_allowed(ground)))
    })
};

async fn not_allowed(ground: &Ground) -> Result<()> {
    allow(ground, "oci://registry.example.test/charts").await?;
    let chart = Chart::published(ground, &[]).await?;
    let shop = instance(ground).chart(&chart).applied().await?;
    shop.says("Blocked", "True/MissingChartSource").await?.naming("catalog policy")?;
    shop.says("Ready", "False/Blocked").await?.naming("MissingChartSource")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await?;

    allow(ground, REGISTRY).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await
}

async fn allow(ground: &Ground, source: &str) -> Result<()> {
    catalog_policy::set(ground, &format!("{{allowedChartSources: '[\"{source}\"]'}}")).await
}
