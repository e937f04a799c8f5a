//! DaemonSet.

use super::replicas::{one_number, too_few};
use crate::object::Object;
use crate::outcome::Outcome;

/// What the rule takes for "the controller has not counted yet".
const NOT_COUNTED: i64 = -1;

/// The one rule that insists on both generations: the controller always writes its own.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    never_observed(object).or_else(|| counts(object)).unwrap_or_else(|| {
        let want = object.status.field("status.desiredNumberScheduled").count(NOT_COUNTED);
        let message = one_number("All replicas scheduled as expected. Replicas: ", want.value);
        let ready = object.status.field("status.numberReady");
        Outcome::current(message, [want.evidence(), ready.evidence()])
    })
}

fn never_observed<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let (reason, field) = if object.generation.is_none() {
        ("NoGeneration", object.metadata.field("metadata.generation"))
    } else if object.observed_generation.is_none() {
        ("NoObservedGeneration", object.status.field("status.observedGeneration"))
    } else {
        return None;
    };
    let message = format!("{} {} not found", object.kind(), field.path);
    Some(Outcome::in_progress(reason, message, [field.evidence()]))
}

fn counts<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let want = object.status.field("status.desiredNumberScheduled").count(NOT_COUNTED);
    if want.value == NOT_COUNTED {
        let message = "Missing .status.desiredNumberScheduled";
        return Some(Outcome::in_progress("NoDesiredNumber", message, [want.evidence()]));
    }
    let there = object.status.field("status.currentNumberScheduled").count(0);
    let updated = object.status.field("status.updatedNumberScheduled").count(0);
    let available = object.status.field("status.numberAvailable").count(0);
    let ready = object.status.field("status.numberReady").count(0);
    too_few("LessCurrent", "Current", &there, &want)
        .or_else(|| too_few("LessUpdated", "Updated", &updated, &want))
        .or_else(|| too_few("LessAvailable", "Available", &available, &want))
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
}
