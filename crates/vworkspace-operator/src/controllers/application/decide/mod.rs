//! Everything the operator does for an instance, from what it sees. Pure: same input, same plan.
//!
//! One file per question: is it paused, is it blocked, what does Flux tell, what do the conditions say, how does it end.

mod approval;
mod blocker;
mod chart_source;
mod degraded;
mod drift;
mod earlier_conclusion;
pub(crate) mod pause;
mod placeholder;
#[cfg(test)]
pub(crate) mod precedence;
mod quoting;
mod readiness;
mod ready;
mod reconcile_request;
mod reconciling;
mod release_state;
mod status;
#[cfg(test)]
pub(super) mod testing;
mod uninstall;
mod unreadable;

use std::time::Duration;

use agent_protocol::PublicKeys;
use jiff::Timestamp;
use operator_kit::{Child, Deed, Deletion, Finalizer, Found, Plan, Sight, TemporaryWatch};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, AppliedChart, Blocked, ChartSourceKind, HelmReleaseRef,
    Mode,
};

use super::children::{self, DesiredRelease, Suspension};
use super::observe::{Seen, World};
use super::temporary_watches;
use crate::controllers::application::endpoints::endpoints;
use crate::external::flux::{HelmRelease, Source};
use approval::Approval;
use blocker::{Blocker, Situation};
use pause::Pause;
use release_state::{Carries, ReleaseState};
use status::History;
pub(super) use unreadable::unreadable;

/// What the operator is told by its flags.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// How long a chart source may be unreachable before that is called a degradation.
    pub(crate) chart_unreachable_after: Duration,
    /// Whose approvals count.
    pub(crate) approval_keys: PublicKeys,
    /// In whose name Flux works for an instance that names no service account. Nothing: in its own.
    pub(crate) default_service_account: Option<String>,
}

pub(super) fn plan(
    app: &ApplicationInstance,
    world: &World,
    rules: &Rules,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    if app.metadata.deletion_timestamp.is_some() {
        return uninstall::plan(app, world, now);
    }
    if app.spec.mode == Mode::Placeholder {
        return placeholder::plan(app, now);
    }
    if world.source == Seen::NotYet {
        return first_look(app);
    }
    managed(app, &DesiredRelease::of(app, &world.specs), world, rules, now)
}

/// What decides has not been seen yet: nothing is said before it is.
fn first_look(app: &ApplicationInstance) -> Plan<ApplicationInstanceStatus> {
    let status = app.status.clone().unwrap_or_default();
    Plan { temporary_watches: wanted_watches(app, false), ..Plan::only_status(Finalizer::Hold, status) }
}

fn managed(
    app: &ApplicationInstance,
    desired: &Result<DesiredRelease<'_>, String>,
    world: &World,
    rules: &Rules,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    let is_with_flux = desired.as_ref().is_ok_and(|desired| is_with_flux(world, desired));
    let approval = desired.as_ref().map_or(Approval::NotNeeded, |desired| {
        approval::of(app, desired, world, is_with_flux, &rules.approval_keys, now)
    });
    let pausing = pause::of(app, world, now);
    let pause = pausing.pause.as_ref();
    // What is refused now, although Flux once had it, has not been taken since it was said to wait.
    let is_refused = world.refusals.iter().any(|refusal| refusal.deed == Deed::Make);
    let is_taken = is_with_flux && !is_refused;
    let carries = if is_taken { Carries::ThisSpec } else { Carries::AnEarlierOne };
    let seen = release_state::of(app, world, carries, now);
    let situation = |seen| Situation {
        app,
        world,
        desired: desired.as_ref().map_err(String::as_str),
        seen,
        is_with_flux,
        approval: &approval,
    };
    let blocker = blocker::first(situation(&seen));
    // What was approved just now is noted before it goes out: who comes after a crash must know which chart that was.
    let to_roll_out = desired.as_ref().ok().filter(|_| !matches!(approval, Approval::Accepted(_)));
    let rollout = Rollout::of(app, world, to_roll_out, is_with_flux, pause, blocker.as_ref());
    let candidate = candidate(desired.as_ref().ok(), pause, blocker.as_ref());
    let is_free = pause.is_none() && !blocker.as_ref().is_some_and(Blocker::forbids_rollout);
    // What Flux told before it was given the change says nothing about it.
    let (state, blocker) = match rollout.change {
        Change::GoesOut => (&ReleaseState::Unseen, blocker::first(situation(&ReleaseState::Unseen))),
        Change::WithFlux | Change::Waits => (&seen, blocker),
    };
    let awaited_secret = blocker::awaited_secret(&situation(state));
    let is_released = matches!(state, ReleaseState::Released(_));
    let unreachable = chart_source::unreachable_source(world, rules.chart_unreachable_after);
    let drift = drift::current(app, world, now);
    let requeue_at = [
        pausing.look_again,
        drift.as_ref().map(|drift| drift.until),
        unreachable.as_ref().map(|trouble| trouble.counts_from),
        state.chart_trouble().map(release_state::believed_from),
        readiness::next_expiry(world, now),
    ];
    let status = status::of(&status::Facts {
        app,
        pause,
        paused_for: pause::operation_at_rest(world, pause),
        refused_pause: pause::refused(app, world, pause),
        refused_end: pause::refused_end(app, world, pause),
        blocker,
        change: rollout.change,
        state,
        failed_before: matches!(state, ReleaseState::SourceTrouble(_))
            .then(|| release_state::failed_before(app, world))
            .flatten(),
        awaited_secret,
        is_secret_unseen: readiness::is_secret_unseen(world),
        certificate: readiness::missing_certificate(app, world, now),
        checks: readiness::checks(app, world),
        warnings: readiness::warnings(app, world),
        drift: drift.map(|drift| drift.message),
        unreachable: unreachable.filter(|trouble| trouble.counts_from <= now).map(|trouble| trouble.message),
        install_attempted: uninstall::is_install_attempted(app, world),
        secret_values: quoting::can_quote_secrets_later(app, world, rollout.change, state),
        carried: world
            .release
            .present()
            .and_then(|release| children::change_of(&release.metadata))
            .map(str::to_owned),
        last_applied_chart: rollout.chart,
        // One that has to wait for something else is looked at again then.
        approved: match &approval {
            Approval::Accepted(approved) if is_free => Some(approved.clone()),
            _ => None,
        },
        helm_release_ref: release_ref(app, world, rollout.change),
        endpoints: match (&world.services, &world.ingresses) {
            (Found::Objects(services), Found::Objects(ingresses)) => {
                Some(endpoints(services, ingresses, app.spec.integrations.ingress.host.as_deref()))
            }
            // What cannot be listed is not gone.
            _ => None,
        },
        is_drift_seen: world.is_drift_seen,
        is_source_seen: !matches!(world.source, Seen::Known(Sight::Unknown(_))),
        history: app.status.as_ref().map_or_else(History::default, History::of).and(state),
        now,
    });
    Plan {
        children: rollout.children.into_iter().chain(candidate).collect(),
        deletions: rollout.deletions,
        reconcile_requests: reconcile_request::reconcile_requests(app, world, pause),
        temporary_watches: wanted_watches(
            app,
            reconcile_request::values_are_in_trouble(world) || approval.is_open(),
        )
        .into_iter()
        .chain(readiness::services(app, world, is_released))
        .chain(readiness::promised_secrets(world))
        .collect(),
        polls: readiness::polls(app, world, is_released),
        requeue_at: requeue_at.into_iter().flatten().filter(|at| *at > now).min(),
        ..Plan::only_status(Finalizer::Hold, status)
    }
}

fn wanted_watches(app: &ApplicationInstance, values_matter: bool) -> Vec<TemporaryWatch> {
    let values = temporary_watches::values_object(app).filter(|_| values_matter);
    temporary_watches::referenced_source(app).into_iter().chain(values).collect()
}

/// Whether the spec is with Flux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Flux has it.
    WithFlux,
    /// Flux gets it with this plan.
    GoesOut,
    /// It waits: what runs is what was handed over before.
    Waits,
}

/// What Flux is given with this plan.
struct Rollout {
    children: Vec<Child>,
    deletions: Vec<Deletion>,
    change: Change,
    chart: Option<AppliedChart>,
}

impl Rollout {
    fn of(
        app: &ApplicationInstance,
        world: &World,
        desired: Option<&DesiredRelease<'_>>,
        is_with_flux: bool,
        pause: Option<&Pause>,
        blocker: Option<&Blocker>,
    ) -> Self {
        let known = app.status.as_ref().and_then(|status| status.last_applied_chart.clone());
        match (desired, pause) {
            (Some(desired), None) if !blocker.is_some_and(Blocker::forbids_rollout) => {
                let is_kept_back = blocker.is_some_and(Blocker::keeps_the_change_back);
                Self {
                    children: if is_with_flux {
                        desired.children_as_pinned(world.source.present())
                    } else {
                        desired.children()
                    },
                    deletions: outdated(world),
                    change: match (is_with_flux, is_kept_back) {
                        // Also when Flux once had it: somebody has changed it since and does not let us put it right.
                        (_, true) => Change::Waits,
                        (true, false) => Change::WithFlux,
                        (false, false) => Change::GoesOut,
                    },
                    chart: if is_with_flux || !is_kept_back { Some(desired.chart.into()) } else { known },
                }
            }
            _ => Self {
                children: as_paused(app, world, pause).into_iter().collect(),
                deletions: Vec::new(),
                change: if is_with_flux { Change::WithFlux } else { Change::Waits },
                chart: known,
            },
        }
    }
}

/// The release as it stands, but suspended if that is how the instance is paused. What we suspended goes on when the
/// pause is over, also while the change itself has to wait for something else.
fn as_paused(app: &ApplicationInstance, world: &World, pause: Option<&Pause>) -> Option<Child> {
    let release = world.release.present().filter(|release| !release.is_being_deleted())?;
    let as_it_is = |suspension| Some(children::as_it_is(app, release, suspension));
    match pause {
        Some(pause) if pause.suspends_the_release() => as_it_is(Suspension::On),
        None if pause::is_ours(app, release) => as_it_is(Suspension::Off),
        Some(_) | None => None,
    }
}

/// Finds out which chart there is to approve. By annotation we write only the status.
fn candidate(
    desired: Option<&DesiredRelease<'_>>,
    pause: Option<&Pause>,
    blocker: Option<&Blocker>,
) -> Option<Child> {
    let is_awaited = matches!(blocker, Some(Blocker::Before(Blocked::AwaitingApproval, _)));
    desired.filter(|_| is_awaited && pause != Some(&Pause::Annotated))?.candidate()
}

/// Sources of ours that the spec does not ask for any more, and the one that only found out what it would get.
fn outdated(world: &World) -> Vec<Deletion> {
    let sources = world.outdated_sources.iter().map(|(kind, source)| (*kind, source));
    let candidate = world.candidate.iter().map(|source| (ChartSourceKind::OciRepository, source));
    let left = sources.chain(candidate).filter(|(_, source)| source.metadata.deletion_timestamp.is_none());
    left.filter_map(|(kind, source)| children::delete_source(source, kind)).collect()
}

/// Whether Flux already has what the spec asks for.
fn is_with_flux(world: &World, desired: &DesiredRelease<'_>) -> bool {
    let has_source = |source: &Source| children::source_asked_of(&source.metadata) == desired.source();
    let carries = |release: &HelmRelease| children::change_of(&release.metadata) == Some(desired.change());
    (desired.referenced().is_some() || world.source.present().is_some_and(has_source))
        && world.release.present().is_some_and(carries)
}

/// The release that carries the application, from the moment it is handed to Flux.
fn release_ref(app: &ApplicationInstance, world: &World, change: Change) -> Option<HelmReleaseRef> {
    let exists = world.release.present().is_some() || change == Change::GoesOut;
    let release = app.spec.release.as_ref().filter(|_| exists)?;
    Some(HelmReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() })
}

#[cfg(test)]
mod tests;
