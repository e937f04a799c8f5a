//! An operation that somebody has to approve, by a claim that is bound to exactly this one.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::super::application::approval::approve;
use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario, text_at};
use super::{command, scenario, target};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_approval_only_the_operation_that_was_approved_starts", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    let (first, second) = (asking(ground, "first").await?, asking(ground, "second").await?);
    first.says("Blocked", "True/AwaitingApproval").await?.naming("there is no approval claim")?;
    first.kubectl_wait("Blocked").await?;
    first.plugin_status("InProgress").await?;

    let claim = approve(ground, &first).await?;
    give(&second, &claim).await?;
    second.says("Blocked", "True/AwaitingApproval").await?.naming("is for the object with UID")?;
    // A change of what is asked for asks again.
    let wait = Patch::Merge(json!({"spec": {"timeout": "5m"}}));
    first.api().patch("first", &PatchParams::default(), &wait).await?;
    give(&first, &claim).await?;
    first.says("Blocked", "True/AwaitingApproval").await?.naming("is for the change with digest")?;
    give(&first, &approve(ground, &first).await?).await?;
    first.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await?;
    let ended = first.read().await?;
    let by = text_at(&ended.data, "/status/approved/by");
    ensure!(by == "the lab", "status.approved.by is '{by}'");
    Ok(())
}

async fn asking<'a>(ground: &'a Ground, name: &str) -> Result<OwnObject<'a>> {
    command(ground, name, "exit 0").with("{approvals: {required: true}}").applied().await
}

async fn give(operation: &OwnObject<'_>, claim: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"approvals": {"claim": claim}}}));
    operation.api().patch(&operation.name, &PatchParams::default(), &patch).await?;
    Ok(())
}
