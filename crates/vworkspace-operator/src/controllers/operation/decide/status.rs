//! What the status says.

use agent_protocol::digest_of;
use conditions::{Draft, Moment, Rule, Subject, Verdict};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use tracing::debug;
use vworkspace_api::Duration;
use vworkspace_api::operation::{
    Accepted, Blocked, Cancelled, EngineRef, Failed, Operation, OperationStatus, Phase, Running, Succeeded,
};

use super::Rules;
use super::approval::{self, Approval};
use super::life::{End, Life, Step};
use crate::controllers::operation::engines::{Outcome, Progress};
use crate::controllers::operation::observe::World;

const GIVEN: &str = "The engine has just been given its work.";

/// Everything that the conditions follow from.
pub(super) struct Facts<'a> {
    life: &'a Life,
    before: &'a OperationStatus,
}

/// The rules of an operation are about [`Facts`].
pub(super) struct Work;

impl Subject for Work {
    type Facts<'a> = Facts<'a>;
}

const fn rule<R>(
    says: &'static [R],
    when: &'static str,
    find: for<'a> fn(&Facts<'a>) -> Option<Verdict<R>>,
) -> Rule<Work, R> {
    Rule::<Work, R>::new(says, when, find)
}

#[rustfmt::skip]
pub(super) const ACCEPTED: &[Rule<Work, Accepted>] = &[
    rule(&[Accepted::ValidationFailed], "it cannot be carried out as it stands", |facts| match facts.life {
        Life::Invalid(message) => this(Accepted::ValidationFailed, message),
        _ => None,
    }),
    rule(&[], "it ended before that had changed, and nothing was begun", |facts| {
        let was_refused = facts.before.conditions.read() == Some(Accepted::ValidationFailed);
        (was_refused && facts.end().is_some() && !facts.had_work()).then_some(Verdict::AsBefore)
    }),
    rule(&[Accepted::AdmissionPassed], "none of these", |_| this(Accepted::AdmissionPassed, "")),
];

#[rustfmt::skip]
pub(super) const RUNNING: &[Rule<Work, Running>] = &[
    rule(&[Running::EngineStarted], "the engine is at work", |facts| match facts.life {
        Life::Running(Progress { message, .. }) => this(Running::EngineStarted, message),
        _ => None,
    }),
    rule(&[Running::EngineFinished], "it is over, and the engine had its work", |facts| {
        (facts.end().is_some() && facts.had_work()).then(|| this(Running::EngineFinished, ""))?
    }),
    rule(&[Running::EngineNotStarted], "none of these", |facts| this(Running::EngineNotStarted, facts.waits_for())),
];

#[rustfmt::skip]
pub(super) const SUCCEEDED: &[Rule<Work, Succeeded>] = &[
    rule(&[Succeeded::EngineCompleted], "the engine says that it ended well", |facts| match facts.end() {
        Some(End::ByEngine(ending)) if ending.outcome == Outcome::Succeeded => this(Succeeded::EngineCompleted, &ending.message),
        _ => None,
    }),
    rule(&[Succeeded::NotYetSucceeded], "none of these", |_| this(Succeeded::NotYetSucceeded, "")),
];

#[rustfmt::skip]
pub(super) const FAILED: &[Rule<Work, Failed>] = &[
    rule(
        &[Failed::EngineFailed, Failed::VeleroBackupFailed, Failed::JobFailedBackoffExceeded, Failed::WorkflowFailed, Failed::Timeout],
        "the engine says that it ended badly",
        |facts| match facts.end() {
            Some(End::ByEngine(ending)) => match ending.outcome {
                Outcome::Failed(reason) => this(reason, &ending.message),
                Outcome::Succeeded => None,
            },
            _ => None,
        },
    ),
    rule(
        &[Failed::PreconditionFailed, Failed::Timeout, Failed::EngineFailed],
        "what must hold first did not in time, the engine ran out of time, or what did the work is gone",
        |facts| match facts.end() {
            Some(End::Failed(reason, message)) => this(*reason, message),
            _ => None,
        },
    ),
    rule(&[Failed::NotFailed], "none of these", |_| this(Failed::NotFailed, "")),
];

#[rustfmt::skip]
pub(super) const CANCELLED: &[Rule<Work, Cancelled>] = &[
    rule(&[Cancelled::UserCancelled, Cancelled::SupersededByOperation], "somebody wanted it to end, or a newer one does the same", |facts| match facts.end() {
        Some(End::Cancelled(reason, message)) => this(*reason, message),
        _ => None,
    }),
    rule(&[Cancelled::NotCancelled], "none of these", |_| this(Cancelled::NotCancelled, "")),
];

#[rustfmt::skip]
pub(super) const BLOCKED: &[Rule<Work, Blocked>] = &[
    rule(
        &[Blocked::CapabilityMissing, Blocked::AwaitingApproval, Blocked::DependencyMissing, Blocked::TargetSuspended, Blocked::TargetNotReady],
        "something must hold before it may start",
        |facts| match facts.life {
            Life::Blocked(reason, message) if *reason != Blocked::ConflictingOperation => this(*reason, message),
            _ => None,
        },
    ),
    rule(&[Blocked::ConflictingOperation], "another operation on the target comes first", |facts| match facts.life {
        Life::Blocked(Blocked::ConflictingOperation, message) => this(Blocked::ConflictingOperation, message),
        _ => None,
    }),
    rule(&[Blocked::Unblocked], "something stood in the way before", |facts| {
        let was_blocked = facts.before.conditions.read::<Blocked>().is_some_and(|reason| reason != Blocked::NotBlocked);
        was_blocked.then(|| this(Blocked::Unblocked, ""))?
    }),
    rule(&[Blocked::NotBlocked], "none of these", |_| this(Blocked::NotBlocked, "")),
];

fn this<R>(reason: R, message: &str) -> Option<Verdict<R>> {
    Some(Verdict::This(reason, message.to_owned()))
}

impl Facts<'_> {
    fn end(&self) -> Option<&End> {
        match self.life {
            Life::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// Whether the engine ever had its work.
    fn had_work(&self) -> bool {
        self.before.engine_ref.is_some() || matches!(self.end(), Some(End::ByEngine(_)))
    }

    /// What the engine, or the operation, waits for.
    fn waits_for(&self) -> &str {
        match self.life {
            Life::Waiting(Progress { message, .. }) | Life::Starts(Some(message)) => message,
            Life::Starts(None) => GIVEN,
            _ => "",
        }
    }
}

/// Whether the engine was given its work, as far as the status knows.
pub(super) fn has_started(operation: &Operation) -> bool {
    operation.status.as_ref().is_some_and(|status| status.engine_ref.is_some())
}

pub(super) fn of(
    operation: &Operation,
    world: &World,
    step: &Step,
    rules: &Rules,
    now: Timestamp,
) -> OperationStatus {
    let life = &step.life;
    let before = operation.status.clone().unwrap_or_default();
    if *life == Life::Unseen {
        return before;
    }
    let facts = Facts { life, before: &before };
    let mut draft = Draft::next(before.conditions.clone(), moment(operation, now));
    for (condition, when) in [
        draft.say_first(ACCEPTED, &facts),
        draft.say_first(RUNNING, &facts),
        draft.say_first(SUCCEEDED, &facts),
        draft.say_first(FAILED, &facts),
        draft.say_first(CANCELLED, &facts),
        draft.say_first(BLOCKED, &facts),
    ]
    .into_iter()
    .flatten()
    {
        debug!(condition, when, "a rule applies");
    }
    let conditions = draft.finish();
    let Summary { phase, reason, message } = summary(life);
    let engine = world.engine.as_ref().ok();
    let mut status = OperationStatus {
        conditions,
        observed_generation: operation.metadata.generation,
        phase: Some(phase),
        reason: Some(reason.to_owned()),
        message: (!message.is_empty()).then(|| message.to_owned()),
        engine_ref: match before.engine_ref {
            Some(known) if known.uid.is_some() => Some(known),
            known => engine.and_then(|engine| engine.engine_ref()).or(known).or_else(|| given(step)),
        },
        ..before
    };
    if let Life::Waiting(progress) | Life::Running(progress) = life {
        status.started_at = status.started_at.or_else(|| progress.since.map(Time));
        if !progress.outputs.is_empty() {
            status.outputs.clone_from(&progress.outputs);
        }
    }
    // Whose word it started on: the claim held a moment ago.
    if status.approved.is_none()
        && status.engine_ref.is_some()
        && let Approval::Accepted(approved) = approval::of(operation, &world.cluster, rules, now)
    {
        status.approved = Some(approved);
    }
    if let Life::Ended(end) = life {
        finish(&mut status, end, now);
    }
    status
}

/// What the engine is given its work with by this plan. The status is written after that was made: who comes after a crash
/// knows that there was something, whatever becomes of it.
fn given(step: &Step) -> Option<EngineRef> {
    let child = step.creations.last().filter(|_| step.life == Life::Starts(None))?.id();
    Some(EngineRef {
        api_version: child.resource.api_version,
        kind: child.resource.kind,
        name: child.key.name,
        namespace: child.key.namespace.unwrap_or_default(),
        uid: None,
    })
}

/// What is written once, with the end.
fn finish(status: &mut OperationStatus, end: &End, now: Timestamp) {
    let mut finished = now;
    if let End::ByEngine(ending) = end {
        status.outputs.clone_from(&ending.outputs);
        status.logs_ref.clone_from(&ending.logs_ref);
        // What is quickly done was never seen at work.
        status.started_at = status.started_at.take().or_else(|| ending.since.map(Time));
        finished = ending.at.unwrap_or(now);
    }
    // The engine's clock may be behind ours.
    let started = status.started_at.as_ref().map(|time| time.0);
    let finished = started.map_or(finished, |started| finished.max(started));
    status.finished_at = Some(Time(finished));
    status.duration = started.map(|started| {
        let seconds = finished.duration_since(started).as_secs();
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default()).to_string()
    });
    status.outcome_digest = Some(digest_of(&json!([status.phase, status.reason, status.outputs])));
}

struct Summary<'a> {
    phase: Phase,
    reason: &'static str,
    message: &'a str,
}

/// The one condition that tells most.
fn summary(life: &Life) -> Summary<'_> {
    let (phase, reason, message) = match life {
        Life::Invalid(message) => (Phase::Pending, Accepted::ValidationFailed.entry(), message.as_str()),
        Life::Blocked(reason, message) => (Phase::Pending, reason.entry(), message.as_str()),
        Life::Unseen => (Phase::Pending, Running::EngineNotStarted.entry(), ""),
        Life::Starts(None) => (Phase::Pending, Running::EngineNotStarted.entry(), GIVEN),
        Life::Starts(Some(message)) => (Phase::Pending, Running::EngineNotStarted.entry(), message.as_str()),
        Life::Waiting(progress) => {
            (Phase::Pending, Running::EngineNotStarted.entry(), progress.message.as_str())
        }
        Life::Running(progress) => {
            (Phase::Running, Running::EngineStarted.entry(), progress.message.as_str())
        }
        Life::Ended(End::ByEngine(ending)) => match ending.outcome {
            Outcome::Succeeded => {
                (Phase::Succeeded, Succeeded::EngineCompleted.entry(), ending.message.as_str())
            }
            Outcome::Failed(reason) => (Phase::Failed, reason.entry(), ending.message.as_str()),
        },
        Life::Ended(End::Failed(reason, message)) => (Phase::Failed, reason.entry(), message.as_str()),
        Life::Ended(End::Cancelled(reason, message)) => (Phase::Cancelled, reason.entry(), message.as_str()),
    };
    Summary { phase, reason: reason.reason, message }
}

pub(super) fn moment(operation: &Operation, now: Timestamp) -> Moment {
    Moment { generation: operation.metadata.generation.unwrap_or_default(), now }
}
