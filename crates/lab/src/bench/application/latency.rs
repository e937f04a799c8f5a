//! How long it takes from a changed or new instance to the HelmRelease that carries it, against one raw apply of the same
//! HelmRelease. One in flight, interleaved, from the request until this program's own watch shows the result.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Bench;
use super::instances::{self, HELM, Which, apply, apps};
use super::results::Row;
use crate::bench::quantile;

pub(super) const PREFIX: &str = "latency";
/// How long one write may take to show up.
const DEADLINE: Duration = Duration::from_secs(20);
/// The instances that are changed in turn.
const CHANGED: usize = 20;

/// What a watch shows.
pub(super) struct Eyes(BoxStream<'static, watcher::Result<DynamicObject>>);

impl Eyes {
    pub(super) fn on(api: Api<DynamicObject>) -> Self {
        Self(watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed())
    }

    /// Waits for an object that is as wanted.
    pub(super) async fn until(&mut self, wanted: impl Fn(&DynamicObject) -> bool) -> Result<()> {
        let shown = async {
            while !wanted(&self.next().await?) {}
            Ok(())
        };
        timeout(DEADLINE, shown).await.context("nothing as wanted was seen in time")?
    }

    /// The next object that is shown.
    pub(super) async fn next(&mut self) -> Result<DynamicObject> {
        loop {
            match timeout(DEADLINE, self.0.next()).await.context("nothing more was seen in time")? {
                Some(Ok(object)) => return Ok(object),
                // A watch that breaks is taken up again by itself.
                Some(Err(_)) => {}
                None => bail!("the watch ended"),
            }
        }
    }

    /// Looks at what has come already, so that it does not stand before what comes next.
    fn catch_up(&mut self) {
        while self.0.next().now_or_never().flatten().is_some() {}
    }

    /// From the start of a request until something as wanted is seen.
    async fn timed(
        &mut self,
        request: impl Future<Output = Result<()>>,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<Duration> {
        self.catch_up();
        let started = Instant::now();
        let shown = async {
            self.until(wanted).await?;
            Ok(started.elapsed())
        };
        let ((), took) = futures::future::try_join(request, shown).await?;
        Ok(took)
    }
}

/// Two series of samples that were taken in turn.
#[derive(Default)]
struct Pair {
    raw: Vec<Duration>,
    ours: Vec<Duration>,
}

struct Stage<'a> {
    bench: &'a Bench,
    releases: Api<DynamicObject>,
    seen: Eyes,
    settled: Eyes,
}

pub(super) async fn measure(bench: &Bench, samples: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let some = instances::numbered(PREFIX, 0, CHANGED);
    let first = some.first().context("no instances")?;
    // One namespace holds them all.
    instances::make_room(&bench.cluster, &some).await?;
    let _flux = bench.flux()?;
    let operator = bench.program.start().await?;
    let releases = bench.cluster.dynamic(HELM, "HelmRelease", Some(&first.namespace));
    let (seen, settled) = (Eyes::on(releases.clone()), Eyes::on(apps(&bench.cluster, &first.namespace)));
    let mut stage = Stage { bench, releases, seen, settled };
    for which in &some {
        stage.created(which).await?;
    }
    let changed = stage.changed(&some, samples).await?;
    let new = stage.new_ones(&some, samples).await?;
    operator.stop().await?;
    bench.clear(PREFIX).await?;
    Ok([rows("changed instance", &changed, [3.0, 5.0]), rows("new instance", &new, [5.0, 8.0])].concat())
}

impl Stage<'_> {
    async fn created(&mut self, which: &Which) -> Result<Duration> {
        let request = instances::create(&self.bench.cluster, std::slice::from_ref(which));
        let took = self.seen.timed(request, |release| release.name_any() == which.name).await?;
        self.settled.until(|app| app.name_any() == which.name && is_ready(app)).await?;
        Ok(took)
    }

    /// Changes of values that were there.
    async fn changed(&mut self, some: &[Which], samples: usize) -> Result<Pair> {
        let mut pair = Pair::default();
        let template = self.template(some).await?;
        apply(&self.releases, "raw", &named(&template, "raw", 0)).await?;
        for (number, which) in (1..=samples).zip(some.iter().cycle()) {
            let (releases, body) = (self.releases.clone(), named(&template, "raw", number));
            let request = async { apply(&releases, "raw", &body).await.map(|_| ()) };
            pair.raw.push(self.seen.timed(request, |release| carries(release, "raw", number)).await?);
            let request = instances::change(&self.bench.cluster, which, number);
            pair.ours.push(self.seen.timed(request, |release| carries(release, &which.name, number)).await?);
            self.settled
                .until(|app| app.name_any() == which.name && is_ready(app) && is_at(app, number))
                .await?;
        }
        Ok(pair)
    }

    async fn new_ones(&mut self, some: &[Which], samples: usize) -> Result<Pair> {
        let mut pair = Pair::default();
        let template = self.template(some).await?;
        let namespace = some.first().map(|which| which.namespace.clone()).unwrap_or_default();
        for (number, which) in instances::numbered(PREFIX, CHANGED, CHANGED + samples).into_iter().enumerate()
        {
            let name = format!("raw-{number}");
            let (releases, body) = (self.releases.clone(), named(&template, &name, 0));
            let request = async { apply(&releases, &name, &body).await.map(|_| ()) };
            pair.raw.push(self.seen.timed(request, |release| release.name_any() == name).await?);
            pair.ours.push(self.created(&which.within(&namespace)).await?);
        }
        Ok(pair)
    }

    /// What the operator has applied, as a request.
    async fn template(&self, some: &[Which]) -> Result<Value> {
        let first = some.first().context("no instances")?;
        Ok(raw_copy(&self.releases.get(&first.name).await?))
    }
}

/// The body of the apply that made this object, but for the label by which the operator finds its own.
pub(super) fn raw_copy(object: &DynamicObject) -> Value {
    let labels =
        object.labels().iter().map(|(key, value)| (key.replace("application-", "applicable-"), value));
    let labels: Value = labels.map(|(key, value)| (key, json!(value))).collect();
    let types = object.types.clone().unwrap_or_default();
    json!({
        "apiVersion": types.api_version, "kind": types.kind,
        "metadata": {"name": object.name_any(), "namespace": object.namespace(), "labels": labels,
            "annotations": object.annotations(), "ownerReferences": object.owner_references()},
        "spec": object.data.get("spec"),
    })
}

fn named(template: &Value, name: &str, change: usize) -> Value {
    let mut body = template.clone();
    for (pointer, value) in [("/metadata/name", json!(name)), ("/spec/values/change", json!(change))] {
        if let Some(place) = body.pointer_mut(pointer) {
            *place = value;
        }
    }
    body
}

fn carries(release: &DynamicObject, name: &str, change: usize) -> bool {
    release.name_any() == name && release.data.pointer("/spec/values/change") == Some(&json!(change))
}

fn is_at(app: &DynamicObject, change: usize) -> bool {
    app.data.pointer("/spec/values/inline/change") == Some(&json!(change))
}

/// Whether an instance is ready as its spec is now.
pub(super) fn is_ready(app: &DynamicObject) -> bool {
    let conditions = app.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&json!("Ready"))
            && condition.get("status") == Some(&json!("True"))
            && condition.get("observedGeneration") == Some(&json!(app.metadata.generation))
    })
}

fn rows(what: &str, pair: &Pair, targets: [f64; 2]) -> Vec<Row> {
    let millis = |series: &[Duration], per_cent| quantile(series, per_cent).as_secs_f64() * 1000.0;
    let row = |per_cent: usize, target: f64| {
        let (raw, ours) = (millis(&pair.raw, per_cent), millis(&pair.ours, per_cent));
        let detail = format!("{ours:.1} ms against {raw:.1} ms, {} samples", pair.ours.len());
        Row::at_most(
            &format!("{what} to HelmRelease applied, p{per_cent}, raw applies"),
            target,
            "x",
            ours / raw,
        )
        .because(detail)
    };
    let [middle, worst] = targets;
    vec![row(50, middle), row(99, worst)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_ready_only_as_its_spec_is_now() {
        let app = |generation: i64| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a", "generation": generation}, "status": {
                "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}}))
            .unwrap()
        };
        assert!(is_ready(&app(1)) && !is_ready(&app(2)));
    }

    #[test]
    fn a_raw_copy_is_the_same_request_but_not_the_operators_own() {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "x/v1", "kind": "X",
            "metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "2",
                "labels": {"app.vworkspace.io/application-instance": "a"}},
            "spec": {"values": {"change": 1}}, "status": {}}))
        .unwrap();
        let copy = named(&raw_copy(&object), "raw", 2);
        assert_eq!(copy.pointer("/spec/values/change"), Some(&json!(2)));
        assert_eq!(
            copy.pointer("/metadata/labels"),
            Some(&json!({"app.vworkspace.io/applicable-instance": "a"}))
        );
        assert_eq!((copy.get("status"), copy.pointer("/metadata/uid")), (None, None));
    }
}
