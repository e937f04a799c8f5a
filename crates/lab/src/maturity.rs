//! How much of what our kinds can say has been seen on a real cluster: a committed snapshot of what a full run produced,
//! one scenario for each reason, and the page that is made of it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use conditions::{ConditionType, Origin, Vocabulary};

use crate::paths;
use crate::reasons::{self, Produced};
use crate::scenario;

const COMMAND: &str = "cargo lab reasons --update";

/// The committed snapshot.
pub(crate) fn snapshot() -> Result<BTreeSet<Produced>> {
    reasons::load(&snapshot_file())
}

/// Whether the snapshot says what a full run produced: the same reasons, each from the scenario that is named.
pub(crate) fn check(snapshot: &BTreeSet<Produced>, produced: &BTreeSet<Produced>) -> Result<()> {
    let differences = differences(snapshot, produced);
    if differences.is_empty() {
        return Ok(());
    }
    bail!("docs/reference/reasons.json is stale; write it anew with: {COMMAND}\n{}", differences.join("\n"))
}

fn differences(snapshot: &BTreeSet<Produced>, produced: &BTreeSet<Produced>) -> Vec<String> {
    let gone = snapshot
        .difference(produced)
        .map(|row| format!("  {} was not produced by {}", row.words(), row.scenario));
    let new = produced.iter().filter(|row| !snapshot.iter().any(|known| known.words() == row.words()));
    let new: BTreeSet<String> = new.map(|row| format!("  {} is new", row.words())).collect();
    gone.chain(new).collect()
}

/// Writes the snapshot of what the last full run produced, and the page. Without a run only the page.
pub(crate) fn update() -> Result<()> {
    let produced = reasons::load(&reasons::file())?;
    let mut snapshot = snapshot()?;
    if !produced.is_empty() {
        let order: Vec<&str> = scenario::ALL.iter().map(|scenario| scenario.name).collect();
        snapshot = summarised(&snapshot, &produced, &order);
        write(&snapshot_file(), &reasons::text(&snapshot)?)?;
    }
    write(&page_file(), &page(&snapshot))
}

/// One scenario for each reason: the one that stands in the snapshot, if it still produces it, otherwise the first.
fn summarised(
    known: &BTreeSet<Produced>,
    produced: &BTreeSet<Produced>,
    order: &[&str],
) -> BTreeSet<Produced> {
    let rank = |row: &&Produced| order.iter().position(|name| *name == row.scenario).unwrap_or(order.len());
    let words: BTreeSet<String> = produced.iter().map(Produced::words).collect();
    let chosen = words.iter().filter_map(|words| {
        let rows = || produced.iter().filter(|row| row.words() == *words);
        rows().find(|row| known.contains(row)).or_else(|| rows().min_by_key(rank))
    });
    chosen.cloned().collect()
}

fn write(file: &PathBuf, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))?;
    eprintln!("lab: wrote {}", file.display());
    Ok(())
}

fn snapshot_file() -> PathBuf {
    paths::workspace().join("docs/reference/reasons.json")
}

fn page_file() -> PathBuf {
    paths::workspace().join("docs/reference/maturity.md")
}

fn vocabularies() -> impl Iterator<Item = &'static Vocabulary> {
    vworkspace_api::VOCABULARIES.into_iter().chain(kars_api::VOCABULARIES)
}

/// The page: what each kind can say, and which scenario showed it.
fn page(snapshot: &BTreeSet<Produced>) -> String {
    let mut page = String::new();
    // A String never refuses to be written to.
    let _infallible = write_page(&mut page, snapshot);
    page
}

fn write_page(out: &mut String, snapshot: &BTreeSet<Produced>) -> std::fmt::Result {
    writeln!(out, "<!-- Generated from docs/reference/reasons.json. Write it anew with: {COMMAND} -->\n")?;
    writeln!(out, "# Maturity\n")?;
    writeln!(
        out,
        "What our kinds can say, and the scenario that made the operator say it on a real cluster with real Flux \
         (`cargo lab test NAME`). What each reason means: [conditions](conditions.md). Reasons marked *extension* are \
         additions to the published contract. `Stalled` is left out: it follows from the other conditions.\n"
    )?;
    writeln!(
        out,
        "| Kind | Documented | Produced | Extensions | Produced |\n| --- | --- | --- | --- | --- |"
    )?;
    for vocabulary in vocabularies() {
        let (documented, shown) = counted(vocabulary, Origin::Contract, snapshot);
        let (ours, ours_shown) = counted(vocabulary, Origin::Extension, snapshot);
        writeln!(
            out,
            "| [{}](#{}) | {documented} | {shown} | {ours} | {ours_shown} |",
            vocabulary.kind,
            vocabulary.kind.to_lowercase()
        )?;
    }
    for vocabulary in vocabularies() {
        writeln!(out, "\n## {}", vocabulary.kind)?;
        for table in vocabulary.types {
            write_table(out, vocabulary.kind, table, snapshot)?;
        }
    }
    Ok(())
}

fn counted(vocabulary: &Vocabulary, origin: Origin, snapshot: &BTreeSet<Produced>) -> (usize, usize) {
    let rows = vocabulary.types.iter().flat_map(|table| table.entries);
    let rows: Vec<_> = rows.filter(|entry| entry.origin == origin).collect();
    let is_shown = |entry| snapshot.iter().any(|row| row.is(vocabulary.kind, entry));
    (rows.len(), rows.iter().filter(|entry| is_shown(entry)).count())
}

fn write_table(
    out: &mut String,
    kind: &str,
    table: &ConditionType,
    snapshot: &BTreeSet<Produced>,
) -> std::fmt::Result {
    writeln!(out, "\n### {kind} {}\n", table.name)?;
    writeln!(out, "| Status | Reason | Origin | Produced by |\n| --- | --- | --- | --- |")?;
    for entry in table.entries {
        let origin = match entry.origin {
            Origin::Contract => "documented",
            Origin::Extension => "extension",
        };
        let by = snapshot.iter().find(|row| row.is(kind, entry));
        let by = by.map_or_else(|| "not yet".to_owned(), |row| format!("`{}`", row.scenario));
        writeln!(out, "| {} | `{}` | {origin} | {by} |", entry.status, entry.reason)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(reason: &str, scenario: &str) -> Produced {
        Produced {
            kind: "ApplicationInstance".to_owned(),
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            reason: reason.to_owned(),
            scenario: scenario.to_owned(),
        }
    }

    #[test]
    fn the_maturity_page_is_what_the_snapshot_says() {
        let stored = fs::read_to_string(page_file()).unwrap_or_default();
        let page = page(&snapshot().expect("a snapshot"));
        assert!(stored == page, "docs/reference/maturity.md is stale; write it anew with: {COMMAND}");
    }

    #[test]
    fn the_snapshot_names_scenarios_that_exist_and_reasons_of_the_vocabulary() {
        for row in snapshot().expect("a snapshot") {
            assert!(scenario::ALL.iter().any(|scenario| scenario.name == row.scenario), "{row:?}: {COMMAND}");
            let known = vocabularies().filter(|vocabulary| vocabulary.kind == row.kind);
            let mut entries = known.flat_map(Vocabulary::entries);
            assert!(entries.any(|entry| row.is(&row.kind, &entry)), "{row:?}: {COMMAND}");
        }
    }

    #[test]
    fn a_reason_keeps_its_scenario_while_that_produces_it_and_otherwise_gets_the_first() {
        let produced =
            BTreeSet::from([row("A", "late"), row("A", "early"), row("B", "late"), row("B", "early")]);
        let known = BTreeSet::from([row("A", "late"), row("B", "gone")]);
        let expected = BTreeSet::from([row("A", "late"), row("B", "early")]);
        assert_eq!(summarised(&known, &produced, &["early", "late"]), expected);
    }

    #[test]
    fn a_snapshot_differs_by_what_is_gone_and_what_is_new() {
        let snapshot = BTreeSet::from([row("A", "one"), row("B", "one")]);
        let produced = BTreeSet::from([row("A", "one"), row("A", "two"), row("C", "two")]);
        assert_eq!(
            differences(&snapshot, &produced),
            [
                "  ApplicationInstance Ready=True/B was not produced by one",
                "  ApplicationInstance Ready=True/C is new"
            ]
        );
    }

    #[test]
    fn a_page_names_the_scenario_or_says_not_yet() {
        let page = page(&BTreeSet::from([row("HelmReleaseReady", "it_is_installed")]));
        assert!(page.contains("| True | `HelmReleaseReady` | documented | `it_is_installed` |"), "{page}");
        assert!(page.contains("| True | `Placeholder` | extension | not yet |"));
        assert!(page.contains("| [ApplicationInstance](#applicationinstance) | 31 | 1 |"));
    }
}
