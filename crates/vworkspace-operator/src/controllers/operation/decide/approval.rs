//! Whether an operation may start, where somebody has to approve it.

use agent_protocol::{Expected, Refused, digest_of};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use vworkspace_api::operation::{ApprovedOperation, Operation};

use super::Rules;

/// How claims of the older form begin.
const VWS1: &str = "vws1.";

/// Whether an operation may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Approval {
    /// Nobody has to be asked.
    NotNeeded,
    /// By this claim.
    Accepted(ApprovedOperation),
    /// What is missing, and what an approval would have to be about.
    Missing(String),
}

pub(super) fn of(operation: &Operation, cluster: &str, rules: &Rules, now: Timestamp) -> Approval {
    if !operation.spec.needs_approval() {
        return Approval::NotNeeded;
    }
    let digest = digest_of(&operation.spec.approved_content());
    match accepted(operation, &digest, cluster, rules, now) {
        Ok(approved) => Approval::Accepted(approved),
        Err(refused) => Approval::Missing(format!(
            "spec.approvals.claim: {}. To approve: cluster {cluster}, uid {}, digest {digest}.",
            refused.to_string().trim_end_matches('.'),
            operation.uid().unwrap_or_default(),
        )),
    }
}

/// An operation starts once, and a claim is about one operation: so it counts once.
fn accepted(
    operation: &Operation,
    digest: &str,
    cluster: &str,
    rules: &Rules,
    now: Timestamp,
) -> Result<ApprovedOperation, Refused> {
    let token = operation.spec.approvals.claim.as_deref().unwrap_or_default();
    if token.trim().starts_with(VWS1) {
        let secret = rules.claim_secret.as_ref().ok_or(Refused::NoSecret)?;
        let claim = secret.verify(token, &operation.name_any(), now)?;
        let approved_at = claim.at.parse().ok().map(Time);
        return Ok(ApprovedOperation { claim_id: claim.id(), by: Some(claim.by), approved_at });
    }
    let (namespace, uid) = (operation.namespace().unwrap_or_default(), operation.uid().unwrap_or_default());
    let kind = Operation::kind(&());
    let expected = Expected { cluster, namespace: &namespace, kind: &kind, uid: &uid, digest };
    let claim = rules.approval_keys.verify(token, &expected, now)?;
    Ok(ApprovedOperation { by: Some(claim.by), claim_id: claim.id, approved_at: Some(Time(claim.at)) })
}
