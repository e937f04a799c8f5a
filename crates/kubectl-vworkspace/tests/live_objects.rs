//! Live objects, as far as no cluster is needed: what arguments mean, and what is known after which events.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use kstatus::{Options, Profile, Status};
use kube::runtime::watcher::Event;
use kubectl_vworkspace::status::live::resource::{Catalogue, Request};
use kubectl_vworkspace::status::live::tracked::{Progress, Tracked};
use kubectl_vworkspace::status::row::Row;
use serde_json::{Value, json};

fn requests(arguments: &[&str]) -> Result<Vec<(String, Option<String>)>, String> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Ok(Request::parse(&arguments)?.into_iter().map(|request| (request.kind, request.name)).collect())
}

#[test]
fn arguments_mean_what_they_mean_to_kubectl() {
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(requests(&["deploy"]), Ok(vec![("deploy".into(), None)]));
    assert_eq!(requests(&["deploy,sts"]), Ok(vec![("deploy".into(), None), ("sts".into(), None)]));
    assert_eq!(
        requests(&["deploy", "a", "b"]),
        Ok(vec![("deploy".into(), some("a")), ("deploy".into(), some("b"))])
    );
    assert_eq!(
        requests(&["deploy/a", "sts/b"]),
        Ok(vec![("deploy".into(), some("a")), ("sts".into(), some("b"))])
    );
    for wrong in [&["deploy/a", "b"][..], &["/a"], &["deploy/"], &["a/b/c"], &["deploy,"]] {
        assert!(requests(wrong).unwrap_err().contains("expected TYPE"), "{wrong:?}");
    }
}

fn catalogue() -> Catalogue {
    let kind = |plural: &str, group: &str, version: &str, kind: &str, scope: &str, short: &[&str]| {
        json!({
            "resource": plural, "scope": scope, "singularResource": kind.to_lowercase(), "verbs": ["get", "list", "watch"],
            "shortNames": short, "categories": if scope == "Namespaced" { vec!["all"] } else { vec![] },
            "responseKind": {"group": group, "version": version, "kind": kind},
        })
    };
    let core = json!({"items": [{"versions": [{"version": "v1", "resources": [
        kind("pods", "", "v1", "Pod", "Namespaced", &["po"]),
        kind("nodes", "", "v1", "Node", "Cluster", &["no"]),
        {"resource": "bindings", "verbs": ["create"], "responseKind": {"kind": "Binding"}},
    ]}]}]});
    let groups = json!({"items": [
        {"metadata": {"name": "apps"}, "versions": [
            {"version": "v1", "resources": [kind("deployments", "apps", "v1", "Deployment", "Namespaced", &["deploy"])]},
            {"version": "v1beta1", "resources": [kind("deployments", "apps", "v1beta1", "Deployment", "Namespaced", &[])]},
        ]},
        {"metadata": {"name": "helm.toolkit.fluxcd.io"}, "versions": [{"version": "v2", "resources": [
            kind("helmreleases", "helm.toolkit.fluxcd.io", "v2", "HelmRelease", "Namespaced", &["hr"]),
            kind("pods", "helm.toolkit.fluxcd.io", "v2", "Pod", "Namespaced", &[]),
        ]}]},
    ]});
    Catalogue::of([core, groups].map(|list| serde_json::from_value(list).unwrap()))
}

#[test]
fn types_go_by_all_their_names() {
    let catalogue = catalogue();
    let find = |name: &str| -> Vec<String> {
        catalogue
            .find(name)
            .unwrap()
            .iter()
            .map(|kind| format!("{} {}", kind.resource.api_version, kind.resource.kind))
            .collect()
    };
    for name in ["deployments", "deployment", "deploy", "Deployment", "deploy.apps", "deployments.v1.apps"] {
        assert_eq!(find(name), ["apps/v1 Deployment"], "{name}");
    }
    assert_eq!(find("deployments.v1beta1.apps"), ["apps/v1beta1 Deployment"]);
    assert_eq!(find("helmreleases.helm.toolkit.fluxcd.io"), ["helm.toolkit.fluxcd.io/v2 HelmRelease"]);
    assert_eq!(find("po"), ["v1 Pod"]);
    assert_eq!(find("pods.v1"), ["v1 Pod"]);
    assert_eq!(find("pods.helm.toolkit.fluxcd.io"), ["helm.toolkit.fluxcd.io/v2 Pod"]);
    let all = [
        "v1 Pod",
        "apps/v1 Deployment",
        "helm.toolkit.fluxcd.io/v2 HelmRelease",
        "helm.toolkit.fluxcd.io/v2 Pod",
    ];
    assert_eq!(find("all"), all);
    assert!(!catalogue.find("no").unwrap()[0].namespaced);
    for name in ["deploys", "bindings", "deployments.v2.apps", "deployments.batch"] {
        let error = catalogue.find(name).unwrap_err();
        assert!(error.contains(&format!("no type called {name:?}")), "{error}");
    }
    assert!(catalogue.find("deploys").unwrap_err().contains("(close: deployments.apps)"));
}

fn options() -> Options {
    Options { profile: Profile::Compatible, now: "2026-01-01T00:00:00Z".parse().unwrap() }
}

fn pod(name: &str, phase: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "status": {"phase": phase}})
}

fn statuses(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {}", row.name, row.status)).collect()
}

fn apply(
    tracked: &mut Tracked,
    target: usize,
    events: impl IntoIterator<Item = Event<Value>>,
) -> Vec<String> {
    let changed =
        events.into_iter().flat_map(|event| tracked.apply(target, event, &options())).collect::<Vec<_>>();
    statuses(&changed)
}

#[test]
fn only_changes_of_the_answer_are_changes() {
    let mut tracked = Tracked::new([None]);
    let first = [Event::Init, Event::InitApply(pod("a", "Pending")), Event::InitApply(pod("b", "Succeeded"))];
    assert_eq!(apply(&mut tracked, 0, first), ["a InProgress", "b Current"]);
    assert!(!tracked.is_synced());
    assert_eq!(apply(&mut tracked, 0, [Event::InitDone]), [""; 0]);
    assert!(tracked.is_synced());
    let mut same = pod("a", "Pending");
    same["metadata"]["resourceVersion"] = json!("2");
    assert_eq!(apply(&mut tracked, 0, [Event::Apply(same)]), [""; 0]);
    assert_eq!(apply(&mut tracked, 0, [Event::Apply(pod("a", "Succeeded"))]), ["a Current"]);
    assert_eq!(apply(&mut tracked, 0, [Event::Delete(pod("b", "Succeeded"))]), ["b NotFound"]);
    assert_eq!(statuses(&tracked.rows()), ["a Current"]);
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let mut tracked = Tracked::new([None]);
    let list = |names: &[&str]| {
        let applied = names.iter().map(|name| Event::InitApply(pod(name, "Succeeded")));
        [Event::Init].into_iter().chain(applied).chain([Event::InitDone]).collect::<Vec<_>>()
    };
    apply(&mut tracked, 0, list(&["a", "b"]));
    assert_eq!(apply(&mut tracked, 0, list(&["b"])), ["a NotFound"]);
    assert_eq!(statuses(&tracked.rows()), ["b Current"]);
}

#[test]
fn a_named_object_that_does_not_exist_is_not_found_and_stays_listed() {
    let missing = Row::not_found("v1".into(), "Pod".into(), "shop".into(), "a".into());
    let mut tracked = Tracked::new([Some(missing)]);
    assert_eq!(apply(&mut tracked, 0, [Event::Init, Event::InitDone]), ["a NotFound"]);
    assert_eq!(apply(&mut tracked, 0, [Event::Apply(pod("a", "Succeeded"))]), ["a Current"]);
    assert_eq!(apply(&mut tracked, 0, [Event::Delete(pod("a", "Succeeded"))]), ["a NotFound"]);
    assert_eq!(statuses(&tracked.rows()), ["a NotFound"]);
}

#[test]
fn time_alone_changes_an_answer() {
    let mut tracked = Tracked::new([None]);
    let mut waiting = pod("a", "Pending");
    waiting["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    waiting["status"]["conditions"] =
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
    assert_eq!(apply(&mut tracked, 0, [Event::Apply(waiting)]), ["a InProgress"]);
    assert!(tracked.reconsider(&options()).is_empty());
    let later = Options { now: "2026-01-01T00:00:15Z".parse().unwrap(), ..options() };
    assert_eq!(statuses(&tracked.reconsider(&later)), ["a Failed"]);
}

#[test]
fn a_wait_is_over_when_nothing_is_pending() {
    let row = |status| Row { status, ..Row::unknown(&pod("a", "")) };
    let over = |rows: &[Status], wanted| {
        let rows: Vec<Row> = rows.iter().map(|status| row(*status)).collect();
        Progress::of(&rows, wanted).is_over(wanted)
    };
    assert!(over(&[Status::Current, Status::Current], Status::Current));
    assert!(over(&[Status::Current, Status::Failed], Status::Current));
    assert!(!over(&[Status::Failed, Status::InProgress], Status::Current));
    assert!(!over(&[Status::NotFound], Status::Current));
    assert!(!over(&[], Status::Current));
    assert!(over(&[], Status::NotFound));
    assert!(over(&[Status::NotFound], Status::NotFound));
    assert!(!over(&[Status::Failed], Status::NotFound));
}
