//! After the end nothing is said or started any more: what is left is cleaned up in time.

use std::time::Duration;

use conditions::Draft;
use jiff::Timestamp;
use kube::api::ObjectMeta;
use operator_kit::{Deletion, Dependents, Finalizer, ObjectKey, Plan};
use vworkspace_api::operation::{
    Accepted, Blocked, Cancelled, Failed, Operation, OperationStatus, Running, Succeeded,
};

use super::status::moment;
use crate::controllers::operation::observe::World;

pub(super) fn plan(operation: &Operation, world: &World, now: Timestamp) -> Plan<OperationStatus> {
    let finished = operation.status.as_ref().and_then(|status| status.finished_at.as_ref());
    let finished = finished.map_or(now, |time| time.0);
    let due = |kept: Duration| finished.checked_add(kept).ok();
    let own = operation
        .spec
        .ttl_after_finished
        .and_then(|ttl| Some((due(ttl.into())?, delete(&operation.metadata)?)));
    let left = world.engine.as_ref().ok().and_then(|engine| engine.cleanup());
    let left = left.and_then(|(kept, deletion)| Some((due(kept)?, deletion)));
    let (now_due, later): (Vec<_>, Vec<_>) = own.into_iter().chain(left).partition(|(at, _)| *at <= now);
    Plan {
        deletions: now_due.into_iter().map(|(_, deletion)| deletion).collect(),
        requeue_at: later.into_iter().map(|(at, _)| at).min(),
        ..Plan::only_status(Finalizer::Release, as_it_ended(operation, now))
    }
}

/// Not a word changes, also if the spec does: it only says for which generation it holds.
fn as_it_ended(operation: &Operation, now: Timestamp) -> OperationStatus {
    let before = operation.status.clone().unwrap_or_default();
    let mut draft = Draft::next(before.conditions, moment(operation, now));
    draft.keep::<Accepted>();
    draft.keep::<Running>();
    draft.keep::<Succeeded>();
    draft.keep::<Failed>();
    draft.keep::<Cancelled>();
    draft.keep::<Blocked>();
    let observed_generation = operation.metadata.generation;
    OperationStatus { conditions: draft.finish(), observed_generation, ..before }
}

fn delete(meta: &ObjectMeta) -> Option<Deletion> {
    let uid = meta.uid.as_deref().filter(|_| meta.deletion_timestamp.is_none())?;
    Some(Deletion::new::<Operation>(ObjectKey::of_meta(meta), uid, Dependents::GoToo))
}
