//! What was measured, beside what is promised: kept in `target/lab/bench/`, so that parts can be measured one by one, and
//! compared with the table in `docs/performance.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::paths;
use crate::table;

const END: &str = "<!-- /measured -->";

/// What the table of a bench is called, and how it looks.
#[derive(Debug)]
pub(super) struct Title {
    /// As in `cargo lab bench NAME`.
    pub(super) name: &'static str,
    /// Its file below docs/images.
    pub(super) picture: &'static str,
    /// The order of the rows, by how they begin.
    pub(super) order: &'static [&'static str],
}

impl Title {
    fn begin(&self) -> String {
        format!("<!-- measured: written by cargo lab bench {} --update -->", self.name)
    }

    fn file(&self, ending: &str) -> String {
        format!("{}.{ending}", self.name)
    }
}

/// One measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) measure: String,
    /// At most.
    pub(super) target: f64,
    pub(super) unit: String,
    pub(super) measured: f64,
    /// What it was made of.
    pub(super) detail: String,
    /// When, and how busy the machine was.
    #[serde(default)]
    pub(super) conditions: String,
}

impl Row {
    pub(super) fn at_most(measure: &str, target: f64, unit: &str, measured: f64) -> Self {
        let (measure, unit) = (measure.to_owned(), unit.to_owned());
        Self { measure, target, unit, measured, detail: String::new(), conditions: String::new() }
    }

    pub(super) fn because(mut self, detail: String) -> Self {
        self.detail = detail;
        self
    }

    /// How much of what is promised is used up.
    pub(super) fn share(&self) -> f64 {
        if self.target == 0.0 {
            return if self.measured == 0.0 { 0.0 } else { f64::INFINITY };
        }
        self.measured / self.target
    }

    fn cells(&self) -> [String; 4] {
        let verdict = if self.share() <= 1.0 { "met" } else { "**missed**" };
        let amount = |value: f64| format!("{} {}", rounded(value), self.unit).trim_end().to_owned();
        let measured = if self.detail.is_empty() {
            amount(self.measured)
        } else {
            format!("{} ({})", amount(self.measured), self.detail)
        };
        [self.measure.clone(), format!("<= {}", amount(self.target)), measured, verdict.to_owned()]
    }
}

fn rounded(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// All measures so far, in the order in which they are promised.
#[derive(Debug)]
pub(super) struct Results {
    title: &'static Title,
    rows: Vec<Row>,
}

/// How they are kept.
#[derive(Serialize, Deserialize)]
struct Kept<Rows> {
    rows: Rows,
}

impl Results {
    pub(super) fn load(folder: &Path, title: &'static Title) -> Result<Self> {
        let file = title.file("json");
        let rows = match fs::read_to_string(folder.join(&file)) {
            Ok(text) => {
                let kept: Kept<Vec<Row>> =
                    serde_json::from_str(&text).with_context(|| format!("failed to read {file}"))?;
                kept.rows
            }
            Err(_) => Vec::new(),
        };
        Ok(Self { title, rows })
    }

    pub(super) fn store(&self, folder: &Path) -> Result<()> {
        let kept = serde_json::to_string_pretty(&Kept { rows: &self.rows })?;
        fs::write(folder.join(self.title.file("json")), kept)?;
        fs::write(folder.join(self.title.file("md")), self.table())?;
        fs::write(folder.join(self.title.file("svg")), super::plot::bars(&self.rows))?;
        Ok(())
    }

    /// Takes a measure in, instead of an older one of the same.
    pub(super) fn add(&mut self, row: Row) {
        self.rows.retain(|known| known.measure != row.measure);
        self.rows.push(row);
        let order = self.title.order;
        let place =
            |row: &Row| order.iter().position(|known| row.measure.starts_with(known)).unwrap_or(order.len());
        self.rows.sort_by_key(place);
    }

    /// For a person, with what was committed last.
    pub(super) fn compared(&self, only: &[String]) -> Result<String> {
        let committed = committed(&fs::read_to_string(page()).unwrap_or_default(), self.title);
        let rows = self.rows.iter().filter(|row| only.contains(&row.measure)).map(|row| {
            let before = committed.get(&row.measure).cloned().unwrap_or_else(|| "-".to_owned());
            row.cells().into_iter().chain([before]).collect()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        Ok(table::lines(&["MEASURE", "TARGET", "MEASURED", "", "COMMITTED"], &rows))
    }

    fn table(&self) -> String {
        let mut text = "| measure | target | measured | |\n| --- | --- | --- | --- |\n".to_owned();
        for row in &self.rows {
            text.push_str(&format!("| {} |\n", row.cells().join(" | ")));
        }
        let conditions: Vec<&str> = self.rows.iter().map(|row| row.conditions.as_str()).collect();
        text.push_str(&format!("\nMeasured: {}.\n", together(&conditions)));
        text
    }

    /// Writes the table into the page, and leaves the rest of it alone.
    pub(super) fn update_page(&self, folder: &Path) -> Result<()> {
        let text = fs::read_to_string(page()).context("failed to read docs/performance.md")?;
        let begin = self.title.begin();
        let expected = || format!("docs/performance.md has no '{begin}' and '{END}'");
        let (before, rest) = text.split_once(&begin).with_context(expected)?;
        let (_, after) = rest.split_once(END).with_context(expected)?;
        fs::write(page(), format!("{before}{begin}\n\n{}\n{END}{after}", self.table()))?;
        let images = paths::workspace().join("docs/images");
        fs::copy(folder.join(self.title.file("svg")), images.join(self.title.picture))?;
        Ok(())
    }
}

/// `2026-11-15, 2 cores, load 0.59 to 2.88` out of several that differ in the load.
fn together(conditions: &[&str]) -> String {
    let mut loads: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (machine, load) in conditions.iter().filter_map(|known| known.split_once(", load ")) {
        loads.entry(machine).or_default().extend(load.parse::<f64>());
    }
    let told = loads.into_iter().map(|(machine, loads)| {
        let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
        let most = loads.iter().copied().fold(0.0, f64::max);
        format!("{machine}, load {least:.2} to {most:.2}")
    });
    told.collect::<Vec<_>>().join("; ")
}

fn page() -> std::path::PathBuf {
    paths::workspace().join("docs/performance.md")
}

/// What the page says of each measure.
fn committed(page: &str, title: &Title) -> BTreeMap<String, String> {
    let table = page
        .split_once(&title.begin())
        .and_then(|(_, rest)| rest.split_once(END))
        .map_or("", |(table, _)| table);
    let rows = table.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        Some((cells.next()?.to_owned(), cells.nth(1)?.to_owned()))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: Title = Title { name: "this", picture: "this.svg", order: &["a", "b"] };

    #[test]
    fn a_row_says_whether_the_promise_is_kept() {
        let table =
            [(3.0, 2.5, "met"), (3.0, 3.01, "**missed**"), (0.0, 0.0, "met"), (0.0, 1.0, "**missed**")];
        for (target, measured, verdict) in table {
            let [.., said] = Row::at_most("x", target, "s", measured).cells();
            assert_eq!(said, verdict, "{measured} of {target}");
        }
    }

    #[test]
    fn conditions_that_differ_in_the_load_are_told_together() {
        let all = ["today, 2 cores, load 0.59", "today, 2 cores, load 2.88", "today, 2 cores, load 1.00"];
        assert_eq!(together(&all), "today, 2 cores, load 0.59 to 2.88");
    }

    #[test]
    fn what_the_page_says_is_found_again() {
        let mut results = Results { title: &TITLE, rows: Vec::new() };
        results.add(Row::at_most("b", 3.0, "MiB", 1.5).because("why".to_owned()));
        results.add(Row::at_most("a", 1.0, "", 1.0));
        results.add(Row::at_most("b", 3.0, "MiB", 2.0).because("why".to_owned()));
        let others = "<!-- measured: written by cargo lab bench other --update -->\n| b | 1 | 9 | |\n";
        let page = format!("{others}{END}\ntext\n{}\n{}{END}\n", TITLE.begin(), results.table());
        let known = committed(&page, &TITLE);
        assert_eq!(known.get("b").map(String::as_str), Some("2 MiB (why)"));
        assert_eq!(known.get("a").map(String::as_str), Some("1"));
    }
}
