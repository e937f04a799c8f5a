//! Every combination of what `decide` can be shown, also those that no engine shows: what holds of any status must hold of
//! all of them, and a second look at the same must have nothing to add.
//!
//! Each class of inputs carries what it proves by itself. A status may claim, and a plan may do, what the classes together
//! prove, whatever way the rules came to it: nothing here asks or repeats them.

mod classes;

use ::explore::says;
use jiff::Timestamp;
use vworkspace_api::operation::{Operation, OperationStatus, Phase};

use super::oracle::consistent;
use super::shown::time;
use super::{OperationPlan, Operations};
use crate::controllers::operation::decide::{self, Rules};
use crate::controllers::operation::observe::World;
use ::explore::Model;
use classes::{Circumstances, ENGINES, Facts, NAMESPACES, OTHERS, SPECS, STATUSES, STOPS, TARGETS};

/// How many combinations there are.
pub(super) const ALL: usize = ENGINES * STOPS * 2 * STATUSES * SPECS * NAMESPACES * OTHERS * TARGETS;
/// The same for all: a wait and a timeout have passed, or not, by how long they are.
const NOW: i64 = 700;

/// What a status may say, and what of it has to be proven: all facts of one of the sets.
const CLAIMS: &[(&str, &[Facts])] = &[
    ("Succeeded=True", &[Facts::ENDED_WELL]),
    ("Failed=True/VeleroBackupFailed", &[Facts::ENDED_BADLY]),
    ("Failed=True/Timeout", &[Facts::TIMED.and(Facts::ENDED_LATE), Facts::TIMED.and(Facts::GONE)]),
    ("Failed=True/EngineFailed", &[Facts::GONE]),
    ("Failed=True/PreconditionFailed", &[Facts::WAITED.and(Facts::NOT_STARTED).and(Facts::UNRECORDED)]),
    (
        "Cancelled=True/UserCancelled",
        &[
            Facts::CANCELLED.and(Facts::NOTHING_THERE),
            Facts::CANCELLED.and(Facts::STUCK).and(Facts::ENDED_WELL),
            Facts::CANCELLED.and(Facts::STUCK).and(Facts::ENDED_BADLY),
        ],
    ),
    ("Cancelled=True/SupersededByOperation", &[Facts::NEWER.and(Facts::NOT_STARTED).and(Facts::UNRECORDED)]),
    (
        "Running=True",
        &[
            Facts::AT_WORK,
            Facts::CANCELLED.and(Facts::ENDED_WELL),
            Facts::CANCELLED.and(Facts::ENDED_BADLY),
            Facts::TIMED.and(Facts::ENDED_LATE),
        ],
    ),
    ("Blocked=True/CapabilityMissing", &[Facts::UNABLE]),
    ("Blocked=True/AwaitingApproval", &[Facts::UNAPPROVED]),
    ("Blocked=True/DependencyMissing", &[Facts::LACKS]),
    ("Blocked=True/TargetNotReady", &[Facts::NOT_READY]),
    ("Blocked=True/ConflictingOperation", &[Facts::IN_THE_WAY]),
    ("Accepted=False", &[Facts::INVALID, Facts::NO_TARGET, Facts::FORBIDDEN]),
];

/// What may give an engine its work.
const START: Facts = Facts::NOT_STARTED
    .and(Facts::UNRECORDED)
    .and(Facts::ABLE)
    .and(Facts::APPROVED)
    .and(Facts::READY)
    .and(Facts::ALLOWED)
    .and(Facts::FREE_WAY)
    .and(Facts::WANTED);

/// All classes, and the last combination of them.
pub(super) struct Desk {
    circumstances: Circumstances,
    rules: Rules,
}

impl Desk {
    pub(super) fn new() -> Self {
        let (circumstances, rules) = Circumstances::new();
        Self { circumstances, rules }
    }

    fn plan(&self, operation: &Operation, world: &World, now: Timestamp) -> OperationPlan {
        decide::plan(operation, world, &self.rules, now)
    }
}

/// Checks one combination.
pub(super) fn check(desk: &mut Desk, combination: usize) -> Result<(), String> {
    let (facts, mut operation) = desk.circumstances.choose(combination);
    let now = time(NOW);
    let plan = desk.plan(&operation, &desk.circumstances.world, now);
    let checked = judge(desk, &operation, facts, &plan, now);
    let before = operation.status.replace(Operations::read(&plan.status));
    let again = checked.and_then(|()| second_look(desk, &operation, &plan, now));
    operation.status = before;
    desk.circumstances.put_back(operation);
    again.map_err(|what| {
        let said = ::explore::words(plan.status.conditions.as_slice());
        format!("combination {combination}: {what}: {said}, {} made, of {facts:?}", plan.creations.len())
    })
}

impl Operations {
    fn read(status: &OperationStatus) -> OperationStatus {
        Operations(super::Defect::None).read_back(status)
    }
}

fn judge(
    desk: &Desk,
    operation: &Operation,
    facts: Facts,
    plan: &OperationPlan,
    now: Timestamp,
) -> Result<(), String> {
    if desk.plan(operation, &desk.circumstances.world, now) != *plan {
        return Err("decided twice, two plans".to_owned());
    }
    let makes_work = plan.creations.iter().any(|child| child.id().resource.kind == "Job");
    if makes_work && !facts.prove(START) {
        return Err("an engine is given its work too early".to_owned());
    }
    let makes_removal = plan.creations.len() > usize::from(makes_work);
    if makes_removal && !(facts.prove(Facts::ENDED_WELL) || facts.prove(Facts::ENDED_BADLY)) {
        return Err("work is removed that has not ended".to_owned());
    }
    let is_unwanted = facts.prove(Facts::CANCELLED) || facts.prove(Facts::TIMED);
    if !plan.deletions.is_empty() && !is_unwanted && !facts.prove(Facts::FINISHED) {
        return Err("work is stopped that nobody wants to end".to_owned());
    }
    let before = operation.status.as_ref();
    if facts.prove(Facts::FINISHED) {
        let is_same = before.is_some_and(|before| before.outcome_digest == plan.status.outcome_digest);
        return if is_same { Ok(()) } else { Err("what has ended says something else".to_owned()) };
    }
    if before == Some(&plan.status) || plan.status == OperationStatus::default() {
        return Ok(());
    }
    consistent(&plan.status, 1).map_err(|broken| broken.words)?;
    let conditions = plan.status.conditions.as_slice();
    let is_proven = |proofs: &[Facts]| proofs.iter().any(|proof| facts.prove(*proof));
    match CLAIMS.iter().find(|(claim, proofs)| !is_proven(proofs) && says(conditions, claim)) {
        Some((claim, _)) => Err(format!("{claim} without a proof")),
        None => Ok(()),
    }
}

/// Where the plan does nothing but say something, the same view can come again.
fn second_look(
    desk: &Desk,
    operation: &Operation,
    plan: &OperationPlan,
    now: Timestamp,
) -> Result<(), String> {
    let is_only_said = plan.creations.is_empty() && plan.deletions.is_empty();
    // What has ended is another matter from then on.
    if !is_only_said || plan.status.phase.is_some_and(Phase::is_final) {
        return Ok(());
    }
    let again = desk.plan(operation, &desk.circumstances.world, now);
    let says = |status: &OperationStatus| ::explore::words(status.conditions.as_slice());
    match operation.status.as_ref() {
        Some(before) if *before != again.status => Err(format!("a second look says {}", says(&again.status))),
        _ => Ok(()),
    }
}
