//! What is done, and what does it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum OperationType {
    /// Its objects and volumes are saved.
    Backup,
    /// A backup is brought back.
    Restore,
    /// Another version of its chart, or other values.
    Upgrade,
    /// Its data is brought into another form.
    Migration,
    /// A command runs beside it.
    RunCommand,
    /// Several steps that somebody wrote down.
    Runbook,
}

/// What does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Engine {
    /// Velero.
    Velero,
    /// Argo Workflows.
    Workflow,
    /// A Kubernetes Job.
    Job,
    /// Helm, through the ApplicationInstance and Flux.
    Helm,
    /// VolSync.
    Volsync,
    /// A Job that the chart has as a hook.
    HelmHookJob,
    /// A CSI snapshot.
    Snapshot,
}

impl OperationType {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backup => "Backup",
            Self::Restore => "Restore",
            Self::Upgrade => "Upgrade",
            Self::Migration => "Migration",
            Self::RunCommand => "RunCommand",
            Self::Runbook => "Runbook",
        }
    }
}

impl Engine {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Velero => "velero",
            Self::Workflow => "workflow",
            Self::Job => "job",
            Self::Helm => "helm",
            Self::Volsync => "volsync",
            Self::HelmHookJob => "helmHookJob",
            Self::Snapshot => "snapshot",
        }
    }
}

impl fmt::Display for OperationType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
