//! Operations and worlds for tests: as they are when nothing is in the way.

use std::time::Duration;

use agent_protocol::PublicKeys;
use jiff::Timestamp;
use operator_kit::{Child, Deletion, Plan, Sight};
use serde_json::{Value, json};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{EngineRef, Operation, OperationStatus};

use super::Rules;
use crate::controllers::operation::engines::{Engine, State, Stop};
use crate::controllers::operation::observe::{AllowedTypes, Other, World};

pub(super) fn noon() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

pub(super) fn after(seconds: i64) -> Timestamp {
    noon().checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap()
}

pub(super) fn rules() -> Rules {
    Rules { approval_keys: PublicKeys::default(), claim_secret: None }
}

/// A command on `web`, created at noon, with this in its spec.
pub(super) fn command(name: &str, spec: &Value) -> Operation {
    let mut object = json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-uid"), "generation": 1,
            "creationTimestamp": "2026-11-16T12:00:00Z"},
        "spec": {
            "targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": "RunCommand", "engine": "job", "parameters": {"image": "tools:1"}}});
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(object).unwrap()
}

/// The same with a status.
pub(super) fn with_status(mut operation: Operation, status: OperationStatus) -> Operation {
    operation.status = Some(status);
    operation
}

/// The target, ready and able.
pub(super) fn target() -> ApplicationInstance {
    serde_json::from_value(json!({
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
        "metadata": {"name": "web", "namespace": "shop", "generation": 1,
            "annotations": {"ops.vworkspace.io/runcommand": "job", "ops.vworkspace.io/backup": "velero, volsync",
                "ops.vworkspace.io/upgrade": "helm"}},
        "spec": {"appRef": {"catalogId": "web"}, "mode": "placeholder"},
        "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "Placeholder",
            "message": "", "lastTransitionTime": "2026-11-16T11:00:00Z", "observedGeneration": 1}]}}))
    .unwrap()
}

/// An engine that is as a test wants it.
#[derive(Clone)]
pub(super) struct Stub {
    pub(super) state: State,
    pub(super) uid: &'static str,
    pub(super) lacks: Option<String>,
    pub(super) stop: Stop,
}

impl Stub {
    pub(super) fn with(state: State) -> Self {
        Self { state, uid: "job-uid", lacks: None, stop: Stop::Underway }
    }
}

impl Engine for Stub {
    fn lacks(&self) -> Option<String> {
        self.lacks.clone()
    }

    fn start(&self, operation: &Operation) -> Vec<Child> {
        let key = crate::controllers::operation::engines::job::key(operation);
        vec![Child::new::<k8s_openapi::api::batch::v1::Job>(&key)]
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        (!matches!(self.state, State::NotStarted | State::Unknown(_))).then(|| EngineRef {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            name: "a-job".to_owned(),
            namespace: "shop".to_owned(),
            uid: Some(self.uid.to_owned()),
        })
    }

    fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        None
    }
}

/// A world in which nothing is in the way, with this engine.
pub(super) fn world(engine: Stub) -> World {
    World {
        engine: Ok(Box::new(engine)),
        target: Sight::Present(target()),
        others: Vec::new(),
        allowed_types: AllowedTypes::All,
        is_namespace_ending: false,
        refusals: Vec::new(),
        cluster: "lab".to_owned(),
    }
}

pub(super) fn other(operation: Operation, state: State) -> Other {
    Other { operation, engine: Some(Box::new(Stub::with(state))) }
}

/// `Status/Reason` of a condition.
pub(super) fn says(plan: &Plan<OperationStatus>, type_: &str) -> String {
    let condition = plan.status.conditions.get(type_);
    condition.map(|known| format!("{}/{}", known.status, known.reason)).unwrap_or_default()
}

/// What a condition says in words.
pub(super) fn words(plan: &Plan<OperationStatus>, type_: &str) -> String {
    plan.status.conditions.get(type_).map(|known| known.message.clone()).unwrap_or_default()
}
