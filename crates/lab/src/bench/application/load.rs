//! Many new instances at once, until each has its HelmRelease, against sending the same requests without an operator.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::audit;
use crate::bench::eyes::Eyes;
use crate::bench::instances::{
    self, APPS, CONCURRENCY, HELM, INSTANCE, SOURCE, Which, apply, apps, raw_copy,
};
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;
use crate::cluster::Cluster;

pub(super) const PREFIX: &str = "load";
pub(super) const REPLAYED: &str = "replay";

pub(super) async fn measure(bench: &Workbench, count: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    bench.clear(REPLAYED).await?;
    let cluster = &bench.cluster;
    let ours = instances::numbered(PREFIX, 0, count);
    instances::make_room(cluster, &ours).await?;
    let operator = bench.program.start().await?;
    let since = Timestamp::now();
    let took = until_released(cluster, &ours, instances::create(cluster, &ours)).await?;
    bench.settle(&operator).await?;
    let busy = operator.cpu_seconds()?;
    let requests: Vec<_> = bench.requests(since)?;
    let requests = audit::per_object(requests.iter().filter(|request| request.is_below(PREFIX)), count);
    ensure!(!requests.is_empty(), "the audit log tells nothing of the operator");
    let last = ours.last().context("no instances")?;
    let sample = Sample::of(cluster, last).await?;
    operator.stop().await?;

    let copies = instances::numbered(REPLAYED, 0, count);
    instances::make_room(cluster, &copies).await?;
    let replayed = until_released(cluster, &copies, replay(cluster, &copies, &sample)).await?;
    bench.clear(PREFIX).await?;
    bench.clear(REPLAYED).await?;
    let ratio = took.as_secs_f64() / replayed.as_secs_f64();
    let detail = format!(
        "{:.1} s against {:.1} s at {CONCURRENCY} at once; requests per instance: {requests}",
        took.as_secs_f64(),
        replayed.as_secs_f64()
    );
    Ok(vec![
        Row::at_most("new instances at once to their HelmReleases, same requests replayed", 1.5, "x", ratio)
            .because(format!("{count} instances, {detail}")),
        Row::at_most("processor for 1,000 new instances at once", 2.0, "s", busy * 1000.0 / count as f64)
            .because(format!("{busy:.2} s for {count} instances, from the start of the process on")),
    ])
}

/// From the first request until the last release is seen.
async fn until_released(
    cluster: &Cluster,
    all: &[Which],
    work: impl Future<Output = Result<()>>,
) -> Result<Duration> {
    let mut missing: HashSet<(String, String)> =
        all.iter().map(|which| (which.namespace.clone(), which.name.clone())).collect();
    let mut seen = Eyes::on(cluster.dynamic(HELM, "HelmRelease", None));
    let started = Instant::now();
    let shown = async {
        while !missing.is_empty() {
            let found = seen.next().await?;
            missing.remove(&(found.namespace().unwrap_or_default(), found.name_any()));
        }
        Ok(started.elapsed())
    };
    let ((), took) = futures::future::try_join(work, shown).await?;
    Ok(took)
}

/// What the operator wrote for one instance.
struct Sample {
    finalizers: Value,
    source: Value,
    release: Value,
    status: Value,
}

impl Sample {
    async fn of(cluster: &Cluster, which: &Which) -> Result<Self> {
        let app = apps(cluster, &which.namespace).get(&which.name).await?;
        let source =
            cluster.dynamic(SOURCE, "OCIRepository", Some(&which.namespace)).get(&which.name).await?;
        let release = cluster.dynamic(HELM, "HelmRelease", Some(&which.namespace)).get(&which.name).await?;
        Ok(Self {
            finalizers: json!(app.finalizers()),
            source: raw_copy(&source),
            release: raw_copy(&release),
            status: app.data.get("status").cloned().context("the instance has no status")?,
        })
    }
}

/// Creates the instances, and sends for each what the operator would: as many at once, in the same order.
async fn replay(cluster: &Cluster, copies: &[Which], sample: &Sample) -> Result<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let receiver = Mutex::new(receiver);
    let create = async {
        instances::for_each(copies, async |which| {
            let object: DynamicObject = serde_json::from_value(which.manifest(0))?;
            let made = apps(cluster, &which.namespace).create(&Default::default(), &object).await?;
            Ok(sender.send((which.clone(), made))?)
        })
        .await?;
        drop(sender);
        Ok(())
    };
    let workers = futures::future::try_join_all((0..CONCURRENCY).map(async |_| {
        loop {
            let next = receiver.lock().await.recv().await;
            let Some((which, made)) = next else { return anyhow::Ok(()) };
            one(cluster, &which, &made, sample).await?;
        }
    }));
    futures::future::try_join(create, workers).await.map(|_| ())
}

async fn one(cluster: &Cluster, which: &Which, made: &DynamicObject, sample: &Sample) -> Result<()> {
    let (namespace, name) = (Some(which.namespace.as_str()), which.name.as_str());
    let app = apps(cluster, &which.namespace);
    let patch = json!({"metadata": {"uid": made.uid(), "resourceVersion": made.resource_version(),
        "finalizers": sample.finalizers}});
    let held = app.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    let children = [(SOURCE, "OCIRepository", &sample.source), (HELM, "HelmRelease", &sample.release)];
    for (api_version, kind, template) in children {
        let api: Api<DynamicObject> = cluster.dynamic(api_version, kind, namespace);
        api.get_metadata_opt(name).await?;
        apply(&api, name, &copied(template, which)).await?;
    }
    let status = json!({"apiVersion": APPS, "kind": INSTANCE,
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": held.resource_version()},
        "status": sample.status});
    app.patch_status(name, &PatchParams::apply("lab-bench").force(), &Patch::Apply(status)).await?;
    Ok(())
}

fn copied(template: &Value, which: &Which) -> Value {
    let mut body = template.clone();
    for (field, value) in [("/metadata/name", &which.name), ("/metadata/namespace", &which.namespace)] {
        if let Some(place) = body.pointer_mut(field) {
            *place = json!(value);
        }
    }
    body
}
