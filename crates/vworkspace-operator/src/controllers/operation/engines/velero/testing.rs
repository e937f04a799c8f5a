//! What tests of this engine begin with.

use operator_kit::{Found, ObjectKey, Sight};
use serde_json::{Value, json};
use vworkspace_api::operation::{BackupParameters, Operation, RestoreParameters};

use super::{BackupWork, Locations, Origin, RestoreWork};
use crate::external::velero::{Backup, BackupStorageLocation, DeleteBackupRequest, Restore};
use jiff::Timestamp;

/// When everything here was made.
pub(super) const MADE: &str = "2026-11-15T06:00:00Z";
pub(super) const UID: &str = "12345678-aaaa-bbbb-cccc-1234567890ab";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// So many seconds after everything was made.
pub(super) fn after(seconds: i64) -> Timestamp {
    Timestamp::from_second(at(MADE).as_second() + seconds).unwrap()
}

/// An operation `nightly` in namespace `shop`, with more of a spec.
pub(super) fn operation(spec: &Value) -> Operation {
    named("nightly", spec)
}

pub(super) fn named(name: &str, spec: &Value) -> Operation {
    let mut whole = json!({"targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"}, "type": "Backup", "engine": "velero"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({"apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation", "spec": whole,
        "metadata": {"name": name, "namespace": "shop", "uid": UID, "generation": 1, "creationTimestamp": MADE}}))
    .unwrap()
}

fn meta() -> Value {
    json!({"name": "nightly", "namespace": "velero", "uid": "b", "resourceVersion": "7", "creationTimestamp": MADE})
}

pub(super) fn backup(status: &Value) -> Backup {
    let spec = json!({"storageLocation": "default", "includedNamespaces": ["shop"]});
    serde_json::from_value(json!({"metadata": meta(), "spec": spec, "status": status})).unwrap()
}

pub(super) fn restore(status: &Value) -> Restore {
    serde_json::from_value(json!({"metadata": meta(), "status": status})).unwrap()
}

pub(super) fn removal(status: &Value) -> DeleteBackupRequest {
    serde_json::from_value(
        json!({"metadata": {"name": "nightly-12345678", "namespace": "velero"}, "status": status}),
    )
    .unwrap()
}

pub(super) fn location(name: &str, spec: &Value, status: &Value) -> BackupStorageLocation {
    let meta = json!({"name": name, "namespace": "velero"});
    serde_json::from_value(json!({"metadata": meta, "spec": spec, "status": status})).unwrap()
}

pub(super) fn locations(found: Vec<BackupStorageLocation>) -> Locations {
    Locations { namespace: "velero".to_owned(), found: Found::Objects(found) }
}

pub(super) fn available() -> Locations {
    let status = json!({"phase": "Available", "lastValidationTime": MADE});
    locations(vec![location("default", &json!({}), &status)])
}

pub(super) fn key() -> ObjectKey {
    ObjectKey::namespaced("velero", "nightly")
}

/// A backup that has not been made.
pub(super) fn backup_work() -> BackupWork {
    BackupWork {
        parameters: BackupParameters::default(),
        key: key(),
        backup: Sight::Absent,
        locations: available(),
        removal: Sight::Absent,
        volumes: Found::Objects(Vec::new()),
    }
}

/// A restore that has not been made, of a backup of its own namespace.
pub(super) fn restore_work() -> RestoreWork {
    RestoreWork {
        parameters: RestoreParameters { backup_name: "before".to_owned(), ..RestoreParameters::default() },
        key: key(),
        restore: Sight::Absent,
        locations: available(),
        backup: Some(Sight::Present(backup(&json!({"phase": "Completed"})))),
        origin: Origin::NotYet,
        lacks_pause: None,
    }
}
