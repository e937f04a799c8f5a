//! Kubernetes Events: one for each condition that says something else than before, and none at rest.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::ANSWER;

/// The API server takes no longer note.
const LONGEST_NOTE: usize = 1000;
/// Types that mean trouble when they are True.
const TROUBLE: [&str; 4] = ["Stalled", "Degraded", "Blocked", "Failed"];
/// As many Events at once may be about one object, and one more after each pause: as Kubernetes' own clients do it.
const BURST: f64 = 25.0;
const ONE_MORE_AFTER: Duration = Duration::from_secs(300);

/// Tells the transitions of conditions.
pub(crate) struct Announcer {
    recorder: Recorder,
    allowance: Mutex<HashMap<String, Allowance>>,
}

impl Announcer {
    pub(crate) fn new(client: Client, controller: String) -> Self {
        let reporter = Reporter { controller, instance: std::env::var("POD_NAME").ok() };
        Self { recorder: Recorder::new(client, reporter), allowance: Mutex::default() }
    }

    /// Sends what changed between two statuses; an Event that cannot be sent is only a pity. Returns how many were sent.
    pub(crate) async fn announce(&self, before: &Value, after: &Value, about: &ObjectReference) -> u64 {
        let mut sent = 0;
        for event in transitions(before, after) {
            if !self.may_send(about) {
                debug!(reason = event.reason, "too many events about this object: left out");
                continue;
            }
            sent += 1;
            match timeout(ANSWER, self.recorder.publish(&event, about)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, reason = event.reason, "failed to send an event"),
                Err(_) => warn!(reason = event.reason, "failed to send an event: no answer"),
            }
        }
        sent
    }

    fn may_send(&self, about: &ObjectReference) -> bool {
        let mut allowances = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // Whoever has its whole allowance again need not be remembered.
        allowances.retain(|_, allowance| allowance.left_at(now) < BURST);
        let uid = about.uid.clone().unwrap_or_default();
        allowances.entry(uid).or_insert(Allowance { left: BURST, at: now }).take(now)
    }
}

/// How many Events may still be sent about one object.
#[derive(Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn left_at(&self, now: Instant) -> f64 {
        let earned = now.duration_since(self.at).as_secs_f64() / ONE_MORE_AFTER.as_secs_f64();
        (self.left + earned).min(BURST)
    }

    fn take(&mut self, now: Instant) -> bool {
        let left = self.left_at(now);
        let may = left >= 1.0;
        *self = Self { left: if may { left - 1.0 } else { left }, at: now };
        may
    }
}

/// One Event for each condition whose status or reason changed. A condition that is said for the first time is no
/// change, unless it is True.
fn transitions(before: &Value, after: &Value) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for condition in conditions(after) {
        let [type_, status, reason] = ["type", "status", "reason"].map(|field| text(condition, field));
        let known = conditions(before).find(|known| text(known, "type") == type_);
        let is_new = known.map_or(status == "True", |known| {
            (text(known, "status"), text(known, "reason")) != (status, reason)
        });
        let message = text(condition, "message");
        let note = format!("{type_}={status}{}{message}", if message.is_empty() { "" } else { ": " });
        // `Stalled` and `Ready` often say the same thing with the same words: once is enough.
        if is_new && !events.iter().any(|event| event.reason == reason) {
            events.push(Event {
                type_: if is_trouble(after, reason) { EventType::Warning } else { EventType::Normal },
                reason: reason.to_owned(),
                note: Some(note.chars().take(LONGEST_NOTE).collect()),
                action: type_.to_owned(),
                secondary: None,
            });
        }
    }
    events
}

/// Whether a condition that means trouble gives this reason.
fn is_trouble(status: &Value, reason: &str) -> bool {
    conditions(status).any(|condition| {
        TROUBLE.contains(&text(condition, "type"))
            && text(condition, "status") == "True"
            && text(condition, "reason") == reason
    })
}

fn conditions(status: &Value) -> impl Iterator<Item = &Value> {
    status.get("conditions").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(type_, status, reason)| json!({"type": type_, "status": status, "reason": reason, "message": "m"}))
            .collect();
        json!({ "conditions": conditions })
    }

    fn told(before: &Value, after: &Value) -> Vec<(String, EventType)> {
        transitions(before, after).into_iter().map(|event| (event.reason, event.type_)).collect()
    }

    #[test]
    fn a_first_visit_tells_what_holds_and_not_what_does_not() {
        let first = status(&[
            ("Ready", "Unknown", "Reconciling"),
            ("Blocked", "False", "NotBlocked"),
            ("Reconciling", "True", "ChartSourceSyncing"),
        ]);
        assert_eq!(told(&Value::Null, &first), [("ChartSourceSyncing".to_owned(), EventType::Normal)]);
    }

    #[test]
    fn a_change_of_status_or_reason_is_told_and_a_message_is_not() {
        let before = status(&[("Ready", "False", "Installing")]);
        let mut other_words = before.clone();
        other_words["conditions"][0]["message"] = json!("other words");
        assert_eq!(told(&before, &other_words), []);
        let after = status(&[("Ready", "True", "HelmReleaseReady")]);
        assert_eq!(told(&before, &after), [("HelmReleaseReady".to_owned(), EventType::Normal)]);
        let again = status(&[("Ready", "False", "Upgrading")]);
        assert_eq!(told(&before, &again), [("Upgrading".to_owned(), EventType::Normal)]);
    }

    #[test]
    fn trouble_is_a_warning_and_told_once() {
        let before = status(&[("Ready", "False", "Installing"), ("Stalled", "False", "NotStalled")]);
        let after =
            status(&[("Ready", "False", "HelmReleaseFailed"), ("Stalled", "True", "HelmReleaseFailed")]);
        assert_eq!(told(&before, &after), [("HelmReleaseFailed".to_owned(), EventType::Warning)]);
    }

    #[test]
    fn an_object_that_flaps_is_told_of_less_and_less() {
        let start = Instant::now();
        let mut allowance = Allowance { left: BURST, at: start };
        let sent = (0..100).filter(|_| allowance.take(start)).count();
        assert_eq!(sent, 25);
        assert!(!allowance.take(start + ONE_MORE_AFTER / 2));
        assert!(allowance.take(start + ONE_MORE_AFTER));
    }
}
