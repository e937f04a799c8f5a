use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Cause, Deed, Deletion, Dependents, Finalizer, ObjectKey, Plan, Refusal, Sight};
use serde_json::{Map, Value, json};
use vworkspace_api::operation::{Failed, Operation, OperationStatus, Phase};

use super::testing::{Stub, after, command, noon, other, rules, says, target, with_status, words, world};
use crate::controllers::operation::engines::{Ending, Outcome, Progress, State, Stop};
use crate::controllers::operation::observe::{AllowedTypes, World};

fn planned(operation: &Operation, world: &World, now: Timestamp) -> Plan<OperationStatus> {
    super::plan(operation, world, &rules(), now)
}

fn progress(message: &str) -> Progress {
    Progress { made: Some(noon()), since: Some(noon()), message: message.to_owned(), ..Progress::default() }
}

fn ended(outcome: Outcome) -> State {
    State::Ended(Ending {
        outcome,
        message: "as the engine says".to_owned(),
        outputs: Map::from_iter([("exitCode".to_owned(), Value::from(0))]),
        logs_ref: None,
        since: Some(noon()),
        at: Some(after(10)),
    })
}

fn engine_ref() -> Option<vworkspace_api::operation::EngineRef> {
    use crate::controllers::operation::engines::Engine;
    Stub::with(State::Running(progress(""))).engine_ref()
}

fn deletion() -> Deletion {
    let key = ObjectKey::namespaced("shop", "a-job");
    Deletion::new::<k8s_openapi::api::batch::v1::Job>(key, "job-uid", Dependents::GoFirst)
}

/// The status of an operation that runs since noon.
fn running(operation: &Operation) -> Operation {
    let plan = planned(operation, &world(Stub::with(State::Running(progress("it runs")))), after(1));
    assert_eq!(says(&plan, "Running"), "True/EngineStarted");
    with_status(operation.clone(), plan.status)
}

#[test]
fn before_what_decides_is_seen_nothing_is_written() {
    let operation = command("a", &json!({}));
    let unseen = World { allowed_types: AllowedTypes::NotYet, ..world(Stub::with(State::NotStarted)) };
    let plan = planned(&operation, &unseen, after(1));
    assert_eq!((plan.finalizer, plan.creations.len()), (Finalizer::AsItIs, 0));
    assert_eq!(plan.status, OperationStatus::default());
    assert_eq!(plan.temporary_watches.len(), 1, "it is looked at");
}

#[test]
fn nothing_in_the_way_it_starts_and_says_nothing_before_the_engine_is_seen() {
    let plan = planned(&command("a", &json!({})), &world(Stub::with(State::NotStarted)), after(1));
    assert_eq!((plan.creations.len(), plan.finalizer), (1, Finalizer::Hold));
    assert_eq!(says(&plan, "Running"), "False/EngineNotStarted");
    assert_eq!(says(&plan, "Accepted"), "True/AdmissionPassed");
    // It is written after the creation: from then on it is never made again.
    let recorded = plan.status.engine_ref.clone().unwrap();
    assert_eq!((recorded.kind.as_str(), recorded.uid.as_deref()), ("Job", None));
    let operation = with_status(command("a", &json!({})), plan.status);
    let gone = planned(&operation, &world(Stub::with(State::NotStarted)), after(2));
    assert!(gone.creations.is_empty());
    assert_eq!(says(&gone, "Failed"), "True/EngineFailed");
    let seen = planned(&operation, &world(Stub::with(State::Waiting(progress("no node")))), after(2));
    assert_eq!(seen.status.engine_ref.and_then(|known| known.uid).as_deref(), Some("job-uid"));
}

#[test]
fn what_has_begun_is_not_undone_by_a_spec_that_is_not_understood_any_more() {
    let runs = running(&command("a", &json!({"cancel": true})));
    let world = World { engine: Err("wrong".to_owned()), ..world(Stub::with(State::NotStarted)) };
    let plan = planned(&runs, &world, after(9));
    assert_eq!(Some(&plan.status), runs.status.as_ref());
    assert_eq!(plan.finalizer, Finalizer::Hold);
}

#[test]
fn with_its_namespace_an_operation_goes_although_nothing_can_be_seen() {
    let mut runs = running(&command("a", &json!({})));
    runs.metadata.deletion_timestamp = Some(Time(noon()));
    let unseen = || world(Stub::with(State::Unknown("forbidden".to_owned())));
    assert_eq!(Some(planned(&runs, &unseen(), after(9)).status), runs.status.clone(), "nobody knows why");
    let ending = World { is_namespace_ending: true, ..unseen() };
    assert_eq!(says(&planned(&runs, &ending, after(9)), "Cancelled"), "True/UserCancelled");
}

#[test]
fn one_that_its_namespace_does_not_allow_holds_nobody_up() {
    let upgrade =
        command("a", &json!({"type": "Upgrade", "engine": "helm", "parameters": {"targetVersion": "2"}}));
    let backup = command("b", &json!({"type": "Backup", "engine": "velero", "parameters": {}}));
    let world = |allowed_types| World {
        others: vec![other(upgrade.clone(), State::NotStarted)],
        allowed_types,
        ..world(Stub::with(State::NotStarted))
    };
    assert_eq!(
        says(&planned(&backup, &world(AllowedTypes::All), after(1)), "Blocked"),
        "True/ConflictingOperation"
    );
    let only = AllowedTypes::Only(vec!["Backup".to_owned()]);
    assert_eq!(planned(&backup, &world(only), after(1)).creations.len(), 1);
}

#[test]
fn what_is_in_the_way_is_said_and_nothing_is_started() {
    let backup = |name: &str| {
        command(name, &json!({"type": "Backup", "engine": "velero", "parameters": {"ttl": "1h"}}))
    };
    let mut table: Vec<(&str, Operation, World, &str, &str, &str)> = Vec::new();
    let idle = || world(Stub::with(State::NotStarted));
    let mut add = |name, operation, world, type_, wanted, message| {
        table.push((name, operation, world, type_, wanted, message));
    };
    add(
        "wrong parameters",
        command("a", &json!({})),
        World { engine: Err("spec.parameters.x: found 1; expected 2".to_owned()), ..idle() },
        "Accepted",
        "False/ValidationFailed",
        "spec.parameters.x",
    );
    add(
        "a namespace that allows something else",
        command("a", &json!({})),
        World { allowed_types: AllowedTypes::Only(vec!["Backup".to_owned()]), ..idle() },
        "Accepted",
        "False/ValidationFailed",
        "found 'RunCommand'; expected one of Backup",
    );
    add(
        "a namespace that cannot be seen",
        command("a", &json!({})),
        World { allowed_types: AllowedTypes::Unknown("forbidden".to_owned()), ..idle() },
        "Accepted",
        "False/ValidationFailed",
        "forbidden",
    );
    add(
        "no target",
        command("a", &json!({})),
        World { target: Sight::Absent, ..idle() },
        "Accepted",
        "False/ValidationFailed",
        "found no ApplicationInstance web in namespace shop",
    );
    let mut going = target();
    going.metadata.deletion_timestamp = Some(Time(noon()));
    add(
        "a target that goes",
        command("a", &json!({})),
        World { target: Sight::Present(going), ..idle() },
        "Accepted",
        "False/ValidationFailed",
        "is being deleted",
    );
    let mut unable = target();
    unable.metadata.annotations =
        Some([("ops.vworkspace.io/runcommand".to_owned(), "jobs, x".to_owned())].into());
    add(
        "a target that lists another engine",
        command("a", &json!({})),
        World { target: Sight::Present(unable), ..idle() },
        "Blocked",
        "True/CapabilityMissing",
        "is 'jobs, x'; expected job in it",
    );
    let mut changed = target();
    changed.metadata.generation = Some(2);
    add(
        "a target that was ready before its last change",
        command("a", &json!({})),
        World { target: Sight::Present(changed), ..idle() },
        "Blocked",
        "True/TargetNotReady",
        "not known yet",
    );
    add(
        "no approval",
        command("a", &json!({"approvals": {"required": true}})),
        idle(),
        "Blocked",
        "True/AwaitingApproval",
        "To approve: cluster lab, uid a-uid, digest ",
    );
    add(
        "an engine that is not there",
        command("a", &json!({})),
        world(Stub { lacks: Some("Velero is not installed".to_owned()), ..Stub::with(State::NotStarted) }),
        "Blocked",
        "True/DependencyMissing",
        "Velero is not installed",
    );
    let exclusive = json!({"policy": {"exclusive": true}});
    add(
        "one that runs and must be alone",
        command("b", &exclusive),
        World {
            others: vec![other(running(&command("a", &exclusive)), State::Running(progress("")))],
            ..idle()
        },
        "Blocked",
        "True/ConflictingOperation",
        "Operation a on ApplicationInstance web comes first",
    );
    add(
        "a newer backup of the same",
        backup("a"),
        World { others: vec![other(backup("b"), State::NotStarted)], ..idle() },
        "Cancelled",
        "True/SupersededByOperation",
        "Operation b asks for the same",
    );
    for (name, operation, world, type_, wanted, message) in table {
        let plan = planned(&operation, &world, after(1));
        assert_eq!(says(&plan, type_), wanted, "{name}: {:?}", plan.status);
        assert!(words(&plan, type_).contains(message), "{name}: {}", words(&plan, type_));
        assert!(plan.creations.is_empty(), "{name}: something is started");
        assert_eq!(plan.status.reason.as_deref(), wanted.split_once('/').map(|(_, reason)| reason), "{name}");
    }
}

#[test]
fn a_backup_that_has_started_is_not_superseded_and_another_one_is_none_of_the_same() {
    let backup = |name: &str, ttl: &str| {
        command(name, &json!({"type": "Backup", "engine": "velero", "parameters": {"ttl": ttl}}))
    };
    let started = with_status(
        backup("b", "1h"),
        OperationStatus { engine_ref: engine_ref(), ..OperationStatus::default() },
    );
    for (name, newer, state) in [
        ("of other parameters", backup("b", "2h"), State::NotStarted),
        ("one that has started", started, State::Running(progress(""))),
    ] {
        let world = World { others: vec![other(newer, state)], ..world(Stub::with(State::NotStarted)) };
        let plan = planned(&backup("a", "1h"), &world, after(1));
        assert_eq!(plan.creations.len(), 1, "{name}: backups do not exclude each other");
    }
}

#[test]
fn the_wait_ends_with_its_time() {
    let hasty = command("a", &json!({"policy": {"waitTimeout": "1m"}}));
    let absent = || World { target: Sight::Absent, ..world(Stub::with(State::NotStarted)) };
    let plan = planned(&hasty, &absent(), after(59));
    assert_eq!(
        (says(&plan, "Accepted").as_str(), plan.requeue_at),
        ("False/ValidationFailed", Some(after(60)))
    );
    let plan = planned(&with_status(hasty, plan.status), &absent(), after(60));
    assert_eq!(says(&plan, "Failed"), "True/PreconditionFailed");
    assert_eq!(says(&plan, "Accepted"), "False/ValidationFailed", "it never was accepted");
    assert_eq!(says(&plan, "Running"), "False/EngineNotStarted");
    assert_eq!(plan.status.phase, Some(Phase::Failed));
}

#[test]
fn what_the_engine_says_is_said() {
    let operation = command("a", &json!({}));
    let waiting = |at| planned(&operation, &world(Stub::with(State::Waiting(progress("no node")))), at);
    let plan = waiting(after(2));
    assert_eq!(
        (says(&plan, "Running").as_str(), words(&plan, "Running").as_str()),
        ("False/EngineNotStarted", "no node")
    );
    assert_eq!(plan.status.engine_ref.as_ref().and_then(|known| known.uid.as_deref()), Some("job-uid"));

    let runs = running(&operation);
    for (outcome, type_, reason, phase) in [
        (Outcome::Succeeded, "Succeeded", "True/EngineCompleted", Phase::Succeeded),
        (
            Outcome::Failed(Failed::JobFailedBackoffExceeded),
            "Failed",
            "True/JobFailedBackoffExceeded",
            Phase::Failed,
        ),
        (Outcome::Failed(Failed::Timeout), "Failed", "True/Timeout", Phase::Failed),
    ] {
        let plan = planned(&runs, &world(Stub::with(ended(outcome))), after(20));
        assert_eq!(says(&plan, type_), reason);
        assert_eq!(says(&plan, "Running"), "False/EngineFinished");
        let status = &plan.status;
        assert_eq!((status.phase, status.duration.as_deref()), (Some(phase), Some("10s")));
        assert!(status.outcome_digest.is_some() && status.finished_at == Some(Time(after(10))));
    }
}

#[test]
fn nothing_is_said_of_an_engine_that_cannot_be_seen() {
    let runs = running(&command("a", &json!({})));
    let plan =
        planned(&runs, &world(Stub::with(State::Unknown("jobs cannot be listed".to_owned()))), after(9));
    assert_eq!(Some(&plan.status), runs.status.as_ref());
    assert!(plan.creations.is_empty());
}

#[test]
fn who_wants_an_end_gets_it_when_the_engine_has_stopped() {
    let cancel = json!({"cancel": true});
    let mut deleted = command("a", &json!({}));
    deleted.metadata.deletion_timestamp = Some(Time(noon()));
    for (name, operation) in [("by field", command("a", &cancel)), ("by deletion", deleted)] {
        let early = planned(&operation, &world(Stub::with(State::NotStarted)), after(1));
        assert_eq!(says(&early, "Cancelled"), "True/UserCancelled", "{name}, before the start");
        assert!(early.creations.is_empty(), "{name}");

        let runs = with_status(operation, running(&command("a", &json!({}))).status.unwrap());
        let stub = Stub {
            stop: Stop::Delete(Box::new(deletion())),
            ..Stub::with(State::Running(progress("it runs")))
        };
        let plan = planned(&runs, &world(stub), after(5));
        assert_eq!(plan.deletions, [deletion()], "{name}");
        assert_eq!(says(&plan, "Running"), "True/EngineStarted", "{name}: it has not stopped yet");
        assert_eq!(says(&plan, "Cancelled"), "False/NotCancelled", "{name}");
        let gone =
            planned(&with_status(runs.clone(), plan.status), &world(Stub::with(State::NotStarted)), after(6));
        assert_eq!(says(&gone, "Cancelled"), "True/UserCancelled", "{name}");
        assert_eq!(gone.finalizer, Finalizer::Hold, "{name}: first it is said");
        let last =
            planned(&with_status(runs.clone(), gone.status), &world(Stub::with(State::NotStarted)), after(7));
        assert_eq!(last.finalizer, Finalizer::Release, "{name}");
        let done = planned(&runs, &world(Stub::with(ended(Outcome::Succeeded))), after(5));
        assert_eq!(says(&done, "Succeeded"), "True/EngineCompleted", "{name}: it was faster");
    }
}

#[test]
fn what_cannot_be_stopped_runs_on_and_says_so() {
    let runs = with_status(
        command("a", &json!({"cancel": true})),
        running(&command("a", &json!({}))).status.unwrap(),
    );
    let stub = Stub {
        stop: Stop::Impossible("it cannot be stopped."),
        ..Stub::with(State::Running(progress("half done")))
    };
    let plan = planned(&runs, &world(stub), after(5));
    assert!(plan.deletions.is_empty());
    assert_eq!(words(&plan, "Running"), "spec.cancel asks for an end: it cannot be stopped. half done");
}

#[test]
fn time_is_over_by_our_clock_across_restarts() {
    let spec = json!({"timeout": "1m"});
    let runs = running(&command("a", &spec));
    let stub = || Stub {
        stop: Stop::Delete(Box::new(deletion())),
        ..Stub::with(State::Running(progress("it runs")))
    };
    let early = planned(&runs, &world(stub()), after(59));
    assert_eq!((early.deletions.len(), early.requeue_at), (0, Some(after(60))));
    let late = planned(&runs, &world(stub()), after(60));
    assert_eq!(late.deletions, [deletion()]);
    assert!(words(&late, "Running").starts_with("spec.timeout (1m) has passed"));
    let gone = planned(&runs, &world(Stub::with(State::NotStarted)), after(61));
    assert_eq!(says(&gone, "Failed"), "True/Timeout");
}

#[test]
fn what_did_the_work_and_is_gone_is_not_made_again() {
    let runs = running(&command("a", &json!({})));
    let another = Stub { uid: "another", ..Stub::with(State::Running(progress("not ours"))) };
    for (name, stub) in [("gone", Stub::with(State::NotStarted)), ("another of that name", another)] {
        let plan = planned(&runs, &world(stub), after(5));
        assert_eq!(says(&plan, "Failed"), "True/EngineFailed", "{name}");
        assert!(plan.creations.is_empty(), "{name}");
    }
}

#[test]
fn nothing_changes_a_word_of_what_has_ended() {
    let runs = running(&command("a", &json!({"ttlAfterFinished": "1h"})));
    let end = planned(&runs, &world(Stub::with(ended(Outcome::Succeeded))), after(20)).status;
    let mut finished = with_status(runs, end.clone());
    finished.metadata.generation = Some(2);
    finished.metadata.uid = Some("a-uid".to_owned());
    let worlds = [
        ("the target is gone", World { target: Sight::Absent, ..world(Stub::with(State::NotStarted)) }),
        ("the engine says something else", world(Stub::with(ended(Outcome::Failed(Failed::EngineFailed))))),
        (
            "the spec is wrong",
            World { engine: Err("wrong".to_owned()), ..world(Stub::with(State::NotStarted)) },
        ),
    ];
    for (name, world) in worlds {
        let plan = planned(&finished, &world, after(3000));
        assert!(plan.creations.is_empty() && plan.deletions.is_empty(), "{name}");
        assert_eq!(plan.finalizer, Finalizer::Release, "{name}");
        assert_eq!(plan.requeue_at, Some(after(3610)), "{name}: it goes an hour after its end");
        let OperationStatus { observed_generation, conditions, .. } = &plan.status;
        assert_eq!(*observed_generation, Some(2), "{name}");
        let same = OperationStatus {
            observed_generation: end.observed_generation,
            conditions: end.conditions.clone(),
            ..plan.status.clone()
        };
        assert_eq!(same, end, "{name}");
        for condition in conditions {
            let before = end.conditions.get(&condition.type_).unwrap();
            assert_eq!((&condition.reason, &condition.message), (&before.reason, &before.message), "{name}");
        }
    }
    let due = planned(&finished, &world(Stub::with(State::NotStarted)), after(3610));
    assert_eq!(due.deletions.len(), 1, "its time is over");
}

#[test]
fn what_the_api_server_refuses_is_said_and_tried_again() {
    let refusal = Refusal {
        object: "Job shop/a-auid".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: "exceeded quota".to_owned(),
    };
    let world = World { refusals: vec![refusal], ..world(Stub::with(State::NotStarted)) };
    let plan = planned(&command("a", &json!({})), &world, after(3));
    assert_eq!((says(&plan, "Running").as_str(), plan.creations.len()), ("False/EngineNotStarted", 1));
    assert!(words(&plan, "Running").contains("exceeded quota"));
    assert!(!plan.temporary_watches.is_empty(), "what the namespace allows still matters");
}

#[test]
fn what_an_engine_left_is_read_before_the_end_is_told_and_nothing_is_stopped_meanwhile() {
    for spec in [json!({}), json!({"cancel": true}), json!({"timeout": "1s"})] {
        let operation = running(&command("a", &spec));
        let plan = planned(&operation, &world(Stub::with(State::Ending(progress("read")))), after(60));
        assert_eq!(
            (says(&plan, "Running").as_str(), plan.deletions.len()),
            ("True/EngineStarted", 0),
            "{spec}"
        );
        assert_eq!(words(&plan, "Running"), "read");
    }
}

#[test]
fn who_wants_an_end_gets_it_although_the_engine_was_uninstalled() {
    struct Uninstalled(Stub);
    impl crate::controllers::operation::engines::Engine for Uninstalled {
        fn lacks(&self) -> Option<String> {
            self.0.lacks()
        }
        fn is_installed(&self) -> bool {
            false
        }
        fn start(&self, operation: &Operation) -> Vec<operator_kit::Child> {
            self.0.start(operation)
        }
        fn state(&self) -> State {
            State::NotStarted
        }
        fn engine_ref(&self) -> Option<vworkspace_api::operation::EngineRef> {
            None
        }
        fn stop(&self) -> Stop {
            self.0.stop()
        }
        fn cleanup(&self) -> Option<(std::time::Duration, Deletion)> {
            None
        }
    }
    let uninstalled = || World {
        engine: Ok(Box::new(Uninstalled(Stub::with(State::NotStarted)))),
        ..world(Stub::with(State::NotStarted))
    };
    let begun = running(&command("a", &json!({})));
    let before = begun.status.clone();
    assert_eq!(Some(planned(&begun, &uninstalled(), after(60)).status), before, "it may come back");
    let cancelled = planned(&running(&command("a", &json!({"cancel": true}))), &uninstalled(), after(60));
    assert_eq!(says(&cancelled, "Cancelled"), "True/UserCancelled");
    assert!(
        words(&cancelled, "Cancelled").contains("no kind Job any more"),
        "{}",
        words(&cancelled, "Cancelled")
    );
}

#[test]
fn only_a_backup_that_may_start_takes_the_place_of_another() {
    let backup = |name: &str, spec: Value| {
        let mut whole = json!({"type": "Backup", "engine": "velero", "parameters": {}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        command(name, &whole)
    };
    let required = || json!({"approvals": {"required": true}});
    let table = [
        ("the same", json!({}), json!({}), "True/SupersededByOperation"),
        ("nobody has approved the newer one", required(), required(), "False/NotCancelled"),
        ("another policy", json!({}), json!({"policy": {"waitTimeout": "1s"}}), "False/NotCancelled"),
        ("another timeout", json!({}), json!({"timeout": "1s"}), "False/NotCancelled"),
    ];
    for (name, older, newer, expected) in table {
        let mut world = world(Stub::with(State::NotStarted));
        world.others = vec![other(backup("b", newer), State::NotStarted)];
        let plan = planned(&backup("a", older), &world, after(1));
        assert_eq!(says(&plan, "Cancelled"), expected, "{name}");
    }
}

#[test]
fn what_the_engine_has_done_was_accepted() {
    let operation = command("a", &json!({}));
    let absent = World { target: Sight::Absent, ..world(Stub::with(State::NotStarted)) };
    let refused = planned(&operation, &absent, after(1));
    assert_eq!(says(&refused, "Accepted"), "False/ValidationFailed");
    // It was started, and nobody could say so before its end was seen.
    let operation = with_status(operation, refused.status);
    let done = planned(&operation, &world(Stub::with(ended(Outcome::Succeeded))), after(9));
    assert_eq!(says(&done, "Accepted"), "True/AdmissionPassed");
}

#[test]
fn what_is_not_recorded_yet_is_stopped_only_after_it_is() {
    for spec in [json!({"cancel": true}), json!({"timeout": "1s"})] {
        let stub = || Stub {
            stop: Stop::Delete(Box::new(deletion())),
            ..Stub::with(State::Running(progress("it runs")))
        };
        let operation = command("a", &spec);
        let seen = planned(&operation, &world(stub()), after(60));
        assert_eq!((seen.deletions.len(), seen.status.engine_ref.is_some()), (0, true), "{spec}");
        let recorded = planned(&with_status(operation, seen.status), &world(stub()), after(61));
        assert_eq!(recorded.deletions, [deletion()], "{spec}");
    }
}

#[test]
fn a_backup_whose_engine_has_its_work_takes_nobodys_place() {
    let backup = |name: &str| command(name, &json!({"type": "Backup", "engine": "velero", "parameters": {}}));
    let mut world = world(Stub::with(State::NotStarted));
    // Its status does not tell yet.
    world.others = vec![other(backup("b"), State::Waiting(progress("")))];
    assert_eq!(says(&planned(&backup("a"), &world, after(1)), "Cancelled"), "False/NotCancelled");
}

#[test]
fn a_backup_that_was_cancelled_leaves_its_place_to_nobody() {
    let backup = |name: &str, spec: Value| {
        let mut whole = json!({"type": "Backup", "engine": "velero", "parameters": {}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        command(name, &whole)
    };
    let exclusive = command("b", &json!({"policy": {"exclusive": true}}));
    let mut world = world(Stub::with(State::NotStarted));
    world.others = vec![
        other(backup("a", json!({"cancel": true})), State::NotStarted),
        other(exclusive, State::NotStarted),
    ];
    let plan = planned(&backup("c", json!({})), &world, after(1));
    assert_eq!(says(&plan, "Blocked"), "True/ConflictingOperation");
}

#[test]
fn a_backup_that_is_held_leaves_its_place_to_nobody() {
    let backup = |name: &str| command(name, &json!({"type": "Backup", "engine": "velero", "parameters": {}}));
    // Who stands between them does not wait for one that is held, so the newer one must not pass by.
    for (lacks, is_started) in [(None, 1), (Some("no storage".to_owned()), 0)] {
        let engine = Stub { lacks, ..Stub::with(State::NotStarted) };
        let mut world = world(Stub::with(State::NotStarted));
        world.others = vec![
            crate::controllers::operation::observe::Other {
                operation: backup("a"),
                engine: Some(Box::new(engine)),
            },
            other(command("b", &json!({"policy": {"exclusive": true}})), State::NotStarted),
        ];
        let plan = planned(&backup("c"), &world, after(1));
        assert_eq!(plan.creations.len(), is_started, "{}", words(&plan, "Blocked"));
    }
}
