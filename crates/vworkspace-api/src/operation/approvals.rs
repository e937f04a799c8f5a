//! Whether an operation waits for somebody's approval.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Whether the operation waits for somebody's approval, and the approval.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approvals {
    /// true lets the operation start only with a claim that approves exactly this operation. A restore always needs one, whatever
    /// this says.
    #[serde(default)]
    pub required: bool,

    /// The signed claim that approves this operation. One of the form vws2 cannot be copied from another; one of the older form
    /// vws1, if the operator takes those, is bound to the operation's name only.
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
