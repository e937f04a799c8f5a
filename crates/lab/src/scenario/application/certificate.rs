//! An application whose ingress waits for its certificate.

use anyhow::Result;

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario};
use super::instance::instance;
use super::scenario_with;

pub(in super::super) const SCENARIO: Scenario = scenario_with(
    "application_certificate_the_instance_waits_for_it_and_is_ready_when_it_is_issued",
    &["cert-manager", "flux", "operator", "registry"],
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::Service, Part::Certificate]).await?;
    let shop =
        instance(ground).chart(&chart).with("integrations: {certManager: {enabled: true}}").applied().await?;
    shop.says("Ready", "False/WaitingForCertificate").await?.naming("web")?;
    shop.kubectl_wait("Ready=false").await?;
    shop.plugin_status("InProgress").await?;

    ground.apply(ISSUER).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    shop.kubectl_wait("Ready").await?;
    shop.plugin_status("Current").await
}

const ISSUER: &str = "
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: later, namespace: NAMESPACE}
spec: {selfSigned: {}}
";
