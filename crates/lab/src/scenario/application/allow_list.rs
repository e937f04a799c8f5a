//! Chart sources that the catalog policy allows. The policy is everybody's, so this runs alone.

use anyhow::Result;
use kube::api::DeleteParams;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{REGISTRY, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    alone: true,
    ..scenario("application_allow_list_a_source_that_is_not_on_it_blocks_until_it_is", |ground| {
        Box::pin(run(ground))
    })
};

async fn run(ground: &Ground) -> Result<()> {
    let told = not_allowed(ground).await;
    // Also after a failure: nobody else may feel it.
    let policies = ground.cluster.dynamic("v1", "ConfigMap", Some("vworkspace-system"));
    let removed = policies.delete("vworkspace-catalog-policy", &DeleteParams::background()).await;
    told?;
    removed?;
    Ok(())
}

async fn not_allowed(ground: &Ground) -> Result<()> {
    ground.apply(&POLICY.replace("SOURCE", "oci://registry.example.test/charts")).await?;
    let chart = Chart::published(ground, &[]).await?;
    let shop = instance(ground).chart(&chart).applied().await?;
    shop.says("Blocked", "True/MissingChartSource").await?.naming("catalog policy")?;
    shop.says("Ready", "False/Blocked").await?.naming("MissingChartSource")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await?;

    ground.apply(&POLICY.replace("SOURCE", REGISTRY)).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await
}

const POLICY: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: vworkspace-catalog-policy, namespace: vworkspace-system}
data: {allowedChartSources: '[\"SOURCE\"]'}
";
