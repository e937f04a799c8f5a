//! An object of the release that the cluster refuses: Flux gives up, and the user asks for another try.

use anyhow::Result;
use kube::api::DeleteParams;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::instance;
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_retry_a_quota_that_refuses_an_object_is_told_and_another_try_is_made_when_asked_for",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(QUOTA).await?;
    let counts = |data: &serde_json::Value| data.pointer("/status/hard").is_some();
    ground.until("v1", "ResourceQuota", "none", counts).await?;
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground).chart(&chart).with("install: {retries: 0}").applied().await?;
    shop.says("Blocked", "True/PolicyDenied").await?.naming("exceeded quota")?;
    shop.says("Stalled", "True/PolicyDenied").await?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await?;

    let quotas = ground.objects("v1", "ResourceQuota");
    quotas.delete("none", &DeleteParams::background()).await?;
    super::super::gone(&quotas, "ResourceQuota", "none").await?;
    shop.annotate("apps.vworkspace.io/retry", Some("after the quota went")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await
}

const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: none, namespace: NAMESPACE}
spec: {hard: {count/deployments.apps: '0'}}
";
