//! The words that scenarios of ApplicationInstances are told in: an instance, what is asked of it, and what it says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::super::application_crd::merge;
use super::super::chart::{Chart, HOLD, NAME};
use super::super::{Ground, gone, plugin_status, said_by, text_at};
use crate::cluster::wait_until;
use crate::diagnosis;

pub(in super::super) const APPS: &str = "apps.vworkspace.io/v1alpha1";
pub(in super::super) const KIND: &str = "ApplicationInstance";
pub(in super::super) const HELM: &str = "helm.toolkit.fluxcd.io/v2";
pub(in super::super) const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
pub(super) const FINALIZER: &str = "apps.vworkspace.io/finalizer";

/// How long an instance may take to say something. Flux' longest pause before it tries again within a scenario is 24 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(75);
/// How long an instance may take to go when its scenario has ended.
const GOODBYE: Duration = Duration::from_secs(45);

/// An ApplicationInstance of a scenario.
pub(in super::super) struct Instance<'a> {
    ground: &'a Ground,
    pub(super) name: String,
    /// The manifest as it was applied last.
    manifest: Value,
}

/// An instance `shop` with release `web`, which Flux looks at every 10 s, and gives up on after 20 s.
pub(in super::super) fn instance(ground: &Ground) -> Instance<'_> {
    named(ground, "shop", "web")
}

/// An instance and the name of its release.
pub(in super::super) fn named<'a>(ground: &'a Ground, name: &str, release: &str) -> Instance<'a> {
    let manifest = json!({
        "apiVersion": APPS,
        "kind": KIND,
        "metadata": {"name": name, "namespace": ground.namespace},
        "spec": {
            "appRef": {"catalogId": NAME},
            "interval": "10s",
            "timeout": "20s",
            "release": {"name": release, "namespace": ground.namespace},
        },
    });
    Instance { ground, name: name.to_owned(), manifest }
}

impl Instance<'_> {
    /// Installs this chart from the lab's registry.
    pub(in super::super) fn chart(self, chart: &Chart) -> Self {
        let (name, version) = (NAME, &chart.version);
        self.with(&format!(
            "chart: {{sourceType: oci, url: '{REGISTRY}', name: {name}, version: {version}, insecure: true}}"
        ))
    }

    /// More of the spec, as YAML; null removes. NAMESPACE stands for the scenario's own.
    pub(in super::super) fn with(mut self, spec: &str) -> Self {
        // A typing error shows when it is applied.
        let spec = spec.replace("NAMESPACE", &self.ground.namespace);
        let spec: Value = serde_saphyr::from_str(&spec).unwrap_or_else(|error| json!(error.to_string()));
        merge(&mut self.manifest, &json!({ "spec": spec }));
        self
    }

    /// Creates it, or changes it to what it is now.
    pub(in super::super) async fn applied(self) -> Result<Self> {
        self.apply().await?;
        Ok(self)
    }

    /// Changes the spec: YAML, merged into what there is; null removes.
    pub(in super::super) async fn change(&mut self, spec: &str) -> Result<()> {
        let spec = spec.replace("NAMESPACE", &self.ground.namespace);
        let spec: Value = serde_saphyr::from_str(&spec)?;
        merge(&mut self.manifest, &json!({ "spec": spec }));
        self.apply().await
    }

    /// Sets an annotation, or removes it.
    pub(in super::super) async fn annotate(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        merge(&mut self.manifest, &json!({"metadata": {"annotations": {name: value}}}));
        self.apply().await
    }

    async fn apply(&self) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(self.manifest.clone())?;
        self.ground.cluster.apply(&[object]).await
    }

    /// Waits until a condition of the present generation says this, such as `True/HelmReleaseReady`.
    pub(in super::super) async fn says(&self, type_: &str, wanted: &str) -> Result<Said> {
        let object = self
            .until(|object| said(object, type_).is_some_and(|(words, _)| words == wanted))
            .await
            .with_context(|| format!("{KIND} {} does not say {type_}={wanted}", self.name))?;
        let message = said(&object, type_).map(|(_, message)| message).unwrap_or_default();
        Ok(Said { what: format!("{type_}={wanted}"), message })
    }

    /// Several conditions of one and the same version of the object.
    pub(in super::super) async fn says_all(&self, wanted: &[(&str, &str)]) -> Result<()> {
        let is_said = |object: &DynamicObject| {
            wanted
                .iter()
                .all(|(type_, wanted)| said(object, type_).is_some_and(|(words, _)| words == *wanted))
        };
        let told = self.until(is_said).await;
        told.with_context(|| format!("{KIND} {} does not say at once {wanted:?}", self.name)).map(|_| ())
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

    /// Waits until the instance has said this at some time since the scenario began, however shortly.
    pub(in super::super) async fn has_said(&self, type_: &str, wanted: &str) -> Result<()> {
        let scenario = self.ground.scenario;
        let mut seen = self.ground.said.clone();
        let is_said = seen.wait_for(|produced| {
            produced.iter().any(|one| {
                one.scenario == scenario
                    && one.type_ == type_
                    && format!("{}/{}", one.status, one.reason) == wanted
            })
        });
        let ended = timeout(PATIENCE, is_said).await;
        ended.with_context(|| format!("{KIND} {} never said {type_}={wanted}", self.name))??;
        Ok(())
    }

    /// `kubectl wait --for=condition=...`, as a user types it.
    pub(in super::super) async fn kubectl_wait(&self, condition: &str) -> Result<()> {
        let (object, condition) = (self.typed(), format!("--for=condition={condition}"));
        let mut kubectl = self.ground.cluster.tool("kubectl");
        kubectl.args(["wait", &object, "--namespace", &self.ground.namespace, &condition, "--timeout=60s"]);
        said_by(&mut kubectl).await.map(|_| ())
    }

    /// What `kubectl vworkspace status` calls it: Current, InProgress, Failed or Terminating.
    pub(in super::super) async fn plugin_status(&self, wanted: &str) -> Result<()> {
        let object = self.typed();
        let output = plugin_status::plugin(self.ground, &["status", &object, "-o", "json"]).await?;
        let objects = plugin_status::objects(&output)?;
        let found = objects.first().map(|object| text_at(object, "/status")).unwrap_or_default();
        ensure!(
            found == wanted,
            "kubectl vworkspace status {object} says {found}, not {wanted}: {}",
            plugin_status::told(&output)
        );
        Ok(())
    }

    /// In full: other scenarios have CRDs of the same kind in groups of their own.
    fn typed(&self) -> String {
        format!("applicationinstances.apps.vworkspace.io/{}", self.name)
    }

    /// The object as it is now.
    pub(in super::super) async fn read(&self) -> Result<DynamicObject> {
        Ok(self.api().get(&self.name).await?)
    }

    /// Asks for its deletion, and does not wait.
    pub(in super::super) async fn delete(&self) -> Result<()> {
        self.delete_with(&DeleteParams::background()).await
    }

    /// The same, with a word for the garbage collector.
    pub(super) async fn delete_with(&self, params: &DeleteParams) -> Result<()> {
        self.api().delete(&self.name, params).await?;
        Ok(())
    }

    pub(in super::super) async fn is_gone(&self) -> Result<()> {
        gone(&self.api(), KIND, &self.name).await
    }

    /// Waits until the object is as wanted; otherwise shows its last status.
    pub(in super::super) async fn until(
        &self,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        let is_wanted = |object: Option<&DynamicObject>| object.is_some_and(&wanted);
        match wait_until(&self.api(), &self.name, Instant::now() + PATIENCE, is_wanted).await {
            Ok(Some(object)) => Ok(object),
            Ok(None) => bail!("it does not exist"),
            Err(not_in_time) => {
                let state = not_in_time.describe(|object| diagnosis::state_of(&object.data));
                bail!("after {} s it says: {state}", PATIENCE.as_secs())
            }
        }
    }

    fn api(&self) -> Api<DynamicObject> {
        self.ground.objects(APPS, KIND)
    }
}

/// What a condition said.
pub(in super::super) struct Said {
    what: String,
    message: String,
}

impl Said {
    /// The message must name the cause, in words for people.
    pub(in super::super) fn naming(self, cause: &str) -> Result<Self> {
        ensure!(
            !self.message.contains("Some("),
            "the message of {} is no text for people: {}",
            self.what,
            self.message
        );
        ensure!(
            self.message.contains(cause),
            "the message of {} does not name '{cause}': {}",
            self.what,
            self.message
        );
        Ok(self)
    }
}

/// `Status/Reason` and message of a condition, if it speaks of the present generation.
fn said(object: &DynamicObject, type_: &str) -> Option<(String, String)> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    let known = conditions.iter().find(|known| text_at(known, "/type") == type_)?;
    let observed = known.get("observedGeneration").and_then(Value::as_i64);
    let words = format!("{}/{}", text_at(known, "/status"), text_at(known, "/reason"));
    (observed == object.metadata.generation).then(|| (words, text_at(known, "/message").to_owned()))
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
    let instances = ground.objects(APPS, KIND);
    let left = match instances.list(&ListParams::default()).await {
        Ok(left) => left.items,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(error) => return Err(error).context("failed to list the instances of a scenario"),
    };
    for instance in &left {
        ignore_absent(instances.delete(&instance.name_any(), &DeleteParams::background()).await.map(|_| ()))?;
    }
    let deadline = Instant::now() + GOODBYE;
    let mut forced = Vec::new();
    for instance in &left {
        let name = instance.name_any();
        if wait_until(&instances, &name, deadline, |object| object.is_none()).await.is_err() {
            let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            ignore_absent(instances.patch(&name, &PatchParams::default(), &release).await.map(|_| ()))?;
            forced.push(name);
        }
    }
    ensure!(
        forced.is_empty(),
        "{KIND} {} did not go within {} s after their deletion; removed {FINALIZER} by force",
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
