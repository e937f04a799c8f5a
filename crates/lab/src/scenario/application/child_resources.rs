//! An object of the application that does not go with its release.

use anyhow::Result;

use super::super::chart::{Chart, Part};
use super::super::{Ground, Scenario, gone};
use super::instance::{HELM, instance, release_held};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_child_resources_the_instance_stays_while_an_object_of_it_is_held_by_a_finalizer",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::Held]).await?;
    // Flux waits for the object until its timeout, then forgets it 10 s later.
    let shop = instance(ground).chart(&chart).with("uninstall: {timeout: 3s}").applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    shop.delete().await?;
    gone(&ground.objects(HELM, "HelmRelease"), "HelmRelease", "web").await?;
    shop.says("Deleting", "True/WaitingForChildResources").await?.naming("web-held")?;
    shop.says("Ready", "False/Uninstalling").await?;
    shop.kubectl_wait("Deleting").await?;
    shop.plugin_status("Terminating").await?;

    release_held(ground).await?;
    shop.is_gone().await
}
