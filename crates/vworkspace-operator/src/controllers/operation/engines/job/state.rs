//! How far a Job has come, from what it and its pods say.

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use kube::ResourceExt;
use operator_kit::{Quotes, redact};
use serde_json::{Map, Value};
use vworkspace_api::operation::{Failed, LogsRef};

use super::shape::CONTAINER;
use super::{Log, LogPoll, created};
use crate::controllers::operation::engines::{Ending, Outcome, Progress, State};

/// The Job's own words for why it failed.
const BACKOFF: &str = "BackoffLimitExceeded";
const DEADLINE: &str = "DeadlineExceeded";

/// A pod may outlive its Job: somebody has deleted that one alone.
pub(super) fn of_orphans(pods: &[Pod]) -> Option<State> {
    let alive = pods.iter().find(|pod| !matches!(phase(pod), Some("Succeeded" | "Failed")))?;
    let message = format!("The Job was deleted; its pod {} has not ended yet.", alive.name_any());
    let made = alive.metadata.creation_timestamp.as_ref().map(|time| time.0);
    Some(State::Running(Progress { made, since: made, message, ..Progress::default() }))
}

/// The pod whose log tells how the last attempt of a Job that is over went.
pub(super) fn ended_pod(job: &Job, pods: &[Pod]) -> Option<LogPoll> {
    let pod = latest(job, pods).filter(|pod| is_over(job) && terminated(pod).is_some())?;
    Some(LogPoll { namespace: pod.namespace()?, pod: pod.name_any() })
}

fn is_over(job: &Job) -> bool {
    ["Complete", "Failed"].iter().any(|type_| own_end(job, type_).is_some())
}

/// Pods are seen by another watch than Jobs, which may be behind. One that is being deleted goes without another word.
fn is_seen_alive(pod: &Pod) -> bool {
    matches!(phase(pod), Some("Pending" | "Running")) && pod.metadata.deletion_timestamp.is_none()
}

pub(super) fn of(job: &Job, pods: &[Pod], log: &Log) -> State {
    let pod = latest(job, pods);
    let progress = |message: String| {
        let made = created(job);
        Progress { made, since: made, message, ..Progress::default() }
    };
    let name = job.name_any();
    if let Some(pod) = pod.filter(|pod| is_over(job) && is_seen_alive(pod)) {
        return State::Ending(progress(format!(
            "Job {name} has ended; pod {} is not seen to have.",
            pod.name_any()
        )));
    }
    if *log == Log::Unread && ended_pod(job, pods).is_some() {
        return State::Ending(progress(format!("Job {name} has ended; its log is being read.")));
    }
    let ending = |pod, outcome, message, end| ending(job, pod, outcome, message, end, log);
    if let Some(complete) = own_end(job, "Complete") {
        let message = format!("Job {} has completed.", job.name_any());
        return State::Ended(ending(pod, Outcome::Succeeded, message, complete));
    }
    // `FailureTarget` comes before it: the outcome is known, and pods may still run.
    if let Some(failed) = own_end(job, "Failed") {
        let reason = match failed.reason.as_deref() {
            Some(BACKOFF) => Failed::JobFailedBackoffExceeded,
            Some(DEADLINE) => Failed::Timeout,
            _ => Failed::EngineFailed,
        };
        let words = failed.message.as_deref().or(failed.reason.as_deref()).unwrap_or("no reason given");
        let message = format!("Job {} has failed: {words}.{}", job.name_any(), last_words(pod));
        return State::Ended(ending(pod, Outcome::Failed(reason), message, failed));
    }
    let status = job.status.as_ref();
    let is_ready = status.and_then(|status| status.ready).is_some_and(|ready| ready > 0);
    let failed = status.and_then(|status| status.failed).unwrap_or(0);
    // A pod ends some time before its Job says so.
    let runs = pod.is_some_and(|pod| matches!(phase(pod), Some("Running" | "Succeeded" | "Failed")));
    if job.metadata.deletion_timestamp.is_some() {
        return State::Running(progress(format!("Job {name} is being deleted; its pod has not ended yet.")));
    }
    if is_ready || runs || failed > 0 || condition(job, "FailureTarget").is_some() {
        let attempt = if failed > 0 { format!(", attempt {}", failed + 1) } else { String::new() };
        let pod = pod.map(|pod| format!(", pod {}", pod.name_any())).unwrap_or_default();
        return State::Running(progress(format!("Job {name} runs{attempt}{pod}.")));
    }
    State::Waiting(progress(match pod.and_then(waiting) {
        Some(why) => format!("The pod of Job {name} cannot start: {why}"),
        None if pod.is_none() && status.is_some_and(|status| status.start_time.is_some()) => {
            format!("Job {name} has no pod yet; `kubectl describe job` shows what is in its way.")
        }
        None => format!("Job {name} waits for its pod to start."),
    }))
}

fn condition<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// How a Job ended by itself. What it says after somebody has deleted it follows from the deletion.
fn own_end<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let deleted = job.metadata.deletion_timestamp.as_ref();
    condition(job, type_).filter(|end| {
        let at = end.last_transition_time.as_ref().map(|time| time.0);
        deleted.is_none_or(|deleted| at.is_some_and(|at| at < deleted.0))
    })
}

/// Anybody can put our label on a pod.
fn is_of(pod: &Pod, job: &Job) -> bool {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    job.metadata.uid.as_ref().is_some_and(|uid| owners.any(|owner| owner.uid == *uid))
}

/// The pod of the last attempt.
fn latest<'a>(job: &Job, pods: &'a [Pod]) -> Option<&'a Pod> {
    pods.iter()
        .filter(|pod| is_of(pod, job))
        .max_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

fn phase(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.phase.as_deref()
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    containers.iter().find(|container| container.name == CONTAINER)
}

fn terminated(pod: &Pod) -> Option<&ContainerStateTerminated> {
    container(pod)?.state.as_ref()?.terminated.as_ref()
}

/// What keeps a pod from starting, in Kubernetes' words.
fn waiting(pod: &Pod) -> Option<String> {
    let said = |reason: Option<&str>, message: Option<&str>| {
        // They take turns, for ever.
        if matches!(reason, Some("ErrImagePull" | "ImagePullBackOff")) {
            return Some(format!("ImagePullBackOff: image {} cannot be pulled", image(pod)));
        }
        let reason = reason.filter(|reason| !["ContainerCreating", "PodInitializing"].contains(reason))?;
        Some(match message {
            Some(message) => format!("{reason}: {}", redact(message, Quotes::Trusted)),
            None => reason.to_owned(),
        })
    };
    let container = container(pod).and_then(|known| known.state.as_ref()?.waiting.as_ref());
    if let Some(waiting) = container {
        return said(waiting.reason.as_deref(), waiting.message.as_deref());
    }
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled =
        conditions.iter().find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
    said(scheduled.reason.as_deref(), scheduled.message.as_deref())
}

fn image(pod: &Pod) -> &str {
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let runner = containers.iter().find(|container| container.name == CONTAINER);
    runner.and_then(|container| container.image.as_deref()).unwrap_or_default()
}

/// Why the last attempt failed.
fn last_words(pod: Option<&Pod>) -> String {
    let Some(pod) = pod else { return String::new() };
    let reason = |reason: Option<&String>| reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    if let Some(ended) = terminated(pod) {
        let why = reason(ended.reason.as_ref().filter(|reason| *reason != "Error"));
        return format!(" Pod {} ended with exit code {}{why}.", pod.name_any(), ended.exit_code);
    }
    // One that was evicted never had a container that ended.
    let status = pod.status.as_ref();
    let message = status.and_then(|status| status.message.as_ref());
    let why = reason(status.and_then(|status| status.reason.as_ref()));
    message.map_or_else(String::new, |message| {
        format!(" Pod {}{why}: {}", pod.name_any(), redact(message, Quotes::Trusted))
    })
}

fn ending(
    job: &Job,
    pod: Option<&Pod>,
    outcome: Outcome,
    message: String,
    end: &JobCondition,
    log: &Log,
) -> Ending {
    let mut outputs = Map::from_iter([("jobName".to_owned(), Value::from(job.name_any()))]);
    let ended = pod.and_then(terminated);
    outputs.extend(ended.map(|ended| ("exitCode".to_owned(), Value::from(ended.exit_code))));
    let message = match (log, pod) {
        (Log::Read(Ok(lines)), _) => {
            outputs.insert("lastLines".to_owned(), Value::from(lines.clone()));
            message
        }
        (Log::Read(Err(why)), Some(pod)) => {
            format!("{message} The log of pod {} could not be read: {why}", pod.name_any())
        }
        _ => message,
    };
    let completed = job.status.as_ref().and_then(|status| status.completion_time.as_ref());
    let at = completed.or(end.last_transition_time.as_ref()).map(|time| time.0);
    let logs_ref = pod.map(|pod| LogsRef {
        kind: "Pod".to_owned(),
        name: pod.name_any(),
        namespace: pod.namespace().unwrap_or_default(),
        url: None,
    });
    Ending { outcome, message, outputs, logs_ref, since: created(job), at }
}
