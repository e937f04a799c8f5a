//! The status: written as a whole, and only if it says something else than before.

use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};
use tracing::info;

use super::{Error, Task, exchange};
use crate::object::ObjectId;

impl Task<'_> {
    pub(super) async fn status(&mut self, desired: &Value) -> Result<(), Error> {
        let id = self.id();
        info!(conditions = summary(desired), "writing the status");
        let meta = &self.object.metadata;
        let resource = &self.actor.terms.resource;
        // Locked by uid and version: a status that was decided on an old object, or by an operator that has lost its
        // lease, is refused.
        let patch = Patch::Apply(json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {
                "name": meta.name, "namespace": meta.namespace, "uid": meta.uid,
                "resourceVersion": self.version(),
            },
            "status": desired}));
        // Forced: the status of our own kind is ours alone, and one that somebody edited by hand must not stay wrong.
        let params = PatchParams::apply(&self.actor.manager).force();
        let request = exchange::request(&id).patch_subresource("status", &id.key.name, &params, &patch);
        let answer = exchange::send_status(&self.actor.client, request);
        let written = self.write("write the status of", &id, answer).await?;
        self.expect_own(&written.metadata);
        self.is_status_written = true;
        let term = &self.actor.term;
        let sent = self.actor.announcer.announce(self.object, desired, &self.reference(), term).await;
        self.outcome.writes += sent;
        // Last: it is said, whatever becomes of this.
        match written.data.get("status").and_then(|written| added(written, desired)) {
            Some(fields) => self.remove_added(&id, &fields).await,
            None => Ok(()),
        }
    }

    /// An apply leaves alone what somebody else has added, by hand or from a backup.
    async fn remove_added(&mut self, id: &ObjectId, fields: &Value) -> Result<(), Error> {
        info!(%fields, "removing what somebody else added to the status");
        let patch = Patch::Merge(json!({"metadata": {"resourceVersion": self.version()}, "status": fields}));
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let request = exchange::request(id).patch_subresource("status", &id.key.name, &params, &patch);
        let answer = exchange::send(&self.actor.client, request);
        let written = self.write("write the status of", id, answer).await?;
        self.expect_own(&written);
        Ok(())
    }
}

/// The merge patch that removes what `written` has besides `desired`. Conditions of types that we do not say are somebody
/// else's, and stay.
fn added(written: &Value, desired: &Value) -> Option<Value> {
    let (written, desired) = (written.as_object()?, desired.as_object()?);
    let wrong = written.iter().filter_map(|(name, written)| {
        let removed = match desired.get(name).filter(|desired| !desired.is_null()) {
            None if written.is_null() => return None,
            None => Value::Null,
            Some(desired @ Value::Array(_)) if name != CONDITIONS && desired != written => desired.clone(),
            Some(desired) => added(written, desired)?,
        };
        Some((name.clone(), removed))
    });
    let fields: Map<String, Value> = wrong.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Counts the writes of a status that changed more than messages: what order they had is known without a clock.
const SEQUENCE: &str = "sequence";
const CONDITIONS: &str = "conditions";

/// The status as it is written, if it says something else than before.
pub(super) fn next(current: &Value, desired: &Value, clocks: &[&str]) -> Option<Value> {
    if !differs(current, desired, clocks) {
        return None;
    }
    let known = current.get(SEQUENCE).and_then(Value::as_i64).unwrap_or_default();
    let mut next = desired.clone();
    let fields = next.as_object_mut()?;
    let is_more = differs(&without_messages(current), &without_messages(desired), clocks);
    fields.insert(SEQUENCE.to_owned(), known.saturating_add(is_more.into()).into());
    Some(next)
}

/// A message is a field of this name, wherever it stands.
fn without_messages(status: &Value) -> Value {
    match status {
        Value::Object(fields) => {
            let others = fields.iter().filter(|(name, _)| *name != "message");
            others.map(|(name, value)| (name.clone(), without_messages(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_messages).collect(),
        other => other.clone(),
    }
}

/// Whether `desired` says something else than `current`; the fields in `clocks` only tell the time. Conditions of types that
/// we do not say are somebody else's.
fn differs(current: &Value, desired: &Value, clocks: &[&str]) -> bool {
    let said = types(desired);
    let is_ours = |condition: &&Value| said.contains(&type_of(condition));
    let is_same = |(name, one): (&String, &Value)| match (one, desired.get(name)) {
        (Value::Array(one), Some(Value::Array(other))) if name == CONDITIONS => {
            one.iter().filter(is_ours).eq(other.iter().filter(is_ours))
        }
        (one, other) => Some(one) == other,
    };
    told(current, clocks).count() != told(desired, clocks).count() || !told(current, clocks).all(is_same)
}

/// The fields that say something.
fn told<'a>(status: &'a Value, clocks: &'a [&str]) -> impl Iterator<Item = (&'a String, &'a Value)> + 'a {
    let fields = status.as_object().into_iter().flatten();
    fields.filter(|(name, value)| *name != SEQUENCE && !clocks.contains(&name.as_str()) && !value.is_null())
}

fn types(status: &Value) -> Vec<&str> {
    status.get(CONDITIONS).and_then(Value::as_array).into_iter().flatten().map(type_of).collect()
}

fn type_of(condition: &Value) -> &str {
    condition.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// `Ready=False/Installing Reconciling=True/...`, for the log.
fn summary(status: &Value) -> String {
    let conditions = status.get(CONDITIONS).and_then(Value::as_array).into_iter().flatten();
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let told = conditions.map(|condition| {
        format!("{}={}/{}", text(condition, "type"), text(condition, "status"), text(condition, "reason"))
    });
    told.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_alone_is_no_difference() {
        let status = |time: &str, reason: &str| json!({"lastReconcileTime": time, "conditions": [{"type": "Ready", "reason": reason}]});
        let table = [
            ("only the clock", status("1", "A"), status("2", "A"), false),
            ("something happened", status("1", "A"), status("2", "B"), true),
            ("first reconcile", Value::Null, status("1", "A"), true),
            ("nothing to say yet", Value::Null, json!({}), false),
            ("a field that is gone", json!({"a": 1}), json!({}), true),
            ("null is nothing", json!({}), json!({"a": null}), false),
        ];
        for (name, current, desired, expected) in table {
            assert_eq!(differs(&current, &desired, &["lastReconcileTime"]), expected, "{name}");
        }
    }

    #[test]
    fn what_somebody_added_to_a_status_is_taken_out_of_it() {
        let table = [
            ("nothing", json!({"a": 1}), json!({"a": 1}), None),
            ("null is nothing", json!({"a": null}), json!({"b": null}), None),
            ("a field", json!({"a": 1, "b": 2}), json!({"a": 1}), Some(json!({"b": null}))),
            (
                "deep inside",
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 1}}),
                Some(json!({"a": {"c": null}})),
            ),
            ("in a list", json!({"a": [1, 2]}), json!({"a": [1]}), Some(json!({"a": [1]}))),
            ("a condition", json!({"conditions": [{"type": "Foo"}]}), json!({"conditions": []}), None),
        ];
        for (name, written, desired, expected) in table {
            assert_eq!(added(&written, &desired), expected, "{name}");
        }
    }

    #[test]
    fn a_write_that_changes_more_than_messages_is_counted() {
        let status = |sequence: Option<i64>, reason: &str, message: &str| {
            let mut status =
                json!({"at": 1, "conditions": [{"type": "Ready", "reason": reason, "message": message}]});
            if let Some(sequence) = sequence {
                status["sequence"] = sequence.into();
            }
            status
        };
        let table = [
            ("the first", Value::Null, status(None, "A", "x"), Some(1)),
            ("another reason", status(Some(1), "A", "x"), status(Some(1), "B", "x"), Some(2)),
            ("other words", status(Some(2), "A", "x"), status(Some(2), "A", "y"), Some(2)),
            (
                "other words elsewhere",
                json!({"sequence": 2, "complaint": {"about": "A", "message": "x"}}),
                json!({"complaint": {"about": "A", "message": "y"}}),
                Some(2),
            ),
            ("the same", status(Some(2), "A", "x"), status(Some(2), "A", "x"), None),
            ("whatever the plan thinks", status(Some(2), "A", "x"), status(Some(7), "B", "x"), Some(3)),
            ("from before it was counted", status(None, "A", "x"), status(None, "A", "x"), None),
        ];
        for (name, current, desired, expected) in table {
            let written = next(&current, &desired, &[]).map(|status| status["sequence"].as_i64().unwrap());
            assert_eq!(written, expected, "{name}");
        }
    }

    #[test]
    fn a_condition_of_somebody_else_is_no_difference() {
        let ours = json!({"type": "Ready", "status": "True"});
        let theirs = json!({"type": "Foo", "status": "True"});
        let status = |conditions: &[&Value]| json!({ "conditions": conditions });
        let table = [
            ("beside ours", status(&[&ours, &theirs]), status(&[&ours]), false),
            ("before ours", status(&[&theirs, &ours]), status(&[&ours]), false),
            ("instead of ours", status(&[&theirs]), status(&[&ours]), true),
        ];
        for (name, current, desired, expected) in table {
            assert_eq!(differs(&current, &desired, &[]), expected, "{name}");
        }
    }

    #[test]
    fn the_log_names_each_condition_in_one_line() {
        let status = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Installing"}]});
        assert_eq!(summary(&status), "Ready=False/Installing");
    }
}
