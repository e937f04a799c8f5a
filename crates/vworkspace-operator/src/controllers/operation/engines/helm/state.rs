//! How far an upgrade has come, from what the instance says.

use conditions::kstatus::{RECONCILING, STALLED};
use conditions::{Condition, Status};
use jiff::Timestamp;
use kube::ResourceExt;
use operator_kit::{Quotes, redact};
use serde_json::{Map, Value};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, Degraded, Ready, Reconciling,
};
use vworkspace_api::operation::Failed;

use super::{Upgrade, change, released, upgraded_by, version_of};
use crate::controllers::operation::engines::{Ending, Outcome, Progress, State};
use crate::external::flux::is_same_version;

/// What becomes of the spec of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Course {
    /// It is on its way, or waits; in words.
    Underway(String),
    /// It is released, and the application is ready.
    Released,
    /// It failed, and nobody tries again; why.
    Failed(String),
}

/// Of an instance that was changed. A later change that leaves ours as it is, is followed, too.
pub(super) fn of(upgrade: &Upgrade, instance: &ApplicationInstance) -> State {
    let outputs = upgrade.outputs(instance);
    if is_outdated(upgrade, &outputs, instance) {
        return State::Unknown("the change that was made is not seen".to_owned());
    }
    let name = instance.name_any();
    let failed = |message: String| State::Ended(ending(upgrade, instance, Err(message), outputs.clone()));
    if instance.metadata.deletion_timestamp.is_some() {
        return failed(format!("ApplicationInstance {name} is being deleted.{}", last_released(instance)));
    }
    let version = outputs.get("toVersion").and_then(Value::as_str).map(str::to_owned);
    let version = version.or_else(|| version_of(instance)).unwrap_or_default();
    let undone = change::undone(&upgrade.parameters, &version, instance);
    let another = upgraded_by(instance).filter(|by| Some(*by) != upgrade.uid.as_deref());
    let another = || another.map(|by| format!("annotation {} names operation {by}", super::UPGRADED_BY));
    if let Some(found) = undone.or_else(another) {
        return failed(format!("Somebody else changed ApplicationInstance {name} meanwhile: {found}."));
    }
    match course(instance, &version) {
        Course::Underway(message) => State::Running(Progress { message, outputs, ..Progress::default() }),
        Course::Released => State::Ended(ending(upgrade, instance, Ok(&version), outputs)),
        Course::Failed(why) => failed(format!(
            "ApplicationInstance {name} does not run version {version} as it was asked to. {}.{}",
            why.trim_end_matches('.'),
            last_released(instance)
        )),
    }
}

/// Whether what is seen is from before what was seen already: after a change of leaders.
fn is_outdated(upgrade: &Upgrade, outputs: &Map<String, Value>, instance: &ApplicationInstance) -> bool {
    let is_same = upgrade.known.engine_ref.as_ref().is_some_and(|known| known.uid == instance.uid());
    is_same && outputs.get("generation").and_then(Value::as_i64) > instance.metadata.generation
}

/// What becomes of the newest generation, in which this version is wanted.
pub(super) fn course(instance: &ApplicationInstance, version: &str) -> Course {
    let name = instance.name_any();
    let current = |status: &&ApplicationInstanceStatus| {
        status.observed_generation.is_some() && status.observed_generation == instance.metadata.generation
    };
    let Some(status) = instance.status.as_ref().filter(current) else {
        return Course::Underway(format!(
            "ApplicationInstance {name} says nothing about generation {} yet.",
            instance.metadata.generation.unwrap_or_default()
        ));
    };
    if let Some(failure) = failure(status) {
        return Course::Failed(failure);
    }
    let conditions = &status.conditions;
    let reconciling = conditions.get(RECONCILING).filter(|known| known.status != Status::False);
    if let Some(reconciling) = reconciling {
        return Course::Underway(if conditions.read() == Some(Reconciling::ChangePending) {
            let suspended = conditions.get("Suspended").filter(|known| known.status == Status::True);
            let suspended = suspended.map(|known| format!(" Suspended: {}", quoted(known)));
            let waits = redact(&reconciling.message, Quotes::Trusted);
            format!("Flux has not been given the change. {waits}{}", suspended.unwrap_or_default())
        } else {
            format!("ApplicationInstance {name} is being changed. {}", quoted(reconciling))
        });
    }
    let ready = conditions.get("Ready");
    match (ready.filter(|ready| ready.status == Status::True), released(instance)) {
        (Some(_), Some(released)) if is_same_version(version, &released.chart_version) => Course::Released,
        (Some(_), released) => {
            let found = released.map_or("no version", |released| released.chart_version.as_str());
            Course::Underway(format!("ApplicationInstance {name} runs {found}, and not yet {version}."))
        }
        (None, _) => {
            let why = ready.map(|ready| format!(" {}", quoted(ready))).unwrap_or_default();
            Course::Underway(format!("ApplicationInstance {name} is not Ready.{why}"))
        }
    }
}

/// What failed for good. While Flux tries again it may still succeed; that it had failed before is said on.
fn failure(status: &ApplicationInstanceStatus) -> Option<String> {
    let conditions = &status.conditions;
    let stalled = conditions.get(STALLED).filter(|known| known.status == Status::True);
    let ready = conditions.read() == Some(Ready::HelmReleaseFailed);
    let degraded = conditions.read() == Some(Degraded::UpgradeFailed);
    let is_stable = conditions.read() == Some(Reconciling::Stable);
    // What was rolled back is named there.
    let rolled_back = conditions.get("Degraded").filter(|_| degraded && (ready || stalled.is_none()));
    let failed = conditions.get("Ready").filter(|_| ready);
    (stalled.is_some() || (is_stable && (ready || degraded)))
        .then(|| rolled_back.or(failed).or(stalled).map(quoted))?
}

/// A condition in its own words.
fn quoted(condition: &Condition) -> String {
    format!("{}: {}", condition.reason, redact(&condition.message, Quotes::Trusted))
}

/// What users have, as far as it is known.
fn last_released(instance: &ApplicationInstance) -> String {
    released(instance).map_or_else(String::new, |released| {
        format!(" Released last: version {} as revision {}.", released.chart_version, released.revision)
    })
}

fn ending(
    upgrade: &Upgrade,
    instance: &ApplicationInstance,
    version: Result<&str, String>,
    mut outputs: Map<String, Value>,
) -> Ending {
    let since = upgrade.known.started_at.as_ref().map(|time| time.0);
    let (outcome, message) = match version {
        Ok(version) => {
            let revision = released(instance).map(|released| released.revision);
            outputs.extend(revision.map(|revision| ("toRevision".to_owned(), Value::from(revision))));
            let revision = revision.map(|revision| format!(" as revision {revision}")).unwrap_or_default();
            let name = instance.name_any();
            (Outcome::Succeeded, format!("ApplicationInstance {name} runs version {version}{revision}."))
        }
        Err(message) => (Outcome::Failed(Failed::EngineFailed), message),
    };
    Ending { outcome, message, outputs, logs_ref: None, since, at: settled(instance, since) }
}

/// When the conditions became what they are; not before it began.
fn settled(instance: &ApplicationInstance, since: Option<Timestamp>) -> Option<Timestamp> {
    let conditions = &instance.status.as_ref()?.conditions;
    let at = ["Ready", RECONCILING].into_iter().filter_map(|type_| conditions.get(type_));
    at.map(|known| known.last_transition_time).max().filter(|at| since.is_some_and(|since| *at >= since))
}
