//! `cargo lab test --mutants`: defects are planted, one at a time, into the code that decides and acts, to see how many of
//! them its own tests notice. Outside of CI, because it takes most of an hour.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use explore::Dice;
use serde::{Deserialize, Serialize};

use crate::paths::{self, Paths};
use crate::progress::seconds;
use crate::verify::{cargo, said_by, tool};

const TOOL: &str = "cargo-mutants";
const VERSION: &str = "27.1.0";
/// How many are drawn.
pub(crate) const DRAWN: &str = "150";
/// The same defects each time, for as long as the code is the same.
const SEED: u64 = 1;
/// So many of a hundred have to be noticed.
const ENOUGH: usize = 90;

/// A test that a busy machine fails: a defect must not count as caught by chance.
const MEASURES_TIME: &str = "even_the_slowest_schedules_take_no_time_to_speak_of";

/// `decide` with what it reads and asks, and `act` with what says when it acts.
const WHERE: [&str; 3] = [
    "crates/vworkspace-operator/src/controllers/application/{decide/**/*,polls/readiness,children,endpoints/**/*,\
     endpoints,inline_secrets,leftovers,observe,temporary_watches}.rs",
    "crates/vworkspace-operator/src/{external,policy}/**/*.rs",
    "crates/operator-kit/src/{act/**/*,driver,freshness,lane,queue,redact,redact/**/*}.rs",
];

/// What became of the defects, kept in `target/lab/mutants.json`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    seed: u64,
    /// How many there are in all.
    listed: usize,
    drawn: usize,
    caught: usize,
    /// Each with its place and what was changed there.
    missed: Vec<String>,
    timed_out: Vec<String>,
    /// They do not compile.
    unviable: usize,
}

impl Report {
    /// Whether the tests notice enough of what compiles.
    pub(crate) fn is_enough(&self) -> bool {
        self.caught * 100 >= self.viable() * ENOUGH
    }

    fn viable(&self) -> usize {
        self.drawn - self.unviable
    }

    fn told(&self) -> String {
        let Self { seed, listed, drawn, caught, missed, timed_out, unviable } = self;
        let share = caught * 100 / self.viable().max(1);
        let mut told = format!(
            "{drawn} of {listed} defects, drawn by seed {seed}: {caught} caught, {} missed, {} timed out, {unviable} do \
             not compile\n{share} % of the {} that compile are caught; expected at least {ENOUGH} %\n",
            missed.len(),
            timed_out.len(),
            self.viable(),
        );
        for (title, all) in [("missed", missed), ("timed out", timed_out)] {
            all.iter().for_each(|one| told.push_str(&format!("{title}: {one}\n")));
        }
        told
    }
}

/// A defect, by its place and what is changed there: `FILE:LINE:COLUMN: replace ...`.
#[derive(Debug, Deserialize)]
struct Mutant {
    name: String,
}

/// Draws so many defects, plants them and tells what became of them.
pub(crate) fn run(paths: &Paths, count: usize) -> Result<Report> {
    let started = Instant::now();
    let folder = paths::workspace().join("target/lab/mutants");
    let checkout = folder.join("checkout");
    copy_checkout(&checkout).context("failed to copy the checkout")?;
    let program = tool(paths, TOOL, VERSION)?;
    let all: Vec<Mutant> =
        serde_json::from_str(&said_by(planting(&program, &checkout, &["--list", "--json"])?)?)
            .with_context(|| format!("{TOOL} lists something else than expected"))?;
    let listed = all.len();
    let (drawn, others) = draw(all, count);
    eprintln!("     {drawn} of {listed} defects are planted, one after the other …");
    let found = folder.join("mutants.out");
    leave_out(&others, &found)?;
    let mut plant = planting(&program, &checkout, &["--iterate", "--in-place"])?;
    plant.arg("--output").arg(&folder).args(["--", "--", "--skip", MEASURES_TIME]);
    let ended = plant.status().with_context(|| format!("failed to run {TOOL}"))?;
    // Some missed, some timed out.
    let is_done = matches!(ended.code(), Some(0 | 2 | 3));
    ensure!(is_done, "{TOOL} has failed ({ended}); what it has written is in {}", found.display());
    let outcomes =
        fs::read_to_string(found.join("outcomes.json")).context("failed to read what was found")?;
    let report = read(&outcomes, listed)?;
    ensure!(report.drawn == drawn, "{drawn} were drawn, {} planted", report.drawn);
    let file = paths::workspace().join("target/lab/mutants.json");
    fs::write(&file, serde_json::to_string_pretty(&report)?)?;
    print!("{}", report.told());
    println!("{}; all of it: {}", seconds(started.elapsed()), file.display());
    Ok(report)
}

/// How many are drawn, and which are not: the same for the same seed.
fn draw(all: Vec<Mutant>, count: usize) -> (usize, Vec<Mutant>) {
    let mut shuffled = Dice::new(SEED).shuffled(all);
    let others = shuffled.split_off(count.min(shuffled.len()));
    (shuffled.len(), others)
}

/// cargo-mutants on a copy. The crates of others come out of the checkout's own target folder, where they are built already.
fn planting(program: &Path, checkout: &Path, arguments: &[&str]) -> Result<Command> {
    let tools = program.parent().map(Path::to_path_buf).into_iter();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(tools.chain(env::split_paths(&path)))?;
    let mut command = cargo(&["mutants", "--no-config", "--colors=never", "--no-times"]);
    // Documentation is no part of what is asked, and its examples would be compiled for each defect.
    command.args(["--cargo-arg=--tests", "--cargo-arg=--locked"]).args(arguments);
    command.args(WHERE.map(|files| format!("--file={files}")));
    command.current_dir(checkout).env("PATH", path).env("CARGO_TARGET_DIR", target_folder()?);
    Ok(command)
}

fn target_folder() -> Result<PathBuf> {
    let told =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| paths::workspace().join("target"), PathBuf::from);
    Ok(std::path::absolute(told)?)
}

/// Tells cargo-mutants to leave these out, as if an earlier run had dealt with them: of its ways to choose, this is the one
/// that goes by whole names, and for every kind of defect.
fn leave_out(others: &[Mutant], found: &Path) -> Result<()> {
    if found.exists() {
        fs::remove_dir_all(found)?;
    }
    fs::create_dir_all(found)?;
    let names: String = others.iter().map(|mutant| format!("{}\n", mutant.name)).collect();
    Ok(fs::write(found.join("previously_caught.txt"), names)?)
}

/// The sources as they are now, at the same place each time, so that one run leaves no more behind than another.
fn copy_checkout(to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy_folder(&paths::workspace(), to)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, is_ours) = (entry?, |name: &str| !["target", ".git"].contains(&name));
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true if is_ours(&entry.file_name().to_string_lossy()) => copy_folder(&entry.path(), &target)?,
            true => {}
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// What cargo-mutants tells of each defect.
#[derive(Debug, Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Debug, Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Summary {
    /// Of the run without a defect.
    Success,
    CaughtMutant,
    MissedMutant,
    Timeout,
    Unviable,
    Failure,
}

fn read(outcomes: &str, listed: usize) -> Result<Report> {
    let Outcomes { outcomes } = serde_json::from_str(outcomes)
        .with_context(|| format!("{TOOL} tells its outcomes in another way than expected"))?;
    let named = |wanted: Summary| -> Vec<String> {
        let planted = outcomes.iter().filter(|outcome| outcome.summary == wanted);
        planted.filter_map(|outcome| outcome.scenario.mutant()).map(|mutant| mutant.name.clone()).collect()
    };
    Ok(Report {
        seed: SEED,
        listed,
        drawn: outcomes.iter().filter_map(|outcome| outcome.scenario.mutant()).count(),
        caught: named(Summary::CaughtMutant).len(),
        missed: named(Summary::MissedMutant),
        timed_out: named(Summary::Timeout),
        unviable: named(Summary::Unviable).len(),
    })
}

impl Scenario {
    fn mutant(&self) -> Option<&Mutant> {
        match self {
            Scenario::Baseline => None,
            Scenario::Mutant(mutant) => Some(mutant),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_defects_are_drawn_each_time() {
        let left_out = |count| {
            let all = (0..500).map(|number| Mutant { name: number.to_string() }).collect();
            let (drawn, others) = draw(all, count);
            (drawn, others.into_iter().map(|mutant| mutant.name).collect::<Vec<_>>())
        };
        let (drawn, others) = left_out(150);
        assert_eq!((drawn, others.len()), (150, 350));
        assert_eq!(left_out(150), (drawn, others.clone()));
        assert_ne!(others, (150..500).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(left_out(1000), (500, Vec::new()));
    }

    #[test]
    fn defects_are_counted_by_what_became_of_them() {
        let planted = |name: &str, summary: &str| serde_json::json!({"scenario": {"Mutant": {"name": name, "package": "x"}}, "summary": summary});
        let outcomes = serde_json::json!({"outcomes": [
            {"scenario": "Baseline", "summary": "Success"},
            planted("a", "CaughtMutant"), planted("b", "MissedMutant"), planted("c", "Unviable"),
            planted("d", "Timeout"), planted("e", "CaughtMutant")], "caught": 2});
        let report = read(&outcomes.to_string(), 9).unwrap();
        let expected = Report {
            seed: SEED,
            listed: 9,
            drawn: 5,
            caught: 2,
            missed: vec!["b".to_owned()],
            timed_out: vec!["d".to_owned()],
            unviable: 1,
        };
        assert_eq!(report, expected);
        assert!(report.told().contains("50 % of the 4 that compile"), "{}", report.told());
    }

    #[test]
    fn nine_of_ten_that_compile_are_enough() {
        let of = |caught, unviable| Report {
            seed: SEED,
            listed: 100,
            drawn: 20,
            caught,
            missed: Vec::new(),
            timed_out: Vec::new(),
            unviable,
        };
        assert!(of(18, 0).is_enough());
        assert!(!of(17, 0).is_enough());
        assert!(of(9, 10).is_enough());
        assert!(!of(8, 10).is_enough());
    }
}
