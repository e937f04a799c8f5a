//! What is reported when somebody else changes the application's objects.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::rule;

/// Whether drift is reported, and what is left out. It is never corrected.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftDetection {
    /// Report: a difference between the release and the cluster shows as condition Degraded, reason Drifted. Disabled:
    /// nobody looks.
    #[serde(default)]
    pub mode: DriftMode,

    /// Differences that are no drift, such as replicas that an autoscaler sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ignore: Vec<IgnoredDrift>,
}

/// Whether drift is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum DriftMode {
    /// Drift shows in the status.
    #[default]
    Report,
    /// Nobody looks.
    Disabled,
}

/// Fields that may differ.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredDrift {
    /// The fields, as JSON pointers such as /spec/replicas.
    #[schemars(length(min = 1, max = 64), inner(length(max = 512)))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = rule::block_found(
            "self.all(path, path.startsWith('/'))",
            "\"spec.driftDetection.ignore[].paths has '\" + self.filter(path, !path.startsWith('/'))[0] + \"'; expected JSON pointers such as /spec/replicas\""
        )
    )]
    pub paths: Vec<String>,

    /// The objects this is about; all objects of the release if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<DriftTarget>,
}

/// Objects of a release; what is not set fits all.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftTarget {
    /// The API group, such as apps.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 253))]
    pub group: String,

    /// The API version, such as v1.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 63))]
    pub version: String,

    /// The kind, such as Deployment.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 63))]
    pub kind: String,

    /// The object's name.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 253))]
    pub name: String,

    /// Labels that the objects have, such as app=web,tier!=cache.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 1024))]
    pub label_selector: String,

    /// Annotations that the objects have, in the same form.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 1024))]
    pub annotation_selector: String,
}
