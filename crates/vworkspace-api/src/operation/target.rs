//! Which application an operation is about.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::rule;

/// An ApplicationInstance of the operation's own namespace.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// Always apps.vworkspace.io/v1alpha1.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::like("spec.targetRef.apiVersion", "^apps[.]vworkspace[.]io/v1alpha1$", "apps.vworkspace.io/v1alpha1"))]
    pub api_version: String,

    /// Always ApplicationInstance.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::like("spec.targetRef.kind", "^ApplicationInstance$", "ApplicationInstance"))]
    pub kind: String,

    /// The name of an ApplicationInstance of the same namespace.
    #[schemars(length(max = 253))]
    #[x_kube(
        validation = rule::object_name("spec.targetRef.name"),
        validation = rule::immutable("spec.targetRef.name", "an operation does one thing: create another")
    )]
    pub name: String,
}
