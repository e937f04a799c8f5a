//! Operation (`operations.ops.vworkspace.io`): a task on an application that is done once: a backup, a restore, an upgrade,
//! a command. What belongs here: the shape of its spec and status with the rules that the API server holds against them,
//! what an operation can be asked for (`template`) and with which parameters, and what its conditions can say. What does
//! not: how an engine does it.
//!
//! A field's documentation is what `kubectl explain` and the reference page show: it is written for users.
// KubeSchema repeats each struct inside a function, where `pub` reaches nobody.
#![allow(unreachable_pub)]

mod approvals;
pub mod parameters;
mod policy;
mod status;
mod target;
mod template;
mod vocabulary;
mod work;

pub use approvals::Approvals;
pub use parameters::{
    BackupParameters, ExistingResourcePolicy, Problems, Request, RestoreParameters, RunCommandParameters,
    UpgradeParameters,
};
pub use policy::Policy;
pub use status::{ApprovedOperation, EngineRef, LogsRef, OperationStatus, Phase};
pub use target::TargetRef;
pub use template::{Parameter, ParameterKind, RUNNER, TEMPLATES, Template};
pub use vocabulary::{Accepted, Blocked, Cancelled, Failed, Running, Succeeded};
pub use work::{Engine, OperationType};

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Duration;
use crate::rule;
use crate::schema::is_default;

/// What shall be done, to which application, and under which conditions. What is asked for cannot be changed later: create
/// another operation. cancel, approvals and ttlAfterFinished can; policy and timeout until the engine was given its work.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ops.vworkspace.io",
    version = "v1alpha1",
    kind = "Operation",
    plural = "operations",
    shortname = "op",
    category = "vworkspace",
    namespaced,
    status = "OperationStatus",
    derive = "PartialEq",
    doc = "A task on an application that is done once: a backup, a restore, an upgrade, a migration, a command or a runbook.",
    printcolumn(
        name = "Phase",
        type_ = "string",
        description = "How far it is",
        json_path = ".status.phase"
    ),
    printcolumn(name = "Reason", type_ = "string", description = "Why", json_path = ".status.reason"),
    printcolumn(name = "Type", type_ = "string", description = "What is asked for", json_path = ".spec.type"),
    printcolumn(name = "Engine", type_ = "string", description = "What does it", json_path = ".spec.engine"),
    printcolumn(
        name = "Target",
        type_ = "string",
        description = "The application",
        json_path = ".spec.targetRef.name"
    ),
    printcolumn(
        name = "Duration",
        type_ = "string",
        description = "How long it took",
        json_path = ".status.duration"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Since when the operation exists",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "The reason in words",
        json_path = ".status.message",
        priority = 1
    ),
    // The status is seen from up here only. Not by optionals (.?): the API server takes those for too expensive.
    validation = rule::block_found(
        "!has(oldSelf.status) || !has(oldSelf.status.engineRef) || (has(self.spec.timeout) ? has(oldSelf.spec.timeout) && self.spec.timeout == oldSelf.spec.timeout : !has(oldSelf.spec.timeout))",
        "\"spec.timeout was '\" + (has(oldSelf.spec.timeout) ? oldSelf.spec.timeout : \"\") + \"' and would become '\" + (has(self.spec.timeout) ? self.spec.timeout : \"\") + \"'; expected no change of spec.timeout, because the engine was given its work already\""
    ),
    validation = rule::block(
        "!has(oldSelf.status) || !has(oldSelf.status.engineRef) || (has(self.spec.policy) ? has(oldSelf.spec.policy) && self.spec.policy == oldSelf.spec.policy : !has(oldSelf.spec.policy))",
        "spec.policy would change; expected no change, because the engine was given its work already: cancel the operation or create another"
    )
)]
#[x_kube(validation = rule::block(
    "!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)",
    "spec.cancel was true and would become false; expected true, because what is cancelled does not start again: create another operation"
))]
#[serde(rename_all = "camelCase")]
pub struct OperationSpec {
    /// The application that it is about. Cannot be changed later.
    pub target_ref: TargetRef,

    /// What shall be done. Cannot be changed later.
    #[serde(rename = "type")]
    #[x_kube(validation = rule::immutable("spec.type", "an operation does one thing: create another"))]
    pub type_: OperationType,

    /// What does it. Which engine can do what stands in the reference. Cannot be changed later.
    #[x_kube(validation = rule::immutable("spec.engine", "an operation does one thing: create another"))]
    pub engine: Engine,

    /// What the engine is told; which names there are depends on type and engine. Cannot be changed later.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "template::parameters_schema")]
    pub parameters: Map<String, Value>,

    /// Whether it waits for somebody's approval, and the approval.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approvals: Approvals,

    /// What must hold before it starts. Cannot be changed once the engine was given its work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: Policy,

    /// How long the engine may take, such as 30m or 4h; without it as long as it takes. Cannot be changed once the engine was
    /// given its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.timeout", "1s", "8760h"))]
    pub timeout: Option<Duration>,

    /// true cancels the operation. It cannot become false again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancel: bool,

    /// How long the operation is kept once it has ended, such as 168h; without it until somebody deletes it. What it made, such
    /// as a backup, stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.ttlAfterFinished", "0s", "87600h"))]
    pub ttl_after_finished: Option<Duration>,
}

impl OperationSpec {
    /// What is known of this type with this engine; nothing, where the engine cannot do it.
    #[must_use]
    pub fn template(&self) -> Option<&'static Template> {
        Template::of(self.type_, self.engine)
    }

    /// Whether the target must be ready first: as spec.policy says, or else as it is for this type.
    #[must_use]
    pub fn requires_ready(&self) -> bool {
        self.policy
            .require_ready
            .unwrap_or_else(|| self.template().is_none_or(|template| template.requires_ready))
    }

    /// What an approval is about: everything but what may be changed without asking again.
    #[must_use]
    pub fn approved_content(&self) -> Value {
        let mut spec = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut spec {
            fields.retain(|name, _| !["cancel", "approvals", "ttlAfterFinished"].contains(&name.as_str()));
        }
        spec
    }

    /// Whether it may only start with an approval.
    #[must_use]
    pub fn needs_approval(&self) -> bool {
        self.approvals.required || self.template().is_some_and(|template| template.needs_approval)
    }
}

#[cfg(test)]
mod tests;
