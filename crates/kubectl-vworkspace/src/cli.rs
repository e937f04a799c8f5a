//! The command line: which commands there are and where each one lives.

use std::ffi::OsString;
use std::io::{BufWriter, Write, stderr, stdout};

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::explain::{self, ExplainArgs};
use crate::paint::Colour;
use crate::status::{self, StatusArgs};

/// Status of Kubernetes objects that you can trust, and what it means.
#[derive(Debug, Parser)]
#[command(name = "kubectl-vworkspace", bin_name = "kubectl vworkspace", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The reconcile status of objects, from files or from the cluster
    Status(StatusArgs),

    /// What a status condition means, how to look at it and how to fix it
    Explain(ExplainArgs),
}

/// Runs the command that `args` (program name first) asks for.
pub fn main(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Exit> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(refusal) => {
            refusal.print()?;
            return Ok(if refusal.use_stderr() {
                Exit::Refused
            } else {
                Exit::AllCurrent
            });
        }
    };
    match cli.command {
        Command::Status(args) => {
            let mut out = BufWriter::new(stdout().lock());
            let exit = status::run(&args, &mut out, &mut stderr().lock(), Colour::of_stdout())?;
            out.flush()?;
            Ok(exit)
        }
        Command::Explain(args) => Ok(explain::run(&args, &mut stdout().lock(), Colour::of_stdout())?),
    }
}
