//! A classic repository with an index.

use anyhow::Result;

use super::super::chart::{Chart, NAME};
use super::super::chart_release::serve_over_http;
use super::super::{Ground, Scenario, gone};
use super::instance::{Instance, REGISTRY, SOURCE, instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_http_repository_a_chart_is_installed_and_a_version_that_the_index_lacks_blocks",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::write(ground, &[])?;
    serve_over_http(ground, &[&chart]).await?;
    tokio::try_join!(installed(ground, &chart), missing(ground, &chart))?;
    Ok(())
}

fn source(version: &str) -> String {
    format!(
        "chart: {{sourceType: helm, url: 'http://site.NAMESPACE.svc.cluster.local', name: {NAME}, version: {version}}}"
    )
}

async fn installed(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut shop = instance(ground).with(&source(&chart.version)).applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&chart.version)?;
    shop.plugin_status("Current").await?;
    moves(ground, &mut shop, chart).await?;
    shop.delete().await?;
    shop.is_gone().await?;
    gone(&ground.objects("apps/v1", "Deployment"), "Deployment", "web").await?;
    // The source goes with its owner.
    gone(&ground.objects(SOURCE, "HelmRepository"), "HelmRepository", "web").await
}

/// To a registry and back: one source at a time.
async fn moves(ground: &Ground, shop: &mut Instance<'_>, chart: &Chart) -> Result<()> {
    chart.publish(ground).await?;
    shop.change(&format!("chart: {{sourceType: oci, url: '{REGISTRY}', insecure: true}}")).await?;
    gone(&ground.objects(SOURCE, "HelmRepository"), "HelmRepository", "web").await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    shop.change("chart: {insecure: null}").await?;
    shop.change(&source(&chart.version)).await?;
    gone(&ground.objects(SOURCE, "OCIRepository"), "OCIRepository", "web").await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    Ok(())
}

async fn missing(ground: &Ground, chart: &Chart) -> Result<()> {
    let mut lost = named(ground, "lost", "lost").with(&source("9.9.9")).applied().await?;
    lost.says("Blocked", "True/MissingChartSource").await?.naming("9.9.9")?;
    lost.says("Stalled", "True/MissingChartSource").await?;
    lost.kubectl_wait("Blocked").await?;
    lost.plugin_status("Failed").await?;
    lost.keeps_saying("Blocked", "True/MissingChartSource").await?;

    lost.change(&source(&chart.version)).await?;
    lost.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    lost.plugin_status("Current").await
}
