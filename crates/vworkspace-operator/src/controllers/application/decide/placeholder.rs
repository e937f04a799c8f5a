//! An instance that only stands as a target for operations.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Finalizer, Plan};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, Degraded, Deleting, Ready, Reconciling,
};

use super::status::{History, finish, moment, unblocked};
use super::{pause, uninstall};
use crate::controllers::application::asking::Question;

pub(super) fn plan(app: &ApplicationInstance, now: Timestamp) -> Plan<ApplicationInstanceStatus, Question> {
    let mut status = app.status.clone().unwrap_or_default();
    let at = moment(app, now);
    let (blocked, message) = unblocked(History::of(&status));
    let conditions = &mut status.conditions;
    conditions.set(Ready::Placeholder, "spec.mode is placeholder: there is nothing to install.", at);
    conditions.set(Reconciling::Stable, "", at);
    conditions.set(Degraded::NotDegraded, "", at);
    conditions.set(blocked, message, at);
    let (suspended, message) = pause::condition(pause::by_hand(app).as_ref());
    conditions.set(suspended, message, at);
    conditions.set(Deleting::NotDeleting, "", at);
    finish(conditions, at);
    status.observed_generation = app.metadata.generation;
    status.last_reconcile_time = Some(Time(now));
    // It has no children to clean up after, unless it was managed before a rule forbade to become a placeholder.
    Plan { gone: uninstall::children_of(app), ..Plan::only_status(Finalizer::Release, status) }
}
