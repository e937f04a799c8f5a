//! `status`: the reconcile status of objects from files or from a cluster.
//!
//! `read` turns files into objects, `live` gets them from a cluster, `row` holds one answer, `report` and `table`
//! show the answers. What an object's status is, crate `kstatus` decides.

pub mod args;
pub mod live;
pub mod read;
pub mod report;
pub mod row;
mod table;

use std::io::Write;

use jiff::Timestamp;
use kstatus::Options;

pub use args::StatusArgs;

use crate::exit::Exit;
use live::LiveError;
use read::Rows;
use report::Report;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The command line asks for nothing, or for what does not go together.
    #[error("{0}")]
    Usage(&'static str),
    /// The cluster did not answer.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The answer could not be written.
    #[error("failed to write the result: {0}")]
    Output(#[from] std::io::Error),
}

/// Writes the status of what `args` names to `out`, problems and progress to `err`.
pub fn run(args: &StatusArgs, out: &mut impl Write, err: &mut impl Write) -> Result<Exit, StatusError> {
    args.check().map_err(StatusError::Usage)?;
    if args.is_live() {
        return live::run(args, out, err);
    }
    let options = Options { profile: args.profile.into(), now: Timestamp::now() };
    let mut rows = Rows::new(options);
    for file in &args.filename {
        read::file(file, &mut rows);
    }
    for problem in &rows.problems {
        writeln!(err, "error: {problem}")?;
    }
    let refused = if rows.problems.is_empty() { Exit::AllCurrent } else { Exit::Refused };
    Ok(Report { output: args.output }.write_found(&rows.rows, refused, out)?)
}
