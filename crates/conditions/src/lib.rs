//! Kubernetes status conditions that cannot say something wrong. What belongs here: [`Condition`] exactly as
//! `metav1` has it, [`ConditionSet`] with the rules that keep it honest (transition times, generations, order), the
//! shape of a typed, closed vocabulary ([`conditions!`]), and how kstatus reads it ([`kstatus`]). What does not: the
//! vocabularies themselves (they live beside their kinds), a clock, I/O, a Kubernetes client.
//!
//! The JSON schema of a condition list, for CRDs, comes with the feature `schemars`.

pub mod kstatus;
pub mod limits;
pub mod proofread;
pub mod reference;

mod condition;
mod draft;
mod rule;
#[cfg(feature = "schemars")]
mod schema;
mod set;
mod table;
mod vocabulary;

pub use condition::{Condition, Refusal, Status};
pub use draft::Draft;
pub use kstatus::Reads;
pub use rule::{Finding, Rule, Subject, Verdict, described, first};
pub use set::{ConditionSet, Moment};
#[doc(hidden)]
pub use vocabulary::MadeWithConditions;
pub use vocabulary::{ConditionType, Entry, Kind, Origin, Reason, Severity, TypeListing, Vocabulary};
