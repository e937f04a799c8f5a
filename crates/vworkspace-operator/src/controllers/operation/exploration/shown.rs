//! What the caches show, as `decide` reads it.

use std::rc::Rc;

use agent_protocol::{PublicKeys, SharedSecret, Vws1Claim};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::ObjectMeta;
use operator_kit::{Cause, Deed, Found, ObjectKey, Refusal, Sight};
use serde_json::json;
use vworkspace_api::Duration;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{
    BackupParameters, Operation, OperationStatus, Phase, Request, RunCommandParameters,
};

use super::job_controller::{Job, JobEnd, Pod, PodPhase};
use super::velero::{Backup, Removal};
use super::world::{Memory, OPERATIONS, Spec, TIMEOUT, Target, Task, WAIT};
use super::{Look, OperationPlan};
use crate::controllers::operation::OPERATION_LABEL;
use crate::controllers::operation::decide::{self, Rules};
use crate::controllers::operation::engines::{Engine, job, velero};
use crate::controllers::operation::observe::{AllowedTypes, Other, World};
use crate::external::velero as external;

/// As long as one is kept that goes after its end.
const TTL: u64 = 7200;

pub(super) fn time(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
}

fn at(seconds: i64) -> Time {
    Time(time(seconds))
}

/// Not in the order of their names: of two of the same second, the one with the lower uid comes first.
pub(super) const RANKS: [u8; OPERATIONS] = [2, 1, 3];

pub(super) fn name(nth: usize) -> String {
    format!("op{nth}")
}

/// What the engine of an operation is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    task: Task,
    log: bool,
    has_begun: bool,
    has_log: bool,
    has_volumes: bool,
    /// Of a kind that cannot be looked at, nothing.
    job: Option<Option<Job>>,
    pod: Option<Pod>,
    backup: Option<Option<Backup>>,
    removal: Option<Option<Removal>>,
    location: Option<bool>,
}

/// An operation on the desk. It is changed in place, because building it anew costs more than deciding.
struct Seat {
    operation: Operation,
    engine: Box<dyn Engine>,
    seen: Option<Seen>,
    asked: Option<(Spec, i64, bool, i64)>,
    status: Option<Rc<OperationStatus>>,
}

pub(super) struct Desk {
    rules: Rules,
    claims: Vec<String>,
    commands: RunCommandParameters,
    backups: [BackupParameters; 2],
    seats: Vec<Option<Seat>>,
    target: Option<Target>,
    world: World,
}

fn operation(nth: usize, task: Task) -> Operation {
    let (type_, engine) = if task.is_backup() { ("Backup", "velero") } else { ("RunCommand", "job") };
    let parameters = match task {
        Task::Command | Task::Exclusive => json!({"image": "tools:1"}),
        Task::Backup => json!({}),
        Task::OtherBackup => json!({"ttl": "1h"}),
    };
    serde_json::from_value(json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": name(nth), "namespace": "shop", "uid": uid(nth)},
        "spec": {"targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": type_, "engine": engine, "parameters": parameters, "policy": {"exclusive": task == Task::Exclusive}}}))
    .unwrap()
}

fn uid(nth: usize) -> String {
    format!("{}0000000-operation", RANKS[nth])
}

pub(super) fn instance() -> ApplicationInstance {
    serde_json::from_value(json!({
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"appRef": {"catalogId": "web"}, "mode": "placeholder"}}))
    .unwrap()
}

/// What the target says of itself.
pub(super) fn show_target(instance: &mut ApplicationInstance, target: Target) {
    let annotations = [("runcommand", "job"), ("backup", "velero")]
        .map(|(verb, engine)| (format!("ops.vworkspace.io/{verb}"), engine.to_owned()));
    instance.metadata.annotations = target.is_able.then(|| annotations.into());
    let status = if target.is_ready { "True" } else { "False" };
    let reason = if target.is_ready { "Placeholder" } else { "Installing" };
    let ready = json!({"type": "Ready", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": time(0), "observedGeneration": 1});
    instance.status =
        serde_json::from_value(json!({"observedGeneration": 1, "conditions": [ready]})).unwrap();
}

impl Desk {
    pub(super) fn new() -> Self {
        let secret = SharedSecret::from_text("a secret").unwrap();
        let claim = |nth| Vws1Claim {
            at: time(0).to_string(),
            by: "somebody".to_owned(),
            exp: time(1_000_000_000),
            op: name(nth),
            rid: 1,
            v: 1,
        };
        let claims = (0..OPERATIONS).map(|nth| secret.issue(&claim(nth)).unwrap()).collect();
        let request = |task| operation(0, task).spec.request().unwrap();
        let Request::RunCommand(commands) = request(Task::Command) else { panic!("a command") };
        let backups = [Task::Backup, Task::OtherBackup].map(|task| match request(task) {
            Request::Backup(parameters) => parameters,
            other => panic!("not a backup: {other:?}"),
        });
        let world = World {
            engine: Err(String::new()),
            target: Sight::Absent,
            others: Vec::new(),
            allowed_types: AllowedTypes::NotYet,
            is_namespace_ending: false,
            refusals: Vec::new(),
            cluster: "lab".to_owned(),
        };
        let rules = Rules { approval_keys: PublicKeys::default(), claim_secret: Some(secret) };
        let seats = (0..OPERATIONS).map(|_| None).collect();
        Self { rules, claims, commands, backups, seats, target: None, world }
    }

    pub(super) fn decide(&mut self, seen: &Look<'_>, memory: &Memory, nth: usize, now: i64) -> OperationPlan {
        if self.target != Some(seen.target) {
            self.target = Some(seen.target);
            let mut instance = instance();
            show_target(&mut instance, seen.target);
            self.world.target = if seen.target.is_there { Sight::Present(instance) } else { Sight::Absent };
        }
        self.world.allowed_types = match seen.allows(memory, nth) {
            None => AllowedTypes::NotYet,
            Some(true) => AllowedTypes::All,
            Some(false) => AllowedTypes::Only(vec!["Upgrade".to_owned()]),
        };
        self.world.refusals.clear();
        if memory[nth].is_refused {
            self.world.refusals.push(refusal());
        }
        let is_free = seen.operations[nth].spec.task == Task::Command;
        let mut out = Vec::with_capacity(OPERATIONS);
        for other in (0..OPERATIONS).filter(|other| *other != nth && !is_free) {
            let own = &seen.operations[other];
            let phase = own.status.as_ref().and_then(|status| status.phase);
            if own.is_gone || phase.is_some_and(Phase::is_final) {
                continue;
            }
            let seat = self.seat(seen, memory, other);
            self.world.others.push(Other { operation: seat.operation, engine: Some(seat.engine) });
            out.push((other, seat.seen, seat.asked, seat.status));
        }
        let Seat { operation, engine, seen, asked, status } = self.seat(seen, memory, nth);
        self.world.engine = Ok(engine);
        let plan = decide::plan(&operation, &self.world, &self.rules, time(now));
        let engine = std::mem::replace(&mut self.world.engine, Err(String::new()));
        self.seats[nth] = engine.ok().map(|engine| Seat { operation, engine, seen, asked, status });
        for ((nth, seen, asked, status), other) in out.into_iter().zip(self.world.others.drain(..)) {
            let Other { operation, engine } = other;
            self.seats[nth] = engine.map(|engine| Seat { operation, engine, seen, asked, status });
        }
        plan
    }

    /// An operation and what is seen of its engine, as they are now.
    fn seat(&mut self, seen: &Look<'_>, memory: &Memory, nth: usize) -> Seat {
        let own = &seen.operations[nth];
        let facts = Seen {
            task: own.spec.task,
            log: own.spec.log,
            has_begun: own.status.as_ref().is_some_and(|status| status.engine_ref.is_some()),
            has_log: memory[nth].has_log,
            has_volumes: memory[nth].has_volumes,
            job: seen.jobs.map(|jobs| jobs[nth]),
            pod: seen.pods[nth],
            backup: seen.backups.map(|backups| backups[nth]),
            removal: seen.removals.map(|removals| removals[nth]),
            location: seen.location,
        };
        let mut seat = match self.seats[nth].take() {
            Some(seat) if seat.seen.is_some_and(|before| before.task == facts.task) => seat,
            _ => Seat {
                operation: operation(nth, own.spec.task),
                engine: self.engine(&facts, nth),
                seen: Some(facts),
                asked: None,
                status: None,
            },
        };
        if seat.seen != Some(facts) {
            seat.engine = self.engine(&facts, nth);
            seat.seen = Some(facts);
        }
        let asked = (own.spec, own.generation, own.deleting, seen.created[nth]);
        if seat.asked != Some(asked) {
            self.ask(&mut seat.operation, asked, nth);
            seat.asked = Some(asked);
        }
        let is_same = match (&seat.status, &own.status) {
            (Some(before), Some(status)) => Rc::ptr_eq(before, status),
            (before, status) => before.is_none() && status.is_none(),
        };
        if !is_same {
            seat.operation.status = own.status.as_deref().cloned();
            seat.status.clone_from(&own.status);
        }
        seat
    }

    fn ask(&self, operation: &mut Operation, asked: (Spec, i64, bool, i64), nth: usize) {
        let (spec, generation, deleting, created) = asked;
        let length = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        operation.metadata.generation = Some(generation);
        operation.metadata.creation_timestamp = Some(at(created));
        operation.metadata.deletion_timestamp = deleting.then(|| at(created));
        operation.spec.cancel = spec.cancel;
        operation.spec.timeout = spec.timeout.then(|| length(TIMEOUT));
        operation.spec.policy.wait_timeout = spec.wait.then(|| length(WAIT));
        operation.spec.policy.require_ready = spec.any_state.then_some(false);
        operation.spec.policy.capture_logs = spec.log;
        operation.spec.approvals.required = spec.needs_approval;
        operation.spec.approvals.claim = spec.claim.then(|| self.claims[nth].clone());
        operation.spec.ttl_after_finished = spec.ttl.then(|| Duration::from_secs(TTL));
    }

    fn engine(&self, seen: &Seen, nth: usize) -> Box<dyn Engine> {
        if seen.task.is_backup() {
            return Box::new(self.backup(seen, nth));
        }
        let job = match seen.job {
            None => Sight::Unknown("jobs cannot be listed".to_owned()),
            Some(None) => Sight::Absent,
            Some(Some(job)) => Sight::Present(job_object(job, nth)),
        };
        let is_looked_for = job.present().is_some() || seen.has_begun;
        let mut run = job::Run {
            parameters: self.commands.clone(),
            pods: seen.pod.filter(|_| is_looked_for).map(|pod| pod_object(pod, nth)).into_iter().collect(),
            job,
            lacks_runner: false,
            log: if seen.log { job::Log::Unread } else { job::Log::Unwanted },
        };
        if seen.has_log && run.log_poll().is_some() {
            run.log = job::Log::Read(Ok(vec!["done".to_owned()]));
        }
        Box::new(run)
    }

    fn backup(&self, seen: &Seen, nth: usize) -> velero::BackupWork {
        let backup = match seen.backup {
            None => Sight::NotInstalled,
            Some(None) => Sight::Absent,
            Some(Some(backup)) => Sight::Present(backup_object(backup, nth)),
        };
        let removal = match seen.removal {
            None => Sight::NotInstalled,
            Some(None) => Sight::Absent,
            Some(Some(removal)) => Sight::Present(removal_object(removal)),
        };
        let found =
            seen.location.map_or(Found::NotInstalled, |location| Found::Objects(vec![at_location(location)]));
        let [usual, other] = &self.backups;
        let mut work = velero::BackupWork {
            parameters: if seen.task == Task::Backup { usual.clone() } else { other.clone() },
            key: ObjectKey::namespaced("velero", &name(nth)),
            backup,
            locations: velero::Locations { namespace: "velero".to_owned(), found },
            removal,
            volumes: Found::NotYet,
        };
        if seen.has_volumes && work.volumes_watch().is_some() {
            work.volumes = Found::Objects(Vec::new());
        }
        work
    }
}

pub(super) fn refusal() -> Refusal {
    Refusal {
        object: "what does the work".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: "denied".to_owned(),
    }
}

fn meta(name: String, namespace: &str, uid: u8, made: i64, nth: usize) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        uid: Some(format!("child-{uid}")),
        creation_timestamp: Some(at(made)),
        labels: Some([(OPERATION_LABEL.to_owned(), self::uid(nth))].into()),
        ..ObjectMeta::default()
    }
}

fn job_object(job: Job, nth: usize) -> batch::Job {
    let condition = |type_: &str, reason: Option<&str>, now: i64| batch::JobCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: reason.map(str::to_owned),
        last_transition_time: Some(at(now)),
        ..batch::JobCondition::default()
    };
    let mut conditions = Vec::new();
    if job.is_failing {
        conditions.push(condition("FailureTarget", Some("BackoffLimitExceeded"), job.made));
    }
    conditions.extend(job.end.map(|(end, now)| match end {
        JobEnd::Complete => condition("Complete", None, now),
        JobEnd::Backoff => condition("Failed", Some("BackoffLimitExceeded"), now),
    }));
    let completed = job.end.filter(|(end, _)| *end == JobEnd::Complete);
    let mut metadata = meta(format!("{}-{}0000000", name(nth), RANKS[nth]), "shop", job.uid, job.made, nth);
    metadata.deletion_timestamp = job.deleted.map(at);
    batch::Job {
        metadata,
        status: Some(batch::JobStatus {
            start_time: job.is_started.then(|| at(job.made)),
            completion_time: completed.map(|(_, now)| at(now)),
            conditions: Some(conditions),
            ..batch::JobStatus::default()
        }),
        ..batch::Job::default()
    }
}

fn pod_object(pod: Pod, nth: usize) -> core::Pod {
    let phase = match pod.phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
    };
    let exit_code = i32::from(pod.phase == PodPhase::Failed);
    let ended = pod.phase.is_over().then(|| core::ContainerStatus {
        name: "runner".to_owned(),
        state: Some(core::ContainerState {
            terminated: Some(core::ContainerStateTerminated {
                exit_code,
                ..core::ContainerStateTerminated::default()
            }),
            ..core::ContainerState::default()
        }),
        ..core::ContainerStatus::default()
    });
    let mut metadata = meta(format!("{}-pod", name(nth)), "shop", 0, pod.made, nth);
    metadata.deletion_timestamp = pod.is_deleted.then(|| at(pod.made));
    metadata.owner_references =
        Some(vec![OwnerReference { uid: format!("child-{}", pod.of), ..OwnerReference::default() }]);
    core::Pod {
        metadata,
        status: Some(core::PodStatus {
            phase: Some(phase.to_owned()),
            container_statuses: ended.map(|ended| vec![ended]),
            ..core::PodStatus::default()
        }),
        ..core::Pod::default()
    }
}

fn backup_object(backup: Backup, nth: usize) -> external::Backup {
    let mut metadata = meta(name(nth), "velero", backup.uid, backup.made, nth);
    metadata.resource_version = Some(backup.version.to_string());
    external::Backup {
        metadata,
        spec: external::BackupSpec {
            included_namespaces: vec!["shop".to_owned()],
            storage_location: "default".to_owned(),
        },
        status: external::BackupStatus {
            phase: backup.phase.text().to_owned(),
            start_timestamp: backup.began.map(at),
            completion_timestamp: backup.ended.map(at),
            ..external::BackupStatus::default()
        },
    }
}

fn removal_object(removal: Removal) -> external::DeleteBackupRequest {
    let (phase, errors) = match removal {
        Removal::New => ("", Vec::new()),
        Removal::InProgress => ("InProgress", Vec::new()),
        Removal::Failed => ("Processed", vec!["the storage location is not available".to_owned()]),
    };
    external::DeleteBackupRequest {
        metadata: ObjectMeta::default(),
        status: external::DeleteBackupStatus { phase: phase.to_owned(), errors },
    }
}

fn at_location(available: bool) -> external::BackupStorageLocation {
    let phase = if available { "Available" } else { "Unavailable" };
    external::BackupStorageLocation {
        metadata: ObjectMeta { name: Some("default".to_owned()), ..ObjectMeta::default() },
        status: external::LocationStatus { phase: phase.to_owned(), ..external::LocationStatus::default() },
        ..external::BackupStorageLocation::default()
    }
}
