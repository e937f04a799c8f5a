//! What comes next in the life of an operation that has not ended.

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use operator_kit::{Child, Deed, Deletion, Patch, Sight};
use vworkspace_api::operation::{Blocked, Cancelled, Failed, Operation, OperationType};

use super::approval::{self, Approval};
use super::blocker::{self, Candidate};
use super::queue::{self, Place, Standing};
use super::{Rules, ended, status};
use crate::controllers::operation::engines::{Ending, Engine, Permission, Progress, State, Stop};
use crate::controllers::operation::observe::{AllowedTypes, Other, World};

/// On objects that came back from a backup.
const RESTORED: &str = "velero.io/restore-name";

/// Where an operation is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Life {
    /// Something that decides has not been seen yet, or nothing new can be said yet.
    Unseen,
    /// It cannot be carried out as it stands.
    Invalid(String),
    /// Something must hold first.
    Blocked(Blocked, String),
    /// The engine is given its work with this plan, unless something is in the way at the last moment: what, in words.
    Starts(Option<String>),
    /// The engine has not begun.
    Waiting(Progress),
    /// The engine is at work.
    Running(Progress),
    /// It is over.
    Ended(End),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// By the engine's word.
    ByEngine(Ending),
    Failed(Failed, String),
    Cancelled(Cancelled, String),
}

impl Life {
    /// Whether what only the engine knows how to look at decides about the start.
    pub(super) fn asks_the_engine(&self) -> bool {
        let is_for_a_person =
            matches!(self, Life::Blocked(Blocked::CapabilityMissing | Blocked::AwaitingApproval, _));
        self.is_before_start() && !is_for_a_person
    }

    /// Whether what decides about the start still matters.
    pub(super) fn is_before_start(&self) -> bool {
        matches!(self, Life::Unseen | Life::Invalid(_) | Life::Blocked(..) | Life::Starts(_))
    }
}

/// What comes next, and what is done for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) life: Life,
    pub(super) shared: Vec<Child>,
    pub(super) creations: Vec<Child>,
    pub(super) patches: Vec<Patch>,
    pub(super) deletions: Vec<Deletion>,
    pub(super) requeue_at: Option<Timestamp>,
}

impl From<Life> for Step {
    fn from(life: Life) -> Self {
        Self {
            life,
            shared: Vec::new(),
            creations: Vec::new(),
            patches: Vec::new(),
            deletions: Vec::new(),
            requeue_at: None,
        }
    }
}

impl From<End> for Step {
    fn from(end: End) -> Self {
        Life::Ended(end).into()
    }
}

pub(super) fn next(operation: &Operation, world: &World, rules: &Rules, now: Timestamp) -> Step {
    let recorded = operation.status.as_ref().and_then(|status| status.engine_ref.as_ref());
    let engine = match (&world.engine, recorded) {
        (Ok(engine), _) => engine,
        (Err(_), Some(_)) if goes_with_its_namespace(operation, world) => return with_its_namespace(),
        // What has begun is not undone by a spec that cannot be understood any more.
        (Err(_), Some(_)) => return Life::Unseen.into(),
        (Err(_), None) => return before_start(operation, world, rules, now),
    };
    let is_another = recorded.is_some_and(|recorded| {
        engine.engine_ref().is_some_and(|seen| recorded.uid.is_some() && seen.uid != recorded.uid)
    });
    match (engine.state(), recorded) {
        // With a namespace go the rights to look at what is in it.
        (State::Unknown(_), _) if goes_with_its_namespace(operation, world) => with_its_namespace(),
        (State::Unknown(_), _) => Life::Unseen.into(),
        (State::NotStarted, Some(recorded)) if !engine.is_installed() && is_cancelled(operation) => {
            let message = format!(
                "This cluster has no kind {} any more; how far {} had come is not known.",
                recorded.kind, recorded.name
            );
            End::Cancelled(Cancelled::UserCancelled, message).into()
        }
        // A kind that is away for a moment says nothing of what was there.
        (State::NotStarted, Some(_)) if !engine.is_installed() => Life::Unseen.into(),
        (_, Some(recorded)) if is_another => {
            gone(operation, engine.as_ref(), &format!("{} {}", recorded.kind, recorded.name), now)
        }
        (State::NotStarted, Some(recorded)) => {
            gone(operation, engine.as_ref(), &format!("{} {}", recorded.kind, recorded.name), now)
        }
        (State::NotStarted, None) => before_start(operation, world, rules, now),
        (State::Ended(ending), recorded) => {
            ended::next(operation, engine.as_ref(), ending, recorded.is_some(), &world.refusals, now)
        }
        // Nothing is left to be stopped.
        (State::Ending(progress), _) => Life::Running(progress).into(),
        (State::Waiting(progress), _) => at_work(operation, engine.as_ref(), progress, Life::Waiting, now),
        (State::Running(progress), _) => {
            let since = progress.since.or_else(|| started(operation)).or(Some(now));
            at_work(operation, engine.as_ref(), Progress { since, ..progress }, Life::Running, now)
        }
    }
}

fn goes_with_its_namespace(operation: &Operation, world: &World) -> bool {
    operation.metadata.deletion_timestamp.is_some() && world.is_namespace_ending
}

fn with_its_namespace() -> Step {
    let message = "The namespace is being deleted; how far the engine had come cannot be seen any more.";
    End::Cancelled(Cancelled::UserCancelled, message.to_owned()).into()
}

/// Whether somebody wants it to end.
pub(super) fn is_cancelled(operation: &Operation) -> bool {
    operation.spec.cancel || operation.metadata.deletion_timestamp.is_some()
}

/// When the engine began, as far as the status knows.
fn started(operation: &Operation) -> Option<Timestamp> {
    operation.status.as_ref()?.started_at.as_ref().map(|time| time.0)
}

/// When the engine's time is over.
pub(super) fn deadline(operation: &Operation, since: Option<Timestamp>) -> Option<Timestamp> {
    since?.checked_add(Duration::from(operation.spec.timeout?)).ok()
}

/// Why the engine has to stop, in words.
fn stopping(operation: &Operation, progress: &Progress, now: Timestamp) -> Option<String> {
    if operation.metadata.deletion_timestamp.is_some() {
        Some("The operation was deleted".to_owned())
    } else if operation.spec.cancel {
        Some("spec.cancel asks for an end".to_owned())
    } else {
        let is_over = deadline(operation, progress.since).is_some_and(|deadline| deadline <= now);
        operation
            .spec
            .timeout
            .filter(|_| is_over)
            .map(|timeout| format!("spec.timeout ({timeout}) has passed"))
    }
}

/// The engine has its work and has not ended.
fn at_work(
    operation: &Operation,
    engine: &dyn Engine,
    progress: Progress,
    life: fn(Progress) -> Life,
    now: Timestamp,
) -> Step {
    let progress = progress.at(now);
    let later = progress.later.first().map(|(at, _)| *at);
    let is_recorded = status::has_started(operation);
    let Some(why) = stopping(operation, &progress, now) else {
        let deadline = deadline(operation, progress.since);
        return Step { requeue_at: deadline.into_iter().chain(later).min(), ..life(progress).into() };
    };
    let saying = |what: &str| {
        let message = format!("{why}: {what} {}", progress.message);
        let life = life(Progress { message, ..progress.clone() });
        Step { requeue_at: later, ..life.into() }
    };
    match engine.stop() {
        // Once it is gone, only the status knows that there was something: without that it would be made again.
        Stop::Delete(_) if !is_recorded => saying("it is being stopped."),
        Stop::Delete(deletion) => Step { deletions: vec![*deletion], ..saying("it is being stopped.") },
        Stop::Underway => saying("it is being stopped."),
        Stop::Impossible(because) => saying(because),
    }
}

/// What did the work is not there any more, and its end was not seen.
fn gone(operation: &Operation, engine: &dyn Engine, what: &str, now: Timestamp) -> Step {
    let started = started(operation);
    // Nobody stops a restore or an upgrade that has started, and nobody takes it back.
    let is_irrevocable = matches!(operation.spec.type_, OperationType::Restore | OperationType::Upgrade);
    let is_irrevocable = is_irrevocable && started.is_some();
    let is_late = deadline(operation, started).is_some_and(|deadline| deadline <= now);
    let end = match operation.spec.timeout {
        _ if is_cancelled(operation) && !is_irrevocable => {
            End::Cancelled(Cancelled::UserCancelled, format!("{what} was removed."))
        }
        Some(timeout) if is_late => {
            let message =
                format!("{what} had not been seen to end when spec.timeout ({timeout}) passed, and is gone.");
            End::Failed(Failed::Timeout, message)
        }
        _ => End::Failed(
            Failed::EngineFailed,
            format!("{what} is gone, and its end was not seen; {}", engine.if_gone()),
        ),
    };
    end.into()
}

/// The engine has nothing of it yet.
fn before_start(operation: &Operation, world: &World, rules: &Rules, now: Timestamp) -> Step {
    if is_cancelled(operation) {
        let why = if operation.spec.cancel { "spec.cancel" } else { "its deletion" };
        let message = format!("Cancelled by {why} before it had started.");
        return End::Cancelled(Cancelled::UserCancelled, message).into();
    }
    if let Some(restore) = operation.labels().get(RESTORED) {
        return Life::Invalid(format!(
            "It came back from a backup (Restore {restore}) and is not carried out again; create a new operation."
        ))
        .into();
    }
    let life = obstacle(operation, world, rules, now);
    let (Life::Invalid(message) | Life::Blocked(_, message) | Life::Starts(Some(message))) = &life else {
        return start(operation, world, life);
    };
    // Nothing but the clock ends the wait.
    let wait = operation.spec.policy.wait_timeout;
    let until = wait.and_then(|wait| created(operation).checked_add(Duration::from(wait)).ok());
    match until.zip(wait) {
        Some((until, wait)) if until <= now => {
            let message = format!("spec.policy.waitTimeout ({wait}) has passed: {message}");
            End::Failed(Failed::PreconditionFailed, message).into()
        }
        _ => Step { requeue_at: until, ..start(operation, world, life) },
    }
}

/// What gives the engine its work, if it may begin. What was refused is asked for again, or nobody would know when it is not
/// refused any more.
fn start(operation: &Operation, world: &World, life: Life) -> Step {
    let engine = world.engine.as_ref().ok().filter(|engine| engine.lacks_pause().is_none());
    let Some(engine) = engine.filter(|_| matches!(life, Life::Starts(_))) else { return life.into() };
    match engine.needless() {
        Some(ending) => End::ByEngine(ending).into(),
        None => Step {
            shared: engine.shares(operation),
            creations: engine.start(operation),
            patches: engine.patches(),
            ..life.into()
        },
    }
}

/// What keeps it from starting, or that nothing does.
fn obstacle(operation: &Operation, world: &World, rules: &Rules, now: Timestamp) -> Life {
    let namespace = operation.namespace().unwrap_or_default();
    let target = &operation.spec.target_ref.name;
    let engine = match &world.engine {
        Ok(engine) => engine,
        Err(problems) => return Life::Invalid(problems.clone()),
    };
    let type_ = operation.spec.type_.to_string();
    match &world.allowed_types {
        AllowedTypes::NotYet => return Life::Unseen,
        AllowedTypes::Unknown(why) => {
            return Life::Invalid(format!(
                "Whether namespace {namespace} allows operations of type {type_} cannot be seen: {why}"
            ));
        }
        AllowedTypes::Only(types) if !world.allowed_types.allow(operation.spec.type_) => {
            return Life::Invalid(format!(
                "spec.type: found '{type_}'; expected one of {}, which annotation \
                 ops.vworkspace.io/allowed-types of namespace {namespace} lists",
                types.join(", ")
            ));
        }
        AllowedTypes::All | AllowedTypes::Only(_) => {}
    }
    let instance = match &world.target {
        Sight::Present(instance) if instance.metadata.deletion_timestamp.is_some() => {
            return Life::Invalid(format!(
                "spec.targetRef.name: ApplicationInstance {target} is being deleted; expected one that stays"
            ));
        }
        Sight::Present(instance) => instance,
        Sight::Unknown(_) => return Life::Unseen,
        Sight::Absent | Sight::NotInstalled => {
            return Life::Invalid(format!(
                "spec.targetRef.name: found no ApplicationInstance {target} in namespace {namespace}; expected the name \
                 of one that exists"
            ));
        }
        Sight::Unreadable(why) => {
            return Life::Invalid(format!(
                "spec.targetRef.name: ApplicationInstance {target} cannot be read: {why}"
            ));
        }
    };
    if let Some(newer) = superseding(operation, world, rules, now) {
        return Life::Ended(End::Cancelled(
            Cancelled::SupersededByOperation,
            format!("Operation {} asks for the same and is newer: that one does it.", newer.name_any()),
        ));
    }
    let candidate = |operation, engine| Candidate { operation, engine, instance, world, rules, now };
    if let Some((reason, message)) = blocker::first(&candidate(operation, engine.as_ref())) {
        return Life::Blocked(reason, message);
    }
    // After the approval: what a backup is of is nobody's business before.
    match engine.permission(operation) {
        Permission::Unseen => return Life::Unseen,
        Permission::Refused(why) => return Life::Invalid(why),
        Permission::Granted => {}
    }
    let own = own_place(operation, world, &candidate);
    let others: Vec<Place> = world
        .others
        .iter()
        .filter(|other| own.class.excludes(queue::Class::of(&other.operation)))
        .filter(|other| !is_superseded_by(&other.operation, other.engine.as_deref(), operation))
        .map(|other| place(other, &own, world, &candidate))
        .collect();
    if let Some(other) = queue::waits_for(&own, &others) {
        return Life::Blocked(
            Blocked::ConflictingOperation,
            format!("Operation {} on ApplicationInstance {target} comes first.", other.name),
        );
    }
    // The words are those of the last time.
    let refused = world.refusals.iter().find(|refusal| refusal.deed == Deed::Make);
    let deed = if engine.patches().is_empty() { "created" } else { "changed" };
    let refused =
        refused.map(|refusal| format!("{} could not be {deed}: {}", refusal.object, refusal.message));
    Life::Starts(engine.lacks_pause().or(refused))
}

fn created(operation: &Operation) -> Timestamp {
    operation.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

pub(super) fn order(operation: &Operation) -> queue::Order {
    queue::Order { created: created(operation), uid: operation.uid().unwrap_or_default() }
}

/// Its own place, or that of the first one that asked for the same. One that is held has no place to leave.
fn own_place<'a>(
    operation: &Operation,
    world: &'a World,
    candidate: &impl Fn(&'a Operation, &'a dyn Engine) -> Candidate<'a>,
) -> Place {
    let earlier = world
        .others
        .iter()
        .filter(|other| is_superseded_by(&other.operation, other.engine.as_deref(), operation))
        .filter(|other| {
            other.engine.as_deref().is_some_and(|engine| is_runnable(other, engine, world, candidate))
        })
        .map(|other| order(&other.operation));
    Place {
        name: operation.name_any(),
        class: queue::Class::of(operation),
        order: earlier.chain([order(operation)]).min().unwrap_or_else(|| order(operation)),
        standing: Standing::Runnable,
    }
}

fn place<'a>(
    other: &'a Other,
    own: &Place,
    world: &World,
    candidate: &impl Fn(&'a Operation, &'a dyn Engine) -> Candidate<'a>,
) -> Place {
    let standing = match other.engine.as_deref() {
        engine if has_started(&other.operation, engine) => Standing::Running,
        // Whether one that comes later could run is not worth a look.
        Some(engine)
            if order(&other.operation) < own.order && is_runnable(other, engine, world, candidate) =>
        {
            Standing::Runnable
        }
        _ => Standing::Held,
    };
    Place {
        name: other.operation.name_any(),
        class: queue::Class::of(&other.operation),
        order: order(&other.operation),
        standing,
    }
}

/// Whether nothing but its turn keeps another one from starting.
fn is_runnable<'a>(
    other: &'a Other,
    engine: &'a dyn Engine,
    world: &World,
    candidate: &impl Fn(&'a Operation, &'a dyn Engine) -> Candidate<'a>,
) -> bool {
    !is_cancelled(&other.operation)
        && !other.operation.labels().contains_key(RESTORED)
        && world.allowed_types.allow(other.operation.spec.type_)
        && engine.permission(&other.operation) == Permission::Granted
        && blocker::first(&candidate(&other.operation, engine)).is_none()
}

fn has_started(operation: &Operation, engine: Option<&dyn Engine>) -> bool {
    status::has_started(operation) || engine.is_some_and(|engine| engine.state() != State::NotStarted)
}

/// The newest operation that asks for the same and has not started either.
fn superseding<'a>(
    operation: &Operation,
    world: &'a World,
    rules: &Rules,
    now: Timestamp,
) -> Option<&'a Operation> {
    let engine = world.engine.as_deref().ok();
    let waits = |other: &&Other| !has_started(&other.operation, other.engine.as_deref());
    let newer = world.others.iter().filter(waits).map(|other| &other.operation);
    // One that nobody has approved does nothing yet.
    let is_approved =
        |newer: &&Operation| !matches!(approval::of(newer, &world.cluster, rules, now), Approval::Missing(_));
    newer
        .filter(|newer| is_superseded_by(operation, engine, newer))
        .filter(is_approved)
        .max_by_key(|newer| order(newer))
}

/// Whether doing both would help nobody: two backups of the same, neither of which has started.
fn is_superseded_by(operation: &Operation, engine: Option<&dyn Engine>, newer: &Operation) -> bool {
    use OperationType::Backup;
    let (spec, other) = (&operation.spec, &newer.spec);
    spec.type_ == Backup
        && (other.type_, other.engine, &other.parameters) == (Backup, spec.engine, &spec.parameters)
        && order(operation) < order(newer)
        && !has_started(operation, engine)
        && !status::has_started(newer)
        && !is_cancelled(newer)
        && !is_cancelled(operation)
        && (&other.policy, other.timeout) == (&spec.policy, spec.timeout)
        && newer.spec.needs_approval() == spec.needs_approval()
        && !newer.labels().contains_key(RESTORED)
}
