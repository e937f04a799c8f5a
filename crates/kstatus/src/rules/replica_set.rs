//! ReplicaSet.

use super::replicas::{one_number, too_few, too_many};
use crate::object::Object;
use crate::outcome::Outcome;

/// A failure to create pods is still in progress: the controller retries.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    if let Some(entry) = object.condition("ReplicaFailure", "True") {
        let message = "Replica Failure condition. Check Pods";
        return Outcome::in_progress("ReplicaFailure", message, [entry.evidence("status")]);
    }
    let want = object.spec.field("spec.replicas").count(1);
    let there = object.status.field("status.replicas").count(0);
    let labelled = object.status.field("status.fullyLabeledReplicas").count(0);
    let available = object.status.field("status.availableReplicas").count(0);
    let ready = object.status.field("status.readyReplicas").count(0);
    too_few("LessLabelled", "Labelled", &labelled, &want)
        .or_else(|| too_few("LessAvailable", "Available", &available, &want))
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
        .or_else(|| too_many(&there, &want))
        .unwrap_or_else(|| {
            let message = one_number("ReplicaSet is available. Replicas: ", there.value);
            Outcome::current(message, [there.evidence(), want.evidence()])
        })
}
