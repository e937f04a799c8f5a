//! What is known about an operation.

use std::fmt;

use conditions::ConditionSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Operation;
use crate::schema::{self, is_default};

/// What is known about the operation.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// The metadata.generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How often this status was written with more than other messages: which of two states came later is known without a
    /// clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,

    /// How far it is, in a word; the conditions say more. Succeeded, Failed and Cancelled are final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,

    /// The reason of the condition that decides the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// That reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// How long it took from startedAt to finishedAt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,

    /// When the engine started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub started_at: Option<Time>,

    /// When it ended, well or badly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub finished_at: Option<Time>,

    /// The object that the engine was given its work with. It is made once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_ref: Option<EngineRef>,

    /// What came of it, such as backupName, exitCode or warnings; which names there are depends on type and engine.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::anything")]
    pub outputs: Map<String, Value>,

    /// Where the engine's log is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs_ref: Option<LogsRef>,

    /// The approval that was accepted; a claim counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<ApprovedOperation>,

    /// A digest of how it ended: phase, reason and outputs. Written once, with the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_digest: Option<String>,

    /// What is known about the operation, one entry per type: Accepted, Running, Succeeded, Failed, Cancelled, Blocked,
    /// Reconciling and Stalled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conditions: ConditionSet<Operation>,
}

/// How far it is, in a word; the conditions say more. Succeeded, Failed and Cancelled are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Phase {
    /// The engine has not started.
    Pending,
    /// The engine is at work.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Ended before its time.
    Cancelled,
}

impl Phase {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

    /// Whether nothing follows.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The object that an engine was given its work with.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineRef {
    /// Its apiVersion, such as velero.io/v1.
    #[serde(default)]
    pub api_version: String,
    /// Its kind, such as Backup.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default)]
    pub namespace: String,
    /// Its uid: another object of that name is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Where a log is.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogsRef {
    /// The kind of the object whose log it is, such as Pod.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default)]
    pub namespace: String,
    /// An address where the log can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An approval that was accepted.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedOperation {
    /// Who approved, as the claim says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The id of the claim.
    pub claim_id: String,
    /// When it was approved, as the claim says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub approved_at: Option<Time>,
}
