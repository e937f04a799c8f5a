//! What the operator writes at rest while Flux really works: each look of Flux flickers in the statuses that the operator
//! watches, Services and Ingresses are there to be listed, and the readiness checks go on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use crate::bench::instances::{self, APPS, HELM, INSTANCE, Which};
use crate::bench::results::Row;
use crate::bench::workbench::{GLANCE, Workbench};
use crate::bench::{flux, rest};
use crate::progress::seconds;
use crate::registry;

pub(super) const PREFIX: &str = "live";
const CHART: &str = "bench-live";
const REGISTRY: &str = "oci://registry.lab-system.svc.cluster.local:5000/charts";
/// How often Flux looks at each release.
const INTERVAL: &str = "10s";
/// How often it has to have looked at each of them.
const LOOKS: usize = 3;
/// How long all of them may take to get ready, or Flux to have looked so often.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) async fn measure(bench: &Workbench, count: usize, folder: &Path) -> Result<Vec<Row>> {
    // Flux would look for the charts of other measures too.
    bench.clear_all(&super::PREFIXES).await?;
    registry::push_chart(&bench.cluster, &write_chart(folder)?).await?;
    flux::scale(&bench.cluster, 1).await?;
    let measured = at_rest(bench, count).await;
    flux::scale(&bench.cluster, 0).await?;
    bench.clear(PREFIX).await?;
    Ok(vec![measured?])
}

async fn at_rest(bench: &Workbench, count: usize) -> Result<Row> {
    let all = instances::numbered(PREFIX, 0, count);
    instances::make_room(&bench.cluster, &all).await?;
    let operator = bench.program.start_inside(&bench.cluster).await?;
    instances::create_as(&bench.cluster, &all, manifest).await?;
    until_ready(bench, count).await?;
    // The Events of the last transition are sent after the status.
    bench.settle(&operator).await?;
    let (since, started) = (Timestamp::now(), Instant::now());
    let looks = looked_at(bench, count).await?;
    let written = rest::counted("at rest", &bench.writes(since)?);
    instances::all_ready(&bench.cluster, PREFIX, count).await?;
    operator.stop().await?;
    let name = "mutating requests at rest while Flux works, 20 instances with Service, Ingress and check";
    Ok(Row::at_most(name, 0.0, "", written as f64).because(format!(
        "{count} instances, {looks} looks of Flux in {}, at least {LOOKS} at each",
        seconds(started.elapsed())
    )))
}

/// An instance that Flux looks at often, with everything that the operator watches of a release.
fn manifest(which: &Which) -> Value {
    let name = &which.name;
    json!({
        "apiVersion": APPS, "kind": INSTANCE,
        "metadata": {"name": name, "namespace": which.namespace},
        "spec": {
            "appRef": {"catalogId": "bench"},
            "interval": INTERVAL,
            "chart": {"sourceType": "oci", "url": REGISTRY, "name": CHART, "version": "1.0.0", "insecure": true},
            "release": {"name": name, "namespace": which.namespace},
            "integrations": {"ingress": {"enabled": true, "host": format!("{name}.example.test")}},
            "readinessChecks": [{"name": "page", "interval": "2s",
                "http": {"service": name, "port": 80, "path": "/"}}],
        },
    })
}

async fn until_ready(bench: &Workbench, count: usize) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = instances::all_ready(&bench.cluster, PREFIX, count).await {
        ensure!(Instant::now() < deadline, "not ready in {}: {error:#}", seconds(PATIENCE));
        sleep(GLANCE).await;
    }
    Ok(())
}

/// Waits until Flux has looked at each release a few times, and tells how often it has in all.
async fn looked_at(bench: &Workbench, count: usize) -> Result<usize> {
    let releases = bench.cluster.dynamic(HELM, "HelmRelease", None);
    let mut versions =
        watcher(releases, watcher::Config::default()).default_backoff().applied_objects().boxed();
    let deadline = Instant::now() + PATIENCE;
    let mut looks = Looks::default();
    while !looks.are_enough(count) {
        let next = timeout_at(deadline, versions.next()).await;
        let next = next.with_context(|| format!("Flux did not look in {}: {looks:?}", seconds(PATIENCE)))?;
        // A watch that breaks is taken up again by itself.
        if let Some(Ok(release)) = next {
            looks.note(&release);
        }
    }
    Ok(looks.0.values().map(|seen| seen.count).sum())
}

/// What was seen of each release.
#[derive(Debug, Default)]
struct Looks(BTreeMap<String, Seen>);

#[derive(Debug, Default)]
struct Seen {
    count: usize,
    is_looking: bool,
}

impl Looks {
    /// Each look begins with Ready=Unknown.
    fn note(&mut self, release: &DynamicObject) {
        let conditions = release.data.pointer("/status/conditions").and_then(Value::as_array);
        let is_looking = conditions.into_iter().flatten().any(|known| {
            known.get("type") == Some(&json!("Ready")) && known.get("status") == Some(&json!("Unknown"))
        });
        let seen = self.0.entry(release.name_any()).or_default();
        seen.count += usize::from(is_looking && !seen.is_looking);
        seen.is_looking = is_looking;
    }

    fn are_enough(&self, count: usize) -> bool {
        self.0.len() == count && self.0.values().all(|seen| seen.count >= LOOKS)
    }
}

fn write_chart(folder: &Path) -> Result<PathBuf> {
    let chart = folder.join(CHART);
    fs::create_dir_all(chart.join("templates"))?;
    fs::write(chart.join("Chart.yaml"), format!("{{apiVersion: v2, name: {CHART}, version: 1.0.0}}"))?;
    fs::write(chart.join("templates/page.yaml"), TEMPLATE)?;
    Ok(chart)
}

const TEMPLATE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data: {index.html: here}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: page
        image: lab.local/busybox:1
        command: [httpd, -f, -p, '8080', -h, /page]
        volumeMounts: [{name: page, mountPath: /page}]
      volumes: [{name: page, configMap: {name: '{{ .Release.Name }}'}}]
---
apiVersion: v1
kind: Service
metadata: {name: '{{ .Release.Name }}'}
spec: {selector: {app: '{{ .Release.Name }}'}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}'}
spec:
  rules:
  - host: '{{ .Release.Name }}.example.test'
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: '{{ .Release.Name }}', port: {number: 80}}}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_counted_once_however_many_words_it_has() {
        let release = |ready: &str| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a"},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}}))
            .unwrap()
        };
        let mut looks = Looks::default();
        for ready in ["True", "Unknown", "Unknown", "True", "Unknown", "True"] {
            looks.note(&release(ready));
        }
        assert_eq!(looks.0["a"].count, 2);
        assert!(!looks.are_enough(1));
        looks.note(&release("Unknown"));
        assert!(looks.are_enough(1));
        assert!(!looks.are_enough(2));
    }
}
