//! ApplicationInstance: turns an instance into a Flux release and says truthfully how it is doing.
//!
//! A new rule about conditions goes into `decide/`, one about what we look at into `observe.rs` and `looking.rs`, one
//! about what Flux is given into `children.rs`. Nothing here talks to the API server: the kit carries plans out.

mod asking;
mod children;
mod decide;
#[cfg(test)]
mod exploration;
mod looking;
mod observe;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::DynamicObject;
use operator_kit::{Caches, Controller, ObjectKey, Plan, Selection, View, Watches};
use serde_json::Value;
use vworkspace_api::application_instance::{ApplicationInstance, ApplicationInstanceStatus};

use crate::certificates::Certificate;
use crate::external_secrets::ExternalSecret;
use crate::flux::{HelmChart, HelmRelease, HelmRepository, OciRepository};
pub(crate) use asking::Question;
pub(crate) use decide::Rules;
use observe::World;

/// Names the instance that a child belongs to.
const INSTANCE_LABEL: &str = "app.vworkspace.io/application-instance";
/// Flux's own labels, on every object of a release but pods and hooks.
const RELEASE_LABEL: &str = "helm.toolkit.fluxcd.io/name";
const RELEASE_NAMESPACE_LABEL: &str = "helm.toolkit.fluxcd.io/namespace";
/// What the whole cluster agreed on.
const CATALOG_POLICY: &str = "vworkspace-catalog-policy";
/// Flux tells drift only this way.
const DRIFT_EVENTS: &str = "reason=DriftDetected,involvedObject.kind=HelmRelease";

/// The controller of ApplicationInstances.
pub(crate) struct Applications {
    /// The operator's own namespace.
    pub(crate) namespace: String,
    pub(crate) rules: Rules,
}

impl Controller for Applications {
    const NAME: &'static str = "application";
    const FINALIZER: &'static str = "apps.vworkspace.io/finalizer";
    const CLOCKS: &'static [&'static str] = &["lastReconcileTime"];

    type Object = ApplicationInstance;
    type World = World;
    type Status = ApplicationInstanceStatus;
    type Errand = Question;

    fn watches(&self) -> Watches {
        Watches::new()
            .labelled::<HelmRelease>(INSTANCE_LABEL) // how the release is doing
            .labelled::<OciRepository>(INSTANCE_LABEL) // whether the chart can be had
            .labelled::<HelmRepository>(INSTANCE_LABEL) // the same for a classic repository
            .mapped::<HelmChart>(Selection::labels(RELEASE_LABEL), of_release) // and for the chart in it
            .mapped::<Event>(Selection::fields(DRIFT_EVENTS), of_drift_event) // what was changed by hand
            .mapped::<Service>(Selection::labels(RELEASE_LABEL), of_release) // where it is reached
            .mapped::<Ingress>(Selection::labels(RELEASE_LABEL), of_release) // the same from outside
            .mapped::<Certificate>(Selection::labels(RELEASE_LABEL), of_release) // what it waits for
            .mapped::<ExternalSecret>(Selection::labels(RELEASE_LABEL), of_release) // the same
            .mapped::<ApplicationInstance>(Selection::all(), dependents) // whether what it needs is ready
            .for_all::<ConfigMap>(Selection::named(CATALOG_POLICY).within(&self.namespace)) // what is allowed when
    }

    fn observe(&self, app: &ApplicationInstance, view: &View<'_, Question>) -> World {
        observe::world(app, view, &ObjectKey::namespaced(&self.namespace, CATALOG_POLICY))
    }

    fn decide(
        &self,
        app: &ApplicationInstance,
        world: &World,
        now: Timestamp,
    ) -> Plan<ApplicationInstanceStatus, Question> {
        decide::plan(app, world, &self.rules, now)
    }
}

/// An object of a release is about the instance of that release.
fn of_release(seen: &DynamicObject, caches: &Caches) -> Vec<ObjectKey> {
    let label = |name: &str| seen.metadata.labels.as_ref()?.get(name).map(String::as_str);
    instance_of(caches, label(RELEASE_NAMESPACE_LABEL), label(RELEASE_LABEL))
}

fn of_drift_event(seen: &DynamicObject, caches: &Caches) -> Vec<ObjectKey> {
    let about = |field: &str| seen.data.pointer(field).and_then(Value::as_str);
    instance_of(caches, about("/involvedObject/namespace"), about("/involvedObject/name"))
}

fn instance_of(caches: &Caches, namespace: Option<&str>, release: Option<&str>) -> Vec<ObjectKey> {
    let find = || {
        let release = caches.raw::<HelmRelease>(&ObjectKey::namespaced(namespace?, release?))?;
        let name = release.metadata.labels.as_ref()?.get(INSTANCE_LABEL)?;
        Some(ObjectKey::namespaced(namespace?, name))
    };
    find().into_iter().collect()
}

/// The instances that wait for this one.
fn dependents(seen: &DynamicObject, caches: &Caches) -> Vec<ObjectKey> {
    let (Some(namespace), Some(name)) = (&seen.metadata.namespace, &seen.metadata.name) else {
        return Vec::new();
    };
    let depends = |other: &DynamicObject| {
        let names = other.data.pointer("/spec/dependsOn").and_then(Value::as_array);
        names.into_iter().flatten().any(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
    };
    let others = caches.in_namespace::<ApplicationInstance>(namespace);
    others.iter().filter(|other| depends(other)).map(|other| ObjectKey::of(other)).collect()
}
