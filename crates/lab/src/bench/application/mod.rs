//! What the operator promises about time, memory and requests, measured on the real API server. Ratios are taken within
//! one run, because machines are noisy; where Flux would be what is measured, its words are replayed.

mod latency;
mod live;
mod load;
mod requests;
mod rest;

use std::fs;
use std::path::Path;
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
    #[command(flatten)]
    choice: Choice,
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

const TITLE: Title = Title {
    name: "application",
    picture: "performance.svg",
    order: &[
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
    ],
};

const PREFIXES: [&str; 7] = [
    latency::PREFIX,
    requests::PREFIX,
    live::PREFIX,
    load::PREFIX,
    load::REPLAYED,
    rest::PREFIX,
    rest::UNRELATED,
];

/// Measures, shows, keeps.
pub(crate) async fn run(cluster: &Cluster, wanted: &Wanted) -> Result<()> {
    let plan = Plan { title: &TITLE, prefixes: &PREFIXES };
    let measure = async |bench: &Workbench, part| measure(bench, part, wanted).await;
    workbench::run(cluster, &plan, &wanted.choice, &wanted.only, measure).await
}

async fn measure(bench: &Workbench, measure: Measure, wanted: &Wanted) -> Result<Vec<Row>> {
    match measure {
        Measure::Image => image(bench),
        Measure::Idle => rest::idle(bench).await,
        Measure::Latency => latency::measure(bench, wanted.samples).await,
        Measure::Requests => requests::measure(bench, wanted.instances.min(100)).await,
        Measure::Live => live::measure(bench, wanted.instances.min(20), &bench.program.folder).await,
        Measure::Load => load::measure(bench, wanted.instances).await,
        Measure::Rest => rest::at_rest(bench, wanted.instances, Duration::from_secs(wanted.rest)).await,
        Measure::Unrelated => rest::unrelated(bench, wanted.instances, wanted.unrelated).await,
        Measure::Many => rest::many(bench, wanted.many).await,
    }
}

/// The image holds the program and the authorities it trusts.
fn image(bench: &Workbench) -> Result<Vec<Row>> {
    let size = |path: &Path| fs::metadata(path).map(|file| file.len() as f64 / f64::from(1 << 20));
    let authorities = size(Path::new("/etc/ssl/certs/ca-certificates.crt")).unwrap_or_default();
    let program = size(&bench.program.path)?;
    Ok(vec![
        Row::at_most("image size, not compressed", 25.0, "MiB", program + authorities)
            .because(format!("program {program:.1} MiB, authorities {authorities:.1} MiB")),
    ])
}
