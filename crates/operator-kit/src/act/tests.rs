use super::children::VERSION_OF_NOTHING;
use super::requests::{Apply, Seen};
use super::*;
use crate::plan::{Child, Deletion, Dependents, Finalizer, ReconcileRequest};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::{Pod, Secret};
use serde_json::json;

fn error(object: &str, fault: Fault) -> Error {
    Error::Refused { verb: "apply", object: object.to_owned(), fault, message: String::new() }
}

#[test]
fn a_status_is_written_only_by_a_plan_that_knew_how_its_children_would_fare() {
    let away = || error("HelmRelease shop/web", Fault::Unreachable);
    let forbidden = error("HelmRelease shop/web", Fault::Forbidden);
    let faster = error("HelmRelease shop/web", Fault::Conflict);
    let deposed = Error::Deposed { verb: "apply", object: "HelmRelease shop/web".to_owned() };
    let known: Vec<Refusal> = away().refusal(Deed::Make).into_iter().collect();
    let table = [
        ("nothing was refused", &[][..], None, Knows::Well),
        ("refused as before", &known, Some(away()), Knows::Well),
        ("refused for the first time", &[], Some(away()), Knows::Better),
        ("refused otherwise than before", &known, Some(forbidden), Knows::Better),
        ("done at last", &known, None, Knows::Better),
        ("somebody else wrote first", &[], Some(faster), Knows::Nothing),
        ("somebody else leads", &[], Some(deposed), Knows::Nothing),
    ];
    for (name, known, refused, expected) in table {
        let refusal = refused.as_ref().and_then(|refused| refused.refusal(Deed::Make));
        assert_eq!(knows(known, refused.as_ref(), refusal.as_ref()), expected, "{name}");
    }
}

#[test]
fn only_that_somebody_was_faster_is_no_error() {
    let faults =
        [(Fault::Conflict, true), (Fault::Gone, true), (Fault::Forbidden, false), (Fault::Other, false)];
    for (fault, expected) in faults {
        assert_eq!(error("HelmRelease shop/web", fault).is_stale(), expected, "{fault:?}");
    }
    assert!(!Error::StillThere { object: "HelmRelease shop/web".to_owned() }.is_stale());
}

fn object() -> DynamicObject {
    serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "web", "namespace": "shop", "uid": "ours", "resourceVersion": "1"}}))
    .unwrap()
}

fn plan() -> Plan<serde_json::Value> {
    let child = Child::new::<Pod>(&ObjectKey::namespaced("shop", "web")).spec(json!({"a": 1}));
    Plan { children: vec![child], ..Plan::only_status(Finalizer::Hold, json!({"said": true})) }
}

/// What becomes of a plan for a new object at an API server that answers so to a PATCH.
async fn outcome(
    term: Term,
    known: &[Refusal],
    patch: (StatusCode, serde_json::Value),
) -> (Outcome, Vec<String>) {
    let (client, asked) = testing::answering(move |method| match *method {
        Method::PATCH => patch.clone(),
        _ => testing::status(404),
    });
    let actor = Actor { term, ..testing::actor(client) };
    let requests = actor.requests(&object(), &plan(), &testing::seeing::<Pod>(&[None])).unwrap();
    let outcome = actor.carry_out(&object(), &requests, known, "r1").await;
    let asked = asked.lock().unwrap();
    (outcome, asked.iter().map(|(method, (address, _))| format!("{method} {address}")).collect())
}

#[tokio::test]
async fn a_finalizer_that_is_refused_is_a_refusal_and_nothing_is_made() {
    let (outcome, asked) = outcome(Term::endless(), &[], testing::status(403)).await;
    assert_eq!(asked.len(), 1, "{asked:?}");
    let refusal = outcome.refusal.expect("a refusal");
    assert_eq!((refusal.cause, outcome.is_news), (Cause::Forbidden, true));
    assert!(refusal.message.contains("finalizers of ConfigMap shop/web"), "{}", refusal.message);
    // The next plan knows of it: its status may say so.
    let (again, asked) = self::outcome(Term::endless(), &[refusal], testing::status(403)).await;
    assert!(!again.is_news && asked.iter().any(|asked| asked.contains("/status")), "{asked:?}");
}

#[tokio::test]
async fn a_process_that_may_have_lost_its_lease_writes_nothing() {
    let written = || (StatusCode::OK, json!({"metadata": {"name": "web", "resourceVersion": "2"}}));
    let (lost, asked) = outcome(Term::ended(), &[], written()).await;
    assert_eq!((asked, lost.writes), (Vec::<String>::new(), 0));
    assert!(lost.errors.iter().all(Error::is_stale) && lost.refusal.is_none(), "{:?}", lost.errors);
    let (held, asked) = outcome(Term::endless(), &[], written()).await;
    assert_eq!((held.writes, asked.len()), (3, 3), "finalizer, child, status: {asked:?}");
    let awaited: Vec<String> = held.expectations.iter().map(|known| known.id.to_string()).collect();
    assert!(awaited.contains(&"Pod shop/web".to_owned()), "{awaited:?}");
    assert!(awaited.contains(&"ConfigMap shop/web".to_owned()), "{awaited:?}");
}

/// What is asked of an API server on which the object is gone, or not, when its status is written.
async fn asked_after(listed: serde_json::Value) -> Vec<Method> {
    let count = std::sync::Arc::new(std::sync::Mutex::new(0_usize));
    let (client, asked) = testing::answering(move |method| {
        let mut count = count.lock().unwrap();
        let made =
            json!({"metadata": {"name": "web", "namespace": "shop", "uid": "child", "resourceVersion": "2"}});
        match *method {
            Method::PATCH => {
                *count += 1;
                if *count < 3 { (StatusCode::OK, made) } else { testing::status(404) }
            }
            Method::GET => (StatusCode::OK, listed.clone()),
            _ => (StatusCode::OK, made),
        }
    });
    let actor = testing::actor(client);
    let requests = actor.requests(&object(), &plan(), &testing::seeing::<Pod>(&[None])).unwrap();
    actor.carry_out(&object(), &requests, &[], "r1").await;
    let asked = asked.lock().unwrap();
    asked.iter().map(|(method, _)| method.clone()).collect()
}

#[tokio::test]
async fn a_child_that_was_made_for_an_object_that_is_gone_is_deleted() {
    let list = |items: serde_json::Value| json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": items});
    // Finalizer, child, status, look for the object.
    let before = [Method::PATCH, Method::PATCH, Method::PATCH, Method::GET];
    let own = json!([{"metadata": {"name": "web", "namespace": "shop", "uid": "ours"}}]);
    assert_eq!(asked_after(list(own)).await, before, "it is still there");
    let namesake = json!([{"metadata": {"name": "web", "namespace": "shop", "uid": "another"}}]);
    for gone in [json!([]), namesake] {
        assert_eq!(asked_after(list(gone)).await, [&before[..], &[Method::DELETE]].concat());
    }
}

#[tokio::test]
async fn a_namespace_that_is_not_there_is_a_refusal_unless_it_is_the_objects_own() {
    let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
        "reason": "NotFound", "details": {"name": "x", "kind": "namespaces"}, "message": "namespaces \"x\" not found"});
    let table = [("typo", Some(Cause::NoNamespace)), ("shop", None)];
    for (namespace, expected) in table {
        let missing = (StatusCode::NOT_FOUND, missing.clone());
        let client = testing::serving(move |request, _| match (&request.method, request.uri.path()) {
            (&Method::PATCH, path) if path.contains("/pods/") => (missing.0, missing.1.to_string()),
            (&Method::PATCH, _) => {
                (StatusCode::OK, json!({"metadata": {"name": "web", "resourceVersion": "2"}}).to_string())
            }
            _ => absent(),
        });
        let child = Child::new::<Pod>(&ObjectKey::namespaced(namespace, "web"));
        let plan: Plan<_> = Plan { children: vec![child], ..Plan::only_status(Finalizer::Hold, json!({})) };
        let actor = testing::actor(client);
        let requests = actor.requests(&object(), &plan, &testing::seeing::<Pod>(&[None])).unwrap();
        let outcome = actor.carry_out(&object(), &requests, &[], "r1").await;
        assert_eq!(outcome.refusal.map(|refusal| refusal.cause), expected, "{namespace}");
        assert_eq!(outcome.errors.iter().all(Error::is_stale), expected.is_none(), "{namespace}");
    }
}

#[tokio::test]
async fn a_child_where_the_operator_does_not_watch_is_refused_and_not_sent() {
    let (client, asked) = testing::answering(|_| testing::status(403));
    let actor = testing::actor(client);
    let elsewhere = Child::new::<Pod>(&ObjectKey::namespaced("elsewhere", "web"));
    for plan in [
        Plan { children: vec![elsewhere.clone()], ..Plan::only_status(Finalizer::Release, json!({})) },
        Plan { creations: vec![elsewhere], ..Plan::only_status(Finalizer::Release, json!({})) },
    ] {
        let requests = actor.requests(&object(), &plan, &testing::seeing::<Pod>(&[Some("shop")])).unwrap();
        let outcome = actor.carry_out(&object(), &requests, &[], "r1").await;
        assert_eq!(outcome.refusal.map(|refusal| refusal.cause), Some(Cause::NoNamespace));
    }
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn a_plan_that_only_a_mistake_can_make_is_not_carried_out() {
    let key = |name: &str| ObjectKey::namespaced("shop", name);
    let empty = || Plan::only_status(Finalizer::Hold, json!({}));
    let pod = |version: Option<&str>| Pod {
        metadata: ObjectMeta {
            name: Some("web".to_owned()),
            namespace: Some("shop".to_owned()),
            resource_version: version.map(str::to_owned),
            ..ObjectMeta::default()
        },
        ..Pod::default()
    };
    let patch = |version, fields: serde_json::Value| {
        crate::plan::Patch::of(&pod(version), fields.as_object().cloned().unwrap_or_default())
    };
    let reconcile_request = |name: &str| ReconcileRequest::new::<Secret>(key(name), [].into());
    let table: [(&str, Plan<serde_json::Value>, Option<&str>); 8] = [
        ("fine", Plan { children: vec![Child::new::<Pod>(&key("web"))], ..empty() }, None),
        (
            "undeclared",
            Plan { children: vec![Child::new::<Secret>(&key("web"))], ..empty() },
            Some("declared"),
        ),
        (
            "undeclared too",
            Plan { reconcile_requests: vec![reconcile_request("a")], ..empty() },
            Some("declared"),
        ),
        (
            "another place",
            Plan { creations: vec![Child::new::<Pod>(&key("a/b"))], ..empty() },
            Some("address"),
        ),
        ("a query", Plan { children: vec![Child::new::<Pod>(&key("a?b"))], ..empty() }, Some("address")),
        ("locked", Plan { patches: vec![patch(Some("7"), json!({}))], ..empty() }, None),
        ("unlocked", Plan { patches: vec![patch(None, json!({}))], ..empty() }, Some("version")),
        (
            "no lock fits",
            Plan { patches: vec![patch(Some("7"), json!({"metadata": 1}))], ..empty() },
            Some("version"),
        ),
    ];
    for (name, plan, expected) in table {
        let told =
            requests::check(&plan, &testing::seeing::<Pod>(&[None])).err().map(|error| error.to_string());
        match expected {
            None => assert_eq!(told, None, "{name}"),
            Some(part) => assert!(told.as_ref().is_some_and(|told| told.contains(part)), "{name}: {told:?}"),
        }
    }
}

#[tokio::test]
async fn a_creation_that_met_a_conflict_and_is_not_there_is_tried_again() {
    let list = listed("ours").to_string();
    let client = testing::serving(move |request, _| match request.method {
        Method::POST => (StatusCode::CONFLICT, testing::status(409).1.to_string()),
        _ if is_list(request) => (StatusCode::OK, list.clone()),
        _ => absent(),
    });
    let desired = Box::new(DynamicObject::new("web", &pod().resource));
    let create = Request::Create { id: pod(), desired };
    let outcome = testing::actor(client).carry_out(&object(), &[create], &[], "r1").await;
    assert!(outcome.errors.len() == 1 && outcome.errors.iter().all(Error::is_stale), "{:?}", outcome.errors);
}

/// What becomes of a child that is to be created where one of this owner already is, and which methods were used.
async fn created_beside(owner: &str) -> (Outcome, Vec<Method>) {
    let meta = json!({"name": "web", "namespace": "shop", "uid": "child", "resourceVersion": "9",
        "labels": {"example.org/owner": owner}});
    let (client, asked) = testing::answering(move |method| match *method {
        Method::POST => testing::status(409),
        _ => {
            let kind =
                json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": meta});
            (StatusCode::OK, kind)
        }
    });
    let actor = testing::actor(client);
    let Plan { children, .. } = plan();
    let plan: Plan<_> =
        Plan { creations: children, ..Plan::only_status(Finalizer::Hold, json!({"said": true})) };
    let requests = actor.requests(&object(), &plan, &testing::seeing::<Pod>(&[None])).unwrap();
    let outcome = actor.carry_out(&object(), &requests, &[], "r1").await;
    let asked = asked.lock().unwrap();
    (outcome, asked.iter().map(|(method, _)| method.clone()).collect())
}

#[tokio::test]
async fn what_is_there_already_was_created_if_it_is_ours() {
    // Finalizer, the child, whose it is, status.
    let (ours, asked) = created_beside("ours").await;
    assert_eq!(asked, [Method::PATCH, Method::POST, Method::GET, Method::PATCH]);
    let wrote =
        ours.expectations.iter().find(|known| known.id.resource.kind == "Pod").map(|known| &known.wrote);
    assert_eq!(wrote, Some(&Wrote::Version("9".to_owned())), "{:?}", ours.errors);
    let (theirs, _) = created_beside("theirs").await;
    assert!(matches!(theirs.errors.as_slice(), [Error::Foreign { .. }]), "{:?}", theirs.errors);
}

#[tokio::test]
async fn an_event_is_about_the_very_object() {
    let (client, _) = testing::answering(|_| testing::status(404));
    let (actor, object) = (testing::actor(client), object());
    let about = Task::new(&actor, &object, "").reference();
    let told =
        [about.api_version, about.kind, about.namespace, about.name, about.uid, about.resource_version];
    assert_eq!(told.map(Option::unwrap_or_default), ["v1", "ConfigMap", "shop", "web", "ours", "1"]);
}

#[tokio::test]
async fn an_object_that_nobody_can_read_can_be_written() {
    let deep = crate::cache::incoming::tests::deep("web", "9");
    let (client, _) = testing::answering_text(move |_| (StatusCode::OK, deep.clone()));
    let outcome = testing::actor(client).tell(&object(), &[Request::Status(json!({"said": true}))]).await;
    let wrote: Vec<&Wrote> = outcome.expectations.iter().map(|known| &known.wrote).collect();
    assert_eq!(wrote, [&Wrote::Version("9".to_owned())], "{:?}", outcome.errors);
}

fn pod() -> ObjectId {
    ObjectId { resource: crate::object::resource_of::<Pod>(), key: ObjectKey::namespaced("shop", "web") }
}

#[tokio::test]
async fn a_controller_is_asked_to_look_again_by_marks_that_are_locked() {
    let (client, asked) = testing::answering(|_| {
        (StatusCode::OK, json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "8"}}))
    });
    let annotate = Request::Annotate {
        id: pod(),
        annotations: [("look".to_owned(), "again".to_owned())].into(),
        version: Some("7".to_owned()),
    };
    // What is written of another object before says nothing of this one.
    let requests = [Request::Finalizers(Vec::new()), annotate];
    let outcome = testing::actor(client).carry_out(&object(), &requests, &[], "r1").await;
    assert!(outcome.errors.is_empty() && outcome.writes == 2, "{:?}", outcome.errors);
    let asked = asked.lock().unwrap();
    let (method, (_, sent)) = asked.last().expect("a request");
    let expected = json!({"metadata": {"annotations": {"look": "again"}, "resourceVersion": "7"}});
    assert_eq!((method, sent), (&Method::PATCH, &expected));
}

#[tokio::test]
async fn a_child_is_deleted_only_as_it_was_seen_and_one_that_is_gone_is_what_was_wanted() {
    for (code, is_wanted) in [(404, true), (403, false)] {
        let (client, asked) = testing::answering(move |_| testing::status(code));
        let ObjectId { resource, key } = pod();
        let (uid, version) = ("child".to_owned(), Some("7".to_owned()));
        let deletion = Deletion { resource, key, uid, version, dependents: Dependents::GoToo };
        let outcome =
            testing::actor(client).carry_out(&object(), &[Request::Delete(deletion)], &[], "r1").await;
        assert_eq!(outcome.errors.is_empty(), is_wanted, "{code}: {:?}", outcome.errors);
        let asked = asked.lock().unwrap();
        let (method, (_, sent)) = asked.first().expect("a request");
        let locked = json!({"uid": "child", "resourceVersion": "7"});
        assert_eq!((method, sent.get("preconditions")), (&Method::DELETE, Some(&locked)));
    }
}

fn is_list(request: &http::request::Parts) -> bool {
    request.uri.query().is_some_and(|query| query.contains("fieldSelector"))
}

fn listed(uid: &str) -> serde_json::Value {
    json!({"metadata": {}, "items": [{"metadata": {"name": "web", "namespace": "shop", "uid": uid}}]})
}

fn absent() -> (StatusCode, String) {
    let (code, body) = testing::status(404);
    (code, body.to_string())
}

#[tokio::test]
async fn nothing_is_made_for_an_object_that_is_gone_whatever_the_caches_show() {
    let table = [
        ("there", listed("ours"), true),
        ("gone", json!({"metadata": {}, "items": []}), false),
        ("another", listed("theirs"), false),
    ];
    for (name, own, is_made) in table {
        for is_applied in [true, false] {
            let own = own.to_string();
            let (client, asked) = testing::answering_text(move |request| match request.method {
                Method::GET if is_list(request) => (StatusCode::OK, own.clone()),
                Method::GET => absent(),
                _ => (StatusCode::OK, json!({"metadata": {"name": "web", "uid": "child"}}).to_string()),
            });
            let (id, desired) = (pod(), DynamicObject::new("web", &pod().resource));
            let request = if is_applied {
                Request::Apply(Box::new(Apply { id, desired, hash: String::new(), seen: None, place: None }))
            } else {
                Request::Create { id, desired: Box::new(desired) }
            };
            let outcome = testing::actor(client).carry_out(&object(), &[request], &[], "r1").await;
            assert_eq!(outcome.writes, u64::from(is_made), "{name}: {:?}", asked.lock().unwrap());
            assert_eq!(outcome.errors.is_empty(), is_made, "{name}");
            assert!(outcome.errors.iter().all(Error::is_stale) && outcome.refusal.is_none(), "{name}");
        }
    }
}

#[tokio::test]
async fn what_another_process_of_ours_has_made_meanwhile_is_not_taken_by_force() {
    let with_ourselves = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409,
        "reason": "Conflict", "details": {"name": "web", "causes": [{"reason": "FieldManagerConflict",
            "field": ".spec.a", "message": "conflict with \"test-1f-2\" using v1"}]}});
    for (is_seen, expected) in [(false, &[false, false][..]), (true, &[false, true])] {
        let refusal = with_ourselves.to_string();
        let (client, asked) = testing::answering_text(move |request| match request.method {
            Method::PATCH => (StatusCode::CONFLICT, refusal.clone()),
            _ if is_list(request) => (StatusCode::OK, listed("ours").to_string()),
            _ => absent(),
        });
        let seen = Seen { version: "7".to_owned(), uid: Some("child".to_owned()), creation: None };
        let desired = DynamicObject::new("web", &pod().resource);
        let apply =
            Apply { id: pod(), desired, hash: String::new(), seen: is_seen.then_some(seen), place: None };
        testing::actor(client).carry_out(&object(), &[Request::Apply(Box::new(apply))], &[], "r1").await;
        let asked = asked.lock().unwrap();
        let patches = asked.iter().filter(|(method, _)| *method == Method::PATCH);
        let forced: Vec<bool> = patches.map(|(_, (address, _))| address.contains("force=true")).collect();
        assert_eq!(forced, expected, "seen before: {is_seen}");
    }
}

#[tokio::test]
async fn a_child_is_made_with_one_request_and_a_namesake_is_looked_at() {
    let refusal =
        Refusal { object: String::new(), deed: Deed::Make, cause: Cause::Forbidden, message: String::new() };
    let (patch, get) = (Method::PATCH, Method::GET);
    let table = [
        ("there is none", StatusCode::OK, vec![], vec![&patch]),
        ("the version is not that of the namesake", StatusCode::CONFLICT, vec![], vec![&patch, &get]),
        ("the kind takes no version", StatusCode::UNPROCESSABLE_ENTITY, vec![], vec![&patch, &get]),
        ("we lack the rights", StatusCode::FORBIDDEN, vec![], vec![&patch]),
        ("it was refused before", StatusCode::CONFLICT, vec![refusal], vec![&get]),
    ];
    for (name, code, known, expected) in table {
        let (client, asked) = testing::answering_text(move |request| match request.method {
            Method::PATCH if code == StatusCode::OK => (
                code,
                json!({"metadata": {"name": "web", "uid": "child", "resourceVersion": "2"}}).to_string(),
            ),
            Method::PATCH => (code, testing::status(code.as_u16()).1.to_string()),
            _ if is_list(request) => (StatusCode::OK, listed("ours").to_string()),
            // A namesake that is nobody's.
            _ => (
                StatusCode::OK,
                json!({"metadata": {"name": "web", "uid": "x", "resourceVersion": "7"}}).to_string(),
            ),
        });
        let desired = DynamicObject::new("web", &pod().resource);
        let apply = Apply { id: pod(), desired, hash: String::new(), seen: None, place: None };
        let actor = testing::actor(client);
        let outcome = actor.carry_out(&object(), &[Request::Apply(Box::new(apply))], &known, "r1").await;
        let asked = asked.lock().unwrap();
        let of_child = asked.iter().filter(|(_, (address, _))| address.contains("/pods/"));
        assert_eq!(of_child.clone().map(|(method, _)| method).collect::<Vec<_>>(), expected, "{name}");
        let version = |body: &serde_json::Value| body.pointer("/metadata/resourceVersion").cloned();
        let mut versions = of_child.filter_map(|(_, (_, body))| version(body));
        assert!(versions.all(|version| version == VERSION_OF_NOTHING), "{name}");
        let is_foreign = outcome.errors.iter().any(|error| matches!(error, Error::Foreign { .. }));
        assert_eq!(is_foreign, expected.contains(&&get), "{name}: {:?}", outcome.errors);
    }
}

#[tokio::test]
async fn a_field_of_the_status_that_an_apply_leaves_is_removed() {
    let (client, asked) = testing::answering(|_| {
        (
            StatusCode::OK,
            json!({"metadata": {"name": "web", "resourceVersion": "8"}, "status": {"a": 1, "theirs": 2}}),
        )
    });
    let said =
        json!({"a": 1, "conditions": [{"type": "Blocked", "status": "True", "reason": "X", "message": ""}]});
    let outcome = testing::actor(client).tell(&object(), &[Request::Status(said)]).await;
    // The status, its Event, and the removal.
    assert!(outcome.errors.is_empty() && outcome.writes == 3, "{:?}", outcome.errors);
    let asked = asked.lock().unwrap();
    let (_, (address, removal)) = asked.last().expect("a request");
    assert!(address.contains("/configmaps/web/status"), "{address}");
    assert_eq!(*removal, json!({"metadata": {"resourceVersion": "8"}, "status": {"theirs": null}}));
}

#[tokio::test]
async fn events_are_counted_as_writes_and_one_that_says_the_same_again_is_counted_up() {
    let (client, asked) = testing::answering(|_| {
        (StatusCode::OK, json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "8"}}))
    });
    let actor = testing::actor(client);
    let blocked =
        json!({"conditions": [{"type": "Blocked", "status": "True", "reason": "X", "message": ""}]});
    for _ in 0..2 {
        let outcome = actor.tell(&object(), &[Request::Status(blocked.clone())]).await;
        assert_eq!(outcome.writes, 2, "the status and an Event");
    }
    let asked = asked.lock().unwrap();
    let (_, (_, first)) = asked.iter().find(|(method, _)| *method == Method::POST).expect("an Event");
    let told = ["/regarding/name", "/action", "/note", "/reason"].map(|field| first.pointer(field));
    assert_eq!(told, [&json!("web"), &json!("Blocked"), &json!("Blocked=True"), &json!("X")].map(Some));
    let (method, (_, sent)) = asked.last().expect("a request");
    assert_eq!((method, sent.pointer("/series/count")), (&Method::PATCH, Some(&json!(2))));
}
