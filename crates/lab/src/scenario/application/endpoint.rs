//! Where an application is reached, and whether it answers there.

use anyhow::{Context, Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario, text_at};
use super::instance::instance;
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_endpoint_it_is_listed_and_a_service_that_does_not_answer_degrades_the_instance",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::Service, Part::Ingress]).await?;
    // A Deployment that was scaled by hand has drifted too, which is another scenario.
    let shop = instance(ground)
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
    shop.plugin_status("Current").await
}

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
