//! Kubernetes Events: one for each condition that says something else than before, and none at rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as SentEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::DynamicObject;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::events::{Event, EventType};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::ANSWER;
use super::sent::{Sent, Told, hash_of};
use crate::election::Term;

/// The API server takes no longer note.
const LONGEST_NOTE: usize = 1000;

/// Hears of each status that the API server has confirmed: of which object, as it was before, and what it says now. One
/// whose answer got lost is not heard of: who must know of every state compares `status.sequence`.
pub type StatusListener = dyn Fn(&DynamicObject, &Value) + Send + Sync;

/// Tells the transitions of conditions.
pub(crate) struct Announcer {
    client: Client,
    controller: String,
    /// Whether a condition of this type is a warning when it is True.
    is_warning: fn(&str) -> bool,
    listeners: Arc<[Arc<StatusListener>]>,
    /// Which of several processes it is.
    instance: String,
    sent: Mutex<Sent>,
}

impl Announcer {
    pub(crate) fn new(
        client: Client,
        controller: String,
        is_warning: fn(&str) -> bool,
        listeners: Arc<[Arc<StatusListener>]>,
    ) -> Self {
        let instance = std::env::var("POD_NAME").unwrap_or_else(|_| controller.clone());
        Self {
            client,
            controller,
            is_warning,
            listeners,
            instance,
            sent: Mutex::new(Sent::new(Instant::now())),
        }
    }

    /// Sends what changed between two statuses, for as long as this process leads; an Event that cannot be sent is only a
    /// pity. Returns how many were sent.
    pub(crate) async fn announce(
        &self,
        object: &DynamicObject,
        after: &Value,
        about: &ObjectReference,
        term: &Term,
    ) -> u64 {
        for listener in self.listeners.iter() {
            listener(object, after);
        }
        let before = object.data.get("status").unwrap_or(&Value::Null);
        let mut sent = 0;
        for event in transitions(before, after, self.is_warning) {
            if !term.lasts() {
                debug!(
                    reason = event.reason,
                    "this process may not be the leader any more: an event is left out"
                );
                continue;
            }
            if !self.sent().allows(counted_with(&event, about), Instant::now()) {
                debug!(reason = event.reason, "too many events about this object: left out");
                continue;
            }
            sent += 1;
            match timeout(ANSWER, self.publish(&event, about)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, reason = event.reason, "failed to send an event"),
                Err(_) => warn!(reason = event.reason, "failed to send an event: no answer"),
            }
        }
        sent
    }

    /// Sends an Event, or counts up the one that said the same of the same object lately.
    async fn publish(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let same = same_as(event, about);
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let api: Api<SentEvent> = Api::namespaced(self.client.clone(), namespace);
        let (now, at) = (Timestamp::now(), Instant::now());
        let known = self.sent().same(same, at);
        let told = match known {
            Some(Told { number, count, .. }) => Told { number, count: count + 1, at },
            None => Told { number: now.as_microsecond(), count: 1, at },
        };
        let name = format!("{}.{:x}", about.name.as_ref().unwrap_or(&self.controller), told.number);
        if known.is_some() {
            let series = json!({"series": {"count": told.count, "lastObservedTime": MicroTime(now)}});
            api.patch(&name, &PatchParams::default(), &Patch::Merge(series)).await?;
        } else {
            api.create(&PostParams::default(), &self.first(event, about, name, now)).await?;
        }
        self.sent().note(same, told);
        Ok(())
    }

    fn first(&self, event: &Event, about: &ObjectReference, name: String, now: Timestamp) -> SentEvent {
        SentEvent {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: about.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some(event.action.clone()),
            reason: Some(event.reason.clone()),
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            note: event.note.clone(),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(if event.type_ == EventType::Normal { "Normal" } else { "Warning" }.to_owned()),
            ..SentEvent::default()
        }
    }

    // A panic elsewhere leaves whole values behind.
    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which Events share one allowance: warnings by themselves, because what is usual must not crowd them out.
fn counted_with(event: &Event, about: &ObjectReference) -> u64 {
    hash_of((&about.uid, event.type_ == EventType::Normal))
}

/// Which Events say the same of the same object, and are counted as one.
fn same_as(event: &Event, about: &ObjectReference) -> u64 {
    let is_normal = event.type_ == EventType::Normal;
    hash_of((&about.uid, &about.name, &event.action, &event.reason, &event.note, is_normal))
}

/// One Event for each condition whose status or reason changed. A condition that is said for the first time is no
/// change, unless it is a warning.
fn transitions(before: &Value, after: &Value, is_warning: fn(&str) -> bool) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for condition in conditions(after) {
        let [type_, status, reason] = ["type", "status", "reason"].map(|field| text(condition, field));
        let known = conditions(before).find(|known| text(known, "type") == type_);
        let is_new = known.map_or(status == "True" && is_warning(type_), |known| {
            (text(known, "status"), text(known, "reason")) != (status, reason)
        });
        let message = text(condition, "message");
        let note = format!("{type_}={status}{}{message}", if message.is_empty() { "" } else { ": " });
        // `Stalled` and `Ready` often say the same thing with the same words: once is enough.
        if is_new && !events.iter().any(|event| event.reason == reason) {
            events.push(Event {
                type_: if warns(after, reason, is_warning) { EventType::Warning } else { EventType::Normal },
                reason: reason.to_owned(),
                note: Some(note.chars().take(LONGEST_NOTE).collect()),
                action: type_.to_owned(),
                secondary: None,
            });
        }
    }
    events
}

/// Whether a condition that is a warning gives this reason.
fn warns(status: &Value, reason: &str, is_warning: fn(&str) -> bool) -> bool {
    conditions(status).any(|condition| {
        is_warning(text(condition, "type"))
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

    fn is_warning(type_: &str) -> bool {
        ["Stalled", "Degraded", "Blocked", "Failed"].contains(&type_)
    }

    fn status(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(type_, status, reason)| json!({"type": type_, "status": status, "reason": reason, "message": "m"}))
            .collect();
        json!({ "conditions": conditions })
    }

    fn told(before: &Value, after: &Value) -> Vec<(String, EventType)> {
        transitions(before, after, is_warning).into_iter().map(|event| (event.reason, event.type_)).collect()
    }

    #[tokio::test]
    async fn another_message_is_another_event_and_warnings_are_counted_by_themselves() {
        let before = status(&[("Ready", "True", "HelmReleaseReady")]);
        let failed = status(&[("Ready", "False", "Installing"), ("Blocked", "True", "MissingSecret")]);
        let mut other = failed.clone();
        other["conditions"][1]["message"] = json!("another Secret");
        let (failed, other) =
            (transitions(&before, &failed, is_warning), transitions(&before, &other, is_warning));
        let about = ObjectReference { uid: Some("u".to_owned()), ..ObjectReference::default() };
        let [usual, warning] = failed.as_slice() else { panic!("{} events", failed.len()) };
        assert_eq!((usual.type_, warning.type_), (EventType::Normal, EventType::Warning));
        let (client, _) = crate::act::testing::answering(|_| crate::act::testing::status(404));
        let announcer = crate::act::testing::actor(client).announcer;
        let sent = |event| announcer.first(event, &about, "e".to_owned(), Timestamp::UNIX_EPOCH).type_;
        assert_eq!((sent(usual).as_deref(), sent(warning).as_deref()), (Some("Normal"), Some("Warning")));
        assert_eq!(same_as(usual, &about), same_as(&other[0], &about), "the same words");
        assert_ne!(same_as(warning, &about), same_as(&other[1], &about), "other words");
        assert_ne!(counted_with(usual, &about), counted_with(warning, &about));
        assert_eq!(counted_with(warning, &about), counted_with(&other[1], &about));
    }

    #[test]
    fn a_first_reconcile_tells_trouble_and_nothing_else() {
        let first = status(&[
            ("Ready", "Unknown", "Reconciling"),
            ("Degraded", "False", "NotDegraded"),
            ("Reconciling", "True", "ChartSourceSyncing"),
            ("Blocked", "True", "MissingSecret"),
        ]);
        assert_eq!(told(&Value::Null, &first), [("MissingSecret".to_owned(), EventType::Warning)]);
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

    #[tokio::test]
    async fn whoever_listens_hears_of_every_status_that_was_written() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        let listener: Arc<StatusListener> = Arc::new(move |object: &DynamicObject, after: &Value| {
            log.lock().unwrap().push((object.metadata.name.clone(), after.clone()));
        });
        let (client, _) = crate::act::testing::answering(|_| crate::act::testing::status(404));
        let announcer = Announcer::new(client, "test".to_owned(), is_warning, [listener].into());
        let about = ObjectReference { name: Some("web".to_owned()), ..ObjectReference::default() };
        let (before, after) = (status(&[("Ready", "True", "A")]), status(&[("Ready", "True", "B")]));
        let object = serde_json::json!({"metadata": {"name": "web"}, "status": before});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        announcer.announce(&object, &after, &about, &Term::endless()).await;
        assert_eq!(*heard.lock().unwrap(), [(Some("web".to_owned()), after)]);
    }
}
