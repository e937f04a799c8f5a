//! ApplicationInstance: turns an instance into a Flux release and says truthfully how it is doing.
//!
//! A new rule about conditions goes into `decide/`, one about what we look at into `observe.rs` and `temporary_watches.rs`, one
//! about what Flux is given into `children.rs`. Nothing here talks to the API server: the kit carries plans out.

mod children;
mod decide;
mod endpoints;
#[cfg(test)]
mod exploration;
mod inline_secrets;
mod leftovers;
mod observe;
mod polls;
mod restoring;
mod temporary_watches;

use conditions::{Kind, Severity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::DynamicObject;
use operator_kit::{
    Caches, Controller, ObjectKey, Ownership, Plan, Polled, Selection, Unreadable, View, Watched, Watches,
};
use serde_json::Value;
use vworkspace_api::application_instance::{ApplicationInstance, ApplicationInstanceStatus};
use vworkspace_api::operation::Operation;

use crate::external::cert_manager::Certificate;
use crate::external::external_secrets::ExternalSecret;
use crate::external::flux::{HelmChart, HelmRelease, HelmRepository, OciRepository};
use crate::policy::catalog_policy::ProblemLog;
pub(crate) use decide::Rules;
pub(crate) use decide::pause::is_left_alone;
#[cfg(test)]
pub(crate) use decide::precedence;
use observe::World;
use polls::chart_archive::ArtifactRef;
use polls::readiness::ReadinessPoll;

/// Names the instance that a child belongs to.
const INSTANCE_LABEL: &str = "app.vworkspace.io/application-instance";
/// Says on a child whose it is. No owner reference: with one the garbage collector would delete the release of an instance
/// that is deleted in the foreground, before anybody has asked what `spec.deletionPolicy` says.
const OWNER_LABEL: &str = "apps.vworkspace.io/instance-uid";
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
    namespace: String,
    /// Whether it looks at some namespaces only, and has its rights there.
    is_namespaced: bool,
    rules: Rules,
    kinds: Kinds,
    policy_problems: ProblemLog,
}

/// What it looks at.
#[derive(Debug, Clone, Copy)]
struct Kinds {
    /// Whether what an instance needs is ready.
    instances: Watched<ApplicationInstance>,
    /// How the release is doing.
    releases: Watched<HelmRelease>,
    /// Whether the chart can be had.
    oci_repositories: Watched<OciRepository>,
    /// The same for a classic repository.
    helm_repositories: Watched<HelmRepository>,
    /// And for the chart in it.
    helm_charts: Watched<HelmChart>,
    /// What was changed by hand.
    drift_events: Watched<Event>,
    /// Where it is reached.
    services: Watched<Service>,
    /// The same from outside.
    ingresses: Watched<Ingress>,
    /// What it waits for.
    certificates: Watched<Certificate>,
    /// The same.
    external_secrets: Watched<ExternalSecret>,
    /// What is allowed when.
    policy: Watched<ConfigMap>,
    /// Who wants them to be left alone.
    operations: Watched<Operation>,
    /// Whether its Services answer.
    readiness: Polled<ReadinessPoll>,
    /// What its chart says of itself.
    charts: Polled<ArtifactRef>,
}

impl Kinds {
    fn declare(watches: &mut Watches, namespace: &str) -> Self {
        let releases = watches.labelled(INSTANCE_LABEL);
        // An object of a release is about the instance of that release.
        let of_release = move |seen: &DynamicObject, caches: &Caches| {
            let label = |name: &str| seen.metadata.labels.as_ref()?.get(name).map(String::as_str);
            instance_of(caches, releases, label(RELEASE_NAMESPACE_LABEL), label(RELEASE_LABEL))
        };
        let of_drift_event = move |seen: &DynamicObject, caches: &Caches| {
            let about = |field: &str| seen.data.pointer(field).and_then(Value::as_str);
            instance_of(caches, releases, about("/involvedObject/namespace"), about("/involvedObject/name"))
        };
        let instances = watches.own();
        // The instances that wait for this one.
        watches.mapped::<ApplicationInstance>(Selection::all(), move |seen, caches| {
            caches.keys_named(instances, &ObjectKey::of(seen))
        });
        let in_release = || Selection::labels(RELEASE_LABEL);
        let kinds = Self {
            instances,
            releases,
            oci_repositories: watches.labelled(INSTANCE_LABEL),
            helm_repositories: watches.labelled(INSTANCE_LABEL),
            helm_charts: watches.mapped(in_release(), of_release),
            drift_events: watches.mapped(Selection::fields(DRIFT_EVENTS), of_drift_event),
            services: watches.mapped(in_release(), of_release),
            ingresses: watches.mapped(in_release(), of_release),
            certificates: watches.mapped(in_release(), of_release),
            external_secrets: watches.mapped(in_release(), of_release),
            policy: watches.for_all(Selection::named(CATALOG_POLICY).within(namespace)),
            operations: watches
                .mapped(Selection::all(), |seen, _| restore_target(seen).into_iter().collect()),
            readiness: watches.polls(|_| ()),
            charts: watches.polls(|_| ()),
        };
        watches.found_by(kinds.instances, dependencies);
        watches.found_by(kinds.drift_events, involved);
        watches.found_by(kinds.services, release);
        watches.found_by(kinds.ingresses, release);
        watches.found_by(kinds.certificates, release);
        watches.found_by(kinds.external_secrets, release);
        watches.found_by(kinds.operations, unfinished_restore);
        kinds
    }
}

impl Applications {
    pub(crate) fn new(watches: &mut Watches, namespace: String, is_namespaced: bool, rules: Rules) -> Self {
        let kinds = Kinds::declare(watches, &namespace);
        Self { namespace, is_namespaced, rules, kinds, policy_problems: ProblemLog::default() }
    }
}

impl Controller for Applications {
    const NAME: &'static str = "application";
    const FINALIZER: Option<&'static str> = Some("apps.vworkspace.io/finalizer");
    const OWNERSHIP: Ownership = Ownership::Label(OWNER_LABEL);
    const CLOCKS: &'static [&'static str] = &["lastReconcileTime"];

    type Object = ApplicationInstance;
    type World = World;
    type Status = ApplicationInstanceStatus;

    fn observe(&self, app: &ApplicationInstance, view: &View<'_>) -> World {
        let world = observe::world(app, view, self);
        self.policy_problems.note(&world.policy);
        world
    }

    fn decide(
        &self,
        app: &ApplicationInstance,
        world: &World,
        now: Timestamp,
    ) -> Plan<ApplicationInstanceStatus> {
        decide::plan(app, world, &self.rules, now)
    }

    fn is_warning(type_: &str) -> bool {
        ApplicationInstance::VOCABULARY.severity(type_) == Severity::Warning
    }

    fn unreadable(
        &self,
        unreadable: Unreadable<'_, ApplicationInstanceStatus>,
        now: Timestamp,
    ) -> ApplicationInstanceStatus {
        decide::unreadable(unreadable, now)
    }
}

fn instance_of(
    caches: &Caches,
    releases: Watched<HelmRelease>,
    namespace: Option<&str>,
    release: Option<&str>,
) -> Vec<ObjectKey> {
    let find = || {
        let release = caches.raw(releases, &ObjectKey::namespaced(namespace?, release?))?;
        let name = release.metadata.labels.as_ref()?.get(INSTANCE_LABEL)?;
        Some(ObjectKey::namespaced(namespace?, name))
    };
    find().into_iter().collect()
}

/// The instances that this one waits for.
fn dependencies(app: &DynamicObject) -> Vec<ObjectKey> {
    let names = app.data.pointer("/spec/dependsOn").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|entry| beside(app, entry.get("name")?.as_str()?)).collect()
}

/// The instance that an operation brings something back for.
fn restore_target(operation: &DynamicObject) -> Option<ObjectKey> {
    let text = |pointer: &str| operation.data.pointer(pointer).and_then(Value::as_str);
    beside(operation, text("/spec/targetRef/name")?).filter(|_| text("/spec/type") == Some("Restore"))
}

/// The same of one that has not ended.
fn unfinished_restore(operation: &DynamicObject) -> Vec<ObjectKey> {
    let has_ended = crate::controllers::operation::has_ended(operation);
    restore_target(operation).filter(|_| !has_ended).into_iter().collect()
}

/// The release that an object is part of; it may come from another namespace.
fn release(object: &DynamicObject) -> Vec<ObjectKey> {
    let label = |name: &str| object.metadata.labels.as_ref()?.get(name);
    let release = label(RELEASE_NAMESPACE_LABEL).zip(label(RELEASE_LABEL));
    release.map(|(namespace, name)| ObjectKey::namespaced(namespace, name)).into_iter().collect()
}

/// The release that an Event is about.
fn involved(event: &DynamicObject) -> Vec<ObjectKey> {
    let name = event.data.pointer("/involvedObject/name").and_then(Value::as_str);
    name.and_then(|name| beside(event, name)).into_iter().collect()
}

/// Something in the same namespace.
fn beside(object: &DynamicObject, name: &str) -> Option<ObjectKey> {
    Some(ObjectKey::namespaced(object.metadata.namespace.as_deref()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_found_by_what_it_is_about() {
        let object = |meta: Value, rest: Value| -> DynamicObject {
            let mut object: DynamicObject = serde_json::from_value(json!({ "metadata": meta })).unwrap();
            object.metadata.namespace = Some("shop".to_owned());
            object.data = rest;
            object
        };
        let web = vec![ObjectKey::namespaced("shop", "web")];
        let app = object(json!({"name": "a"}), json!({"spec": {"dependsOn": [{"name": "web"}]}}));
        assert_eq!((dependencies(&app), release(&app)), (web.clone(), vec![]));
        let of = |namespace: &str| {
            let labels = json!({RELEASE_LABEL: "web", RELEASE_NAMESPACE_LABEL: namespace});
            object(json!({"name": "a", "labels": labels}), Value::Null)
        };
        assert_eq!((release(&of("shop")), dependencies(&of("shop"))), (web.clone(), vec![]));
        assert_ne!(release(&of("other")), web, "a release of another namespace that is put here");
        let event = object(json!({"name": "a"}), json!({"involvedObject": {"name": "web"}}));
        assert_eq!(involved(&event), web);
    }
}
