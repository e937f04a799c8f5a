//! What Flux's objects hold, as far as the model goes, and Flux as a whole coming to rest. Its two controllers are in files of
//! their own.

use super::world::{Change, Running, Version, World};
use super::{helm_controller, source_controller};

/// Helm's actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Action {
    Install,
    Upgrade,
    Rollback,
    Uninstall,
}

/// `Ready` of a HelmRelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Ready {
    Unsaid,
    Fulfilling,
    Running(Action),
    Succeeded,
    WithoutSource,
    ArtifactFailed,
    ValuesError,
    ActionFailed,
    RollbackSucceeded,
    RollbackFailed,
    UninstallFailed,
    UninstallSucceeded,
}

/// `Reconciling` of a HelmRelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reconciling {
    No,
    Fulfilling,
    Running(Action),
    WithRetry,
}

/// `Released` of a HelmRelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Released {
    Unsaid,
    Yes,
    NotRendered,
    TimedOut,
}

/// `Remediated` of a HelmRelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Remediated {
    Unsaid,
    RolledBack,
    NotRolledBack,
    Uninstalled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    Deployed,
    Superseded,
    Failed,
    Uninstalling,
}

/// One revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) number: u8,
    pub(super) running: Running,
    pub(super) mark: Mark,
}

/// What was true when a version of the release was written; nobody can read it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Truth {
    pub(super) running: Option<Running>,
    pub(super) is_whole: bool,
    pub(super) acting: Option<Action>,
    /// The last action failed, and none has succeeded since.
    pub(super) has_failed: bool,
    pub(super) waits: Option<Waits>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Waits {
    ForSource,
    ForValues,
}

/// A HelmRelease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Release {
    pub(super) uid: u8,
    pub(super) generation: i64,
    pub(super) change: Change,
    pub(super) suspend: bool,
    pub(super) deleting: bool,
    pub(super) requested: u16,
    pub(super) reset: u8,
    pub(super) handled_reset: u8,
    pub(super) ready: Ready,
    /// The generation that was there when `Ready` was written, which need not be the one it is about.
    pub(super) ready_observed: i64,
    pub(super) reconciling: Reconciling,
    pub(super) released: Released,
    /// What went wrong is told with a value of a Secret in it.
    pub(super) quotes_secret: bool,
    pub(super) remediated: Remediated,
    pub(super) stalled: bool,
    pub(super) observed: i64,
    pub(super) attempted: i64,
    pub(super) attempted_running: Option<Running>,
    pub(super) failures: u8,
    /// What counts against the retries.
    pub(super) tries: u8,
    pub(super) history: [Option<Snapshot>; 4],
    pub(super) truth: Truth,
}

impl Release {
    pub(super) fn new(uid: u8, change: Change, running: Option<Running>) -> Self {
        Self {
            uid,
            generation: 1,
            change,
            suspend: false,
            deleting: false,
            requested: 0,
            reset: 0,
            handled_reset: 0,
            ready: Ready::Unsaid,
            ready_observed: 0,
            reconciling: Reconciling::No,
            released: Released::Unsaid,
            quotes_secret: false,
            remediated: Remediated::Unsaid,
            stalled: false,
            observed: -1,
            attempted: 0,
            attempted_running: None,
            failures: 0,
            tries: 0,
            history: [None; 4],
            truth: Truth { running, is_whole: true, acting: None, has_failed: false, waits: None },
        }
    }

    pub(super) fn push(&mut self, running: Running, mark: Mark) {
        let number = self.history[0].map_or(1, |newest| newest.number.saturating_add(1));
        if mark == Mark::Deployed {
            for known in self.history.iter_mut().flatten().filter(|known| known.mark == Mark::Deployed) {
                known.mark = Mark::Superseded;
            }
        }
        self.history.rotate_right(1);
        self.history[0] = Some(Snapshot { number, running, mark });
    }

    /// What a rollback goes back to: the newest revision that once worked.
    pub(super) fn rollback_target(&self) -> Option<Running> {
        let good = |known: &&Snapshot| matches!(known.mark, Mark::Deployed | Mark::Superseded);
        self.history.iter().flatten().find(good).map(|known| known.running)
    }
}

/// Why a chart cannot be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Trouble {
    Missing,
    Unreachable,
}

/// `FetchFailed=True` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FetchFailed {
    pub(super) trouble: Trouble,
    pub(super) observed: i64,
    pub(super) since: i64,
}

/// An OCIRepository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub(super) uid: u8,
    pub(super) generation: i64,
    /// What it is asked for.
    pub(super) version: Version,
    pub(super) observed: i64,
    pub(super) artifact: Option<Version>,
    pub(super) fetch_failed: Option<FetchFailed>,
    pub(super) reconciling: bool,
}

impl Source {
    pub(super) fn new(uid: u8, version: Version) -> Self {
        Self {
            uid,
            generation: 1,
            version,
            observed: -1,
            artifact: None,
            fetch_failed: None,
            reconciling: false,
        }
    }
}

/// Somebody deletes the HelmRelease.
pub(super) fn delete_release(world: &mut World) {
    if let Some(release) = &mut world.release
        && !release.deleting
    {
        release.deleting = true;
        release.generation += 1;
        world.touch_release();
    }
}

/// Flux works until it has nothing to do, and one more look at everything changes nothing.
pub(super) fn rest(world: &mut World, now: i64) {
    finish(world, now);
    for _ in 0..8 {
        let mut ahead = world.clone();
        let is_stalled = ahead.release.is_some_and(|release| release.stalled);
        (ahead.helm.is_due, ahead.sources.is_due) = (!is_stalled, true);
        finish(&mut ahead, now);
        let is_same = ahead.release == world.release && ahead.source == world.source;
        if is_same && ahead.running == world.running {
            return;
        }
        *world = ahead;
    }
}

fn finish(world: &mut World, now: i64) {
    for _ in 0..200 {
        if !(source_controller::step(world, now) || helm_controller::step(world)) {
            return;
        }
    }
}
