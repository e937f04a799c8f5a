//! Objects of a cluster.

use std::io::Write;

use super::StatusError;
use super::args::StatusArgs;
use crate::exit::Exit;
use crate::paint::Colour;

/// Why the cluster gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Not yet.
    #[error("live objects are not built yet")]
    NotBuilt,
}

/// Shows live objects once, follows them, or waits for them.
pub(super) fn run(
    _args: &StatusArgs,
    _out: &mut impl Write,
    _err: &mut impl Write,
    _colour: Colour,
) -> Result<Exit, StatusError> {
    Err(LiveError::NotBuilt.into())
}
