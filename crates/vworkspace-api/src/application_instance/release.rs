//! The Helm release: what it is called, how it is installed, changed, tested and removed.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::Duration;
use crate::rule;

/// Why the identity of a release is for ever.
const FOR_EVER: &str =
    "it says which release belongs to this instance: delete the instance and create another";

/// The identity of the Helm release.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseIdentity {
    /// The name of the release and of its HelmRelease; at most 53 characters, as Helm has it. Cannot be changed.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = rule::object_name("spec.release.name"),
        validation = rule::block_found(
            "self.size() <= 53",
            "\"spec.release.name is '\" + self + \"'; expected at most 53 characters, because Helm takes no more\""
        ),
        validation = rule::immutable("spec.release.name", FOR_EVER)
    )]
    pub name: String,

    /// The namespace of the release, which is that of the instance. Cannot be changed.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = rule::immutable("spec.release.namespace", FOR_EVER))]
    pub namespace: String,
}

/// How the first installation is tried.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallPolicy {
    /// How long the installation may take; spec.timeout if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.install.timeout", "1s", "24h"))]
    pub timeout: Option<Duration>,

    /// How often a failed installation is removed and tried again; -1 for ever.
    #[serde(default = "default_retries")]
    #[schemars(range(min = -1, max = 1000))]
    pub retries: i32,

    /// What becomes of the last failed try. Keep: its objects stay, so that the cause can be found. Uninstall: they are
    /// removed.
    #[serde(default)]
    pub on_failure: AfterFailedInstall,
}

/// What becomes of an installation that failed for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum AfterFailedInstall {
    /// Its objects stay.
    #[default]
    Keep,
    /// Its objects are removed.
    Uninstall,
}

/// How a change is tried, and what happens when it fails.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradePolicy {
    /// How long the upgrade may take; spec.timeout if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.upgrade.timeout", "1s", "24h"))]
    pub timeout: Option<Duration>,

    /// How often a failed upgrade is tried again; -1 for ever.
    #[serde(default = "default_retries")]
    #[schemars(range(min = -1, max = 1000))]
    pub retries: i32,

    /// What happens after each failed try. Rollback: the previous revision is put back. Uninstall: the release is removed
    /// and installed anew. Keep: what the failed try left stays, and nothing is tried again.
    #[serde(default)]
    pub on_failure: AfterFailedUpgrade,

    /// How long a rollback may take; spec.timeout if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.upgrade.rollbackTimeout", "1s", "24h"))]
    pub rollback_timeout: Option<Duration>,

    /// true removes objects that a failed upgrade or rollback had newly created.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cleanup_on_failure: bool,
}

/// What happens after a failed upgrade.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum AfterFailedUpgrade {
    /// The previous revision is put back.
    #[default]
    Rollback,
    /// The release is removed.
    Uninstall,
    /// What the failed try left stays.
    Keep,
}

/// How the application is removed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UninstallPolicy {
    /// How long one try may take; spec.timeout if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.uninstall.timeout", "1s", "24h"))]
    pub timeout: Option<Duration>,

    /// true leaves out the chart's delete hooks: the way out when a hook fails and the removal hangs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disable_hooks: bool,
}

/// Whether the chart's own tests run.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmTests {
    /// true runs the chart's tests after each installation and upgrade.
    #[serde(default)]
    pub enabled: bool,

    /// How long the tests may take; spec.timeout if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rule::between("spec.tests.timeout", "1s", "24h"))]
    pub timeout: Option<Duration>,

    /// true makes a failed test a warning; otherwise the installation or upgrade counts as failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignore_failures: bool,
}

/// What becomes of the application when the instance is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum DeletionPolicy {
    /// It is uninstalled.
    #[default]
    Delete,
    /// It keeps running.
    Orphan,
}

impl Default for InstallPolicy {
    fn default() -> Self {
        Self { timeout: None, retries: default_retries(), on_failure: AfterFailedInstall::default() }
    }
}

impl Default for UpgradePolicy {
    fn default() -> Self {
        Self {
            timeout: None,
            retries: default_retries(),
            on_failure: AfterFailedUpgrade::default(),
            rollback_timeout: None,
            cleanup_on_failure: false,
        }
    }
}

/// Once more is enough for what passes by itself, and tells soon what does not.
fn default_retries() -> i32 {
    1
}
