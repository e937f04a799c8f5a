//! Service.

use crate::object::Object;
use crate::outcome::Outcome;

/// Only a load balancer has anything to wait for, and only for its cluster address.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    let kind = object.spec.field("spec.type");
    let address = object.spec.field("spec.clusterIP");
    if kind.text() == Some("LoadBalancer") && address.text().unwrap_or_default().is_empty() {
        return Outcome::in_progress(
            "NoIPAssigned",
            "ClusterIP not set. Service type: LoadBalancer",
            [kind.evidence(), address.evidence()],
        );
    }
    Outcome::current("Service is ready", [kind.evidence()])
}
