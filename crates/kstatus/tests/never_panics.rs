//! Whatever the object: an answer or a refusal, never a panic, and an answer that keeps its promises.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use kstatus::{Options, Profile, Status, compute};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[path = "../fuzz/bodies/compute.rs"]
mod fuzz_body;

/// Words that rules look for, so that random objects reach deep into them.
const KEYS: [&str; 34] = [
    "metadata",
    "spec",
    "status",
    "generation",
    "observedGeneration",
    "deletionTimestamp",
    "creationTimestamp",
    "conditions",
    "type",
    "reason",
    "message",
    "lastTransitionTime",
    "phase",
    "state",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberReady",
    "containerStatuses",
    "waiting",
    "name",
    "updateStrategy",
    "rollingUpdate",
    "partition",
    "loadBalancer",
    "paused",
    "suspend",
];
const WORDS: [&str; 22] = [
    "True",
    "False",
    "Unknown",
    "Ready",
    "Reconciling",
    "Stalled",
    "Available",
    "Progressing",
    "Complete",
    "Failed",
    "Suspended",
    "Established",
    "NamesAccepted",
    "PodScheduled",
    "Unschedulable",
    "Running",
    "Pending",
    "CrashLoopBackOff",
    "OnDelete",
    "LoadBalancer",
    "2026-01-01T00:00:00Z",
    "é,\u{2028}",
];
const KINDS: [(&str, &str); 16] = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ConfigMap"),
    ("v1", "ReplicationController"),
    ("v1", "PersistentVolume"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("shop.example.org/v1", "Basket"),
    ("a/b/c", "x/y"),
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
            }),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(&KINDS[..]);
    (kind, value(), value(), value()).prop_map(|((version, kind), metadata, spec, status)| {
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    })
}

fn check(value: &Value) {
    for profile in [Profile::Compatible, Profile::Strict] {
        let options = Options { profile, now: "2026-01-01T00:00:00Z".parse().unwrap() };
        match compute(value, &options) {
            Ok(outcome) => {
                let stalls = matches!(outcome.status, Status::InProgress | Status::Failed);
                assert_eq!(outcome.condition.is_some(), stalls);
                assert!(!matches!(outcome.status, Status::Unknown | Status::NotFound));
                assert_eq!(compute(value, &options).as_ref(), Ok(&outcome));
            }
            Err(refusal) => assert!(!refusal.to_string().is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_arbitrary_json(value in value()) {
        check(&value);
        fuzz_body::run(value.to_string().as_bytes());
    }

    #[test]
    fn on_arbitrary_objects_of_known_kinds(object in object()) {
        check(&object);
    }
}
