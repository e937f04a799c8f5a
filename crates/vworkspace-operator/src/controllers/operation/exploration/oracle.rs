//! What must hold of Operations, checked against what their engines really did.

use ::explore::{Violation, contradiction, says};
use vworkspace_api::operation::{OperationStatus, Phase};

use super::job_controller::{self, JobEnd};
use super::shown::RANKS;
use super::velero::{self, Removal};
use super::world::{Memory, OPERATIONS, Operation, Order, TIMEOUT, WAIT, World};
use super::{EngineWrite, Look, OperationPlan, Write};
pub(super) use defect::Defect;

mod defect;

pub(super) const MADE_ONCE: &str = "made-once";
pub(super) const NEVER_TOGETHER: &str = "never-together";
pub(super) const FIRST_COME: &str = "first-come-first-served";
pub(super) const OUTCOME_IS_PROVEN: &str = "outcome-is-proven";
pub(super) const CANCELLED_MEANS_GONE: &str = "cancelled-means-gone";
pub(super) const THE_END_IS_THE_END: &str = "the-end-is-the-end";
pub(super) const HELD_UNTIL_THE_END: &str = "held-until-the-end";
pub(super) const NO_CONTRADICTION: &str = "no-contradiction";
pub(super) const EVERYTHING_IS_SAID: &str = "everything-is-said";
pub(super) const TOLD_AS_IT_IS: &str = "told-as-it-is";

pub(super) const INVARIANTS: &[(&str, &str)] = &[
    (
        MADE_ONCE,
        "what does the work is made once, unless somebody took it away before the operation could know of it",
    ),
    (
        NEVER_TOGETHER,
        "no engine is given its work while one that excludes it may be at work on the same target",
    ),
    (FIRST_COME, "of two that exclude each other and wait for nothing else, the older one starts first"),
    (
        OUTCOME_IS_PROVEN,
        "Succeeded and Failed only as the work really ended, or because its time was over, or because what did it is gone",
    ),
    (CANCELLED_MEANS_GONE, "Cancelled only when what did the work is gone, has ended or cannot be removed"),
    (THE_END_IS_THE_END, "what has ended says the same for ever"),
    (HELD_UNTIL_THE_END, "the finalizer goes only from an operation that has ended"),
    (NO_CONTRADICTION, "no two conditions exclude each other, and the phase is what they say"),
    (EVERYTHING_IS_SAID, "every condition is there, for the generation that was looked at"),
    (
        TOLD_AS_IT_IS,
        "in the end each has ended as its work did, or waits for something that is really missing",
    ),
];

const TYPES: [&str; 8] =
    ["Accepted", "Running", "Succeeded", "Failed", "Cancelled", "Blocked", "Reconciling", "Stalled"];

/// Pairs that exclude each other.
const EXCLUDED: &[(&str, &str)] = &[
    ("Succeeded=True", "Failed=True"),
    ("Succeeded=True", "Cancelled=True"),
    ("Failed=True", "Cancelled=True"),
    ("Running=True", "Succeeded=True"),
    ("Running=True", "Failed=True"),
    ("Running=True", "Cancelled=True"),
    ("Running=True", "Blocked=True"),
    ("Running=True", "Accepted=False"),
    ("Blocked=True", "Succeeded=True"),
    ("Blocked=True", "Failed=True"),
    ("Blocked=True", "Cancelled=True"),
    ("Blocked=True", "Accepted=False"),
    ("Reconciling=True", "Stalled=True"),
    ("Reconciling=True", "Succeeded=True"),
    ("Stalled=True", "Succeeded=True"),
    ("Accepted=False", "Succeeded=True"),
    ("Running=False/EngineNotStarted", "Succeeded=True/EngineCompleted"),
];

fn words(status: &OperationStatus) -> String {
    format!(
        "{} {}",
        status.phase.map(Phase::as_str).unwrap_or_default(),
        ::explore::words(status.conditions.as_slice())
    )
}

pub(super) fn is_final(status: Option<&OperationStatus>) -> bool {
    status.and_then(|status| status.phase).is_some_and(Phase::is_final)
}

/// What holds of any status, whatever is seen.
pub(super) fn consistent(status: &OperationStatus, generation: i64) -> Result<(), Violation> {
    let conditions = status.conditions.as_slice();
    let broken = |name, what: &str| Err(Violation::new(name, format!("{what}: {}", words(status))));
    let is_said = |type_: &&str| {
        conditions.iter().any(|known| known.type_ == **type_ && known.observed_generation == Some(generation))
    };
    if let Some(unsaid) = TYPES.iter().find(|type_| !is_said(type_)) {
        return broken(EVERYTHING_IS_SAID, &format!("{unsaid} is not said of generation {generation}"));
    }
    if let Some((one, other)) = contradiction(conditions, EXCLUDED) {
        return broken(NO_CONTRADICTION, &format!("{one} and {other}"));
    }
    let is = |pattern| says(conditions, pattern);
    let expected = match status.phase {
        None => "no phase",
        Some(Phase::Pending) if !is("Running=False/EngineNotStarted") => "Pending is EngineNotStarted",
        Some(Phase::Running) if !is("Running=True") => "Running is Running=True",
        Some(Phase::Succeeded) if !is("Succeeded=True") => "Succeeded is Succeeded=True",
        Some(Phase::Failed) if !is("Failed=True") => "Failed is Failed=True",
        Some(Phase::Cancelled) if !is("Cancelled=True") => "Cancelled is Cancelled=True",
        Some(phase)
            if phase.is_final() != (is("Succeeded=True") || is("Failed=True") || is("Cancelled=True")) =>
        {
            "only what has ended has an end"
        }
        Some(phase) if phase.is_final() != status.finished_at.is_some() => {
            "only what has ended has finishedAt"
        }
        Some(phase) if phase.is_final() != status.outcome_digest.is_some() => {
            "only what has ended has a digest"
        }
        Some(_) => return Ok(()),
    };
    broken(NO_CONTRADICTION, expected)
}

/// What must never change once it was written.
fn end_of(status: &OperationStatus) -> impl PartialEq + use<'_> {
    let said: Vec<_> = status
        .conditions
        .iter()
        .map(|known| (&known.type_, known.status, &known.reason, &known.message))
        .collect();
    let times = (&status.started_at, &status.finished_at, &status.duration);
    (status.phase, &status.reason, &status.message, &status.outputs, &status.outcome_digest, times, said)
}

pub(super) fn judge(
    world: &World,
    seen: &Look<'_>,
    memory: &Memory,
    nth: usize,
    plan: &OperationPlan,
    now: i64,
) -> Result<(), Violation> {
    let own = &seen.operations[nth];
    let before = own.status.as_deref();
    let status = &plan.status;
    if let Some(before) = before.filter(|before| is_final(Some(before))) {
        if end_of(before) != end_of(status) || !plan.creations.is_empty() {
            let words = format!("it said {}, and says {}", words(before), words(status));
            return Err(Violation::new(THE_END_IS_THE_END, words));
        }
        return consistent(status, own.generation);
    }
    // Nothing new can be said.
    if before.is_some_and(|before| before == status) || *status == OperationStatus::default() {
        return Ok(());
    }
    consistent(status, own.generation)?;
    if is_final(Some(status))
        && let Some(unproven) = unproven(world, seen, memory, nth, status, now)
    {
        return Err(Violation::new(OUTCOME_IS_PROVEN, format!("{unproven}: {}", words(status))));
    }
    Ok(())
}

fn order(seen: &Look<'_>, nth: usize) -> Order {
    (seen.created[nth], RANKS[nth])
}

/// The newer of two that ask for the same has the place of the older one, while that one waits for nothing but its turn.
fn place(seen: &Look<'_>, nth: usize) -> Order {
    let is_wanted = |nth: &usize| !(seen.operations[*nth].spec.cancel || seen.operations[*nth].deleting);
    let superseded = (0..OPERATIONS).filter(|older| is_superseded(seen, *older, nth));
    let superseded = superseded.filter(is_wanted).filter(|older| !is_held(seen, *older));
    superseded.chain([nth]).map(|older| order(seen, older)).min().unwrap_or_default()
}

/// Whether both ask for the same backup in the same way and have not begun, as far as it is seen.
fn is_superseded(seen: &Look<'_>, older: usize, newer: usize) -> bool {
    let (one, other) = (&seen.operations[older], &seen.operations[newer]);
    let waits = |nth: usize| {
        let status = seen.operations[nth].status.as_deref();
        let is_begun = status.is_some_and(|status| status.engine_ref.is_some()) || seen.backup(nth).is_some();
        !seen.operations[nth].is_gone && !is_final(status) && !is_begun
    };
    let asked = |operation: &Operation| {
        let spec = operation.spec;
        (spec.task, spec.timeout, spec.wait, spec.any_state, spec.needs_approval)
    };
    older != newer
        && one.spec.task.is_backup()
        && asked(one) == asked(other)
        && order(seen, older) < order(seen, newer)
        && waits(older)
        && waits(newer)
        && !(other.spec.cancel || other.deleting)
}

/// Something that is said of the end although it was not so.
fn unproven(
    world: &World,
    seen: &Look<'_>,
    memory: &Memory,
    nth: usize,
    status: &OperationStatus,
    now: i64,
) -> Option<&'static str> {
    let own = &seen.operations[nth];
    let record = &world.records[nth];
    let recorded = own.status.as_ref().and_then(|status| status.engine_ref.as_ref());
    let uid = recorded.and_then(|known| known.uid.as_deref());
    let is_same = |seen: u8| uid.is_none_or(|uid| uid == format!("child-{seen}"));
    let job = seen.job(nth).filter(|job| is_same(job.uid));
    let backup = seen.backup(nth).filter(|backup| is_same(backup.uid));
    let ended_by_job = job.and_then(|job| job.end).map(|(end, _)| end == JobEnd::Complete);
    let ended_by_velero =
        backup.filter(|backup| backup.phase.is_over()).map(|backup| backup.phase.is_stored());
    let ended = ended_by_job.or(ended_by_velero);
    let is_gone = job.is_none() && backup.is_none();
    let began = job.map(|job| job.made).or(backup.and_then(|backup| backup.began));
    let is_late =
        own.spec.timeout && (began.is_some_and(|began| now > began + TIMEOUT) || is_gone && record.made > 0);
    let is_removal_stuck = seen.removals.is_some_and(|removals| removals[nth] == Some(Removal::Failed));
    let is = |pattern| says(status.conditions.as_slice(), pattern);
    let is_cancelled = own.spec.cancel || own.deleting;
    let supersedes = (0..OPERATIONS).any(|newer| is_superseded(seen, nth, newer));
    let table: [(&str, bool); 8] = [
        ("Succeeded=True", ended == Some(true) && record.went_well == Some(true)),
        (
            "Failed=True/JobFailedBackoffExceeded",
            ended_by_job == Some(false) && record.went_well == Some(false),
        ),
        ("Failed=True/VeleroBackupFailed", ended_by_velero == Some(false) || is_removal_stuck),
        ("Failed=True/Timeout", is_late),
        ("Failed=True/PreconditionFailed", record.made == 0 || record.is_robbed),
        ("Failed=True/EngineFailed", is_gone && record.made > 0),
        ("Cancelled=True/UserCancelled", is_cancelled),
        ("Cancelled=True/SupersededByOperation", supersedes && (record.made == 0 || record.is_robbed)),
    ];
    let is_in_time = own.spec.wait && now >= seen.created[nth] + WAIT;
    if is("Failed=True/PreconditionFailed") && !is_in_time {
        return Some("it could still wait");
    }
    if is("Running=False/EngineNotStarted") && record.made > 0 && !record.is_robbed {
        return Some("the engine had its work");
    }
    if is("Failed=True")
        && is_cancelled
        && is_gone
        && !is("Failed=True/EngineFailed")
        && memory[nth].is_refused
    {
        return Some("it was cancelled before");
    }
    table.iter().find(|(said, proven)| is(said) && !proven).map(|(said, _)| *said)
}

pub(super) fn judge_write(
    world: &World,
    seen: &Look<'_>,
    nth: usize,
    write: &Write,
) -> Result<(), Violation> {
    let own = &world.operations[nth];
    let broken = |name, what: &str| Err(Violation::new(name, what));
    match write {
        Write::Child(EngineWrite::MakeJob(_) | EngineWrite::MakeBackup(_)) => judge_start(world, seen, nth),
        Write::LetGo { .. } if !is_final(own.status.as_deref()) => {
            broken(HELD_UNTIL_THE_END, "it has not ended")
        }
        Write::Status { status, .. } => {
            if let Some(before) = own.status.as_deref().filter(|before| is_final(Some(before)))
                && end_of(before) != end_of(status)
            {
                return broken(THE_END_IS_THE_END, &format!("it said {}", words(before)));
            }
            let is_new = status.phase == Some(Phase::Cancelled) && !is_final(own.status.as_deref());
            let is_unseen = world.records[nth].is_orphaned && seen.pods[nth].is_none();
            let is_at_work = job_controller::is_at_work(world, nth) && !is_unseen;
            let is_back = world.records[nth].is_back && seen.backup(nth).is_none();
            if is_new && (is_at_work || (!is_back && is_kept(world, nth, status))) {
                return broken(CANCELLED_MEANS_GONE, "what does the work is still there");
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether its Backup is there, and could be removed. One that came back from the storage is another one.
fn is_kept(world: &World, nth: usize, status: &OperationStatus) -> bool {
    let uid = status.engine_ref.as_ref().and_then(|known| known.uid.as_deref());
    let is_own = |uid: &str, backup: velero::Backup| uid == format!("child-{}", backup.uid);
    let backup = world.backups[nth].filter(|backup| uid.is_none_or(|uid| is_own(uid, *backup)));
    backup.is_some() && world.removals[nth] != Some(Removal::Failed)
}

fn judge_start(world: &World, seen: &Look<'_>, nth: usize) -> Result<(), Violation> {
    let broken = |name, what: String| Err(Violation::new(name, what));
    let record = &world.records[nth];
    // One that is there is not made again.
    let is_there = world.jobs[nth].is_some() || world.backups[nth].is_some();
    if record.made > 0 && !record.is_robbed && !is_there {
        return broken(MADE_ONCE, "it was made before".to_owned());
    }
    let task = seen.operations[nth].spec.task;
    for other in (0..OPERATIONS).filter(|other| *other != nth) {
        if !task.excludes(world.operations[other].spec.task) {
            continue;
        }
        let is_unseen =
            world.records[other].is_orphaned && is_final(world.operations[other].status.as_deref());
        let has_job = job_controller::is_at_work(world, other) && !is_unseen;
        if has_job || velero::is_at_work(world, other) {
            return broken(NEVER_TOGETHER, format!("operation {other} is at work"));
        }
        if is_waiting(seen, other) && place(seen, other) < place(seen, nth) {
            return broken(FIRST_COME, format!("operation {other} comes first"));
        }
    }
    Ok(())
}

/// Whether an operation is seen that waits for nothing but its turn.
fn is_waiting(seen: &Look<'_>, nth: usize) -> bool {
    let own = &seen.operations[nth];
    let superseded = (0..OPERATIONS).any(|newer| is_superseded(seen, nth, newer));
    !own.is_gone
        && !is_final(own.status.as_deref())
        && !own.spec.cancel
        && !own.deleting
        && !superseded
        && !is_held(seen, nth)
}

/// Whether something else than its turn is missing.
fn is_held(seen: &Look<'_>, nth: usize) -> bool {
    let spec = &seen.operations[nth].spec;
    let target = seen.target;
    !target.is_there
        || !target.is_able
        || (!target.is_ready && !spec.any_state)
        || (spec.needs_approval && !spec.claim)
        || (spec.task.is_backup() && seen.location != Some(true))
        || (spec.task.is_backup() && seen.backups.is_none())
}

/// What the end of a schedule must say, by what is true then.
pub(super) fn judge_settled(world: &World, now: i64) -> Result<(), Violation> {
    (0..OPERATIONS).filter(|nth| !world.operations[*nth].is_gone).try_for_each(|nth| settled(world, nth, now))
}

fn settled(world: &World, nth: usize, now: i64) -> Result<(), Violation> {
    let own = &world.operations[nth];
    let broken = |what: &str| {
        let said = own.status.as_deref().map(words).unwrap_or_default();
        let words =
            format!("operation {nth}: {what}; it says {said}; {:?}, {:?}", own.spec, world.records[nth]);
        Err(Violation::new(TOLD_AS_IT_IS, words))
    };
    let Some(status) = own.status.as_deref() else { return broken("nothing was said") };
    let record = &world.records[nth];
    let is_cancelled = own.spec.cancel || own.deleting;
    let is_there = world.jobs[nth].is_some() || world.backups[nth].is_some();
    if is_final(Some(status)) {
        let is_left_alone = is_there && !is_cancelled && !own.spec.timeout && record.stored.is_none();
        return match (record.went_well, status.phase) {
            (Some(true), Some(Phase::Failed)) if is_left_alone => broken("it went well"),
            (Some(false), Some(Phase::Succeeded)) => broken("it went badly"),
            _ => Ok(()),
        };
    }
    if own.deleting && !is_there && world.pods[nth].is_none() {
        return broken("it should have ended with its deletion");
    }
    if job_controller::is_at_work(world, nth) || velero::is_at_work(world, nth) {
        return Ok(());
    }
    if is_there {
        // Only a Velero that does nothing can keep one that was cancelled.
        let is_removing = world.backups[nth].is_some() && (!world.velero_runs || world.admission_denies);
        let is_removing = is_removing && (is_cancelled || own.spec.timeout);
        return if is_removing { Ok(()) } else { broken("its work is over") };
    }
    if is_cancelled {
        return broken("it was cancelled, and nothing is there");
    }
    let seen = Look {
        operations: &world.operations,
        created: &world.created,
        jobs: Some(world.jobs),
        pods: world.pods,
        backups: world.is_installed.then_some(world.backups),
        removals: world.is_installed.then_some(world.removals),
        location: world.is_installed.then_some(world.location),
        target: world.target,
        namespace: (0, world.allows),
    };
    // What it was given is gone with the kind, which may come back.
    let is_lost = own.spec.task.is_backup() && !world.is_installed && world.is_recorded(nth);
    let is_refused = world.admission_denies;
    let has_cause =
        is_held(&seen, nth) || !world.allows || is_refused || is_lost || is_behind(world, &seen, nth);
    let is_over_time = own.spec.wait && now > world.created[nth] + WAIT && !is_lost;
    match () {
        () if is_over_time => broken("it has waited long enough"),
        () if has_cause => Ok(()),
        () => broken("it waits for nothing"),
    }
}

/// Whether one that excludes it may be at work, or comes first.
fn is_behind(world: &World, seen: &Look<'_>, nth: usize) -> bool {
    let task = world.operations[nth].spec.task;
    (0..OPERATIONS).filter(|other| *other != nth && task.excludes(world.operations[*other].spec.task)).any(
        |other| {
            let own = &world.operations[other];
            !own.is_gone
                && !is_final(own.status.as_deref())
                && (world.is_recorded(other) || is_waiting(seen, other))
        },
    )
}
