use std::sync::Mutex;

use http::StatusCode;
use serde_json::{Value, json};

use super::*;
use crate::act::testing::answering;
use crate::object::{ObjectKey, resource_of};

/// A watch of ConfigMaps, and what it calls out.
fn watch(selection: Selection) -> (KindWatch, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (changed, appeared) = (Arc::clone(&told), Arc::clone(&told));
    let watch = KindWatch {
        resource: resource_of::<k8s_openapi::api::core::v1::ConfigMap>(),
        selection,
        part: None,
        cache: Arc::new(KindCache::of_parts([None])),
        importance: Importance::Other,
        changed: Box::new(move |object| {
            let version = object.metadata.resource_version.as_deref().unwrap_or_default();
            changed.lock().unwrap().push(format!("{} {version}", ObjectKey::of(object).name));
        }),
        appeared: Box::new(move || appeared.lock().unwrap().push("appeared".to_owned())),
    };
    (watch, told)
}

fn object(name: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop",
        "resourceVersion": version}})
}

fn list(version: &str, more: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": version, "continue": more},
        "items": items})
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn expired() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "message": "too old resource version", "code": 410})
}

/// Follows what an API server answers, one answer after the other, until it has none left: what was asked for, and the end.
async fn followed(watch: &KindWatch, answers: Vec<(u16, Value)>) -> (Vec<String>, Failed) {
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let (client, asked) = answering(move |_| {
        let (code, answer) = answers.lock().unwrap().next().unwrap_or((500, json!({})));
        (StatusCode::from_u16(code).unwrap(), answer)
    });
    let failed = watch.follow(&client, &mut Trouble::default()).await;
    let asked = asked.lock().unwrap().iter().map(|(_, (address, _))| asked_for(address)).collect();
    (asked, failed)
}

/// What matters of an address.
fn asked_for(address: &str) -> String {
    let query = address.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let matters = |part: &&str| {
        ["watch=", "resourceVersion=", "continue=", "labelSelector="]
            .iter()
            .any(|name| part.starts_with(name))
    };
    query.split('&').filter(matters).collect::<Vec<_>>().join("&")
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_ended_and_a_list_from_the_past_ends_it() {
    let (watch, told) = watch(Selection::all());
    let ok = |answer: Value| (200, answer);
    let (asked, failed) = followed(
        &watch,
        vec![
            ok(list("5", "more", &[object("a", "4")])),
            ok(list("5", "", &[object("b", "3")])),
            ok(event("MODIFIED", &object("a", "6"))),
            ok(event("DELETED", &object("b", "7"))),
            ok(event(
                "BOOKMARK",
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "9"}}),
            )),
            ok(event(
                "ERROR",
                &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "out of breath", "code": 500}),
            )),
            ok(event("ERROR", &expired())),
            ok(list("9", "", &[object("a", "6"), object("c", "8")])),
            // Said in another way.
            (410, expired()),
            // From before the first of them was there.
            ok(list("2", "", &[])),
        ],
    )
    .await;
    let expected = [
        "",
        "continue=more",
        "watch=true&resourceVersion=5",
        "watch=true&resourceVersion=6",
        "watch=true&resourceVersion=7",
        "watch=true&resourceVersion=9",
        "watch=true&resourceVersion=9",
        "",
        "watch=true&resourceVersion=9",
        "",
    ];
    assert_eq!(asked, expected);
    assert_eq!(*told.lock().unwrap(), ["appeared", "a 6", "b 7", "c 8"]);
    assert_eq!(failed.message, "the list is of version 2, and version 9 was seen: does the API server lag?");
    let names: Vec<_> = watch.cache.keys().into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["a", "c"], "nothing of it was taken");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_or_has_no_version_is_no_list() {
    for (answer, message) in [
        (
            (
                403,
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden",
            "message": "no", "code": 403}),
            ),
            "no",
        ),
        (
            (200, list("", "", &[object("a", "4")])),
            "the list has no resourceVersion from which it could be watched",
        ),
    ] {
        let (watch, told) = watch(Selection::all());
        let (_, failed) = followed(&watch, vec![answer]).await;
        assert_eq!(failed.message, message);
        assert_eq!((watch.cache.progress(), told.lock().unwrap().len()), (Progress::Starting, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_selected_is_asked_for_in_both() {
    let (watch, _) = watch(Selection::labels("app=web").metadata_only());
    let (asked, _) = followed(&watch, vec![(200, list("5", "", &[]))]).await;
    assert_eq!(asked, ["labelSelector=app%3Dweb", "watch=true&labelSelector=app%3Dweb&resourceVersion=5"]);
}
