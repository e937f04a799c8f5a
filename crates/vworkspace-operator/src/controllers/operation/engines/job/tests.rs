use operator_kit::Sight;
use serde_json::{Value, json};
use vworkspace_api::operation::{Failed, Operation, Request};

use super::*;
use crate::controllers::operation::engines::{Ending, Outcome, Progress};

fn operation(name: &str, parameters: &Value, policy: &Value) -> Operation {
    serde_json::from_value(json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": name, "namespace": "shop", "uid": "0123456789abcdef"},
        "spec": {
            "targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": "RunCommand", "engine": "job", "parameters": parameters, "policy": policy}}))
    .unwrap()
}

fn run(operation: &Operation) -> Run {
    let Ok(Request::RunCommand(parameters)) = operation.spec.request() else { panic!("no command") };
    Run { parameters, job: Sight::Absent, pods: Vec::new(), lacks_runner: false, log: Log::Unwanted }
}

/// What is known of a Job and its pod.
fn seen(status: &Value, pod: Option<&Value>) -> Run {
    let job = json!({"metadata": {"name": "a-job", "namespace": "shop", "uid": "j",
        "creationTimestamp": "2026-11-16T12:00:00Z"}, "status": status});
    let pod = pod.map(|status| {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "a-job", "uid": "j"});
        let meta = json!({"name": "a-job-x", "namespace": "shop", "creationTimestamp": "2026-11-16T12:00:01Z",
            "ownerReferences": [owner]});
        let spec = json!({"containers": [{"name": "runner", "image": "tools:1"}]});
        serde_json::from_value(json!({"metadata": meta, "spec": spec, "status": status})).unwrap()
    });
    Run {
        job: Sight::Present(serde_json::from_value(job).unwrap()),
        pods: pod.into_iter().collect(),
        ..run(&operation("a", &json!({"image": "tools:1"}), &json!({})))
    }
}

fn condition(type_: &str, reason: &str, message: &str) -> Value {
    json!({"conditions": [{"type": type_, "status": "True", "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-16T12:01:00Z"}]})
}

fn container(state: &Value) -> Value {
    let phase = if state["terminated"].is_null() { "Pending" } else { "Failed" };
    json!({"phase": phase, "containerStatuses": [{"name": "runner", "image": "", "imageID": "", "ready": false,
        "restartCount": 0, "state": state}]})
}

#[test]
fn the_pod_may_do_as_little_as_a_pod_can() {
    let operation = operation(
        "check",
        &json!({"image": "tools:1", "command": ["ls"], "env": {"A": "1"}, "activeDeadlineSeconds": 30}),
        &json!({}),
    );
    let children = run(&operation).start(&operation);
    let [job] = children.as_slice() else { panic!("{children:?}") };
    assert_eq!(job.id().to_string(), "Job shop/check-01234567");
    let expected = json!({
        "backoffLimit": 0, "activeDeadlineSeconds": 30,
        "template": {
            "metadata": {"labels": {"app.vworkspace.io/managed-by": "vworkspace-operator",
                "ops.vworkspace.io/operation": "0123456789abcdef", "velero.io/exclude-from-backup": "true"}},
            "spec": {
                "restartPolicy": "Never", "serviceAccountName": "vworkspace-operation-runner",
                "automountServiceAccountToken": false,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"}},
                "volumes": [{"name": "tmp", "emptyDir": {}}],
                "containers": [{
                    "name": "runner", "image": "tools:1", "command": ["ls"], "env": [{"name": "A", "value": "1"}],
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]}}}]}}});
    assert_eq!(job.at("/spec"), Some(&expected));
}

#[test]
fn the_account_is_made_where_it_is_missing() {
    let operation = operation("check", &json!({"image": "tools:1"}), &json!({}));
    let ids = |shared: Vec<Child>| shared.iter().map(|child| child.id().to_string()).collect::<Vec<_>>();
    let account = Run { lacks_runner: true, ..run(&operation) }.shares(&operation);
    assert_eq!(ids(account), ["ServiceAccount shop/vworkspace-operation-runner"]);
    assert!(run(&operation).shares(&operation).is_empty(), "it is there");
}

#[test]
fn a_long_name_leaves_room_for_that_of_the_pod() {
    let long = operation(&format!("{}.x", "a".repeat(47)), &json!({"image": "x"}), &json!({}));
    assert_eq!(key(&long).name, format!("{}-01234567", "a".repeat(47)));
    let longer = operation(&"b".repeat(253), &json!({"image": "x"}), &json!({}));
    assert_eq!(key(&longer).name.len(), 57);
    let dotted = operation("v1.2", &json!({"image": "x"}), &json!({}));
    assert_eq!(key(&dotted).name, "v1-2-01234567");
}

#[test]
fn what_a_job_and_its_pod_say_is_read() {
    let waits = |message: &str| State::Waiting(progress(message));
    let runs = |message: &str| State::Running(progress(message));
    let image = container(&json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}));
    let creating = container(&json!({"waiting": {"reason": "ContainerCreating"}}));
    let unschedulable = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"}]});
    let started = json!({"startTime": "2026-11-16T12:00:00Z", "active": 1, "ready": 0});
    let table = [
        ("not seen by its controller", json!({}), None, waits("Job a-job waits for its pod to start.")),
        (
            "no pod",
            json!({"startTime": "2026-11-16T12:00:00Z"}),
            None,
            waits("Job a-job has no pod yet; `kubectl describe job` shows what is in its way."),
        ),
        ("creating", started.clone(), Some(creating), waits("Job a-job waits for its pod to start.")),
        (
            "no image",
            started.clone(),
            Some(image),
            waits("The pod of Job a-job cannot start: ImagePullBackOff: image tools:1 cannot be pulled"),
        ),
        (
            "no node",
            started.clone(),
            Some(unschedulable),
            waits("The pod of Job a-job cannot start: Unschedulable: 0/1 nodes are available"),
        ),
        ("runs", json!({"active": 1, "ready": 1}), None, runs("Job a-job runs.")),
        ("the pod runs", started, Some(json!({"phase": "Running"})), runs("Job a-job runs, pod a-job-x.")),
        (
            "the pod has ended and the Job has not",
            json!({"active": 1, "ready": 0}),
            Some(json!({"phase": "Succeeded"})),
            runs("Job a-job runs, pod a-job-x."),
        ),
        ("between attempts", json!({"failed": 1}), None, runs("Job a-job runs, attempt 2.")),
        (
            "its end is decided and pods may run",
            condition("FailureTarget", "DeadlineExceeded", "late"),
            None,
            runs("Job a-job runs."),
        ),
    ];
    for (name, status, pod, expected) in table {
        assert_eq!(seen(&status, pod.as_ref()).state(), expected, "{name}");
    }
}

fn progress(message: &str) -> Progress {
    let made = Some("2026-11-16T12:00:00Z".parse().unwrap());
    Progress { made, since: made, message: message.to_owned(), ..Progress::default() }
}

#[test]
fn how_a_job_ended_is_read() {
    let ended =
        container(&json!({"terminated": {"exitCode": 7, "reason": "Error", "message": "its own words"}}));
    let evicted =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    let table = [
        (
            "well",
            condition("Complete", "CompletionsReached", ""),
            None,
            Outcome::Succeeded,
            "Job a-job has completed.",
        ),
        (
            "badly",
            condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
            Some(&ended),
            Outcome::Failed(Failed::JobFailedBackoffExceeded),
            "Job a-job has failed: Job has reached the specified backoff limit. Pod a-job-x ended with exit code 7.",
        ),
        (
            "evicted",
            condition("Failed", "BackoffLimitExceeded", "limit"),
            Some(&evicted),
            Outcome::Failed(Failed::JobFailedBackoffExceeded),
            "Job a-job has failed: limit. Pod a-job-x (Evicted): The node was low on resource: memory.",
        ),
        (
            "late",
            condition("Failed", "DeadlineExceeded", "Job was active longer than specified deadline"),
            None,
            Outcome::Failed(Failed::Timeout),
            "Job a-job has failed: Job was active longer than specified deadline.",
        ),
        (
            "otherwise",
            condition("Failed", "PodFailurePolicy", "a rule"),
            None,
            Outcome::Failed(Failed::EngineFailed),
            "Job a-job has failed: a rule.",
        ),
    ];
    for (name, status, pod, outcome, message) in table {
        let State::Ended(Ending { outcome: found, message: said, at, .. }) = seen(&status, pod).state()
        else {
            panic!("{name}: it has not ended");
        };
        assert_eq!((found, said.as_str()), (outcome, message), "{name}");
        assert_eq!(at, Some("2026-11-16T12:01:00Z".parse().unwrap()), "{name}");
    }
    let status = condition("Failed", "BackoffLimitExceeded", "limit");
    let State::Ended(Ending { outputs, logs_ref, .. }) = seen(&status, Some(&ended)).state() else {
        panic!()
    };
    assert_eq!(Value::Object(outputs), json!({"jobName": "a-job", "exitCode": 7}), "nobody asked for more");
    assert_eq!(logs_ref.map(|logs| logs.name), Some("a-job-x".to_owned()));
}

#[test]
fn the_last_lines_are_read_before_the_end_is_told_where_somebody_wants_them() {
    let ended = container(&json!({"terminated": {"exitCode": 0}}));
    let complete = condition("Complete", "CompletionsReached", "");
    let wanted = |log| Run { log, ..seen(&complete, Some(&ended)) };
    assert!(matches!(wanted(Log::Unread).state(), State::Ending(_)));
    let asked = LogPoll { namespace: "shop".to_owned(), pod: "a-job-x".to_owned() };
    assert_eq!(wanted(Log::Unread).polls(), [AnyPoll::from(asked)]);
    assert_eq!(wanted(Log::Unwanted).polls(), []);
    let told = |run: &Run| match run.state() {
        State::Ended(ending) => (Value::Object(ending.outputs), ending.message),
        other => panic!("{other:?}"),
    };
    let read = wanted(Log::Read(Ok(vec!["bye".to_owned()])));
    let (outputs, message) = told(&read);
    assert_eq!(outputs, json!({"jobName": "a-job", "exitCode": 0, "lastLines": ["bye"]}));
    assert_eq!(message, "Job a-job has completed.");
    let (outputs, message) = told(&wanted(Log::Read(Err("forbidden".to_owned()))));
    assert_eq!(outputs, json!({"jobName": "a-job", "exitCode": 0}));
    assert_eq!(message, "Job a-job has completed. The log of pod a-job-x could not be read: forbidden");
    for (name, status, pod) in [
        ("it runs", json!({"active": 1, "ready": 1}), Some(&ended)),
        ("its pod is gone", complete.clone(), None),
        ("its pod never ran", complete.clone(), Some(&json!({"phase": "Failed", "reason": "Evicted"}))),
    ] {
        let run = Run { log: Log::Unread, ..seen(&status, pod) };
        assert_eq!(run.polls(), [], "{name}");
        assert!(!matches!(run.state(), State::Ending(_)), "{name}");
    }
    let late = Run { log: Log::Unwanted, ..seen(&complete, Some(&json!({"phase": "Running"}))) };
    assert!(matches!(late.state(), State::Ending(_)), "its pod is seen by another watch, which is behind");
}

#[test]
fn a_pod_of_somebody_else_tells_nothing() {
    let ended = container(&json!({"terminated": {"exitCode": 7}}));
    let mut foreign = seen(&condition("Failed", "BackoffLimitExceeded", "limit"), Some(&ended));
    foreign.log = Log::Unread;
    foreign.pods.iter_mut().for_each(|pod| pod.metadata.owner_references = None);
    assert_eq!(foreign.polls(), []);
    let State::Ended(ending) = foreign.state() else { panic!() };
    assert_eq!(Value::Object(ending.outputs), json!({"jobName": "a-job"}));
}

#[test]
fn a_pod_that_outlives_its_job_is_still_at_work() {
    let alive = Run { job: Sight::Absent, ..seen(&json!({}), Some(&json!({"phase": "Running"}))) };
    assert!(matches!(alive.state(), State::Running(_)));
    let ended = Run { job: Sight::Absent, ..seen(&json!({}), Some(&json!({"phase": "Failed"}))) };
    assert_eq!(ended.state(), State::NotStarted);
}

#[test]
fn a_job_that_somebody_deletes_has_not_ended_by_itself() {
    for type_ in ["Failed", "Complete"] {
        has_not_ended_by_itself(&condition(type_, "BackoffLimitExceeded", "limit"));
    }
}

fn has_not_ended_by_itself(status: &Value) {
    let mut deleted = seen(status, None);
    let Sight::Present(job) = &mut deleted.job else { panic!() };
    let at = |second: &str| Some(serde_json::from_value(json!(second)).unwrap());
    job.metadata.deletion_timestamp = at("2026-11-16T12:00:30Z");
    assert!(matches!(deleted.state(), State::Running(_)));
    assert_eq!(deleted.stop(), Stop::Underway);
    let Sight::Present(job) = &mut deleted.job else { panic!() };
    job.metadata.deletion_timestamp = at("2026-11-16T12:02:00Z");
    assert!(matches!(deleted.state(), State::Ended(_)), "it had failed before");
}

#[test]
fn what_stops_it_takes_its_pods_first_and_what_is_left_goes_after_a_day() {
    let runs = seen(&json!({"active": 1}), None);
    let expected = Deletion::new::<Job>(ObjectKey::namespaced("shop", "a-job"), "j", Dependents::GoFirst);
    assert_eq!(runs.stop(), Stop::Delete(Box::new(expected.clone())));
    assert_eq!(runs.cleanup(), Some((Duration::from_hours(24), expected)));
}
