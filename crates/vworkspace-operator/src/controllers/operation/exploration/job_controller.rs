//! Jobs and their pods, write by write: the Job controller, the kubelet and the garbage collector.

use ::explore::Moves;

use super::world::{Move, World};
use super::{JOB, POD};

/// How a Job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobEnd {
    Complete,
    Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Job {
    pub(super) uid: u8,
    pub(super) made: i64,
    /// Its pod was made.
    pub(super) is_started: bool,
    /// It is going to fail, and says so before it has.
    pub(super) is_failing: bool,
    pub(super) end: Option<(JobEnd, i64)>,
    /// When somebody deleted it; its pod goes first.
    pub(super) deleted: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl PodPhase {
    pub(super) fn is_over(self) -> bool {
        matches!(self, PodPhase::Succeeded | PodPhase::Failed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pod {
    /// The uid of its Job.
    pub(super) of: u8,
    pub(super) made: i64,
    pub(super) phase: PodPhase,
    pub(super) is_deleted: bool,
}

pub(super) fn moves(world: &World, nth: usize, which: u8, into: &mut Moves<Move>) {
    if is_due(world, nth) {
        into.push((Move::JobController(which), 40));
    }
    if let Some(pod) = world.pods[nth] {
        if pod.is_deleted || !pod.phase.is_over() {
            into.push((Move::Kubelet(which), 40));
        }
        if pod.phase == PodPhase::Running {
            into.extend([(Move::PodFails(which), 8), (Move::PodVanishes(which), 2)]);
        }
    }
    if world.jobs[nth].is_some() {
        into.extend([(Move::DeleteJob(which), 2), (Move::OrphanPod(which), 2)]);
    }
}

fn is_due(world: &World, nth: usize) -> bool {
    let pod = world.pods[nth];
    world.jobs[nth].is_some_and(|job| {
        job.deleted.is_some()
            || (job.end.is_none() && (!job.is_started || pod.is_none_or(|pod| pod.phase.is_over())))
    })
}

/// The next write of the Job controller or of the garbage collector.
pub(super) fn step(world: &mut World, nth: usize, now: i64) {
    let Some(job) = &mut world.jobs[nth] else { return };
    let pod = &mut world.pods[nth];
    if job.deleted.is_some() {
        match pod {
            // What a pod that is killed says makes its Job fail, too.
            Some(pod) if pod.is_deleted && pod.phase == PodPhase::Failed && job.end.is_none() => {
                job.end = Some((JobEnd::Backoff, job.deleted.map_or(now, |deleted| deleted.max(now))));
                world.touch(JOB);
            }
            Some(pod) if !pod.is_deleted => {
                pod.is_deleted = true;
                world.touch(POD);
            }
            Some(_) => {}
            None => {
                world.jobs[nth] = None;
                world.touch(JOB);
            }
        }
        return;
    }
    if job.end.is_some() {
        return;
    }
    match pod {
        None if !job.is_started => {
            job.is_started = true;
            *pod = Some(Pod { of: job.uid, made: now, phase: PodPhase::Pending, is_deleted: false });
            world.touch(POD);
        }
        Some(pod) if pod.phase == PodPhase::Succeeded => {
            job.end = Some((JobEnd::Complete, now));
            world.records[nth].went_well = Some(true);
        }
        Some(pod) if !pod.phase.is_over() => return,
        _ if !job.is_failing => job.is_failing = true,
        _ => {
            job.end = Some((JobEnd::Backoff, now));
            world.records[nth].went_well = Some(false);
        }
    }
    world.touch(JOB);
}

/// A pod comes one step further, or goes.
pub(super) fn kubelet(world: &mut World, nth: usize) {
    let Some(pod) = &mut world.pods[nth] else { return };
    match pod.phase {
        PodPhase::Running if pod.is_deleted => pod.phase = PodPhase::Failed,
        _ if pod.is_deleted => world.pods[nth] = None,
        PodPhase::Pending => pod.phase = PodPhase::Running,
        PodPhase::Running => pod.phase = PodPhase::Succeeded,
        PodPhase::Succeeded | PodPhase::Failed => return,
    }
    world.touch(POD);
}

/// The command fails.
pub(super) fn fail(world: &mut World, nth: usize) {
    if let Some(pod) = world.pods[nth].as_mut().filter(|pod| pod.phase == PodPhase::Running) {
        pod.phase = PodPhase::Failed;
        world.touch(POD);
    }
}

/// The node is gone, and with it the pod.
pub(super) fn lose_pod(world: &mut World, nth: usize) {
    if world.pods[nth].take().is_some() {
        world.touch(POD);
    }
}

/// Somebody deletes the Job, so that its pod goes after it or stays.
pub(super) fn take_away(world: &mut World, nth: usize, with_pod: bool) {
    if world.jobs[nth].take().is_none() {
        return;
    }
    world.rob(nth);
    world.records[nth].is_orphaned = true;
    world.touch(JOB);
    if world.records[nth].is_robbed {
        return lose_pod(world, nth);
    }
    if let Some(pod) = world.pods[nth].as_mut().filter(|_| with_pod) {
        pod.is_deleted = true;
        world.touch(POD);
    }
}

/// Whether a command may be at work.
pub(super) fn is_at_work(world: &World, nth: usize) -> bool {
    world.pods[nth].is_some_and(|pod| !pod.phase.is_over())
        || world.jobs[nth].is_some_and(|job| job.end.is_none())
}

pub(super) fn rest(world: &mut World, nth: usize, now: i64) {
    for _ in 0..8 {
        step(world, nth, now);
        let is_stuck = world.is_slow && world.pods[nth].is_some_and(|pod| !pod.is_deleted);
        if !is_stuck {
            kubelet(world, nth);
        }
    }
}
