//! Has anybody looked at this generation?

use super::custom_resource::is_custom;
use crate::evidence::{Evidence, Path};
use crate::object::{CONDITIONS, Entry, Object, integer};
use crate::outcome::Outcome;

/// A status that nobody tied to the wanted generation says nothing about it.
///
/// The first generation needs no mention: a status that exists can be about nothing else. The `observedGeneration`
/// of the condition that decided counts more than that of the whole status.
pub(super) fn unobserved<'a>(object: &Object<'a>, decided: &Outcome<'a>) -> Option<Outcome<'a>> {
    if !writes_generations(object) || object.status.is_empty() {
        return None;
    }
    let wanted = object.generation?;
    let deciding = deciding_condition(object, decided);
    if let Some((entry, seen)) = deciding.and_then(|entry| Some((entry, generation_of(entry)?))) {
        return (seen < wanted).then(|| not_observed(object, wanted, entry.evidence("observedGeneration")));
    }
    let newest = object.conditions.iter().filter_map(generation_of).max();
    let seen = object.observed_generation.or(newest).unwrap_or(1);
    (seen < wanted)
        .then(|| not_observed(object, wanted, object.status.field("status.observedGeneration").evidence()))
}

fn deciding_condition<'o, 'a>(object: &'o Object<'a>, decided: &Outcome<'a>) -> Option<&'o Entry<'a>> {
    decided.evidence.iter().find_map(|evidence| match evidence.path {
        Path::Entry { list: CONDITIONS, index, .. } => object.conditions.get(index),
        _ => None,
    })
}

/// Kinds of which the controller is known, or expected by convention, to write it.
fn writes_generations(object: &Object<'_>) -> bool {
    match object.group() {
        Some("apps" | "extensions" | "policy") => true,
        Some(group) => is_custom(group),
        None => false,
    }
}

fn generation_of(entry: &Entry<'_>) -> Option<i64> {
    entry.get("observedGeneration").and_then(integer)
}

fn not_observed<'a>(object: &Object<'a>, wanted: i64, seen: Evidence<'a>) -> Outcome<'a> {
    let message =
        format!("{} generation is {wanted}, but its status does not say that it was observed", object.kind());
    let wanted = object.metadata.field("metadata.generation");
    Outcome::in_progress("GenerationNotObserved", message, [wanted.evidence(), seen])
}
