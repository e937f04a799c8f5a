//! What the user must put right before anything can start: exit code 2, nothing half-started.

use std::fmt;

/// A prerequisite or an argument that is not as it must be. The text says what was found and what to do.
#[derive(Debug)]
pub(crate) struct Unmet(String);

impl Unmet {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmet {}
