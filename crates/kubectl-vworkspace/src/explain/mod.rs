//! `explain`: what a condition means, how to investigate and how to resolve it, from the same tables that the controllers'
//! types are made of.

mod lookup;
pub(crate) mod nearest;
mod object;
mod page;
mod words;

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use conditions::Vocabulary;

use crate::exit::Exit;
use lookup::{Asked, Refused};
pub(crate) use lookup::{all_words, candidates};

/// What to explain.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl vworkspace explain                                    every kind and its condition types
  kubectl vworkspace explain appinst                            everything an ApplicationInstance can say
  kubectl vworkspace explain operation blocked                  what Blocked means on an Operation
  kubectl vworkspace explain operation blocked targetnotready   what it means, how to investigate and resolve it
  kubectl vworkspace explain missingsecret                      a reason, wherever it occurs
  kubectl vworkspace explain Blocked=True/MissingSecret         the same, as our documents write conditions
  kubectl vworkspace explain --all -o json                      everything, for programs")]
pub struct ExplainArgs {
    /// Kind, condition type and reason, each optional: `ApplicationInstance Blocked MissingSecret`, or `Blocked=True/MissingSecret`
    #[arg(value_names = ["KIND", "TYPE", "REASON"], num_args = 0..=3)]
    pub words: Vec<String>,

    /// Everything that every kind can say
    #[arg(long, conflicts_with = "words")]
    pub all: bool,

    /// How to write it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Output,
}

/// How an explanation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs: an array with one object per (kind, type, status, reason).
    Json,
}

/// Why nothing could be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The words ask for nothing that there is.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The output could not be written.
    #[error("failed to write the explanation")]
    Write(#[from] io::Error),
}

/// Every vocabulary that can be explained, in the order in which they are listed.
pub fn vocabularies() -> impl Iterator<Item = &'static Vocabulary> {
    vworkspace_api::VOCABULARIES.into_iter().chain(kars_api::VOCABULARIES)
}

/// Writes the explanation to `out`.
pub fn run(args: &ExplainArgs, out: &mut impl Write) -> Result<Exit, ExplainError> {
    let asked = if args.all { Asked::everything() } else { lookup::find(&args.words)? };
    match args.output {
        Output::Json => object::write(out, &asked),
        Output::Text => page::write(out, &asked),
    }?;
    Ok(Exit::AllCurrent)
}
