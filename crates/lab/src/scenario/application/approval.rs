//! A change that somebody has to approve, by a claim that is signed and bound to exactly that change: to the spec, to the
//! chart behind the tag and to the Secret with the values.

use std::fs;

use agent_protocol::{Claim, SigningKey};
use anyhow::{Context, Result, ensure};
use jiff::{Timestamp, ToSpan};
use kube::ResourceExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::{HELM, Instance, SOURCE, instance};
use super::{catalog_policy, scenario};

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_approval_only_the_change_that_was_approved_goes_out_and_what_runs_stays",
    |ground| Box::pin(run(ground)),
);

/// The policy is everybody's, so this runs alone.
pub(in super::super) const BY_POLICY: Scenario = Scenario {
    alone: true,
    ..scenario("application_approval_by_policy_no_spec_lifts_what_the_catalog_policy_requires", |ground| {
        Box::pin(catalog_policy::removed_after(ground, required_by_policy(ground)))
    })
};

/// Not a secret: nothing but the lab's operator trusts it. `lab-values.yaml` has its public half.
const APPROVER: [u8; 32] = *b"the approver of nothing but labs";

async fn run(ground: &Ground) -> Result<()> {
    let (old, new) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    let mut shop = instance(ground).chart(&old).with("approvals: {required: true}").applied().await?;
    asked(&shop, |asked| asked.message.contains("there is no approval claim")).await?;
    shop.says("Ready", "False/Blocked").await?.naming("AwaitingApproval")?;
    shop.kubectl_wait("Blocked").await?;
    shop.plugin_status("InProgress").await?;

    let first = approve(ground, &shop).await?;
    shop.change(&format!("approvals: {{claim: '{first}'}}")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;

    shop.change(&format!("chart: {{version: {}}}", new.version)).await?;
    shop.says("Blocked", "True/AwaitingApproval").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "True/ChangePending")]).await?;
    let second = approve(ground, &shop).await?;
    shop.change(&format!("approvals: {{claim: '{second}'}}")).await?;
    // The claim is noted before the change goes out: until then what ran before is ready.
    shop.says_all(&[("Reconciling", "False/Stable"), ("Blocked", "False/Unblocked")]).await?;
    shop.says("Ready", "True/HelmReleaseReady").await?.naming(&new.version)?;

    pushed_again(ground, &shop, &new).await?;
    other_values(ground, &mut shop).await?;

    // Back to the first version with the first claim: it has had its turn.
    shop.change(&format!(
        "{{chart: {{version: {}}}, values: null, approvals: {{claim: '{first}'}}}}",
        old.version
    ))
    .await?;
    asked(&shop, |asked| asked.message.contains("expected one from after")).await?;
    Ok(())
}

/// The tag of the chart that was approved gets other content: Flux has the digest, and nothing happens.
async fn pushed_again(ground: &Ground, shop: &Instance<'_>, chart: &Chart) -> Result<()> {
    let approved = shop.read().await?;
    let digest = text_at(&approved.data, "/status/lastApprovedChange/chartDigest").to_owned();
    ensure!(digest.starts_with("sha256:"), "the status does not tell which chart was approved: '{digest}'");
    // There is nothing left to look up.
    super::super::gone(&ground.objects(SOURCE, "OCIRepository"), "OCIRepository", "web-candidate").await?;

    let values = chart.folder.join("values.yaml");
    let other = fs::read_to_string(&values)?.replace("from the chart", "pushed again");
    fs::write(&values, other)?;
    chart.publish(ground).await?;
    for (api_version, kind) in [(SOURCE, "OCIRepository"), (HELM, "HelmRelease")] {
        look_again(ground, api_version, kind).await?;
    }
    let source = ground.until(SOURCE, "OCIRepository", "web", |_| true).await?;
    let revision = text_at(&source.data, "/status/artifact/revision");
    ensure!(revision.ends_with(&digest), "Flux has fetched {revision}, and {digest} was approved");
    let settings = ground.until("v1", "ConfigMap", "web-settings", |_| true).await?;
    let greeting = text_at(&settings.data, "/data/greeting");
    ensure!(greeting == "from the chart", "the application says '{greeting}', which nobody approved");
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await
}

/// Asks Flux to look at one of its objects now, and waits until it has.
async fn look_again(ground: &Ground, api_version: &str, kind: &str) -> Result<()> {
    let asked_at = Timestamp::now().to_string();
    let mark = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": asked_at}}});
    ground.objects(api_version, kind).patch("web", &PatchParams::default(), &Patch::Merge(&mark)).await?;
    let has_looked = |data: &Value| text_at(data, "/status/lastHandledReconcileAt") == asked_at;
    ground.until(api_version, kind, "web", has_looked).await.map(|_| ())
}

/// The Secret with the values is changed after it was printed what there is to approve: the claim does not count.
async fn other_values(ground: &Ground, shop: &mut Instance<'_>) -> Result<()> {
    ground.apply(&VALUES.replace("GREETING", "as approved")).await?;
    shop.change("values: {source: secretRef, secretRef: {name: settings, key: shop.yaml}}").await?;
    let before = asked(shop, |_| true).await?;
    let early = approve(ground, shop).await?;
    ground.apply(&VALUES.replace("GREETING", "changed since")).await?;
    asked(shop, |asked| asked.digest != before.digest).await?;
    shop.change(&format!("approvals: {{claim: '{early}'}}")).await?;
    asked(shop, |asked| asked.message.contains("is for the change with digest")).await?;

    let claim = approve(ground, shop).await?;
    shop.change(&format!("approvals: {{claim: '{claim}'}}")).await?;
    let is_changed = |data: &Value| text_at(data, "/data/greeting") == "changed since";
    ground.until("v1", "ConfigMap", "web-settings", is_changed).await?;
    shop.says_all(&[
        ("Ready", "True/HelmReleaseReady"),
        ("Reconciling", "False/Stable"),
        ("Blocked", "False/Unblocked"),
    ])
    .await
}

const VALUES: &str = "
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: NAMESPACE}
stringData: {shop.yaml: 'greeting: GREETING'}
";

async fn required_by_policy(ground: &Ground) -> Result<()> {
    catalog_policy::set(ground, "{requiredApprovals: '[{namespaces: [NAMESPACE]}]'}").await?;
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground).chart(&chart).with("approvals: {required: false}").applied().await?;
    asked(&shop, |asked| asked.message.contains("The catalog policy requires it")).await?;
    shop.says("Ready", "False/Blocked").await?.naming("AwaitingApproval")?;
    let claim = approve(ground, &shop).await?;
    shop.change(&format!("approvals: {{claim: '{claim}'}}")).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await
}

/// What an instance asks to be approved.
struct Asked {
    object: DynamicObject,
    message: String,
    cluster: String,
    uid: String,
    digest: String,
}

impl Asked {
    /// If it says so of its present spec, and the chart has been looked up.
    fn of(object: &DynamicObject) -> Option<Self> {
        let conditions = object.data.pointer("/status/conditions")?.as_array()?;
        let blocked = conditions.iter().find(|known| text_at(known, "/type") == "Blocked")?;
        let is_of_now =
            blocked.get("observedGeneration").and_then(Value::as_i64) == object.metadata.generation;
        let message = Some(text_at(blocked, "/message")).filter(|_| is_of_now)?;
        let after = |word: &str| {
            let (_, rest) = message.split_once(word)?;
            rest.split([',', '.']).next().map(str::to_owned)
        };
        Some(Self {
            object: object.clone(),
            message: message.to_owned(),
            cluster: after("To approve: cluster ")?,
            uid: after(", uid ")?,
            digest: after(", digest ")?,
        })
    }
}

/// Waits until the instance asks for an approval, in such words.
async fn asked(shop: &Instance<'_>, wanted: impl Fn(&Asked) -> bool) -> Result<Asked> {
    let object = shop.until(|object| Asked::of(object).is_some_and(|asked| wanted(&asked))).await;
    let object = object.context("it does not ask for the approval that was expected")?;
    shop.says("Blocked", "True/AwaitingApproval").await?;
    Asked::of(&object).context("it asks for nothing")
}

/// The claim that an object of ours asks for.
pub(in super::super) async fn approve(ground: &Ground, shop: &Instance<'_>) -> Result<String> {
    signed(ground, asked(shop, |_| true).await?)
}

/// The approval that an instance asks for now, if it asks for one.
pub(in super::super) fn claim_for(ground: &Ground, object: &DynamicObject) -> Result<String> {
    signed(ground, Asked::of(object).context("it asks for no approval")?)
}

/// What a control plane does: it reads what there is to approve, and signs it.
fn signed(ground: &Ground, asked: Asked) -> Result<String> {
    let Asked { object, cluster, uid, digest, .. } = asked;
    let kind = object.types.as_ref().map(|types| types.kind.clone()).context("the object has no kind")?;
    ensure!(Some(&uid) == object.uid().as_ref(), "the message names uid {uid}");
    let now = Timestamp::now();
    let claim = Claim {
        v: 2,
        id: format!("{}-{}", ground.namespace, object.metadata.generation.unwrap_or_default()),
        cluster,
        namespace: ground.namespace.clone(),
        kind,
        uid,
        digest,
        by: "the lab".to_owned(),
        at: now,
        // Also for an operator whose clock is an hour ahead.
        exp: now.checked_add(3.hours())?,
        key: None,
    };
    Ok(SigningKey::from_seed(&APPROVER).issue(&claim)?)
}

/// What an operator needs to know of the approver, as its file of keys has it.
pub(in super::super) fn public_key() -> String {
    SigningKey::from_seed(&APPROVER).public_key()
}

/// The approver's key as a file has it, for whoever approves with the plugin.
pub(in super::super) fn key_file() -> String {
    SigningKey::from_seed(&APPROVER).to_pem().to_string()
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
