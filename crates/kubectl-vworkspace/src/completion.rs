//! Shell completion: scripts for the program itself, and answers for kubectl, which asks a program called
//! `kubectl_complete-vworkspace` with the words typed so far.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;

use crate::{explain, op};

/// The command whose words are those of the vocabularies.
const EXPLAIN: &str = "explain";
/// The option of `op create` whose names depend on the template.
const PARAMETERS: &str = "parameters";

/// Which script to write.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(kubectl-vworkspace completion bash)
  kubectl-vworkspace completion zsh > \"${fpath[1]}/_kubectl-vworkspace\"
  kubectl-vworkspace completion fish > ~/.config/fish/completions/kubectl-vworkspace.fish

For `kubectl vworkspace <TAB>` put a link next to the plugin; kubectl finds it by its name:
  ln -s kubectl-vworkspace \"$(dirname \"$(command -v kubectl-vworkspace)\")/kubectl_complete-vworkspace\"")]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_parser = [
        clap::builder::PossibleValue::new("bash"),
        clap::builder::PossibleValue::new("zsh"),
        clap::builder::PossibleValue::new("fish"),
    ])]
    pub shell: String,
}

/// The name under which kubectl looks for completions of this plugin.
pub const KUBECTL_NAME: &str = "kubectl_complete-vworkspace";

/// Writes the script for a shell.
pub fn script(args: &CompletionArgs, command: Command, out: &mut impl Write) {
    // A script knows no vocabulary, so it gets the words; the program itself takes any word and suggests the nearest.
    let words: BTreeSet<&str> = explain::all_words().into_iter().collect();
    let mut command = command.mut_subcommand(EXPLAIN, |explain| {
        explain.mut_arg("words", |arg| arg.value_parser(PossibleValuesParser::new(words)))
    });
    let shell = match args.shell.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    clap_complete::generate(shell, &mut command, "kubectl-vworkspace", out);
}

/// What kubectl's shell function does after our suggestions (cobra's directives).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Files = 0,
    Nothing = 4,
    /// Not even a space: the value follows.
    Value = 6,
}

/// Answers kubectl: one suggestion to a line, a tab before its description, and what to do if there is none.
pub fn for_kubectl(words: &[String], root: &Command, out: &mut impl Write) -> io::Result<()> {
    let (typed, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let command = descend(root, before);
    let (suggestions, then) = suggest(command, before, typed);
    for (word, about) in suggestions {
        match about {
            Some(about) => writeln!(out, "{word}\t{about}")?,
            None => writeln!(out, "{word}")?,
        }
    }
    writeln!(out, ":{}", then as i32)
}

fn descend<'c>(root: &'c Command, words: &[String]) -> &'c Command {
    words.iter().fold(root, |command, word| command.find_subcommand(word).unwrap_or(command))
}

type Suggestion = (String, Option<String>);

fn suggest(command: &Command, before: &[String], typed: &str) -> (Vec<Suggestion>, Then) {
    if let Some((flag, value)) = typed.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        let values = option(command, flag).map(|arg| values(arg, value)).unwrap_or_default();
        let values = values.into_iter().map(|(word, about)| (format!("{flag}={word}"), about));
        return (values.collect(), Then::Nothing);
    }
    if typed.starts_with('-') {
        return (flags(command, typed), Then::Nothing);
    }
    let last = before.last().and_then(|flag| option(command, flag));
    if let Some(arg) = last.filter(|arg| takes_next_word(arg)) {
        if arg.get_id() == PARAMETERS {
            return (parameters(&positionals(command, before), typed), Then::Value);
        }
        let then = match arg.get_value_hint() {
            ValueHint::FilePath | ValueHint::AnyPath => Then::Files,
            _ => Then::Nothing,
        };
        return (values(arg, typed), then);
    }
    if command.get_name() == EXPLAIN {
        return (explained(&positionals(command, before), typed), Then::Nothing);
    }
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut words: Vec<Suggestion> = subcommands
        .map(|sub| (sub.get_name().to_owned(), sub.get_about().map(ToString::to_string)))
        .collect();
    let next = command.get_positionals().nth(positionals(command, before).len());
    words.extend(next.map(|arg| values(arg, typed)).unwrap_or_default());
    words.retain(|(word, _)| word.starts_with(typed));
    (words, Then::Nothing)
}

/// The words that `explain` knows. Shells match case, `explain` does not: who types in lower case goes on so.
fn explained(before: &[&str], typed: &str) -> Vec<Suggestion> {
    let is_lower = !typed.is_empty() && !typed.contains(char::is_uppercase);
    let spell = |word: &str| if is_lower { word.to_lowercase() } else { word.to_owned() };
    let words = explain::candidates(before, typed).into_iter().map(|(word, about)| (spell(word), about));
    words.filter(|(word, _)| word.starts_with(typed)).collect()
}

/// The parameters of the template that stands on the line.
fn parameters(before: &[&str], typed: &str) -> Vec<Suggestion> {
    let template = before.first().and_then(|name| op::templates::named(name).ok());
    let parameters = template.map(|template| template.parameters).unwrap_or_default().iter();
    let named = parameters.filter(|parameter| !parameter.former && parameter.name.starts_with(typed));
    named.map(|parameter| (format!("{}=", parameter.name), Some(parameter.meaning.to_owned()))).collect()
}

/// The words after the command that are neither options nor their values.
fn positionals<'w>(command: &Command, words: &'w [String]) -> Vec<&'w str> {
    let mut words = words.iter().map(String::as_str).skip_while(|word| *word != command.get_name()).skip(1);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let takes_next = option(command, word).is_some_and(takes_next_word);
        if takes_next {
            words.next();
        } else if !word.starts_with('-') {
            found.push(word);
        }
    }
    found
}

fn takes_next_word(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn option<'c>(command: &'c Command, flag: &str) -> Option<&'c Arg> {
    command.get_opts().find(|arg| {
        let long = arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
        let short = arg
            .get_short()
            .is_some_and(|short| flag.strip_prefix('-').is_some_and(|f| f == short.to_string()));
        long || short
    })
}

fn values(arg: &Arg, typed: &str) -> Vec<Suggestion> {
    let values = arg.get_possible_values();
    let values = values.iter().filter(|value| !value.is_hide_set() && value.get_name().starts_with(typed));
    values.map(|value| (value.get_name().to_owned(), value.get_help().map(ToString::to_string))).collect()
}

fn flags(command: &Command, typed: &str) -> Vec<Suggestion> {
    let named = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = named
        .filter_map(|arg| Some((format!("--{}", arg.get_long()?), arg.get_help().map(ToString::to_string))));
    named.filter(|(flag, _)| flag.starts_with(typed)).collect()
}
