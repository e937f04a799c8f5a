//! Custom resources: the kinds of which nothing is known but what they say of themselves.

use jiff::{SignedDuration, Timestamp};

use super::failing_words::{is_failing, is_under_way};
use crate::go_time::Instant;
use crate::object::{Entry, Object};
use crate::outcome::Outcome;

/// As long as a Deployment has by default before its lack of progress counts as a failure.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// Groups that the API server serves itself; many of their kinds have no status to wait for.
const BUILT_IN: [&str; 18] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Groups of custom resources have a dot in their name; so have some of the API server's own.
pub(super) fn is_custom(group: &str) -> bool {
    group.contains('.') && !BUILT_IN.contains(&group)
}

/// No status at all, then `Ready`, then other conditions, then phases.
pub(super) fn review<'a>(object: &Object<'a>, decided: &Outcome<'a>, now: Timestamp) -> Option<Outcome<'a>> {
    if object.status.is_empty() {
        return never_looked_at(object);
    }
    match object.conditions.iter().find(|entry| entry.kind == "Ready") {
        Some(ready) if ready.status == "False" => not_ready(ready, now),
        Some(_) if decided.evidence.is_empty() => failing_phase(object),
        Some(_) => None,
        None => failing_condition(object).or_else(|| failing_phase(object)),
    }
}

/// The API server gives every custom resource a generation, so one without is a manifest, not a live object.
fn never_looked_at<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    object.generation?;
    let message = format!("{} has no status yet", object.kind());
    let status = object.root.get("status");
    Some(Outcome::in_progress("StatusNotObserved", message, [crate::Evidence::field("status", status)]))
}

/// A reason that speaks of failure, or ten minutes without a change.
fn not_ready<'a>(ready: &Entry<'a>, now: Timestamp) -> Option<Outcome<'a>> {
    if is_failing(ready.reason) {
        let evidence = [ready.evidence("status"), ready.evidence("reason")];
        return Some(Outcome::failed(ready.reason, ready.message, evidence));
    }
    let since = ready.get("lastTransitionTime")?.as_str().and_then(Instant::parse)?;
    if since.is_after(now, PATIENCE) {
        return None;
    }
    let evidence = [ready.evidence("status"), ready.evidence("lastTransitionTime")];
    Some(Outcome::failed(ready.reason, ready.message, evidence))
}

/// Conditions whose True is bad news, and such whose False is.
fn failing_condition<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let find = |kinds: &[&str], status: &str| {
        object.conditions.iter().find(|entry| kinds.contains(&entry.kind) && entry.status == status)
    };
    if let Some(entry) = find(&["Failed", "Failure", "Error", "Degraded"], "True") {
        return Some(Outcome::failed(entry.reason, entry.message, [entry.evidence("status")]));
    }
    let entry = find(&["Available", "Healthy", "Succeeded", "Synced"], "False")?;
    let evidence = [entry.evidence("status"), entry.evidence("reason")];
    Some(if is_failing(entry.reason) {
        Outcome::failed(entry.reason, entry.message, evidence)
    } else {
        Outcome::in_progress(entry.reason, entry.message, evidence)
    })
}

/// One word, where conditions say nothing.
fn failing_phase<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let fields = ["status.phase", "status.state", "status.health", "status.health.status", "status.status"];
    let phases = fields.into_iter().map(|path| object.status.field(path));
    phases.filter_map(|field| Some((field, field.text()?))).find_map(|(field, word)| {
        let message = || format!("{} is {word}", field.path);
        if is_failing(word) {
            Some(Outcome::failed("PhaseFailed", message(), [field.evidence()]))
        } else if is_under_way(word) {
            Some(Outcome::in_progress("PhaseInProgress", message(), [field.evidence()]))
        } else {
            None
        }
    })
}
