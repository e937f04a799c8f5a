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
//! A reason of another type, here one of `Blocked`:
//!
//! ```compile_fail,E0599
//! use vworkspace_api::application_instance::{ApplicationInstance, Blocked, Ready};
//! # use conditions::{ConditionSet, Moment};
//! # let at = Moment { generation: 1, now: jiff::Timestamp::UNIX_EPOCH };
//! let mut conditions = ConditionSet::<ApplicationInstance>::new();
//! conditions.set(Ready::MissingSecret, "Secret shop/values does not exist", at);
//! ```
//!
//! A status that the reason does not have: a reason brings its status along, and there is no place to write another.
//!
//! ```compile_fail,E0061
//! use vworkspace_api::application_instance::{ApplicationInstance, Blocked, Ready};
//! # use conditions::{ConditionSet, Moment};
//! # let at = Moment { generation: 1, now: jiff::Timestamp::UNIX_EPOCH };
//! let mut conditions = ConditionSet::<ApplicationInstance>::new();
//! conditions.set(Ready::WaitingForSecret, conditions::Status::True, "Secret shop/values does not exist", at);
//! ```
//!
//! A reason of another kind, even where type and reason have the same names:
//!
//! ```compile_fail,E0271
//! use vworkspace_api::{application_instance::ApplicationInstance, operation::Blocked};
//! # use conditions::{ConditionSet, Moment};
//! # let at = Moment { generation: 1, now: jiff::Timestamp::UNIX_EPOCH };
//! let mut conditions = ConditionSet::<ApplicationInstance>::new();
//! conditions.set(Blocked::AwaitingApproval, "claim missing", at);
//! ```
//!
//! A string:
//!
//! ```compile_fail,E0277
//! use vworkspace_api::application_instance::{ApplicationInstance, Blocked, Ready};
//! # use conditions::{ConditionSet, Moment};
//! # let at = Moment { generation: 1, now: jiff::Timestamp::UNIX_EPOCH };
//! let mut conditions = ConditionSet::<ApplicationInstance>::new();
//! conditions.set("WaitingForSecret", "Secret shop/values does not exist", at);
//! ```
//!
//! `Stalled`, which follows from the other conditions and is nobody's to set:
//!
//! ```compile_fail,E0432
//! use vworkspace_api::application_instance::Stalled;
//! ```

pub mod application_instance;

mod duration;
mod rule;
mod vocabulary;

pub use duration::{Duration, NotADuration};
pub use vocabulary::{cluster, operation};

use conditions::{Kind, Vocabulary};

/// The vocabularies of all kinds.
pub const VOCABULARIES: [&Vocabulary; 3] = [
    application_instance::ApplicationInstance::VOCABULARY,
    operation::Operation::VOCABULARY,
    cluster::Cluster::VOCABULARY,
];
