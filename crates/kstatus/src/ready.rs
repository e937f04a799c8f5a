//! The `Ready` condition: the last resort for kinds without a rule of their own.

use crate::object::Object;
use crate::outcome::Outcome;

/// The first `Ready` with a status that means something. False is never Failed here: nobody can tell from it
/// whether the object is on its way or lost.
pub(crate) fn condition<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let ready = object.conditions.iter().filter(|entry| entry.kind == "Ready");
    ready.into_iter().find_map(|entry| match entry.status {
        "True" => Some(Outcome::current("Resource is Ready", [entry.evidence("status")])),
        "False" | "Unknown" => {
            Some(Outcome::in_progress(entry.reason, entry.message, [entry.evidence("status")]))
        }
        _ => None,
    })
}
