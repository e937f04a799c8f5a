//! Three operations on one target, what works for them, and what users and administrators do.

use std::fmt;

use ::explore::{Dice, Moves, Own};
use vworkspace_api::operation::OperationStatus;

use super::{job_controller, velero};
use job_controller::{Job, Pod};
use velero::{Backup, Removal};

/// As many operations are about the same target.
pub(super) const OPERATIONS: usize = 3;
/// As long as `spec.timeout` and `spec.policy.waitTimeout` are, where they are set.
pub(super) const TIMEOUT: i64 = 300;
pub(super) const WAIT: i64 = 600;

/// What shall be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// A command beside which everything may run.
    Command,
    /// A command that runs alone.
    Exclusive,
    Backup,
    /// One with other parameters.
    OtherBackup,
}

impl Task {
    pub(super) fn is_backup(self) -> bool {
        matches!(self, Task::Backup | Task::OtherBackup)
    }

    /// Whether two of these must not be at work at the same time.
    pub(super) fn excludes(self, other: Self) -> bool {
        self != Task::Command
            && other != Task::Command
            && (self == Task::Exclusive || other == Task::Exclusive)
    }
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Spec {
    pub(super) task: Task,
    pub(super) cancel: bool,
    /// It has a timeout.
    pub(super) timeout: bool,
    /// It waits for its turn only so long.
    pub(super) wait: bool,
    /// It starts whatever the target's state.
    pub(super) any_state: bool,
    pub(super) needs_approval: bool,
    /// Somebody has approved it.
    pub(super) claim: bool,
    /// The last lines of its log are wanted.
    pub(super) log: bool,
    /// It goes some time after its end.
    pub(super) ttl: bool,
}

/// One operation.
pub(super) type Operation = Own<Spec, (), OperationStatus>;

/// What an engine has really done for an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Record {
    /// How often something was made to do the work.
    pub(super) made: u8,
    /// How the work ended, if it did.
    pub(super) went_well: Option<bool>,
    /// Somebody else took away what does the work, before the operation could know of it.
    pub(super) is_robbed: bool,
    /// Velero works on although its Backup was taken away: nobody can see that.
    pub(super) is_hidden: bool,
    /// Its Backup was taken away and came back from the storage: who has seen only the first cannot know of it.
    pub(super) is_back: bool,
    /// What Velero keeps in its storage: it comes back from there.
    pub(super) stored: Option<Backup>,
    /// Somebody deleted its Job, and left the pod to itself: who has not seen that pod yet cannot know of it.
    pub(super) is_orphaned: bool,
}

/// When an operation was created, and the rank of its uid.
pub(super) type Order = (i64, u8);

/// What is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) is_there: bool,
    pub(super) is_ready: bool,
    /// It lists the engines.
    pub(super) is_able: bool,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) operations: [Operation; OPERATIONS],
    pub(super) created: [i64; OPERATIONS],
    pub(super) jobs: [Option<Job>; OPERATIONS],
    pub(super) pods: [Option<Pod>; OPERATIONS],
    pub(super) backups: [Option<Backup>; OPERATIONS],
    pub(super) removals: [Option<Removal>; OPERATIONS],
    /// The storage location is available.
    pub(super) location: bool,
    pub(super) target: Target,
    /// The namespace allows all types.
    pub(super) allows: bool,
    /// Jobs can be listed.
    pub(super) lists_jobs: bool,
    /// The cluster has Velero's kinds.
    pub(super) is_installed: bool,
    /// One number for each watched kind but the own one.
    pub(super) versions: [u32; super::KINDS.len()],
    pub(super) next_uid: u8,
    // Outside of the API server.
    pub(super) velero_runs: bool,
    pub(super) admission_denies: bool,
    /// Neither pods nor Velero come to an end by themselves.
    pub(super) is_slow: bool,
    pub(super) records: [Record; OPERATIONS],
}

impl World {
    pub(super) fn touch(&mut self, kind: usize) {
        self.versions[kind] += 1;
    }

    pub(super) fn new_uid(&mut self) -> u8 {
        self.next_uid = self.next_uid.wrapping_add(1);
        self.next_uid
    }

    /// What the API server knows of the engine of an operation.
    pub(super) fn is_recorded(&self, nth: usize) -> bool {
        let status = self.operations[nth].status.as_ref();
        status.is_some_and(|status| status.engine_ref.is_some())
    }

    /// Somebody takes away what does the work.
    pub(super) fn rob(&mut self, nth: usize) {
        self.records[nth].is_robbed |= !self.is_recorded(nth);
    }
}

/// What the operator keeps in memory for one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Remembered {
    pub(super) is_refused: bool,
    pub(super) asks_log: bool,
    pub(super) has_log: bool,
    pub(super) wants_volumes: bool,
    pub(super) has_volumes: bool,
    pub(super) wants_namespace: bool,
    /// What the namespace allowed when it was listed, and its version then.
    pub(super) namespace: Option<(u32, bool)>,
}

pub(super) type Memory = [Remembered; OPERATIONS];

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Create(u8),
    Cancel(u8),
    Delete(u8),
    Approve(u8),
    /// A user gives it a timeout, or takes it away; nobody can once its engine has its work.
    Timeout(u8),
    JobController(u8),
    Kubelet(u8),
    PodFails(u8),
    PodVanishes(u8),
    /// Somebody deletes the Job alone: its pod goes on.
    OrphanPod(u8),
    /// Somebody deletes the Job: its pod goes after it.
    DeleteJob(u8),
    Velero(u8),
    BackupFails(u8),
    BackupPartlyFails(u8),
    DeleteBackup(u8),
    /// Velero brings back what its storage has.
    Sync(u8),
    VeleroRestarts,
    VeleroRuns(bool),
    Installed(bool),
    Location(bool),
    ListsJobs(bool),
    Ready(bool),
    Able(bool),
    TargetThere(bool),
    Allows(bool),
    Admission(bool),
    LogIsRead(u8),
    VolumesAreListed(u8),
    NamespaceIsListed(u8),
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

fn drawn(dice: &mut Dice) -> Spec {
    let task = match dice.below(8) {
        0 => Task::Command,
        1..=3 => Task::Exclusive,
        4..=6 => Task::Backup,
        _ => Task::OtherBackup,
    };
    let needs_approval = dice.chance(1, 10);
    Spec {
        task,
        cancel: dice.chance(1, 48),
        timeout: dice.chance(1, 5),
        wait: dice.chance(1, 8),
        any_state: dice.chance(1, 4),
        needs_approval,
        claim: needs_approval && dice.chance(1, 4),
        log: task == Task::Exclusive && dice.chance(1, 4),
        ttl: dice.chance(1, 6),
    }
}

pub(super) fn begin(dice: &mut Dice) -> World {
    let mut operations = [(); OPERATIONS].map(|()| Own::new(drawn(dice), ()));
    // The others come later.
    let first = 1 + dice.below(2) as usize;
    operations.iter_mut().skip(first).for_each(|later| later.is_gone = true);
    World {
        operations,
        created: [0; OPERATIONS],
        jobs: [None; OPERATIONS],
        pods: [None; OPERATIONS],
        backups: [None; OPERATIONS],
        removals: [None; OPERATIONS],
        location: dice.chance(15, 16),
        target: Target {
            is_there: dice.chance(31, 32),
            is_ready: dice.chance(7, 8),
            is_able: dice.chance(15, 16),
        },
        allows: dice.chance(15, 16),
        lists_jobs: true,
        is_installed: dice.chance(31, 32),
        versions: [0; super::KINDS.len()],
        next_uid: 0,
        velero_runs: dice.chance(15, 16),
        admission_denies: dice.chance(1, 32),
        is_slow: dice.chance(1, 8),
        records: [Record::default(); OPERATIONS],
    }
}

pub(super) fn moves(world: &World, memory: &Memory, events: usize, into: &mut Moves<Move>) {
    for (nth, known) in memory.iter().enumerate() {
        let which = u8::try_from(nth).unwrap_or_default();
        let operation = &world.operations[nth];
        if operation.is_gone {
            // One that was there does not come back.
            if operation.version == 1 {
                into.push((Move::Create(which), 30));
            }
            continue;
        }
        job_controller::moves(world, nth, which, into);
        velero::moves(world, nth, which, into);
        remembered(known, which, into);
        if !operation.deleting {
            user(world, nth, which, events, into);
        }
    }
    outside(world, into);
}

fn user(world: &World, nth: usize, which: u8, events: usize, into: &mut Moves<Move>) {
    let spec = &world.operations[nth].spec;
    if !spec.cancel {
        into.push((Move::Cancel(which), 4));
    }
    if spec.needs_approval && !spec.claim {
        into.push((Move::Approve(which), 14));
    }
    if !world.is_recorded(nth) {
        into.push((Move::Timeout(which), 2));
    }
    if events > 6 {
        into.push((Move::Delete(which), 3));
    }
}

fn remembered(memory: &Remembered, which: u8, into: &mut Moves<Move>) {
    if memory.asks_log && !memory.has_log {
        into.push((Move::LogIsRead(which), 40));
    }
    if memory.wants_volumes && !memory.has_volumes {
        into.push((Move::VolumesAreListed(which), 40));
    }
    if memory.wants_namespace && memory.namespace.is_none() {
        into.push((Move::NamespaceIsListed(which), 60));
    }
}

fn outside(world: &World, into: &mut Moves<Move>) {
    let back = |is_fine: bool, to_worse: u32| if is_fine { to_worse } else { 10 };
    into.extend([
        (Move::Location(!world.location), back(world.location, 3)),
        (Move::VeleroRuns(!world.velero_runs), back(world.velero_runs, 2)),
        (Move::VeleroRestarts, 2),
        (Move::Installed(!world.is_installed), back(world.is_installed, 1)),
        (Move::ListsJobs(!world.lists_jobs), back(world.lists_jobs, 1)),
        (Move::Ready(!world.target.is_ready), back(world.target.is_ready, 4)),
        (Move::Able(!world.target.is_able), back(world.target.is_able, 1)),
        (Move::TargetThere(!world.target.is_there), back(world.target.is_there, 1)),
        (Move::Allows(!world.allows), back(world.allows, 1)),
        (Move::Admission(!world.admission_denies), back(!world.admission_denies, 2)),
    ]);
}

pub(super) fn make(world: &mut World, memory: &mut Memory, what: Move, now: i64) {
    let at = usize::from;
    match what {
        Move::Create(nth) => create(world, at(nth), now),
        Move::Cancel(nth) => edit(world, at(nth), |spec| spec.cancel = true),
        Move::Approve(nth) => edit(world, at(nth), |spec| spec.claim = true),
        Move::Timeout(nth) => {
            if !world.is_recorded(at(nth)) {
                edit(world, at(nth), |spec| spec.timeout = !spec.timeout);
            }
        }
        Move::Delete(nth) => {
            if !world.operations[at(nth)].is_gone {
                world.operations[at(nth)].delete();
            }
        }
        Move::JobController(nth) => job_controller::step(world, at(nth), now),
        Move::Kubelet(nth) => job_controller::kubelet(world, at(nth)),
        Move::PodFails(nth) => job_controller::fail(world, at(nth)),
        Move::PodVanishes(nth) => job_controller::lose_pod(world, at(nth)),
        Move::OrphanPod(nth) => job_controller::take_away(world, at(nth), false),
        Move::DeleteJob(nth) => job_controller::take_away(world, at(nth), true),
        Move::Velero(nth) => velero::step(world, at(nth), now),
        Move::BackupFails(nth) => velero::fail(world, at(nth), now),
        Move::BackupPartlyFails(nth) => velero::partly_fail(world, at(nth)),
        Move::DeleteBackup(nth) => velero::take_away(world, at(nth)),
        Move::Sync(nth) => velero::sync(world, at(nth)),
        Move::VeleroRestarts => velero::restart(world, now),
        Move::VeleroRuns(runs) => world.velero_runs = runs,
        Move::Installed(installed) => velero::install(world, installed),
        Move::Location(available) => {
            world.location = available;
            world.touch(super::LOCATION);
        }
        Move::ListsJobs(lists) => {
            world.lists_jobs = lists;
            world.touch(super::JOB);
        }
        Move::Ready(ready) => change_target(world, |target| target.is_ready = ready),
        Move::Able(able) => change_target(world, |target| target.is_able = able),
        Move::TargetThere(there) => change_target(world, |target| target.is_there = there),
        Move::Allows(allows) => {
            world.allows = allows;
            world.touch(super::NAMESPACE);
        }
        Move::Admission(denies) => world.admission_denies = denies,
        Move::LogIsRead(nth) => memory[at(nth)].has_log = memory[at(nth)].asks_log,
        Move::VolumesAreListed(nth) => memory[at(nth)].has_volumes = memory[at(nth)].wants_volumes,
        Move::NamespaceIsListed(nth) => list_namespace(world, &mut memory[at(nth)]),
    }
}

fn create(world: &mut World, nth: usize, now: i64) {
    let operation = &mut world.operations[nth];
    if operation.is_gone && operation.version == 1 {
        operation.is_gone = false;
        operation.version += 1;
        world.created[nth] = now;
    }
}

fn edit(world: &mut World, nth: usize, edit: impl FnOnce(&mut Spec)) {
    let operation = &mut world.operations[nth];
    if !operation.is_gone && !operation.deleting {
        operation.edit(edit);
    }
}

fn change_target(world: &mut World, change: impl FnOnce(&mut Target)) {
    change(&mut world.target);
    world.touch(super::TARGET);
}

/// A temporary watch begins with a list, which is of now.
fn list_namespace(world: &World, memory: &mut Remembered) {
    if memory.wants_namespace {
        memory.namespace.get_or_insert((world.versions[super::NAMESPACE], world.allows));
    }
}

/// Everything but the operator comes to rest.
pub(super) fn rest(world: &mut World, memory: &mut Memory, now: i64) {
    if !world.lists_jobs {
        world.lists_jobs = true;
        world.touch(super::JOB);
    }
    // A wait that ends while something is refused ends in the pause after that, which is not modelled.
    world.admission_denies &= !world.operations.iter().any(|own| own.spec.wait);
    for remembered in memory.iter_mut() {
        remembered.has_log = remembered.asks_log;
        remembered.has_volumes = remembered.wants_volumes;
        list_namespace(world, remembered);
    }
    for nth in 0..OPERATIONS {
        job_controller::rest(world, nth, now);
    }
    // One backup waits for another.
    for nth in (0..OPERATIONS).chain(0..OPERATIONS) {
        velero::rest(world, nth, now);
    }
}
