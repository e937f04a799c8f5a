//! What the status says.

use conditions::{Draft, Moment, Subject, Verdict};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tracing::debug;
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, AppliedChart, ApprovedChange, Blocked, Degraded,
    Deleting, Endpoint, FluxComplaint, HelmReleaseRef, MissingCertificate, Ready, Reconciling,
    SuccessfulRelease,
};

use super::Change;
use super::blocker::{self, AwaitedSecret, Blocker};
use super::earlier_conclusion::is_in_place;
use super::pause::{self, Pause};
use super::readiness::{Checks, Warnings};
use super::release_state::{Failure, ReleaseState};
use super::{degraded, ready, reconciling};
use crate::external::flux::Snapshot;

/// Everything that the status follows from.
pub(super) struct Facts<'a> {
    pub(super) app: &'a ApplicationInstance,
    pub(super) pause: Option<&'a Pause>,
    /// The operation that it is paused for, once Flux is seen to leave the release alone.
    pub(super) paused_for: Option<String>,
    /// Why it is not paused although it should be.
    pub(super) refused_pause: Option<String>,
    /// Why it is still paused although it should not be.
    pub(super) refused_end: Option<String>,
    pub(super) blocker: Option<Blocker>,
    pub(super) change: Change,
    pub(super) state: &'a ReleaseState,
    /// What failed before a change whose chart cannot be fetched.
    pub(super) failed_before: Option<Failure>,
    /// The Secret or ConfigMap that the application waits for.
    pub(super) awaited_secret: Option<AwaitedSecret>,
    /// A Secret may be missing too: nobody knows yet.
    pub(super) is_secret_unseen: bool,
    /// The certificate that the application waits for.
    pub(super) certificate: Option<MissingCertificate>,
    pub(super) checks: Checks,
    /// Not known while the chart has not been read.
    pub(super) warnings: Option<Warnings>,
    pub(super) drift: Option<String>,
    /// The chart source, if it has been unreachable for long.
    pub(super) unreachable: Option<String>,
    /// Whether Helm ever began with the release.
    pub(super) install_attempted: bool,
    /// Whether Flux's words can quote values of a Secret from now on.
    pub(super) secret_values: bool,
    /// The change that the release carries.
    pub(super) carried: Option<String>,
    pub(super) last_applied_chart: Option<AppliedChart>,
    pub(super) approved: Option<ApprovedChange>,
    pub(super) helm_release_ref: Option<HelmReleaseRef>,
    /// Not known while Services or Ingresses cannot be listed.
    pub(super) endpoints: Option<Vec<Endpoint>>,
    /// Whether drift would be seen.
    pub(super) is_drift_seen: bool,
    /// Whether the chart source can be seen.
    pub(super) is_source_seen: bool,
    /// What was said before.
    pub(super) history: History,
    pub(super) now: Timestamp,
}

/// Until then nobody knows whether it is done.
const CHECK_AWAITED: &str = "The first answer of the readiness checks is awaited.";
const SECRET_AWAITED: &str = "A Secret that an ExternalSecret of the release promises is looked for.";

pub(super) fn of(facts: &Facts<'_>) -> ApplicationInstanceStatus {
    let before = facts.app.status.clone().unwrap_or_default();
    let mut draft = Draft::next(before.conditions, moment(facts.app, facts.now));
    for (condition, when) in [
        draft.say_first(ready::RULES, facts),
        draft.say_first(reconciling::RULES, facts),
        draft.say_first(degraded::RULES, facts),
        draft.say_first(BLOCKED, facts),
        draft.say_first(pause::RULES, facts),
        draft.say_first(DELETING, facts),
    ]
    .into_iter()
    .flatten()
    {
        debug!(condition, when, "a rule applies");
    }
    let mut status = ApplicationInstanceStatus { conditions: draft.finish(), ..before };

    status.observed_generation = facts.app.metadata.generation;
    status.helm_release_ref.clone_from(&facts.helm_release_ref);
    status.last_applied_chart.clone_from(&facts.last_applied_chart);
    if let Some(endpoints) = &facts.endpoints {
        status.endpoints.clone_from(endpoints);
    }
    status.install_attempted = facts.install_attempted;
    status.secret_values = facts.secret_values;
    status.chart_trouble = facts.state.chart_trouble().cloned();
    status.open_window = facts.pause.and_then(Pause::window).cloned();
    status.paused_for = facts.paused_for.clone();
    status.flux_complaint = facts.flux_complaint();
    status.missing_secret = match &facts.awaited_secret {
        Some(AwaitedSecret::Promised(missing)) => Some(missing.clone()),
        Some(AwaitedSecret::OfValues(_)) | None => None,
    };
    status.missing_certificate.clone_from(&facts.certificate);
    status.chart_warnings = facts.has_chart_warnings(&status);
    if facts.approved.is_some() {
        status.last_approved_change.clone_from(&facts.approved);
    }
    if let ReleaseState::Released(snapshot) = &facts.state {
        let seen = success(snapshot, facts.carried.clone(), facts.now);
        status.last_successful_release = Some(first_seen(status.last_successful_release, seen));
    }
    status.last_reconcile_time = Some(Time(facts.now));
    status
}

/// The rules of an instance are about [`Facts`].
pub(super) struct Instance;

impl Subject for Instance {
    type Facts<'a> = Facts<'a>;
}

/// One rule about a condition of an instance.
pub(super) type Rule<R> = conditions::Rule<Instance, R>;

pub(super) const fn rule<R>(
    says: &'static [R],
    when: &'static str,
    find: for<'a> fn(&Facts<'a>) -> Option<Verdict<R>>,
) -> Rule<R> {
    Rule::new(says, when, find)
}

/// What stands in the way is found by rules of its own: see `blocker.rs`.
#[rustfmt::skip]
pub(super) const BLOCKED: &[Rule<Blocked>] = &[
    rule(blocker::REASONS, "something stands in the way", |facts| {
        facts.blocked().map(|(reason, message)| Verdict::This(reason, message.to_owned()))
    }),
    rule(&[Blocked::Unblocked, Blocked::NotBlocked], "none of these", |facts| Some(Verdict::This(unblocked(facts.history), String::new()))),
];

pub(super) const DELETING: &[Rule<Deleting>] =
    &[rule(&[Deleting::NotDeleting], "nobody has deleted it", |_| {
        Some(Verdict::This(Deleting::NotDeleting, String::new()))
    })];

/// What only earlier statuses know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct History {
    /// Something was once released.
    pub(super) was_released: bool,
    was_blocked: bool,
    /// A change waited to be handed over.
    pub(super) was_pending: bool,
    pub(super) degraded: Option<Degraded>,
    /// What Flux told, which may be kept while it has no news. What else was said, such as Blocked, is seen anew each time.
    pub(super) has_word_of_flux: bool,
    /// What was said of a release that is in place, which may be kept while an answer about it is awaited.
    pub(super) has_verdict_of_release: bool,
    /// It was ready, with warnings of the chart and no others: those are seen anew each time.
    pub(super) was_warned_by_chart: bool,
}

impl History {
    pub(super) fn of(status: &ApplicationInstanceStatus) -> Self {
        let conditions = &status.conditions;
        let blocked = conditions.read::<Blocked>();
        let ready = conditions.read::<Ready>();
        let has_verdict_of_release = ready.is_some_and(is_in_place);
        Self {
            was_released: status.last_successful_release.is_some(),
            was_blocked: blocked.is_some_and(|reason| reason != Blocked::NotBlocked),
            was_pending: conditions.read::<Reconciling>() == Some(Reconciling::ChangePending),
            degraded: conditions.read::<Degraded>(),
            has_word_of_flux: has_verdict_of_release
                || matches!(ready, Some(Ready::HelmReleaseFailed | Ready::Installing | Ready::Upgrading)),
            has_verdict_of_release,
            was_warned_by_chart: status.chart_warnings && ready == Some(Ready::HelmReleaseReadyWithWarnings),
        }
    }

    /// A success that is seen now is history for the same status.
    pub(super) fn and(self, state: &ReleaseState) -> Self {
        Self { was_released: self.was_released || matches!(state, ReleaseState::Released(_)), ..self }
    }
}

impl Facts<'_> {
    /// What stands in the way, if there is a word for it.
    pub(super) fn blocked(&self) -> Option<(Blocked, &str)> {
        self.blocker.as_ref().and_then(Blocker::condition)
    }

    /// What has not been answered yet, in words.
    pub(super) fn awaited(&self) -> Option<&'static str> {
        if self.checks == Checks::Pending {
            Some(CHECK_AWAITED)
        } else {
            (self.is_secret_unseen && self.awaited_secret.is_none()).then_some(SECRET_AWAITED)
        }
    }

    fn flux_complaint(&self) -> Option<FluxComplaint> {
        let Some(Blocker::SaidByFlux(about, message)) = &self.blocker else { return None };
        let generation = self.app.metadata.generation.unwrap_or_default();
        Some(FluxComplaint { about: *about, generation, message: message.clone() })
    }

    /// Whether the status tells warnings of the chart and no others.
    fn has_chart_warnings(&self, status: &ApplicationInstanceStatus) -> bool {
        let is_warned = status.conditions.read() == Some(Ready::HelmReleaseReadyWithWarnings);
        // What Ready says may be of before: then so are its warnings.
        let is_new = matches!(self.state, ReleaseState::Released(_)) && !self.is_awaited();
        let now = self.warnings.as_ref().filter(|_| is_new);
        is_warned && now.map_or(status.chart_warnings, |known| known.are_of_chart)
    }

    /// Whether something has not been answered yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited().is_some()
    }
}

/// Forgets what was kept because it cannot be seen at every moment: nobody waits for it any more.
pub(super) fn forget(status: &mut ApplicationInstanceStatus) {
    (status.flux_complaint, status.missing_secret, status.missing_certificate) = (None, None, None);
    status.chart_warnings = false;
}

pub(super) fn unblocked(history: History) -> Blocked {
    if history.was_blocked { Blocked::Unblocked } else { Blocked::NotBlocked }
}

pub(super) fn moment(app: &ApplicationInstance, now: Timestamp) -> Moment {
    Moment { generation: app.metadata.generation.unwrap_or_default(), now }
}

fn success(snapshot: &Snapshot, change: Option<String>, now: Timestamp) -> SuccessfulRelease {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    SuccessfulRelease {
        chart_version: snapshot.chart_version.clone(),
        revision: snapshot.version,
        config_digest: text(&snapshot.config_digest),
        oci_digest: text(&snapshot.oci_digest),
        change,
        time: Time(now),
    }
}

/// The same success keeps the time at which it was first seen.
fn first_seen(known: Option<SuccessfulRelease>, seen: SuccessfulRelease) -> SuccessfulRelease {
    match known {
        Some(known) if (SuccessfulRelease { time: known.time.clone(), ..seen.clone() }) == known => known,
        _ => seen,
    }
}
