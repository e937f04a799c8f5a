use std::sync::Mutex;

use http::StatusCode;
use http::request::Parts;
use serde_json::{Value, json};

use super::*;
use crate::act::testing::serving;
use crate::cache::incoming::tests::deep;
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
            let version = object.head.metadata.resource_version.as_deref().unwrap_or_default();
            changed.lock().unwrap().push(format!("{} {version}", ObjectKey::of(&object.head).name));
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

/// A client of an API server that gives these answers, one after the other, and then errors; and what it is asked for.
fn answering(answers: Vec<(u16, String)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, answers) = (Arc::clone(&asked), Arc::new(Mutex::new(answers.into_iter())));
    let client = serving(move |request, _| {
        log.lock().unwrap().push(asked_for(request));
        let (code, answer) = answers.lock().unwrap().next().unwrap_or((500, "{}".to_owned()));
        (StatusCode::from_u16(code).unwrap(), answer)
    });
    (client, asked)
}

/// What a request asks for: of which part, for a list or a watch, and how much of each object.
fn asked_for(request: &Parts) -> String {
    let address = &request.uri;
    let mut query: Vec<&str> =
        address.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()).collect();
    let usual: &[&str] = if query.contains(&"watch=true") {
        &["timeoutSeconds=290", "allowWatchBookmarks=true"]
    } else {
        &["limit=100"]
    };
    for usual in usual {
        let place =
            query.iter().position(|part| part == usual).unwrap_or_else(|| panic!("{usual} in {address}"));
        query.remove(place);
    }
    let path = address.path().trim_start_matches("/api/v1/");
    let accept = request.headers.get("accept").and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let depth = if accept.contains("as=PartialObjectMetadata") { " metadata" } else { "" };
    format!("{path} {}{depth}", query.join("&")).trim().to_owned()
}

/// Follows what an API server answers until it has no answer left: what was asked for, and the end.
async fn followed(watch: &KindWatch, answers: Vec<(u16, String)>) -> (Vec<String>, Failed) {
    let (client, asked) = answering(answers);
    let failed = watch.follow(&client, &mut Trouble::default()).await;
    let asked = asked.lock().unwrap().clone();
    (asked, failed)
}

fn ok(answer: &Value) -> (u16, String) {
    (200, answer.to_string())
}

fn names(watch: &KindWatch) -> Vec<String> {
    watch.cache.keys().into_iter().map(|key| key.name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_ended_and_a_list_from_the_past_ends_it() {
    let (watch, told) = watch(Selection::all());
    let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "9"}});
    let trouble = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "out of breath", "code": 500});
    let (asked, failed) = followed(
        &watch,
        vec![
            ok(&list("5", "more", &[object("a", "4")])),
            ok(&list("5", "", &[object("b", "3")])),
            ok(&event("MODIFIED", &object("a", "6"))),
            ok(&event("DELETED", &object("b", "7"))),
            ok(&event("BOOKMARK", &bookmark)),
            ok(&event("ERROR", &trouble)),
            ok(&event("ERROR", &expired())),
            ok(&list("9", "", &[object("a", "6"), object("c", "8")])),
            // Said in another way.
            (410, expired().to_string()),
            // From before the first of them was there.
            ok(&list("2", "", &[])),
        ],
    )
    .await;
    let expected = [
        "configmaps",
        "configmaps continue=more",
        "configmaps watch=true&resourceVersion=5",
        "configmaps watch=true&resourceVersion=6",
        "configmaps watch=true&resourceVersion=7",
        "configmaps watch=true&resourceVersion=9",
        "configmaps watch=true&resourceVersion=9",
        "configmaps",
        "configmaps watch=true&resourceVersion=9",
        "configmaps",
    ];
    assert_eq!(asked, expected);
    assert_eq!(*told.lock().unwrap(), ["appeared", "a 6", "b 7", "c 8"]);
    assert_eq!(failed.message, "the list is of version 2, and version 9 was seen: does the API server lag?");
    assert_eq!(names(&watch), ["a", "c"], "nothing of it was taken");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_or_has_no_version_is_no_list() {
    let forbidden = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": "Forbidden", "message": "no", "code": 403});
    for (answer, message) in [
        ((403, forbidden.to_string()), "no"),
        (
            ok(&list("", "", &[object("a", "4")])),
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
    let table = [
        (Selection::labels("app=web"), None, "configmaps", "labelSelector=app%3Dweb", ""),
        (
            Selection::named("web").metadata_only(),
            Some("shop".to_owned()),
            "namespaces/shop/configmaps",
            "fieldSelector=metadata.name%3Dweb",
            " metadata",
        ),
    ];
    for (selection, part, path, query, depth) in table {
        let mut watch = watch(selection).0;
        watch.part = part;
        let (asked, _) = followed(&watch, vec![ok(&list("5", "", &[]))]).await;
        assert_eq!(asked[0], format!("{path} {query}{depth}"));
        assert_eq!(asked[1], format!("{path} watch=true&{query}&resourceVersion=5{depth}"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_nobody_can_read_hides_no_other() {
    let (watch, told) = watch(Selection::all());
    let listed = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMapList","metadata":{{"resourceVersion":"5"}},"items":[{},{}]}}"#,
        deep("a", "4"),
        object("b", "3")
    );
    let changed = deep("c", "6").replace('\n', "");
    let events =
        format!("{{\"type\":\"ADDED\",\"object\":{changed}}}\n{}", event("ADDED", &object("d", "7")));
    let (asked, _) = followed(&watch, vec![(200, listed), (200, events)]).await;
    assert_eq!(asked[2], "configmaps watch=true&resourceVersion=7");
    assert_eq!(names(&watch), ["a", "b", "c", "d"]);
    assert_eq!(*told.lock().unwrap(), ["appeared", "c 6", "d 7"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_tried_from_where_it_was_and_now_and_then_a_list_is() {
    let (watch, _) = watch(Selection::all());
    let busy =
        || (429, json!({"kind": "Status", "status": "Failure", "message": "later", "code": 429}).to_string());
    let refused = std::iter::repeat_with(busy).take(8);
    let answers = [ok(&list("5", "", &[]))].into_iter().chain(refused).collect();
    let began = Instant::now();
    let (asked, _) = followed(&watch, answers).await;
    let lists: Vec<usize> = (0..asked.len()).filter(|number| !asked[*number].contains("watch")).collect();
    assert_eq!(lists, [0, 8], "{asked:?}");
    assert!(began.elapsed() > Duration::from_secs(5), "not without a pause: {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_list_from_the_past_is_taken_when_it_stays() {
    let (watch, told) = watch(Selection::all());
    let (cache, past) = (Arc::clone(&watch.cache), || ok(&list("2", "", &[object("b", "1")])));
    let answers = [ok(&list("9", "", &[object("a", "4")])), (410, expired().to_string())];
    let answers: Vec<_> = answers.into_iter().chain(std::iter::repeat_with(past).take(7)).collect();
    let (client, asked) = answering(answers);
    // It runs for ever.
    let _ = timeout(Duration::from_secs(120), watch.run(client)).await;
    assert_eq!(cache.keys().into_iter().map(|key| key.name).collect::<Vec<_>>(), ["b"]);
    assert_eq!(asked.lock().unwrap()[9], "configmaps watch=true&resourceVersion=2");
    assert_eq!(told.lock().unwrap()[..4], ["appeared", "b 1", "a 4", "appeared"]);
}
