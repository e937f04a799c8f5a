//! What is counted of operations: how many ended how, and how long their engines took.

use kube::api::DynamicObject;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use serde_json::Value;
use vworkspace_api::operation::{Engine, OperationStatus, OperationType, Phase};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    r#type: &'static str,
    engine: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Work {
    r#type: &'static str,
    engine: &'static str,
}

/// Counts operations as they end.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    ended: Family<Ended, Counter>,
    durations: Family<Work, Histogram>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        // From a second to a day.
        let histogram = || Histogram::new([1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0]);
        Self { ended: Family::default(), durations: Family::new_with_constructor(histogram) }
    }

    /// The library adds `_total` to counters.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let name = |name: &str| format!("vworkspace_operator_operation{name}");
        registry.register(name(""), "Operations that have ended, by how they ended", self.ended.clone());
        registry.register(
            name("_duration_seconds"),
            "From the start of an operation's engine to its end",
            self.durations.clone(),
        );
    }

    /// A status was written: counts, if it is the one with which an operation ended.
    pub(crate) fn written(&self, object: &DynamicObject, after: &Value) {
        let is_operation = object.types.as_ref().is_some_and(|types| types.kind == "Operation");
        if is_operation && !super::has_ended(object) {
            self.count(object, after);
        }
    }

    fn count(&self, object: &DynamicObject, after: &Value) -> Option<()> {
        let status: OperationStatus = serde_json::from_value(after.clone()).ok()?;
        let phase = status.phase.filter(|phase| phase.is_final())?;
        let (r#type, engine) = asked_for(object)?;
        self.ended.get_or_create(&Ended { r#type, engine, outcome: outcome(phase) }).inc();
        let took = status.finished_at?.0.duration_since(status.started_at?.0);
        self.durations.get_or_create(&Work { r#type, engine }).observe(took.as_secs_f64());
        Some(())
    }
}

fn asked_for(object: &DynamicObject) -> Option<(&'static str, &'static str)> {
    let spec = object.data.get("spec")?;
    let type_: OperationType = serde_json::from_value(spec.get("type")?.clone()).ok()?;
    let engine: Engine = serde_json::from_value(spec.get("engine")?.clone()).ok()?;
    Some((type_.as_str(), engine.as_str()))
}

fn outcome(phase: Phase) -> &'static str {
    match phase {
        Phase::Succeeded => "succeeded",
        Phase::Failed => "failed",
        Phase::Cancelled => "cancelled",
        Phase::Pending | Phase::Running => "unfinished",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;
    use serde_json::json;

    fn text_of(metrics: &Metrics) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn an_operation_is_counted_once_when_it_ends() {
        let metrics = Metrics::new();
        let object = |status: &Value| -> DynamicObject {
            serde_json::from_value(json!({"apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
                "metadata": {"name": "a"}, "spec": {"type": "Backup", "engine": "velero"}, "status": status}))
            .unwrap()
        };
        let ended = json!({"phase": "Succeeded", "startedAt": "2026-11-16T12:00:00Z", "finishedAt": "2026-11-16T12:00:07Z"});
        metrics.written(&object(&Value::Null), &json!({"phase": "Running"}));
        assert!(!text_of(&metrics).contains("succeeded"), "it has not ended");
        metrics.written(&object(&json!({"phase": "Running"})), &ended);
        metrics.written(&object(&ended), &ended);
        let text = text_of(&metrics);
        for line in [
            r#"vworkspace_operator_operation_total{type="Backup",engine="velero",outcome="succeeded"} 1"#,
            r#"vworkspace_operator_operation_duration_seconds_sum{type="Backup",engine="velero"} 7.0"#,
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
        let documented = include_str!("../../../../../docs/operations.md");
        for name in ["vworkspace_operator_operation_total", "vworkspace_operator_operation_duration_seconds"]
        {
            assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/operations.md");
        }
    }
}
