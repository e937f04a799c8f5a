//! PersistentVolumeClaim.

use crate::object::Object;
use crate::outcome::Outcome;

/// Bound or not; Lost is no failure here.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    let phase = object.status.field("status.phase");
    match phase.text().unwrap_or("unknown") {
        "Bound" => Outcome::current("PVC is Bound", [phase.evidence()]),
        other => {
            Outcome::in_progress("NotBound", format!("PVC is not Bound. phase: {other}"), [phase.evidence()])
        }
    }
}
