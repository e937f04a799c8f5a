//! One run of one workload, with one fault or none.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::core::ApiResource;
use tokio::time::{Instant, sleep};

use super::super::Ground;
use super::super::application::instance::{self, HELM, SOURCE};
use super::end_state::{self, EndState, differences};
use super::history::{CLASSIC, RELEASE, REPOSITORY, Recorder};
use super::program::{Desk, Operator, REST};
use super::truth;
use super::workload::{Charts, Left, Subject, Workload};
use crate::faults::Fault;

/// How long a step of a workload may take on a machine that is busy with other things; faults add their own time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what belongs to a release may take to go after it: the garbage collector is not ours.
const GOODBYE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);
/// What the operator gives Flux.
const GIVEN: [(&str, &str, &str); 4] = [
    (HELM, RELEASE, "web"),
    (SOURCE, REPOSITORY, "web"),
    (SOURCE, REPOSITORY, "web-candidate"),
    (SOURCE, CLASSIC, "web"),
];

/// A namespace in which one run comes after the other.
pub(super) struct Lane {
    ground: Ground,
    desk: Desk,
    kinds: Vec<ApiResource>,
    /// What is in it when nothing is.
    empty: EndState,
}

/// What an undisturbed run was like.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    pub(super) writes: usize,
    pub(super) end: EndState,
    pub(super) log: Vec<String>,
}

/// How a disturbed run ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Whether the fault happened at all: runs differ in length.
    pub(super) is_reached: bool,
    /// What was wrong, with all that is needed to see why.
    pub(super) failure: Option<String>,
    pub(super) took: Duration,
}

impl Ended {
    /// It could not be tried, which is a failure too.
    pub(super) fn not_run(error: &anyhow::Error) -> Self {
        Self {
            is_reached: false,
            failure: Some(format!("it could not be run: {error:#}")),
            took: Duration::ZERO,
        }
    }
}

impl Lane {
    pub(super) async fn prepare(ground: &Ground, program: &Path, number: usize) -> Result<Self> {
        let ground = Ground { namespace: format!("faults-{number}"), ..ground.clone() };
        // A run that was killed may have left something; what cannot be removed shows in the next line.
        let _ = instance::clear(&ground).await;
        ground.delete_namespace().await?;
        ground.apply("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}").await?;
        let kinds = end_state::kinds(&ground).await?;
        let desk = Desk::prepare(ground.clone(), program).await?;
        // The account of each namespace and its certificates come a moment after it.
        ground.until("v1", "ConfigMap", "kube-root-ca.crt", |_| true).await?;
        ground.until("v1", "ServiceAccount", "default", |_| true).await?;
        let empty = end_state::of(&ground, &kinds).await?;
        Ok(Self { ground, desk, kinds, empty })
    }

    /// Takes its namespace away.
    pub(super) async fn remove(self) -> Result<()> {
        // Instances whose operator is gone would hold it.
        let _ = instance::clear(&self.ground).await;
        self.ground.remove().await
    }

    /// One run without faults.
    pub(super) async fn undisturbed(&self, workload: Workload, charts: &Charts) -> Result<Baseline> {
        let recorder = Recorder::start(&self.ground).await?;
        let operator = self.desk.start(None).await?;
        let run = self.perform(workload, None, charts, &recorder, &operator).await;
        run.map_err(|error| self.explain(&error, &recorder, &operator))
            .with_context(|| format!("{workload} without any fault"))
    }

    /// One run with a fault, which must end like the one without.
    pub(super) async fn disturbed(
        &self,
        workload: Workload,
        fault: &Fault,
        charts: &Charts,
        baseline: &Baseline,
    ) -> Result<Ended> {
        let started = Instant::now();
        let recorder = Recorder::start(&self.ground).await?;
        let operator = self.desk.start(fault.clock()).await?;
        let run = self.perform(workload, Some(fault), charts, &recorder, &operator).await;
        let is_reached = operator.proxy.is_reached();
        let run = run.and_then(|run| {
            let other = differences(&baseline.end, &run.end);
            if other.is_empty() { Ok(()) } else { bail!("it ended otherwise:\n  {}", other.join("\n  ")) }
        });
        let mut failure = run.err().map(|error| format!("{:#}", self.explain(&error, &recorder, &operator)));
        if let Some(why) = &mut failure
            && let Err(error) = self.clear(workload, &recorder, operator).await
        {
            // The next run in this namespace fails, too; the cause is this one's.
            why.push_str(&format!("\n{error:#}"));
        }
        Ok(Ended { is_reached, failure, took: started.elapsed() })
    }

    async fn perform(
        &self,
        workload: Workload,
        fault: Option<&Fault>,
        charts: &Charts,
        recorder: &Recorder,
        operator: &Operator,
    ) -> Result<Baseline> {
        let blindness = fault.map(Fault::blindness).unwrap_or_default();
        let patience = PATIENCE + blindness;
        let subject = Subject::new(&self.ground, recorder, charts, patience);
        if fault.is_some_and(Fault::is_lasting) {
            // It is about everything that begins after it.
            operator.proxy.arm(fault.cloned());
        }
        operator.is_quiet(Duration::ZERO, patience).await?;
        subject.prepare(workload).await.context("before anything went wrong")?;
        operator.is_quiet(REST, patience).await?;
        operator.proxy.arm(fault.cloned());
        subject.perform(workload, operator).await?;
        operator.is_quiet(REST + fault.map(Fault::aftermath).unwrap_or_default(), patience).await?;
        if workload.leaves() == Left::Nothing {
            // Pods are left to the garbage collector, which takes its time.
            self.is_empty().await?;
        }
        let (writes, log) = (operator.proxy.writes(), operator.proxy.log());
        let end = end_state::of(&self.ground, &self.kinds).await?;
        let end = if workload.has_one_way() { end } else { end_state::without_the_way(end) };
        operator.proxy.disarm();
        subject.is_deleted().await.context("when it was deleted at the end")?;
        subject.tidy(workload).await?;
        self.is_empty().await?;
        operator.is_well()?;
        operator.has_obeyed_the_lease()?;
        operator.has_not_panicked()?;
        if fault.is_some_and(|fault| fault.clock().is_some()) {
            truth::clock_was_off(&recorder.versions())?;
        }
        let lies = truth::lies(&recorder.versions(), blindness);
        if !lies.is_empty() {
            bail!("it lied:\n  {}", lies.join("\n  "));
        }
        Ok(Baseline { writes, end, log })
    }

    /// Nothing is left of what a run has made.
    async fn is_empty(&self) -> Result<()> {
        let deadline = Instant::now() + GOODBYE;
        loop {
            let left = differences(&self.empty, &end_state::of(&self.ground, &self.kinds).await?);
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{} s after the deletion: {}", GOODBYE.as_secs(), left.join(", "));
            }
            sleep(POLL).await;
        }
    }

    /// Makes room for the next run after one that went wrong.
    async fn clear(&self, workload: Workload, recorder: &Recorder, operator: Operator) -> Result<()> {
        let charts = Charts::default();
        let subject = Subject::new(&self.ground, recorder, &charts, GOODBYE);
        operator.proxy.disarm();
        // One that sleeps would hold what it leads.
        let _ = operator.wake();
        // What does not go by itself goes by force.
        let gone = subject.is_deleted().await;
        drop(operator);
        if gone.is_err() {
            // Whether this was enough is asked below.
            let _ = instance::clear(&self.ground).await;
        }
        let _ = subject.tidy(workload).await;
        // Nobody owns them but an operator that is gone.
        for (api_version, kind, name) in GIVEN {
            let _ = self.ground.delete(api_version, kind, name).await;
        }
        self.is_empty().await.context("what a failed run left could not be removed")
    }

    fn explain(&self, error: &anyhow::Error, recorder: &Recorder, operator: &Operator) -> anyhow::Error {
        let log = operator.proxy.log().join("\n");
        anyhow::anyhow!(
            "{error:#}\nwrites since the fault was armed:\n{log}\nhistory in {}:\n{}\nthe operator's log ends:\n{}",
            self.ground.namespace,
            recorder.told(),
            operator.log_tail()
        )
    }
}
