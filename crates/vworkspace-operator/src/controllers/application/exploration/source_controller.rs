//! How source-controller behaves, write by write, as it was recorded on a real cluster: it says that it failed before it
//! says for which generation, and loses what it stored when it restarts.

use super::flux::{FetchFailed, Trouble, Waits};
use super::world::{Version, World};
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Fetch {
    #[default]
    Idle,
    Fetching,
    Fetched(Version),
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SourceController {
    phase: Fetch,
    pub(super) is_due: bool,
    generation: i64,
}

pub(super) fn is_busy(world: &World) -> bool {
    world.source.is_some() && (world.sources.phase != Fetch::Idle || world.sources.is_due)
}

/// Its storage does not outlive it.
pub(super) fn restart(world: &mut World) {
    world.sources = SourceController { phase: Fetch::Idle, is_due: true, ..world.sources };
    if let Some(source) = &mut world.source {
        source.artifact = None;
        world.touch_source();
    }
}

/// One write of source-controller; false if it has nothing to do.
pub(super) fn step(world: &mut World, now: i64) -> bool {
    if !is_busy(world) {
        return false;
    }
    let Some(mut source) = world.source else { return false };
    let before = source;
    match std::mem::take(&mut world.sources.phase) {
        Fetch::Idle => {
            world.sources.is_due = false;
            world.sources.generation = source.generation;
            source.reconciling = source.generation != source.observed || source.artifact.is_none();
            world.sources.phase = Fetch::Fetching;
        }
        Fetch::Fetching => {
            let wanted = source.version;
            let trouble = match (world.registry_answers, wanted) {
                (false, _) => Some(Trouble::Unreachable),
                (true, Version::Absent) => Some(Trouble::Missing),
                (true, _) => None,
            };
            match trouble {
                Some(trouble) => {
                    let since = source.fetch_failed.map_or(now, |failed| failed.since);
                    source.fetch_failed = Some(FetchFailed { trouble, observed: source.generation, since });
                    source.reconciling = true;
                }
                None => {
                    (source.fetch_failed, source.reconciling) = (None, false);
                    world.sources.phase = Fetch::Fetched(wanted);
                }
            }
        }
        Fetch::Fetched(version) => {
            source.observed = world.sources.generation;
            source.artifact = Some(version);
            world.sources.is_due |= source.generation != source.observed;
            let is_waited_for =
                world.release.is_some_and(|release| release.truth.waits == Some(Waits::ForSource));
            world.helm.is_due |= source.artifact != before.artifact || is_waited_for;
        }
    }
    if source != before {
        world.source = Some(source);
        world.touch_source();
    }
    true
}
