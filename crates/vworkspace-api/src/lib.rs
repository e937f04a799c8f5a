//! The API of vWorkspace: groups `apps.vworkspace.io` and `ops.vworkspace.io`. What belongs here: the kinds, and the
//! vocabularies of their conditions. What does not: what a controller does with them, and how a condition list
//! behaves (crate `conditions`).
//!
//! # What does not compile
//!
//! This does:
//!
//! ```
//! use vworkspace_api::application_instance::{ApplicationInstance, Blocked, Ready};
//! # use conditions::{ConditionSet, Moment};
//! # let at = Moment { generation: 1, now: jiff::Timestamp::UNIX_EPOCH };
//! let mut conditions = ConditionSet::<ApplicationInstance>::new();
//! conditions.set(Ready::WaitingForSecret, "Secret shop/values does not exist", at);
//! conditions.set(Blocked::MissingSecret, "Secret shop/values does not exist", at);
//! ```
//!
//! `tests/does_not_compile` shows what cannot be said: a reason of another type or kind, a status that a reason does not have, a
//! string, and `Stalled`, which follows from the other conditions and is nobody's to set.

pub mod application_instance;
pub mod operation;

mod duration;
mod rule;
mod schema;
mod vocabulary;

pub use duration::{Duration, NotADuration};
pub use vocabulary::cluster;

use conditions::{Kind, Vocabulary};

/// The vocabularies of all kinds.
pub const VOCABULARIES: [&Vocabulary; 3] = [
    application_instance::ApplicationInstance::VOCABULARY,
    operation::Operation::VOCABULARY,
    cluster::Cluster::VOCABULARY,
];
