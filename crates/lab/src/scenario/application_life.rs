//! An ApplicationInstance from its creation to its end, kept by the operator as its chart installs it.

use anyhow::{Result, ensure};
use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use super::chart::Chart;
use super::{Ground, Scenario, gone, text_at};
use crate::audit::{self, Request};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "application_life_an_instance_is_installed_rests_without_writes_is_upgraded_and_leaves_nothing",
    needs: &["flux", "operator", "registry"],
    // For the audit log.
    needs_node: true,
    alone: false,
    run: |ground| Box::pin(life(ground)),
};

const APPS: &str = "apps.vworkspace.io/v1alpha1";
const HELM: &str = "helm.toolkit.fluxcd.io/v2";

async fn life(ground: &Ground) -> Result<()> {
    let old = Chart::published(ground, &[]).await?;
    let started = Timestamp::now();
    ground.apply(&INSTANCE.replace("VERSION", &old.version)).await?;
    says(ground, "Ready", "False/Installing").await?;
    says(ground, "Ready", "True/HelmReleaseReady").await?;
    installed(ground, &old.version).await?;
    ensure!(!writes(ground, started)?.is_empty(), "the audit log tells nothing of the operator's writes");
    rests(ground).await?;

    let new = Chart::published(ground, &[]).await?;
    ground.apply(&INSTANCE.replace("VERSION", &new.version)).await?;
    says(ground, "Ready", "False/Upgrading").await?;
    says(ground, "Ready", "True/HelmReleaseReady").await?;
    installed(ground, &new.version).await?;

    ground.delete(APPS, "ApplicationInstance", "shop").await?;
    for (api_version, kind) in [(HELM, "HelmRelease"), ("apps/v1", "Deployment")] {
        gone(&ground.objects(api_version, kind), kind, "web").await?;
    }
    // The source goes with its owner.
    gone(&ground.objects("source.toolkit.fluxcd.io/v1", "OCIRepository"), "OCIRepository", "web").await
}

/// Waits until the instance says something about its present generation.
async fn says(ground: &Ground, type_: &str, wanted: &str) -> Result<()> {
    let is_wanted = |data: &Value| {
        let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|known| {
            let status = format!("{}/{}", text_at(known, "/status"), text_at(known, "/reason"));
            text_at(known, "/type") == type_ && status == wanted
        })
    };
    let object = ground.until(APPS, "ApplicationInstance", "shop", is_wanted).await?;
    let observed = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    ensure!(observed == object.metadata.generation, "{wanted} is said of generation {observed:?}");
    Ok(())
}

/// The release really runs this version.
async fn installed(ground: &Ground, version: &str) -> Result<()> {
    let settings = ground.until("v1", "ConfigMap", "web-settings", |_| true).await?;
    let found = text_at(&settings.data, "/data/version");
    ensure!(found.starts_with(version), "version {found} is installed, not {version}");
    let greeting = text_at(&settings.data, "/data/greeting");
    ensure!(greeting == "from the instance", "the chart was given greeting '{greeting}'");
    Ok(())
}

/// Flux looks at the release at every interval and says so in its status; the operator sees that and writes nothing.
pub(super) async fn rests(ground: &Ground) -> Result<()> {
    // The Events of the last transition are sent after the status.
    looked_at(ground, Timestamp::now()).await?;
    let since = Timestamp::now();
    looked_at(ground, since).await?;
    looked_at(ground, since.checked_add(15.seconds())?).await?;
    let written: Vec<String> = writes(ground, since)?.iter().map(Request::describe).collect();
    ensure!(written.is_empty(), "the operator is at rest and wrote: {}", written.join(", "));
    let elapsed = Timestamp::now().duration_since(since).as_secs();
    println!("     no write of the operator in {elapsed} s, while Flux looked at the release twice");
    Ok(())
}

/// Waits until Flux has looked at the release after a moment.
async fn looked_at(ground: &Ground, after: Timestamp) -> Result<()> {
    let is_later = |data: &Value| {
        let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|known| {
            let time: Option<Timestamp> = text_at(known, "/lastTransitionTime").parse().ok();
            text_at(known, "/type") == "Ready"
                && text_at(known, "/status") == "True"
                && time.is_some_and(|time| time > after)
        })
    };
    ground.until(HELM, "HelmRelease", "web", is_later).await.map(|_| ())
}

/// What the operator wrote here; it works for other scenarios too.
fn writes(ground: &Ground, since: Timestamp) -> Result<Vec<Request>> {
    let user = audit::service_account("vworkspace-system", "vworkspace-app-operator");
    let requests = audit::requests(&ground.cluster.paths.audit_log(), &user, since)?;
    let here = |request: &Request| request.is_write() && request.is_in(&ground.namespace);
    Ok(requests.into_iter().filter(here).collect())
}

const INSTANCE: &str = "
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: shop, namespace: NAMESPACE}
spec:
  appRef: {catalogId: probe}
  interval: 10s
  timeout: 1m
  chart:
    sourceType: oci
    url: oci://registry.lab-system.svc.cluster.local:5000/charts
    name: probe
    version: VERSION
    insecure: true
  release: {name: web, namespace: NAMESPACE}
  values: {source: inline, inline: {greeting: from the instance}}
";
