//! Deployment.

use super::replicas::{one_number, too_few, too_many};
use crate::evidence::Evidence;
use crate::object::{Entry, Object};
use crate::outcome::{Outcome, Status};

/// The controller writes no `Progressing` condition for a deadline of this value, nor without one.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// A missed deadline, then the counts, then the conditions.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    deadline_missed(object)
        .or_else(|| counts(object))
        .or_else(|| conditions_of_rollout(object))
        .unwrap_or_else(|| {
            let replicas = object.status.field("status.replicas").count(0);
            let message = one_number("Deployment is available. Replicas: ", replicas.value);
            Outcome::current(message, [replicas.evidence(), available(object).1])
        })
}

/// The reason alone decides, whatever the condition's status.
fn deadline_missed<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let missed =
        |entry: &&Entry<'a>| entry.kind == "Progressing" && entry.reason == "ProgressDeadlineExceeded";
    let entry = object.conditions.iter().find(missed)?;
    let outcome = Outcome::failed(entry.reason, entry.message, [entry.evidence("reason")]);
    Some(Outcome { message: "Progress deadline exceeded".into(), status: Status::Failed, ..outcome })
}

fn counts<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let want = object.spec.field("spec.replicas").count(1);
    let there = object.status.field("status.replicas").count(0);
    let updated = object.status.field("status.updatedReplicas").count(0);
    let available = object.status.field("status.availableReplicas").count(0);
    let ready = object.status.field("status.readyReplicas").count(0);
    too_few("LessReplicas", "Replicas", &there, &want)
        .or_else(|| too_few("LessUpdated", "Updated", &updated, &want))
        .or_else(|| too_many(&there, &want))
        .or_else(|| too_few("LessAvailable", "Available", &available, &updated))
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
}

/// The counts are right; are the conditions?
fn conditions_of_rollout<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let deadline = object.spec.field("spec.progressDeadlineSeconds");
    let rolled_out =
        |entry: &Entry<'a>| entry.is("Progressing", "True") && entry.reason == "NewReplicaSetAvailable";
    if deadline.int().unwrap_or(NO_DEADLINE) != NO_DEADLINE && !object.conditions.iter().any(rolled_out) {
        let progressing = object.conditions.iter().find(|entry| entry.kind == "Progressing");
        let evidence = match progressing {
            Some(entry) => entry.evidence("reason"),
            None => object.status.field("status.conditions").evidence(),
        };
        return Some(Outcome::in_progress("ReplicaSetNotAvailable", "ReplicaSet not Available", [evidence]));
    }
    let (is_available, evidence) = available(object);
    (!is_available)
        .then(|| Outcome::in_progress("DeploymentNotAvailable", "Deployment not Available", [evidence]))
}

pub(crate) fn is_available(object: &Object<'_>) -> bool {
    available(object).0
}

fn available<'a>(object: &Object<'a>) -> (bool, Evidence<'a>) {
    if let Some(entry) = object.condition("Available", "True") {
        return (true, entry.evidence("status"));
    }
    match object.conditions.iter().find(|entry| entry.kind == "Available") {
        Some(entry) => (false, entry.evidence("status")),
        None => (false, object.status.field("status.conditions").evidence()),
    }
}
