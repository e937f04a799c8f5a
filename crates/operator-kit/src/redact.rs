//! Makes other people's messages safe to copy into conditions and logs.
//!
//! Credentials are always masked. Where values come from a Secret, the errors of templates, schemas and the API server can
//! quote them, so what can be a value is masked too: quoted runs, and what stands where these programs print values. What
//! is left tells where the trouble is: JSON pointers, file positions, names that the caller knows.

mod masks;
mod runs;
#[cfg(test)]
mod tests;

use crate::one_line::one_line;
use masks::MASKS;

/// Longer messages end with an ellipsis.
const MAX_CHARACTERS: usize = 1000;
/// What comes later is not even looked at.
const MAX_BYTES: usize = 32 * 1024;
const MASK: &str = "***";

/// Whether a message can quote values that are secret.
#[derive(Debug, Clone, Copy)]
pub enum Quotes<'a> {
    /// The values are for everybody to read.
    Trusted,
    /// The values come from a Secret.
    Untrusted {
        /// Names that may stay although they are quoted: release, chart, namespace, Secret, its key, kinds.
        known: &'a [&'a str],
    },
}

/// Without the end of a key whose beginning is not there.
fn without_begun(text: &str) -> String {
    let end = text.rfind("-----END ").map(|at| text.get(at..).unwrap_or_default());
    match end.and_then(|rest| rest.split_once('\n').map(|(_, after)| after).or(Some(""))) {
        Some(after) => format!("{MASK}\n{after}"),
        None => text.to_owned(),
    }
}

/// The lines of a text, each without credentials, also those that go over several lines. The text may begin in the middle of
/// one.
#[must_use]
pub fn redact_lines(text: &str) -> Vec<String> {
    let Ok(masks) = MASKS.as_ref() else {
        return vec!["(a text that cannot be shown)".to_owned()];
    };
    let masked = without_begun(&masks.credentials(text));
    let lines = masked.lines().map(|line| one_line(line, MAX_CHARACTERS));
    lines.filter(|line| !line.is_empty()).collect()
}

/// The message on one line, without credentials and, if need be, without values.
#[must_use]
pub fn redact(message: &str, quotes: Quotes<'_>) -> String {
    let Ok(masks) = MASKS.as_ref() else {
        return "(a message that cannot be shown)".to_owned();
    };
    let message = message.get(..message.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    let message = masks.credentials(message);
    let message = match quotes {
        Quotes::Trusted => message,
        Quotes::Untrusted { known } => masks.values(&runs::masked(&masks.tails(&message), known)),
    };
    one_line(&message, MAX_CHARACTERS)
}
