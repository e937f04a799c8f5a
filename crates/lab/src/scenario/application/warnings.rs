//! An application that is available, with something that deserves attention before the next change.

use anyhow::Result;

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario};
use super::instance::{Instance, instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_warnings_it_is_ready_with_an_ignored_test_a_deprecated_chart_or_a_deprecated_key",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    tokio::try_join!(ignored_test(ground), deprecated_chart(ground), deprecated_key(ground))?;
    Ok(())
}

async fn ignored_test(ground: &Ground) -> Result<()> {
    let (fails, passes) = tokio::try_join!(
        Chart::published(ground, &[Part::FailingTest]),
        Chart::published(ground, &[Part::PassingTest])
    )?;
    let mut shop =
        instance(ground).chart(&fails).with("tests: {enabled: true, ignoreFailures: true}").applied().await?;
    warns(&shop, "web-fails").await?;
    shop.change(&format!("chart: {{version: {}}}", passes.version)).await?;
    is_fine(&shop).await
}

async fn deprecated_chart(ground: &Ground) -> Result<()> {
    let (old, new) =
        tokio::try_join!(Chart::published(ground, &[Part::Deprecated]), Chart::published(ground, &[]))?;
    let mut dated = named(ground, "dated", "dated").chart(&old).applied().await?;
    warns(&dated, "deprecated").await?;
    dated.change(&format!("chart: {{version: {}}}", new.version)).await?;
    is_fine(&dated).await
}

async fn deprecated_key(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::DeprecatedKey]).await?;
    let mut keyed = named(ground, "keyed", "keyed")
        .chart(&chart)
        .with("values: {source: inline, inline: {oldGreeting: hello}}")
        .applied()
        .await?;
    warns(&keyed, "oldGreeting").await?;
    keyed.change("values: {inline: {oldGreeting: null, greeting: hello}}").await?;
    is_fine(&keyed).await
}

async fn warns(instance: &Instance<'_>, cause: &str) -> Result<()> {
    instance.says("Ready", "True/HelmReleaseReadyWithWarnings").await?.naming(cause)?;
    instance.says_all(&[("Reconciling", "False/Stable"), ("Degraded", "False/NotDegraded")]).await?;
    instance.kubectl_wait("Ready").await?;
    instance.plugin_status("Current").await
}

async fn is_fine(instance: &Instance<'_>) -> Result<()> {
    instance.says("Ready", "True/HelmReleaseReady").await?;
    instance.plugin_status("Current").await
}
