//! Services, volumes, and the extension points of the API server.

use crate::object::Object;
use crate::outcome::{Outcome, Status};

/// Nobody outside can reach it yet.
pub(super) fn load_balancer_without_address<'a>(
    object: &Object<'a>,
    decided: &Outcome<'a>,
) -> Option<Outcome<'a>> {
    let kind = object.spec.field("spec.type");
    let addresses = object.status.field("status.loadBalancer.ingress");
    let waits = kind.text() == Some("LoadBalancer") && addresses.list().is_empty();
    (waits && decided.status == Status::Current).then(|| {
        let message = "The load balancer has no address yet";
        Outcome::in_progress("NoLoadBalancerAddress", message, [kind.evidence(), addresses.evidence()])
    })
}

/// The volume behind the claim is gone: no waiting brings it back.
pub(super) fn lost_claim<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let phase = object.status.field("status.phase");
    (phase.text() == Some("Lost"))
        .then(|| Outcome::failed("ClaimLost", "PVC is not Bound. phase: Lost", [phase.evidence()]))
}

/// Reclaiming the volume failed.
pub(super) fn failed_volume<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let phase = object.status.field("status.phase");
    (phase.text() == Some("Failed")).then(|| {
        let message = object.status.field("status.message").text().unwrap_or("PersistentVolume is Failed");
        Outcome::failed("VolumeFailed", message, [phase.evidence()])
    })
}

/// The API that it announces does not answer.
pub(super) fn unavailable_api<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let entry = object.condition("Available", "False")?;
    Some(Outcome::in_progress(entry.reason, entry.message, [entry.evidence("status")]))
}

/// The reference overlooks it behind an `Established=True`.
pub(super) fn rejected_names<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let entry = object.condition("NamesAccepted", "False")?;
    Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]))
}
