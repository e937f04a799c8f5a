//! Whether a change waits for somebody's approval.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Whether a change waits for somebody's approval, and the approval. What runs keeps running meanwhile.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approvals {
    /// true lets no installation or change happen without a claim that approves exactly that. false lifts nothing that the
    /// catalog policy requires.
    #[serde(default)]
    pub required: bool,

    /// The signed claim that approves this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8192))]
    pub claim: Option<String>,

    /// Who approved, for the record; the claim decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub approved_by: Option<String>,

    /// When, for the record; the claim decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub approved_at: Option<String>,
}
