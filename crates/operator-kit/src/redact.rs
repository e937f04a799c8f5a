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
