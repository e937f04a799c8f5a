//! Measurements on the real cluster. Later benches report ratios to the baseline measured here in the same run, because
//! the machine is noisy.

pub(crate) mod application;
mod eyes;
mod flux;
mod instances;
pub(crate) mod operation;
mod operator;
mod plot;
mod ratio;
mod replay;
mod rest;
mod results;
mod workbench;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::runtime::watcher;
use kube::{ResourceExt, runtime::WatchStreamExt};
use serde_json::json;

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::paths::Paths;
use crate::progress::seconds;
use crate::reasons::Recorder;
use crate::scenario::{self, Scenario};
use crate::up::{self, Wanted};

/// How long one write may take to show up in a watch.
const SEEN_DEADLINE: Duration = Duration::from_secs(10);
const LABEL: &str = "lab.vworkspace.io/bench";

/// Time from sending a create request until this program's own watch shows the object; one in flight.
pub(crate) async fn api_latency(cluster: &Cluster, samples: usize) -> Result<String> {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "default");
    let selector = format!("{LABEL}=api");
    let remove = async || {
        api.delete_collection(&DeleteParams::default(), &ListParams::default().labels(&selector)).await
    };
    remove().await?;
    let mut seen =
        Box::pin(watcher(api.clone(), watcher::Config::default().labels(&selector)).applied_objects());
    let mut latencies = Vec::with_capacity(samples);
    for number in 0..samples {
        let name = format!("bench-{number}");
        let object = serde_json::from_value(
            json!({"metadata": {"name": name, "labels": {LABEL: "api"}}, "data": {"n": name}}),
        )?;
        let started = Instant::now();
        // The watch is asked while the request is under way, as a controller would.
        let create = async { api.create(&PostParams::default(), &object).await.map_err(anyhow::Error::from) };
        let shown = async {
            while let Some(object) = seen.try_next().await? {
                if object.name_any() == name {
                    return Ok(started.elapsed());
                }
            }
            anyhow::bail!("the watch ended")
        };
        let both = tokio::time::timeout(SEEN_DEADLINE, futures::future::try_join(create, shown));
        let (_, latency) = both.await.with_context(|| format!("{name} was not seen in time"))??;
        latencies.push(latency);
    }
    remove().await?;
    let shown = |per_cent| format!("{:.1} ms", quantile(&latencies, per_cent).as_secs_f64() * 1000.0);
    Ok(format!("create to seen by a watch, {samples} samples: p50 {}, p99 {}", shown(50), shown(99)))
}

/// The time that so many of a hundred samples stay below.
fn quantile(samples: &[Duration], per_cent: usize) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort();
    let place = (sorted.len() * per_cent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

/// Up, one scenario, down, again and again: what a lab that leaves something behind would not survive.
pub(crate) async fn cycles(paths: &Paths, count: usize) -> Result<()> {
    let chosen: Vec<&'static Scenario> = scenario::ALL.iter().take(1).collect();
    let addons = Addon::selected(&[], paths)?;
    for number in 1..=count {
        let started = Instant::now();
        let cluster = up::up(paths, &Wanted { addons: &addons, port: None, kubeconfig: None }).await?;
        let up = started.elapsed();
        let recorder = Recorder::start(&cluster, scenario::namespaces(&chosen)).await?;
        let outcomes =
            scenario::run_all(&cluster, &chosen, &scenario::Faults::default(), &recorder.seen()).await;
        ensure!(
            outcomes.iter().all(|outcome| outcome.failure.is_none()),
            "cycle {number}: the scenario failed"
        );
        let stopping = Instant::now();
        let _lock = up::lock(paths)?;
        crate::node::stop(paths)?;
        println!("cycle {number} of {count}: up {}, down {}", seconds(up), seconds(stopping.elapsed()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_samples() {
        let samples: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&samples, 50), Duration::from_millis(101));
        assert_eq!(quantile(&samples, 99), Duration::from_millis(199));
        assert_eq!(quantile(&[], 99), Duration::ZERO);
    }
}
