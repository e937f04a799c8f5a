//! A registry that goes away while its chart runs.

use anyhow::{Context, Result};
use kube::api::ListParams;
use serde_json::Value;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::instance;
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_unreachable_source_what_runs_stays_ready_and_is_degraded_while_its_registry_is_away",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let there = DOOR.replace("ADDRESS", &registry(ground).await?);
    ground.apply(&there).await?;
    let door = format!("oci://door.{}.svc.cluster.local:5000/charts", ground.namespace);
    let shop = instance(ground).chart(&chart).with(&format!("chart: {{url: '{door}'}}")).applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;

    // The lab's operator waits for 15 s before it calls that a degradation.
    ground.delete("discovery.k8s.io/v1", "EndpointSlice", "door").await?;
    shop.says("Degraded", "True/ChartUnreachable").await?.naming("door")?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Degraded", "True/ChartUnreachable")]).await?;
    shop.kubectl_wait("Degraded").await?;
    shop.plugin_status("Current").await?;

    ground.apply(&there).await.context("failed to open the door again")?;
    let is_fetched = |data: &Value| {
        let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
        !conditions.into_iter().flatten().any(|known| text_at(known, "/type") == "FetchFailed")
    };
    ground.until(super::instance::SOURCE, "OCIRepository", "web", is_fetched).await?;
    shop.says("Degraded", "False/Recovered").await?;
    shop.kubectl_wait("Degraded=false").await
}

/// The address of the registry's pod.
async fn registry(ground: &Ground) -> Result<String> {
    let slices = ground.cluster.dynamic("discovery.k8s.io/v1", "EndpointSlice", Some("lab-system"));
    let ours = ListParams::default().labels("kubernetes.io/service-name=registry");
    let slice =
        slices.list(&ours).await?.items.into_iter().next().context("the registry has no endpoints")?;
    Ok(text_at(&slice.data, "/endpoints/0/addresses/0").to_owned())
}

/// A way to the registry of the lab that can be shut without shutting it for everybody.
const DOOR: &str = "
apiVersion: v1
kind: Service
metadata: {name: door, namespace: NAMESPACE}
spec: {ports: [{port: 5000}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: door, namespace: NAMESPACE, labels: {kubernetes.io/service-name: door}}
addressType: IPv4
ports: [{port: 5000, protocol: TCP, name: ''}]
endpoints: [{addresses: [ADDRESS], conditions: {ready: true}}]
";
