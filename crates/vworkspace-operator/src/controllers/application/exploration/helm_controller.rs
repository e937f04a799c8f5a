//! How helm-controller behaves, write by write, as it was recorded on a real cluster: conditions before history before
//! `observedGeneration`, `Ready=Unknown` at the start of each look, stalls that lose their reason.

use super::flux::{Action, Mark, Ready, Reconciling, Release, Released, Remediated, Waits};
use super::world::{Config, Running, Version, World};
/// What helm-controller is in the middle of; each step is one write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Prerequisites,
    Begun(Action),
    Acting,
    Succeeded,
    Recorded,
    Quiet,
    Unchanged,
    UnchangedAttempted,
    NotStored,
    Stored,
    Remedy,
    Remedying(Action),
    RolledBack(Running),
    Removed,
    GivesUp,
    GivenUp,
    Uninstalled,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HelmController {
    phase: Phase,
    pub(super) is_due: bool,
    generation: i64,
    load: Option<Running>,
    /// It was stopped in the middle of something: what it remembers does not fit what is there.
    forgets: bool,
}

pub(super) fn is_busy(world: &World) -> bool {
    let Some(release) = &world.release else { return false };
    let hopeless = release.ready == Ready::UninstallFailed && !world.cluster_works;
    world.helm.phase != Phase::Idle || world.helm.is_due || (release.deleting && !hopeless)
}

/// One write of helm-controller; false if it has nothing to do.
pub(super) fn step(world: &mut World) -> bool {
    if !is_busy(world) {
        return false;
    }
    let Some(mut release) = world.release else { return false };
    let before = release.ready;
    let phase = std::mem::take(&mut world.helm.phase);
    match phase {
        Phase::Idle if release.deleting => return uninstall(world, release),
        Phase::Idle => begin(world, &mut release),
        Phase::Prerequisites => prerequisites(world, &mut release),
        Phase::Begun(_) => {
            release.attempted = world.helm.generation;
            release.attempted_running = world.helm.load;
            release.handled_reset = release.reset;
            world.helm.phase = Phase::Acting;
        }
        Phase::Acting => act(world, &mut release),
        Phase::Succeeded => {
            if let Some(load) = world.helm.load {
                release.push(load, Mark::Deployed);
            }
            (release.failures, release.tries) = (0, 0);
            world.helm.phase = Phase::Recorded;
        }
        Phase::Unchanged => {
            (release.attempted, release.attempted_running) = (world.helm.generation, world.helm.load);
            release.handled_reset = release.reset;
            world.helm.phase = Phase::UnchangedAttempted;
        }
        Phase::Recorded | Phase::UnchangedAttempted => {
            release.reconciling = Reconciling::No;
            world.helm.phase = Phase::Quiet;
        }
        Phase::Quiet | Phase::GivenUp => end(world, &mut release),
        Phase::NotStored => {
            release.failures = (release.failures + 1).min(3);
            release.reconciling = Reconciling::WithRetry;
        }
        Phase::Stored => {
            if let Some(load) = world.helm.load {
                release.push(load, Mark::Failed);
            }
            release.failures = (release.failures + 1).min(3);
            release.tries = (release.tries + 1).min(3);
            world.helm.phase = Phase::Remedy;
        }
        Phase::Remedy => remedy(world, &mut release),
        Phase::Remedying(action) => remedied(world, &mut release, action),
        Phase::RolledBack(running) => {
            release.push(running, Mark::Deployed);
            if release.stalled {
                world.helm.phase = Phase::GivenUp;
            } else {
                world.helm.is_due = true;
            }
        }
        Phase::Removed => {
            if let Some(newest) = &mut release.history[0] {
                newest.mark = Mark::Uninstalling;
            }
            world.helm.is_due = true;
        }
        Phase::GivesUp => {
            (release.stalled, release.reconciling) = (true, Reconciling::No);
            world.helm.phase = Phase::GivenUp;
        }
        Phase::Uninstalled => {
            world.release = None;
            world.release_version += 1;
            return true;
        }
    }
    if release.ready != before {
        release.ready_observed = release.generation;
    }
    world.release = Some(release);
    world.touch_release();
    true
}

fn begin(world: &mut World, release: &mut Release) {
    world.helm.is_due = false;
    world.helm.generation = release.generation;
    if release.suspend {
        release.observed = release.generation;
        return;
    }
    (release.ready, release.reconciling, release.stalled) =
        (Ready::Fulfilling, Reconciling::Fulfilling, false);
    world.helm.phase = Phase::Prerequisites;
}

fn prerequisites(world: &mut World, release: &mut Release) {
    let source = world.source.filter(|source| source.generation == source.observed);
    let artifact = source.and_then(|source| source.artifact);
    let Some(version) = artifact else {
        let is_behind = world.source.is_some_and(|source| source.generation != source.observed);
        release.ready = if is_behind { Ready::WithoutSource } else { Ready::ArtifactFailed };
        release.truth.waits = Some(Waits::ForSource);
        return;
    };
    // It holds what it read when it began, and reads the values now.
    let config = release.change.config;
    if config == Config::FromSecret && world.secret.is_none() {
        release.ready = Ready::ValuesError;
        release.truth.waits = Some(Waits::ForValues);
        return;
    }
    release.truth.waits = None;
    let load = Running { version, config };
    world.helm.load = Some(load);
    if std::mem::take(&mut world.helm.forgets) {
        release.history = [None; 4];
    }
    let is_new = release.attempted != world.helm.generation
        || release.attempted_running != Some(load)
        || release.handled_reset != release.reset;
    if is_new {
        (release.failures, release.tries) = (0, 0);
    }
    let newest = release.history[0];
    let is_there = newest.is_some_and(|newest| newest.mark == Mark::Deployed && newest.running == load);
    if is_there {
        (release.ready, release.released) = (Ready::Succeeded, Released::Yes);
        (release.remediated, release.truth.has_failed) = (Remediated::Unsaid, false);
        release.quotes_secret = false;
        world.helm.phase = Phase::Unchanged;
    } else if !is_new && release.tries > u8::from(release.change.retries) {
        (release.stalled, release.reconciling) = (true, Reconciling::No);
        world.helm.phase = Phase::GivenUp;
    } else {
        let is_upgrade =
            newest.is_some_and(|newest| newest.mark != Mark::Uninstalling) || world.running.is_some();
        let action = if is_upgrade { Action::Upgrade } else { Action::Install };
        (release.ready, release.reconciling) = (Ready::Running(action), Reconciling::Running(action));
        release.truth.acting = Some(action);
        world.helm.phase = Phase::Begun(action);
    }
}

fn act(world: &mut World, release: &mut Release) {
    let Some(load) = world.helm.load else { return };
    release.truth.acting = None;
    release.remediated = Remediated::Unsaid;
    release.quotes_secret = load.config == Config::FromSecret;
    if load.version == Version::Unrenderable {
        (release.ready, release.released) = (Ready::ActionFailed, Released::NotRendered);
        release.truth.has_failed = true;
        world.helm.phase = Phase::NotStored;
        return;
    }
    world.running = Some(load);
    world.is_whole = load.version != Version::Broken && world.cluster_works;
    release.truth.has_failed = !world.is_whole;
    if world.is_whole {
        (release.ready, release.released) = (Ready::Succeeded, Released::Yes);
        world.helm.phase = Phase::Succeeded;
    } else {
        (release.ready, release.released) = (Ready::ActionFailed, Released::TimedOut);
        world.helm.phase = Phase::Stored;
    }
}

fn remedy(world: &mut World, release: &mut Release) {
    let has_retry = release.tries <= u8::from(release.change.retries);
    let target = release.rollback_target();
    let action = match target {
        None if has_retry => Action::Uninstall,
        Some(_) if !release.change.keeps_failed => Action::Rollback,
        _ => {
            (release.stalled, release.reconciling) = (true, Reconciling::No);
            world.helm.phase = Phase::GivenUp;
            return;
        }
    };
    release.reconciling = Reconciling::Running(action);
    release.truth.acting = Some(action);
    world.helm.phase = Phase::Remedying(action);
}

fn remedied(world: &mut World, release: &mut Release, action: Action) {
    release.truth.acting = None;
    let has_retry = release.tries <= u8::from(release.change.retries);
    match (action, release.rollback_target()) {
        (Action::Rollback, Some(target)) if world.cluster_works => {
            (world.running, world.is_whole) = (Some(target), true);
            (release.ready, release.remediated) = (Ready::RollbackSucceeded, Remediated::RolledBack);
            release.stalled = !has_retry;
            release.reconciling = if has_retry { Reconciling::WithRetry } else { Reconciling::No };
            world.helm.phase = Phase::RolledBack(target);
        }
        (Action::Rollback, _) => {
            world.is_whole = false;
            (release.ready, release.remediated) = (Ready::RollbackFailed, Remediated::NotRolledBack);
            if let Some(load) = world.helm.load {
                release.push(load, Mark::Failed);
            }
            world.helm.phase = Phase::GivesUp;
        }
        _ => {
            (world.running, world.is_whole) = (None, true);
            release.remediated = Remediated::Uninstalled;
            release.reconciling = Reconciling::WithRetry;
            world.helm.phase = Phase::Removed;
        }
    }
}

/// The last write of a look; what came meanwhile is next.
fn end(world: &mut World, release: &mut Release) {
    release.observed = world.helm.generation;
    let artifact = world.source.and_then(|source| source.artifact);
    if release.generation != world.helm.generation || artifact != world.helm.load.map(|load| load.version) {
        world.helm.is_due = true;
    }
}

fn uninstall(world: &mut World, mut release: Release) -> bool {
    let has_release = release.history[0].is_some() || world.running.is_some();
    if release.suspend || !has_release {
        world.release = None;
        world.release_version += 1;
        return true;
    }
    if world.cluster_works {
        (release.ready, release.released) = (Ready::UninstallSucceeded, Released::TimedOut);
        (world.running, world.is_whole) = (None, true);
        world.leftovers = 1;
        world.leftovers_version += 1;
        world.helm.phase = Phase::Uninstalled;
    } else {
        release.ready = Ready::UninstallFailed;
    }
    world.helm.is_due = false;
    world.release = Some(release);
    world.touch_release();
    true
}

/// Stopped in the middle of an action it writes nothing; afterwards it does not know what it did.
pub(super) fn restart(world: &mut World) {
    if matches!(world.helm.phase, Phase::Uninstalled) {
        return;
    }
    // What Helm has stored is not in the history then. A look that found nothing to do leaves no such difference.
    let was_at_work = matches!(
        world.helm.phase,
        Phase::Begun(_)
            | Phase::Acting
            | Phase::Succeeded
            | Phase::Stored
            | Phase::Remedying(_)
            | Phase::RolledBack(_)
            | Phase::Removed
    );
    world.helm = HelmController {
        phase: Phase::Idle,
        is_due: true,
        forgets: world.helm.forgets || was_at_work,
        ..world.helm
    };
}
