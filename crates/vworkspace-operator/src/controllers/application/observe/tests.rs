use serde_json::{Value, json};

use super::*;
use crate::controllers::application::polls::probe::Destination;

#[test]
fn a_service_is_asked_once_it_has_been_seen_and_leads_to_pods_of_the_namespace() {
    let spec = json!({"name": "web", "tcp": {"service": "web", "port": 80}});
    let spec: ReadinessCheck = serde_json::from_value(spec).unwrap();
    let asking = |service: Seen<Service>| asking(&spec, Check::new("shop", &spec).unwrap(), "shop", &service);
    let service = |spec: Value| {
        let object = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
        Seen::Known(Sight::Present(serde_json::from_value(object).unwrap()))
    };
    assert_eq!(asking(Seen::NotYet), Asking::NotYet);
    let absent = Asking::Refused("Service shop/web does not exist".to_owned());
    assert_eq!(asking(Seen::Known(Sight::Absent)), absent);
    let outside = asking(service(json!({"type": "ExternalName", "externalName": "db.other.svc"})));
    assert!(matches!(&outside, Asking::Refused(why) if why.contains("ExternalName")), "{outside:?}");
    let inside = json!({"clusterIP": "10.96.0.9", "selector": {"app": "web"}, "ports": [{"port": 80}]});
    let to = Destination::ClusterIps(vec!["10.96.0.9".parse().unwrap()]);
    assert!(matches!(asking(service(inside)), Asking::Poll(asked) if asked.to == to));
}

#[test]
fn a_release_that_names_another_uid_is_of_an_earlier_instance_of_the_name() {
    let meta = |value: serde_json::Value| serde_json::from_value::<ObjectMeta>(value).unwrap();
    let app = meta(serde_json::json!({"name": "web", "uid": "ours"}));
    let release = |instance: &str, owner: &str| {
        meta(serde_json::json!({"labels": {INSTANCE_LABEL: instance, OWNER_LABEL: owner}}))
    };
    let table = [
        (release("web", "before"), Some("before")),
        (release("web", "ours"), None),
        (release("shop", "before"), None),
        (ObjectMeta::default(), None),
    ];
    for (release, expected) in table {
        assert_eq!(earlier_owner(&app, &release).as_deref(), expected, "{release:?}");
    }
}

#[test]
fn a_service_of_the_release_is_known_by_namespace_and_name() {
    let service = |namespace: &str, name: &str| -> Service {
        serde_json::from_value(json!({"metadata": {"namespace": namespace, "name": name}})).unwrap()
    };
    let services = [service("other", "web"), service("shop", "db"), service("shop", "web")];
    assert_eq!(named(&services, "shop", "web"), Some(&services[2]));
    assert_eq!(named(&services, "other", "db"), None);
}

#[test]
fn a_secret_is_there_absent_or_not_looked_for_yet() {
    let found = |names: &[&'static str]| Found::Objects(names.to_vec());
    assert_eq!(presence(&found(&["v"])), Presence::Present);
    assert_eq!(presence(&found(&[])), Presence::Absent);
    assert_eq!(presence(&Found::<()>::NotYet), Presence::NotYet);
}

#[test]
fn an_instance_that_is_ready_lacks_nothing() {
    let other = |status: Value| -> ApplicationInstance {
        serde_json::from_value(json!({"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
            "metadata": {"name": "db", "generation": 2}, "spec": {"appRef": {"catalogId": "db"}}, "status": status}))
        .unwrap()
    };
    let ready = |status: &str| {
        json!({"observedGeneration": 2, "conditions": [{"type": "Ready", "status": status,
        "reason": "HelmReleaseReady", "message": "", "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    };
    assert_eq!(not_ready(&other(ready("True"))), None);
    for status in [ready("False"), json!({}), json!({"observedGeneration": 1})] {
        let lacks = not_ready(&other(status.clone()));
        assert!(lacks.is_some_and(|lacks| !lacks.is_empty()), "{status}");
    }
}

#[test]
fn a_version_is_known_of_what_is_there() {
    let object = |meta: Value| -> Arc<DynamicObject> {
        Arc::new(serde_json::from_value(json!({"metadata": meta})).unwrap())
    };
    let whole = object(json!({"uid": "u", "resourceVersion": "7"}));
    let known = Version { uid: "u".to_owned(), resource_version: "7".to_owned() };
    assert_eq!(version(&Found::Objects(vec![whole])), Some(known));
    assert_eq!(version(&Found::Objects(vec![object(json!({"uid": "u"}))])), None);
    assert_eq!((version(&Found::Objects(vec![])), version(&Found::NotYet)), (None, None));
}

#[test]
fn only_a_policy_that_is_known_to_be_absent_forbids_nothing() {
    let table = [
        (Sight::Absent, true),
        (Sight::Present(ConfigMap::default()), true),
        (Sight::NotInstalled, false),
        (Sight::Unknown("forbidden".to_owned()), false),
        (Sight::Unreadable("data is no map".to_owned()), false),
    ];
    for (sight, forbids_nothing) in table {
        let policy = catalog_policy(sight.clone());
        assert_eq!(policy.problem().is_none(), forbids_nothing, "{sight:?}");
        assert_eq!(policy.allows("oci://anywhere.example/x"), forbids_nothing, "{sight:?}");
    }
}

#[test]
fn only_the_instances_own_namespace_counts_and_only_once_it_is_seen_to_end() {
    let app: ObjectMeta =
        serde_json::from_value(json!({"creationTimestamp": "2026-01-01T12:00:00Z"})).unwrap();
    let namespace = |ends: Option<&str>| -> Arc<DynamicObject> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "shop", "deletionTimestamp": ends}});
        Arc::new(serde_json::from_value(namespace).unwrap())
    };
    let table = [
        ("it ends", Found::Objects(vec![namespace(Some("2026-01-01T12:00:01Z"))]), true),
        ("at once", Found::Objects(vec![namespace(Some("2026-01-01T12:00:00Z"))]), true),
        ("a former one ended", Found::Objects(vec![namespace(Some("2026-01-01T11:59:59Z"))]), false),
        ("it lives", Found::Objects(vec![namespace(None)]), false),
        ("none is shown, as by a list from the past", Found::Objects(vec![]), false),
        ("not looked at yet", Found::NotYet, false),
        ("nobody may look", Found::Unlisted("forbidden".to_owned()), false),
    ];
    for (name, found, expected) in table {
        assert_eq!(is_ending(&app, &found), expected, "{name}");
    }
}
