//! What holds for every object, whatever its kind: deletion, generations, the two standard conditions.

use serde_json::{Map, Value};

use crate::evidence::{Evidence, Path};
use crate::object::{self, Object, Section};
use crate::outcome::Outcome;
use crate::refusal::Refusal;

/// An object after the checks that come before all rules.
#[derive(Debug)]
pub(crate) enum Observed<'a> {
    /// Nothing more to look at.
    Decided(Outcome<'a>),
    /// The rules decide.
    Open(Object<'a>),
}

/// Deletion, then generations. What comes later is not looked at, so it may be malformed.
pub(crate) fn observe(value: &Value) -> Result<Observed<'_>, Refusal> {
    let Value::Object(root) = value else {
        return Err(Refusal::wrong_type(Path::Field(""), value, "an object"));
    };
    let metadata = Section::strict(root, "metadata")?;
    if let Some(evidence) = being_deleted(&metadata)? {
        return Ok(Observed::Decided(Outcome::terminating(evidence)));
    }
    let generation = metadata.field("metadata.generation").strict_int()?;
    let status = Section::strict(root, "status")?;
    let observed_generation = match generation {
        Some(_) => status.field("status.observedGeneration").strict_int()?,
        None => None,
    };
    if let (Some(wanted), Some(seen)) = (generation, observed_generation)
        && wanted != seen
    {
        return Ok(Observed::Decided(not_observed(root, &metadata, &status, wanted, seen)));
    }
    let conditions = object::conditions(&status)?;
    let spec = Section::lenient(root, "spec");
    Ok(Observed::Open(Object { root, metadata, spec, status, conditions, generation, observed_generation }))
}

fn being_deleted<'a>(metadata: &Section<'a>) -> Result<Option<Evidence<'a>>, Refusal> {
    let field = metadata.field("metadata.deletionTimestamp");
    match field.raw {
        None => Ok(None),
        Some(Value::String(time)) if time.is_empty() => Ok(None),
        Some(Value::String(_)) => Ok(Some(field.evidence())),
        Some(other) => Err(Refusal::wrong_type(Path::Field(field.path), other, "a string")),
    }
}

fn not_observed<'a>(
    root: &'a Map<String, Value>,
    metadata: &Section<'a>,
    status: &Section<'a>,
    wanted: i64,
    seen: i64,
) -> Outcome<'a> {
    let kind = object::kind(root);
    Outcome::in_progress(
        "LatestGenerationNotObserved",
        format!("{kind} generation is {wanted}, but latest observed generation is {seen}"),
        [
            metadata.field("metadata.generation").evidence(),
            status.field("status.observedGeneration").evidence(),
        ],
    )
}

/// `Reconciling` and `Stalled` speak for any kind. If both are True, the first in the list counts.
pub(crate) fn standard_conditions<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    object.conditions.iter().find_map(|entry| match (entry.kind, entry.status) {
        ("Reconciling", "True") => {
            Some(Outcome::in_progress(entry.reason, entry.message, [entry.evidence("status")]))
        }
        ("Stalled", "True") => Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")])),
        _ => None,
    })
}
