//! How instances end: with their application or without it, and also while they are suspended.

use anyhow::{Result, ensure};

use super::super::chart::Chart;
use super::super::{Ground, Scenario, gone};
use super::instance::{HELM, Instance, SOURCE, instance, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_deletion_an_orphan_keeps_running_and_a_suspended_instance_is_uninstalled",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let (orphan, suspended) = (
        instance(ground).chart(&chart).with("deletionPolicy: Orphan"),
        named(ground, "asleep", "asleep").chart(&chart),
    );
    tokio::try_join!(orphaned(ground, orphan), uninstalled(ground, suspended))?;
    Ok(())
}

async fn orphaned(ground: &Ground, orphan: Instance<'_>) -> Result<()> {
    let orphan = orphan.applied().await?;
    orphan.says("Ready", "True/HelmReleaseReady").await?;
    orphan.delete().await?;
    orphan.is_gone().await?;
    for (api_version, kind) in [(HELM, "HelmRelease"), (SOURCE, "OCIRepository")] {
        gone(&ground.objects(api_version, kind), kind, "web").await?;
    }
    let web = ground.objects("apps/v1", "Deployment").get("web").await?;
    ensure!(web.metadata.deletion_timestamp.is_none(), "the Deployment of an orphan is being deleted");
    Ok(())
}

/// Flux would skip the uninstall of a suspended release.
async fn uninstalled(ground: &Ground, asleep: Instance<'_>) -> Result<()> {
    let mut asleep = asleep.applied().await?;
    asleep.says("Ready", "True/HelmReleaseReady").await?;
    asleep.change("suspend: true").await?;
    asleep.says("Suspended", "True/ManuallySuspended").await?;
    asleep.delete().await?;
    asleep.has_said("Deleting", "True/Uninstalling").await?;
    asleep.is_gone().await?;
    gone(&ground.objects("apps/v1", "Deployment"), "Deployment", "asleep").await?;
    gone(&ground.objects("v1", "ConfigMap"), "ConfigMap", "asleep-settings").await
}
