//! What the operator asks the API server to change for a new instance, from the API server's own log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use futures::StreamExt;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::bench::instances::{self, APPS, INSTANCE};
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "requests";
/// What every new instance costs: finalizer, source, release, first status.
const FIRST: usize = 4;
/// What a new instance that goes well tells after its first status, in this order and each once: nothing else is worth a
/// write. A status with other words, with another time or of what was told before is one too many.
const TRANSITIONS: [&str; 2] = ["Reconciling=True/HelmReleaseInstalling", "Ready=True/HelmReleaseReady"];

pub(super) async fn measure(bench: &Workbench, count: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let all = instances::numbered(PREFIX, 0, count);
    instances::make_room(&bench.cluster, &all).await?;
    let _flux = bench.flux()?;
    let operator = bench.program.start().await?;
    let seen = Statuses::watch(bench);
    let since = Timestamp::now();
    instances::create(&bench.cluster, &all).await?;
    bench.settle(&operator).await?;
    instances::all_ready(&bench.cluster, PREFIX, count).await?;
    let said = seen.told();
    let requests = bench.requests(since)?;
    let writes: Vec<_> =
        requests.iter().filter(|request| request.is_write() && request.is_below(PREFIX)).collect();
    let events = writes.iter().filter(|request| request.is_about("events")).count();
    operator.stop().await?;
    bench.clear(PREFIX).await?;

    ensure!(said.len() == count, "the statuses of {} instances were seen, not of {count}", said.len());
    let transitions: usize = said.values().map(|versions| transitions(versions)).sum();
    let changed: usize = said.values().map(|versions| changes(versions)).sum();
    let each = |total: usize| total as f64 / count as f64;
    let detail = format!(
        "{count} instances, for each {:.2} requests without Events, {:.2} of them for a transition; at most {} are known",
        each(writes.len() - events),
        each(transitions),
        TRANSITIONS.len()
    );
    Ok(vec![
        Row::at_most(
            "mutating requests for a new instance, without one for each transition",
            FIRST as f64,
            "",
            each((writes.len() - events).saturating_sub(transitions)),
        )
        .because(detail),
        Row::at_most("Events for each changed condition, initial values not counted", 1.0, "", {
            events as f64 / (changed.max(1) as f64)
        })
        .because(format!(
            "{:.2} Events and {:.2} changes for each instance",
            each(events),
            each(changed)
        )),
    ])
}

/// Every version of every status of the bench.
struct Statuses(Arc<Mutex<Versions>>, AbortHandle);

type Versions = BTreeMap<String, Vec<Value>>;

impl Statuses {
    fn watch(bench: &Workbench) -> Self {
        let seen: Arc<Mutex<Versions>> = Arc::default();
        let known = Arc::clone(&seen);
        let api = bench.cluster.dynamic(APPS, INSTANCE, None);
        let watch = async move {
            let mut objects =
                watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed();
            while let Some(object) = objects.next().await {
                let Ok(object) = object else { continue };
                note(&mut known.lock().unwrap_or_else(PoisonError::into_inner), &object);
            }
        };
        Self(seen, tokio::spawn(watch).abort_handle())
    }

    fn told(&self) -> Versions {
        self.1.abort();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A status that says something else than the last one.
fn note(known: &mut Versions, object: &DynamicObject) {
    let in_bench = object.namespace().unwrap_or_default().starts_with(PREFIX);
    let Some(status) = object.data.get("status").filter(|_| in_bench) else { return };
    let versions = known.entry(object.name_any()).or_default();
    if versions.last() != Some(status) {
        versions.push(status.clone());
    }
}

/// How many of the known transitions an instance went through, after its first status.
fn transitions(versions: &[Value]) -> usize {
    let mut ahead = TRANSITIONS.iter();
    let pairs = versions.iter().zip(versions.iter().skip(1));
    pairs
        .filter(|(before, after)| {
            let is_made = |known: &&str| says(after, known) && !says(before, known);
            // What was passed over does not come any more.
            let place = ahead.clone().position(is_made);
            place.is_some_and(|place| ahead.nth(place).is_some())
        })
        .count()
}

/// Whether a condition is told as in `Ready=True/HelmReleaseReady`.
fn says(status: &Value, wanted: &str) -> bool {
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let told = |one: &Value| format!("{}={}/{}", text(one, "type"), text(one, "status"), text(one, "reason"));
    conditions(status).any(|condition| told(condition) == wanted)
}

/// How often a condition changed its status or its reason.
fn changes(versions: &[Value]) -> usize {
    let pairs = versions.iter().zip(versions.iter().skip(1));
    pairs.map(|(before, after)| conditions(after).filter(|one| differs(before, one)).count()).sum()
}

fn differs(before: &Value, condition: &Value) -> bool {
    let same_type = |known: &&Value| known.get("type") == condition.get("type");
    let told = |one: &Value| json!([one.get("status"), one.get("reason")]);
    conditions(before).find(same_type).is_none_or(|known| told(known) != told(condition))
}

fn conditions(status: &Value) -> impl Iterator<Item = &Value> {
    status.get("conditions").and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_tells_no_known_transition_is_one_too_many() {
        let status = |ready: &str, reconciling: &str, time: u8| {
            let told = |type_: &str, words: &str| {
                let (status, reason) = words.split_once('/').unwrap();
                json!({"type": type_, "status": status, "reason": reason})
            };
            json!({"conditions": [told("Ready", ready), told("Reconciling", reconciling)], "lastReconcileTime": time})
        };
        let first = status("False/Reconciling", "True/ChartSourceSyncing", 0);
        let installs = |time| status("False/Installing", "True/HelmReleaseInstalling", time);
        let ready = |time| status("True/HelmReleaseReady", "False/Stable", time);
        let table: [(&str, Vec<Value>, usize); 6] = [
            ("nothing more", vec![first.clone()], 0),
            ("at once", vec![first.clone(), ready(1)], 1),
            ("step by step", vec![first.clone(), installs(1), ready(2)], 2),
            ("only another time", vec![first.clone(), ready(1), ready(2)], 1),
            ("back and forth", vec![first.clone(), ready(1), first.clone(), ready(2)], 1),
            ("the wrong way round", vec![first.clone(), ready(1), installs(2)], 1),
        ];
        for (title, versions, expected) in table {
            assert_eq!(transitions(&versions), expected, "{title}");
        }
    }

    #[test]
    fn a_condition_changes_with_its_status_or_reason_and_not_with_its_words() {
        let status = |status: &str, reason: &str, message: &str| {
            json!({"conditions": [
            {"type": "Ready", "status": status, "reason": reason, "message": message}]})
        };
        let versions = [
            status("False", "Installing", "a"),
            status("False", "Installing", "b"),
            status("True", "HelmReleaseReady", "b"),
            status("True", "HelmReleaseReadyWithWarnings", "b"),
        ];
        assert_eq!(changes(&versions), 2);
    }
}
