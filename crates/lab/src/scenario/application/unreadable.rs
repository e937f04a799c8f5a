//! An instance that is older than a rule of its schema, so that the operator's types have no room for it.

use anyhow::{Context, Result};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::super::chart::Chart;
use super::super::{Ground, Scenario, application_crd, comes_true, definition};
use super::instance::{APPS, Instance, KIND, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    // The CRD is everybody's.
    alone: true,
    ..scenario(
        "application_unreadable_an_instance_that_the_operator_cannot_read_says_so_until_it_is_mended",
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
    shop.plugin_status("Current").await
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
