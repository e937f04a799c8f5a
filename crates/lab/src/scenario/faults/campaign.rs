//! Which runs there are, and what came of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use explore::Dice;
use jiff::Timestamp;
use serde_json::json;

use super::super::Ground;
use super::trial::{Baseline, Ended, Lane};
use super::workload::{Charts, Workload};
use crate::faults::Fault;
use crate::paths;
use crate::progress::seconds;

/// Runs at once: most of the time each waits for Flux.
const LANES: usize = 4;
/// Runs of a sample: some minutes, with the undisturbed one of each workload.
const SAMPLE: usize = 52;
/// How often a sample has each class and each workload at least: one run may miss its moment.
const AT_LEAST: usize = 2;
/// The sample of a run that names none: the same each time, so that what fails fails again.
const DEFAULT_SEED: u64 = 1;
/// Runs that once failed: part of every sample.
const ONCE_FAILED: [&str; 9] = [
    "approval/kill-and-stale-lists:19",
    "change-during-upgrade/stale-list:13:applicationinstances",
    "delete/refuse:1:409:1",
    "delete/stale-list:4:helmreleases",
    "orphan-foreground/expire-watches:3",
    "source-ref/kill-and-stale-lists:7",
    "suspend/refuse:1:503:4",
    "upgrade/refuse:1:503:4",
    "window/stale-list:14:ocirepositories",
];
/// How many failures are told in full.
const TOLD: usize = 6;

/// Which faults are tried.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    /// Every crash point, and the others at moments that the seed chooses.
    All(u64),
    /// Some of them.
    Sample(u64),
    /// This one.
    One(String),
}

impl Default for Choice {
    fn default() -> Self {
        Self::Sample(DEFAULT_SEED)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(seed) => write!(f, "all:{seed}"),
            Self::Sample(seed) => write!(f, "{seed}"),
            Self::One(run) => write!(f, "{run}"),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All(DEFAULT_SEED));
        }
        if let Ok(seed) = text.parse() {
            return Ok(Self::Sample(seed));
        }
        if let Some(seed) = text.strip_prefix("all:").and_then(|seed| seed.parse().ok()) {
            return Ok(Self::All(seed));
        }
        Job::from_str(text).map(|job| Self::One(job.to_string()))
    }
}

/// One disturbed run.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Job {
    workload: Workload,
    fault: Fault,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workload, self.fault)
    }
}

impl FromStr for Job {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected all, all:SEED, a seed, or WORKLOAD/FAULT such as upgrade/kill-after:3";
        let (workload, fault) = text.split_once('/').ok_or_else(|| format!("'{text}': {expected}"))?;
        Ok(Self { workload: workload.parse()?, fault: fault.parse()? })
    }
}

/// What is to be done, from how many writes each workload takes.
fn jobs(choice: &Choice, baselines: &BTreeMap<Workload, Baseline>) -> Result<Vec<Job>> {
    let (seed, limit) = match choice {
        Choice::One(job) => return Ok(vec![Job::from_str(job).map_err(anyhow::Error::msg)?]),
        Choice::All(seed) => (*seed, usize::MAX),
        Choice::Sample(seed) => (*seed, SAMPLE),
    };
    let mut dice = Dice::new(seed);
    let mut all = Vec::new();
    for (workload, baseline) in baselines {
        let faults = faults(*workload, baseline, baselines, &mut dice);
        all.extend(faults.into_iter().map(|fault| Job { workload: *workload, fault }));
    }
    let known = ONCE_FAILED.iter().map(|job| Job::from_str(job).map_err(anyhow::Error::msg));
    let known = known.collect::<Result<Vec<Job>>>()?;
    all.retain(|job| !known.contains(job));
    Ok(broadest(known, dice.shuffled(all)).into_iter().take(limit).collect())
}

fn faults(
    workload: Workload,
    baseline: &Baseline,
    baselines: &BTreeMap<Workload, Baseline>,
    dice: &mut Dice,
) -> Vec<Fault> {
    if let Some(first_part) = workload.with_sleeper() {
        // Asleep before the change, so that it wakes up with a plan of before.
        return Fault::sleeps(baselines.get(&first_part).map_or(0, |baseline| baseline.writes));
    }
    let mut faults = Fault::crashes(baseline.writes);
    faults.extend(match workload.is_variant() {
        true => Fault::one_of_each(baseline.writes, dice),
        false => Fault::others(baseline.writes, dice),
    });
    faults
}

/// Those that are known, then some of each class and of each workload, so that a sample leaves none out: at first runs that
/// are of use for both.
fn broadest(known: Vec<Job>, mut shuffled: Vec<Job>) -> Vec<Job> {
    let mut chosen = Chosen::default();
    known.into_iter().for_each(|job| chosen.add(job));
    for is_enough in [|needs: (bool, bool)| needs.0 && needs.1, |needs: (bool, bool)| needs.0 || needs.1] {
        let mut left = Vec::new();
        for job in shuffled {
            if is_enough(chosen.needs(&job)) { chosen.add(job) } else { left.push(job) }
        }
        shuffled = left;
    }
    chosen.jobs.extend(shuffled);
    chosen.jobs
}

#[derive(Default)]
struct Chosen {
    jobs: Vec<Job>,
    classes: BTreeMap<&'static str, usize>,
    workloads: BTreeMap<Workload, usize>,
}

impl Chosen {
    fn add(&mut self, job: Job) {
        *self.classes.entry(job.fault.class()).or_default() += 1;
        *self.workloads.entry(job.workload).or_default() += 1;
        self.jobs.push(job);
    }

    /// Whether there are too few of its class, and of its workload.
    fn needs(&self, job: &Job) -> (bool, bool) {
        let is_rare = |count: Option<&usize>| count.is_none_or(|count| *count < AT_LEAST);
        (is_rare(self.classes.get(job.fault.class())), is_rare(self.workloads.get(&job.workload)))
    }
}

/// How many of so many runs may miss their fault: one in five, or one of a few. A single one that misses proves nothing.
fn may_miss(runs: usize) -> usize {
    if runs < 2 { 0 } else { (runs / 5).max(1) }
}

/// What came of all runs.
pub(super) struct Report {
    choice: Choice,
    took: Duration,
    writes: BTreeMap<Workload, usize>,
    runs: Vec<(Job, Ended)>,
}

pub(super) async fn run(ground: &Ground, program: &Path, charts: &Charts) -> Result<Report> {
    let count = match ground.faults {
        Choice::One(_) => 1,
        Choice::All(_) | Choice::Sample(_) => LANES,
    };
    let prepared = (1..=count).map(|number| Lane::prepare(ground, program, number));
    let lanes = futures::future::try_join_all(prepared).await?;
    let report = on(&lanes, &ground.faults, charts).await;
    for lane in lanes {
        lane.remove().await?;
    }
    report
}

async fn on(lanes: &[Lane], choice: &Choice, charts: &Charts) -> Result<Report> {
    let started = Instant::now();
    let needed: Vec<Workload> = match choice {
        Choice::One(job) => vec![Job::from_str(job).map_err(anyhow::Error::msg)?.workload],
        Choice::All(_) | Choice::Sample(_) => Workload::ALL.to_vec(),
    };
    let baselines = baselines(lanes, needed, charts).await?;
    let jobs = jobs(choice, &baselines)?;
    println!("     {} runs with a fault ({choice})", jobs.len());
    let runs = disturbed(lanes, jobs, charts, &baselines).await?;
    let writes = baselines.iter().map(|(workload, baseline)| (*workload, baseline.writes)).collect();
    Ok(Report { choice: choice.clone(), took: started.elapsed(), writes, runs })
}

/// Hands work to lanes as they get free.
fn take<T>(work: &Mutex<VecDeque<T>>) -> Option<T> {
    work.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

async fn baselines(
    lanes: &[Lane],
    needed: Vec<Workload>,
    charts: &Charts,
) -> Result<BTreeMap<Workload, Baseline>> {
    let is_told = lanes.len() == 1;
    let work = Mutex::new(VecDeque::from(needed));
    let workers = lanes.iter().map(async |lane| {
        let mut done = Vec::new();
        while let Some(workload) = take(&work) {
            let baseline = lane.undisturbed(workload, charts).await?;
            ensure!(baseline.writes > 0, "{workload} takes no writes: is the proxy passed by?");
            println!("     {workload:<22} undisturbed: {} writes", baseline.writes);
            // Tells a person what the numbers of a fault stand for.
            if is_told {
                println!("{}", baseline.log.join("\n"));
            }
            done.push((workload, baseline));
        }
        anyhow::Ok(done)
    });
    let done = futures::future::try_join_all(workers).await?;
    Ok(done.into_iter().flatten().collect())
}

async fn disturbed(
    lanes: &[Lane],
    jobs: Vec<Job>,
    charts: &Charts,
    baselines: &BTreeMap<Workload, Baseline>,
) -> Result<Vec<(Job, Ended)>> {
    let (count, work) = (jobs.len(), Mutex::new(VecDeque::from(jobs)));
    let begun = || count - work.lock().unwrap_or_else(PoisonError::into_inner).len();
    let workers = lanes.iter().map(async |lane| {
        let mut done = Vec::new();
        while let Some(job) = take(&work) {
            let baseline = baselines.get(&job.workload).context("a workload without an undisturbed run")?;
            let ended = lane.disturbed(job.workload, &job.fault, charts, baseline).await;
            // What others found is not thrown away for it.
            let ended = ended.unwrap_or_else(|error| Ended::not_run(&error));
            let mark = match (&ended.failure, ended.is_reached) {
                (Some(_), _) => "FAIL",
                (None, true) => "ok",
                (None, false) => "ok, not reached",
            };
            println!("     {:>3} {:<50} {:>7} {mark}", begun(), job.to_string(), seconds(ended.took));
            // Now, in case somebody stops the rest.
            if let Some(failure) = &ended.failure {
                println!("{}", first_lines(failure));
            }
            done.push((job, ended));
        }
        anyhow::Ok(done)
    });
    let done = futures::future::try_join_all(workers).await?;
    Ok(done.into_iter().flatten().collect())
}

/// What was wrong, without what led to it.
fn first_lines(failure: &str) -> String {
    let lines = failure.lines().take_while(|line| !line.starts_with("writes since"));
    lines.map(|line| format!("         {line}")).collect::<Vec<_>>().join("\n")
}

impl Report {
    /// Every failure, with the command that repeats it.
    pub(super) fn failures(&self) -> Vec<String> {
        let failed = self.runs.iter().filter_map(|(job, ended)| Some((job, ended.failure.as_ref()?)));
        let told = |(job, failure): (&Job, &String)| {
            format!("{job} failed; again: cargo lab test --faults {job}\n{failure}")
        };
        let all: Vec<(&Job, &String)> = failed.collect();
        let mut lines: Vec<String> = all.iter().take(TOLD).copied().map(told).collect();
        lines.extend(all.iter().skip(TOLD).map(|(job, _)| format!("{job} failed too")));
        lines.extend(self.unproven());
        lines
    }

    /// Classes and workloads of which too many runs ended before their fault: whatever came of them, it proves little.
    fn unproven(&self) -> Vec<String> {
        let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for (job, ended) in &self.runs {
            for name in [format!("fault {}", job.fault.class()), format!("workload {}", job.workload)] {
                let [reached, runs] = counts.entry(name).or_default();
                *reached += usize::from(ended.is_reached);
                *runs += 1;
            }
        }
        let too_few = counts.into_iter().filter(|(_, [reached, runs])| runs - reached > may_miss(*runs));
        too_few
            .map(|(name, [reached, runs])| {
                format!(
                    "{name}: only {reached} of {runs} runs reached their fault; expected {} or more",
                    runs - may_miss(runs)
                )
            })
            .collect()
    }

    fn counts(&self) -> BTreeMap<(&'static str, Workload), [usize; 3]> {
        let mut counts: BTreeMap<_, [usize; 3]> = BTreeMap::new();
        for (job, ended) in &self.runs {
            let [right, failed, missed] = counts.entry((job.fault.class(), job.workload)).or_default();
            match (ended.failure.is_some(), ended.is_reached) {
                (true, _) => *failed += 1,
                (false, true) => *right += 1,
                (false, false) => *missed += 1,
            }
        }
        counts
    }

    /// How often each fault was tried in each workload, for a person and for the page on reliability.
    pub(super) fn table(&self) -> String {
        let counts = self.counts();
        let classes: BTreeSet<&str> = counts.keys().map(|(class, _)| *class).collect();
        let mut text = String::from("     | fault |");
        // Writing to a text does not fail.
        for workload in self.writes.keys() {
            let _ = write!(text, " {workload} |");
        }
        let _ = writeln!(text, "\n     | --- |{}", " --- |".repeat(self.writes.len()));
        for class in classes {
            let _ = write!(text, "     | {class} |");
            for workload in self.writes.keys() {
                let _ = write!(text, " {} |", cell(counts.get(&(class, *workload))));
            }
            text.push('\n');
        }
        let reached = self.runs.iter().filter(|(_, ended)| ended.is_reached).count();
        let failed = self.runs.iter().filter(|(_, ended)| ended.failure.is_some()).count();
        let _ = writeln!(
            text,
            "     {} runs in {}, {reached} with their fault, {failed} failed ({}, {})",
            self.runs.len(),
            seconds(self.took),
            self.choice,
            Timestamp::now().strftime("%Y-%m-%d")
        );
        text
    }

    /// The same for programs, in `target/lab/faults.json`.
    pub(super) fn store(&self) -> Result<()> {
        let runs = self.runs.iter().map(|(job, ended)| {
            json!({"run": job.to_string(), "reached": ended.is_reached, "failure": ended.failure,
                "millis": u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX)})
        });
        let writes: BTreeMap<String, usize> =
            self.writes.iter().map(|(workload, writes)| (workload.to_string(), *writes)).collect();
        let report = json!({"at": Timestamp::now().to_string(), "choice": self.choice.to_string(),
            "writes": writes, "runs": runs.collect::<Vec<_>>()});
        let file = paths::workspace().join("target/lab/faults.json");
        fs::create_dir_all(file.parent().context("a file in no folder")?)?;
        fs::write(&file, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("failed to write {}", file.display()))
    }
}

/// `12`, with what failed and what was not reached.
fn cell(counts: Option<&[usize; 3]>) -> String {
    let Some([right, failed, missed]) = counts else { return String::new() };
    let more = |count: &usize, what: &str| {
        if *count == 0 { String::new() } else { format!(", {count} {what}") }
    };
    format!("{right}{}{}", more(failed, "FAILED"), more(missed, "not reached"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baselines(writes: usize) -> BTreeMap<Workload, Baseline> {
        let baseline = Baseline { writes, end: BTreeMap::new(), log: Vec::new() };
        Workload::ALL.into_iter().map(|workload| (workload, baseline.clone())).collect()
    }

    #[test]
    fn a_choice_is_all_a_seed_or_one_run() {
        let table = [
            ("all", Ok(Choice::All(1))),
            ("all:9", Ok(Choice::All(9))),
            ("12", Ok(Choice::Sample(12))),
            ("upgrade/kill-after:3", Ok(Choice::One("upgrade/kill-after:3".to_owned()))),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in ["some", "upgrade/explode:1", "sleep/kill-after:1"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn all_means_every_crash_point_of_every_workload() {
        let all = jobs(&Choice::All(1), &baselines(7)).expect("jobs");
        for workload in Workload::ALL {
            let is_about_sleep = workload.with_sleeper().is_some();
            for fault in if is_about_sleep { Fault::sleeps(7) } else { Fault::crashes(7) } {
                assert!(all.contains(&Job { workload, fault }));
            }
        }
    }

    #[test]
    fn a_sample_has_every_class_and_every_workload_twice_and_is_the_same_for_the_same_seed() {
        let sample = |seed| jobs(&Choice::Sample(seed), &baselines(20)).expect("jobs");
        for seed in 1..20 {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for job in sample(seed) {
                *counts.entry(job.fault.class().to_owned()).or_default() += 1;
                *counts.entry(job.workload.to_string()).or_default() += 1;
            }
            assert_eq!(counts.len(), 14 + Workload::ALL.len());
            let rare: Vec<_> = counts.iter().filter(|(_, count)| **count < AT_LEAST).collect();
            assert!(rare.is_empty(), "seed {seed}: {rare:?}");
        }
        assert_eq!(sample(1).len(), SAMPLE);
        assert_eq!(sample(1), sample(1));
        assert_ne!(sample(1), sample(2));
    }

    fn report(runs: &[(&str, bool)]) -> Report {
        let run = |(job, is_reached): &(&str, bool)| {
            let ended = Ended { is_reached: *is_reached, failure: None, took: Duration::ZERO };
            (job.parse().expect("a run"), ended)
        };
        Report {
            choice: Choice::default(),
            took: Duration::ZERO,
            writes: BTreeMap::new(),
            runs: runs.iter().map(run).collect(),
        }
    }

    #[test]
    fn one_of_a_few_runs_may_miss_its_fault_and_one_in_five_of_many() {
        let table = [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (9, 1), (10, 2), (300, 60)];
        for (runs, expected) in table {
            assert_eq!(may_miss(runs), expected, "{runs} runs");
        }
    }

    #[test]
    fn each_class_and_each_workload_has_to_reach_its_faults_by_itself() {
        // Many that reach theirs do not make up for a class of which none did.
        let mut runs = vec![("upgrade/kill-after:1", true); 40];
        assert!(report(&runs).failures().is_empty());
        runs.extend([("upgrade/stale-list:1:helmreleases", false); 2]);
        let failures = report(&runs).failures();
        assert_eq!(failures, ["fault stale-list: only 0 of 2 runs reached their fault; expected 1 or more"]);
        // Nor for a workload.
        let mut runs = vec![("upgrade/kill-after:1", true); 40];
        runs.extend([("suspend/kill-after:1", false), ("suspend/kill-after:2", false)]);
        let failures = report(&runs).failures();
        assert_eq!(failures, ["workload suspend: only 0 of 2 runs reached their fault; expected 1 or more"]);
    }
}
