//! What the reference is known not to see. Every rule here changes the reference's answer in one named situation;
//! `docs/reference/kstatus.md` lists them, and `tests/strict.rs` has a test for each row.

mod custom_resource;
mod failing_words;
mod generation;
mod node_and_network;
mod pods;
mod workloads;

use jiff::Timestamp;

use crate::object::Object;
use crate::outcome::{Outcome, Status};

/// The reference's answer, or a truer one.
pub(crate) fn review<'a>(object: &Object<'a>, decided: Outcome<'a>, now: Timestamp) -> Outcome<'a> {
    if let Some(outcome) = stalled_wins(object) {
        return outcome;
    }
    if spoken_by_convention(object) {
        return decided;
    }
    let group = object.group();
    let reviewed = match (group.unwrap_or_default(), object.kind()) {
        ("", "Pod") => pods::review(object),
        ("", "Service") => node_and_network::load_balancer_without_address(object, &decided),
        ("", "PersistentVolumeClaim") => node_and_network::lost_claim(object),
        ("", "PersistentVolume") => node_and_network::failed_volume(object),
        ("", "ReplicationController") => workloads::replication_controller(object),
        ("apps" | "extensions", "Deployment") => workloads::deployment(object, &decided),
        ("apps" | "extensions", "ReplicaSet") => workloads::replica_set(object),
        ("apps" | "extensions", "DaemonSet") => workloads::daemon_set(object, &decided),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("batch", "Job") => workloads::job(object, &decided),
        ("policy", "PodDisruptionBudget") => workloads::disruption_budget(object),
        ("apiregistration.k8s.io", "APIService") => node_and_network::unavailable_api(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => node_and_network::rejected_names(object),
        (group, _) if custom_resource::is_custom(group) => custom_resource::review(object, &decided, now),
        _ => None,
    };
    let outcome = reviewed.unwrap_or(decided);
    match outcome.status {
        Status::Current => generation::unobserved(object, &outcome).unwrap_or(outcome),
        _ => outcome,
    }
}

/// The reference lets the order of the list decide between the two.
fn stalled_wins<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let entry = object.condition("Stalled", "True")?;
    Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]))
}

/// A controller that says `Reconciling` knows best.
fn spoken_by_convention(object: &Object<'_>) -> bool {
    object.condition("Reconciling", "True").is_some()
}
