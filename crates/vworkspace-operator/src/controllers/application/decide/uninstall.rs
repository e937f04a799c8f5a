//! How an instance ends. Deletion wins over pausing: Flux skips the uninstall of a suspended release, which would leave
//! the application behind.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Child, Deletion, Finalizer, Plan, Sight};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, Degraded, Deleting, DeletionPolicy, Ready, Reconciling,
};

use super::pause;
use super::status::{History, finish, moment, unblocked};
use crate::controllers::application::children::{self, Suspension};
use crate::controllers::application::observe::World;
use crate::flux::{HelmRelease, condition};

/// What is next.
#[derive(Debug, PartialEq)]
enum Step {
    /// The release must first be suspended, or be so no longer.
    Prepare(Box<Child>),
    Delete(Deletion),
    /// Flux is at work, or the release cannot be read.
    Wait(String),
    Done,
}

pub(super) fn plan(
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    let step = step(app, world);
    let finalizer = if step == Step::Done { Finalizer::Release } else { Finalizer::Hold };
    let status = status(app, &step, now);
    let (mut children, mut deletions) = (Vec::new(), Vec::new());
    match step {
        Step::Prepare(child) => children.push(*child),
        Step::Delete(deletion) => deletions.push(deletion),
        Step::Wait(_) | Step::Done => {}
    }
    Plan { children, deletions, ..Plan::only_status(finalizer, status) }
}

fn step(app: &ApplicationInstance, world: &World) -> Step {
    let release = match &world.release {
        Sight::Absent | Sight::NotInstalled => return Step::Done,
        Sight::Unreadable(why) => return Step::Wait(format!("The HelmRelease cannot be read: {why}")),
        Sight::Present(release) => release,
    };
    if release.is_being_deleted() {
        return Step::Wait(progress(release));
    }
    let wanted = match app.spec.deletion_policy {
        DeletionPolicy::Delete => Suspension::Off,
        DeletionPolicy::Orphan => Suspension::On,
    };
    if release.is_suspended() != (wanted == Suspension::On) {
        return Step::Prepare(Box::new(children::as_it_is(app, release, wanted)));
    }
    children::delete_release(release).map_or_else(|| Step::Wait(progress(release)), Step::Delete)
}

fn progress(release: &HelmRelease) -> String {
    match condition(&release.status.conditions, "Ready") {
        Some(ready) if ready.reason == "UninstallFailed" => format!("Flux tries again: {}", ready.message),
        _ => "Flux is uninstalling the release.".to_owned(),
    }
}

fn status(app: &ApplicationInstance, step: &Step, now: Timestamp) -> ApplicationInstanceStatus {
    let mut status = app.status.clone().unwrap_or_default();
    let at = moment(app, now);
    let (blocked, blocked_message) = unblocked(History::of(&status));
    let message = match step {
        Step::Wait(message) => message.clone(),
        Step::Prepare(_) | Step::Delete(_) | Step::Done => "Flux is uninstalling the release.".to_owned(),
    };
    let conditions = &mut status.conditions;
    conditions.set(Deleting::Uninstalling, message.clone(), at);
    conditions.set(Ready::Uninstalling, message, at);
    conditions.set(Reconciling::Stable, "The spec is not carried out any more: see Deleting.", at);
    if conditions.read::<Degraded>().is_none() {
        conditions.set(Degraded::NotDegraded, "", at);
    }
    conditions.set(blocked, blocked_message, at);
    let (suspended, message) = pause::condition(pause::reason(app));
    conditions.set(suspended, message, at);
    finish(conditions, at);
    status.observed_generation = app.metadata.generation;
    status.last_reconcile_time = Some(Time(now));
    status
}
