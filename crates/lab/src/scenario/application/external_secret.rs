//! An application whose Secret comes from outside. Nothing on the lab syncs it: the scenario writes what its controller would.

use anyhow::Result;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario};
use super::instance::instance;
use super::scenario_with;

pub(in super::super) const SCENARIO: Scenario = scenario_with(
    "application_external_secret_the_instance_waits_until_it_is_synced",
    &["external-secrets-crds", "flux", "operator", "registry"],
    |ground| Box::pin(run(ground)),
);

pub(in super::super) async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::ExternalSecret]).await?;
    let shop = instance(ground)
        .chart(&chart)
        .with("integrations: {externalSecrets: {enabled: true}}")
        .applied()
        .await?;
    ground.until("external-secrets.io/v1", "ExternalSecret", "web-outside", |_| true).await?;
    synced(
        ground,
        &json!({"status": "False", "reason": "SecretSyncedError", "message": "could not get secret data"}),
    )
    .await?;
    shop.says("Ready", "False/WaitingForSecret").await?.naming("web-outside")?;
    shop.says("Blocked", "True/MissingSecret").await?.naming("web-outside")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("InProgress").await?;

    ground.apply(SECRET).await?;
    synced(ground, &json!({"status": "True", "reason": "SecretSynced", "message": "Secret was synced"}))
        .await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;

    // What runs has its Secret, whatever becomes of the next refresh.
    let failed =
        json!({"status": "False", "reason": "SecretSyncedError", "message": "could not get secret data"});
    synced(ground, &failed).await?;
    shop.says("Ready", "True/HelmReleaseReadyWithWarnings").await?.naming("web-outside")?;
    shop.says("Blocked", "False/Unblocked").await?;
    shop.plugin_status("Current").await?;
    // Without it the next pod does not start.
    ground.objects("v1", "Secret").delete("web-outside", &DeleteParams::default()).await?;
    shop.says_all(&[("Ready", "False/WaitingForSecret"), ("Blocked", "True/MissingSecret")]).await?;
    ground.apply(SECRET).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReadyWithWarnings"), ("Blocked", "False/Unblocked")]).await?;
    let done = json!({"status": "True", "reason": "SecretSynced", "message": "Secret was synced"});
    synced(ground, &done).await?;
    shop.says("Ready", "True/HelmReleaseReady").await.map(|_| ())
}

async fn synced(ground: &Ground, ready: &Value) -> Result<()> {
    let secrets = ground.objects("external-secrets.io/v1", "ExternalSecret");
    let mut condition = json!({"type": "Ready", "lastTransitionTime": jiff::Timestamp::now().to_string()});
    super::super::application_crd::merge(&mut condition, ready);
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    secrets.patch_status("web-outside", &PatchParams::default(), &status).await?;
    Ok(())
}

const SECRET: &str = "
apiVersion: v1
kind: Secret
metadata: {name: web-outside, namespace: NAMESPACE}
stringData: {password: from outside}
";
