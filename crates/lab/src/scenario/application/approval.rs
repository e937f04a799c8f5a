//! A change that somebody has to approve, by a claim that is signed and bound to exactly that change.

use agent_protocol::{Claim, SigningKey};
use anyhow::{Context, Result, ensure};
use jiff::{Timestamp, ToSpan};
use kube::ResourceExt;
use kube::api::DynamicObject;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::{Instance, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_approval_only_the_change_that_was_approved_goes_out_and_what_runs_stays",
    |ground| Box::pin(run(ground)),
);

/// Not a secret: nothing but the lab's operator trusts it. `lab-values.yaml` has its public half.
const APPROVER: [u8; 32] = *b"the approver of nothing but labs";

async fn run(ground: &Ground) -> Result<()> {
    let (old, new) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    let mut shop = instance(ground).chart(&old).with("approvals: {required: true}").applied().await?;
    shop.says("Blocked", "True/AwaitingApproval").await?.naming("there is no approval claim")?;
    shop.says("Ready", "False/Blocked").await?.naming("AwaitingApproval")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("InProgress").await?;

    let first = approve(ground, &shop).await?;
    shop.change(&format!("approvals: {{claim: '{first}'}}")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;

    shop.change(&format!("chart: {{version: {}}}", new.version)).await?;
    shop.says("Blocked", "True/AwaitingApproval").await?.naming("expected")?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "True/ChangePending")]).await?;
    let second = approve(ground, &shop).await?;
    shop.change(&format!("approvals: {{claim: '{second}'}}")).await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&new.version)?;
    shop.says("Blocked", "False/Unblocked").await?;

    // Back to the first version with the first claim: it has had its turn.
    shop.change(&format!("{{chart: {{version: {}}}, approvals: {{claim: '{first}'}}}}", old.version)).await?;
    shop.says("Blocked", "True/AwaitingApproval").await?.naming("expected one from after")?;
    Ok(())
}

async fn approve(ground: &Ground, shop: &Instance<'_>) -> Result<String> {
    claim_for(ground, &shop.read().await?)
}

/// What a control plane does: it reads what there is to approve, and signs it.
pub(in super::super) fn claim_for(ground: &Ground, object: &DynamicObject) -> Result<String> {
    let conditions = object.data.pointer("/status/conditions").and_then(|known| known.as_array());
    let blocked = conditions.into_iter().flatten().find(|known| text_at(known, "/type") == "Blocked");
    let message = blocked.map(|known| text_at(known, "/message")).unwrap_or_default();
    let after = |word: &str| message.split_once(word).and_then(|(_, rest)| rest.split([',', '.']).next());
    let told =
        |word: &str| after(word).map(str::to_owned).with_context(|| format!("no '{word}' in: {message}"));
    let uid = told("uid ")?;
    ensure!(Some(&uid) == object.uid().as_ref(), "the message names uid {uid}");
    let now = Timestamp::now();
    let claim = Claim {
        v: 2,
        id: format!("{}-{}", ground.namespace, object.metadata.generation.unwrap_or_default()),
        cluster: told("cluster ")?,
        namespace: ground.namespace.clone(),
        kind: "ApplicationInstance".to_owned(),
        uid,
        digest: told(", digest ")?,
        by: "the lab".to_owned(),
        at: now,
        exp: now.checked_add(1.hour())?,
        key: None,
    };
    Ok(SigningKey::from_seed(&APPROVER).issue(&claim)?)
}

/// What an operator needs to know of the approver, as its file of keys has it.
pub(in super::super) fn public_key() -> String {
    SigningKey::from_seed(&APPROVER).public_key()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_labs_operator_trusts_the_labs_approver() {
        let values = include_str!("../../../addons/operator/lab-values.yaml");
        let key = public_key();
        assert!(values.contains(&key), "expected {key} among approvals.publicKeys of lab-values.yaml");
    }
}
