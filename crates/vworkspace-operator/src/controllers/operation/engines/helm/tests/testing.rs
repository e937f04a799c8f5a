//! What tests of this engine begin with.

use jiff::Timestamp;
use operator_kit::Sight;
use serde_json::{Value, json};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Operation, Request};

use super::super::Upgrade;
use crate::controllers::operation::engines::{Ending, Engine, State};

pub(super) const UID: &str = "12345678-aaaa-bbbb-cccc-1234567890ab";
pub(super) const STARTED: &str = "2026-11-16T12:00:05Z";
/// When what the instance says became so.
pub(super) const SETTLED: &str = "2026-11-16T12:00:30Z";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn operation(parameters: &Value) -> Operation {
    serde_json::from_value(json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": "next", "namespace": "shop", "uid": UID, "generation": 1, "creationTimestamp": "2026-11-16T12:00:00Z"},
        "spec": {"targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": "Upgrade", "engine": "helm", "parameters": parameters}}))
    .unwrap()
}

/// What an operation remembers that brings `web` from 1.0.0 to 2.0.0.
pub(super) fn known_outputs() -> Value {
    json!({"fromVersion": "1.0.0", "fromRevision": 1, "toVersion": "2.0.0", "generation": 2})
}

/// The same operation after its change was seen.
pub(super) fn recorded(mut operation: Operation) -> Operation {
    let status = json!({"phase": "Running", "startedAt": STARTED, "outputs": known_outputs(), "engineRef": {
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web", "namespace": "shop",
        "uid": "web-uid"}});
    operation.status = Some(serde_json::from_value(status).unwrap());
    operation
}

pub(super) fn of(operation: &Operation, instance: Sight<ApplicationInstance>) -> Upgrade {
    let Ok(Request::Upgrade(parameters)) = operation.spec.request() else { panic!("no upgrade") };
    Upgrade::of(operation, parameters, instance)
}

pub(super) fn upgrade(operation: &Operation, instance: &ApplicationInstance) -> Upgrade {
    of(operation, Sight::Present(instance.clone()))
}

/// An upgrade to a version whose change was seen.
pub(super) fn begun(version: &str, instance: &ApplicationInstance) -> Upgrade {
    upgrade(&recorded(operation(&json!({ "targetVersion": version }))), instance)
}

pub(super) fn ended(upgrade: &Upgrade) -> Ending {
    match upgrade.state() {
        State::Ended(ending) => ending,
        state => panic!("{state:?}"),
    }
}

/// As the API server does it.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return into.clone_from(patch) };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        let into = into.as_object_mut().unwrap();
        if value.is_null() {
            into.remove(name);
        } else {
            merge(into.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

pub(super) type Words = (&'static str, &'static str, &'static str);

fn conditions(said: &[Words], generation: i64) -> Value {
    said.iter()
        .map(|(type_, words, message)| {
            let (status, reason) = words.split_once('/').unwrap();
            json!({"type": type_, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": SETTLED, "observedGeneration": generation})
        })
        .collect()
}

/// `web` runs version 1.0.0 as revision 1, with this merged into it.
pub(super) fn instance(more: &Value) -> ApplicationInstance {
    let said = [("Ready", "True/HelmReleaseReady", ""), ("Reconciling", "False/Stable", "")];
    let mut object = json!({
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
        "metadata": {"name": "web", "namespace": "shop", "uid": "web-uid", "resourceVersion": "7", "generation": 1,
            "annotations": {"ops.vworkspace.io/upgrade": "helm"}},
        "spec": {"appRef": {"catalogId": "web"}, "release": {"name": "web", "namespace": "shop"},
            "chart": {"sourceType": "oci", "url": "oci://here", "name": "web", "version": "1.0.0"},
            "values": {"source": "inline", "inline": {"greeting": "hi", "image": {"repository": "web", "tag": "a",
                "pull": {"policy": "Never", "secret": "s"}}}}},
        "status": {"observedGeneration": 1, "conditions": conditions(&said, 1),
            "lastSuccessfulRelease": {"chartVersion": "1.0.0", "revision": 1, "time": STARTED}}});
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

/// `web` after the change of generation 2: what it says of `observed`, and what was released last.
pub(super) fn changed(
    version: &str,
    observed: i64,
    said: &[Words],
    released: &str,
    revision: i64,
) -> ApplicationInstance {
    let before = json!({"version": "1.0.0", "revision": 1}).to_string();
    let annotations =
        json!({"ops.vworkspace.io/upgraded-by": UID, "ops.vworkspace.io/upgraded-from": before});
    instance(&json!({
        "metadata": {"generation": 2, "resourceVersion": "8", "annotations": annotations},
        "spec": {"chart": {"version": version}},
        "status": {"observedGeneration": observed, "conditions": conditions(said, observed),
            "lastSuccessfulRelease": {"chartVersion": released, "revision": revision}}}))
}
