//! An upgrade from its start to its end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Cause, Deed, Finalizer, Plan, Refusal};
use vworkspace_api::operation::Phase;

use super::*;
use crate::controllers::operation::decide::{self, Rules};
use crate::controllers::operation::observe::{AllowedTypes, World};

const READY: Words = ("Ready", "True/HelmReleaseReady", "");
const STABLE: Words = ("Reconciling", "False/Stable", "");
const UPGRADING: Words = ("Reconciling", "True/HelmReleaseUpgrading", "Running 'upgrade' action");

fn world(operation: &Operation, instance: &ApplicationInstance) -> World {
    World {
        engine: Ok(Box::new(upgrade(operation, instance))),
        target: Sight::Present(instance.clone()),
        others: Vec::new(),
        allowed_types: AllowedTypes::All,
        is_namespace_ending: false,
        refusals: Vec::new(),
        cluster: "c".to_owned(),
    }
}

fn planned(operation: &Operation, world: &World, now: &str) -> Plan<OperationStatus> {
    let rules = Rules { approval_keys: Default::default(), claim_secret: None };
    decide::plan(operation, world, &rules, at(now))
}

fn plan(operation: &Operation, instance: &ApplicationInstance, now: &str) -> Plan<OperationStatus> {
    planned(operation, &world(operation, instance), now)
}

fn said(plan: &Plan<OperationStatus>) -> (Option<Phase>, &str, &str) {
    let OperationStatus { phase, reason, message, .. } = &plan.status;
    (*phase, reason.as_deref().unwrap_or_default(), message.as_deref().unwrap_or_default())
}

fn asked(more: &Value) -> Operation {
    let mut operation = operation(&json!({"targetVersion": "2.0.0"}));
    let mut spec = json!(operation.spec);
    merge(&mut spec, more);
    operation.spec = serde_json::from_value(spec).unwrap();
    operation
}

fn with_status(operation: &Operation, status: OperationStatus) -> Operation {
    Operation { status: Some(status), ..operation.clone() }
}

#[test]
fn it_is_written_once_followed_and_ends_with_the_release() {
    let fresh = asked(&json!({}));
    let starts = plan(&fresh, &instance(&json!({})), "2026-11-16T12:00:01Z");
    assert_eq!((starts.patches.len(), starts.creations.len(), starts.finalizer), (1, 0, Finalizer::Hold));
    assert_eq!((starts.status.reason.as_deref(), starts.status.engine_ref), (Some("EngineNotStarted"), None));

    // Also after a crash: the instance says whose change it is.
    let first = plan(&fresh, &changed("2.0.0", 1, &[READY, STABLE], "1.0.0", 1), STARTED);
    assert!(first.patches.is_empty(), "never twice");
    assert_eq!(
        said(&first),
        (
            Some(Phase::Running),
            "EngineStarted",
            "ApplicationInstance web says nothing about generation 2 yet."
        )
    );
    assert_eq!(json!(first.status.outputs), known_outputs());
    assert_eq!(first.status.started_at, Some(Time(at(STARTED))));
    let engine = first.status.engine_ref.clone().unwrap();
    assert_eq!(
        json!(engine),
        json!({"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web",
            "namespace": "shop", "uid": "web-uid"})
    );

    let runs = with_status(&fresh, first.status);
    let later = plan(&runs, &changed("2.0.0", 2, &[UPGRADING], "1.0.0", 1), "2026-11-16T12:00:20Z");
    assert_eq!((later.patches.len(), later.status.started_at), (0, Some(Time(at(STARTED)))));
    assert_eq!(later.requeue_at, None);

    let ends = plan(&runs, &changed("2.0.0", 2, &[READY, STABLE], "2.0.0", 2), "2026-11-16T12:00:40Z");
    let expected = (
        Some(Phase::Succeeded),
        "EngineCompleted",
        "ApplicationInstance web runs version 2.0.0 as revision 2.",
    );
    assert_eq!(said(&ends), expected);
    assert_eq!(ends.status.duration.as_deref(), Some("25s"));
    let mut outputs = known_outputs();
    outputs["toRevision"] = json!(2);
    assert_eq!(json!(ends.status.outputs), outputs);
}

#[test]
fn nothing_is_written_where_it_is_so_already_unless_that_has_not_succeeded() {
    let there = |said: &[Words], released: &str| {
        let mut there = changed("2.0.0", 2, said, released, 4);
        there
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .insert(UPGRADED_BY.to_owned(), "an earlier one".to_owned());
        there
    };
    let runs = plan(&asked(&json!({})), &there(&[READY, STABLE], "2.0.0"), STARTED);
    let message =
        "Nothing to do: ApplicationInstance web runs version 2.0.0 with these values already, as revision 4.";
    assert_eq!(said(&runs), (Some(Phase::Succeeded), "EngineCompleted", message));
    assert!(runs.patches.is_empty() && runs.status.engine_ref.is_none());
    let expected = json!({"fromVersion": "2.0.0", "fromRevision": 4, "toVersion": "2.0.0", "toRevision": 4, "generation": 2});
    assert_eq!(json!(runs.status.outputs), expected);

    let failed =
        [("Ready", "False/HelmReleaseFailed", "late"), STABLE, ("Stalled", "True/HelmReleaseFailed", "late")];
    let anyway = asked(&json!({"policy": {"requireReady": false}}));
    for (name, said, released) in [("failed", &failed[..], "1.0.0"), ("under way", &[UPGRADING][..], "1.0.0")]
    {
        let found = there(said, released);
        let follows = plan(&anyway, &found, STARTED);
        let metadata =
            json!({"annotations": {UPGRADED_BY: UID, UPGRADED_FROM: r#"{"revision":4,"version":"2.0.0"}"#}});
        let expected = Patch::of(&found, json!({ "metadata": metadata }).as_object().cloned().unwrap());
        assert_eq!(follows.patches, [expected], "{name}: only who follows it is written");
    }
    let waits = plan(&asked(&json!({})), &there(&failed, "1.0.0"), STARTED);
    assert_eq!((waits.status.reason.as_deref(), waits.patches.len()), (Some("TargetNotReady"), 0));
}

#[test]
fn what_cannot_be_done_is_told_and_nothing_is_written() {
    let values = operation(&json!({"valuesPatch": {"replicas": 2}}));
    let secret = json!({"source": "secretRef", "inline": null, "secretRef": {"name": "s", "key": "k"}});
    let refused = plan(&values, &instance(&json!({"spec": {"values": secret}})), STARTED);
    let (phase, reason, message) = said(&refused);
    assert_eq!((phase, reason, refused.patches.len()), (Some(Phase::Pending), "ValidationFailed", 0));
    assert!(message.contains("come from Secret s"), "{message}");

    let refusal = Refusal {
        object: "ApplicationInstance shop/web".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: "a policy".to_owned(),
    };
    let fresh = asked(&json!({}));
    let world = World { refusals: vec![refusal], ..world(&fresh, &instance(&json!({}))) };
    let again = planned(&fresh, &world, STARTED);
    let expected = "ApplicationInstance shop/web could not be changed: a policy";
    assert_eq!(said(&again), (Some(Phase::Pending), "EngineNotStarted", expected));
    assert_eq!(again.patches.len(), 1, "it is asked for again");
}

#[test]
fn of_two_the_second_waits_and_neither_is_taken_for_the_other() {
    use crate::controllers::operation::observe::Other;
    let mut second = asked(&json!({"parameters": {"targetVersion": "3.0.0"}}));
    (second.metadata.name, second.metadata.uid) = (Some("second".to_owned()), Some("second-uid".to_owned()));
    let running = changed("2.0.0", 2, &[READY, STABLE], "2.0.0", 2);
    let first = recorded(asked(&json!({})));
    let others = vec![Other { engine: Some(Box::new(upgrade(&first, &running))), operation: first }];
    let waits = planned(&second, &World { others, ..world(&second, &running) }, STARTED);
    assert_eq!(
        said(&waits),
        (
            Some(Phase::Pending),
            "ConflictingOperation",
            "Operation next on ApplicationInstance web comes first."
        )
    );
    let starts = plan(&second, &running, STARTED);
    assert_eq!(starts.patches.len(), 1, "the first has ended");
}

#[test]
fn nobody_stops_it() {
    const WORDS: &str = "Helm cannot stop an upgrade; it goes on to its end.";
    let pending = ("Reconciling", "True/ChangePending", "The change waits.");
    let mut deleted = recorded(asked(&json!({})));
    deleted.metadata.deletion_timestamp = Some(Time(at(STARTED)));
    let cancelled = recorded(asked(&json!({"cancel": true})));
    for (name, operation) in [("cancelled", cancelled), ("deleted", deleted)] {
        for words in [UPGRADING, pending] {
            let runs = plan(&operation, &changed("2.0.0", 2, &[words], "1.0.0", 1), SETTLED);
            let (phase, _, message) = said(&runs);
            assert_eq!(
                (phase, runs.patches.len(), runs.finalizer),
                (Some(Phase::Running), 0, Finalizer::Hold)
            );
            assert!(message.contains(WORDS), "{name}: {message}");
        }
        let ends = plan(&operation, &changed("2.0.0", 2, &[READY, STABLE], "2.0.0", 2), SETTLED);
        assert_eq!(ends.status.phase, Some(Phase::Succeeded), "{name}: its true end");
        let mut gone = world(&operation, &instance(&json!({})));
        gone.engine = Ok(Box::new(of(&operation, Sight::Absent)));
        gone.target = Sight::Absent;
        let gone = planned(&operation, &gone, SETTLED);
        let message =
            "ApplicationInstance web is gone, and its end was not seen; how its upgrade went is not known.";
        assert_eq!(said(&gone), (Some(Phase::Failed), "EngineFailed", message), "{name}");
        assert_eq!(json!(gone.status.outputs), known_outputs(), "{name}");
    }
}

#[test]
fn time_is_over_and_it_runs_on_until_it_ends() {
    let hasty = asked(&json!({"timeout": "20s"}));
    let first = plan(&hasty, &changed("2.0.0", 2, &[UPGRADING], "1.0.0", 1), STARTED);
    assert_eq!(first.requeue_at, Some(at("2026-11-16T12:00:25Z")));
    let runs = with_status(&hasty, first.status);
    let late = plan(&runs, &changed("2.0.0", 2, &[UPGRADING], "1.0.0", 1), "2026-11-16T12:00:26Z");
    let (phase, _, message) = said(&late);
    assert_eq!((phase, late.requeue_at), (Some(Phase::Running), None));
    assert!(message.starts_with("spec.timeout (20s) has passed: Helm cannot stop an upgrade"), "{message}");

    let failed =
        [("Ready", "False/HelmReleaseFailed", "no"), STABLE, ("Stalled", "True/HelmReleaseFailed", "no")];
    for (name, said_by, released, words) in [
        ("well", &[READY, STABLE][..], "2.0.0", "runs version 2.0.0 as revision 2."),
        ("badly", &failed[..], "1.0.0", "HelmReleaseFailed: no."),
    ] {
        let ends = plan(&runs, &changed("2.0.0", 2, said_by, released, 2), "2026-11-16T12:00:40Z");
        let (phase, reason, message) = said(&ends);
        assert_eq!((phase, reason), (Some(Phase::Failed), "Timeout"), "{name}");
        assert!(
            message.contains("It ended after spec.timeout (20s) had passed") && message.contains(words),
            "{name}: {message}"
        );
    }
    let patient = with_status(&asked(&json!({"timeout": "1m"})), runs.status.unwrap());
    let seen_late =
        plan(&patient, &changed("2.0.0", 2, &[READY, STABLE], "2.0.0", 2), "2026-11-16T13:00:00Z");
    assert_eq!(seen_late.status.phase, Some(Phase::Succeeded), "it ended in time");
}

#[test]
fn another_instance_of_that_name_is_not_the_one() {
    let operation = recorded(asked(&json!({})));
    let mut another = instance(&json!({}));
    another.metadata.uid = Some("another".to_owned());
    let plan = plan(&operation, &another, SETTLED);
    assert_eq!((plan.status.reason.as_deref(), plan.patches.len()), (Some("EngineFailed"), 0));
}
