//! A policy of the cluster that refuses what the operator wants to write.

use anyhow::{Result, ensure};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use tokio::time::Instant;

use super::super::chart::Chart;
use super::super::{DEADLINE, Ground, Scenario};
use super::instance::{HELM, Instance, named};
use super::scenario;
use crate::cluster;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_policy_what_the_cluster_refuses_is_told_in_its_words_until_it_does_not_any_more",
    |ground| Box::pin(run(ground)),
);

const NAME: &str = "lab-no-releases";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(POLICY).await?;
    let told = denied(ground).await;
    // Also after a failure: nothing else may feel it.
    let removed = remove(ground).await;
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

async fn denied(ground: &Ground) -> Result<()> {
    counts(ground).await?;
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

/// A policy counts from a moment on that the API server does not announce.
async fn counts(ground: &Ground) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let manifest = PROBE.replace("NAMESPACE", &ground.namespace);
    let probes: Vec<DynamicObject> = cluster::parse(&manifest)?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    for probe in &probes {
        while ground.objects(HELM, "HelmRelease").create(&dry_run, probe).await.is_ok() {
            ensure!(Instant::now() < deadline, "the policy does not count");
        }
    }
    Ok(())
}

async fn remove(ground: &Ground) -> Result<()> {
    for kind in ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"] {
        let policies = ground.cluster.dynamic(ADMISSION, kind, None);
        policies.delete(NAME, &DeleteParams::background()).await?;
    }
    Ok(())
}

const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: lab-no-releases}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [helm.toolkit.fluxcd.io], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [helmreleases]}
  validations:
  - {expression: object.metadata.name != 'forbidden', message: no releases on Sundays, reason: Forbidden}
  - {expression: object.metadata.name == 'forbidden', message: no releases on Sundays}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: lab-no-releases}
spec:
  policyName: lab-no-releases
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}
";

const PROBE: &str = "
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dry, namespace: NAMESPACE}
spec: {interval: 10m, chartRef: {kind: OCIRepository, name: dry}}
";
