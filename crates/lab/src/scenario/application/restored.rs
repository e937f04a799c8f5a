//! Children that came back from a backup: they name the uid of an instance that is gone.

use anyhow::Result;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, gone};
use super::instance::{HELM, SOURCE, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_restored_children_of_an_earlier_instance_hold_the_deletion_until_they_are_given_to_this_one",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let shop = instance(ground).chart(&chart).applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    let uid = shop.read().await?.uid().unwrap_or_default();

    belongs_to(ground, "11111111-2222-3333-4444-555555555555").await?;
    shop.delete().await?;
    let told = shop.says("Deleting", "True/Uninstalling").await?;
    told.naming("belongs to an earlier instance")?.naming(&uid)?;

    belongs_to(ground, &uid).await?;
    shop.is_gone().await?;
    gone(&ground.objects("apps/v1", "Deployment"), "Deployment", "web").await
}

/// As a restore leaves them, or the page on operations says to label them.
async fn belongs_to(ground: &Ground, uid: &str) -> Result<()> {
    let label = Patch::Merge(json!({"metadata": {"labels": {"apps.vworkspace.io/instance-uid": uid}}}));
    for (api_version, kind) in [(SOURCE, "OCIRepository"), (HELM, "HelmRelease")] {
        ground.objects(api_version, kind).patch("web", &PatchParams::default(), &label).await?;
    }
    Ok(())
}
