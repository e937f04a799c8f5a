//! What the operator promises about day-2 operations, measured on the real API server with commands that run in Jobs. The
//! bench ends the Jobs itself: with pods the kubelet would be what is measured.

mod commands;
mod jobs;
mod latency;
mod order;
mod queue;
mod rest;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::results::{Row, Title};
use super::workbench::{self, Choice, Plan, Workbench};
use crate::cluster::Cluster;

/// What to measure, and on how many.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Only these measures.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MEASURE,...")]
    only: Vec<Measure>,
    /// How often each latency is measured.
    #[arg(long, default_value_t = 500)]
    samples: usize,
    /// How many operations stand in line.
    #[arg(long, default_value_t = 1000)]
    operations: usize,
    /// How many targets they have.
    #[arg(long, default_value_t = 100)]
    targets: usize,
    /// How many operations have ended.
    #[arg(long, default_value_t = 10_000)]
    finished: usize,
    /// How many instances they have worked on.
    #[arg(long, default_value_t = 1000)]
    instances: usize,
    /// How many seconds of rest are watched.
    #[arg(long, default_value_t = 600)]
    rest: u64,
    #[command(flatten)]
    choice: Choice,
}

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// From an operation to its Job, and from the Job's end to that of the operation.
    Latency,
    /// Operations in line: what each costs the API server, and whether the order is kept.
    Queue,
    /// Memory and requests when all operations have ended.
    Rest,
}

const TITLE: Title = Title {
    name: "operation",
    picture: "performance-operation.svg",
    order: &[
        "new operation",
        "finished Job",
        "mutating requests for",
        "operations out of",
        "mutating requests at",
        "mutating requests over",
        "memory",
    ],
};

const PREFIXES: [&str; 3] = [latency::PREFIX, queue::PREFIX, rest::PREFIX];

/// Measures, shows, keeps.
pub(crate) async fn run(cluster: &Cluster, wanted: &Wanted) -> Result<()> {
    jobs::let_controllers_run(cluster)?;
    let plan = Plan { title: &TITLE, prefixes: &PREFIXES };
    let measure = async |bench: &Workbench, part| measure(bench, part, wanted).await;
    workbench::run(cluster, &plan, &wanted.choice, &wanted.only, measure).await
}

async fn measure(bench: &Workbench, part: Measure, wanted: &Wanted) -> Result<Vec<Row>> {
    match part {
        Measure::Latency => latency::measure(bench, wanted.samples).await,
        Measure::Queue => queue::measure(bench, wanted.operations, wanted.targets).await,
        Measure::Rest => {
            let length = Duration::from_secs(wanted.rest);
            rest::measure(bench, wanted.finished, wanted.instances, length).await
        }
    }
}
