//! A chart from a Flux source that somebody else keeps.

use anyhow::Result;

use super::super::chart::{Chart, NAME};
use super::super::{Ground, Scenario};
use super::instance::{REGISTRY, SOURCE, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario =
    scenario("application_source_reference_a_source_of_somebody_else_is_used_and_left_alone", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    let (old, new) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    let mut shop = instance(ground)
        .with(&format!(
            "chart: {{sourceRef: {{kind: OCIRepository, name: theirs}}, name: {NAME}, version: {}}}",
            old.version
        ))
        .applied()
        .await?;
    shop.says("Blocked", "True/MissingChartSource").await?.naming("theirs does not exist")?;
    shop.says("Stalled", "True/MissingChartSource").await?;

    ground.apply(&theirs(&old.version)).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;

    // Both have to agree before anything happens.
    shop.change(&format!("chart: {{version: {}}}", new.version)).await?;
    shop.says("Blocked", "True/MissingChartSource").await?.naming(&old.version)?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Stalled", "True/MissingChartSource")]).await?;
    ground.apply(&theirs(&new.version)).await?;
    // What runs is ready also while the change cannot go out.
    shop.says_all(&[("Reconciling", "False/Stable"), ("Stalled", "False/NotStalled")]).await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&new.version)?;

    shop.delete().await?;
    shop.is_gone().await?;
    ground.until(SOURCE, "OCIRepository", "theirs", |_| true).await.map(|_| ())
}

/// A source that is none of the operator's.
pub(in super::super) fn theirs(version: &str) -> String {
    format!(
        "
apiVersion: {SOURCE}
kind: OCIRepository
metadata: {{name: theirs, namespace: NAMESPACE}}
spec:
  interval: 10s
  url: {REGISTRY}/{NAME}
  ref: {{tag: {version}}}
  insecure: true
  layerSelector: {{mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}}
"
    )
}
