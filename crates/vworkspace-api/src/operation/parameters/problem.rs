//! What is wrong with the parameters, in sentences.

use std::fmt;

use serde_json::Value;

/// As many problems are told; the others are counted.
const TOLD: usize = 5;
/// As many characters of what was found are quoted.
const QUOTED: usize = 60;

/// All that is wrong with what was asked for; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    /// A single problem.
    pub(super) fn one(problem: String) -> Self {
        Self(vec![problem])
    }

    /// The problems, if there are any.
    pub(super) fn any(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    /// Each of them, in a sentence.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().take(TOLD).enumerate() {
            let between = if position == 0 { "" } else { ". " };
            write!(f, "{between}{problem}")?;
        }
        match self.0.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, ". And {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// `field` below spec.parameters, or spec.parameters itself where it is empty.
pub(super) fn problem(field: &str, found: &str, expected: &str) -> String {
    let dot = if field.is_empty() { "" } else { "." };
    format!("spec.parameters{dot}{}: found {found}; expected {expected}", cut(field))
}

/// What was found, in few words.
pub(super) fn quoted(found: &Value) -> String {
    match found {
        Value::String(text) => format!("'{}'", cut(text)),
        Value::Number(number) => format!("the number {}", cut(&number.to_string())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => sort_of(found).to_owned(),
    }
}

/// What sort of value was found, where the value itself may be a password.
pub(super) fn sort_of(found: &Value) -> &'static str {
    match found {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The beginning of a text, on one line.
fn cut(text: &str) -> String {
    let mut characters = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let beginning: String = characters.by_ref().take(QUOTED).collect();
    if characters.next().is_some() { format!("{beginning}...") } else { beginning }
}
