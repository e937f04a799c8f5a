//! Quoted runs: which may stay, and where they end.

use super::MASK;
use super::masks::is_type;

/// Words before a name that comes from the cluster and not from values.
const NAMED_BY_THE_CLUSTER: [&str; 7] =
    ["User", "ValidatingAdmissionPolicy", "binding", "webhook", "resource", "group", "namespace"];
/// What JSON Schema calls its own rules.
const SCHEMA_RULES: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "enum", "const"];

/// The message with all quoted runs masked, but those that tell where the trouble is.
pub(super) fn masked(message: &str, known: &[&str]) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, quote, after)) = next_opening(rest) {
        out.push_str(before);
        let Some((inner, following)) = closed(quote, after) else {
            // A run without an end can hold anything.
            out.push(quote);
            out.push_str(MASK);
            return out;
        };
        let shown = if stays(&out, inner, following, known) { inner } else { MASK };
        out.push(quote);
        out.push_str(shown);
        out.push(quote);
        rest = following;
    }
    out + rest
}

/// What stands before the next opening quote, the quote, and what follows it.
fn next_opening(text: &str) -> Option<(&str, char, &str)> {
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        let after = text.get(at + character.len_utf8()..)?;
        let opens = match character {
            '\'' => !(previous.is_alphanumeric() && is_apostrophe(after)),
            '"' | '`' => true,
            _ => false,
        };
        if opens {
            return Some((text.get(..at)?, character, after));
        }
        previous = character;
    }
    None
}

/// Whether a `'` in or after a word is that of "don't", "it's" or "users'".
fn is_apostrophe(after: &str) -> bool {
    let rest = after.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let letters = after.len() - rest.len();
    letters <= 2 && rest.chars().next().is_none_or(char::is_whitespace)
}

/// The run and what follows its closing quote.
fn closed(quote: char, text: &str) -> Option<(&str, &str)> {
    let end = if quote == '`' {
        // Nothing is escaped in these, so only the last one of the line is surely the end.
        let line = text.find('\n').unwrap_or(text.len());
        text.get(..line)?.rfind(quote)?
    } else {
        closing(quote, text)?
    };
    Some((text.get(..end)?, text.get(end + quote.len_utf8()..)?))
}

/// Where the closing quote is: not an escaped one, and none with a letter right after it.
fn closing(quote: char, text: &str) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote && !characters.peek().is_some_and(|(_, next)| next.is_alphanumeric()) {
            return Some(at);
        }
    }
    None
}

fn stays(before: &str, inner: &str, after: &str, known: &[&str]) -> bool {
    let word = before.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_known = inner.split('/').all(|part| known.contains(&part));
    let is_pointer = word == "at" && inner.starts_with('/') && after.starts_with(':');
    let is_rule = SCHEMA_RULES.contains(&inner) && after.starts_with(" failed");
    let is_missing = before.ends_with("missing property ");
    let is_of_the_cluster = NAMED_BY_THE_CLUSTER.contains(&word) && is_name(inner);
    inner.is_empty()
        || is_known
        || is_pointer
        || is_rule
        || is_missing
        || is_of_the_cluster
        || is_type(inner)
        || is_template(inner)
}

fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._:/".contains(letter))
}

/// Whether it is the path of a chart's template, such as `web/templates/service.yaml`.
fn is_template(text: &str) -> bool {
    let ends = [".yaml", ".yml", ".tpl", ".txt"];
    is_name(text) && text.contains("/templates/") && ends.iter().any(|end| text.ends_with(end))
}
