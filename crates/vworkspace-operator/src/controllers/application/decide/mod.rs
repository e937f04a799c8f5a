//! Everything the operator does for an instance, from what it sees. Pure: same input, same plan.
//!
//! One file per question: is it paused, is it blocked, what does Flux tell, what do the conditions say, how does it end.

mod blocker;
mod pause;
mod placeholder;
mod reading;
mod status;
#[cfg(test)]
pub(super) mod testing;
mod uninstall;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use operator_kit::{Child, Deletion, Finalizer, Plan};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, AppliedChart, HelmReleaseRef, Mode,
};

use super::children::{self, Order, Suspension};
use super::observe::World;
use blocker::Blocker;
use pause::Pause;
use reading::Reading;

pub(super) fn plan(
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    if app.metadata.deletion_timestamp.is_some() {
        return uninstall::plan(app, world, now);
    }
    if app.spec.mode == Mode::Placeholder {
        return placeholder::plan(app, now);
    }
    let pause = pause::reason(app);
    let seen = reading::of(app, world);
    let blocker = blocker::first(app, world, &seen);
    let order = Order::of(app).ok();
    let handover = Handover::of(app, world, order.as_ref(), pause, blocker.as_ref());
    let status = status::of(&status::Facts {
        app,
        pause,
        blocker,
        change: handover.change,
        // What Flux told before it was given the change says nothing about it.
        reading: if handover.change == Change::GoesOut { Reading::Unseen } else { seen },
        last_applied_chart: handover.chart,
        helm_release_ref: release_ref(app, world, handover.change),
        now,
    });
    Plan {
        children: handover.children,
        deletions: handover.deletions,
        ..Plan::only_status(Finalizer::Hold, status)
    }
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
struct Handover {
    children: Vec<Child>,
    deletions: Vec<Deletion>,
    change: Change,
    chart: Option<AppliedChart>,
}

impl Handover {
    fn of(
        app: &ApplicationInstance,
        world: &World,
        order: Option<&Order<'_>>,
        pause: Option<Pause>,
        blocker: Option<&Blocker>,
    ) -> Self {
        let is_with_flux = order.is_some_and(|order| is_with_flux(world, order));
        let known = app.status.as_ref().and_then(|status| status.last_applied_chart.clone());
        match (order, pause) {
            (Some(order), None) if !blocker.is_some_and(Blocker::forbids_handing_over) => Self {
                children: order.children(),
                deletions: outdated(world, order),
                change: match (is_with_flux, blocker.is_some_and(Blocker::keeps_the_change_back)) {
                    // Also when Flux once had it: somebody has changed it since and does not let us put it right.
                    (_, true) => Change::Waits,
                    (true, false) => Change::WithFlux,
                    (false, false) => Change::GoesOut,
                },
                chart: if is_with_flux || blocker.is_none() { Some(order.chart.into()) } else { known },
            },
            _ => Self {
                children: suspended(app, world, pause).into_iter().collect(),
                deletions: Vec::new(),
                change: if is_with_flux { Change::WithFlux } else { Change::Waits },
                chart: known,
            },
        }
    }
}

/// The release as it stands, but suspended, if that is how the instance is paused.
fn suspended(app: &ApplicationInstance, world: &World, pause: Option<Pause>) -> Option<Child> {
    let release = world.release.present().filter(|release| !release.is_being_deleted())?;
    (pause == Some(Pause::Suspended)).then(|| children::as_it_is(app, release, Suspension::On))
}

/// A source of the kind that the spec does not ask for any more.
fn outdated(world: &World, order: &Order<'_>) -> Vec<Deletion> {
    let source = world.outdated_source.as_ref();
    source.and_then(|source| children::delete_source(source, order.source_type)).into_iter().collect()
}

/// Whether Flux already has what the spec asks for.
fn is_with_flux(world: &World, order: &Order<'_>) -> bool {
    let change = order.change();
    let carries = |meta: &ObjectMeta| children::change_of(meta) == Some(change.as_str());
    world.release.present().is_some_and(|release| carries(&release.metadata))
        && world.source.present().is_some_and(|source| carries(&source.metadata))
}

/// The release that carries the application, from the moment it is handed to Flux.
fn release_ref(app: &ApplicationInstance, world: &World, change: Change) -> Option<HelmReleaseRef> {
    let exists = world.release.present().is_some() || change == Change::GoesOut;
    let release = app.spec.release.as_ref().filter(|_| exists)?;
    Some(HelmReleaseRef { name: release.name.clone(), namespace: release.namespace.clone() })
}

#[cfg(test)]
mod tests;
