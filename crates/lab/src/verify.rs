//! `cargo lab test`: everything that must hold before a change lands, from formatting to scenarios on a real cluster.
//! It ends with one line, `N passed, N failed`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::paths::{self, Paths};
use crate::progress::seconds;
use crate::reasons::{self, Produced, Recorder, Run};
use crate::rights;
use crate::scenario::{self, Faults, Scenario};
use crate::unmet::Unmet;
use crate::up::{self, Wanted};

const DENY_VERSION: &str = "0.20.2";

/// What the user asked for.
pub(crate) struct Chosen<'a> {
    pub(crate) kubeconfig: Option<&'a Path>,
    /// Leave the lab tier out.
    pub(crate) tier: Tier,
    /// Only what has this in its name.
    pub(crate) filter: Option<&'a str>,
    /// Which faults are tried.
    pub(crate) faults: Faults,
}

#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Tier {
    Quick,
    All,
}

/// How much passed and failed so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Tally {
    fn is_empty(&self) -> bool {
        self.passed + self.failed == 0
    }

    fn count(&mut self, ok: bool) {
        if ok {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }
}

/// A check of the source: its name and how it is run.
type Check = (&'static str, fn(&Paths) -> Result<Verdict>);

/// What a check that did not fail says.
enum Verdict {
    Passed,
    /// It could not be made here, and why.
    Skipped(&'static str),
}

const CHECKS: [Check; 4] = [
    ("formatting", formatting),
    ("clippy", clippy),
    ("dependencies", dependencies),
    ("advisories", advisories),
];

/// Runs everything that is chosen, the quickest first, and does not stop at a failure.
pub(crate) async fn run(paths: &Paths, chosen: &Chosen<'_>) -> Result<Tally> {
    let matches = |name: &str| chosen.filter.is_none_or(|filter| name.contains(filter));
    let scenarios: Vec<&'static Scenario> = match chosen.tier {
        Tier::Quick => Vec::new(),
        Tier::All => scenario::ALL.iter().filter(|scenario| matches(scenario.name)).collect(),
    };
    if !scenarios.is_empty() {
        // What must be put right is said before half an hour of other work.
        up::prepare(paths, chosen.kubeconfig, &Addon::selected(&needs_of(&scenarios), paths)?)?;
    }
    let mut tally = Tally::default();
    for (name, check) in CHECKS.iter().filter(|(name, _)| matches(name)) {
        let started = Instant::now();
        eprintln!("     {name} …");
        match check(paths) {
            Ok(Verdict::Skipped(why)) => println!("skip {name} ({why})"),
            other => {
                tally.count(other.is_ok());
                tell(name, other.err().as_ref(), started);
            }
        }
    }
    if matches(EXPLORED) {
        explored(chosen.tier, &mut tally);
    }
    // A name that was found among those need not be looked for in every crate.
    let found = chosen.filter.is_some() && !(tally.is_empty() && scenarios.is_empty());
    if !found {
        unit_tests(chosen.filter, &mut tally)?;
    }
    run_scenarios(paths, chosen, &scenarios, &mut tally).await?;
    if tally.is_empty() && scenarios.is_empty() {
        let filter = chosen.filter.unwrap_or_default();
        let names: Vec<&str> = scenario::ALL.iter().map(|scenario| scenario.name).collect();
        let text = format!(
            "no check, test or scenario has '{filter}' in its name; scenarios are:\n  {}",
            names.join("\n  ")
        );
        return Err(Unmet::new(text).into());
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(tally)
}

fn tell(name: &str, failure: Option<&anyhow::Error>, started: Instant) {
    let mark = if failure.is_none() { "ok  " } else { "FAIL" };
    println!("{mark} {name:<70} {:>8}", seconds(started.elapsed()));
    if let Some(error) = failure {
        println!("{error:#}");
    }
}

fn formatting(_: &Paths) -> Result<Verdict> {
    let is_there = |tool: &str| quietly(cargo(&[tool, "--version"])).is_ok();
    if !(is_there("fmt") && is_there("clippy")) {
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", "rustfmt", "clippy"]);
        quietly(rustup).context("failed to install rustfmt and clippy")?;
    }
    quietly(cargo(&["fmt", "--all", "--check"]))?;
    Ok(Verdict::Passed)
}

fn clippy(_: &Paths) -> Result<Verdict> {
    let mut clippy =
        cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--locked", "--quiet"]);
    clippy.args(["--", "-D", "warnings"]);
    quietly(clippy)?;
    Ok(Verdict::Passed)
}

/// Bans, licences and sources. Advisories are apart, because their database is not reachable everywhere.
fn dependencies(paths: &Paths) -> Result<Verdict> {
    quietly(deny(paths, &["check", "--hide-inclusion-graph", "bans", "licenses", "sources"])?)?;
    Ok(Verdict::Passed)
}

fn advisories(paths: &Paths) -> Result<Verdict> {
    if quietly(deny(paths, &["fetch", "db"])?).is_err() {
        return Ok(Verdict::Skipped("their database cannot be fetched from here"));
    }
    quietly(deny(paths, &["--offline", "check", "advisories"])?)?;
    Ok(Verdict::Passed)
}

fn deny(paths: &Paths, arguments: &[&str]) -> Result<Command> {
    let mut deny = Command::new(tool(paths, "cargo-deny", DENY_VERSION)?);
    deny.current_dir(paths::workspace()).args(["--log-level", "error"]).args(arguments);
    Ok(deny)
}

/// A program of crates.io, installed into the cache on first use.
pub(crate) fn tool(paths: &Paths, name: &str, version: &str) -> Result<PathBuf> {
    let root = paths.cache.join("tools").join(format!("{name}-{version}"));
    let program = root.join("bin").join(name);
    if !program.exists() {
        println!("     installing {name} {version} (about 3 minutes, once)");
        let mut install = cargo(&["install", name, "--locked", "--quiet", "--version", version, "--root"]);
        install.arg(&root);
        quietly(install).with_context(|| format!("failed to install {name}"))?;
    }
    Ok(program)
}

const EXPLORED: &str = "explored schedules keep every promise";

/// Drives each kind's rules through schedules and through all combinations of what they can be shown (docs/explore.md).
fn explored(tier: Tier, tally: &mut Tally) {
    let started = Instant::now();
    let schedules = match tier {
        Tier::Quick => 10_000,
        Tier::All => 1_000_000,
    };
    eprintln!("     {EXPLORED} … ({schedules}; the first time this compiles the operator with optimisation)");
    let mut test =
        cargo(&["test", "--profile", "explore", "-p", "vworkspace-operator", "--locked", "explored_"]);
    // One after the other: each uses all cores, and says how quick it was.
    test.args(["--", "--nocapture", "--test-threads=1"]).env("EXPLORE_SCHEDULES", schedules.to_string());
    let told = said_by(test).and_then(|said| told_by_explorer(&said, schedules));
    tally.count(told.is_ok());
    tell(EXPLORED, told.as_ref().err(), started);
    told.unwrap_or_default().iter().for_each(|line| println!("     {line}"));
}

/// How much was explored and how quickly. That a busy machine is slow is no failure; that less was explored is one.
fn told_by_explorer(said: &str, schedules: u32) -> Result<Vec<String>> {
    let told: Vec<String> = said
        .lines()
        .filter_map(|line| line.split_once("explored "))
        .map(|(_, told)| format!("explored {told}"))
        .collect();
    for kind in ["ApplicationInstance", "Operation"] {
        let wanted = format!("explored {kind}: {schedules} schedules,");
        let has_schedules = told.iter().any(|line| line.starts_with(&wanted));
        ensure!(has_schedules, "expected {schedules} schedules of {kind}:\n{said}");
    }
    for product in ["explored combinations of inputs:", "explored combinations of inputs of Operation:"] {
        let has_product = told.iter().any(|line| line.starts_with(product));
        ensure!(has_product, "expected {product}\n{said}");
    }
    Ok(told)
}

/// All unit and integration tests; cargo's own closing lines are added up.
fn unit_tests(filter: Option<&str>, tally: &mut Tally) -> Result<()> {
    let started = Instant::now();
    eprintln!("     unit tests … (the first time this compiles everything)");
    let mut test = cargo(&["test", "--workspace", "--all-features", "--locked", "--no-fail-fast"]);
    test.args(filter);
    let output = test.stderr(Stdio::piped()).output().context("failed to run cargo test")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let counted = results(&said);
    let title = format!("unit tests: {} passed, {} failed", counted.passed, counted.failed);
    let complained = String::from_utf8_lossy(&output.stderr);
    let failure = (!output.status.success()).then(|| anyhow::anyhow!("{said}\n{complained}"));
    tell(&title, failure.as_ref(), started);
    let did_not_run = failure.is_some() && counted.failed == 0;
    tally.passed += counted.passed;
    tally.failed += counted.failed + usize::from(did_not_run);
    Ok(())
}

/// Adds up lines such as `test result: ok. 12 passed; 0 failed; 1 ignored; ...`.
fn results(said: &str) -> Tally {
    let mut tally = Tally::default();
    for line in said.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        let number = |what: &str| {
            let before = line.split([';', '.']).find_map(|part| part.trim().strip_suffix(what));
            before.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or_default()
        };
        tally.passed += number("passed");
        tally.failed += number("failed");
    }
    tally
}

/// On the lab's own cluster, or on the one that the user names. A lab that was not running before is not running after.
async fn run_scenarios(
    paths: &Paths,
    chosen: &Chosen<'_>,
    scenarios: &[&'static Scenario],
    tally: &mut Tally,
) -> Result<()> {
    let (possible, impossible): (Vec<_>, Vec<_>) =
        scenarios.iter().copied().partition(|scenario| chosen.kubeconfig.is_none() || !scenario.needs_node);
    for scenario in &impossible {
        println!("skip {} (needs the node, which an existing cluster does not give)", scenario.name);
    }
    if possible.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    eprintln!("     this checkout's programs … (the first time this compiles them)");
    let programs = quietly(cargo(&["build", "--workspace", "--bins", "--examples", "--locked", "--quiet"]));
    if let Err(error) = programs {
        tally.count(false);
        tell("the programs that scenarios run", Some(&error), started);
        return Ok(());
    }
    let was_running = chosen.kubeconfig.is_some() || Node::find(paths).is_some();
    let addons = Addon::selected(&needs_of(&possible), paths)?;
    let wanted = Wanted { addons: &addons, port: None, kubeconfig: chosen.kubeconfig };
    let started = Instant::now();
    let cluster = up::up(paths, &wanted).await;
    tell("the lab starts", cluster.as_ref().err(), started);
    tally.count(cluster.is_ok());
    if let Ok(cluster) = cluster {
        let recorder = Recorder::start(&cluster, scenario::namespaces(&possible)).await?;
        for outcome in scenario::run_all(&cluster, &possible, &chosen.faults, &recorder.seen()).await {
            tally.count(outcome.failure.is_none());
        }
        let run = if chosen.filter.is_none() { Run::Full } else { Run::Filtered };
        reason_coverage(&recorder.finish(), run, &impossible, tally)?;
        least_privilege(&cluster, run, tally).await;
    } else {
        println!("skip {COVERAGE} (no scenario could run)");
    }
    if !was_running {
        let _lock = up::lock(paths)?;
        crate::node::stop(paths)?;
    }
    Ok(())
}

const COVERAGE: &str = "every documented reason is produced by a scenario";

/// Keeps what was produced; a run of everything must have produced every documented reason.
fn reason_coverage(
    produced: &BTreeSet<Produced>,
    run: Run,
    impossible: &[&'static Scenario],
    tally: &mut Tally,
) -> Result<()> {
    reasons::store(produced, run)?;
    match (run, impossible.len()) {
        (Run::Filtered, _) => {}
        (Run::Full, 0) => {
            let started = Instant::now();
            let checked = reasons::check(produced);
            tally.count(checked.is_ok());
            tell(COVERAGE, checked.err().as_ref(), started);
        }
        (Run::Full, count) => println!("skip {COVERAGE} ({count} scenarios cannot run here)"),
    }
    Ok(())
}

const RIGHTS: &str = "the operator is granted exactly what it used";

/// Only a run of everything uses everything, from the moment at which the operator was installed.
async fn least_privilege(cluster: &Cluster, run: Run, tally: &mut Tally) {
    if cluster.node.is_none() || run != Run::Full {
        return;
    }
    let started = Instant::now();
    let checked = rights::check(cluster).await;
    tally.count(checked.is_ok());
    tell(RIGHTS, checked.err().as_ref(), started);
}

/// The add-ons that scenarios need, each once.
fn needs_of(scenarios: &[&'static Scenario]) -> Vec<String> {
    let needs: BTreeSet<&str> = scenarios.iter().flat_map(|scenario| scenario.needs).copied().collect();
    needs.into_iter().map(str::to_owned).collect()
}

/// The cargo that runs us, in the checkout.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(paths::workspace()).args(arguments).stdin(Stdio::null());
    // What the cargo that runs us says of our own package would make the inner one build half the tree again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// Runs a command; what it said is shown only when it fails.
pub(crate) fn quietly(command: Command) -> Result<()> {
    said_by(command).map(drop)
}

/// What a command wrote; if it fails that is in the error.
pub(crate) fn said_by(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?} failed:\n{said}{complained}");
    Ok(said.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exploration_that_did_not_take_place_is_a_failure() {
        let schedules = ["ApplicationInstance", "Operation"]
            .map(|kind| format!("explored {kind}: 10000 schedules, 1.2 s"));
        let products = ["inputs", "inputs of Operation"]
            .map(|of| format!("explored combinations of {of}: 5 of 9, 0.1 s"));
        let told: Vec<&str> = schedules.iter().chain(&products).map(String::as_str).collect();
        let said = |lines: &[&str]| format!("test a::explored_instances ... {}\nok\n", lines.join("\n"));
        assert_eq!(told_by_explorer(&said(&told), 10_000).unwrap(), told);
        assert!(told_by_explorer(&said(&told), 1_000_000).is_err());
        for missing in 0..told.len() {
            let mut fewer = told.clone();
            fewer.remove(missing);
            assert!(told_by_explorer(&said(&fewer), 10_000).is_err(), "{missing}");
        }
        assert!(told_by_explorer("running 0 tests\n", 10_000).is_err());
    }

    #[test]
    fn cargo_tests_closing_lines_are_added_up() {
        let said = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\nx\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s\n";
        let tally = results(said);
        assert_eq!((tally.passed, tally.failed), (15, 2));
    }
}
