//! Operations in line, some for each target: what each costs the API server, and whether they run in order and one at a time.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use tokio::time::sleep;

use super::commands::{self, Command};
use super::jobs;
use super::order::{self, InLine, Seen, Verdict};
use crate::audit::{self, Request};
use crate::bench::eyes::Eyes;
use crate::bench::instances::{self, OPERATION, OPS, Which};
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "queue";
/// Times of creation are told in seconds.
const TICK: Duration = Duration::from_secs(1);

pub(super) async fn measure(bench: &Workbench, count: usize, targets: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let targets = instances::numbered(PREFIX, 0, targets);
    let operator = commands::with_targets(bench, PREFIX, &targets).await?;
    let held = jobs::without_controllers(&bench.cluster)?;
    let since = Timestamp::now();
    let mut jobs = Eyes::on(jobs::of(&bench.cluster, None));
    stand_in_line(bench, &targets, count).await?;
    bench.settle(&operator).await?;
    // Only now does anything end, so that all but the first of each line have had to wait.
    let replay = jobs::replay(&bench.cluster);
    let seen = until_finished(&mut jobs, count).await?;
    bench.settle(&operator).await?;
    drop(replay);
    commands::all_succeeded(&bench.cluster, PREFIX, count).await?;
    let verdict = order::judge(&line(bench).await?, &seen);
    let writes = bench.writes(since)?;
    operator.stop().await?;
    drop(held);
    bench.clear(PREFIX).await?;
    Ok(vec![requests_row(&writes, count, targets.len()), order_row(&verdict, count, targets.len())])
}

/// Creates the operations, one on each target in turn. Those of one target are of different seconds, so that one that is
/// created later never comes before one that may have begun.
async fn stand_in_line(bench: &Workbench, targets: &[Which], count: usize) -> Result<()> {
    let all: Vec<Command> = (0..count)
        .zip(targets.iter().cycle())
        .map(|(number, target)| Command::on(target, number).alone())
        .collect();
    for turn in all.chunks(targets.len().max(1)) {
        commands::create(&bench.cluster, turn).await?;
        sleep(TICK).await;
    }
    Ok(())
}

/// What happens to the Jobs until so many have ended.
async fn until_finished(jobs: &mut Eyes, count: usize) -> Result<Vec<Seen>> {
    let mut sightings = Sightings::default();
    while sightings.finished.len() < count {
        let job = jobs
            .next()
            .await
            .with_context(|| format!("{} of {count} Jobs have ended", sightings.finished.len()))?;
        sightings.note(&job);
    }
    Ok(sightings.seen)
}

/// What was seen of all Jobs.
#[derive(Default)]
struct Sightings {
    begun: BTreeSet<String>,
    finished: BTreeSet<String>,
    seen: Vec<Seen>,
}

impl Sightings {
    fn note(&mut self, job: &DynamicObject) {
        let in_bench = job.namespace().unwrap_or_default().starts_with(PREFIX);
        let Some(uid) = job.labels().get(jobs::LABEL).filter(|_| in_bench) else { return };
        // A Job that is made again has another uid, and counts again.
        if self.begun.insert(job.uid().unwrap_or_default()) {
            self.seen.push(Seen::Begun(uid.clone()));
        }
        if jobs::is_finished(job) && self.finished.insert(job.uid().unwrap_or_default()) {
            self.seen.push(Seen::Finished(uid.clone()));
        }
    }
}

/// The operations, as the API server knows them.
async fn line(bench: &Workbench) -> Result<Vec<InLine>> {
    let all = instances::all_below(&bench.cluster, (OPS, OPERATION), PREFIX).await?;
    let one = |operation: &DynamicObject| {
        Some(InLine {
            uid: operation.uid()?,
            target: operation.data.pointer("/spec/targetRef/name").and_then(Value::as_str)?.to_owned(),
            created: operation.creation_timestamp()?.0.to_string(),
        })
    };
    all.iter()
        .map(one)
        .collect::<Option<Vec<_>>>()
        .context("an operation lacks its uid, its target or its time")
}

/// Events are apart: they say to people what happened. So is the account of commands, which is made once in each namespace.
fn requests_row(writes: &[Request], count: usize, targets: usize) -> Row {
    let below = || writes.iter().filter(|write| write.is_below(PREFIX));
    let apart = |resource: &'static str| below().filter(move |write| write.is_about(resource)).count();
    let ours = || below().filter(|write| !write.is_about("events") && !write.is_about("serviceaccounts"));
    let each = |total: usize| total as f64 / count as f64;
    Row::at_most("mutating requests for an exclusive operation, Events apart", 6.0, "", each(ours().count()))
        .because(format!(
            "{count} operations on {targets} targets, for each: {}; Events {:.2}; accounts, once in each namespace: {}",
            audit::per_object(ours(), count),
            each(apart("events")),
            apart("serviceaccounts")
        ))
}

fn order_row(verdict: &Verdict, count: usize, targets: usize) -> Row {
    for fault in verdict.faults.iter().take(10) {
        eprintln!("lab: the order was not kept: {fault}");
    }
    let measure = "operations out of order, or beside another one of their target";
    Row::at_most(measure, 0.0, "", verdict.faults.len() as f64)
        .because(format!("{} of {count} began in order and alone, on {targets} targets", verdict.well))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_begins_once_and_ends_once_however_often_it_is_seen() {
        let job = |uid: &str, namespace: &str, complete: &str| -> DynamicObject {
            serde_json::from_value(json!({
                "metadata": {"name": uid, "namespace": namespace, "uid": uid, "labels": {jobs::LABEL: "operation"}},
                "status": {"conditions": [{"type": "Complete", "status": complete}]}}))
            .unwrap()
        };
        let mut sightings = Sightings::default();
        for (uid, namespace, complete) in [
            ("1", "queue-0", "False"),
            ("1", "queue-0", "False"),
            ("2", "other-0", "True"),
            ("1", "queue-0", "True"),
            ("1", "queue-0", "True"),
            ("3", "queue-0", "True"),
        ] {
            sightings.note(&job(uid, namespace, complete));
        }
        let uid = || "operation".to_owned();
        assert_eq!(
            sightings.seen,
            [Seen::Begun(uid()), Seen::Finished(uid()), Seen::Begun(uid()), Seen::Finished(uid())]
        );
    }

    #[test]
    fn requests_elsewhere_and_events_do_not_count() {
        let request = |resource: &str, namespace: &str| -> Request {
            serde_json::from_value(
                json!({"stage": "ResponseComplete", "verb": "patch", "user": {"username": "u"},
                "objectRef": {"resource": resource, "namespace": namespace},
                "requestReceivedTimestamp": "2026-01-01T00:00:00.000001Z"}),
            )
            .unwrap()
        };
        let writes = [
            request("jobs", "queue-0"),
            request("operations", "queue-0"),
            request("operations", "queue-0"),
            request("events", "queue-0"),
            request("serviceaccounts", "queue-0"),
            request("jobs", "elsewhere"),
        ];
        let row = requests_row(&writes, 2, 1);
        assert_eq!(row.measured, 1.5);
        assert_eq!(
            row.detail,
            "2 operations on 1 targets, for each: patch jobs 0.50, patch operations 1.00; Events 0.50; \
             accounts, once in each namespace: 1"
        );
    }
}
