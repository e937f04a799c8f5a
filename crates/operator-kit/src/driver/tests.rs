use super::*;
use crate::act::Refusal;
use crate::object::ObjectId;

#[test]
fn a_nap_is_never_shorter_than_a_second() {
    let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    let at = |text: &str| nap(now, text.parse().unwrap());
    assert_eq!(at("2026-01-01T12:05:00Z"), Duration::from_secs(300));
    assert_eq!(at("2026-01-01T12:00:00Z"), SHORTEST_NAP);
    assert_eq!(at("2026-01-01T11:00:00Z"), SHORTEST_NAP);
}

#[test]
fn a_pause_is_for_what_the_user_wants_not_for_what_we_say_of_it() {
    let object = |meta: serde_json::Value| -> DynamicObject {
        serde_json::from_value(serde_json::json!({"apiVersion": "v1", "kind": "X", "metadata": meta}))
            .unwrap()
    };
    let first = Asked::of(&object(serde_json::json!({"name": "a", "generation": 1, "resourceVersion": "1"})));
    let table = [
        ("our own status", serde_json::json!({"generation": 1, "resourceVersion": "2"}), true),
        ("another spec", serde_json::json!({"generation": 2}), false),
        ("an annotation", serde_json::json!({"generation": 1, "annotations": {"a": "b"}}), false),
        (
            "deletion",
            serde_json::json!({"generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"}),
            false,
        ),
    ];
    for (name, meta, same) in table {
        assert_eq!(Asked::of(&object(meta)) == first, same, "{name}");
    }
}

#[test]
fn a_pause_is_for_what_failed_and_not_for_something_else() {
    let object = DynamicObject::new("a", &pods());
    let finalizers = |name: &str| Request::Finalizers(vec![name.to_owned()]);
    let status = || Request::Status(serde_json::json!({}));
    let pause = |until| Pause { until, from: Asked::of(&object), deed: finalizers("x").deed() };
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(60));
    let table = [
        ("the same again", later, vec![finalizers("x"), status()], true),
        ("something else of the same object", later, vec![finalizers("y")], false),
        ("only what is said is left", later, vec![status()], false),
        ("nothing is left", later, vec![], false),
        ("the pause is over", now, vec![finalizers("x")], false),
    ];
    for (name, until, requests, expected) in table {
        assert_eq!(pause(until).holds(&object, &requests).is_some(), expected, "{name}");
    }
    let child = ObjectId { resource: pods(), key: ObjectKey::namespaced("shop", "web") };
    let let_go = |gone: Vec<ObjectId>| Request::LetGo { gone, finalizers: Vec::new() };
    assert_ne!(let_go(vec![child]).deed(), let_go(vec![]).deed(), "to let go without asking is another deed");
}

#[test]
fn nothing_is_kept_of_an_object_at_rest() {
    let whose = || Memory { uid: Some("1".to_owned()), ..Memory::default() };
    let from = Asked::of(&DynamicObject::new("a", &pods()));
    let pause = Pause { until: Instant::now(), from, deed: String::new() };
    let refusal = Refusal {
        object: String::new(),
        deed: crate::act::Deed::Make,
        cause: crate::act::Cause::Forbidden,
        message: String::new(),
    };
    let expectation = Expectation {
        id: ObjectId { resource: pods(), key: ObjectKey::namespaced("shop", "a") },
        wrote: crate::freshness::Wrote::Version("7".to_owned()),
        at: Instant::now(),
    };
    let now = Instant::now();
    let (_, ahead) = takeover::wait(now, now, None, Some(7), Some(6));
    let table = [
        ("at rest", whose(), false),
        ("its own write is on its way", Memory { expectations: vec![expectation], ..whose() }, true),
        ("something was refused", Memory { refusals: vec![refusal], ..whose() }, true),
        ("it failed before", Memory { failures: 1, ..whose() }, true),
        ("it is left alone for a while", Memory { pause: Some(pause), ..whose() }, true),
        ("it was ahead of its children", Memory { ahead, ..whose() }, true),
        ("it was told of", Memory { undecodable: Some("7".to_owned()), ..whose() }, true),
    ];
    for (name, memory, is_kept) in table {
        let mut desk = Desk::default();
        desk.remember(&ObjectKey::namespaced("shop", "web"), memory);
        assert_eq!(desk.memories.len(), usize::from(is_kept), "{name}");
    }
}

fn pods() -> kube::core::ApiResource {
    crate::object::resource_of::<k8s_openapi::api::core::v1::Pod>()
}

#[test]
fn a_version_that_cannot_be_read_is_told_once() {
    let error = serde_json::from_str::<u8>("x").unwrap_err();
    let mut memory = Memory::default();
    note_unreadable("7", &error, &mut memory);
    assert_eq!(memory.undecodable.as_deref(), Some("7"));
}

#[test]
fn an_object_that_ends_without_our_finalizer_is_nobody_of_ours_any_more() {
    let table = [
        ("it lives", serde_json::json!({}), false),
        ("it lives, and is held", serde_json::json!({"finalizers": ["ours"]}), false),
        (
            "it ends, and we hold it",
            serde_json::json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["theirs", "ours"]}),
            false,
        ),
        (
            "it ends, and others hold it",
            serde_json::json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}),
            true,
        ),
        ("it ends", serde_json::json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), true),
    ];
    for (name, meta, expected) in table {
        let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        assert_eq!(is_let_go(&object, Some("ours")), expected, "{name}");
        let ends = object.metadata.deletion_timestamp.is_some();
        assert_eq!(is_let_go(&object, None), ends, "{name}, and we never hold any");
    }
}
