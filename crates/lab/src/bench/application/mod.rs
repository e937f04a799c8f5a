//! What the operator promises about time, memory and requests, measured on the real API server. Ratios are taken within
//! one run, because machines are noisy; where Flux would be what is measured, its words are replayed.

mod flux;
mod instances;
mod latency;
mod live;
mod load;
mod operator;
mod plot;
mod requests;
mod rest;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::ListParams;
use tokio::time::{Instant, sleep};

use crate::audit::{self, Request};
use crate::cluster::Cluster;
use crate::own_program;
use crate::paths;
use crate::progress::seconds;
use crate::unmet::Unmet;
use flux::{Replay, ServedChart};
use operator::{Operator, Program};
use results::{Results, Row};

/// How long nothing may happen before the operator counts as settled.
const QUIET: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(250);
/// How long an operator may take to settle.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What to measure, and on how many.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Only these measures.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MEASURE,...")]
    only: Vec<Measure>,
    /// How often each latency is measured.
    #[arg(long, default_value_t = 500)]
    samples: usize,
    /// How many instances are many at once, and at rest.
    #[arg(long, default_value_t = 1000)]
    instances: usize,
    /// How many instances are as many as a cluster may have.
    #[arg(long, default_value_t = 10_000)]
    many: usize,
    /// How many Secrets and ConfigMaps of others there are.
    #[arg(long, default_value_t = 30_000)]
    unrelated: usize,
    /// How many seconds of rest are watched.
    #[arg(long, default_value_t = 600)]
    rest: u64,
    /// Measure this program instead of building one; its results are kept apart.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write the table in docs/performance.md anew.
    #[arg(long, conflicts_with = "program")]
    update: bool,
}

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// The size of the program.
    Image,
    /// Memory without instances.
    Idle,
    /// From an instance to its HelmRelease.
    Latency,
    /// What a new instance costs the API server.
    Requests,
    /// Requests when nothing happens, while Flux works.
    Live,
    /// Many instances at once.
    Load,
    /// Memory, processor and requests when nothing happens.
    Rest,
    /// Objects of others.
    Unrelated,
    /// As many instances as a cluster may have.
    Many,
}

/// The table's order, by how the rows begin.
const ORDER: [&str; 12] = [
    "changed instance",
    "new instance to",
    "new instances at once",
    "mutating requests for",
    "Events",
    "mutating requests at",
    "mutating requests over",
    "memory",
    "more memory",
    "longer start",
    "start",
    "processor",
];

/// What all measures share.
struct Bench {
    cluster: Cluster,
    program: Program,
    chart: ServedChart,
}

/// Measures, shows, keeps.
pub(crate) async fn run(cluster: &Cluster, wanted: &Wanted) -> Result<()> {
    ensure_alone(cluster).await?;
    let kept = if wanted.program.is_some() { "target/lab/bench/program" } else { "target/lab/bench" };
    let folder = paths::workspace().join(kept);
    fs::create_dir_all(&folder)?;
    let path = match &wanted.program {
        Some(path) => path.clone(),
        None => own_program::build_release("vworkspace-operator")?,
    };
    let program = Program::let_in(cluster, path, &folder).await?;
    let chart = ServedChart::start(cluster, &folder).await?;
    let bench = Bench { cluster: cluster.clone(), program, chart };
    flux::scale(cluster, 0).await?;
    // What a run that broke has left.
    bench.clear_all().await?;
    let measured = bench.measure_all(wanted, &folder).await;
    // Before Flux comes back, which would look for the charts.
    bench.clear_all().await?;
    flux::scale(cluster, 1).await?;
    let names = measured?;
    let results = Results::load(&folder)?;
    print!("{}", results.compared(&names)?);
    println!("all of it: {}", folder.join("application.md").display());
    if wanted.update {
        results.update_page(&folder)?;
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

impl Bench {
    async fn measure_all(&self, wanted: &Wanted, folder: &Path) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let all = Measure::value_variants();
        for measure in all.iter().filter(|one| wanted.only.is_empty() || wanted.only.contains(one)) {
            let started = Instant::now();
            let rows = self
                .measure(*measure, wanted)
                .await
                .with_context(|| format!("failed to measure {measure:?}"))?;
            eprintln!("lab: measured {measure:?} in {}", seconds(started.elapsed()));
            let mut results = Results::load(folder)?;
            for mut row in rows {
                row.conditions = conditions();
                names.push(row.measure.clone());
                results.add(row, &ORDER);
            }
            // After each, so that a long run that breaks has not been for nothing.
            results.store(folder)?;
        }
        Ok(names)
    }

    async fn measure(&self, measure: Measure, wanted: &Wanted) -> Result<Vec<Row>> {
        match measure {
            Measure::Image => self.image(),
            Measure::Idle => rest::idle(self).await,
            Measure::Latency => latency::measure(self, wanted.samples).await,
            Measure::Requests => requests::measure(self, wanted.instances.min(100)).await,
            Measure::Live => live::measure(self, wanted.instances.min(20), &self.program.folder).await,
            Measure::Load => load::measure(self, wanted.instances).await,
            Measure::Rest => rest::at_rest(self, wanted.instances, Duration::from_secs(wanted.rest)).await,
            Measure::Unrelated => rest::unrelated(self, wanted.instances, wanted.unrelated).await,
            Measure::Many => rest::many(self, wanted.many).await,
        }
    }

    /// The image holds the program and the authorities it trusts.
    fn image(&self) -> Result<Vec<Row>> {
        let size = |path: &Path| fs::metadata(path).map(|file| file.len() as f64 / f64::from(1 << 20));
        let authorities = size(Path::new("/etc/ssl/certs/ca-certificates.crt")).unwrap_or_default();
        let program = size(&self.program.path)?;
        Ok(vec![
            Row::at_most("image size, not compressed", 25.0, "MiB", program + authorities)
                .because(format!("program {program:.1} MiB, authorities {authorities:.1} MiB")),
        ])
    }

    /// Flux speaks while this lives.
    fn flux(&self) -> Result<Replay> {
        Replay::start(&self.cluster, &self.chart)
    }

    /// Waits until the operator has nothing to do and has not written for a while.
    async fn settle(&self, operator: &Operator) -> Result<()> {
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
    fn requests(&self, since: Timestamp) -> Result<Vec<Request>> {
        let account = audit::service_account(operator::NAMESPACE, operator::ACCOUNT);
        audit::requests(&self.cluster.paths.audit_log(), &account, since)
    }

    /// How many instances of a part there are.
    async fn populated(&self, prefix: &str) -> Result<usize> {
        let all = self.cluster.dynamic(instances::APPS, instances::INSTANCE, None);
        let (mut count, mut page) = (0, ListParams::default().limit(1000));
        loop {
            let list = all.list_metadata(&page).await?;
            let is_ours = |namespace: String| namespace.starts_with(&format!("{prefix}-"));
            count += list.iter().filter(|one| one.namespace().is_some_and(is_ours)).count();
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(count),
            }
        }
    }

    async fn clear_all(&self) -> Result<()> {
        for prefix in [
            latency::PREFIX,
            requests::PREFIX,
            live::PREFIX,
            load::PREFIX,
            load::REPLAYED,
            rest::PREFIX,
            rest::UNRELATED,
        ] {
            self.clear(prefix).await?;
        }
        Ok(())
    }

    /// Takes everything of a part away; no operator runs.
    async fn clear(&self, prefix: &str) -> Result<()> {
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
