//! The command line: which commands there are and where each one lives.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand};

use crate::completion::{self, CompletionArgs};
use crate::exit::Exit;
use crate::explain::{self, ExplainArgs};
use crate::op::{self, OpArgs};
use crate::pipe::or_closed;
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

    /// What a status condition means, how to investigate and how to resolve it
    Explain(ExplainArgs),

    /// Operations on applications: backups, restores, upgrades, commands; and approvals
    Op(OpArgs),

    /// A completion script for a shell
    Completion(CompletionArgs),

    /// What kubectl asks for on the tab key; also answered under the name kubectl_complete-vworkspace
    #[command(name = "__complete", hide = true, disable_help_flag = true)]
    Complete {
        /// The words typed so far, the last one perhaps empty
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Runs the command that `args` (program name first) asks for.
pub fn main(
    args: impl IntoIterator<Item = OsString>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<Exit> {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some((program, words)) = args.split_first()
        && Path::new(program).file_stem().is_some_and(|name| name == completion::KUBECTL_NAME)
    {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        completion::for_kubectl(&words, &Cli::command(), out)?;
        return Ok(Exit::AllCurrent);
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(refusal) => {
            // It knows best how to colour itself for a terminal.
            or_closed(refusal.print())?;
            return Ok(if refusal.use_stderr() { Exit::Refused } else { Exit::AllCurrent });
        }
    };
    Ok(match &cli.command {
        Command::Status(args) => status::run(args, out, err)?,
        Command::Explain(args) => explain::run(args, out)?,
        Command::Op(args) => op::run(args, out, err)?,
        Command::Completion(args) => {
            completion::script(args, Cli::command(), out);
            Exit::AllCurrent
        }
        Command::Complete { words } => {
            completion::for_kubectl(words, &Cli::command(), out)?;
            Exit::AllCurrent
        }
    })
}

/// The error and its causes in one line; many errors repeat their cause in their own text.
pub fn describe(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            text if text.contains(&cause) => text.to_owned(),
            text => format!("{text}: {cause}"),
        }
    })
}
