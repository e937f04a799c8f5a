//! Owners of pods.

use crate::object::Object;
use crate::outcome::{Outcome, Status};
use crate::rules;
use crate::rules::replicas::{one_number, too_few, too_many};

/// Pods that cannot be created; a pause.
pub(super) fn deployment<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    cannot_create_pods(object, decided).or_else(|| paused(object, decided))
}

/// Quota, admission, a missing ServiceAccount: the controller retries for ever, and says so.
fn cannot_create_pods<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    let entry = object.condition("ReplicaFailure", "True")?;
    (decided.status != Status::Current)
        .then(|| Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]))
}

/// A paused rollout that has nothing left to do is done; the controller just never says so.
fn paused<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    let pause = object.spec.field("spec.paused");
    if !pause.flag() || decided.status != Status::InProgress {
        return None;
    }
    let complete =
        decided.reason() == Some("ReplicaSetNotAvailable") && rules::deployment::is_available(object);
    Some(if complete {
        let replicas = object.status.field("status.replicas").count(0);
        let message = one_number("Deployment is paused and available. Replicas: ", replicas.value);
        Outcome::current(message, [pause.evidence(), replicas.evidence()])
    } else {
        let message = format!("Deployment is paused: {}", decided.message);
        let mut outcome = Outcome::in_progress("DeploymentPaused", message, [pause.evidence()]);
        outcome.evidence.extend(decided.evidence.iter().copied());
        outcome
    })
}

/// As for a Deployment.
pub(super) fn replica_set<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let entry = object.condition("ReplicaFailure", "True")?;
    Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]))
}

/// The reference has no rule for it.
pub(super) fn replication_controller<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let want = object.spec.field("spec.replicas").count(1);
    let there = object.status.field("status.replicas").count(0);
    let ready = object.status.field("status.readyReplicas").count(0);
    replica_set(object)
        .or_else(|| too_few("LessReplicas", "Replicas", &there, &want))
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
        .or_else(|| too_many(&there, &want))
}

/// `OnDelete` leaves the revisions to the user, not the pods; and ready is not yet available.
pub(super) fn stateful_set<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let want = object.spec.field("spec.replicas").count(1);
    let there = object.status.field("status.replicas").count(0);
    let ready = object.status.field("status.readyReplicas").count(0);
    let counted = object.status.field("status.availableReplicas");
    too_few("LessReplicas", "Replicas", &there, &want)
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
        .or_else(|| too_many(&there, &want))
        .or_else(|| {
            counted.int().and_then(|_| too_few("LessAvailable", "Available", &counted.count(0), &want))
        })
}

/// With `OnDelete` pods of the old revision may stay as long as the user likes.
pub(super) fn daemon_set<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    let strategy = object.spec.field("spec.updateStrategy.type");
    if strategy.text() != Some("OnDelete") || decided.reason() != Some("LessUpdated") {
        return None;
    }
    let want = object.status.field("status.desiredNumberScheduled").count(0);
    let available = object.status.field("status.numberAvailable").count(0);
    let ready = object.status.field("status.numberReady").count(0);
    too_few("LessAvailable", "Available", &available, &want)
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
        .or_else(|| {
            let message = one_number("All replicas scheduled as expected. Replicas: ", want.value);
            Some(Outcome::current(message, [strategy.evidence(), want.evidence(), ready.evidence()]))
        })
}

/// A Job is done when it is done, fails as soon as that is certain, and gives its own reason.
pub(super) fn job<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    let own = |kind| object.condition(kind, "True");
    if let Some(entry) = own("Failed").or_else(|| own("FailureTarget")) {
        let message = if entry.message.is_empty() { "Job Failed" } else { entry.message };
        return Some(Outcome::failed(
            entry.reason,
            message,
            [entry.evidence("status"), entry.evidence("reason")],
        ));
    }
    let suspended = own("Suspended").is_some() && object.spec.field("spec.suspend").flag();
    let runs = decided.status == Status::Current && own("Complete").is_none() && !suspended;
    runs.then(|| {
        let start = object.status.field("status.startTime");
        Outcome::in_progress("JobInProgress", decided.message.clone(), [start.evidence()])
    })
}

/// The controller could not count the pods, or has not tried.
pub(super) fn disruption_budget<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    if let Some(entry) =
        object.condition("DisruptionAllowed", "False").filter(|entry| entry.reason == "SyncFailed")
    {
        return Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("reason")]));
    }
    let observed = object.status.field("status.observedGeneration");
    observed.int().is_none().then(|| {
        let message = "PodDisruptionBudget has not been observed yet";
        Outcome::in_progress("StatusNotObserved", message, [observed.evidence()])
    })
}
