//! Velero, write by write, in the order recorded on a real cluster: Backups, their removal, and what its storage brings back.

use ::explore::Moves;

use super::world::{Move, OPERATIONS, World};
use super::{BACKUP, LOCATION, REMOVAL};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Velero has not seen it.
    Unseen,
    Queued,
    InProgress,
    Finalizing,
    FinalizingPartly,
    Completed,
    PartiallyFailed,
    Failed,
    FailedValidation,
    Deleting,
}

impl Phase {
    pub(super) fn text(self) -> &'static str {
        match self {
            Phase::Unseen => "",
            Phase::Queued => "Queued",
            Phase::InProgress => "InProgress",
            Phase::Finalizing => "Finalizing",
            Phase::FinalizingPartly => "FinalizingPartiallyFailed",
            Phase::Completed => "Completed",
            Phase::PartiallyFailed => "PartiallyFailed",
            Phase::Failed => "Failed",
            Phase::FailedValidation => "FailedValidation",
            Phase::Deleting => "Deleting",
        }
    }

    pub(super) fn is_at_work(self) -> bool {
        matches!(self, Phase::InProgress | Phase::Finalizing | Phase::FinalizingPartly)
    }

    pub(super) fn is_over(self) -> bool {
        matches!(self, Phase::Completed | Phase::PartiallyFailed | Phase::Failed | Phase::FailedValidation)
    }

    pub(super) fn is_stored(self) -> bool {
        matches!(self, Phase::Completed | Phase::PartiallyFailed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Backup {
    pub(super) uid: u8,
    /// Its resourceVersion.
    pub(super) version: u16,
    pub(super) made: i64,
    pub(super) phase: Phase,
    pub(super) began: Option<i64>,
    pub(super) ended: Option<i64>,
}

impl Backup {
    pub(super) fn new(uid: u8, made: i64) -> Self {
        Self { uid, version: 1, made, phase: Phase::Unseen, began: None, ended: None }
    }
}

/// A request to remove a Backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Removal {
    New,
    InProgress,
    /// It did not work.
    Failed,
}

pub(super) fn moves(world: &World, nth: usize, which: u8, into: &mut Moves<Move>) {
    if is_due(world, nth) {
        into.push((Move::Velero(which), 50));
    }
    let Some(backup) = world.backups[nth] else {
        if world.records[nth].stored.is_some() && world.is_installed {
            into.push((Move::Sync(which), 10));
        }
        return;
    };
    if backup.phase.is_at_work() {
        into.push((Move::BackupFails(which), 8));
    }
    if backup.phase == Phase::InProgress {
        into.push((Move::BackupPartlyFails(which), 6));
    }
    into.push((Move::DeleteBackup(which), 2));
}

fn is_due(world: &World, nth: usize) -> bool {
    let works = world.velero_runs && world.is_installed;
    let is_pending = world.backups[nth].is_some_and(|backup| !backup.phase.is_over());
    let is_asked = matches!(world.removals[nth], Some(Removal::New | Removal::InProgress));
    works && (is_pending || is_asked || world.records[nth].is_hidden)
}

/// Velero's next write.
pub(super) fn step(world: &mut World, nth: usize, now: i64) {
    if !is_due(world, nth) {
        return;
    }
    world.records[nth].is_hidden = false;
    if world.removals[nth].is_some_and(|removal| removal != Removal::Failed) {
        return remove(world, nth);
    }
    let is_busy = (0..OPERATIONS)
        .any(|other| other != nth && world.backups[other].is_some_and(|backup| backup.phase.is_at_work()));
    let location = world.location;
    let Some(backup) = &mut world.backups[nth] else { return };
    match backup.phase {
        Phase::Unseen => backup.phase = Phase::Queued,
        Phase::Queued if is_busy => return,
        Phase::Queued if !location => {
            backup.phase = Phase::FailedValidation;
            world.records[nth].went_well = Some(false);
        }
        Phase::Queued => (backup.phase, backup.began) = (Phase::InProgress, Some(now)),
        Phase::InProgress => backup.phase = Phase::Finalizing,
        Phase::Finalizing | Phase::FinalizingPartly => {
            let partly = backup.phase == Phase::FinalizingPartly;
            backup.phase = if partly { Phase::PartiallyFailed } else { Phase::Completed };
            backup.ended = backup.began.map(|began| began.max(now));
            world.records[nth].went_well = Some(true);
            world.records[nth].stored = Some(*backup);
        }
        _ => return,
    }
    touch(world, nth);
}

fn touch(world: &mut World, nth: usize) {
    if let Some(backup) = &mut world.backups[nth] {
        backup.version += 1;
    }
    world.touch(BACKUP);
}

/// The request is worked on: what is stored goes, then both objects.
fn remove(world: &mut World, nth: usize) {
    let removes = world.backups[nth].is_some_and(|backup| !backup.phase.is_at_work()) && world.location;
    if !removes {
        world.removals[nth] = Some(Removal::Failed);
        return world.touch(REMOVAL);
    }
    world.touch(REMOVAL);
    match world.removals[nth] {
        Some(Removal::New) => {
            world.removals[nth] = Some(Removal::InProgress);
            if let Some(backup) = &mut world.backups[nth] {
                backup.phase = Phase::Deleting;
            }
            touch(world, nth);
        }
        _ => {
            world.removals[nth] = None;
            world.backups[nth] = None;
            world.records[nth].stored = None;
            world.touch(BACKUP);
        }
    }
}

/// It fails on the way; when that was is not always told.
pub(super) fn fail(world: &mut World, nth: usize, now: i64) {
    let Some(backup) = world.backups[nth].as_mut().filter(|backup| backup.phase.is_at_work()) else { return };
    backup.ended = (backup.phase == Phase::InProgress).then_some(now);
    backup.phase = Phase::Failed;
    world.records[nth].went_well = Some(false);
    touch(world, nth);
}

pub(super) fn partly_fail(world: &mut World, nth: usize) {
    if let Some(backup) = world.backups[nth].as_mut().filter(|backup| backup.phase == Phase::InProgress) {
        backup.phase = Phase::FinalizingPartly;
        touch(world, nth);
    }
}

/// Somebody deletes the Backup. What Velero has begun it brings to its end all the same.
pub(super) fn take_away(world: &mut World, nth: usize) {
    let Some(backup) = world.backups[nth].take() else { return };
    world.records[nth].is_hidden |= backup.phase.is_at_work();
    world.rob(nth);
    world.touch(BACKUP);
}

/// What is stored comes back with another uid.
pub(super) fn sync(world: &mut World, nth: usize) {
    if world.backups[nth].is_some() || !world.is_installed {
        return;
    }
    if let Some(stored) = world.records[nth].stored {
        let uid = world.new_uid();
        world.backups[nth] = Some(Backup { uid, version: 1, ..stored });
        world.records[nth].is_back = true;
        world.touch(BACKUP);
    }
}

/// What it was at work with has failed.
pub(super) fn restart(world: &mut World, now: i64) {
    for nth in 0..OPERATIONS {
        world.records[nth].is_hidden = false;
        if world.is_installed && world.velero_runs {
            fail(world, nth, now);
        }
    }
}

/// With the kinds go their objects, and nobody works on them any more.
pub(super) fn install(world: &mut World, installed: bool) {
    world.is_installed = installed;
    for nth in (0..OPERATIONS).filter(|_| !installed) {
        if world.backups[nth].take().is_some() {
            world.rob(nth);
        }
        world.removals[nth] = None;
        world.records[nth].is_hidden = false;
    }
    [BACKUP, REMOVAL, LOCATION].into_iter().for_each(|kind| world.touch(kind));
}

/// Whether Velero may be at work for an operation, as far as anybody can see.
pub(super) fn is_at_work(world: &World, nth: usize) -> bool {
    world.backups[nth].is_some_and(|backup| !backup.phase.is_over() && backup.phase != Phase::Deleting)
}

pub(super) fn rest(world: &mut World, nth: usize, now: i64) {
    for _ in 0..8 {
        let is_stuck = world.is_slow && world.backups[nth].is_some_and(|backup| backup.phase.is_at_work());
        if !is_stuck {
            step(world, nth, now);
        }
    }
}
