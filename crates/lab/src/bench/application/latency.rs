//! How long it takes from a changed or new instance to the HelmRelease that carries it, against one raw apply of the same
//! HelmRelease. One in flight, interleaved, from the request until this program's own watch shows the result.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use crate::bench::eyes::Eyes;
use crate::bench::instances::{self, HELM, Which, apply, apps, is_ready, raw_copy};
use crate::bench::ratio::Pair;
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "latency";
/// The instances that are changed in turn.
const CHANGED: usize = 20;

struct Stage<'a> {
    bench: &'a Workbench,
    releases: Api<DynamicObject>,
    seen: Eyes,
    settled: Eyes,
}

pub(super) async fn measure(bench: &Workbench, samples: usize) -> Result<Vec<Row>> {
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
    let against = "raw applies";
    Ok([
        changed.rows("changed instance to HelmRelease applied", against, [3.0, 5.0]),
        new.rows("new instance to HelmRelease applied", against, [5.0, 8.0]),
    ]
    .concat())
}

impl Stage<'_> {
    async fn created(&mut self, which: &Which) -> Result<Duration> {
        let request = instances::create(&self.bench.cluster, std::slice::from_ref(which));
        let (took, _) = self.seen.timed(request, |release| release.name_any() == which.name).await?;
        self.settled.until(|app| app.name_any() == which.name && is_ready(app)).await?;
        Ok(took.from_request)
    }

    /// Changes of values that were there.
    async fn changed(&mut self, some: &[Which], samples: usize) -> Result<Pair> {
        let mut pair = Pair::default();
        let template = self.template(some).await?;
        apply(&self.releases, "raw", &named(&template, "raw", 0)).await?;
        for (number, which) in (1..=samples).zip(some.iter().cycle()) {
            let (releases, body) = (self.releases.clone(), named(&template, "raw", number));
            let request = async { apply(&releases, "raw", &body).await.map(|_| ()) };
            let (took, _) = self.seen.timed(request, |release| carries(release, "raw", number)).await?;
            pair.raw.push(took.from_request);
            let request = instances::change(&self.bench.cluster, which, number);
            let (took, _) = self.seen.timed(request, |release| carries(release, &which.name, number)).await?;
            pair.ours.push(took.from_request);
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
            let (took, _) = self.seen.timed(request, |release| release.name_any() == name).await?;
            pair.raw.push(took.from_request);
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

#[cfg(test)]
mod tests {
    use super::*;

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
