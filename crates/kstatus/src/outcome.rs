//! What an object's status can be.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::evidence::Evidence;

/// Where an object stands between what is wanted and what is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Status {
    /// What is wanted is there, or nothing says otherwise.
    Current,
    /// On its way.
    InProgress,
    /// Something is wrong. Not final: it may recover.
    Failed,
    /// Being deleted.
    Terminating,
    /// The object does not exist. Never computed: readers of a cluster say it.
    NotFound,
    /// Nobody can tell. Never computed: readers say it of an object that was refused.
    Unknown,
}

impl Status {
    /// The name as the reference spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Current => "Current",
            Status::InProgress => "InProgress",
            Status::Failed => "Failed",
            Status::Terminating => "Terminating",
            Status::NotFound => "NotFound",
            Status::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The two standard condition types that a status translates to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum ConditionType {
    /// Goes with [`Status::InProgress`].
    Reconciling,
    /// Goes with [`Status::Failed`].
    Stalled,
}

impl ConditionType {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionType::Reconciling => "Reconciling",
            ConditionType::Stalled => "Stalled",
        }
    }
}

/// The standard condition that an object in this state should carry; its status is always `True`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition<'a> {
    /// Which of the two.
    pub kind: ConditionType,
    /// One word; empty where the object gives none.
    pub reason: Cow<'a, str>,
    /// One sentence; empty where the object gives none.
    pub message: Cow<'a, str>,
}

/// The status of one object, why, and which fields said so.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<'a> {
    /// Where the object stands.
    pub status: Status,
    /// Why, for a person.
    pub message: Cow<'a, str>,
    /// Present for `InProgress` (`Reconciling`) and `Failed` (`Stalled`), absent otherwise.
    pub condition: Option<Condition<'a>>,
    /// The fields that decided. Empty means that nothing did: the status is assumed, not observed.
    pub evidence: Vec<Evidence<'a>>,
}

impl<'a> Outcome<'a> {
    pub(crate) fn current<const N: usize>(
        message: impl Into<Cow<'a, str>>,
        evidence: [Evidence<'a>; N],
    ) -> Outcome<'a> {
        Outcome {
            status: Status::Current,
            message: message.into(),
            condition: None,
            evidence: evidence.into(),
        }
    }

    pub(crate) fn terminating(evidence: Evidence<'a>) -> Outcome<'a> {
        Outcome {
            status: Status::Terminating,
            message: Cow::Borrowed("Resource scheduled for deletion"),
            condition: None,
            evidence: vec![evidence],
        }
    }

    pub(crate) fn in_progress<const N: usize>(
        reason: impl Into<Cow<'a, str>>,
        message: impl Into<Cow<'a, str>>,
        evidence: [Evidence<'a>; N],
    ) -> Outcome<'a> {
        Outcome::with_condition(
            Status::InProgress,
            ConditionType::Reconciling,
            reason.into(),
            message.into(),
            evidence.into(),
        )
    }

    pub(crate) fn failed<const N: usize>(
        reason: impl Into<Cow<'a, str>>,
        message: impl Into<Cow<'a, str>>,
        evidence: [Evidence<'a>; N],
    ) -> Outcome<'a> {
        Outcome::with_condition(
            Status::Failed,
            ConditionType::Stalled,
            reason.into(),
            message.into(),
            evidence.into(),
        )
    }

    fn with_condition(
        status: Status,
        kind: ConditionType,
        reason: Cow<'a, str>,
        message: Cow<'a, str>,
        evidence: Vec<Evidence<'a>>,
    ) -> Outcome<'a> {
        let condition = Some(Condition { kind, reason, message: message.clone() });
        Outcome { status, message, condition, evidence }
    }

    /// The reason of the resulting condition, if there is one.
    pub fn reason(&self) -> Option<&str> {
        self.condition.as_ref().map(|condition| condition.reason.as_ref())
    }
}
