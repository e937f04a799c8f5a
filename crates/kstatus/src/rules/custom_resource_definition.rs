//! CustomResourceDefinition.

use crate::object::Object;
use crate::outcome::Outcome;

/// The first decisive condition in list order counts.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    let decisive =
        object.conditions.iter().find_map(|entry| match (entry.kind, entry.status, entry.reason) {
            ("Established", "False", "Installing") => None,
            ("Established" | "NamesAccepted", "False", _) => {
                Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]))
            }
            ("Established", "True", _) => {
                Some(Outcome::current("CRD is established", [entry.evidence("status")]))
            }
            _ => None,
        });
    decisive.unwrap_or_else(|| {
        let conditions = object.status.field("status.conditions");
        Outcome::in_progress("Installing", "Install in progress", [conditions.evidence()])
    })
}
