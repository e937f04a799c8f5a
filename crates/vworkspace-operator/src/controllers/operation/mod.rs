//! Operation: day-2 work on an application, carried out by an engine, once.
//!
//! A new rule about conditions goes into `decide/`, one about an engine into its folder below `engines/`, one about what we look
//! at into `observe.rs`. Nothing here talks to the API server: the kit carries plans out.

mod decide;
mod engines;
#[cfg(test)]
mod exploration;
mod metrics;
mod observe;

use conditions::{Kind, Severity};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::ResourceExt;
use kube::api::DynamicObject;
use operator_kit::{
    Controller, LaneOf, ObjectKey, Ownership, Plan, Polled, Selection, Unreadable, View, Watched, Watches,
    decode,
};
use serde_json::Value;
use tracing::{Span, field, info_span};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Operation, OperationStatus, RUNNER};

use crate::external::velero::{Backup, BackupStorageLocation, DeleteBackupRequest, Restore};
pub(crate) use decide::Rules;
#[cfg(test)]
pub(crate) use decide::precedence;
use engines::job::LogPoll;
use engines::velero;
pub(crate) use metrics::Metrics;
use observe::World;

/// Says on a child, and on its pods, which operation it belongs to: by its uid.
const OPERATION_LABEL: &str = "ops.vworkspace.io/operation";
/// Says on a child who made it.
const MANAGED_BY: (&str, &str) = ("app.vworkspace.io/managed-by", "vworkspace-operator");

/// The controller of Operations.
pub(crate) struct Operations {
    rules: Rules,
    kinds: Kinds,
}

/// What it looks at.
#[derive(Debug)]
struct Kinds {
    /// Who else wants to do something to the target.
    operations: Watched<Operation>,
    /// What is worked on.
    instances: Watched<ApplicationInstance>,
    /// What runs a command.
    jobs: Watched<Job>,
    /// What it runs in.
    pods: Watched<Pod>,
    /// What it prints.
    logs: Polled<LogPoll>,
    /// In whose name.
    runners: Watched<ServiceAccount>,
    velero: Velero,
}

/// What Velero has, in its own namespace.
#[derive(Debug)]
struct Velero {
    namespace: String,
    backups: Watched<Backup>,
    restores: Watched<Restore>,
    locations: Watched<BackupStorageLocation>,
    /// What removes backups.
    removals: Watched<DeleteBackupRequest>,
}

impl Velero {
    fn declare(watches: &mut Watches, operations: Watched<Operation>, namespace: String) -> Self {
        watches.found_by(operations, waiting_for_velero);
        // Each changes once a minute: only who waits is told.
        let locations = watches.mapped(Selection::all().within(&namespace), move |_, caches| {
            caches.keys_named(operations, &velero_key())
        });
        watches.found_by(locations, velero::in_its_namespace);
        Self {
            backups: watches.owned_within(Operations::OWNERSHIP, &namespace),
            restores: watches.owned_within(Operations::OWNERSHIP, &namespace),
            removals: watches.owned_within(Operations::OWNERSHIP, &namespace),
            locations,
            namespace,
        }
    }
}

impl Kinds {
    fn declare(watches: &mut Watches, velero_namespace: String) -> Self {
        let operations = watches.own();
        watches.found_by(operations, target_of_unfinished);
        // Of those on the same target one may be next.
        watches.mapped::<Operation>(Selection::all(), move |seen, caches| {
            let Some(target) = target(seen) else { return Vec::new() };
            match decode(seen) {
                Ok(changed) => decide::told(&changed, caches.named(operations, &target).into_objects()),
                Err(_) => caches.keys_named(operations, &target),
            }
        });
        let kinds = Self {
            operations,
            instances: watches.mapped(Selection::all(), move |seen, caches| {
                caches.keys_named(operations, &ObjectKey::of(seen))
            }),
            jobs: watches.owned(Operations::OWNERSHIP),
            pods: watches.owned(Operations::OWNERSHIP),
            logs: watches.polls(Clone::clone),
            runners: watches.mapped(Selection::named(RUNNER), move |seen, caches| {
                let namespace = seen.metadata.namespace.as_deref().unwrap_or_default();
                caches.keys_named(operations, &runner_key(namespace))
            }),
            velero: Velero::declare(watches, operations, velero_namespace),
        };
        watches.found_by(operations, waiting_for_runner);
        watches.found_by(kinds.pods, operation_of);
        kinds
    }
}

impl Operations {
    pub(crate) fn new(watches: &mut Watches, rules: Rules, velero_namespace: String) -> Self {
        Self { rules, kinds: Kinds::declare(watches, velero_namespace) }
    }
}

impl Controller for Operations {
    const NAME: &'static str = "operation";
    const FINALIZER: Option<&'static str> = Some("ops.vworkspace.io/finalizer");
    const OWNERSHIP: Ownership = Ownership::Label(OPERATION_LABEL);
    const CLOCKS: &'static [&'static str] = &[];
    const LANE: Option<LaneOf<Operation>> = Some(|operation| {
        Some(ObjectKey::namespaced(&operation.namespace()?, &operation.spec.target_ref.name))
    });

    type Object = Operation;
    type World = World;
    type Status = OperationStatus;

    fn span(object: &ObjectKey, reconcile_id: &str) -> Span {
        info_span!("reconcile", controller = Self::NAME, %object, reconcile_id, operation_id = field::Empty)
    }

    fn observe(&self, operation: &Operation, view: &View<'_>) -> World {
        observe::world(operation, view, &self.kinds)
    }

    fn decide(&self, operation: &Operation, world: &World, now: Timestamp) -> Plan<OperationStatus> {
        decide::plan(operation, world, &self.rules, now)
    }

    fn is_warning(type_: &str) -> bool {
        Operation::VOCABULARY.severity(type_) == Severity::Warning
    }

    fn unreadable(&self, unreadable: Unreadable<'_, OperationStatus>, now: Timestamp) -> OperationStatus {
        decide::unreadable(unreadable, now)
    }
}

/// What an operation works on, unless it has ended: those need no place in line.
fn target_of_unfinished(operation: &DynamicObject) -> Vec<ObjectKey> {
    target(operation).filter(|_| !has_ended(operation)).into_iter().collect()
}

/// Whether an operation says that it is over.
pub(crate) fn has_ended(operation: &DynamicObject) -> bool {
    let phase = operation.data.pointer("/status/phase").and_then(Value::as_str);
    matches!(phase, Some("Succeeded" | "Failed" | "Cancelled"))
}

/// What all operations are found by that wait for Velero, or have not been looked at.
fn velero_key() -> ObjectKey {
    ObjectKey { namespace: None, name: "velero".to_owned() }
}

fn waiting_for_velero(operation: &DynamicObject) -> Vec<ObjectKey> {
    let text = |pointer: &str| operation.data.pointer(pointer).and_then(Value::as_str);
    let waits =
        text("/spec/engine") == Some("velero") && matches!(text("/status/phase"), None | Some("Pending"));
    waits.then(velero_key).into_iter().collect()
}

/// What all operations of a namespace are found by that wait for the account of commands. No target has such a name.
fn runner_key(namespace: &str) -> ObjectKey {
    ObjectKey::namespaced(namespace, "/account")
}

fn waiting_for_runner(operation: &DynamicObject) -> Vec<ObjectKey> {
    let text = |pointer: &str| operation.data.pointer(pointer).and_then(Value::as_str);
    let waits =
        text("/spec/engine") == Some("job") && matches!(text("/status/phase"), None | Some("Pending"));
    let namespace = operation.metadata.namespace.as_deref().filter(|_| waits);
    namespace.map(runner_key).into_iter().collect()
}

fn target(operation: &DynamicObject) -> Option<ObjectKey> {
    let name = operation.data.pointer("/spec/targetRef/name").and_then(Value::as_str)?;
    Some(ObjectKey::namespaced(operation.metadata.namespace.as_deref()?, name))
}

/// The operation that a pod works for.
fn operation_of(pod: &DynamicObject) -> Vec<ObjectKey> {
    let uid = pod.metadata.labels.as_ref().and_then(|labels| labels.get(OPERATION_LABEL));
    let namespace = pod.metadata.namespace.as_deref();
    namespace.zip(uid).map(|(namespace, uid)| ObjectKey::namespaced(namespace, uid)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn operation(status: &Value) -> DynamicObject {
        let mut object: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "shop"}})).unwrap();
        object.data = json!({"spec": {"targetRef": {"name": "web"}}, "status": status});
        object
    }

    #[test]
    fn only_what_has_not_ended_is_found_by_its_target() {
        let web = vec![ObjectKey::namespaced("shop", "web")];
        for phase in ["Pending", "Running"] {
            assert_eq!(target_of_unfinished(&operation(&json!({"phase": phase}))), web, "{phase}");
        }
        assert_eq!(target_of_unfinished(&operation(&Value::Null)), web);
        for phase in ["Succeeded", "Failed", "Cancelled"] {
            assert_eq!(target_of_unfinished(&operation(&json!({"phase": phase}))), [], "{phase}");
        }
    }

    #[test]
    fn only_what_waits_for_velero_is_told_of_its_storage_locations() {
        let table = [
            ("velero", Value::Null, true),
            ("velero", json!({"phase": "Pending"}), true),
            ("velero", json!({"phase": "Running"}), false),
            ("velero", json!({"phase": "Succeeded"}), false),
            ("job", Value::Null, false),
        ];
        for (engine, status, expected) in table {
            let mut operation = operation(&status);
            operation.data["spec"]["engine"] = json!(engine);
            assert_eq!(waiting_for_velero(&operation) == [velero_key()], expected, "{engine} {status}");
        }
    }

    #[test]
    fn only_what_waits_for_its_account_is_told_of_it() {
        let table = [
            ("job", Value::Null, true),
            ("job", json!({"phase": "Pending"}), true),
            ("job", json!({"phase": "Running"}), false),
            ("velero", Value::Null, false),
        ];
        for (engine, status, expected) in table {
            let mut operation = operation(&status);
            operation.data["spec"]["engine"] = json!(engine);
            let found = waiting_for_runner(&operation);
            assert_eq!(found == [runner_key("shop")], expected, "{engine} {status}");
        }
    }

    #[test]
    fn a_pod_is_found_by_the_operation_that_it_works_for() {
        let pod = |labels: Value| -> DynamicObject {
            let meta = json!({"name": "a", "namespace": "shop", "labels": labels});
            serde_json::from_value(json!({ "metadata": meta })).unwrap()
        };
        let found = operation_of(&pod(json!({OPERATION_LABEL: "u"})));
        assert_eq!(found, [ObjectKey::namespaced("shop", "u")]);
        assert_eq!(operation_of(&pod(json!({}))), []);
    }
}
