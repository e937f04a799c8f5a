//! The explanation for programs. The field names and their order are an interface.

use std::borrow::Cow;
use std::io::{self, Write};

use conditions::{Entry, Vocabulary};
use serde::Serialize;

use super::lookup::Asked;

/// One (kind, type, status, reason).
#[derive(Debug, Serialize)]
struct Explained<'a> {
    system: &'a str,
    kind: &'a str,
    #[serde(rename = "type")]
    type_: &'a str,
    status: &'a str,
    reason: &'a str,
    meaning: Cow<'a, str>,
    investigate: &'a [&'a str],
    resolve: &'a str,
    since: &'a str,
    origin: &'a str,
}

impl Explained<'static> {
    fn of((vocabulary, entry): (&'static Vocabulary, Entry)) -> Self {
        Explained {
            system: vocabulary.system,
            kind: vocabulary.kind,
            type_: entry.type_,
            status: entry.status.as_str(),
            reason: entry.reason,
            meaning: meaning(&entry),
            investigate: entry.investigate,
            resolve: entry.resolve,
            since: entry.since,
            origin: entry.origin.as_str(),
        }
    }
}

/// What an entry means; one that repeats another says which.
pub(super) fn meaning(entry: &Entry) -> Cow<'static, str> {
    match entry.repeats {
        None => entry.meaning.into(),
        Some(first) => {
            format!("Because {}={}/{}: {}", first.type_, first.status, first.reason, entry.meaning).into()
        }
    }
}

/// Writes what was asked for as a JSON array.
pub(super) fn write(out: &mut impl Write, asked: &Asked) -> io::Result<()> {
    let explained: Vec<_> = asked.entries().into_iter().map(Explained::of).collect();
    serde_json::to_writer_pretty(&mut *out, &explained)?;
    writeln!(out)
}
