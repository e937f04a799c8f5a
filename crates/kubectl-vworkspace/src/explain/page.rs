//! The explanation for people.

use std::io::{self, Write};

use conditions::{Entry, Origin, TypeListing, Vocabulary};

use super::lookup::Asked;
use super::object::meaning;
use super::vocabularies;
use crate::style::{DIM, GOOD, STRONG, styled};

/// Where lines of prose are broken.
const WIDTH: usize = 100;

/// Writes what was asked for as text.
pub(super) fn write(out: &mut impl Write, asked: &Asked) -> io::Result<()> {
    match asked {
        Asked::Kinds => write_kinds(out),
        Asked::Kind(vocabulary) => write_kind(out, vocabulary),
        Asked::Types(types) => write_each(out, types, |out, (of, listing)| write_type(out, of, listing)),
        Asked::Entries(entries) => write_each(out, entries, |out, (of, entry)| write_entry(out, of, entry)),
    }
}

/// One after the other, an empty line between them.
fn write_each<W: Write, T>(
    out: &mut W,
    all: &[T],
    one: impl Fn(&mut W, &T) -> io::Result<()>,
) -> io::Result<()> {
    for (place, item) in all.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        one(out, item)?;
    }
    Ok(())
}

fn write_kinds(out: &mut impl Write) -> io::Result<()> {
    let width = vocabularies().map(|of| names(of).len()).max().unwrap_or_default();
    let mut system = "";
    for vocabulary in vocabularies() {
        if vocabulary.system != system {
            let gap = if system.is_empty() { "" } else { "\n" };
            system = vocabulary.system;
            writeln!(out, "{gap}{}", styled(STRONG, system))?;
        }
        let types: Vec<_> = vocabulary.all_types().map(|listing| listing.name).collect();
        writeln!(out, "  {:width$}  {}", names(vocabulary), types.join(", "))?;
    }
    writeln!(out, "\nMore: kubectl vworkspace explain KIND [TYPE [REASON]]")
}

/// A kind with its short names.
fn names(vocabulary: &Vocabulary) -> String {
    format!("{} ({})", vocabulary.kind, vocabulary.short_names.join(", "))
}

fn write_kind(out: &mut impl Write, vocabulary: &'static Vocabulary) -> io::Result<()> {
    let title = styled(STRONG, vocabulary.kind);
    let short_names = vocabulary.short_names.join(", ");
    writeln!(out, "{title} ({}.{}, {short_names})", vocabulary.plural, vocabulary.group)?;
    for listing in vocabulary.all_types() {
        writeln!(out)?;
        write_table(out, &listing)?;
    }
    writeln!(out, "\nMore: kubectl vworkspace explain {} TYPE [REASON]", vocabulary.kind)
}

/// A type with one line per reason.
fn write_table(out: &mut impl Write, listing: &TypeListing) -> io::Result<()> {
    writeln!(out, "{}", styled(STRONG, listing.name))?;
    write_wrapped(out, "  ", listing.about)?;
    let width = listing.entries.iter().map(|entry| entry.reason.len()).max().unwrap_or_default();
    for entry in &listing.entries {
        let status = styled(DIM, format!("{:7}", entry.status));
        writeln!(out, "  {status}  {:width$}  {}", entry.reason, in_short(entry))?;
    }
    Ok(())
}

/// What fits into a line: where the reason is explained, or how the explanation begins.
pub(super) fn in_short(entry: &Entry) -> String {
    if let Some(first) = entry.repeats {
        return format!("as in {}", first.type_);
    }
    let breaks = entry.meaning.match_indices(". ").chain(entry.meaning.match_indices(": ")).map(|(at, _)| at);
    let first = breaks.min().and_then(|at| entry.meaning.get(..at));
    first.unwrap_or(entry.meaning.trim_end_matches('.')).to_owned()
}

/// A type with all that its reasons mean.
fn write_type(out: &mut impl Write, of: &Vocabulary, listing: &TypeListing) -> io::Result<()> {
    writeln!(out, "{} {}", of.kind, styled(STRONG, listing.name))?;
    write_wrapped(out, "  ", listing.about)?;
    for entry in &listing.entries {
        writeln!(out, "\n  {} {}", entry.status, styled(STRONG, entry.reason))?;
        write_wrapped(out, "    ", &meaning(entry))?;
    }
    writeln!(out, "\nMore: kubectl vworkspace explain {} {} REASON", of.kind, listing.name)
}

/// Everything about one reason.
fn write_entry(out: &mut impl Write, of: &Vocabulary, entry: &Entry) -> io::Result<()> {
    let title = format!("{}={}/{}", entry.type_, entry.status, entry.reason);
    writeln!(out, "{} {}", of.kind, styled(STRONG, title))?;
    writeln!(out, "\n  What it means")?;
    write_wrapped(out, "    ", &meaning(entry))?;
    writeln!(out, "\n  How to investigate")?;
    for command in entry.investigate {
        writeln!(out, "    {}", styled(GOOD, command))?;
    }
    writeln!(out, "\n  How to resolve it")?;
    write_fix(out, "    ", entry.resolve)?;
    writeln!(out, "\n  {}", styled(DIM, provenance(entry)))
}

fn provenance(entry: &Entry) -> String {
    let origin = match entry.origin {
        Origin::Contract => "part of the published contract",
        Origin::Extension => "our addition to the published contract",
    };
    let former = match entry.was {
        [] => String::new(),
        names => format!("; formerly {}", names.join(", ")),
    };
    format!("Since {}, {origin}{former}.", entry.since)
}

/// Prose in lines, and each command between backticks whole on a line of its own: it is to be copied.
fn write_fix(out: &mut impl Write, indent: &str, text: &str) -> io::Result<()> {
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            writeln!(out, "{indent}  {}", styled(GOOD, part))?;
            continue;
        }
        // The full stop of a sentence that ends with a command is none of the command's.
        let prose = if place == 0 { part } else { part.trim_start_matches('.') };
        if !prose.trim().is_empty() {
            write_wrapped(out, indent, prose)?;
        }
    }
    Ok(())
}

fn write_wrapped(out: &mut impl Write, indent: &str, text: &str) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.len() + 1 + word.len() > WIDTH {
            writeln!(out, "{indent}{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{indent}{line}")
}
