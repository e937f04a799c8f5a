//! The words that scenarios of ApplicationInstances are told in: an instance, what is asked of it, and what it says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::chart::{Chart, HOLD, NAME};
use super::super::operation::OPERATION;
use super::super::own_object::{OwnKind, OwnObject, PATIENCE, said};
use super::super::{Ground, text_at};
use crate::cluster::wait_until;
use crate::diagnosis;

pub(in super::super) const APPS: &str = "apps.vworkspace.io/v1alpha1";
pub(in super::super) const KIND: &str = "ApplicationInstance";
pub(in super::super) const HELM: &str = "helm.toolkit.fluxcd.io/v2";
pub(in super::super) const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
pub(super) const FINALIZER: &str = "apps.vworkspace.io/finalizer";

/// How long an instance may take to go when its scenario has ended.
const GOODBYE: Duration = Duration::from_secs(45);

/// An ApplicationInstance of a scenario.
pub(in super::super) type Instance<'a> = OwnObject<'a>;

const INSTANCE: OwnKind =
    OwnKind { api_version: APPS, kind: KIND, resource: "applicationinstances.apps.vworkspace.io" };

/// An instance `shop` with release `web`, which Flux looks at every 10 s, and gives up on after 20 s.
pub(in super::super) fn instance(ground: &Ground) -> Instance<'_> {
    named(ground, "shop", "web")
}

/// An instance and the name of its release.
pub(in super::super) fn named<'a>(ground: &'a Ground, name: &str, release: &str) -> Instance<'a> {
    let spec = json!({
        "appRef": {"catalogId": NAME},
        "interval": "10s",
        "timeout": "20s",
        "release": {"name": release, "namespace": ground.namespace},
    });
    OwnObject::new(ground, INSTANCE, name, &spec)
}

impl OwnObject<'_> {
    /// Installs this chart from the lab's registry.
    pub(in super::super) fn chart(self, chart: &Chart) -> Self {
        let (name, version) = (NAME, &chart.version);
        self.with(&format!(
            "chart: {{sourceType: oci, url: '{REGISTRY}', name: {name}, version: {version}, insecure: true}}"
        ))
    }

    /// The condition stays as it is while Flux begins two more looks at the release, each of which makes Flux' own
    /// conditions flicker.
    pub(in super::super) async fn keeps_saying(&self, type_: &str, wanted: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let looks = AtomicUsize::new(0);
        let releases = self.ground.objects(HELM, "HelmRelease");
        let release = text_at(&self.manifest, "/spec/release/name");
        let is_looked_at = |release: Option<&DynamicObject>| {
            release.is_some_and(begins_to_look) && looks.fetch_add(1, Ordering::Relaxed) == 1
        };
        let says_else = |object: Option<&DynamicObject>| {
            object.and_then(|object| said(object, type_)).is_some_and(|(words, _)| words != wanted)
        };
        let api = self.api();
        tokio::select! {
            looked = wait_until(&releases, release, deadline, is_looked_at) => {
                ensure!(looked.is_ok(), "Flux does not look at HelmRelease {release} again");
                Ok(())
            }
            changed = wait_until(&api, &self.name, deadline, says_else) => {
                let state = changed.ok().flatten().map(|object| diagnosis::state_of(&object.data));
                bail!("{KIND} {} does not keep saying {type_}={wanted}; it said: {}", self.name, state.unwrap_or_default())
            }
        }
    }
}

/// Whether Flux has begun to look at a release and come to no conclusion yet.
fn begins_to_look(release: &DynamicObject) -> bool {
    let conditions = release.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|known| {
        (text_at(known, "/type"), text_at(known, "/status")) == ("Ready", "Unknown")
            && text_at(known, "/message") == "Fulfilling prerequisites"
    })
}

/// Takes away what a scenario left, so that its namespace can go: first as a user would, then by force. What needed force is
/// told, because the operator did not let go of it.
pub(in super::super) async fn clear(ground: &Ground) -> Result<()> {
    release_held(ground).await?;
    // Operations first: they may work on instances.
    for kind in [OPERATION, INSTANCE] {
        clear_kind(ground, kind).await?;
    }
    Ok(())
}

async fn clear_kind(ground: &Ground, OwnKind { api_version, kind, .. }: OwnKind) -> Result<()> {
    let objects = ground.objects(api_version, kind);
    let left = match objects.list(&ListParams::default()).await {
        Ok(left) => left.items,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("failed to list the {kind}s of a scenario")),
    };
    for object in &left {
        ignore_absent(objects.delete(&object.name_any(), &DeleteParams::background()).await.map(|_| ()))?;
    }
    let deadline = Instant::now() + GOODBYE;
    let mut forced = Vec::new();
    for object in &left {
        let name = object.name_any();
        if wait_until(&objects, &name, deadline, |object| object.is_none()).await.is_err() {
            let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            ignore_absent(objects.patch(&name, &PatchParams::default(), &release).await.map(|_| ()))?;
            forced.push(name);
        }
    }
    ensure!(
        forced.is_empty(),
        "{kind} {} did not go within {} s after their deletion; removed their finalizers by force",
        forced.join(", "),
        GOODBYE.as_secs()
    );
    Ok(())
}

/// ConfigMaps that a chart holds with a finalizer of the lab's own.
pub(super) async fn release_held(ground: &Ground) -> Result<()> {
    let held = ground.objects("v1", "ConfigMap");
    for one in held.list(&ListParams::default()).await? {
        if one.finalizers().iter().any(|finalizer| finalizer == HOLD) {
            let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            ignore_absent(held.patch(&one.name_any(), &PatchParams::default(), &release).await.map(|_| ()))?;
        }
    }
    Ok(())
}

fn ignore_absent(result: kube::Result<()>) -> Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other?),
    }
}

/// The lab's registry, as Flux sees it.
pub(in super::super) const REGISTRY: &str = "oci://registry.lab-system.svc.cluster.local:5000/charts";
