//! What the status says.

use std::fmt::Debug;

use conditions::{ConditionSet, Moment, Reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tracing::debug;
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, AppliedChart, ApprovedChange, Blocked, Degraded,
    Deleting, Endpoint, HelmReleaseRef, Ready, Reconciling, SuccessfulRelease, Suspended,
};

use super::Change;
use super::blocker::Blocker;
use super::pause::{self, Pause};
use super::readiness::Checks;
use super::reading::{Failure, IN_PLACE, Left, Reading, Then};
use super::{degraded, ready};
use crate::flux::Snapshot;

/// Everything that the status follows from.
pub(super) struct Facts<'a> {
    pub(super) app: &'a ApplicationInstance,
    pub(super) pause: Option<&'a Pause>,
    /// Why it is not paused although it should be.
    pub(super) refused_pause: Option<String>,
    /// Why it is still paused although it should not be.
    pub(super) refused_end: Option<String>,
    pub(super) blocker: Option<Blocker>,
    pub(super) change: Change,
    pub(super) reading: &'a Reading,
    /// What failed before a change whose chart cannot be fetched.
    pub(super) failed_before: Option<Failure>,
    /// The Secret or ConfigMap that the application waits for.
    pub(super) missing_secret: Option<String>,
    /// A Secret may be missing too: nobody knows yet.
    pub(super) is_secret_unseen: bool,
    /// The certificate that the application waits for.
    pub(super) certificate: Option<String>,
    pub(super) checks: Checks,
    /// Not known while the chart has not been read.
    pub(super) warnings: Option<Vec<String>>,
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
    pub(super) now: Timestamp,
}

const RESUMED: &str = "The change waits until reconciliation is resumed: see Suspended.";
/// Until then nobody knows whether it is done.
const CHECK_AWAITED: &str = "The first answer of the readiness checks is awaited.";
const SECRET_AWAITED: &str = "A Secret that an ExternalSecret of the release promises is looked for.";

/// How warnings of the chart begin; they are told after all others.
const CHART_WARNINGS: [&str; 2] = ["the chart ", "values key "];

pub(super) fn of(facts: &Facts<'_>) -> ApplicationInstanceStatus {
    let mut status = facts.app.status.clone().unwrap_or_default();
    let at = moment(facts.app, facts.now);
    let history = History::of(&status).and(facts.reading);
    let conditions = &mut status.conditions;

    if let Some(Said::This(reason, message)) = first(ready::RULES, facts, history) {
        conditions.set(reason, message, at);
    }
    if let Some((reconciling, message)) = reconciling(facts, history) {
        conditions.set(reconciling, message, at);
    }
    if let Some(Said::This(reason, message)) = first(degraded::RULES, facts, history) {
        conditions.set(reason, message, at);
    }
    let (blocked, message) = blocked(facts, history);
    conditions.set(blocked, message, at);
    let (suspended, message) = match (&facts.refused_pause, &facts.refused_end) {
        (Some(why), _) => (Suspended::Active, why.clone()),
        (None, Some(why)) => (pause::still(facts.app), why.clone()),
        (None, None) => pause::condition(facts.pause),
    };
    conditions.set(suspended, message, at);
    conditions.set(Deleting::NotDeleting, "", at);
    finish(conditions, at);

    status.observed_generation = facts.app.metadata.generation;
    status.helm_release_ref.clone_from(&facts.helm_release_ref);
    status.last_applied_chart.clone_from(&facts.last_applied_chart);
    if let Some(endpoints) = &facts.endpoints {
        status.endpoints.clone_from(endpoints);
    }
    status.install_attempted = facts.install_attempted;
    status.secret_values = facts.secret_values;
    status.chart_trouble = facts.reading.chart_trouble().cloned();
    if facts.approved.is_some() {
        status.last_approved_change.clone_from(&facts.approved);
    }
    if let Reading::Released(snapshot) = &facts.reading {
        let seen = success(snapshot, facts.carried.clone(), facts.now);
        status.last_successful_release = Some(first_seen(status.last_successful_release, seen));
    }
    status.last_reconcile_time = Some(Time(facts.now));
    status
}

/// What a rule has to say.
pub(super) enum Said<R> {
    This(R, String),
    /// Nothing new: what was said before still holds.
    AsBefore,
}

/// One rule about a condition.
pub(super) struct Rule<R: 'static> {
    /// What it can say.
    pub(super) says: &'static [R],
    /// In words, for the reference page.
    pub(super) when: &'static str,
    find: fn(&Facts<'_>, History) -> Option<Said<R>>,
}

pub(super) const fn rule<R>(
    says: &'static [R],
    when: &'static str,
    find: fn(&Facts<'_>, History) -> Option<Said<R>>,
) -> Rule<R> {
    Rule { says, when, find }
}

fn first<R: Debug>(rules: &[Rule<R>], facts: &Facts<'_>, history: History) -> Option<Said<R>> {
    rules.iter().find_map(|rule| {
        let said = (rule.find)(facts, history)?;
        debug!(says = ?rule.says, when = rule.when, "a rule applies");
        Some(said)
    })
}

/// What only earlier statuses know.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    /// Something was once released.
    pub(super) was_released: bool,
    was_blocked: bool,
    /// A change waited to be handed over.
    was_pending: bool,
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
        let has_verdict_of_release = ready.is_some_and(|reason| IN_PLACE.contains(&reason));
        Self {
            was_released: status.last_successful_release.is_some(),
            was_blocked: blocked.is_some_and(|reason| reason != Blocked::NotBlocked),
            was_pending: conditions.read::<Reconciling>() == Some(Reconciling::ChangePending),
            degraded: conditions.read::<Degraded>(),
            has_word_of_flux: has_verdict_of_release
                || matches!(ready, Some(Ready::HelmReleaseFailed | Ready::Installing | Ready::Upgrading)),
            has_verdict_of_release,
            was_warned_by_chart: ready == Some(Ready::HelmReleaseReadyWithWarnings)
                && conditions.get(Ready::TYPE.name).is_some_and(|known| {
                    CHART_WARNINGS.iter().any(|first| known.message.contains(&format!(" Warning: {first}")))
                }),
        }
    }

    /// A success that is seen now is history for the same status.
    fn and(self, reading: &Reading) -> Self {
        Self { was_released: self.was_released || matches!(reading, Reading::Released(_)), ..self }
    }
}

/// Whether the spec has been carried out; `None` keeps what was said.
fn reconciling(facts: &Facts<'_>, history: History) -> Option<(Reconciling, String)> {
    if let Some(why) = &facts.refused_pause {
        return Some((Reconciling::ChangePending, why.clone()));
    }
    if facts.change == Change::Waits {
        let why = match (&facts.blocker, &facts.pause) {
            (Some(Blocker::NotWritten(message)), _) => message.clone(),
            (_, Some(_)) => RESUMED.to_owned(),
            (Some(blocker), None) => blocker.condition().map_or_else(String::new, |(reason, message)| {
                format!("The change waits: {}: {message}", reason.row().reason)
            }),
            (None, None) => "The change waits.".to_owned(),
        };
        return Some((Reconciling::ChangePending, why));
    }
    let acting = if history.was_released {
        Reconciling::HelmReleaseUpgrading
    } else {
        Reconciling::HelmReleaseInstalling
    };
    Some(match &facts.reading {
        Reading::Unseen | Reading::Fetching(_) => {
            (Reconciling::ChartSourceSyncing, "Flux is fetching the chart.".to_owned())
        }
        Reading::SourceTrouble(trouble) => (
            Reconciling::ChartSourceSyncing,
            format!("Flux tries again to fetch the chart: {}", trouble.message()),
        ),
        Reading::InProgress(message) => (acting, message.clone()),
        Reading::Failed(failure) if failure.then == Then::Retried => {
            let next = if failure.left == Left::Untouched {
                "tries again"
            } else {
                "goes on, with a rollback or another try"
            };
            (acting, format!("Flux {next}: {}", failure.message))
        }
        Reading::Released(_) if !history.has_verdict_of_release => match facts.awaited() {
            Some(awaited) => (Reconciling::Reconciling, awaited.to_owned()),
            None => (Reconciling::Stable, String::new()),
        },
        Reading::Failed(_) | Reading::Released(_) => (Reconciling::Stable, String::new()),
        Reading::NoNews if history.has_verdict_of_release => (Reconciling::Stable, String::new()),
        Reading::NoNews if history.has_word_of_flux && !history.was_pending => return None,
        Reading::NoNews => (acting, "Flux is looking at the release.".to_owned()),
        Reading::Halted(_) => (Reconciling::ChangePending, RESUMED.to_owned()),
    })
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
            (self.is_secret_unseen && self.missing_secret.is_none()).then_some(SECRET_AWAITED)
        }
    }

    /// Whether something has not been answered yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited().is_some()
    }
}

fn blocked(facts: &Facts<'_>, history: History) -> (Blocked, String) {
    facts.blocked().map_or_else(|| unblocked(history), |(reason, message)| (reason, message.to_owned()))
}

pub(super) fn unblocked(history: History) -> (Blocked, String) {
    (if history.was_blocked { Blocked::Unblocked } else { Blocked::NotBlocked }, String::new())
}

pub(super) fn moment(app: &ApplicationInstance, now: Timestamp) -> Moment {
    Moment { generation: app.metadata.generation.unwrap_or_default(), now }
}

/// What was kept is said again for this generation, then kstatus' own conditions follow from the rest.
pub(super) fn finish(conditions: &mut ConditionSet<ApplicationInstance>, at: Moment) {
    keep::<Ready>(conditions, at);
    keep::<Reconciling>(conditions, at);
    keep::<Degraded>(conditions, at);
    conditions.project(at);
    conditions.retain_own();
}

fn keep<R: Reason<Kind = ApplicationInstance>>(
    conditions: &mut ConditionSet<ApplicationInstance>,
    at: Moment,
) {
    let message = conditions.get(R::TYPE.name).map(|known| known.message.clone()).unwrap_or_default();
    if let Some(reason) = conditions.read::<R>() {
        conditions.set(reason, message, at);
    }
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
