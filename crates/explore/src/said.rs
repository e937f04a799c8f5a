//! What a status says, for the checks of any kind.

use std::fmt::Write as _;

use conditions::Condition;

use crate::hash::hash_of;

/// One number for each condition.
pub(crate) fn numbers(conditions: &[Condition]) -> Vec<u64> {
    conditions.iter().map(|known| hash_of((known.status, &known.reason))).collect()
}

/// The conditions in one line.
#[must_use]
pub fn words(conditions: &[Condition]) -> String {
    let mut words = String::new();
    for known in conditions {
        let status = known.status.as_str().chars().next().unwrap_or('?');
        let space = if words.is_empty() { "" } else { " " };
        let _ = write!(words, "{space}{}={status}/{}", known.type_, known.reason);
    }
    words
}

/// Whether one of the conditions is `Type=Status` or `Type=Status/Reason`. Asked a hundred times for each reconcile.
#[must_use]
pub fn says(conditions: &[Condition], pattern: &str) -> bool {
    conditions.iter().any(|known| is(known, pattern))
}

fn is(known: &Condition, pattern: &str) -> bool {
    let Some(said) = pattern.strip_prefix(known.type_.as_str()).and_then(|rest| rest.strip_prefix('='))
    else {
        return false;
    };
    let Some(rest) = said.strip_prefix(known.status.as_str()) else { return false };
    rest.is_empty() || rest.strip_prefix('/').is_some_and(|reason| known.reason == reason)
}

/// The first pair of these that is said and that excludes each other.
#[must_use]
pub fn contradiction(
    conditions: &[Condition],
    excluded: &'static [(&str, &str)],
) -> Option<&'static (&'static str, &'static str)> {
    excluded.iter().find(|(one, other)| says(conditions, one) && says(conditions, other))
}
