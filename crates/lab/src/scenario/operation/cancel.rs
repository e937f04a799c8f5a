//! The end before its time: asked for by a field, by a deletion, before the start and after it.

use anyhow::{Result, ensure};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario, gone, text_at};
use super::{command, job_of, scenario, target};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_cancel_what_runs_is_really_stopped_before_it_says_so", |ground| {
        Box::pin(run(ground))
    });

/// Ends when it is told to, and at no other time.
const ENDLESS: &str = "trap 'exit 0' TERM; sleep 600 & wait";

async fn run(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    tokio::try_join!(by_field(ground), by_deletion(ground), before_the_start(ground), in_time(ground))?;
    Ok(())
}

async fn by_field(ground: &Ground) -> Result<()> {
    // It takes its time to end: whoever does not wait for it is too early.
    let long = command(ground, "long", "trap 'sleep 5; exit 0' TERM; sleep 600 & wait").applied().await?;
    long.says("Running", "True/EngineStarted").await?;
    let job = job_of(&long).await?.metadata.name.unwrap_or_default();
    set(&long, &json!({"cancel": true})).await?;
    long.says("Cancelled", "True/UserCancelled").await?.naming(&job)?;
    long.says("Running", "False/EngineFinished").await?;
    long.kubectl_wait("Cancelled").await?;
    long.plugin_status("Failed").await?;
    ensure!(ground.objects("batch/v1", "Job").get_opt(&job).await?.is_none(), "Job {job} still runs");
    let pods = ground.objects("v1", "Pod").list(&ListParams::default()).await?;
    let left =
        pods.iter().find(|pod| pod.metadata.name.as_deref().is_some_and(|name| name.starts_with(&job)));
    ensure!(left.is_none(), "a pod of Job {job} still runs");
    let again = set(&long, &json!({"cancel": false})).await;
    ensure!(
        again.as_ref().is_err_and(|error| error.to_string().contains("spec.cancel")),
        "spec.cancel was taken back: {again:?}"
    );
    Ok(())
}

/// Every way to delete: somebody else's finalizer lets us see the last words.
async fn by_deletion(ground: &Ground) -> Result<()> {
    for (name, params) in [("swept", DeleteParams::background()), ("swept-first", DeleteParams::foreground())]
    {
        let swept = command(ground, name, ENDLESS).applied().await?;
        let hold = Patch::Merge(
            json!({"metadata": {"finalizers": ["lab.vworkspace.io/look", "ops.vworkspace.io/finalizer"]}}),
        );
        swept.says("Running", "True/EngineStarted").await?;
        let job = job_of(&swept).await?.metadata.name.unwrap_or_default();
        swept.api().patch(name, &PatchParams::default(), &hold).await?;
        swept.api().delete(name, &params).await?;
        swept.says("Cancelled", "True/UserCancelled").await?;
        ensure!(ground.objects("batch/v1", "Job").get_opt(&job).await?.is_none(), "Job {job} still runs");
        let only_ours = |now: &kube::api::DynamicObject| {
            !now.metadata.finalizers.iter().flatten().any(|known| known == "ops.vworkspace.io/finalizer")
        };
        swept.until(only_ours).await?;
        let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        swept.api().patch(name, &PatchParams::default(), &release).await?;
        swept.is_gone().await?;
    }
    Ok(())
}

async fn before_the_start(ground: &Ground) -> Result<()> {
    let early = command(ground, "early", "exit 0").with("{approvals: {required: true}}").applied().await?;
    early.says("Blocked", "True/AwaitingApproval").await?;
    set(&early, &json!({"cancel": true})).await?;
    early.says("Cancelled", "True/UserCancelled").await?.naming("before it had started")?;
    early.says("Running", "False/EngineNotStarted").await?;
    let ended = early.read().await?;
    ensure!(text_at(&ended.data, "/status/engineRef/name").is_empty(), "something was started");
    early.delete().await?;
    early.is_gone().await
}

/// What has ended goes by itself, and its Job with it.
async fn in_time(ground: &Ground) -> Result<()> {
    let brief = command(ground, "brief", "exit 0").with("{ttlAfterFinished: 5s}").applied().await?;
    brief.says("Succeeded", "True/EngineCompleted").await?;
    let job = job_of(&brief).await?.metadata.name.unwrap_or_default();
    brief.is_gone().await?;
    gone(&ground.objects("batch/v1", "Job"), "Job", &job).await
}

async fn set(operation: &OwnObject<'_>, spec: &serde_json::Value) -> Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    operation.api().patch(&operation.name, &PatchParams::default(), &patch).await?;
    Ok(())
}
