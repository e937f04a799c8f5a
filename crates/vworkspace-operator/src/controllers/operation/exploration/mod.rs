//! Drives this controller's `decide` through schedules: see docs/explore.md. The model is of Jobs, of Velero and of users, for
//! three operations on one target; of the API server only what plans rely on.

mod job_controller;
mod oracle;
mod outcome;
mod product;
mod shown;
mod velero;
mod world;

use std::fmt;

use ::explore::{Dice, Effect, Model, Moves, Violation, WriteOf, hash_of};
use conditions::{Condition, ConditionSet};
use jiff::Timestamp;
use operator_kit::{Plan, Step};
use vworkspace_api::operation::OperationStatus;

use super::engines::job::LogPoll;
use job_controller::{Job, Pod};
use oracle::Defect;
use shown::Desk;
use velero::{Backup, Removal};
use world::{Memory, Move, OPERATIONS, Operation, Spec, Target, World};

type OperationPlan = Plan<OperationStatus>;
type Write = WriteOf<Operations>;

const OWN: usize = 0;
const JOB: usize = 1;
const POD: usize = 2;
const BACKUP: usize = 3;
const REMOVAL: usize = 4;
const LOCATION: usize = 5;
const TARGET: usize = 6;
const NAMESPACE: usize = 7;
const KINDS: &[&str] = &[
    "Operation",
    "Job",
    "Pod",
    "Backup",
    "DeleteBackupRequest",
    "BackupStorageLocation",
    "ApplicationInstance",
    "Namespace",
];

/// Something for each operation.
type All<T> = [T; OPERATIONS];

/// What a cache can show. Of a kind that is not installed, or cannot be listed, it shows nothing.
#[derive(Debug, Clone)]
enum Shot {
    Operations(Box<(All<Operation>, All<i64>)>),
    Jobs(Option<All<Option<Job>>>),
    Pods(All<Option<Pod>>),
    Backups(Option<All<Option<Backup>>>),
    Removals(Option<All<Option<Removal>>>),
    Location(Option<bool>),
    Target(Target),
    Namespace(u32, bool),
}

/// All caches, by name.
struct Look<'a> {
    operations: &'a All<Operation>,
    created: &'a All<i64>,
    jobs: Option<All<Option<Job>>>,
    pods: All<Option<Pod>>,
    backups: Option<All<Option<Backup>>>,
    removals: Option<All<Option<Removal>>>,
    location: Option<bool>,
    target: Target,
    namespace: (u32, bool),
}

impl Look<'_> {
    fn job(&self, nth: usize) -> Option<Job> {
        self.jobs.and_then(|jobs| jobs[nth])
    }

    fn backup(&self, nth: usize) -> Option<Backup> {
        self.backups.and_then(|backups| backups[nth])
    }

    /// What the namespace is known to allow, if it was looked at. A watch goes on from its list.
    fn allows(&self, memory: &Memory, nth: usize) -> Option<bool> {
        let (version, listed) = memory[nth].namespace?;
        Some(if self.namespace.0 >= version { self.namespace.1 } else { listed })
    }
}

fn look(view: &[Shot]) -> Look<'_> {
    match view {
        [
            Shot::Operations(own),
            Shot::Jobs(jobs),
            Shot::Pods(pods),
            Shot::Backups(backups),
            Shot::Removals(removals),
            Shot::Location(location),
            Shot::Target(target),
            Shot::Namespace(version, allows),
        ] => Look {
            operations: &own.0,
            created: &own.1,
            jobs: *jobs,
            pods: *pods,
            backups: *backups,
            removals: *removals,
            location: *location,
            target: *target,
            namespace: (*version, *allows),
        },
        other => panic!("not the caches of an operation: {other:?}"),
    }
}

/// One request about what does the work.
#[derive(Debug, Clone)]
enum EngineWrite {
    MakeJob(usize),
    DeleteJob { nth: usize, uid: u8 },
    MakeBackup(usize),
    DeleteBackup { nth: usize, uid: u8, version: u16 },
    MakeRemoval(usize),
    DeleteOperation(usize),
}

impl fmt::Display for EngineWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Operations, by a controller with this defect.
struct Operations(Defect);

impl Model for Operations {
    type World = World;
    type Move = Move;
    type Shot = Shot;
    type Memory = Memory;
    type Desk = Desk;
    type Spec = Spec;
    type Marks = ();
    type Status = OperationStatus;
    type Child = EngineWrite;

    const OBJECTS: usize = OPERATIONS;
    const KINDS: &'static [&'static str] = KINDS;
    const INVARIANTS: &'static [(&'static str, &'static str)] = oracle::INVARIANTS;

    fn desk(&self) -> Desk {
        Desk::new()
    }

    fn begin(&self, dice: &mut Dice) -> World {
        world::begin(dice)
    }

    fn moves(&self, world: &World, memory: &Memory, events: usize, into: &mut Moves<Move>) {
        world::moves(world, memory, events, into);
    }

    fn make(&self, world: &mut World, memory: &mut Memory, what: Move, now: i64) {
        world::make(world, memory, what, now);
    }

    fn rest(&self, world: &mut World, memory: &mut Memory, now: i64) {
        world::rest(world, memory, now);
    }

    fn start(&self) -> Timestamp {
        shown::time(0)
    }

    fn own<'a>(&self, world: &'a World, nth: usize) -> &'a Operation {
        &world.operations[nth]
    }

    fn own_mut<'a>(&self, world: &'a mut World, nth: usize) -> &'a mut Operation {
        &mut world.operations[nth]
    }

    fn shown<'a>(&self, view: &'a [Shot], nth: usize) -> &'a Operation {
        &look(view).operations[nth]
    }

    fn conditions<'a>(&self, status: &'a OperationStatus) -> &'a [Condition] {
        status.conditions.as_slice()
    }

    fn differs(&self, before: Option<&OperationStatus>, after: &OperationStatus) -> bool {
        match before {
            None => *after != OperationStatus::default(),
            // Only who writes it counts.
            Some(before) => *before != OperationStatus { sequence: before.sequence, ..after.clone() },
        }
    }

    fn read_back(&self, status: &OperationStatus) -> OperationStatus {
        let conditions = ConditionSet::from(status.conditions.as_slice().to_vec());
        OperationStatus { conditions, ..status.clone() }
    }

    /// What is recorded of its engine is made use of, and what has ended is cleaned up.
    fn stage(&self, status: &OperationStatus) -> u64 {
        let is_recorded = status.engine_ref.as_ref().map(|known| known.uid.is_some());
        hash_of((is_recorded, oracle::is_final(Some(status))))
    }

    fn version(&self, world: &World, kind: usize) -> u32 {
        match kind {
            OWN => world.operations.iter().map(|own| own.version * 2 + u32::from(own.is_gone)).sum(),
            _ => world.versions[kind],
        }
    }

    fn shot(&self, world: &World, kind: usize) -> Shot {
        let installed = world.is_installed;
        match kind {
            OWN => Shot::Operations(Box::new((world.operations.clone(), world.created))),
            JOB => Shot::Jobs(world.lists_jobs.then_some(world.jobs)),
            POD => Shot::Pods(world.pods),
            BACKUP => Shot::Backups(installed.then_some(world.backups)),
            REMOVAL => Shot::Removals(installed.then_some(world.removals)),
            LOCATION => Shot::Location(installed.then_some(world.location)),
            TARGET => Shot::Target(world.target),
            _ => Shot::Namespace(world.versions[NAMESPACE], world.allows),
        }
    }

    fn decide(&self, desk: &mut Desk, view: &[Shot], memory: &Memory, nth: usize, now: i64) -> OperationPlan {
        let seen = look(view);
        self.0.spoil(desk.decide(&seen, memory, nth, now), &seen, nth)
    }

    fn child(&self, step: Step<'_, OperationStatus>, view: &[Shot], nth: usize) -> Option<EngineWrite> {
        engine_write(&step, &look(view), nth)
    }

    fn write(&self, world: &mut World, write: &EngineWrite, now: i64) -> Effect {
        carry_out(world, write, now)
    }

    fn remember(&self, memory: &mut Memory, nth: usize, plan: &OperationPlan, is_refused: bool) {
        let own = &mut memory[nth];
        own.is_refused = is_refused;
        own.asks_log = plan.polls.iter().any(|poll| poll.get::<LogPoll>().is_some());
        own.has_log &= own.asks_log;
        let wants = |kind: &str| plan.temporary_watches.iter().any(|watch| watch.kind() == kind);
        own.wants_volumes = wants("PodVolumeBackup");
        own.has_volumes &= own.wants_volumes;
        own.wants_namespace = wants("Namespace");
        own.namespace = own.namespace.filter(|_| own.wants_namespace);
    }

    fn facts(&self, view: &[Shot], memory: &Memory, nth: usize) -> u64 {
        let seen = look(view);
        let own = &seen.operations[nth];
        let others = seen.operations.each_ref().map(|other| {
            let status = other.status.as_ref();
            let is_begun = status.is_some_and(|status| status.engine_ref.is_some());
            (other.spec, other.deleting, other.is_gone, status.and_then(|status| status.phase), is_begun)
        });
        let job = seen.job(nth).map(|job| (job.uid, job.end, job.deleted));
        // How far a pod is its Job tells later: that is no other fact.
        let has_pod = seen.pods[nth].is_some();
        let outside =
            (seen.location, seen.target, seen.namespace, seen.jobs.is_some(), seen.backups.is_some());
        let velero = (seen.backups, seen.removals.map(|removals| removals[nth]));
        let elsewhere =
            hash_of((seen.jobs, seen.pods.map(|pod| pod.is_some_and(|pod| !pod.phase.is_over()))));
        let elsewhere = if own.spec.task == world::Task::Command { 0 } else { elsewhere };
        hash_of(((own.spec, own.deleting), others, job, has_pod, outside, velero, (elsewhere, memory)))
    }

    fn outcome(&self, world: &World, now: i64) -> (u64, u64) {
        outcome::of(world, now)
    }

    fn judge(
        &self,
        world: &mut World,
        view: &[Shot],
        memory: &Memory,
        nth: usize,
        plan: &OperationPlan,
        now: i64,
    ) -> Result<(), Violation> {
        oracle::judge(world, &look(view), memory, nth, plan, now)
    }

    fn judge_write(&self, world: &World, view: &[Shot], nth: usize, write: &Write) -> Result<(), Violation> {
        oracle::judge_write(world, &look(view), nth, write)
    }

    fn judge_settled(&self, world: &World, now: i64) -> Result<(), Violation> {
        oracle::judge_settled(world, now)
    }
}

/// What a step asks of the objects that do the work, by what the caches show.
fn engine_write(step: &Step<'_, OperationStatus>, seen: &Look<'_>, nth: usize) -> Option<EngineWrite> {
    match step {
        Step::Create(child) => match child.id().resource.kind.as_str() {
            "Job" => seen.job(nth).is_none().then_some(EngineWrite::MakeJob(nth)),
            "Backup" => seen.backup(nth).is_none().then_some(EngineWrite::MakeBackup(nth)),
            "DeleteBackupRequest" => {
                let is_there = seen.removals.is_some_and(|removals| removals[nth].is_some());
                (!is_there).then_some(EngineWrite::MakeRemoval(nth))
            }
            other => panic!("no plan makes a {other}"),
        },
        Step::Delete(deletion) => match deletion.id().resource.kind.as_str() {
            "Job" => seen.job(nth).map(|job| EngineWrite::DeleteJob { nth, uid: job.uid }),
            "Backup" => seen.backup(nth).map(|seen| EngineWrite::DeleteBackup {
                nth,
                uid: seen.uid,
                version: seen.version,
            }),
            "Operation" => Some(EngineWrite::DeleteOperation(nth)),
            other => panic!("no plan deletes a {other}"),
        },
        other => panic!("no plan for an operation has it: {other:?}"),
    }
}

/// What the API server makes of a request.
fn carry_out(world: &mut World, write: &EngineWrite, now: i64) -> Effect {
    match *write {
        EngineWrite::MakeJob(_) | EngineWrite::MakeBackup(_) | EngineWrite::MakeRemoval(_)
            if world.admission_denies =>
        {
            Effect::Refused
        }
        EngineWrite::MakeBackup(_) | EngineWrite::MakeRemoval(_) if !world.is_installed => Effect::Refused,
        EngineWrite::MakeJob(nth) => {
            if world.jobs[nth].is_none() {
                let uid = world.new_uid();
                let (is_started, is_failing, end, deleted) = (false, false, None, None);
                world.jobs[nth] = Some(Job { uid, made: now, is_started, is_failing, end, deleted });
                made(world, nth);
                world.touch(JOB);
            }
            Effect::Wrote(JOB)
        }
        EngineWrite::MakeBackup(nth) => {
            if world.backups[nth].is_none() {
                let uid = world.new_uid();
                world.backups[nth] = Some(Backup::new(uid, now));
                made(world, nth);
                world.touch(BACKUP);
            }
            Effect::Wrote(BACKUP)
        }
        EngineWrite::MakeRemoval(nth) => {
            if world.removals[nth].is_none() {
                world.removals[nth] = Some(Removal::New);
                world.touch(REMOVAL);
            }
            Effect::Wrote(REMOVAL)
        }
        EngineWrite::DeleteJob { nth, uid } => {
            if let Some(job) = world.jobs[nth].as_mut().filter(|job| job.uid == uid) {
                job.deleted.get_or_insert(now);
                world.touch(JOB);
            }
            Effect::Wrote(JOB)
        }
        EngineWrite::DeleteBackup { nth, uid, version } => match world.backups[nth] {
            Some(live) if live.uid == uid && live.version == version => {
                world.backups[nth] = None;
                world.touch(BACKUP);
                Effect::Wrote(BACKUP)
            }
            Some(_) => Effect::Conflict,
            None => Effect::Wrote(BACKUP),
        },
        EngineWrite::DeleteOperation(nth) => {
            world.operations[nth].delete();
            Effect::Wrote(OWN)
        }
    }
}

/// The engine has its work, and the operation the place that it held till then.
fn made(world: &mut World, nth: usize) {
    world.records[nth].made += 1;
    world.records[nth].is_robbed = false;
    world.records[nth].went_well = None;
}

#[cfg(test)]
mod tests;
