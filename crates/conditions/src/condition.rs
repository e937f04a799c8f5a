//! One condition, as it stands in `status.conditions[]`.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits;

/// Whether what the type says holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody can tell yet.
    Unknown,
}

impl Status {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::True => "True",
            Status::False => "False",
            Status::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A `metav1.Condition`; its JSON is byte for byte that of k8s-openapi's.
///
/// Whatever k8s-openapi reads is read here too, lest one odd condition that somebody else wrote hides the whole object; a
/// status that is none of the three reads as Unknown.
// Fields in the order of the wire, which is the alphabet's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When `status` last changed, in whole seconds.
    #[serde(serialize_with = "write_seconds", deserialize_with = "read_seconds")]
    pub last_transition_time: Timestamp,
    /// What a person should know.
    #[serde(default, deserialize_with = "null_is_default")]
    pub message: String,
    /// The generation of the object that this was said about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Why, as one word of the vocabulary.
    #[serde(default, deserialize_with = "null_is_default")]
    pub reason: String,
    /// Whether the type holds.
    #[serde(default = "unknown", deserialize_with = "read_status")]
    pub status: Status,
    /// What it is about.
    #[serde(rename = "type", default, deserialize_with = "null_is_default")]
    pub type_: String,
}

/// Why the API server would refuse a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The type does not fit [`limits::TYPE_PATTERN`] or is too long.
    Type(String),
    /// The reason does not fit [`limits::REASON_PATTERN`] or is too long.
    Reason(String),
    /// The message has more characters than [`limits::MAX_MESSAGE`].
    Message(usize),
    /// The generation is negative.
    ObservedGeneration(i64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Type(name) => write!(f, "condition type {name:?} does not fit {}", limits::TYPE_PATTERN),
            Refusal::Reason(reason) => {
                write!(f, "reason {reason:?} does not fit {}", limits::REASON_PATTERN)
            }
            Refusal::Message(length) => {
                write!(f, "message has {length} characters, at most {} are allowed", limits::MAX_MESSAGE)
            }
            Refusal::ObservedGeneration(generation) => {
                write!(f, "observedGeneration {generation} is negative")
            }
        }
    }
}

impl std::error::Error for Refusal {}

impl Condition {
    /// Whether the API server would take a condition that somebody else made; our own always fit.
    pub fn check(&self) -> Result<(), Refusal> {
        if !limits::is_type(&self.type_) {
            return Err(Refusal::Type(self.type_.clone()));
        }
        if !limits::is_reason(&self.reason) {
            return Err(Refusal::Reason(self.reason.clone()));
        }
        let length = self.message.chars().count();
        if length > limits::MAX_MESSAGE {
            return Err(Refusal::Message(length));
        }
        match self.observed_generation {
            Some(generation) if generation < 0 => Err(Refusal::ObservedGeneration(generation)),
            _ => Ok(()),
        }
    }
}

/// `time` without its fraction of a second: the wire has none, and a value must equal itself after a round trip.
pub(crate) fn whole_seconds(time: Timestamp) -> Timestamp {
    // Rounding down as Go does, also before 1970; the earliest second has nothing below it.
    let second = time.as_nanosecond().div_euclid(1_000_000_000);
    i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(time)
}

fn write_seconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&whole_seconds(*time))
}

const fn unknown() -> Status {
    Status::Unknown
}

fn read_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Status, D::Error> {
    let word = Option::<Cow<'de, str>>::deserialize(deserializer)?;
    Ok(match word.as_deref() {
        Some("True") => Status::True,
        Some("False") => Status::False,
        _ => Status::Unknown,
    })
}

fn null_is_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn read_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    Timestamp::deserialize(deserializer).map(whole_seconds)
}
