//! What operations cost that have ended: they stay, with their Jobs, until somebody deletes them or their time is over.

use std::time::Duration;

use anyhow::Result;

use super::commands::{self, Command};
use super::jobs;
use crate::bench::instances;
use crate::bench::rest::{Rest, memory_row};
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "finished";

pub(super) async fn measure(
    bench: &Workbench,
    count: usize,
    instances: usize,
    length: Duration,
) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let targets = instances::numbered(PREFIX, 0, instances);
    let operator = commands::with_targets(bench, PREFIX, &targets).await?;
    let held = jobs::without_controllers(&bench.cluster)?;
    let replay = jobs::replay(&bench.cluster);
    let all: Vec<Command> =
        (0..count).zip(targets.iter().cycle()).map(|(number, target)| Command::on(target, number)).collect();
    commands::create(&bench.cluster, &all).await?;
    bench.settle(&operator).await?;
    drop(replay);
    commands::all_succeeded(&bench.cluster, PREFIX, count).await?;
    let seen = Rest::of(bench, operator, length).await?;
    drop(held);
    bench.clear(PREFIX).await?;
    let held = format!("{count} operations with their Jobs, {instances} instances");
    let minutes = length.as_secs_f64() / 60.0;
    Ok(vec![
        Row::at_most("mutating requests at rest, 10,000 finished operations", 0.0, "", seen.writes as f64)
            .because(format!("{held}, {minutes:.1} min")),
        Row::at_most(
            "mutating requests over a restart, 10,000 finished operations",
            0.0,
            "",
            seen.writes_over_restart as f64,
        )
        .because(held.clone()),
        memory_row("memory, 10,000 finished operations and 1,000 instances", 48.0, &held, seen.memory),
        memory_row(
            "memory, 10,000 finished operations after a restart",
            48.0,
            &held,
            seen.memory_after_restart,
        ),
    ])
}
