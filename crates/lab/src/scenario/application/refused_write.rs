//! Writes of the operator that are refused: no condition may speak of what was not written, and what mends it is tried at
//! once, however long the pause is that the refusals have led to.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::super::chart::Chart;
use super::super::faults::history::Recorder;
use super::super::faults::{installed, truth};
use super::super::{DEADLINE, Ground, Scenario, text_at};
use super::admission::AdmissionPolicy;
use super::instance::{APPS, FINALIZER, HELM, Instance, KIND, SOURCE, instance};
use super::scenario;
use crate::audit::{self, Request};

pub(in super::super) const SCENARIO: Scenario =
    scenario("application_refused_write_no_condition_claims_what_the_release_does_not_have", |ground| {
        Box::pin(nothing_is_claimed(ground))
    });

pub(in super::super) const FINALIZER_REFUSED: Scenario =
    scenario("application_refused_finalizer_is_told_and_nothing_is_made_before_it_stands", |ground| {
        Box::pin(without_finalizer(ground))
    });

pub(in super::super) const MENDED: Scenario = Scenario {
    // For the audit log.
    needs_node: true,
    ..scenario(
        "application_refused_write_that_is_mended_while_it_is_refused_is_carried_out_at_once",
        |ground| Box::pin(mended(ground)),
    )
};

const UPDATES: &str = "{apiGroups: [helm.toolkit.fluxcd.io], apiVersions: ['*'], operations: [UPDATE], resources: [helmreleases]}";
/// Flux itself changes only what is around it.
const AS_IT_IS: &str = "[{expression: object.spec == oldObject.spec, message: no changes on Sundays}]";

async fn nothing_is_claimed(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let recorder = Recorder::start(ground).await?;
    let mut shop = released(ground, &chart).await?;
    let policy = AdmissionPolicy::applied(ground, "lab-no-changes", UPDATES, AS_IT_IS).await?;
    let probe = async || probe(ground, &json!({"interval": "1h"})).await;
    let told = async {
        policy.counts(probe).await?;
        changes_are_refused(&mut shop).await
    };
    let told = told.await;
    // Also after a failure: nothing else may feel it.
    let removed = policy.remove(probe).await;
    told.and(removed)?;

    shop.annotate("lab.vworkspace.io/touched", Some("after the policy went")).await?;
    shop.says("Suspended", "True/MaintenanceWindow").await?;
    let is_suspended = |data: &Value| data.pointer("/spec/suspend") == Some(&Value::Bool(true));
    ground.until(HELM, "HelmRelease", "web", is_suspended).await?;
    shop.change("maintenanceWindows: null").await?;
    runs(ground, &shop, "second").await?;
    claims_nothing_else(&recorder)
}

/// Each change is made while the one before it is still refused.
async fn changes_are_refused(shop: &mut Instance<'_>) -> Result<()> {
    shop.change("values: {inline: {greeting: second}}").await?;
    shop.says("Blocked", "True/PolicyDenied").await?.naming("no changes on Sundays")?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    shop.change("suspend: true").await?;
    shop.says("Suspended", "False/Active").await?.naming("no changes on Sundays")?;
    // It opens every minute and stays open for an hour: it is always open.
    shop.change(
        "{suspend: false, maintenanceWindows: [{name: stocktaking, schedule: '* * * * *', duration: 1h}]}",
    )
    .await?;
    shop.says("Suspended", "False/Active").await?.naming("no changes on Sundays")?;
    // Flux goes on looking at the release, and the operator at what Flux says, however long the pause is by now.
    shop.keeps_saying("Suspended", "False/Active").await
}

async fn without_finalizer(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let recorder = Recorder::start(ground).await?;
    let rule = "{apiGroups: [apps.vworkspace.io], apiVersions: ['*'], operations: [CREATE, UPDATE],
        resources: [applicationinstances]}";
    let without = format!(
        "[{{expression: \"!has(object.metadata.finalizers) || !('{FINALIZER}' in object.metadata.finalizers)\",
          message: nobody holds anything here}}]"
    );
    let policy = AdmissionPolicy::applied(ground, "lab-no-finalizers", rule, &without).await?;
    let probe = async || held(ground).await;
    let told = async {
        policy.counts(probe).await?;
        let shop = instance(ground).chart(&chart).with(VALUES).applied().await?;
        shop.says("Blocked", "True/PolicyDenied").await?.naming("nobody holds anything here")?;
        shop.says("Ready", "False/Blocked").await?.naming("PolicyDenied")?;
        shop.says("Stalled", "True/PolicyDenied").await?;
        shop.plugin_status("Failed").await?;
        // A look at it in the middle of the pause: what is said then shows in the history.
        let touched = Patch::Merge(json!({"metadata": {"labels": {"lab.vworkspace.io/touched": "yes"}}}));
        ground.objects(APPS, KIND).patch("shop", &PatchParams::default(), &touched).await?;
        for (api_version, kind) in [(SOURCE, "OCIRepository"), (HELM, "HelmRelease")] {
            let made = ground.objects(api_version, kind).get_opt("web").await?;
            ensure!(made.is_none(), "{kind} web was made, and nothing holds the instance until it is gone");
        }
        Ok(shop)
    };
    let told = told.await;
    // Also after a failure: nothing else may feel it.
    let removed = policy.remove(probe).await;
    let shop = told.and_then(|shop| removed.map(|()| shop))?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;
    shop.plugin_status("Current").await?;
    claims_nothing_else(&recorder)
}

/// An instance with the finalizer that is not made.
async fn held(ground: &Ground) -> kube::Result<DynamicObject> {
    let object = json!({"apiVersion": APPS, "kind": KIND,
        "metadata": {"name": "dry", "finalizers": [FINALIZER]},
        "spec": {"appRef": {"catalogId": "probe"}, "mode": "placeholder"}});
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    let dry_run = kube::api::PostParams { dry_run: true, ..kube::api::PostParams::default() };
    ground.objects(APPS, KIND).create(&dry_run, &object).await
}

/// After so many refusals in a row the operator pauses for 24 s or more.
const REFUSALS: usize = 6;
/// What is tried at once is there by then, on a machine that is busy with other things.
const AT_ONCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(500);

async fn mended(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = released(ground, &chart).await?;
    // Each look of Flux would make the operator look too.
    shop.change("interval: 1h").await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    let started = Timestamp::now();
    let policy = AdmissionPolicy::applied(ground, "lab-slow-no", UPDATES, &slow_no()).await?;
    let probe = async || probe(ground, &json!({"values": {"greeting": "forbidden"}})).await;
    let told = async {
        policy.counts(probe).await?;
        shop.change("values: {inline: {greeting: forbidden}}").await?;
        shop.says("Blocked", "True/PolicyDenied").await?.naming("not that word")?;
        are_refused(ground, started).await?;
        // The second comes while the first is being refused.
        shop.change("values: {inline: {greeting: forbidden again}}").await?;
        shop.change("values: {inline: {greeting: allowed}}").await?;
        let asked = Instant::now();
        let is_allowed = |data: &Value| text_at(data, "/spec/values/greeting") == "allowed";
        ground.until(HELM, "HelmRelease", "web", is_allowed).await?;
        let took = asked.elapsed();
        ensure!(took < AT_ONCE, "what mends it was carried out only after {} ms", took.as_millis());
        println!("     what mends a refused write is carried out after {} ms", took.as_millis());
        runs(ground, &shop, "allowed").await
    };
    let told = told.await;
    // Also after a failure: nothing else may feel it.
    let removed = policy.remove(probe).await;
    told.and(removed)
}

/// A policy that takes about half a second to say no, so that something can happen meanwhile. Much more on a busy machine, so
/// not nearly as long as the operator waits for an answer.
fn slow_no() -> String {
    let digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let never = ["a", "b", "c", "d"]
        .iter()
        .fold("a + b + c + d > 99".to_owned(), |inner, digit| format!("{digits}.exists({digit}, {inner})"));
    let expression = format!("!object.spec.values.greeting.startsWith('forbidden') || {never}");
    let validation = json!({"expression": expression, "message": "not that word"});
    json!(vec![validation; 12]).to_string()
}

/// Waits until the operator has been refused so often that it pauses for long.
async fn are_refused(ground: &Ground, since: Timestamp) -> Result<()> {
    let account = audit::service_account(installed::NAMESPACE, installed::NAME);
    let is_refused = |request: &&Request| {
        request.is_in(&ground.namespace) && request.is_about("helmreleases") && request.code() >= 400
    };
    let deadline = Instant::now() + DEADLINE;
    loop {
        let requests = audit::requests(&ground.cluster.paths.audit_log(), &account, since)?;
        let refused = requests.iter().filter(is_refused).count();
        if refused >= REFUSALS {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the operator tried only {refused} times");
        sleep(POLL).await;
    }
}

const VALUES: &str = "values: {source: inline, inline: {greeting: first, replicas: 0}}";

async fn released<'a>(ground: &'a Ground, chart: &Chart) -> Result<Instance<'a>> {
    let shop = instance(ground).chart(chart).with(VALUES).applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    Ok(shop)
}

/// A change of the release that is not made.
async fn probe(ground: &Ground, spec: &Value) -> kube::Result<DynamicObject> {
    let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
    let releases = ground.objects(HELM, "HelmRelease");
    releases.patch("web", &dry_run, &Patch::Merge(json!({ "spec": spec }))).await
}

async fn runs(ground: &Ground, shop: &Instance<'_>, greeting: &str) -> Result<()> {
    let is_changed = |data: &Value| text_at(data, "/data/greeting") == greeting;
    ground.until("v1", "ConfigMap", "web-settings", is_changed).await?;
    shop.says_all(&[
        ("Ready", "True/HelmReleaseReady"),
        ("Reconciling", "False/Stable"),
        ("Blocked", "False/Unblocked"),
    ])
    .await
}

fn claims_nothing_else(recorder: &Recorder) -> Result<()> {
    let lies = truth::beyond_the_release(&recorder.versions());
    if !lies.is_empty() {
        bail!("it lied:\n  {}\nits history:\n{}", lies.join("\n  "), recorder.told());
    }
    Ok(())
}
