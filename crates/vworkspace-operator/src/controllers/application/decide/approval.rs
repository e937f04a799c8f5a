//! Whether a change may go out, where somebody has to approve it.

use agent_protocol::{Expected, PublicKeys};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use vworkspace_api::application_instance::{ApplicationInstance, ApprovedChange};

use crate::controllers::application::children::Order;
use crate::controllers::application::observe::World;

/// The spec could not lift it.
const BY_POLICY: &str = " The catalog policy requires it (key requiredApprovals).";

/// Whether a change may go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Approval {
    /// Nobody has to be asked, or the change is out already.
    NotNeeded,
    /// By a claim, now or before.
    Given(ApprovedChange),
    /// What is missing, and what an approval would have to be about.
    Missing(String),
}

/// Whether it is required is the policy's word first: the spec can only add to it.
pub(super) fn of(
    app: &ApplicationInstance,
    order: &Order<'_>,
    world: &World,
    is_with_flux: bool,
    keys: &PublicKeys,
    now: Timestamp,
) -> Approval {
    let namespace = app.namespace().unwrap_or_default();
    let by_policy = world.policy.requires_approval(&namespace, &app.spec.app_ref.catalog_id);
    if !app.spec.approvals.required && !by_policy {
        return Approval::NotNeeded;
    }
    let digest = order.change();
    let last = app.status.as_ref().and_then(|status| status.last_approved_change.as_ref());
    if let Some(known) = last.filter(|known| known.digest == digest) {
        return Approval::Given(known.clone());
    }
    let (cluster, uid) = (world.cluster.as_str(), app.uid().unwrap_or_default());
    let kind = ApplicationInstance::kind(&());
    let expected = Expected { cluster, namespace: &namespace, kind: &kind, uid: &uid, digest };
    let claim = app.spec.approvals.claim.as_deref().unwrap_or_default();
    let verified = keys.verify(claim, &expected, now).map_err(|refused| refused.to_string());
    let accepted = verified.and_then(|claim| match last.and_then(|last| last.approved_at.as_ref()) {
        // The clock that issued both tells which came first: an old claim does not bring an old change back.
        Some(Time(latest)) if claim.at <= *latest => Err(format!(
            "the approval claim was issued at {}; expected one from after {latest}, when the last change was approved",
            claim.at
        )),
        _ => Ok(claim),
    });
    match accepted {
        Ok(claim) => Approval::Given(ApprovedChange {
            digest: digest.to_owned(),
            claim_id: Some(claim.id),
            approved_at: Some(Time(claim.at)),
            time: Time(now),
        }),
        // What is out already needs none. An operator that died after handing it over still notes its claim above.
        Err(_) if is_with_flux => Approval::NotNeeded,
        Err(why) => Approval::Missing(format!(
            "spec.approvals.claim: {}. To approve: cluster {cluster}, uid {uid}, digest {digest}.{}",
            why.trim_end_matches('.'),
            if by_policy { BY_POLICY } else { "" }
        )),
    }
}
