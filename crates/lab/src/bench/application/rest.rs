//! What the operator costs when nothing happens: memory, processor time and requests, with few and with many instances,
//! after its work and after a restart; and how fast it starts.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;
use tokio::time::sleep;

use super::Bench;
use super::instances;
use super::operator::{Memory, Operator};
use super::requests::all_ready;
use super::results::Row;
use crate::audit::Request;

pub(super) const PREFIX: &str = "rest";
pub(super) const UNRELATED: &str = "unrelated";
/// Memory is looked at this long after the last write.
const CALM: Duration = Duration::from_secs(60);
/// A start is measured as often as this, and the one in the middle counts.
const STARTS: usize = 5;

/// Nothing to do at all.
pub(super) async fn idle(bench: &Bench) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let operator = bench.program.start().await?;
    sleep(CALM).await;
    let memory = operator.memory()?;
    operator.stop().await?;
    Ok(vec![memory_row("memory, no instances", 16.0, 0, memory)])
}

/// Instances that are as they should be.
pub(super) async fn at_rest(bench: &Bench, count: usize, rest: Duration) -> Result<Vec<Row>> {
    let operator = populated(bench, count).await?;
    sleep(CALM).await;
    let memory = operator.memory()?;
    let (since, busy) = (Timestamp::now(), operator.cpu_seconds()?);
    sleep(rest).await;
    let busy = operator.cpu_seconds()? - busy;
    let at_rest = writes(bench, since)?.len();
    operator.stop().await?;
    let since = Timestamp::now();
    let operator = bench.program.start().await?;
    bench.settle(&operator).await?;
    sleep(CALM).await;
    let after = operator.memory()?;
    let over_restart = writes(bench, since)?.len();
    operator.stop().await?;
    let minutes = rest.as_secs_f64() / 60.0;
    Ok(vec![
        Row::at_most("mutating requests at rest, 1,000 instances", 0.0, "", at_rest as f64)
            .because(format!("{count} instances, {minutes:.1} min")),
        Row::at_most("mutating requests over a restart, 1,000 instances", 0.0, "", over_restart as f64)
            .because(format!("{count} instances")),
        memory_row("memory, 1,000 settled instances", 32.0, count, memory),
        memory_row("memory, 1,000 instances after a restart", 32.0, count, after),
        Row::at_most(
            "processor at rest, 1,000 instances",
            0.5,
            "% of a core",
            busy / rest.as_secs_f64() * 100.0,
        )
        .because(format!("{busy:.2} s in {minutes:.1} min")),
    ])
}

/// As many instances as one cluster may have.
pub(super) async fn many(bench: &Bench, count: usize) -> Result<Vec<Row>> {
    let operator = populated(bench, count).await?;
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
        memory_row("memory, 10,000 settled instances", 96.0, count, memory),
        memory_row("memory, 10,000 instances after a restart", 96.0, count, after),
        Row::at_most("start until ready, 10,000 instances", 8.0, "s", ready.as_secs_f64())
            .because(format!("{count} instances")),
    ])
}

/// Objects that are none of the operator's business.
pub(super) async fn unrelated(bench: &Bench, instances: usize, count: usize) -> Result<Vec<Row>> {
    bench.clear(UNRELATED).await?;
    populated(bench, instances).await?.stop().await?;
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
async fn starts(bench: &Bench) -> Result<(Memory, f64)> {
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

/// An operator that has brought this many instances to rest.
async fn populated(bench: &Bench, count: usize) -> Result<Operator> {
    let known = bench.populated(PREFIX).await?;
    let missing = instances::numbered(PREFIX, known, count);
    instances::make_room(&bench.cluster, &missing).await?;
    let operator = bench.program.start().await?;
    let flux = bench.flux()?;
    instances::create(&bench.cluster, &missing).await?;
    bench.settle(&operator).await?;
    all_ready(bench, PREFIX, count.max(known)).await?;
    drop(flux);
    Ok(operator)
}

async fn make_unrelated(bench: &Bench, count: usize) -> Result<()> {
    let namespace = format!("{UNRELATED}-0");
    let room = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    bench.cluster.apply(&[serde_json::from_value(room)?]).await?;
    let numbers: Vec<usize> = (0..count).collect();
    instances::for_each(&numbers, async |number| {
        let (kind, field) = if number % 2 == 0 { ("Secret", "stringData") } else { ("ConfigMap", "data") };
        let api: Api<DynamicObject> = bench.cluster.dynamic("v1", kind, Some(&namespace));
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": format!("other-{number}")},
            field: {"values.yaml": instances::values(*number, 0).to_string()}});
        api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    })
    .await
}

pub(super) fn writes(bench: &Bench, since: Timestamp) -> Result<Vec<Request>> {
    Ok(bench.requests(since)?.into_iter().filter(Request::is_write).collect())
}

fn memory_row(measure: &str, target: f64, count: usize, Memory { rss, anonymous }: Memory) -> Row {
    Row::at_most(measure, target, "MiB", rss)
        .because(format!("{count} instances, RssAnon {anonymous:.1} MiB"))
}
