//! What runs, since when, how big, and ready or why not.

use std::fs;
use std::path::Path;

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

use crate::addons::{Addon, Installed};
use crate::cluster::Cluster;
use crate::components::versions_in;
use crate::node::processes::Process;
use crate::node::supervise::{self, Spec};
use crate::node::{self, Node};
use crate::paths::Paths;
use crate::process_table::Running;
use crate::readiness::Expected;
use crate::table;

/// What `status` shows, and whether all of it is well.
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) is_well: bool,
}

/// Looks at the node's processes, then asks the API server for the add-ons' pods.
pub(crate) async fn of(cluster: &Cluster) -> Result<Report> {
    let mut report = Report { text: String::new(), is_well: true };
    let running = cluster.node.as_ref().map(Node::processes).unwrap_or_default();
    if cluster.node.is_some() {
        let api = node::published(&cluster.paths, node::API_PORT)?;
        report.text += &format!(
            "lab {}: https://{api}, {} of memory in all\n\n",
            cluster.paths.lab(),
            mebibytes(sum(&running))
        );
        processes(&cluster.paths, &running, &mut report)?;
    }
    if let Err(error) = addons(cluster, &running, &mut report).await {
        report.is_well = false;
        report.text += &format!("\nadd-ons: {error:#}\n");
    }
    Ok(report)
}

fn processes(paths: &Paths, running: &[Running], report: &mut Report) -> Result<()> {
    let spec: Spec = serde_json::from_slice(&fs::read(paths.state.join(supervise::SPEC))?)?;
    let lives = supervise::lives(paths);
    let mut rows = Vec::new();
    for process in spec.processes {
        let found = running.iter().find(|one| one.program() == process.name);
        let life = lives.get(&process.name).cloned().unwrap_or_default();
        let state = match (found, life.last_exit) {
            (Some(_), None) => "running".to_owned(),
            (Some(_), Some(exit)) => format!("running; before: {exit}"),
            (None, exit) => {
                report.is_well = false;
                format!(
                    "not running ({}); see: cargo lab logs {}",
                    exit.unwrap_or("waiting".to_owned()),
                    process.name
                )
            }
        };
        rows.push(vec![
            process.name.clone(),
            version_of(&process),
            found.map(|one| one.pid.to_string()).unwrap_or_default(),
            found.map(|one| mebibytes(one.rss)).unwrap_or_default(),
            found.map(|one| age(one.age)).unwrap_or_default(),
            life.restarts.to_string(),
            state,
        ]);
    }
    report.text += &table::lines(&["PROCESS", "VERSION", "PID", "RSS", "AGE", "RESTARTS", "STATE"], &rows);
    Ok(())
}

/// The version that runs, which need not be the one that this checkout would build.
fn version_of(process: &Process) -> String {
    let built = process.argv.first().and_then(|program| Path::new(program).ancestors().nth(2));
    let version = built.and_then(|built| versions_in(built).remove(&process.name));
    version.unwrap_or_else(|| "Debian".to_owned())
}

async fn addons(cluster: &Cluster, running: &[Running], report: &mut Report) -> Result<()> {
    let mut rows = Vec::new();
    for addon in Addon::all(&cluster.paths)? {
        let installed = addon.installed(cluster).await?;
        if installed == Installed::Not || addon.components.iter().any(|component| !component.is_built()) {
            continue;
        }
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), addon.namespace());
        let pods = pods.list(&ListParams::default()).await?.items;
        let workloads = addon.workloads(&cluster.paths, &cluster.tools)?;
        if workloads.is_empty() {
            rows.push(vec![addon.name.clone(), addon.version_of(""), addon.title().to_owned()]);
        }
        for workload in &workloads {
            rows.extend(workload_rows(&addon, workload, &workloads, &pods, running, report));
        }
        if installed == Installed::Other {
            let note = "of another state of the repository; cargo lab up brings it to this one";
            rows.push(vec![addon.name.clone(), String::new(), note.to_owned()]);
        }
    }
    let head = ["ADD-ON", "VERSION", "POD", "RSS", "AGE", "STATE"];
    report.text += &format!("\n{}", table::lines(&head, &rows));
    Ok(())
}

/// A row for each pod of the workload; none at all is not well either.
fn workload_rows(
    addon: &Addon,
    workload: &Expected,
    workloads: &[Expected],
    pods: &[Pod],
    running: &[Running],
    report: &mut Report,
) -> Vec<Vec<String>> {
    let row = |pod: String, memory: String, age: String, state: String| {
        vec![addon.name.clone(), addon.version_of(&workload.name), pod, memory, age, state]
    };
    let is_its = |pod: &&Pod| workload_of(pod, workloads).is_some_and(|other| other.name == workload.name);
    let mut rows = Vec::new();
    for pod in pods.iter().filter(is_its) {
        let (state, is_well) = pod_state(pod);
        report.is_well &= is_well;
        let memory = pod.uid().map(|uid| sum(running.iter().filter(|one| one.is_in_pod(&uid))));
        let memory = memory.filter(|bytes| *bytes > 0).map(mebibytes).unwrap_or_default();
        let age = pod.creation_timestamp().map(|time| age_since(time.0)).unwrap_or_default();
        rows.push(row(pod.name_any(), memory, age, state));
    }
    if rows.is_empty() {
        report.is_well = false;
        let state = format!("{} {} has no pod; cargo lab up installs it again", workload.kind, workload.name);
        rows.push(row(String::new(), String::new(), String::new(), state));
    }
    rows
}

/// The one of the workloads that made the pod: the longest name that the pod's begins with.
fn workload_of<'a>(pod: &Pod, workloads: &'a [Expected]) -> Option<&'a Expected> {
    let made = |workload: &&Expected| pod.name_any().starts_with(&format!("{}-", workload.name));
    workloads.iter().filter(made).max_by_key(|workload| workload.name.len())
}

/// `ready`, or the words of the first container that is not.
fn pod_state(pod: &Pod) -> (String, bool) {
    let status = pod.status.clone().unwrap_or_default();
    let phase = status.phase.unwrap_or_else(|| "not observed".to_owned());
    if phase == "Succeeded" {
        return ("done".to_owned(), true);
    }
    let containers = status.container_statuses.unwrap_or_default();
    let restarts: i32 = containers.iter().map(|container| container.restart_count).sum();
    if !containers.is_empty() && containers.iter().all(|container| container.ready) {
        return (if restarts > 0 { format!("ready, {restarts} restarts") } else { "ready".to_owned() }, true);
    }
    let waiting = containers.iter().find(|container| !container.ready).and_then(|container| {
        let waiting = container.state.clone()?.waiting?;
        Some(format!("{} {}", waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default()))
    });
    let why = waiting.or(status.message).unwrap_or_else(|| "not ready".to_owned());
    (format!("{phase}: {}", why.trim()), false)
}

fn sum<'a>(processes: impl IntoIterator<Item = &'a Running>) -> u64 {
    processes.into_iter().map(|process| process.rss).sum()
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn age_since(time: jiff::Timestamp) -> String {
    age(jiff::Timestamp::now().duration_since(time).as_secs().unsigned_abs())
}

/// As kubectl shows ages.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_that_is_not_ready_says_why() {
        let pod: Pod = serde_json::from_value(
            json!({"metadata": {}, "status": {"phase": "Pending", "containerStatuses": [
            {"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0,
             "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}}),
        )
        .expect("a pod");
        assert_eq!(pod_state(&pod), ("Pending: ErrImagePull no such image".to_owned(), false));
    }

    #[test]
    fn ages_read_like_those_of_kubectl() {
        assert_eq!([5, 119, 120, 7200, 172_800].map(age), ["5s", "119s", "2m", "2h", "2d"]);
    }
}
