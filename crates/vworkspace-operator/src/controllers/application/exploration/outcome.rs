//! How a schedule ended, for the comparison with others that ended in the same world.

use ::explore::hash_of;

use super::flux::Release;
use super::oracle::{is_fresh_drift, is_lost, still_told};
use super::world::{Config, World};

/// The world at the end and what was said of it, apart from what only the way there can tell.
pub(super) fn of(world: &World, now: i64) -> (u64, u64) {
    let status = world.app.status.as_deref();
    let was_released = status.is_some_and(|status| status.last_successful_release.is_some());
    let seen = status.map_or(world.seen, |status| still_told(world.seen, status));
    let release = world.release.map(|known| {
        let relative = (known.observed == known.generation, known.attempted == known.generation);
        Release {
            uid: 0,
            generation: 0,
            ready_observed: i64::from(known.ready_observed == known.generation),
            observed: 0,
            attempted: i64::from(relative.0) * 2 + i64::from(relative.1),
            requested: 0,
            ..known
        }
    });
    let source = world.source.map(|known| {
        let failed = known.fetch_failed.map(|failed| (failed.trouble, failed.observed == known.generation));
        (known.version, known.observed == known.generation, known.artifact, failed)
    });
    let since = world.source.and_then(|source| source.fetch_failed).map(|failed| now - failed.since >= 300);
    let values = (world.app.spec.change.config == Config::FromSecret).then_some(world.secret);
    let world_key = hash_of((
        (world.app.spec, world.app.marks, world.app.deleting, was_released, seen),
        (release, source, since, values),
        (world.dependency_ready, world.leftovers, world.admission_denies, world.is_window_open(now)),
        (
            world.endpoint_answers,
            world.drift.map(|at| is_fresh_drift(at, now)),
            world.running,
            world.is_whole,
        ),
    ));
    let said = status.map(|status| {
        let told = status.conditions.iter().map(|known| {
            let reason = match known.reason.as_str() {
                "Recovered" | "NotDegraded" => "fine",
                "Unblocked" | "NotBlocked" => "free",
                reason => reason,
            };
            hash_of((known.status, reason))
        });
        told.collect::<Vec<_>>()
    });
    // What is said of a chart that got lost depends on what was said before, as it should.
    let lost = is_lost(world).then_some(&said);
    (hash_of((world_key, lost)), hash_of(&said))
}
