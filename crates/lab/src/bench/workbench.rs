//! What a bench of the operator needs, whatever it measures: the program with its rights, the chart that it reads, Flux that
//! stands still, and a place for the results.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::flux::{self, ServedChart};
use super::instances::{self, Which};
use super::operator::{self, Operator, Program};
use super::replay::Replay;
use super::results::{Results, Row, Title};
use crate::audit::{self, Request};
use crate::cluster::Cluster;
use crate::own_program;
use crate::paths;
use crate::progress::seconds;
use crate::unmet::Unmet;

/// How long nothing may happen before the operator counts as settled.
const QUIET: Duration = Duration::from_secs(3);
pub(super) const GLANCE: Duration = Duration::from_millis(250);
/// How long an operator may take to settle.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Which program is measured, and what becomes of the results.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Measure this program instead of building one; its results are kept apart.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write the table in docs/performance.md anew.
    #[arg(long, conflicts_with = "program")]
    update: bool,
}

/// One bench: what its table is called, and the beginnings of the names of its namespaces.
pub(super) struct Plan {
    pub(super) title: &'static Title,
    pub(super) prefixes: &'static [&'static str],
}

/// What all measures share.
pub(super) struct Workbench {
    pub(super) cluster: Cluster,
    pub(super) program: Program,
    chart: ServedChart,
}

/// Measures the chosen parts, or all, shows the results and keeps them.
pub(super) async fn run<M: ValueEnum + PartialEq + Debug + Copy + 'static>(
    cluster: &Cluster,
    plan: &Plan,
    choice: &Choice,
    only: &[M],
    measure: impl AsyncFn(&Workbench, M) -> Result<Vec<Row>>,
) -> Result<()> {
    ensure_alone(cluster).await?;
    let bench = Workbench::set_up(cluster, choice).await?;
    flux::scale(cluster, 0).await?;
    // What a run that broke has left.
    bench.clear_all(plan.prefixes).await?;
    let measured = bench.measure_all(plan.title, only, measure).await;
    // Before Flux comes back, which would look for the charts.
    bench.clear_all(plan.prefixes).await?;
    flux::scale(cluster, 1).await?;
    let names = measured?;
    let folder = &bench.program.folder;
    let results = Results::load(folder, plan.title)?;
    print!("{}", results.compared(&names)?);
    println!("all of it: {}", folder.join(format!("{}.md", plan.title.name)).display());
    if choice.update {
        results.update_page(folder)?;
    }
    Ok(())
}

/// Two operators would measure each other.
async fn ensure_alone(cluster: &Cluster) -> Result<()> {
    if cluster.node.is_none() {
        return Err(
            Unmet::new("the bench needs the lab's own cluster: it reads the API server's audit log").into()
        );
    }
    let markers = cluster.dynamic("v1", "ConfigMap", Some("kube-system"));
    if markers.get_opt("lab-addon-operator").await?.is_some() {
        let text =
            "this lab has an operator already, which would do the work; use a lab without it (--name bench)";
        return Err(Unmet::new(text).into());
    }
    Ok(())
}

impl Workbench {
    async fn set_up(cluster: &Cluster, choice: &Choice) -> Result<Self> {
        let kept = if choice.program.is_some() { "target/lab/bench/program" } else { "target/lab/bench" };
        let folder = paths::workspace().join(kept);
        fs::create_dir_all(&folder)?;
        let path = match &choice.program {
            Some(path) => path.clone(),
            None => own_program::build_release("vworkspace-operator")?,
        };
        let program = Program::let_in(cluster, path, &folder).await?;
        let chart = ServedChart::start(cluster, &folder).await?;
        Ok(Self { cluster: cluster.clone(), program, chart })
    }

    async fn measure_all<M: ValueEnum + PartialEq + Debug + Copy + 'static>(
        &self,
        title: &'static Title,
        only: &[M],
        measure: impl AsyncFn(&Workbench, M) -> Result<Vec<Row>>,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for part in M::value_variants().iter().filter(|one| only.is_empty() || only.contains(one)) {
            let started = Instant::now();
            let rows = measure(self, *part).await.with_context(|| format!("failed to measure {part:?}"))?;
            eprintln!("lab: measured {part:?} in {}", seconds(started.elapsed()));
            let mut results = Results::load(&self.program.folder, title)?;
            for mut row in rows {
                row.conditions = conditions();
                names.push(row.measure.clone());
                results.add(row);
            }
            // After each, so that a long run that breaks has not been for nothing.
            results.store(&self.program.folder)?;
        }
        Ok(names)
    }

    /// Flux speaks while this lives.
    pub(super) fn flux(&self) -> Result<Replay> {
        flux::replay(&self.cluster, &self.chart)
    }

    /// An operator that has brought this many instances of a part to rest.
    pub(super) async fn populated(&self, prefix: &str, count: usize) -> Result<Operator> {
        let known = instances::count(&self.cluster, prefix).await?;
        let missing = instances::numbered(prefix, known, count);
        self.with(prefix, &missing, count.max(known), |which| which.manifest(0)).await
    }

    /// An operator that has brought these new instances to rest; with those of before there are `count`.
    pub(super) async fn with(
        &self,
        prefix: &str,
        new: &[Which],
        count: usize,
        manifest: impl Fn(&Which) -> serde_json::Value,
    ) -> Result<Operator> {
        instances::make_room(&self.cluster, new).await?;
        let operator = self.program.start().await?;
        let flux = self.flux()?;
        instances::create_as(&self.cluster, new, manifest).await?;
        self.settle(&operator).await?;
        instances::all_ready(&self.cluster, prefix, count).await?;
        drop(flux);
        Ok(operator)
    }

    /// Waits until the operator has nothing to do and has not written for a while.
    pub(super) async fn settle(&self, operator: &Operator) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let (mut known, mut since) = (operator.written().await?, Instant::now());
        loop {
            sleep(GLANCE).await;
            let written = operator.written().await?;
            if written != known || operator.queued().await? > 0 {
                (known, since) = (written, Instant::now());
            }
            if since.elapsed() > QUIET {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the operator does not settle in {}", seconds(PATIENCE));
        }
    }

    /// What the operator has asked for.
    pub(super) fn requests(&self, since: Timestamp) -> Result<Vec<Request>> {
        let account = audit::service_account(operator::NAMESPACE, operator::ACCOUNT);
        audit::requests(&self.cluster.paths.audit_log(), &account, since)
    }

    /// What the operator has asked to be changed.
    pub(super) fn writes(&self, since: Timestamp) -> Result<Vec<Request>> {
        Ok(self.requests(since)?.into_iter().filter(Request::is_write).collect())
    }

    pub(super) async fn clear_all(&self, prefixes: &[&str]) -> Result<()> {
        for prefix in prefixes {
            self.clear(prefix).await?;
        }
        Ok(())
    }

    /// Takes everything of a part away; no operator runs.
    pub(super) async fn clear(&self, prefix: &str) -> Result<()> {
        instances::remove_all(&self.cluster, prefix).await
    }
}

/// When, on what, and how busy it was.
fn conditions() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let day = Timestamp::now().strftime("%Y-%m-%d").to_string();
    format!("{day}, {processors} cores of {}, load {load}", model.unwrap_or("an unknown processor"))
}
