//! What is in a namespace when a run has ended, without what differs from run to run: names that were drawn, numbers that
//! were counted, times.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::super::application::instance::KIND;
use super::super::{Ground, text_at};
use super::history::{CLASSIC, HELM_CHART, RELEASE, REPOSITORY};
use crate::cluster::Kinds;

/// Each object by kind and name, with what of it matters.
pub(in super::super) type EndState = BTreeMap<String, Value>;

/// Kinds that come and go by themselves: what they are about is looked at instead.
const PASSING: [&str; 6] =
    ["events", "leases", "endpoints", "endpointslices", "replicasets", "controllerrevisions"];
/// Lists that are asked for at once.
const AT_ONCE: usize = 8;

/// The kinds of which a namespace can have objects.
pub(in super::super) async fn kinds(ground: &Ground) -> Result<Vec<ApiResource>> {
    let kinds = Kinds::of(&ground.cluster.client).await?.namespaced();
    // The group of metrics is served by nobody here, and a look at it is no object.
    Ok(kinds.into_iter().filter(|kind| !PASSING.contains(&kind.plural.as_str())).collect())
}

/// Everything that there is.
pub(in super::super) async fn of(ground: &Ground, kinds: &[ApiResource]) -> Result<EndState> {
    let list = async |kind: &ApiResource| {
        let api: Api<DynamicObject> =
            Api::namespaced_with(ground.cluster.client.clone(), &ground.namespace, kind);
        let objects = api.list(&ListParams::default()).await;
        let objects = objects.with_context(|| format!("failed to list {}", kind.plural))?;
        anyhow::Ok((kind.kind.clone(), objects.items))
    };
    let lists = futures::stream::iter(kinds).map(list).buffer_unordered(AT_ONCE);
    let lists: Vec<(String, Vec<DynamicObject>)> = lists.try_collect().await?;
    let instances = lists.iter().filter(|(kind, _)| kind == KIND).flat_map(|(_, objects)| objects);
    // Children name their instance by its uid: any other is a difference.
    let mut drawn: Vec<(String, &str)> =
        instances.filter_map(|instance| Some((instance.uid()?, "INSTANCE"))).collect();
    drawn.push((ground.namespace.clone(), "NAMESPACE"));
    let mut state = EndState::new();
    for (kind, objects) in lists {
        for object in objects {
            add(&mut state, &kind, object, &drawn);
        }
    }
    Ok(state)
}

/// `drawn` is what has another value in each run, and what stands for it.
fn add(state: &mut EndState, kind: &str, object: DynamicObject, drawn: &[(String, &str)]) {
    let plain = |text: String| drawn.iter().fold(text, |text, (value, name)| text.replace(value, name));
    // Pods have names that were drawn: how many there are is what counts.
    if kind == "Pod" {
        let count = state.entry("Pods".to_owned()).or_insert_with(|| json!(0));
        *count = json!(count.as_i64().unwrap_or_default() + 1);
        return;
    }
    let key = plain(format!("{kind} {}", object.name_any()));
    let Ok(object) = serde_json::to_value(object) else { return };
    let told = plain(told(kind, &object).to_string());
    state.insert(key, serde_json::from_str(&told).unwrap_or_default());
}

/// What of an object must be the same after every run.
fn told(kind: &str, object: &Value) -> Value {
    let at = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owners: Vec<String> = owners
        .into_iter()
        .flatten()
        .map(|owner| format!("{} {}", text_at(owner, "/kind"), text_at(owner, "/name")))
        .collect();
    let mut told = json!({"owners": owners, "labels": at("/metadata/labels"),
        "finalizers": at("/metadata/finalizers"), "isGoing": !at("/metadata/deletionTimestamp").is_null()});
    let more = match kind {
        KIND => json!({"spec": without_claim(at("/spec")),
            "generation": at("/metadata/generation"), "status": status(&at("/status"))}),
        RELEASE => json!({"spec": at("/spec"), "generation": at("/metadata/generation"),
            "history": history(object)}),
        REPOSITORY => json!({"spec": at("/spec"), "generation": at("/metadata/generation"),
            "revision": at("/status/artifact/revision")}),
        CLASSIC => json!({"spec": at("/spec"), "generation": at("/metadata/generation")}),
        HELM_CHART => json!({"spec": at("/spec"), "revision": at("/status/artifact/revision")}),
        "ConfigMap" => json!({"data": at("/data")}),
        "Deployment" => json!({"spec": at("/spec")}),
        // Helm keeps its releases in them, with the time of each as a label.
        "Secret" => json!({"labels": text_at(object, "/metadata/labels/status")}),
        _ => json!({}),
    };
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    told
}

/// A claim has the time at which it was given.
fn without_claim(mut spec: Value) -> Value {
    if let Some(approvals) = spec.get_mut("approvals").and_then(Value::as_object_mut) {
        approvals.remove("claim");
    }
    spec
}

fn status(status: &Value) -> Value {
    let conditions = status.get("conditions").and_then(Value::as_array);
    let conditions: Vec<String> = conditions.into_iter().flatten().map(condition).collect();
    let at = |pointer: &str| status.pointer(pointer).cloned().unwrap_or_default();
    json!({"conditions": conditions, "observedGeneration": at("/observedGeneration"),
        "revision": at("/lastSuccessfulRelease/revision"),
        "chartVersion": at("/lastSuccessfulRelease/chartVersion"), "endpoints": at("/endpoints")})
}

/// Whether something was in the way on the way here is no part of where it ended.
fn condition(known: &Value) -> String {
    let reason = match text_at(known, "/reason") {
        "Unblocked" => "NotBlocked",
        "Recovered" => "NotDegraded",
        reason => reason,
    };
    format!(
        "{}={}/{reason} of generation {}",
        text_at(known, "/type"),
        text_at(known, "/status"),
        known.get("observedGeneration").unwrap_or(&Value::Null)
    )
}

/// Helm's revisions: one too many is an upgrade that nobody asked for.
fn history(release: &Value) -> Vec<String> {
    let history = release.pointer("/status/history").and_then(Value::as_array);
    let entry = |entry: &Value| {
        let revision = entry.get("version").and_then(Value::as_i64).unwrap_or_default();
        let (version, status) = (text_at(entry, "/chartVersion"), text_at(entry, "/status"));
        format!("{revision}: {version} {status} {}", text_at(entry, "/configDigest"))
    };
    history.into_iter().flatten().map(entry).collect()
}

/// Leaves out what tells how often something was done until it was right: only what runs counts.
pub(in super::super) fn without_the_way(mut state: EndState) -> EndState {
    state.retain(|key, _| !key.starts_with("Secret "));
    for (key, value) in &mut state {
        let Some(told) = value.as_object_mut() else { continue };
        if key.starts_with(RELEASE) {
            told.remove("generation");
            let newest = told.get("history").and_then(|history| history.get(0)).and_then(Value::as_str);
            let running =
                newest.and_then(|newest| newest.split_once(": ")).map(|(_, running)| json!(running));
            told.insert("history".to_owned(), running.unwrap_or_default());
        }
        if let Some(status) = told.get_mut("status").and_then(Value::as_object_mut) {
            status.remove("revision");
        }
    }
    state
}

/// How two states differ, one line each.
pub(in super::super) fn differences(expected: &EndState, found: &EndState) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, wanted) in expected {
        match found.get(key) {
            None => lines.push(format!("{key} is missing")),
            Some(value) => within(wanted, value, key, &mut lines),
        }
    }
    let more = found.keys().filter(|key| !expected.contains_key(*key));
    lines.extend(more.map(|key| format!("{key} should not be there")));
    lines
}

fn within(wanted: &Value, found: &Value, path: &str, lines: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let keys: std::collections::BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
            for key in keys {
                let at =
                    |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                within(&at(wanted), &at(found), &format!("{path}.{key}"), lines);
            }
        }
        (wanted, found) if wanted != found => lines.push(format!("{path} is {found}, expected {wanted}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(entries: &[(&str, Value)]) -> EndState {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn what_is_missing_too_much_or_other_is_told() {
        let expected = state(&[("A a", json!({"x": {"y": 1}})), ("B b", json!({}))]);
        let found = state(&[("A a", json!({"x": {"y": 2}})), ("C c", json!({}))]);
        assert_eq!(
            differences(&expected, &found),
            ["A a.x.y is 2, expected 1", "B b is missing", "C c should not be there"]
        );
        assert!(differences(&expected, &expected).is_empty());
    }

    #[test]
    fn where_there_are_several_ways_only_what_runs_counts() {
        let release = |history: &[&str]| {
            state(&[("HelmRelease web", json!({"generation": history.len(), "history": history}))])
        };
        let end = |history: &[&str]| without_the_way(release(history));
        assert_eq!(end(&["3: 1.1 deployed a", "2: 1.1 superseded b"]), end(&["2: 1.1 deployed a"]));
        assert_ne!(end(&["3: 1.1 deployed a"]), end(&["3: 1.1 failed a"]));
        assert_ne!(end(&["3: 1.1 deployed a"]), end(&["3: 1.1 deployed b"]));
    }

    #[test]
    fn a_child_of_another_instance_is_told_and_one_of_this_is_not() {
        let state_of = |owner: &str| {
            let mut state = EndState::new();
            let child = json!({"apiVersion": "a/v1", "kind": RELEASE,
                "metadata": {"name": "web", "labels": {"owner": owner}}});
            let child = serde_json::from_value(child).expect("an object");
            add(&mut state, RELEASE, child, &[(owner.replace("stranger", "uid-9"), "INSTANCE")]);
            state
        };
        assert_eq!(state_of("uid-1"), state_of("uid-2"));
        assert_ne!(state_of("uid-1"), state_of("stranger"));
    }

    #[test]
    fn when_a_change_was_approved_does_not_count_and_that_it_must_be_does() {
        let instance = |claim: &str, required: bool| {
            told(KIND, &json!({"spec": {"approvals": {"required": required, "claim": claim}}}))
        };
        assert_eq!(instance("a", true), instance("b", true));
        assert_ne!(instance("a", true), instance("a", false));
    }

    #[test]
    fn times_numbers_and_drawn_names_do_not_count_and_revisions_do() {
        let release = |uid: &str, revision: i64| {
            json!({"metadata": {"uid": uid, "resourceVersion": uid, "annotations": {"hash": uid}},
                "status": {"history": [{"version": revision, "status": "deployed", "lastDeployed": uid}]}})
        };
        assert_eq!(told(RELEASE, &release("1", 2)), told(RELEASE, &release("2", 2)));
        assert_ne!(told(RELEASE, &release("1", 2)), told(RELEASE, &release("1", 3)));
    }
}
