//! What the operator costs when nothing happens: memory, processor time and requests, with few and with many instances,
//! after its work and after a restart; and how fast it starts.

use std::time::Duration;

use anyhow::Result;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;
use tokio::time::sleep;

use crate::bench::instances::{for_each, values};
use crate::bench::operator::Memory;
use crate::bench::rest::{CALM, Rest, memory_row};
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "rest";
pub(super) const UNRELATED: &str = "unrelated";
/// A start is measured as often as this, and the one in the middle counts.
const STARTS: usize = 5;

/// Nothing to do at all.
pub(super) async fn idle(bench: &Workbench) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let operator = bench.program.start().await?;
    sleep(CALM).await;
    let memory = operator.memory()?;
    operator.stop().await?;
    Ok(vec![memory_row("memory, no instances", 16.0, &instances(0), memory)])
}

/// Instances that are as they should be.
pub(super) async fn at_rest(bench: &Workbench, count: usize, rest: Duration) -> Result<Vec<Row>> {
    let operator = bench.populated(PREFIX, count).await?;
    let seen = Rest::of(bench, operator, rest).await?;
    let minutes = rest.as_secs_f64() / 60.0;
    Ok(vec![
        Row::at_most("mutating requests at rest, 1,000 instances", 0.0, "", seen.writes as f64)
            .because(format!("{count} instances, {minutes:.1} min")),
        Row::at_most(
            "mutating requests over a restart, 1,000 instances",
            0.0,
            "",
            seen.writes_over_restart as f64,
        )
        .because(format!("{count} instances")),
        memory_row("memory, 1,000 settled instances", 32.0, &instances(count), seen.memory),
        memory_row(
            "memory, 1,000 instances after a restart",
            32.0,
            &instances(count),
            seen.memory_after_restart,
        ),
        Row::at_most(
            "processor at rest, 1,000 instances",
            0.5,
            "% of a core",
            seen.busy / rest.as_secs_f64() * 100.0,
        )
        .because(format!("{:.2} s in {minutes:.1} min", seen.busy)),
    ])
}

/// As many instances as one cluster may have.
pub(super) async fn many(bench: &Workbench, count: usize) -> Result<Vec<Row>> {
    let operator = bench.populated(PREFIX, count).await?;
    sleep(CALM).await;
    let memory = operator.memory()?;
    operator.stop().await?;
    let operator = bench.program.start().await?;
    let ready = operator.ready_after;
    bench.settle(&operator).await?;
    sleep(CALM).await;
    let after = operator.memory()?;
    operator.stop().await?;
    Ok(vec![
        memory_row("memory, 10,000 settled instances", 96.0, &instances(count), memory),
        memory_row("memory, 10,000 instances after a restart", 96.0, &instances(count), after),
        Row::at_most("start until ready, 10,000 instances", 8.0, "s", ready.as_secs_f64())
            .because(format!("{count} instances")),
    ])
}

/// Objects that are none of the operator's business.
pub(super) async fn unrelated(bench: &Workbench, instances: usize, count: usize) -> Result<Vec<Row>> {
    bench.clear(UNRELATED).await?;
    bench.populated(PREFIX, instances).await?.stop().await?;
    let (before, start_before) = starts(bench).await?;
    make_unrelated(bench, count).await?;
    let (after, start_after) = starts(bench).await?;
    bench.clear(UNRELATED).await?;
    let more = (after.rss / before.rss - 1.0).max(0.0) * 100.0;
    let longer = (start_after - start_before).max(0.0);
    Ok(vec![
        Row::at_most("more memory with 30,000 unrelated Secrets and ConfigMaps", 5.0, "%", more).because(
            format!(
                "{:.1} MiB against {:.1} MiB, {instances} instances, {count} objects",
                after.rss, before.rss
            ),
        ),
        Row::at_most("longer start with 30,000 unrelated Secrets and ConfigMaps", 0.2, "s", longer)
            .because(format!("{start_after:.2} s against {start_before:.2} s, {STARTS} starts each")),
    ])
}

/// Memory after the last of several starts, and how long the one in the middle took.
async fn starts(bench: &Workbench) -> Result<(Memory, f64)> {
    let mut took = Vec::new();
    loop {
        let operator = bench.program.start().await?;
        took.push(operator.ready_after.as_secs_f64());
        if took.len() == STARTS {
            bench.settle(&operator).await?;
            sleep(CALM).await;
            let memory = operator.memory()?;
            operator.stop().await?;
            took.sort_by(f64::total_cmp);
            return Ok((memory, took.get(STARTS / 2).copied().unwrap_or_default()));
        }
        operator.stop().await?;
    }
}

async fn make_unrelated(bench: &Workbench, count: usize) -> Result<()> {
    let namespace = format!("{UNRELATED}-0");
    let room = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    bench.cluster.apply(&[serde_json::from_value(room)?]).await?;
    let numbers: Vec<usize> = (0..count).collect();
    for_each(&numbers, async |number| {
        let (kind, field) = if number % 2 == 0 { ("Secret", "stringData") } else { ("ConfigMap", "data") };
        let api: Api<DynamicObject> = bench.cluster.dynamic("v1", kind, Some(&namespace));
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": format!("other-{number}")},
            field: {"values.yaml": values(*number, 0).to_string()}});
        api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    })
    .await
}

fn instances(count: usize) -> String {
    format!("{count} instances")
}
