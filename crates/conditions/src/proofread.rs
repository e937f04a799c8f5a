//! What a vocabulary must be and the compiler cannot see; every crate with a vocabulary asserts that there is nothing.

use crate::condition::Status;
use crate::kstatus::{NOT_YET_OBSERVED, RECONCILING, Reads};
use crate::vocabulary::{ConditionType, Entry, TypeListing, Vocabulary};

/// Everything that is wrong with a vocabulary, in words.
#[must_use]
pub fn problems(vocabulary: &Vocabulary) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(vocabulary.types.iter().filter_map(one_sided));
    for listing in vocabulary.all_types() {
        found.extend(ambiguous(&listing));
    }
    found.extend(repeated(vocabulary));
    for entry in vocabulary.entries() {
        found.extend(hard_to_use(&entry));
    }
    found.extend(undecided(vocabulary));
    found.into_iter().map(|problem| format!("{}: {problem}", vocabulary.kind)).collect()
}

/// A type that can only be True (or never) cannot be present from the first reconcile on.
fn one_sided(known: &ConditionType) -> Option<String> {
    let holds = known.entries.iter().any(|entry| entry.status == Status::True);
    let does_not = known.entries.iter().any(|entry| entry.status != Status::True);
    (!holds || !does_not)
        .then(|| format!("{} cannot say both that it holds and that it does not", known.name))
}

/// Within a type a reason says one thing, under its present name and under former ones.
fn ambiguous(known: &TypeListing) -> Vec<String> {
    let names = |entry: &Entry| entry.was.iter().copied().chain([entry.reason]).collect::<Vec<_>>();
    let all: Vec<_> = known.entries.iter().flat_map(names).collect();
    let twice = |name: &&str| all.iter().filter(|other| *other == name).count() > 1;
    all.iter().filter(|name| twice(name)).map(|name| format!("{} has {name} twice", known.name)).collect()
}

/// A type or a line that stands twice: the second is never reached.
fn repeated(vocabulary: &Vocabulary) -> Vec<String> {
    let types = vocabulary.types.iter().enumerate();
    let types = types
        .filter(|(place, known)| vocabulary.types.iter().take(*place).any(|other| other.name == known.name));
    let lines = vocabulary.reads.iter().map(Reads::entry).enumerate();
    let lines = lines
        .filter(|(place, entry)| vocabulary.reads.iter().take(*place).any(|other| other.entry() == *entry));
    let types = types.map(|(_, known)| format!("{} is listed twice", known.name));
    types.chain(lines.map(|(_, entry)| format!("{}/{} decides twice", entry.type_, entry.reason))).collect()
}

/// Commands that can be pasted once `{namespace}` and `{name}` are filled in, and sentences that end.
fn hard_to_use(entry: &Entry) -> Vec<String> {
    let mut found = Vec::new();
    let place = format!("{}/{}", entry.type_, entry.reason);
    for text in [entry.meaning, entry.resolve] {
        if !text.ends_with('.') || text.contains("  ") {
            found.push(format!("{place}: not a sentence: {text:?}"));
        }
    }
    for command in entry.investigate.iter().copied().chain(quoted(entry.resolve)) {
        if !is_command(command) {
            found.push(format!("{place}: not a command: {command:?}"));
        }
    }
    // A program that writes the text must know where a command begins and ends, to keep it in one line.
    if !marks_commands(entry.resolve) {
        let text = entry.resolve;
        found.push(format!(
            "{place}: a command outside backticks, or one that does not end its sentence: {text:?}"
        ));
    }
    for text in entry.investigate.iter().chain([&entry.resolve]) {
        let unknown = placeholders(text).find(|name| !["namespace", "name"].contains(name));
        found.extend(unknown.map(|name| format!("{place}: unknown placeholder {{{name}}}")));
    }
    found
}

const TOOLS: [&str; 3] = ["kubectl ", "helm ", "curl "];

fn is_command(text: &str) -> bool {
    TOOLS.iter().any(|tool| text.starts_with(tool))
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether all commands stand between backticks, each at the end of its sentence.
fn marks_commands(text: &str) -> bool {
    let parts: Vec<&str> = text.split('`').collect();
    let prose = || parts.iter().step_by(2);
    let names_tool = |part: &str| TOOLS.iter().any(|tool| part.contains(tool));
    parts.len() % 2 == 1
        && !prose().any(|part| names_tool(part))
        && prose().skip(1).all(|part| part.starts_with('.'))
}

/// `{word}`s in a text; JSONPath's `{.field}` is none.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let braces = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside);
    braces.filter(|inside| !inside.starts_with('.'))
}

/// What decides for kstatus must be something that the kind's own conditions can say.
fn undecided(vocabulary: &Vocabulary) -> Vec<String> {
    let known = |entry: &Entry| vocabulary.types.iter().any(|known| known.entries.contains(entry));
    let lines = vocabulary.reads.iter().map(Reads::entry).filter(|entry| !known(entry));
    let mut found: Vec<_> =
        lines.map(|entry| format!("{}/{} cannot decide", entry.type_, entry.reason)).collect();
    let unobserved = vocabulary.unobserved;
    let expected = match vocabulary.has_type(RECONCILING) {
        true => known(unobserved) && unobserved.type_ == RECONCILING && unobserved.status == Status::True,
        false => *unobserved == NOT_YET_OBSERVED,
    };
    if !expected {
        found.push(format!("{}/{} cannot stand for silence", unobserved.type_, unobserved.reason));
    }
    found
}
