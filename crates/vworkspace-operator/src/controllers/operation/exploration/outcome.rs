//! How a schedule ended, for the comparison with others that ended in the same world.

use ::explore::hash_of;
use vworkspace_api::operation::OperationStatus;

use super::oracle::is_final;
use super::world::{WAIT, World};

/// The world at the end and what was said of it, apart from what only the way there can tell. How an operation has ended is a
/// part of the world.
pub(super) fn of(world: &World, now: i64) -> (u64, u64) {
    let operations = world.operations.each_ref().map(|own| {
        let status = own.status.as_deref();
        let ended = status.filter(|status| is_final(Some(status))).map(|status| &status.reason);
        let is_begun = status.is_some_and(|status| status.engine_ref.is_some());
        ((own.spec, own.deleting, own.is_gone), ended, is_begun)
    });
    let mut order = [0, 1, 2];
    order.sort_by_key(|nth| (world.created[*nth], super::shown::RANKS[*nth]));
    let jobs = world
        .jobs
        .map(|job| job.map(|job| (job.is_started, job.end.map(|(end, _)| end), job.deleted.is_some())));
    let pods = world.pods.map(|pod| pod.map(|pod| pod.phase));
    let backups = world.backups.map(|backup| backup.map(|backup| backup.phase));
    let waited = world.created.map(|created| now > created + WAIT);
    let engines = (jobs, pods, backups, world.removals);
    let outside = (world.location, world.target, world.allows, world.is_installed, world.admission_denies);
    let key = hash_of((operations, order, engines, outside, waited));
    let said = world.operations.each_ref().map(|own| {
        let open = own.status.as_deref().filter(|status| !own.is_gone && !is_final(Some(status)));
        // Of a kind that is not there, what was said last stands.
        let is_lost = |status: &&OperationStatus| {
            own.spec.task.is_backup() && !world.is_installed && status.engine_ref.is_some()
        };
        let open = open.filter(|status| !is_lost(status));
        open.map(|status| {
            let told = status.conditions.iter().map(|known| {
                let reason = if known.reason == "Unblocked" { "NotBlocked" } else { &known.reason };
                hash_of((known.status, reason))
            });
            told.collect::<Vec<_>>()
        })
    });
    (key, hash_of(said))
}
