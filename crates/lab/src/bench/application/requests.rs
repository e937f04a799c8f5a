//! What the operator asks the API server to change for a new instance, from the API server's own log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use futures::StreamExt;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::Bench;
use super::instances::{self, APPS, INSTANCE};
use super::results::Row;

pub(super) const PREFIX: &str = "requests";
/// What every new instance costs: finalizer, source, release, first status.
const FIRST: usize = 4;

pub(super) async fn measure(bench: &Bench, count: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let all = instances::numbered(PREFIX, 0, count);
    instances::make_room(&bench.cluster, &all).await?;
    let _flux = bench.flux()?;
    let operator = bench.program.start().await?;
    let seen = Statuses::watch(bench);
    let since = Timestamp::now();
    instances::create(&bench.cluster, &all).await?;
    bench.settle(&operator).await?;
    all_ready(bench, PREFIX, count).await?;
    let said = seen.told();
    let requests = bench.requests(since)?;
    let writes: Vec<_> =
        requests.iter().filter(|request| request.is_write() && request.is_below(PREFIX)).collect();
    let events = writes.iter().filter(|request| request.is_about("events")).count();
    operator.stop().await?;
    bench.clear(PREFIX).await?;

    let statuses: usize = said.values().map(Vec::len).sum();
    ensure!(said.len() == count, "the statuses of {} instances were seen, not of {count}", said.len());
    let allowed = FIRST * count + statuses - count;
    let changed: usize = said.values().map(|versions| changes(versions)).sum();
    let each = |total: usize| total as f64 / count as f64;
    let detail = format!(
        "{count} instances, for each {:.2} requests without Events and {:.2} statuses",
        each(writes.len() - events),
        each(statuses)
    );
    Ok(vec![
        Row::at_most(
            "mutating requests for a new instance, without one for each transition",
            FIRST as f64,
            "",
            each(writes.len() - events + FIRST * count) - each(allowed),
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
    fn watch(bench: &Bench) -> Self {
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

/// Whether all instances of a bench are ready.
pub(super) async fn all_ready(bench: &Bench, prefix: &str, count: usize) -> Result<()> {
    let (mut ready, mut told, mut page) = (0, None, ListParams::default().limit(500));
    loop {
        let list = bench.cluster.dynamic(APPS, INSTANCE, None).list(&page).await?;
        let ours = list
            .iter()
            .filter(|app| app.namespace().is_some_and(|name| name.starts_with(&format!("{prefix}-"))));
        for app in ours {
            if super::latency::is_ready(app) {
                ready += 1;
            } else {
                told.get_or_insert_with(|| app.data.get("status").map(Value::to_string));
            }
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    let first = told.flatten().unwrap_or_default();
    ensure!(ready == count, "{ready} of {count} instances are ready; another one says {first}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
