//! Secrets of a user, planted wherever one could put them, and looked for wherever they could get out.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, LogParams};
use rustix::process::Signal;
use serde_json::Value;

use super::super::chart::{Chart, Part};
use super::super::disruption;
use super::super::faults::installed::{NAME, NAMESPACE};
use super::super::{Ground, Scenario, seen};
use super::NEEDS;
use super::instance::{APPS, HELM, KIND, SOURCE, named};
use crate::audit;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    name: "application_secrecy_no_planted_secret_is_found_in_logs_events_conditions_metrics_releases_writes_or_a_crash",
    needs: NEEDS,
    // To make the operator crash, which others would notice.
    needs_node: true,
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

/// Each in a place of its own, so that a leak names its way.
const BROKEN_YAML: &str = "planted-broken-Zq7x";
const SCHEMA: &str = "planted-schema-Zq7x";
const TEMPLATE: &str = "planted-template-Zq7x";
const GOOD: &str = "planted-good-Zq7x";
const INLINE: &str = "planted-inline-Zq7x";
const REGISTRY: &str = "planted-registry-Zq7x";
const PLANTED: [&str; 6] = [BROKEN_YAML, SCHEMA, TEMPLATE, GOOD, INLINE, REGISTRY];

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[Part::Pin]).await?;
    let secrets = SECRETS
        .replace("BROKEN_YAML", BROKEN_YAML)
        .replace("SCHEMA", SCHEMA)
        .replace("TEMPLATE", TEMPLATE)
        .replace("GOOD", GOOD)
        .replace("REGISTRY", REGISTRY);
    ground.apply(&secrets).await?;
    for key in ["broken", "schema", "template"] {
        let odd = from_secret(ground, &chart, key).applied().await?;
        odd.says("Ready", "False/HelmReleaseFailed").await?;
    }
    let fine =
        from_secret(ground, &chart, "good").with("chart: {secretRef: {name: login}}").applied().await?;
    fine.says("Ready", "True/HelmReleaseReady").await?;
    inline(ground, &chart, "inline").await?;
    search(ground).await?;
    crash(ground).await?;
    // The successor has looked at everything when it has come to what is new.
    inline(ground, &chart, "late").await?;
    search(ground).await
}

async fn inline(ground: &Ground, chart: &Chart, name: &str) -> Result<()> {
    let inline = named(ground, name, name)
        .chart(chart)
        .with(&format!("values: {{source: inline, inline: {{auth: {{password: {INLINE}}}}}}}"))
        .applied()
        .await?;
    inline.says("Blocked", "True/InvalidSpec").await?.naming("auth.password")?;
    Ok(())
}

/// What a process leaves that dies. Nothing but SIGKILL ends the first process of a container that does not want to end.
async fn crash(ground: &Ground) -> Result<()> {
    disruption::send(Signal::KILL, &disruption::replicas(ground, |_| true).await?)?;
    let pods = ground.cluster.dynamic("v1", "Pod", Some(NAMESPACE));
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/name={NAME}"));
    let pod = pods.list(&ours).await?.items.first().map(ResourceExt::name_any).context("no pod")?;
    let container = "/status/containerStatuses/0";
    let is_back = |data: &Value| {
        let at = |field: &str| data.pointer(&format!("{container}/{field}"));
        at("lastState/terminated").is_some() && at("ready").and_then(Value::as_bool) == Some(true)
    };
    let pod = seen(&pods, "Pod", &pod, is_back).await?;
    found_in("the state of the crashed container", &pod.data.to_string())?;
    let pods: Api<Pod> = Api::namespaced(ground.cluster.client.clone(), NAMESPACE);
    let of_the_dead = LogParams { previous: true, ..LogParams::default() };
    let log =
        pods.logs(&pod.name_any(), &of_the_dead).await.context("failed to read the log of the crash")?;
    ensure!(log.contains("writing the status"), "the log of the crashed process is empty");
    found_in("the log of the crashed process", &log)
}

fn from_secret<'a>(ground: &'a Ground, chart: &Chart, key: &str) -> super::instance::Instance<'a> {
    named(ground, key, key)
        .chart(chart)
        .with(&format!("values: {{source: secretRef, secretRef: {{name: planted, key: {key}.yaml}}}}"))
}

/// Everywhere that somebody without the right to read Secrets could look.
async fn search(ground: &Ground) -> Result<()> {
    found_in("the operator's log", &operators_log(ground).await?)?;
    found_in("the operator's metrics", &metrics(ground).await?)?;
    found_in("an Event", &serde_json::to_string(&events(ground).await?)?)?;
    for instance in ground.objects(APPS, KIND).list(&ListParams::default()).await? {
        found_in(&format!("the status of {}", instance.name_any()), &status(&instance))?;
    }
    for (api_version, kind) in [(HELM, "HelmRelease"), (SOURCE, "OCIRepository")] {
        for mut child in ground.objects(api_version, kind).list(&ListParams::default()).await? {
            // What Flux itself says of it is Flux's.
            let name = child.name_any();
            if let Some(object) = child.data.as_object_mut() {
                object.remove("status");
            }
            found_in(&format!("{kind} {name}"), &serde_json::to_string(&child)?)?;
        }
    }
    let account = audit::service_account("vworkspace-system", "vworkspace-app-operator");
    let writes = audit::bodies(&ground.cluster.paths.audit_log(), &account)?;
    ensure!(writes.contains("ocirepositories"), "the audit log has no bodies of the operator's writes");
    found_in("a write of the operator", &writes)
}

fn status(object: &DynamicObject) -> String {
    object.data.get("status").map(ToString::to_string).unwrap_or_default()
}

fn found_in(place: &str, text: &str) -> Result<()> {
    let found: Vec<&str> = PLANTED.into_iter().filter(|planted| text.contains(planted)).collect();
    let around = found.first().and_then(|planted| text.lines().find(|line| line.contains(planted)));
    ensure!(found.is_empty(), "{found:?} got out in {place}: {}", around.unwrap_or_default());
    Ok(())
}

async fn operators_log(ground: &Ground) -> Result<String> {
    let pods: Api<Pod> = Api::namespaced(ground.cluster.client.clone(), "vworkspace-system");
    let ours = ListParams::default().labels("app.kubernetes.io/name=vworkspace-app-operator");
    let mut text = String::new();
    for pod in pods.list(&ours).await? {
        text += &pods.logs(&pod.name_any(), &LogParams::default()).await.context("failed to read the log")?;
    }
    ensure!(text.contains("writing the status"), "the operator's log is empty");
    Ok(text)
}

async fn metrics(ground: &Ground) -> Result<String> {
    let path = "/api/v1/namespaces/vworkspace-system/services/vworkspace-app-operator:http/proxy/metrics";
    let text = ground.cluster.client.request_text(http::Request::get(path).body(Vec::new())?).await?;
    ensure!(text.contains("vworkspace_operator_reconcile_total"), "these are no metrics: {text}");
    Ok(text)
}

/// Those of the operator.
async fn events(ground: &Ground) -> Result<Vec<Event>> {
    let events: Api<Event> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    let all = events.list(&ListParams::default()).await?;
    let ours = |event: &Event| event.reporting_component.as_deref() == Some("vworkspace-application");
    let ours: Vec<Event> = all.items.into_iter().filter(ours).collect();
    ensure!(!ours.is_empty(), "the operator has sent no Event");
    Ok(ours)
}

const SECRETS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: planted, namespace: NAMESPACE}
stringData:
  broken.yaml: 'password: BROKEN_YAML: [\"'
  schema.yaml: 'pin: SCHEMA'
  template.yaml: 'fail: TEMPLATE'
  good.yaml: 'greeting: GOOD'
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: NAMESPACE}
stringData: {username: lab, password: REGISTRY}
";
