//! The words that scenarios about objects of ours are told in: what is asked of an object, and what it says.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::application_crd::merge;
use super::{Ground, gone, plugin_status, said_by, text_at};
use crate::cluster::wait_until;
use crate::diagnosis;

/// How long an object may take to say something. Flux' longest pause before it tries again within a scenario is 24 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(75);

/// A kind of ours.
#[derive(Clone, Copy)]
pub(super) struct OwnKind {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    /// In full: other scenarios have CRDs of the same kind in groups of their own.
    pub(super) resource: &'static str,
}

/// An object of ours in a scenario.
pub(super) struct OwnObject<'a> {
    pub(super) ground: &'a Ground,
    pub(super) kind: OwnKind,
    pub(super) name: String,
    /// The manifest as it was applied last.
    pub(super) manifest: Value,
}

impl<'a> OwnObject<'a> {
    /// One with this spec, in the namespace of the scenario.
    pub(super) fn new(ground: &'a Ground, kind: OwnKind, name: &str, spec: &Value) -> Self {
        let manifest = json!({
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": ground.namespace},
            "spec": spec,
        });
        Self { ground, kind, name: name.to_owned(), manifest }
    }

    /// More of the spec, as YAML; null removes. NAMESPACE stands for the scenario's own.
    pub(super) fn with(mut self, spec: &str) -> Self {
        // A typing error shows when it is applied.
        let spec = spec.replace("NAMESPACE", &self.ground.namespace);
        let spec: Value = serde_saphyr::from_str(&spec).unwrap_or_else(|error| json!(error.to_string()));
        merge(&mut self.manifest, &json!({ "spec": spec }));
        self
    }

    /// Creates it, or changes it to what it is now.
    pub(super) async fn applied(self) -> Result<Self> {
        self.apply().await?;
        Ok(self)
    }

    /// Changes the spec: YAML, merged into what there is; null removes.
    pub(super) async fn change(&mut self, spec: &str) -> Result<()> {
        let spec = spec.replace("NAMESPACE", &self.ground.namespace);
        let spec: Value = serde_saphyr::from_str(&spec)?;
        merge(&mut self.manifest, &json!({ "spec": spec }));
        self.apply().await
    }

    /// Sets an annotation, or removes it.
    pub(super) async fn annotate(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        merge(&mut self.manifest, &json!({"metadata": {"annotations": {name: value}}}));
        self.apply().await
    }

    async fn apply(&self) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(self.manifest.clone())?;
        self.ground.cluster.apply(&[object]).await
    }

    /// Waits until a condition of the present generation says this, such as `True/HelmReleaseReady`.
    pub(super) async fn says(&self, type_: &str, wanted: &str) -> Result<Said> {
        let object = self
            .until(|object| said(object, type_).is_some_and(|(words, _)| words == wanted))
            .await
            .with_context(|| format!("{} {} does not say {type_}={wanted}", self.kind.kind, self.name))?;
        let message = said(&object, type_).map(|(_, message)| message).unwrap_or_default();
        Ok(Said { what: format!("{type_}={wanted}"), message })
    }

    /// Several conditions of one and the same version of the object.
    pub(super) async fn says_all(&self, wanted: &[(&str, &str)]) -> Result<()> {
        let is_said = |object: &DynamicObject| {
            wanted
                .iter()
                .all(|(type_, wanted)| said(object, type_).is_some_and(|(words, _)| words == *wanted))
        };
        let told = self.until(is_said).await;
        told.with_context(|| format!("{} {} does not say at once {wanted:?}", self.kind.kind, self.name))
            .map(|_| ())
    }

    /// Waits until the instance has said this at some time since the scenario began, however shortly.
    pub(super) async fn has_said(&self, type_: &str, wanted: &str) -> Result<()> {
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
        ended.with_context(|| format!("{} {} never said {type_}={wanted}", self.kind.kind, self.name))??;
        Ok(())
    }

    /// `kubectl wait --for=condition=...`, as a user types it.
    pub(super) async fn kubectl_wait(&self, condition: &str) -> Result<()> {
        let (object, condition) = (self.typed(), format!("--for=condition={condition}"));
        let mut kubectl = self.ground.cluster.tool("kubectl");
        kubectl.args(["wait", &object, "--namespace", &self.ground.namespace, &condition, "--timeout=60s"]);
        said_by(&mut kubectl).await.map(|_| ())
    }

    /// What `kubectl vworkspace status` calls it: Current, InProgress, Failed or Terminating.
    pub(super) async fn plugin_status(&self, wanted: &str) -> Result<()> {
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

    fn typed(&self) -> String {
        format!("{}/{}", self.kind.resource, self.name)
    }

    /// The object as it is now.
    pub(super) async fn read(&self) -> Result<DynamicObject> {
        Ok(self.api().get(&self.name).await?)
    }

    /// Asks for its deletion, and does not wait.
    pub(super) async fn delete(&self) -> Result<()> {
        self.delete_with(&DeleteParams::background()).await
    }

    /// The same, with a word for the garbage collector.
    pub(super) async fn delete_with(&self, params: &DeleteParams) -> Result<()> {
        self.api().delete(&self.name, params).await?;
        Ok(())
    }

    pub(super) async fn is_gone(&self) -> Result<()> {
        gone(&self.api(), self.kind.kind, &self.name).await
    }

    /// Waits until the object is as wanted; otherwise shows its last status.
    pub(super) async fn until(&self, wanted: impl Fn(&DynamicObject) -> bool) -> Result<DynamicObject> {
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

    pub(super) fn api(&self) -> Api<DynamicObject> {
        self.ground.objects(self.kind.api_version, self.kind.kind)
    }
}

/// What a condition said.
pub(super) struct Said {
    what: String,
    message: String,
}

impl Said {
    /// The message must name the cause, in words for people.
    pub(super) fn naming(self, cause: &str) -> Result<Self> {
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
pub(super) fn said(object: &DynamicObject, type_: &str) -> Option<(String, String)> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    let known = conditions.iter().find(|known| text_at(known, "/type") == type_)?;
    let observed = known.get("observedGeneration").and_then(Value::as_i64);
    let words = format!("{}/{}", text_at(known, "/status"), text_at(known, "/reason"));
    (observed == object.metadata.generation).then(|| (words, text_at(known, "/message").to_owned()))
}
