//! Whether a change may go out, where somebody has to approve it.

use agent_protocol::{Claim, Expected, PublicKeys, digest_of};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use vworkspace_api::application_instance::{ApplicationInstance, ApprovedChange};

use super::chart_source::{has_caught_up, source_trouble};
use super::quoting::said;
use crate::controllers::application::children::{self, DesiredRelease};
use crate::controllers::application::observe::{Version, World};
use crate::controllers::application::temporary_watches;
use crate::external::flux::Source;

/// The spec could not lift it.
const BY_POLICY: &str = " The catalog policy requires it (key requiredApprovals).";

/// Whether a change may go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Approval {
    /// Nobody has to be asked, or the change is out already.
    NotNeeded,
    /// By a claim that was accepted before.
    Given,
    /// By a claim, now.
    Accepted(ApprovedChange),
    /// What is missing, and what an approval would have to be about.
    Missing(String),
}

impl Approval {
    /// Whether what it is about is still to be compared.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Approval::Accepted(_) | Approval::Missing(_))
    }
}

/// Whether it is required is the policy's word first: the spec can only add to it.
pub(super) fn of(
    app: &ApplicationInstance,
    desired: &DesiredRelease<'_>,
    world: &World,
    is_with_flux: bool,
    keys: &PublicKeys,
    now: Timestamp,
) -> Approval {
    let namespace = app.namespace().unwrap_or_default();
    let by_policy = world.policy.requires_approval(&namespace, &app.spec.app_ref.catalog_id);
    let is_required = app.spec.approvals.required || by_policy;
    if !is_required || is_with_flux {
        return Approval::NotNeeded;
    }
    let last = app.status.as_ref().and_then(|status| status.last_approved_change.as_ref());
    if last.is_some_and(|known| known.change.as_deref() == Some(desired.change())) {
        return Approval::Given;
    }
    let missing =
        |what: String| Approval::Missing(format!("{what}{}", if by_policy { BY_POLICY } else { "" }));
    let subject = match Subject::of(app, desired, world) {
        Ok(subject) => subject,
        Err(unknown) => return missing(format!("The change needs an approval. {unknown}")),
    };
    match accepted(app, &subject, last, &world.cluster, keys, now) {
        Ok(claim) => Approval::Accepted(ApprovedChange {
            digest: subject.digest,
            change: Some(desired.change().to_owned()),
            chart_digest: subject.chart,
            claim_id: Some(claim.id),
            approved_at: Some(Time(claim.at)),
            time: Time(now),
        }),
        Err(why) => missing(format!(
            "spec.approvals.claim: {}. To approve: cluster {}, uid {}, {subject}.",
            why.trim_end_matches('.'),
            world.cluster,
            app.uid().unwrap_or_default(),
        )),
    }
}

/// The claim of the spec, if it is about exactly this and was not used up.
fn accepted(
    app: &ApplicationInstance,
    subject: &Subject,
    last: Option<&ApprovedChange>,
    cluster: &str,
    keys: &PublicKeys,
    now: Timestamp,
) -> Result<Claim, String> {
    let (namespace, uid) = (app.namespace().unwrap_or_default(), app.uid().unwrap_or_default());
    let kind = ApplicationInstance::kind(&());
    let expected =
        Expected { cluster, namespace: &namespace, kind: &kind, uid: &uid, digest: &subject.digest };
    let claim = app.spec.approvals.claim.as_deref().unwrap_or_default();
    let claim = keys.verify(claim, &expected, now).map_err(|refused| refused.to_string())?;
    match last.and_then(|last| last.approved_at.as_ref()) {
        // The clock that issued both tells which came first: an old claim does not bring an old change back.
        Some(Time(latest)) if claim.at <= *latest => Err(format!(
            "the approval claim was issued at {}; expected one from after {latest}, when the last change was approved",
            claim.at
        )),
        _ => Ok(claim),
    }
}

/// What an approval is about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Subject {
    /// Of everything that follows.
    digest: String,
    /// The chart's own digest, where there is one.
    chart: Option<String>,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "digest {}", self.digest)?;
        self.chart.iter().try_for_each(|chart| write!(f, ", chart digest {chart}"))
    }
}

impl Subject {
    /// All of it, or what is not known yet.
    fn of(app: &ApplicationInstance, desired: &DesiredRelease<'_>, world: &World) -> Result<Self, String> {
        let chart = chart_digest(app, desired, world)?;
        let values = values_version(app, world)?;
        Ok(Self { digest: digest_of(&json!([desired.change(), chart, values])), chart })
    }
}

/// The digest of the chart that the change would get. A classic repository has none to go by: its version is all.
fn chart_digest(
    app: &ApplicationInstance,
    desired: &DesiredRelease<'_>,
    world: &World,
) -> Result<Option<String>, String> {
    if !desired.is_oci() {
        return Ok(None);
    }
    let (source, name) = match desired.referenced() {
        Some(reference) => (world.source.present(), reference.name.clone()),
        None => {
            let candidate = world.candidate.as_ref().filter(|candidate| desired.asks_the_same_of(candidate));
            (candidate, children::candidate_key(app).name)
        }
    };
    let known = source.filter(|source| has_caught_up(source)).and_then(Source::oci_digest);
    known.map(|digest| Some(digest.to_owned())).ok_or_else(|| {
        let trouble = source.and_then(source_trouble).map(|trouble| trouble.message().to_owned());
        let refusal = world.refusals.first().map(|refusal| said(app, world, &refusal.message));
        let trouble = trouble.or(refusal).map(|trouble| format!(" So far: {trouble}")).unwrap_or_default();
        format!(
            "The digest of the chart is being looked up by OCIRepository {name}; then this message says what there is \
             to approve.{trouble}"
        )
    })
}

/// Which version of the values the change would get, if they are in an object of their own.
fn values_version(app: &ApplicationInstance, world: &World) -> Result<Option<Value>, String> {
    let Some((temporary_watch, name)) =
        temporary_watches::values_object(app).zip(temporary_watches::values_name(app))
    else {
        return Ok(None);
    };
    let kind = temporary_watch.kind();
    match &world.values_object {
        Some(Version { uid, resource_version }) => {
            Ok(Some(json!({"kind": kind, "name": name, "uid": uid, "resourceVersion": resource_version})))
        }
        None => Err(format!(
            "{kind} {name} with the values has not been seen; expected it, because an approval names its version."
        )),
    }
}
