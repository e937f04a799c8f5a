//! What an operation waits for before it starts: a target that is ready, a capability, its turn. Each wait ends by itself.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::super::application::instance::named;
use super::super::chart::Chart;
use super::super::{Ground, Scenario};
use super::{at, command, scenario, target};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_waiting_it_starts_by_itself_when_target_capability_and_turn_are_there", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    let mut shop = target(ground).await?;

    shop.annotate("ops.vworkspace.io/runcommand", Some("workflow, helm")).await?;
    let waits = command(ground, "waits", "exit 0").applied().await?;
    waits.says("Blocked", "True/CapabilityMissing").await?.naming("'workflow, helm'")?;
    waits.says("Accepted", "True/AdmissionPassed").await?;
    waits.kubectl_wait("Blocked").await?;
    waits.plugin_status("InProgress").await?;
    shop.annotate("ops.vworkspace.io/runcommand", Some("workflow, job")).await?;
    waits.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await?;
    waits.kubectl_wait("Blocked=false").await?;

    not_ready(ground).await?;
    one_after_the_other(ground).await
}

/// A target that is not ready: the wait ends with the target, with the policy, or with the time.
async fn not_ready(ground: &Ground) -> Result<()> {
    let mut store = named(ground, "store", "store").with("appRef: {catalogId: seaweedfs}").applied().await?;
    store.annotate("ops.vworkspace.io/runcommand", Some("job")).await?;
    store.says("Blocked", "True/MissingDependencies").await?;
    let on_store = |name| command(ground, name, "exit 0").with("targetRef: {name: store}");
    let (patient, hasty, brave) = (
        on_store("patient").applied().await?,
        on_store("hasty").with("policy: {waitTimeout: 3s}").applied().await?,
        on_store("brave").applied().await?,
    );
    patient.says("Blocked", "True/TargetNotReady").await?.naming("store")?;
    patient.says("Running", "False/EngineNotStarted").await?;
    patient.kubectl_wait("Blocked").await?;
    patient.plugin_status("InProgress").await?;
    brave.says("Blocked", "True/TargetNotReady").await?;
    let anyway = Patch::Merge(json!({"spec": {"policy": {"requireReady": false}}}));
    brave.api().patch("brave", &PatchParams::default(), &anyway).await?;
    brave.says("Succeeded", "True/EngineCompleted").await?;
    hasty.says("Failed", "True/PreconditionFailed").await?.naming("spec.policy.waitTimeout (3s)")?;
    hasty.kubectl_wait("Failed").await?;
    hasty.plugin_status("Failed").await?;
    let _store = store.chart(&Chart::published(ground, &[]).await?).applied().await?;
    patient.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await
}

/// Two that must be alone, and one that need not be.
async fn one_after_the_other(ground: &Ground) -> Result<()> {
    let alone = "policy: {exclusive: true}";
    let first = command(ground, "first", "while [ ! -e /tmp/go ]; do sleep 0.2; done")
        .with("{policy: {exclusive: true}, timeout: 10s}")
        .applied()
        .await?;
    first.says("Running", "True/EngineStarted").await?;
    let second = command(ground, "second", "exit 0").with(alone).applied().await?;
    second.says("Blocked", "True/ConflictingOperation").await?.naming("Operation first")?;
    second.kubectl_wait("Blocked").await?;
    second.plugin_status("InProgress").await?;
    let free = command(ground, "free", "exit 0").applied().await?;
    free.says("Succeeded", "True/EngineCompleted").await?;
    first.says("Failed", "True/Timeout").await?;
    second.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await?;
    let (ended, began) = (first.read().await?, second.read().await?);
    ensure!(
        !at(&ended, "/status/finishedAt").is_null()
            && at(&ended, "/status/finishedAt").as_str() <= at(&began, "/status/startedAt").as_str(),
        "second began before first had ended"
    );
    Ok(())
}
