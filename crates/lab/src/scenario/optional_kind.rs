//! A kind that the operator looks at where it is installed, and which is installed so badly that nobody can list it: its
//! conversion webhook is not there. Who does not need it must not feel it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::application::external_secret;
use super::application::instance::named;
use super::application_crd::merge;
use super::chart::Chart;
use super::faults::installed;
use super::{Ground, Scenario, comes_true, definition, text_at};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "optional_kind_that_cannot_be_listed_holds_nobody_back",
    needs: &["external-secrets-crds", "flux", "operator", "registry"],
    needs_node: false,
    // The operator and the CRD are everybody's; no namespace can be deleted meanwhile.
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

const CRD: &str = "externalsecrets.external-secrets.io";
const KIND: &str = "ExternalSecret";
/// The version that the operator looks at, and the one in which an object is stored.
const VERSION: &str = "v1";
const OLD: &str = "v1beta1";
/// How long a list of a few objects may take.
const ANSWER: Duration = Duration::from_secs(3);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let told = without_the_kind(ground, &chart).await;
    // Whatever the outcome: others need both.
    let repaired = repair(ground).await;
    let restored = installed::scale(ground, 1).await;
    told.and(repaired).and(restored)?;
    // Now it is needed, and seen without anybody's help.
    external_secret::run(ground).await
}

async fn without_the_kind(ground: &Ground, chart: &Chart) -> Result<()> {
    break_it(ground).await?;
    installed::scale(ground, 0).await?;
    installed::scale(ground, 1)
        .await
        .context("the operator does not get ready while ExternalSecrets cannot be listed")?;
    let mut plain = named(ground, "plain", "plain")
        .chart(chart)
        .with("values: {source: inline, inline: {greeting: first, replicas: 0}}")
        .applied()
        .await?;
    plain.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/NotBlocked")]).await?;
    plain.change("values: {inline: {greeting: second}}").await?;
    let is_changed = |data: &Value| text_at(data, "/data/greeting") == "second";
    ground.until("v1", "ConfigMap", "plain-settings", is_changed).await?;
    plain.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    ensure!(!is_listed(ground).await, "ExternalSecrets could be listed meanwhile: this proves nothing");
    Ok(())
}

/// An object that is stored in an old version, and nobody to convert it.
async fn break_it(ground: &Ground) -> Result<()> {
    definition::edit(ground, CRD, |data| store_in(data, OLD)).await?;
    let old: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("external-secrets.io/{OLD}"), "kind": KIND,
        "metadata": {"name": "old", "namespace": ground.namespace},
        "spec": {"secretStoreRef": {"kind": "SecretStore", "name": "vault"},
            "data": [{"secretKey": "password", "remoteRef": {"key": "probe"}}]}}))?;
    // By its old version, which is served only from then on: so it is stored that way.
    let secrets = ground.objects(&format!("external-secrets.io/{OLD}"), KIND);
    comes_true("an ExternalSecret of an old version is taken", async || {
        secrets.create(&PostParams::default(), &old).await.is_ok()
    })
    .await?;
    definition::edit(ground, CRD, |data| {
        let service = json!({"namespace": ground.namespace, "name": "nobody", "path": "/convert"});
        let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}});
        merge(data, &json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}));
        Ok(())
    })
    .await?;
    comes_true("ExternalSecrets cannot be listed", async || !is_listed(ground).await).await
}

async fn repair(ground: &Ground) -> Result<()> {
    definition::edit(ground, CRD, |data| {
        merge(data, &json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}}));
        store_in(data, VERSION)
    })
    .await?;
    comes_true("ExternalSecrets can be listed", async || is_listed(ground).await).await
}

/// The old version is served only while it is stored.
fn store_in(data: &mut Value, version: &str) -> Result<()> {
    let versions = data.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for known in versions.context("the CRD has no versions")? {
        let name = text_at(known, "/name").to_owned();
        let is_served = name == version || name == VERSION;
        merge(known, &json!({"storage": name == version, "served": is_served}));
    }
    Ok(())
}

/// In all namespaces, as the operator does. The API server answers 429, and our client asks again by itself for minutes.
async fn is_listed(ground: &Ground) -> bool {
    let secrets = ground.cluster.dynamic(&format!("external-secrets.io/{VERSION}"), KIND, None);
    timeout(ANSWER, secrets.list(&ListParams::default())).await.is_ok_and(|listed| listed.is_ok())
}
