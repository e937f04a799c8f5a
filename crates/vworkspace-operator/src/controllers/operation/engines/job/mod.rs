//! `job`: one command in one pod, run by a Job of Kubernetes.

mod log;
mod shape;
mod state;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::ResourceExt;
use kube::api::ObjectMeta;
use operator_kit::{AnyPoll, Child, Deletion, Dependents, ObjectKey, Sight};
use vworkspace_api::operation::{EngineRef, Operation, RunCommandParameters};

use super::{Engine, State, Stop};
pub(crate) use log::{LastLines, LogPoll};

/// In whose name commands run.
const RUNNER: &str = vworkspace_api::operation::RUNNER;
/// How long the Job of an operation that has ended stays, unless the operation says so.
const KEPT: Duration = Duration::from_hours(24);

/// What is seen of one command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) parameters: RunCommandParameters,
    pub(crate) job: Sight<Job>,
    /// Its pods, in the order of their names.
    pub(crate) pods: Vec<Pod>,
    /// Whether the account that the pod runs under has to be made.
    pub(crate) lacks_runner: bool,
    /// What is known of its log.
    pub(crate) log: Log,
}

/// What is known of the log of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Log {
    /// Nobody wants to know.
    Unwanted,
    /// It has not been read.
    Unread,
    /// Its last lines, or why they could not be read.
    Read(LastLines),
}

impl Run {
    /// What asks for the log, once there is nothing to come.
    pub(crate) fn log_poll(&self) -> Option<LogPoll> {
        let job = self.job.present().filter(|_| self.log != Log::Unwanted)?;
        state::ended_pod(job, &self.pods)
    }
}

/// The Job of an operation: no other operation has the same name for its own, not even a namesake that comes after it.
pub(crate) fn key(operation: &Operation) -> ObjectKey {
    let (name, uid) = (operation.name_any(), operation.uid().unwrap_or_default());
    let uid = uid.get(..8).unwrap_or(&uid);
    // Pods get the name, five characters and a dash: at most 63.
    let name = name.get(..name.floor_char_boundary(48)).unwrap_or_default().trim_end_matches(['-', '.']);
    let name = name.replace('.', "-");
    ObjectKey { namespace: operation.namespace(), name: format!("{name}-{uid}") }
}

/// The account that commands run under, in the namespace of an operation.
pub(crate) fn runner_key(operation: &Operation) -> ObjectKey {
    ObjectKey { namespace: operation.namespace(), name: RUNNER.to_owned() }
}

impl Engine for Run {
    /// Every cluster has Jobs.
    fn lacks(&self) -> Option<String> {
        None
    }

    fn start(&self, operation: &Operation) -> Vec<Child> {
        vec![Child::of(&shape::job(operation, &self.parameters, key(operation)))]
    }

    fn shares(&self, operation: &Operation) -> Vec<Child> {
        self.lacks_runner.then(|| Child::of(&runner(operation))).into_iter().collect()
    }

    fn polls(&self) -> Vec<AnyPoll> {
        self.log_poll().map(AnyPoll::from).into_iter().collect()
    }

    fn state(&self) -> State {
        match &self.job {
            Sight::Absent | Sight::NotInstalled => state::of_orphans(&self.pods).unwrap_or(State::NotStarted),
            Sight::Unknown(why) | Sight::Unreadable(why) => State::Unknown(why.clone()),
            Sight::Present(job) => state::of(job, &self.pods, &self.log),
        }
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        let job = self.job.present()?;
        Some(EngineRef {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: job.name_any(),
            namespace: job.namespace().unwrap_or_default(),
            uid: job.uid(),
        })
    }

    fn stop(&self) -> Stop {
        let deletion = self.job.present().filter(|job| job.metadata.deletion_timestamp.is_none());
        deletion.and_then(delete).map_or(Stop::Underway, |deletion| Stop::Delete(Box::new(deletion)))
    }

    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        let job = self.job.present().filter(|job| job.metadata.deletion_timestamp.is_none())?;
        let kept = self.parameters.ttl_seconds_after_finished;
        let kept = kept.and_then(|seconds| u64::try_from(seconds).ok()).map_or(KEPT, Duration::from_secs);
        Some((kept, delete(job)?))
    }
}

/// When the Job is gone, so are its pods. Without a word about them they would run on.
fn delete(job: &Job) -> Option<Deletion> {
    let key = ObjectKey::of_meta(&job.metadata);
    Some(Deletion::new::<Job>(key, job.metadata.uid.as_deref()?, Dependents::GoFirst))
}

/// An account without any right, and without a token unless somebody gives it one.
fn runner(operation: &Operation) -> ServiceAccount {
    let ObjectKey { namespace, name } = runner_key(operation);
    ServiceAccount {
        metadata: ObjectMeta { name: Some(name), namespace, ..ObjectMeta::default() },
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

/// When a Job was made: its timeout counts from then on.
fn created(job: &Job) -> Option<Timestamp> {
    job.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests;
