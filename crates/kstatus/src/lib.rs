//! The reconcile status of any Kubernetes object, by the kpt convention. What belongs here: rules that lead from one
//! object and a clock to a status, with the fields that decided. What does not: reading objects from files or
//! clusters, waiting for them, and output formats.
//!
//! ```
//! use kstatus::{Options, Profile, Status, compute};
//!
//! let claim = serde_json::json!({
//!     "apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Lost"},
//! });
//! let now = "2026-01-01T00:00:00Z".parse()?;
//!
//! let outcome = compute(&claim, &Options { profile: Profile::Compatible, now })?;
//! assert_eq!(outcome.status, Status::InProgress);
//! assert_eq!(outcome.message, "PVC is not Bound. phase: Lost");
//! assert_eq!(outcome.evidence[0].to_string(), r#"status.phase="Lost""#);
//!
//! let outcome = compute(&claim, &Options { profile: Profile::Strict, now })?;
//! assert_eq!(outcome.status, Status::Failed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convention;
mod evidence;
mod go_time;
mod object;
mod outcome;
mod ready;
mod refusal;
mod rules;
mod strict;

use jiff::Timestamp;
use serde_json::Value;

pub use evidence::{Evidence, FieldEvidence, OwnedEvidence, Path};
pub use outcome::{Condition, ConditionType, Outcome, Status};
pub use refusal::Refusal;

use object::Object;

/// How to read an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Which rules apply.
    pub profile: Profile,
    /// The time at which the object is judged.
    pub now: Timestamp,
}

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Answers exactly as the reference implementation does, its blind spots included.
    #[default]
    Compatible,
    /// The same rules, and further ones for what the reference is known not to see.
    Strict,
}

/// The reconcile status of `object`.
///
/// # Errors
///
/// A [`Refusal`] names the field that cannot be what it is; the reference refuses (or crashes on) the same objects.
pub fn compute<'a>(object: &'a Value, options: &Options) -> Result<Outcome<'a>, Refusal> {
    let (object, decided) = match convention::observe(object)? {
        convention::Observed::Decided(outcome) => return Ok(outcome),
        convention::Observed::Open(object) => {
            let decided = by_convention_or_rule(&object, options.now)?;
            (object, decided)
        }
    };
    Ok(match options.profile {
        Profile::Compatible => decided,
        Profile::Strict => strict::review(&object, decided, options.now),
    })
}

fn by_convention_or_rule<'a>(object: &Object<'a>, now: Timestamp) -> Result<Outcome<'a>, Refusal> {
    if let Some(outcome) = convention::standard_conditions(object) {
        return Ok(outcome);
    }
    if let Some(outcome) = rules::built_in(object, now) {
        return outcome;
    }
    Ok(ready::condition(object).unwrap_or_else(|| Outcome::current("Resource is current", [])))
}
