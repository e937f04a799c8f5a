//! Why an object has no status.

use std::fmt;

use serde_json::Value;

use crate::evidence::Path;

/// The object cannot be judged; the reference refuses it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A field is of the wrong type.
    WrongType {
        /// Where.
        path: Path,
        /// What was found, shortened.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A Pod is in a phase that nobody defined.
    UnknownPhase(String),
}

impl Refusal {
    pub(crate) fn wrong_type(path: Path, found: &Value, expected: &'static str) -> Refusal {
        Refusal::WrongType { path, found: describe(found), expected }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::WrongType { path: Path::Field(""), found, expected } => {
                write!(f, "found {found}, expected {expected}")
            }
            Refusal::WrongType { path, found, expected } => {
                write!(f, "{path} is {found}, expected {expected}")
            }
            Refusal::UnknownPhase(phase) => write!(f, "unknown phase {phase}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Scalars in full, if short: people search their files for them.
fn describe(value: &Value) -> String {
    const LONGEST: usize = 60;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= LONGEST => format!("the string {text:?}"),
        Value::String(_) => "a long string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
