//! Where an application is reached, and whether it answers there.

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario, text_at};
use super::instance::{Instance, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_endpoint_it_is_listed_and_a_service_that_does_not_answer_degrades_the_instance",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::Service, Part::Ingress]).await?;
    // A Deployment that was scaled by hand has drifted too, which is another scenario.
    let mut shop = instance(ground)
        .chart(&chart)
        .with(
            "{driftDetection: {mode: Disabled},
              integrations: {ingress: {enabled: true, host: probe.example.test}},
              readinessChecks: [{name: greeting, http: {service: web, port: 80, path: /greeting},
                                 interval: 1s, timeout: 1s, failureThreshold: 2}]}",
        )
        .applied()
        .await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    listed(&shop.read().await?.data, "ingress", "http://probe.example.test")?;
    listed(&shop.read().await?.data, "service", &format!("web.{}.svc", ground.namespace))?;

    scale(ground, 0).await?;
    shop.says("Ready", "False/EndpointUnreachable").await?.naming("greeting")?;
    shop.says("Degraded", "True/EndpointUnreachable").await?.naming("greeting")?;
    shop.kubectl_wait("Degraded").await?;
    shop.plugin_status("InProgress").await?;

    scale(ground, 1).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await?;
    shop.kubectl_wait("Ready").await?;
    shop.plugin_status("Current").await?;
    only_services_of_the_namespace(ground, &mut shop).await
}

/// A check of a Service that is not of the release waits for it. One that leads out of the namespace is not asked, although
/// there is something at its end that would answer.
async fn only_services_of_the_namespace(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    let checks = |service: &str, port: u16| {
        format!(
            "readinessChecks: [{{name: beside, tcp: {{service: {service}, port: {port}}},
                                 interval: 1s, timeout: 1s, failureThreshold: 2}}]"
        )
    };
    shop.change(&checks("later", 80)).await?;
    shop.says("Ready", "False/EndpointUnreachable").await?.naming("later does not exist")?;
    ground.apply(LATER).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await?;

    ground.apply(OUTSIDE).await?;
    shop.change(&checks("outside", 443)).await?;
    shop.says("Ready", "False/EndpointUnreachable").await?.naming("ExternalName")?.naming("outside")?;
    shop.says("Degraded", "True/EndpointUnreachable").await?.naming("kubernetes.default")?;

    shop.change(&checks("later", 80)).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await
}

/// Leads to the pods of the release, and is none of its objects.
const LATER: &str = "
apiVersion: v1
kind: Service
metadata: {name: later, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
";

const OUTSIDE: &str = "
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: NAMESPACE}
spec: {type: ExternalName, externalName: kubernetes.default.svc.cluster.local}
";

/// An address of a kind is among the endpoints of the status.
fn listed(object: &Value, type_: &str, address: &str) -> Result<()> {
    let endpoints = object.pointer("/status/endpoints").and_then(Value::as_array);
    let endpoints = endpoints.context("status.endpoints is not there")?;
    let is_listed =
        endpoints.iter().any(|one| text_at(one, "/type") == type_ && text_at(one, "/url").contains(address));
    ensure!(is_listed, "{type_} {address} is not among the endpoints: {endpoints:?}");
    Ok(())
}

async fn scale(ground: &Ground, replicas: i32) -> Result<()> {
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    ground.objects("apps/v1", "Deployment").patch("web", &PatchParams::default(), &change).await?;
    Ok(())
}
