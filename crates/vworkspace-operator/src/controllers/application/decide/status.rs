//! What the status says.

use conditions::{ConditionSet, Moment, Reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, AppliedChart, Blocked, Degraded, Deleting,
    HelmReleaseRef, Ready, Reconciling, SuccessfulRelease,
};

use super::Change;
use super::blocker::Blocker;
use super::pause::{self, Pause};
use super::reading::{Failure, Left, Reading, SourceTrouble, Then};
use crate::flux::Snapshot;

/// Everything that the status follows from.
pub(super) struct Facts<'a> {
    pub(super) app: &'a ApplicationInstance,
    pub(super) pause: Option<Pause>,
    pub(super) blocker: Option<Blocker>,
    pub(super) change: Change,
    pub(super) reading: Reading,
    pub(super) last_applied_chart: Option<AppliedChart>,
    pub(super) helm_release_ref: Option<HelmReleaseRef>,
    pub(super) now: Timestamp,
}

pub(super) fn of(facts: &Facts<'_>) -> ApplicationInstanceStatus {
    let mut status = facts.app.status.clone().unwrap_or_default();
    let at = moment(facts.app, facts.now);
    let history = History::of(&status);
    let conditions = &mut status.conditions;

    if let Some((ready, message)) = ready(facts, history) {
        conditions.set(ready, message, at);
    }
    if let Some((reconciling, message)) = reconciling(facts, history) {
        conditions.set(reconciling, message, at);
    }
    if let Some((degraded, message)) = degraded(facts, history) {
        conditions.set(degraded, message, at);
    }
    let (blocked, message) = blocked(facts, history);
    conditions.set(blocked, message, at);
    let (suspended, message) = pause::condition(facts.pause);
    conditions.set(suspended, message, at);
    conditions.set(Deleting::NotDeleting, "", at);
    finish(conditions, at);

    status.observed_generation = facts.app.metadata.generation;
    status.helm_release_ref.clone_from(&facts.helm_release_ref);
    status.last_applied_chart.clone_from(&facts.last_applied_chart);
    if let Reading::Released(snapshot) = &facts.reading {
        status.last_successful_release = Some(success(status.last_successful_release, snapshot, facts.now));
    }
    status.last_reconcile_time = Some(Time(facts.now));
    status
}

/// What only earlier statuses know.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    /// Something was once released.
    was_released: bool,
    was_blocked: bool,
    was_degraded: bool,
    /// There is something to keep while Flux has no news.
    has_verdict: bool,
}

impl History {
    pub(super) fn of(status: &ApplicationInstanceStatus) -> Self {
        let conditions = &status.conditions;
        let blocked = conditions.read::<Blocked>();
        let degraded = conditions.read::<Degraded>();
        Self {
            was_released: status.last_successful_release.is_some(),
            was_blocked: blocked.is_some_and(|reason| reason != Blocked::NotBlocked),
            was_degraded: degraded.is_some_and(|reason| reason != Degraded::NotDegraded),
            has_verdict: conditions.read::<Ready>().is_some_and(|reason| reason != Ready::Reconciling),
        }
    }
}

/// The application as it runs; `None` keeps what was said.
fn ready(facts: &Facts<'_>, history: History) -> Option<(Ready, String)> {
    if let Some(Blocker::Condition(reason, message)) = &facts.blocker {
        if *reason == Blocked::MissingSecret {
            return Some((Ready::WaitingForSecret, message.clone()));
        }
        if !history.was_released {
            return Some((Ready::Blocked, format!("{}: {message}", reason.row().reason)));
        }
    }
    let in_progress = if history.was_released { Ready::Upgrading } else { Ready::Installing };
    Some(match &facts.reading {
        Reading::Unseen | Reading::Fetching if history.was_released && facts.change != Change::Waits => {
            (Ready::Upgrading, "Flux has been given the change.".to_owned())
        }
        Reading::Unseen | Reading::Fetching => {
            (Ready::Reconciling, "Flux has not begun with the release yet.".to_owned())
        }
        Reading::SourceTrouble(SourceTrouble::Unreachable(message) | SourceTrouble::Missing(message)) => {
            (Ready::ChartUnreachable, message.clone())
        }
        Reading::InProgress(message) => (in_progress, message.clone()),
        Reading::Failed(failure) => (Ready::HelmReleaseFailed, told(failure)),
        Reading::Released(snapshot) => (Ready::HelmReleaseReady, runs(snapshot)),
        Reading::NoNews if history.has_verdict => return None,
        Reading::NoNews => (in_progress, "Flux is looking at the release.".to_owned()),
    })
}

/// Whether the spec has been carried out; `None` keeps what was said.
fn reconciling(facts: &Facts<'_>, history: History) -> Option<(Reconciling, String)> {
    if facts.change == Change::Waits {
        let why = match (&facts.blocker, facts.pause) {
            (Some(Blocker::NotWritten(message)), _) => message.clone(),
            (_, Some(_)) => "The change waits until reconciliation is resumed: see Suspended.".to_owned(),
            (_, None) => "The change waits: see Blocked.".to_owned(),
        };
        return Some((Reconciling::ChangePending, why));
    }
    let acting = if history.was_released {
        Reconciling::HelmReleaseUpgrading
    } else {
        Reconciling::HelmReleaseInstalling
    };
    Some(match &facts.reading {
        Reading::Unseen | Reading::Fetching => {
            (Reconciling::ChartSourceSyncing, "Flux is fetching the chart.".to_owned())
        }
        Reading::SourceTrouble(_) => {
            (Reconciling::ChartSourceSyncing, "Flux tries again to fetch the chart.".to_owned())
        }
        Reading::InProgress(message) => (acting, message.clone()),
        Reading::Failed(failure) if failure.then == Then::Retried => {
            (acting, "Flux will try again.".to_owned())
        }
        Reading::Failed(_) | Reading::Released(_) => (Reconciling::Stable, String::new()),
        Reading::NoNews if history.has_verdict => return None,
        Reading::NoNews => (acting, "Flux is looking at the release.".to_owned()),
    })
}

/// Whether something that ran needs attention; `None` keeps what was said.
fn degraded(facts: &Facts<'_>, history: History) -> Option<(Degraded, String)> {
    let fine = if history.was_degraded { Degraded::Recovered } else { Degraded::NotDegraded };
    Some(match &facts.reading {
        Reading::Failed(Failure { message, left: Left::RolledBackTo(version), .. })
            if history.was_released =>
        {
            (Degraded::UpgradeFailed, format!("Rolled back: {version} runs. {message}"))
        }
        Reading::Failed(Failure { message, left: Left::Damaged, .. }) if history.was_released => {
            (Degraded::HelmReleaseDegraded, message.clone())
        }
        // Still broken while the next attempt runs: only a success says otherwise.
        Reading::Released(_) => (fine, String::new()),
        _ if facts
            .app
            .status
            .as_ref()
            .is_some_and(|status| status.conditions.read::<Degraded>().is_some()) =>
        {
            return None;
        }
        _ => (Degraded::NotDegraded, String::new()),
    })
}

pub(super) fn blocked(facts: &Facts<'_>, history: History) -> (Blocked, String) {
    match &facts.blocker {
        Some(Blocker::Condition(reason, message)) => (*reason, message.clone()),
        Some(Blocker::NotWritten(_)) | None => unblocked(history),
    }
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

fn told(failure: &Failure) -> String {
    match &failure.left {
        Left::RolledBackTo(version) => format!("{} Rolled back: {version} runs.", failure.message),
        Left::Untouched | Left::Damaged => failure.message.clone(),
    }
}

fn runs(snapshot: &Snapshot) -> String {
    format!("Chart version {} runs as revision {}.", snapshot.chart_version, snapshot.version)
}

/// The same success keeps the time at which it was first seen.
fn success(known: Option<SuccessfulRelease>, snapshot: &Snapshot, now: Timestamp) -> SuccessfulRelease {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let seen = SuccessfulRelease {
        chart_version: snapshot.chart_version.clone(),
        revision: snapshot.version,
        config_digest: text(&snapshot.config_digest),
        oci_digest: text(&snapshot.oci_digest),
        time: Time(now),
    };
    match known {
        Some(known) if (SuccessfulRelease { time: known.time.clone(), ..seen.clone() }) == known => known,
        _ => seen,
    }
}
