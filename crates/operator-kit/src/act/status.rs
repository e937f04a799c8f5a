//! The status: written as a whole, and only if it says something else than before.

use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::{debug, info};

use super::{Error, Task, api};
use crate::plan::Plan;

impl Task<'_> {
    pub(super) async fn status<S: Serialize, E>(&mut self, plan: &Plan<S, E>) -> Result<(), Error> {
        let id = self.id();
        let desired = serde_json::to_value(&plan.status)
            .map_err(|source| Error::Status { object: id.to_string(), source })?;
        let current = self.object.data.get("status").cloned().unwrap_or_default();
        if !differs(&current, &desired, self.actor.clocks) {
            debug!("the status says it already");
            return Ok(());
        }
        info!(conditions = summary(&desired), "writing the status");
        let meta = &self.object.metadata;
        // Locked by uid and version: a status that was decided on an old object, or by an operator that has lost its
        // lease, is refused.
        let patch = Patch::Apply(json!({
            "apiVersion": self.actor.resource.api_version, "kind": self.actor.resource.kind,
            "metadata": {
                "name": meta.name, "namespace": meta.namespace, "uid": meta.uid,
                "resourceVersion": self.version(),
            },
            "status": desired}));
        // Forced: the status of our own kind is ours alone, and one that somebody edited by hand must not stay wrong.
        let params = PatchParams::apply(&self.actor.manager).force();
        let api = api(&self.actor.client, &self.actor.resource, &id.key);
        let request = api.patch_status(&id.key.name, &params, &patch);
        let written = self.write("write the status of", &id, request).await?;
        self.expect_own(&written);
        let sent = self.actor.announcer.announce(&current, &desired, &self.reference()).await;
        self.outcome.writes += sent;
        Ok(())
    }
}

/// Whether `desired` says something else than `current`; the fields in `clocks` only tell the time.
fn differs(current: &Value, desired: &Value, clocks: &[&str]) -> bool {
    let told = |status: &Value| {
        let mut told = status.as_object().cloned().unwrap_or_default();
        told.retain(|key, value| !clocks.contains(&key.as_str()) && !value.is_null());
        told
    };
    told(current) != told(desired)
}

/// `Ready=False/Installing Reconciling=True/...`, for the log.
fn summary(status: &Value) -> String {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
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
            ("first visit", Value::Null, status("1", "A"), true),
            ("nothing to say yet", Value::Null, json!({}), false),
            ("a field that is gone", json!({"a": 1}), json!({}), true),
            ("null is nothing", json!({}), json!({"a": null}), false),
        ];
        for (name, current, desired, expected) in table {
            assert_eq!(differs(&current, &desired, &["lastReconcileTime"]), expected, "{name}");
        }
    }

    #[test]
    fn the_log_names_each_condition_in_one_line() {
        let status = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Installing"}]});
        assert_eq!(summary(&status), "Ready=False/Installing");
    }
}
