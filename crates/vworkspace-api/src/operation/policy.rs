//! What must hold before an operation starts.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::Duration;
use crate::rule;

/// What must hold before the operation starts, how long it waits for that, and what is kept of it.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// true: it waits until the target is Ready. false: it starts whatever the target's state. Without it true, but for a
    /// restore, whose target is mostly broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_ready: Option<bool>,

    /// How long it waits for what must hold; then it is Failed with PreconditionFailed, and nothing was done. Without it it waits
    /// until it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.policy.waitTimeout", "1s", "8760h"))]
    pub wait_timeout: Option<Duration>,

    /// true: it never runs together with a backup, a restore, an upgrade, a migration or another one that is exclusive, on the
    /// same target. Restores, upgrades and migrations always do so.
    #[serde(default)]
    pub exclusive: bool,

    /// true keeps the last lines of the log in status.outputs. Everybody who may read the operation reads them.
    #[serde(default)]
    pub capture_logs: bool,
}
