//! Values that come from a Secret: not there, without the key, and not to be read.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, ListParams};

use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::instance::{APPS, KIND, instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_values_a_secret_that_is_missing_is_waited_for_and_a_broken_one_is_never_quoted",
    |ground| Box::pin(run(ground)),
);

/// Must not be read anywhere but in its Secret.
const PLANTED: &str = "correct-horse-battery";

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    tokio::try_join!(missing(ground, &chart), broken(ground, &chart))?;
    not_quoted(ground).await
}

async fn missing(ground: &Ground, chart: &Chart) -> Result<()> {
    let shop = instance(ground)
        .chart(chart)
        .with("values: {source: secretRef, secretRef: {name: settings, key: shop.yaml}}")
        .applied()
        .await?;
    shop.says("Blocked", "True/MissingSecret").await?.naming("settings")?;
    shop.says("Ready", "False/WaitingForSecret").await?.naming("settings")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("InProgress").await?;
    shop.keeps_saying("Blocked", "True/MissingSecret").await?;
    shop.keeps_saying("Ready", "False/WaitingForSecret").await?;

    ground.apply(&SECRET.replace("DATA", "{other.yaml: 'greeting: hello'}")).await?;
    let names_the_key = |object: &DynamicObject| {
        object.data.get("status").is_some_and(|status| status.to_string().contains("key not found"))
    };
    shop.until(names_the_key).await?;
    shop.says("Blocked", "True/MissingSecret").await?.naming("shop.yaml")?;
    shop.says("Ready", "False/WaitingForSecret").await?.naming("shop.yaml")?;

    ground.apply(&SECRET.replace("DATA", "{shop.yaml: 'greeting: hello'}")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.kubectl_wait("Ready").await?;
    shop.plugin_status("Current").await
}

async fn broken(ground: &Ground, chart: &Chart) -> Result<()> {
    let text = format!("{{broken.yaml: 'password: {PLANTED}: [\"'}}");
    ground.apply(&SECRET.replace("settings", "broken").replace("DATA", &text)).await?;
    let odd = named(ground, "odd", "odd")
        .chart(chart)
        .with("values: {source: secretRef, secretRef: {name: broken, key: broken.yaml}}")
        .applied()
        .await?;
    odd.says("Ready", "False/HelmReleaseFailed").await?.naming("values")?;
    odd.says_all(&[("Reconciling", "True/HelmReleaseInstalling"), ("Blocked", "False/NotBlocked")]).await?;
    odd.plugin_status("InProgress").await?;
    odd.keeps_saying("Ready", "False/HelmReleaseFailed").await?;
    not_quoted(ground).await?;

    ground
        .apply(&SECRET.replace("settings", "broken").replace("DATA", "{broken.yaml: 'greeting: hello'}"))
        .await?;
    odd.says("Ready", "True/HelmReleaseReady").await?;
    odd.plugin_status("Current").await
}

/// Neither in a status nor in an Event of ours.
async fn not_quoted(ground: &Ground) -> Result<()> {
    for (api_version, kind) in [(APPS, KIND), ("events.k8s.io/v1", "Event")] {
        let objects = ground.objects(api_version, kind).list(&ListParams::default()).await?;
        for object in objects {
            let is_ours = kind == KIND || object.data.to_string().contains("vworkspace");
            ensure!(
                !(is_ours && object.data.to_string().contains(PLANTED)),
                "{kind} quotes values: {object:?}"
            );
        }
    }
    Ok(())
}

const SECRET: &str = "
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: NAMESPACE}
stringData: DATA
";
