//! `op`: operations on applications. They are asked for (`create`), followed (`wait`), looked at (`list`, `show`, `logs`),
//! cancelled, and approved with a key of one's own (`approve`, `keygen`).
//!
//! What an operation can be asked for is the table of templates in crate `vworkspace-api`; nothing here repeats it.

mod access;
mod age;
mod approve;
mod cancel;
mod create;
mod keygen;
pub mod list;
mod logs;
mod name;
mod parameters;
pub mod show;
pub mod templates;
mod wait;

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};

use crate::exit::Exit;
use crate::status::live::LiveError;

/// What to do with operations.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct OpArgs {
    /// The command.
    #[command(subcommand)]
    pub command: OpCommand,
}

const EXIT_CODES: &str = "\
Exit codes:
  0 done; with --wait, succeeded   1 has not ended yet, or there is nothing to do
  2 failed or cancelled            3 bad usage, not found, or refused by the cluster";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum OpCommand {
    /// Ask for an operation
    Create(Box<create::CreateArgs>),

    /// What an operation can be asked for
    Templates(templates::TemplatesArgs),

    /// The operations of a namespace, newest last
    List(list::ListArgs),

    /// What was asked for, what happened, and what to type next
    Show(show::ShowArgs),

    /// The log of an operation
    Logs(logs::LogsArgs),

    /// Cancel an operation
    Cancel(cancel::CancelArgs),

    /// Sign an approval of what waits for one
    Approve(Box<approve::ApproveArgs>),

    /// A new key to approve with
    Keygen(keygen::KeygenArgs),
}

/// For people, or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// What was asked for makes no sense, or does not exist.
    #[error("{0}")]
    Refused(String),
    /// The cluster did not answer, or said no.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The result could not be written.
    #[error("failed to write the result: {0}")]
    Output(#[from] std::io::Error),
}

/// Does what `args` asks for; results go to `out`, progress and problems to `err`.
pub fn run(args: &OpArgs, out: &mut impl Write, err: &mut impl Write) -> Result<Exit, OpError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    runtime.block_on(async {
        match &args.command {
            OpCommand::Create(args) => create::run(args, out, err).await,
            OpCommand::Templates(args) => templates::run(args, out),
            OpCommand::List(args) => list::run(args, out).await,
            OpCommand::Show(args) => show::run(args, out).await,
            OpCommand::Logs(args) => logs::run(args, out, err).await,
            OpCommand::Cancel(args) => cancel::run(args, out, err).await,
            OpCommand::Approve(args) => approve::run(args, out, err).await,
            OpCommand::Keygen(args) => keygen::run(args, out, err),
        }
    })
}

/// As JSON for people who debug programs.
fn write_json(value: &impl serde::Serialize, out: &mut impl Write) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// As YAML.
fn write_yaml(value: &impl serde::Serialize, out: &mut impl Write) -> std::io::Result<()> {
    let text = serde_saphyr::to_string(value).map_err(std::io::Error::other)?;
    writeln!(out, "{}", text.trim_end())
}
