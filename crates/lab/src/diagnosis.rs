//! What to show a person when something is not as it should be: the objects' own words, their events, the end of
//! their logs and the errors before it. Never the content of a Secret.

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, LogParams};
use serde_json::Value;

use crate::cluster::{Cluster, Kinds};

/// Lines at the end of a log that say enough.
const LOG_LINES: usize = 15;
/// How far back errors and warnings are looked for; Velero writes hundreds of lines for one backup.
const SEARCHED_LINES: i64 = 5000;
/// How many of them are shown, the last ones, and how much of each.
const COMPLAINTS: usize = 20;
const COMPLAINT_CHARACTERS: usize = 600;
/// Kinds that hold secrets, or say nothing that their neighbours do not say better.
const NOT_SHOWN: [&str; 7] =
    ["Secret", "Event", "EndpointSlice", "Endpoints", "ControllerRevision", "Lease", "Pod"];

/// Everything in a namespace that says how it is, its events and the logs of its pods.
pub(crate) async fn namespace(cluster: &Cluster, namespace: &str) -> String {
    let mut text = format!("--- namespace {namespace}\n");
    match Kinds::of(&cluster.client).await {
        Ok(kinds) => {
            for resource in kinds.namespaced().iter().filter(|kind| !NOT_SHOWN.contains(&kind.kind.as_str()))
            {
                let api: Api<DynamicObject> =
                    Api::namespaced_with(cluster.client.clone(), namespace, resource);
                for object in api.list(&ListParams::default()).await.into_iter().flatten() {
                    if object.data.get("status").is_some() {
                        line(
                            &mut text,
                            &format!("{} {}: {}", resource.kind, object.name_any(), state_of(&object.data)),
                        );
                    }
                }
            }
        }
        Err(error) => line(&mut text, &format!("{error:#}")),
    }
    text + &events(cluster, namespace).await + &pods(cluster, namespace).await
}

/// The pods of a namespace: state, and the end of the logs of what has not ended well.
pub(crate) async fn pods(cluster: &Cluster, namespace: &str) -> String {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let pods = match api.list(&ListParams::default()).await {
        Ok(pods) => pods,
        Err(error) => return format!("failed to list the pods of {namespace}: {error}\n"),
    };
    let mut text = String::new();
    for pod in pods {
        let status = serde_json::to_value(&pod.status).unwrap_or_default();
        let phase = status.get("phase").and_then(Value::as_str).unwrap_or("not observed");
        line(&mut text, &format!("pod {namespace}/{}: {phase}", pod.name_any()));
        for container in containers(&status) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let state = container.get("state").map(Value::to_string).unwrap_or_default();
            let restarts = container.get("restartCount").and_then(Value::as_i64).unwrap_or_default();
            line(&mut text, &format!("  container {name}: {state}, {restarts} restarts"));
            if container.pointer("/state/terminated/exitCode").and_then(Value::as_i64) != Some(0) {
                text += &log(&api, &pod.name_any(), name, restarts > 0).await;
            }
        }
        if let (Some(_), Some(uid)) = (&cluster.node, pod.uid()) {
            let folder =
                cluster.paths.log().join("pods").join(format!("{namespace}_{}_{uid}", pod.name_any()));
            line(&mut text, &format!("  whole logs: {}", folder.display()));
        }
    }
    text
}

fn containers(status: &Value) -> Vec<&Value> {
    ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|list| status.get(list)?.as_array())
        .flatten()
        .collect()
}

async fn log(api: &Api<Pod>, pod: &str, container: &str, restarted: bool) -> String {
    let params = |previous| LogParams {
        container: Some(container.to_owned()),
        tail_lines: Some(SEARCHED_LINES),
        previous,
        ..LogParams::default()
    };
    let mut text = String::new();
    for (previous, title) in [(true, "before its last restart"), (false, "now")] {
        if previous && !restarted {
            continue;
        }
        let said = api.logs(pod, &params(previous)).await.unwrap_or_default();
        let excerpt = Excerpt::of(&said);
        for (what, lines) in [("earlier errors and warnings", excerpt.complaints), ("the end", excerpt.end)] {
            if !lines.is_empty() {
                line(&mut text, &format!("    log {title}, {what}:"));
                lines.iter().for_each(|said| line(&mut text, &format!("      {said}")));
            }
        }
    }
    text
}

/// What is shown of a log.
#[derive(Debug, PartialEq)]
struct Excerpt<'a> {
    /// The last errors and warnings that the end does not show.
    complaints: Vec<&'a str>,
    end: Vec<&'a str>,
}

impl<'a> Excerpt<'a> {
    fn of(log: &'a str) -> Self {
        let mut before: Vec<&str> = log.lines().collect();
        let end = before.split_off(before.len().saturating_sub(LOG_LINES));
        let mut complaints: Vec<&str> = before.into_iter().filter(|line| is_complaint(line)).collect();
        complaints.drain(..complaints.len().saturating_sub(COMPLAINTS));
        Self { complaints: complaints.into_iter().map(beginning).collect(), end }
    }
}

/// Stack traces and whole objects in a line say nothing more.
fn beginning(line: &str) -> &str {
    line.char_indices().nth(COMPLAINT_CHARACTERS).map_or(line, |(end, _)| line.get(..end).unwrap_or(line))
}

/// Whether a line is an error or a warning, in the ways of the programs that run here: logrus, zap and our own, klog.
fn is_complaint(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let has_level = ["level=", "\"level\":\"", "\"level\": \""]
        .iter()
        .filter_map(|field| lower.split_once(field))
        .any(|(_, level)| ["err", "warn", "fatal", "panic"].iter().any(|bad| level.starts_with(bad)));
    let mut words = line.split(|character: char| !character.is_ascii_alphanumeric());
    let mut characters = line.chars();
    let is_klog = matches!(characters.next(), Some('E' | 'W' | 'F'))
        && characters.by_ref().take(4).filter(char::is_ascii_digit).count() == 4
        && characters.next() == Some(' ');
    has_level || is_klog || words.any(|word| matches!(word, "ERROR" | "WARN" | "WARNING" | "FATAL"))
}

async fn events(cluster: &Cluster, namespace: &str) -> String {
    let api: Api<Event> = Api::namespaced(cluster.client.clone(), namespace);
    let mut text = String::new();
    for event in api.list(&ListParams::default()).await.into_iter().flatten() {
        let object = &event.involved_object;
        let about =
            format!("{} {}", object.kind.as_deref().unwrap_or("?"), object.name.as_deref().unwrap_or("?"));
        let reason = event.reason.as_deref().unwrap_or("?");
        line(
            &mut text,
            &format!("event {reason} on {about}: {}", event.message.as_deref().unwrap_or("").trim()),
        );
    }
    text
}

/// What an object says of itself: conditions, phase, and the words that go with a failure; else its whole status.
pub(crate) fn state_of(data: &Value) -> String {
    let Some(status) = data.get("status") else { return "it has no status yet".to_owned() };
    let text =
        |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten().map(|entry| {
        let (kind, status) = (text(entry, "type"), text(entry, "status"));
        format!("{kind}={status}/{} {}", text(entry, "reason"), text(entry, "message")).trim().to_owned()
    });
    let words = ["phase", "message", "failureReason", "validationErrors", "errors", "warnings"];
    let fields = words.iter().filter_map(|word| Some(format!("{word} {}", status.get(word)?)));
    let said: Vec<String> = conditions.chain(fields).collect();
    if said.is_empty() { status.to_string() } else { said.join("; ") }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_speaks_by_its_conditions_its_phase_and_its_message() {
        let data = json!({"status": {"phase": "Pending", "conditions": [
            {"type": "Ready", "status": "False", "reason": "Waiting", "message": "for a volume"}]}});
        assert_eq!(state_of(&data), "Ready=False/Waiting for a volume; phase \"Pending\"");
        let failed = json!({"status": {"phase": "Failed", "message": "no such bucket", "progress": {}}});
        assert_eq!(state_of(&failed), "phase \"Failed\"; message \"no such bucket\"");
        assert_eq!(state_of(&json!({"status": {"replicas": 1}})), "{\"replicas\":1}");
        assert_eq!(state_of(&json!({})), "it has no status yet");
        let backup = json!({"status": {"phase": "PartiallyFailed", "errors": 2, "progress": {}}});
        assert_eq!(state_of(&backup), "phase \"PartiallyFailed\"; errors 2");
    }

    #[test]
    fn errors_and_warnings_are_known_by_their_level_whoever_wrote_them() {
        for complaint in [
            "time=\"2026-01-02T03:04:05Z\" level=error msg=\"Error listing items\" backup=velero/one",
            "time=\"2026-01-02T03:04:05Z\" level=warning msg=\"no volume\"",
            "{\"level\":\"error\",\"ts\":\"2026-01-02T03:04:05Z\",\"msg\":\"Reconciler error\"}",
            "{\"timestamp\":\"2026-01-02T03:04:05Z\",\"level\":\"WARN\",\"message\":\"slow\"}",
            "2026-01-02T03:04:05Z ERROR operator: failed to apply",
            "[ERROR] plugin/errors: 2 s3.velero.svc. A: i/o timeout",
            "E0102 03:04:05.678901       1 reflector.go:200] failed to list",
            "W0102 03:04:05.678901       1 warnings.go:70] deprecated",
        ] {
            assert!(is_complaint(complaint), "{complaint}");
        }
        for other in [
            "time=\"2026-01-02T03:04:05Z\" level=info msg=\"0 errors, no warning\"",
            "{\"level\":\"info\",\"msg\":\"error budget\"}",
            "I0102 03:04:05.678901       1 leaderelection.go:254] waiting",
            "E012 is not klog",
            "Error handling is fine",
            "",
        ] {
            assert!(!is_complaint(other), "{other}");
        }
    }

    #[test]
    fn of_a_long_log_the_last_complaints_and_the_end_are_shown_each_line_once() {
        let of_backup: Vec<String> =
            (0..50).flat_map(|n| [format!("level=info msg={n}"), format!("level=error msg={n}")]).collect();
        let log = of_backup.join("\n");
        let shown = Excerpt::of(&log);
        assert_eq!((shown.complaints.len(), shown.end.len()), (COMPLAINTS, LOG_LINES));
        assert_eq!(shown.end.first().copied(), Some("level=error msg=42"));
        assert_eq!(shown.complaints.last().copied(), Some("level=error msg=41"));
        assert_eq!(Excerpt::of("level=error"), Excerpt { complaints: vec![], end: vec!["level=error"] });
    }

    #[test]
    fn a_complaint_is_cut_where_it_goes_on_for_ever() {
        let long = "é".repeat(COMPLAINT_CHARACTERS + 1);
        assert_eq!(beginning(&long).chars().count(), COMPLAINT_CHARACTERS);
        assert_eq!(beginning("short"), "short");
    }
}
