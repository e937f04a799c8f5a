//! `explain`: what a condition means, how to look at it and how to fix it.

use std::io::Write;

use clap::Args;

use crate::exit::Exit;
use crate::paint::Colour;

/// What to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Kind, condition type and reason, each optional: `ApplicationInstance Blocked MissingSecret`
    #[arg(value_names = ["KIND", "TYPE", "REASON"], num_args = 0..=3)]
    pub words: Vec<String>,
}

/// Why nothing could be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The vocabularies are not part of this build.
    #[error("explain is not built yet")]
    NotBuilt,
}

/// Writes the explanation to `out`.
pub fn run(_args: &ExplainArgs, _out: &mut impl Write, _colour: Colour) -> Result<Exit, ExplainError> {
    Err(ExplainError::NotBuilt)
}
