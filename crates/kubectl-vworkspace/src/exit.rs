//! Exit codes: the worst thing seen decides, and scripts rely on the numbers.

use std::process::ExitCode;

/// What the process tells its caller, from best to worst; the order is the precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Exit {
    /// Everything is current, or the command did what it was asked.
    #[default]
    AllCurrent = 0,
    /// Something is not yet current.
    NotYetCurrent = 1,
    /// Something failed.
    Failed = 2,
    /// The command line or the input was refused.
    Refused = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
