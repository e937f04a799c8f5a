//! An instance that the operator cannot read: one that is older than a rule of its schema, so that its types have no room for
//! it, and one that is nested too deeply.

use anyhow::{Context, Result};
use kube::api::{DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use super::super::chart::Chart;
use super::super::faults::installed;
use super::super::{Ground, Scenario, application_crd, comes_true, definition};
use super::instance::{APPS, Instance, KIND, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    // The CRD is everybody's.
    alone: true,
    ..scenario(
        "application_unreadable_an_instance_that_the_operator_cannot_read_says_so_and_hides_no_other",
        |ground| Box::pin(run(ground)),
    )
};

const CRD: &str = "applicationinstances.apps.vworkspace.io";
const POLICY: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/deletionPolicy";

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let stored = stored(ground, &chart).await;
    // Also after a failure, and after a run that was stopped: the CRD as it is in the chart.
    let restored = application_crd::install(ground, &application_crd::crd()?).await;
    let mut shop = stored.and_then(|shop| restored.map(|()| shop))?;
    comes_true("the rule counts", async || attempt(ground).await.is_err()).await?;

    shop.says("Blocked", "True/InvalidSpec").await?.naming("Perhaps")?;
    shop.says("Ready", "False/Blocked").await?.naming("InvalidSpec")?;
    shop.says("Stalled", "True/InvalidSpec").await?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("Failed").await?;

    shop.change("deletionPolicy: Delete").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;
    too_deep(ground, &mut shop).await
}

/// An instance whose values are nested more deeply than can be read says so, and keeps nobody else from being served: neither
/// when it comes, nor when an operator that starts lists it.
async fn too_deep(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    let nested = format!("{}1{}", r#"{"a":"#.repeat(150), "}".repeat(150));
    let values = format!(r#"{{"source":"inline","inline":{nested}}}"#);
    let object = format!(
        r#"{{"apiVersion":"{APPS}","kind":"{KIND}","metadata":{{"name":"deep"}},
        "spec":{{"appRef":{{"catalogId":"probe"}},"values":{values},"release":{{"name":"deep","namespace":"{}"}},
        "chart":{{"sourceType":"oci","url":"oci://registry.example","name":"probe","version":"1.0.0"}}}}}}"#,
        ground.namespace
    );
    // Not by `kube`, which cannot read it either.
    let api = ground.objects(APPS, KIND);
    let path = api.resource_url().to_owned();
    let made =
        http::Request::post(&path).header("content-type", "application/json").body(object.into_bytes())?;
    ground.cluster.client.request_text(made).await?;
    let told = async || {
        let asked = http::Request::get(format!("{path}/deep")).body(Vec::new());
        let Ok(asked) = asked else { return false };
        let deep = ground.cluster.client.request_text(asked).await.unwrap_or_default();
        deep.contains("it is nested too deeply") && deep.contains("InvalidSpec")
    };
    let served = async {
        comes_true("the instance that is too deep says so", told).await?;
        comes_true("an Event says so, too", async || is_announced(ground).await).await?;
        served_beside(ground, shop).await
    };
    let served = served.await;
    let removed = http::Request::delete(format!("{path}/deep")).body(Vec::new())?;
    ground.cluster.client.request_text(removed).await?;
    served
}

async fn is_announced(ground: &Ground) -> bool {
    let events = ground.objects("events.k8s.io/v1", "Event").list(&ListParams::default()).await;
    let about_it = |event: &DynamicObject| {
        let text = |pointer: &str| event.data.pointer(pointer).and_then(Value::as_str);
        text("/regarding/name") == Some("deep") && text("/reason") == Some("InvalidSpec")
    };
    events.is_ok_and(|events| events.items.iter().any(about_it))
}

async fn served_beside(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    shop.change("values: {source: inline, inline: {replicas: 0, greeting: again}}").await?;
    let carried = [("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")];
    shop.says_all(&carried).await?;
    let stopped = installed::scale(ground, 0).await;
    // Whatever the outcome: others need it.
    installed::scale(ground, 1).await.and(stopped)?;
    shop.change("values: {source: inline, inline: {replicas: 0, greeting: afterwards}}").await?;
    shop.says_all(&carried).await
}

/// An instance from before deletionPolicy was one of two words.
async fn stored<'a>(ground: &'a Ground, chart: &Chart) -> Result<Instance<'a>> {
    definition::edit(ground, CRD, |data| {
        let policy = data.pointer_mut(POLICY).and_then(Value::as_object_mut);
        policy.context("the CRD has no spec.deletionPolicy")?.remove("enum");
        Ok(())
    })
    .await?;
    comes_true("any deletionPolicy is taken", async || attempt(ground).await.is_ok()).await?;
    let values = "values: {source: inline, inline: {replicas: 0}}";
    instance(ground).chart(chart).with(values).with("deletionPolicy: Perhaps").applied().await
}

/// An instance that is not made.
async fn attempt(ground: &Ground) -> kube::Result<DynamicObject> {
    let object = json!({"apiVersion": APPS, "kind": KIND, "metadata": {"name": "dry"},
        "spec": {"appRef": {"catalogId": "probe"}, "mode": "placeholder", "deletionPolicy": "Perhaps"}});
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    ground.objects(APPS, KIND).create(&dry_run, &object).await
}
