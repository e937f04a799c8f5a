//! What is proven on a real cluster. A scenario is a sentence that holds: its name says what, its function shows it, in a
//! namespace of its own. It waits for what it names with a deadline and never sleeps.

mod apiserver_restart;
mod application;
mod application_crd;
mod application_life;
mod argo_workflow;
mod audit_log;
mod certificate;
mod chart;
mod chart_release;
mod definition;
mod disruption;
mod example;
mod failing_job;
mod faults;
mod lab_recovery;
mod operation;
mod operator_chart;
mod optional_kind;
mod own_object;
mod plugin_status;
mod service_dns;
mod shell;
mod troubleshooting;
mod velero_restore;
mod watched_namespaces;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, DynamicObject, LogParams};
use kube::{Resource, ResourceExt};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::addons::Addon;
use crate::cluster::{Cluster, wait_until};
use crate::diagnosis;
use crate::progress::seconds;
use crate::reasons::Seen;

pub(crate) use application::approval::private_key as approver_key;
pub(crate) use faults::Choice as Faults;

/// The scenario that `--faults` is about.
pub(crate) const FAULTS: &str = faults::SCENARIO.name;

/// How long a scenario's single steps may take on a machine that is busy with other things.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// More at once would only slow each other down on two cores.
const AT_ONCE: usize = 3;

type Running<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Something that must hold on a real cluster.
pub(crate) struct Scenario {
    /// A sentence in snake case; `cargo lab test NAME` matches a part of it.
    pub(crate) name: &'static str,
    /// Add-ons it needs; their state is shown when it fails.
    pub(crate) needs: &'static [&'static str],
    /// Whether it reaches below the API server, so that only the lab's own cluster will do.
    pub(crate) needs_node: bool,
    /// Whether it disturbs others, so that it runs last and alone.
    pub(crate) alone: bool,
    run: for<'a> fn(&'a Ground) -> Running<'a>,
}

/// All scenarios, in the order in which they are told.
pub(crate) const ALL: &[Scenario] = &[
    service_dns::SCENARIO,
    plugin_status::SCENARIO,
    example::SCENARIO,
    application_crd::TAKES,
    application_crd::REFUSES,
    application_crd::RATCHETS,
    application_crd::POLICY,
    application_crd::ACCOUNTS,
    chart_release::FROM_OCI,
    chart_release::FROM_HTTP,
    velero_restore::SCENARIO,
    argo_workflow::SUCCEEDS,
    argo_workflow::FAILS,
    certificate::SCENARIO,
    failing_job::SCENARIO,
    audit_log::SCENARIO,
    application_life::SCENARIO,
    application::install_and_upgrade::SCENARIO,
    application::pause::SCENARIO,
    application::nothing_to_install::SCENARIO,
    application::chart_source::SCENARIO,
    application::http_repository::SCENARIO,
    application::values::SCENARIO,
    application::failed_install::SCENARIO,
    application::failed_upgrade::SCENARIO,
    application::policy::SCENARIO,
    application::refused_write::SCENARIO,
    application::refused_write::FINALIZER_REFUSED,
    application::refused_write::MENDED,
    application::foreign_condition::SCENARIO,
    application::deletion::SCENARIO,
    application::propagation::SCENARIO,
    application::maintenance_window::SCENARIO,
    application::dependency::SCENARIO,
    application::endpoint::SCENARIO,
    application::drift::SCENARIO,
    application::warnings::SCENARIO,
    application::certificate::SCENARIO,
    application::external_secret::SCENARIO,
    application::child_resources::SCENARIO,
    application::allow_list::SCENARIO,
    application::approval::SCENARIO,
    application::approval::BY_POLICY,
    application::unreachable_source::SCENARIO,
    application::service_account::SCENARIO,
    application::source_reference::SCENARIO,
    application::restored::SCENARIO,
    application::retry::SCENARIO,
    application::secrecy::SCENARIO,
    operation::command::SCENARIO,
    operation::waiting::SCENARIO,
    operation::cancel::SCENARIO,
    operation::approval::SCENARIO,
    operation::refused::SCENARIO,
    operation::backup::SCENARIO,
    operation::backup::ENDS_EARLY,
    operation::backup::IN_PLACE,
    operation::upgrade::SCENARIO,
    operation::plugin::SCENARIO,
    operation::troubleshooting::SCENARIO,
    troubleshooting::APPLICATION,
    operator_chart::SCENARIO,
    application::unreadable::SCENARIO,
    application::propagation::OPERATOR_AWAY,
    operation::backup::VELERO_AWAY,
    operation::runbook::SCENARIO,
    optional_kind::SCENARIO,
    watched_namespaces::SCENARIO,
    faults::SCENARIO,
    disruption::LEADER,
    disruption::LEADER_FROZEN,
    disruption::API_SERVER_KILLED,
    disruption::ETCD_FROZEN,
    disruption::FLUX_AWAY,
    troubleshooting::OPERATOR,
    apiserver_restart::SCENARIO,
    lab_recovery::SCENARIO,
];

/// How a scenario ended.
pub(crate) struct Outcome {
    /// What to show a person when it failed.
    pub(crate) failure: Option<String>,
}

/// Runs scenarios, several at once where they do not disturb each other, and says how each ended as it ends.
pub(crate) async fn run_all(
    cluster: &Cluster,
    chosen: &[&'static Scenario],
    faults: &Faults,
    seen: &Seen,
) -> Vec<Outcome> {
    let (alone, together): (Vec<_>, Vec<_>) = chosen.iter().copied().partition(|scenario| scenario.alone);
    let at_once = |scenarios: Vec<&'static Scenario>, limit: usize| {
        futures::stream::iter(scenarios)
            .map(|scenario| run(cluster, scenario, faults, seen))
            .buffer_unordered(limit)
            .collect::<Vec<_>>()
    };
    let mut outcomes = at_once(together, AT_ONCE).await;
    outcomes.extend(at_once(alone, 1).await);
    outcomes
}

async fn run(cluster: &Cluster, scenario: &'static Scenario, faults: &Faults, seen: &Seen) -> Outcome {
    let started = Instant::now();
    let ended = match Ground::prepare(cluster, scenario, faults, seen).await {
        Ok(ground) => {
            let result = (scenario.run)(&ground).await;
            let failure = match &result {
                Ok(()) => None,
                Err(error) => Some(format!("{error:#}\n{}", ground.diagnosis(scenario).await)),
            };
            // Whatever the outcome: a namespace cannot go while an instance in it does not.
            let cleared = application::instance::clear(&ground).await;
            // Not waited for: the next scenario does not need it.
            let ended = cleared.and(ground.remove().await);
            failure.or(ended.err().map(|error| format!("{error:#}")))
        }
        Err(error) => Some(format!("{error:#}")),
    };
    let (mark, elapsed) = (if ended.is_none() { "ok  " } else { "FAIL" }, seconds(started.elapsed()));
    println!("{mark} {:<70} {elapsed:>8}", scenario.name);
    if let Some(failure) = &ended {
        println!("{failure}");
    }
    Outcome { failure: ended }
}

/// Where a scenario runs: the cluster, and a namespace of its own.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
    /// The scenario's name.
    pub(crate) scenario: &'static str,
    /// What the operator has said so far, in all scenarios.
    pub(crate) said: Seen,
    /// Which faults the user wants to see.
    pub(crate) faults: Faults,
}

impl Scenario {
    /// Short enough for labels, and the same every time, so that leftovers are found again.
    fn namespace(&self) -> String {
        let namespace: String = self.name.replace('_', "-").chars().take(50).collect();
        namespace.trim_end_matches('-').to_owned()
    }
}

/// The scenario of each namespace.
pub(crate) fn namespaces(scenarios: &[&'static Scenario]) -> BTreeMap<String, &'static str> {
    scenarios.iter().map(|scenario| (scenario.namespace(), scenario.name)).collect()
}

impl Ground {
    /// A fresh namespace; what an earlier run that was killed left of it is removed first.
    async fn prepare(cluster: &Cluster, scenario: &Scenario, faults: &Faults, said: &Seen) -> Result<Self> {
        let ground = Self {
            cluster: cluster.clone(),
            namespace: scenario.namespace(),
            scenario: scenario.name,
            said: said.clone(),
            faults: faults.clone(),
        };
        ground.delete_namespace().await?;
        ground.apply("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}").await?;
        Ok(ground)
    }

    /// The scenario's own namespace, and those of the add-ons it needs.
    async fn diagnosis(&self, scenario: &Scenario) -> String {
        let mut text = diagnosis::namespace(&self.cluster, &self.namespace).await;
        for addon in scenario.needs.iter().filter_map(|name| Addon::load(name, &self.cluster.paths).ok()) {
            text += &diagnosis::namespace(&self.cluster, addon.namespace()).await;
        }
        text
    }

    /// Applies manifests in which NAMESPACE stands for the scenario's own.
    pub(crate) async fn apply(&self, manifests: &str) -> Result<()> {
        self.cluster.apply_yaml(&manifests.replace("NAMESPACE", &self.namespace)).await
    }

    /// Objects of a kind in the scenario's namespace.
    pub(crate) fn objects(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        self.cluster.dynamic(api_version, kind, Some(&self.namespace))
    }

    /// Waits until an object of the scenario is as wanted; otherwise says what was seen last.
    pub(crate) async fn until(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<DynamicObject> {
        seen(&self.objects(api_version, kind), kind, name, wanted).await
    }

    /// Deletes an object and waits until it is gone.
    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) -> Result<()> {
        let api = self.objects(api_version, kind);
        api.delete(name, &DeleteParams::background())
            .await
            .with_context(|| format!("failed to delete {kind} {name}"))?;
        gone(&api, kind, name).await
    }

    /// Waits until a pod has ended well, and returns what it said.
    pub(crate) async fn output_of(&self, pod: &str) -> Result<String> {
        let ended = |data: &Value| {
            matches!(data.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"))
        };
        let object = self.until("v1", "Pod", pod, ended).await?;
        let pods: Api<Pod> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let said = pods.logs(pod, &LogParams::default()).await?;
        if object.data.pointer("/status/phase").and_then(Value::as_str) == Some("Failed") {
            bail!("pod {pod} failed; it said: {said}");
        }
        Ok(said)
    }

    fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.cluster.client.clone())
    }

    /// For what is cluster-wide and is to go with the scenario's namespace.
    pub(crate) async fn namespace_as_owner(&self) -> Result<OwnerReference> {
        let namespace = self.namespaces().get(&self.namespace).await?;
        namespace.owner_ref(&()).context("the namespace has no uid")
    }

    /// Deletes the scenario's namespace, if there is one, and waits until it is gone.
    pub(crate) async fn delete_namespace(&self) -> Result<()> {
        self.remove().await?;
        let Err(error) = gone(&self.namespaces(), "Namespace", &self.namespace).await else { return Ok(()) };
        let left = self.namespaces().get_opt(&self.namespace).await.ok().flatten();
        let left = left.and_then(|left| left.status);
        let conditions = left.and_then(|status| status.conditions).unwrap_or_default();
        let holding = conditions.iter().filter(|condition| condition.status == "True");
        let holding: Vec<&str> = holding.filter_map(|condition| condition.message.as_deref()).collect();
        bail!(
            "{error}; {}",
            if holding.is_empty() { "nothing says why".to_owned() } else { holding.join(" ") }
        )
    }

    async fn remove(&self) -> Result<()> {
        match self.namespaces().delete(&self.namespace, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => {
                other.map(|_| ()).with_context(|| format!("failed to delete namespace {}", self.namespace))
            }
        }
    }
}

/// Waits until an object is as wanted; otherwise says what was seen last.
pub(crate) async fn seen(
    api: &Api<DynamicObject>,
    kind: &str,
    name: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<DynamicObject> {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let is_wanted = |object: Option<&DynamicObject>| object.is_some_and(|object| wanted(&object.data));
    match wait_until(api, name, deadline, is_wanted).await {
        Ok(Some(object)) => Ok(object),
        Ok(None) => bail!("{kind} {name} does not exist"),
        Err(not_in_time) => {
            let state = not_in_time.describe(|object| diagnosis::state_of(&object.data));
            bail!("{kind} {name} is not as expected after {} s: {state}", DEADLINE.as_secs())
        }
    }
}

/// Waits for what the API server does not announce, such as from when on a policy or a rule of a CRD counts: asking sets
/// the pace.
pub(crate) async fn comes_true(what: &str, is_so: impl AsyncFn() -> bool) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    while !is_so().await {
        ensure!(Instant::now() < deadline, "not within {} s: {what}", DEADLINE.as_secs());
    }
    Ok(())
}

/// A text in an object; empty where there is none.
fn text_at<'a>(data: &'a Value, pointer: &str) -> &'a str {
    data.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Runs one of the lab's programs to its end and returns what it said.
pub(crate) async fn said_by(command: &mut Command) -> Result<String> {
    let ended = timeout(DEADLINE, command.output()).await;
    // As a person would type it.
    let typed = command.as_std();
    let output =
        ended.with_context(|| format!("{typed:?} did not end within {} s", DEADLINE.as_secs()))??;
    if !output.status.success() {
        bail!("{typed:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Waits until an object is gone.
pub(crate) async fn gone<K>(api: &Api<K>, kind: &str, name: &str) -> Result<()>
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let waited = wait_until(api, name, deadline, |object| object.is_none()).await;
    let Err(not_in_time) = waited else { return Ok(()) };
    let state = not_in_time.describe(|object| format!("finalizers {:?}", object.finalizers()));
    bail!("{kind} {name} is still there after {} s: {state}", DEADLINE.as_secs())
}
