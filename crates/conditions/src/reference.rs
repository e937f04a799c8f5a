//! The reference page: every vocabulary as Markdown, from the same rows as the types.

use std::fmt::{Result, Write};

use crate::vocabulary::{Entry, Origin, TypeListing, Vocabulary};

/// The vocabularies as one Markdown page; `generated_by` is the command that writes it anew.
#[must_use]
pub fn page(vocabularies: &[&Vocabulary], generated_by: &str) -> String {
    let mut page = String::new();
    // A String never refuses to be written to.
    let _infallible = write_page(&mut page, vocabularies, generated_by);
    page
}

fn write_page(out: &mut String, vocabularies: &[&Vocabulary], generated_by: &str) -> Result {
    writeln!(out, "<!-- Generated from the vocabularies. Write it anew with: {generated_by} -->\n")?;
    writeln!(out, "# Conditions\n")?;
    writeln!(
        out,
        "Everything that `status.conditions` of our kinds can say. Within a type each reason has exactly one status. How \
         to read conditions: [concepts](../concepts/conditions.md). The same at the command line: `kubectl vworkspace explain`.\n"
    )?;
    writeln!(
        out,
        "Reasons marked *extension* are additions to the published contract, for states that it has no word for.\n"
    )?;
    writeln!(out, "| Kind | Types |\n| --- | --- |")?;
    for vocabulary in vocabularies {
        let types: Vec<_> = vocabulary.all_types().map(|listing| format!("`{}`", listing.name)).collect();
        let anchor = vocabulary.kind.to_lowercase();
        writeln!(out, "| [{}](#{anchor}) | {} |", vocabulary.kind, types.join(", "))?;
    }
    for vocabulary in vocabularies {
        write_kind(out, vocabulary)?;
    }
    Ok(())
}

fn write_kind(out: &mut String, vocabulary: &Vocabulary) -> Result {
    writeln!(out, "\n## {}\n", vocabulary.kind)?;
    let names: Vec<_> = vocabulary.short_names.iter().map(|name| format!("`{name}`")).collect();
    writeln!(out, "`{}.{}`, for short {}.", vocabulary.plural, vocabulary.group, names.join(", "))?;
    for listing in vocabulary.all_types() {
        write_type(out, vocabulary.kind, &listing)?;
    }
    Ok(())
}

fn write_type(out: &mut String, kind: &str, listing: &TypeListing) -> Result {
    writeln!(out, "\n### {kind} {}\n\n{}\n", listing.name, listing.about)?;
    writeln!(out, "| Status | Reason | Meaning |\n| --- | --- | --- |")?;
    for entry in &listing.entries {
        let mark = match entry.origin {
            Origin::Contract => "",
            Origin::Extension => " *(extension)*",
        };
        let explained = anchor(kind, entry.repeats.unwrap_or(entry));
        let meaning = prose(entry.meaning);
        writeln!(out, "| {} | [`{}`](#{explained}){mark} | {meaning} |", entry.status, entry.reason)?;
    }
    for entry in listing.entries.iter().filter(|entry| entry.repeats.is_none()) {
        write_entry(out, kind, entry)?;
    }
    Ok(())
}

fn write_entry(out: &mut String, kind: &str, entry: &Entry) -> Result {
    writeln!(
        out,
        "\n#### <a id=\"{}\"></a>{}={} {}\n",
        anchor(kind, entry),
        entry.type_,
        entry.status,
        entry.reason
    )?;
    writeln!(out, "```sh")?;
    for command in entry.investigate {
        writeln!(out, "{command}")?;
    }
    writeln!(out, "```\n\n{} *Since {}.*", prose(entry.resolve), entry.since)?;
    if !entry.was.is_empty() {
        let names: Vec<_> = entry.was.iter().map(|name| format!("`{name}`")).collect();
        writeln!(out, "\nFormer names, still understood when read: {}.", names.join(", "))?;
    }
    Ok(())
}

/// Text that neither a table nor HTML would swallow a part of. Between backticks Markdown takes everything as it is.
fn prose(text: &str) -> String {
    let escaped = text.split('`').enumerate().map(|(place, part)| match place % 2 {
        0 => part.replace('|', "\\|").replace('<', "&lt;"),
        _ => part.to_owned(),
    });
    escaped.collect::<Vec<_>>().join("`")
}

/// Where a reason is explained: a type has each reason once, so this is unique on the page.
fn anchor(kind: &str, entry: &Entry) -> String {
    format!("{kind}-{}-{}", entry.type_, entry.reason).to_lowercase()
}
