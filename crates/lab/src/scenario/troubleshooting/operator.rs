//! The operator's own pod, when it is well and when its rights are missing. Everybody feels it, so this runs alone.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use super::super::shell::Shell;
use super::super::{DEADLINE, Ground, Scenario};
use crate::cluster::wait_until;
use crate::process_table;

pub(in super::super) const OPERATOR: Scenario = Scenario {
    name: "troubleshooting_operator_the_commands_of_the_guide_show_a_pod_without_its_rights",
    needs: &["operator"],
    // Its process is killed.
    needs_node: true,
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

const NAMESPACE: &str = "vworkspace-system";
const NAME: &str = "vworkspace-app-operator";

const PODS: &str = "kubectl get pods -n vworkspace-system";
const DESCRIBE: &str =
    "kubectl describe pod -n vworkspace-system -l app.kubernetes.io/name=vworkspace-app-operator";
const PREVIOUS: &str = "kubectl logs -n vworkspace-system -l app.kubernetes.io/name=vworkspace-app-operator --previous --tail=400";
const ERRORS: &str =
    "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=500 | grep level.error";
const LEASE: &str = "kubectl get lease -n vworkspace-system";

async fn run(ground: &Ground) -> Result<()> {
    let shell = Shell::of(ground)?;
    shell.shows(PODS, &[NAME, "Running"]).await?;
    shell.shows(DESCRIBE, &["State:", "Restart Count:"]).await?;
    shell.shows(LEASE, &[NAME]).await?;

    let rights = take_rights(ground).await?;
    let told = without_rights(ground, &shell).await;
    // Also after a failure: the operator is everybody's.
    for binding in &rights {
        bindings(ground).create(&PostParams::default(), binding).await?;
    }
    told?;
    restart(ground).await?;
    is_ready(ground).await?;
    // If the failure is RBAC, the message is: failed to list ...: forbidden
    shell.shows(PREVIOUS, &["failed to list", "forbidden"]).await.map(|_| ())
}

/// The operator starts without its rights, and says so.
async fn without_rights(ground: &Ground, shell: &Shell<'_>) -> Result<()> {
    restart(ground).await?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let ended = shell.runs(ERRORS).await?;
        if ended.code == Some(0) && ended.said().contains("forbidden") {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "`{ERRORS}` does not show a missing right: {}", ended.said());
    }
}

fn bindings(ground: &Ground) -> Api<ClusterRoleBinding> {
    Api::all(ground.cluster.client.clone())
}

/// Takes the operator's cluster-wide rights away and returns them, to be given back.
async fn take_rights(ground: &Ground) -> Result<Vec<ClusterRoleBinding>> {
    let is_its = |binding: &ClusterRoleBinding| {
        let mut subjects = binding.subjects.iter().flatten();
        subjects.any(|subject| subject.name == NAME && subject.namespace.as_deref() == Some(NAMESPACE))
    };
    let mut taken = Vec::new();
    for mut binding in bindings(ground).list(&ListParams::default()).await?.into_iter().filter(is_its) {
        bindings(ground).delete(&binding.name_any(), &DeleteParams::default()).await?;
        binding.metadata = ObjectMeta {
            name: binding.metadata.name.clone(),
            labels: binding.metadata.labels.clone(),
            annotations: binding.metadata.annotations.clone(),
            ..ObjectMeta::default()
        };
        taken.push(binding);
    }
    ensure!(!taken.is_empty(), "the operator has no cluster-wide rights");
    Ok(taken)
}

fn pods(ground: &Ground) -> Api<Pod> {
    Api::namespaced(ground.cluster.client.clone(), NAMESPACE)
}

async fn pod(ground: &Ground) -> Result<Pod> {
    let label = ListParams::default().labels("app.kubernetes.io/name=vworkspace-app-operator");
    pods(ground).list(&label).await?.items.pop().context("the operator has no pod")
}

/// Kills the operator's process and waits until its container runs again.
async fn restart(ground: &Ground) -> Result<()> {
    let pod = pod(ground).await?;
    let (uid, before) = (pod.uid().unwrap_or_default(), restarts(&pod));
    for process in process_table::all().iter().filter(|process| process.is_in_pod(&uid)) {
        if process.program() == "vworkspace-operator" {
            let pid = Pid::from_raw(process.pid).context("no such process")?;
            kill_process(pid, Signal::KILL).context("failed to kill the operator")?;
        }
    }
    let is_again = |pod: Option<&Pod>| pod.is_some_and(|pod| restarts(pod) > before);
    let again = wait_until(&pods(ground), &pod.name_any(), Instant::now() + DEADLINE, is_again).await;
    ensure!(again.is_ok(), "the operator's container was not started again");
    Ok(())
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    statuses.into_iter().flatten().map(|container| container.restart_count).sum()
}

async fn is_ready(ground: &Ground) -> Result<()> {
    let name = pod(ground).await?.name_any();
    let ready = |pod: Option<&Pod>| {
        let statuses =
            pod.and_then(|pod| pod.status.as_ref()).and_then(|status| status.container_statuses.as_ref());
        statuses.is_some_and(|all| all.iter().all(|container| container.ready))
    };
    let waited = wait_until(&pods(ground), &name, Instant::now() + DEADLINE, ready).await;
    ensure!(waited.is_ok(), "the operator does not get ready again");
    Ok(())
}
