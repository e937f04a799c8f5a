//! What goes over the wire is what Kubernetes and k8s-openapi write and read.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Condition, ConditionSet, Refusal, Status, limits};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as Peer, Time};
use proptest::prelude::*;

mod kitchen;

fn ours() -> Condition {
    Condition {
        last_transition_time: "2026-03-25T21:20:38Z".parse().expect("a time"),
        message: "Secret shop/values has no key \"prod.yaml\"\n<é&…>".to_owned(),
        observed_generation: Some(12),
        reason: "MissingSecret".to_owned(),
        status: Status::True,
        type_: "Blocked".to_owned(),
    }
}

#[test]
fn a_condition_is_the_json_that_kubernetes_documents() {
    let json = r#"{"lastTransitionTime":"2026-03-25T21:20:38Z","message":"m","observedGeneration":12,"reason":"MissingSecret","status":"True","type":"Blocked"}"#;
    let condition = Condition { message: "m".to_owned(), ..ours() };
    assert_eq!(serde_json::to_string(&condition).expect("JSON"), json);
    assert_eq!(serde_json::from_str::<Condition>(json).expect("a condition"), condition);
}

#[test]
fn no_generation_is_no_field() {
    let condition = Condition { observed_generation: None, ..ours() };
    let json = serde_json::to_string(&condition).expect("JSON");
    assert!(!json.contains("observedGeneration"), "{json}");
    assert_eq!(serde_json::from_str::<Condition>(&json).expect("a condition"), condition);
}

#[test]
fn a_fraction_of_a_second_is_dropped_when_written_and_when_read() {
    let written =
        Condition { last_transition_time: "2026-03-25T21:20:38.999Z".parse().expect("a time"), ..ours() };
    assert!(serde_json::to_string(&written).expect("JSON").contains(r#""2026-03-25T21:20:38Z""#));
    let read: Condition = serde_json::from_str(
        r#"{"lastTransitionTime":"2026-03-25T23:20:38.5+02:00","status":"True","type":"Blocked"}"#,
    )
    .expect("a condition");
    assert_eq!(read.last_transition_time, ours().last_transition_time);
    let before_1970 =
        Condition { last_transition_time: "1969-12-31T23:59:58.5Z".parse().expect("a time"), ..ours() };
    assert!(serde_json::to_string(&before_1970).expect("JSON").contains(r#""1969-12-31T23:59:58Z""#));
}

/// Any JSON value that a field may hold, right or wrong.
fn odd_values() -> impl Strategy<Value = Option<serde_json::Value>> {
    let strings =
        ["", "True", "true", "Unknown", "Ready", "2026-03-25T21:20:38Z", "2026-03-25T23:20:38.5+02:00"];
    let string = proptest::sample::select(strings.to_vec()).prop_map(serde_json::Value::from);
    let other =
        [serde_json::Value::Null, true.into(), 7.into(), (-1).into(), 1.5.into(), Vec::<u8>::new().into()];
    proptest::option::weighted(0.8, prop_oneof![3 => string, 1 => proptest::sample::select(other.to_vec())])
}

proptest! {
    #[test]
    fn whatever_k8s_openapi_reads_is_read_alike(
        values in proptest::collection::vec(odd_values(), 6), time in proptest::bool::weighted(0.9),
    ) {
        let names = ["message", "observedGeneration", "reason", "status", "type", "lastTransitionTime"];
        let fields = names.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        let mut json: serde_json::Map<_, _> = fields.collect();
        if time {
            json.insert("lastTransitionTime".to_owned(), "2026-03-25T21:20:38Z".into());
        }
        let text = serde_json::Value::Object(json).to_string();
        let (ours, peer) = (serde_json::from_str::<Condition>(&text), serde_json::from_str::<Peer>(&text));
        prop_assert_eq!(ours.is_ok(), peer.is_ok(), "{}: {:?} {:?}", text, ours, peer);
        if let (Ok(ours), Ok(peer)) = (ours, peer) {
            let read = (&ours.message, ours.observed_generation, &ours.reason, &ours.type_);
            prop_assert_eq!(read, (&peer.message, peer.observed_generation, &peer.reason, &peer.type_));
            let known = ["True", "False"].contains(&peer.status.as_str());
            prop_assert_eq!(ours.status.as_str(), if known { peer.status.as_str() } else { "Unknown" });
        }
    }
}

#[test]
fn one_odd_condition_does_not_hide_the_others() {
    let time = "2026-03-25T21:20:38Z";
    let json = serde_json::json!([
        {"lastTransitionTime": time, "message": null, "reason": null, "status": null, "type": null},
        {"lastTransitionTime": time, "type": "example.com/Fresh"},
        {"lastTransitionTime": time, "status": "maybe", "type": "Blocked"},
        {"lastTransitionTime": time, "status": "True", "type": "Ready", "reason": "Brewed"},
    ]);
    let set: ConditionSet<kitchen::Teapot> = serde_json::from_value(json).expect("a set");
    assert_eq!(set.read::<kitchen::Ready>(), Some(kitchen::Ready::Brewed));
    let status = |type_| set.get(type_).map(|condition| condition.status);
    let unknown = Some(Status::Unknown);
    assert_eq!((status(""), status("example.com/Fresh"), status("Blocked")), (unknown, unknown, unknown));
    let none: ConditionSet<kitchen::Teapot> = serde_json::from_str("null").expect("an empty set");
    assert_eq!(none, ConditionSet::new());
}

#[test]
fn what_the_server_would_refuse_is_named() {
    let refused = |condition: Condition| condition.check().expect_err("refused");
    assert_eq!(ours().check(), Ok(()));
    assert_eq!(refused(Condition { type_: "a b".into(), ..ours() }), Refusal::Type("a b".into()));
    assert_eq!(refused(Condition { reason: String::new(), ..ours() }), Refusal::Reason(String::new()));
    let message = "é".repeat(limits::MAX_MESSAGE + 1);
    assert_eq!(refused(Condition { message, ..ours() }), Refusal::Message(limits::MAX_MESSAGE + 1));
    let negative = refused(Condition { observed_generation: Some(-1), ..ours() });
    assert_eq!(negative.to_string(), "observedGeneration -1 is negative");
    assert_eq!(Condition { message: "é".repeat(limits::MAX_MESSAGE), ..ours() }.check(), Ok(()));
}

#[test]
fn the_schema_has_the_limits_of_metav1_and_is_a_map_by_type() {
    let schema = schemars::schema_for!(ConditionSet<kitchen::Teapot>).to_value();
    assert_eq!(schema["x-kubernetes-list-type"], "map");
    assert_eq!(schema["x-kubernetes-list-map-keys"], serde_json::json!(["type"]));
    let items = &schema["items"];
    assert!(items.get("$ref").is_none(), "a CRD has no references: {items}");
    assert_eq!(
        items["required"],
        serde_json::json!(["lastTransitionTime", "message", "reason", "status", "type"])
    );
    let properties = &items["properties"];
    assert_eq!(properties["lastTransitionTime"]["format"], "date-time");
    assert_eq!(properties["message"]["maxLength"], 32768);
    assert_eq!(properties["observedGeneration"]["format"], "int64");
    assert_eq!(properties["observedGeneration"]["minimum"], 0);
    assert_eq!(properties["reason"]["minLength"], 1);
    assert_eq!(properties["reason"]["maxLength"], 1024);
    assert_eq!(properties["reason"]["pattern"], r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$");
    assert_eq!(properties["status"]["enum"], serde_json::json!(["True", "False", "Unknown"]));
    assert_eq!(properties["type"]["maxLength"], 316);
    let pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    assert_eq!(properties["type"]["pattern"], pattern);
}

fn conditions() -> impl Strategy<Value = Condition> {
    let status = prop_oneof![Just(Status::True), Just(Status::False), Just(Status::Unknown)];
    let nanosecond = -62_135_596_800_000_000_000_i128..253_402_300_799_000_000_000_i128;
    (nanosecond, ".*", proptest::option::of(any::<i64>()), "[A-Za-z]{1,20}", status, "[A-Za-z.]{1,20}")
        .prop_map(|(nanosecond, message, observed_generation, reason, status, type_)| Condition {
            last_transition_time: Timestamp::from_nanosecond(nanosecond).unwrap_or(Timestamp::UNIX_EPOCH),
            message,
            observed_generation,
            reason,
            status,
            type_,
        })
}

proptest! {
    #[test]
    fn our_bytes_are_those_of_k8s_openapi_and_each_reads_the_other(ours in conditions()) {
        let peer = Peer {
            last_transition_time: Time(ours.last_transition_time),
            message: ours.message.clone(),
            observed_generation: ours.observed_generation,
            reason: ours.reason.clone(),
            status: ours.status.to_string(),
            type_: ours.type_.clone(),
        };
        let our_bytes = serde_json::to_string(&ours).expect("JSON");
        prop_assert_eq!(&our_bytes, &serde_json::to_string(&peer).expect("JSON"));
        let read_by_us: Condition = serde_json::from_str(&our_bytes).expect("ours");
        let read_by_peer: Peer = serde_json::from_str(&our_bytes).expect("theirs");
        prop_assert_eq!(Time(read_by_us.last_transition_time), read_by_peer.last_transition_time);
        prop_assert_eq!(serde_json::to_string(&read_by_us).expect("JSON"), our_bytes);
    }
}
