//! Which operation wants the instance to be left alone while it brings back what was lost.

use kube::ResourceExt;
use operator_kit::{Caches, Found, ObjectKey, Watched};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Accepted, Blocked, Operation, OperationType};

/// An operation that wants the instance to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restoring {
    pub(crate) name: String,
    pub(crate) uid: String,
}

pub(super) fn of(
    app: &ApplicationInstance,
    caches: &Caches,
    operations: Watched<Operation>,
) -> Option<Restoring> {
    let own = ObjectKey::of_meta(&app.metadata);
    let paused_for = app.status.as_ref().and_then(|status| status.paused_for.clone());
    let known = caches.keys_named(operations, &own).len();
    among(&caches.named(operations, &own), known, paused_for)
}

/// Of the operations that are `known`, some may not be readable.
fn among(found: &Found<Operation>, known: usize, paused_for: Option<String>) -> Option<Restoring> {
    let is_all = matches!(found, Found::Objects(readable) if readable.len() == known);
    // What cannot be read ends no pause.
    let as_before = paused_for.filter(|_| !is_all);
    let as_before = as_before.map(|uid| Restoring { name: "that cannot be read".to_owned(), uid });
    next(found.objects()).or(as_before)
}

/// Of several the one that runs, or else the one that will be next.
fn next(operations: &[Operation]) -> Option<Restoring> {
    let next = operations.iter().filter(|operation| is_at_work(operation)).min_by_key(|operation| {
        let created = operation.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (!has_begun(operation), created, operation.uid())
    })?;
    Some(Restoring { name: next.name_any(), uid: next.uid()? })
}

/// Whether it has begun, or nothing but the instance is in its way.
fn is_at_work(operation: &Operation) -> bool {
    let Some(status) = operation.status.as_ref() else { return false };
    let is_open = status.phase.is_some_and(|phase| !phase.is_final());
    let is_accepted = status.conditions.read() == Some(Accepted::AdmissionPassed);
    let is_free = matches!(status.conditions.read(), Some(Blocked::NotBlocked | Blocked::Unblocked));
    operation.spec.type_ == OperationType::Restore
        && is_open
        && (has_begun(operation) || is_accepted && is_free)
}

fn has_begun(operation: &Operation) -> bool {
    operation.status.as_ref().is_some_and(|status| status.engine_ref.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use conditions::{ConditionSet, Moment};
    use serde_json::{Value, json};
    use vworkspace_api::operation::OperationStatus;

    fn operation(name: &str, type_: &str, status: &Value) -> Operation {
        serde_json::from_value(json!({
            "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2026-11-16T12:00:00Z"},
            "spec": {"type": type_, "engine": "velero", "targetRef": {
                "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"}},
            "status": status}))
        .unwrap()
    }

    /// One that says this.
    fn saying(name: &str, accepted: Accepted, blocked: Blocked) -> Operation {
        let at = Moment { generation: 1, now: "2026-11-16T12:00:00Z".parse().unwrap() };
        let mut conditions = ConditionSet::<Operation>::new();
        conditions.set(accepted, "", at);
        conditions.set(blocked, "", at);
        let status = OperationStatus { conditions, ..OperationStatus::default() };
        let mut operation = operation(name, "Restore", &json!({"phase": "Pending"}));
        operation.status = Some(OperationStatus { phase: operation.status.unwrap().phase, ..status });
        operation
    }

    fn begun(name: &str, phase: &str) -> Value {
        json!({"phase": phase, "engineRef": {"kind": "Restore", "name": name}})
    }

    #[test]
    fn one_that_has_begun_or_is_about_to_wants_the_instance() {
        let free = || saying("free", Accepted::AdmissionPassed, Blocked::NotBlocked);
        let table = [
            ("nothing is in its way", vec![free()], Some("free")),
            ("blocked", vec![saying("a", Accepted::AdmissionPassed, Blocked::AwaitingApproval)], None),
            ("not accepted", vec![saying("a", Accepted::ValidationFailed, Blocked::NotBlocked)], None),
            ("not looked at", vec![operation("a", "Restore", &Value::Null)], None),
            (
                "begun, whatever is said since",
                vec![operation("a", "Restore", &begun("a", "Running"))],
                Some("a"),
            ),
            (
                "the one that has begun first",
                vec![free(), operation("z", "Restore", &begun("z", "Running"))],
                Some("z"),
            ),
            ("ended", vec![operation("a", "Restore", &begun("a", "Failed"))], None),
            ("no restore", vec![operation("a", "Backup", &begun("a", "Running"))], None),
        ];
        for (name, operations, expected) in table {
            let known = operations.len();
            let found = among(&Found::Objects(operations), known, Some("earlier".to_owned()));
            assert_eq!(found.map(|restoring| restoring.uid).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_read_ends_no_pause_and_begins_none() {
        let unlisted = Found::Unlisted("forbidden".to_owned());
        for (name, found, known) in
            [("unlisted", unlisted, 0), ("one cannot be read", Found::Objects(Vec::new()), 1)]
        {
            let paused = among(&found, known, Some("earlier".to_owned()));
            assert_eq!(paused.map(|restoring| restoring.uid).as_deref(), Some("earlier"), "{name}");
            assert_eq!(among(&found, known, None), None, "{name}");
        }
    }
}
