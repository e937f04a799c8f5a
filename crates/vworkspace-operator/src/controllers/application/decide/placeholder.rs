//! An instance that only stands as a target for operations.

use conditions::Draft;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Finalizer, Plan};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, Degraded, Deleting, Ready, Reconciling,
};

use super::status::{History, forget, moment, unblocked};
use super::{pause, uninstall};

pub(super) fn plan(app: &ApplicationInstance, now: Timestamp) -> Plan<ApplicationInstanceStatus> {
    let before = app.status.clone().unwrap_or_default();
    let blocked = unblocked(History::of(&before));
    let mut draft = Draft::next(before.conditions, moment(app, now));
    draft.say(Ready::Placeholder, "spec.mode is placeholder: there is nothing to install.");
    draft.say(Reconciling::Stable, "");
    draft.say(Degraded::NotDegraded, "");
    draft.say(blocked, "");
    let (suspended, message) = pause::condition(pause::by_hand(app).as_ref());
    draft.say(suspended, message);
    draft.say(Deleting::NotDeleting, "");
    let mut status = ApplicationInstanceStatus { conditions: draft.finish(), ..before };
    status.observed_generation = app.metadata.generation;
    status.last_reconcile_time = Some(Time(now));
    forget(&mut status);
    status.open_window = None;
    // It has no children to clean up after, unless it was managed before a rule forbade to become a placeholder.
    Plan { gone: uninstall::children_of(app), ..Plan::only_status(Finalizer::Release, status) }
}
