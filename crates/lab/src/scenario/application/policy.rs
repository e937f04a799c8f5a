//! A policy of the cluster that refuses what the operator wants to write.

use anyhow::Result;
use kube::api::{DynamicObject, PostParams};
use serde_json::json;

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::admission::AdmissionPolicy;
use super::instance::{HELM, Instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_policy_what_the_cluster_refuses_is_told_in_its_words_until_it_does_not_any_more",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let policy = AdmissionPolicy::applied(ground, "lab-no-releases", RULE, VALIDATIONS).await?;
    let told = denied(ground, &policy).await;
    // Also after a failure: nothing else may feel it.
    let removed = policy.remove(async || probe(ground).await).await;
    told.and(removed)?;
    for shop in both(ground) {
        shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
        shop.kubectl_wait("Blocked=false").await?;
        shop.plugin_status("Current").await?;
    }
    Ok(())
}

/// The API server answers 403 to one and 422 to the other, as the policy has it; 422 is what a policy says that has no
/// opinion.
fn both(ground: &Ground) -> [Instance<'_>; 2] {
    [named(ground, "forbidden", "forbidden"), named(ground, "invalid", "invalid")]
}

async fn denied(ground: &Ground, policy: &AdmissionPolicy<'_>) -> Result<()> {
    policy.counts(async || probe(ground).await).await?;
    let chart = Chart::published(ground, &[]).await?;
    let [forbidden, invalid] = both(ground);
    tokio::try_join!(is_denied(forbidden, &chart), is_denied(invalid, &chart))?;
    Ok(())
}

async fn is_denied(shop: Instance<'_>, chart: &Chart) -> Result<()> {
    let shop = shop.chart(chart).applied().await?;
    shop.says("Blocked", "True/PolicyDenied").await?.naming("no releases on Sundays")?;
    shop.says("Ready", "False/Blocked").await?.naming("PolicyDenied")?;
    shop.says("Stalled", "True/PolicyDenied").await?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await
}

/// A release that is not made.
async fn probe(ground: &Ground) -> kube::Result<DynamicObject> {
    let spec = json!({"interval": "10m", "chartRef": {"kind": "OCIRepository", "name": "dry"}});
    let release =
        json!({"apiVersion": HELM, "kind": "HelmRelease", "metadata": {"name": "dry"}, "spec": spec});
    let release = serde_json::from_value(release).map_err(kube::Error::SerdeError)?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    ground.objects(HELM, "HelmRelease").create(&dry_run, &release).await
}

const RULE: &str = "
{apiGroups: [helm.toolkit.fluxcd.io], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [helmreleases]}
";

const VALIDATIONS: &str = "
- {expression: object.metadata.name != 'forbidden', message: no releases on Sundays, reason: Forbidden}
- {expression: object.metadata.name == 'forbidden', message: no releases on Sundays}
";
