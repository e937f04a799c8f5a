//! Pod.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::evidence::{Evidence, Path};
use crate::go_time::Instant;
use crate::object::Object;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

/// How long the scheduler may look for a node before it counts as a failure.
const SCHEDULING: SignedDuration = SignedDuration::from_secs(15);

pub(crate) const CONTAINERS: &str = "status.containerStatuses";

/// By phase. A pod that failed has completed: not a failure here.
pub(super) fn status<'a>(object: &Object<'a>, now: Timestamp) -> Result<Outcome<'a>, Refusal> {
    let phase = object.status.field("status.phase");
    Ok(match phase.text().unwrap_or_default() {
        "Succeeded" => Outcome::current("Pod has completed successfully", [phase.evidence()]),
        "Failed" => Outcome::current("Pod has completed, but not successfully", [phase.evidence()]),
        "Running" => running(object)?,
        "Pending" => pending(object, now),
        "" => Outcome::in_progress("PodNotObserved", "Pod phase not available", [phase.evidence()]),
        other => return Err(Refusal::UnknownPhase(other.to_owned())),
    })
}

fn running<'a>(object: &Object<'a>) -> Result<Outcome<'a>, Refusal> {
    if let Some(entry) = object.condition("Ready", "True") {
        return Ok(Outcome::current("Pod is Ready", [entry.evidence("status")]));
    }
    let looping = crash_looping(object)?;
    if looping.is_empty() {
        let phase = object.status.field("status.phase");
        let message = "Pod is running but is not Ready";
        return Ok(Outcome::in_progress("PodRunningNotReady", message, [phase.evidence()]));
    }
    let names: Vec<&str> = looping.iter().map(|(name, _)| *name).collect();
    let message = format!("Containers in CrashLoop state: {}", names.join(","));
    let mut outcome = Outcome::failed("ContainerCrashLooping", message, []);
    outcome.evidence = looping.into_iter().map(|(_, evidence)| evidence).collect();
    Ok(outcome)
}

/// Names of the containers that wait to be started again. The reference crashes where this refuses an entry.
fn crash_looping<'a>(object: &Object<'a>) -> Result<Vec<(&'a str, Evidence<'a>)>, Refusal> {
    let containers = match object.status.field(CONTAINERS).raw {
        None => return Ok(Vec::new()),
        Some(Value::Array(containers)) => containers,
        Some(other) => return Err(Refusal::wrong_type(Path::Field(CONTAINERS), other, "a list")),
    };
    let mut looping = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let at = |field| Path::Entry { list: CONTAINERS, index, field };
        let container = as_map(container, at(""))?;
        let Some(name) = container.get("name") else {
            continue;
        };
        let name = as_text(name, at("name"))?;
        let Some(state) = container.get("state") else {
            continue;
        };
        let Some(waiting) = as_map(state, at("state"))?.get("waiting") else {
            continue;
        };
        let Some(reason) = as_map(waiting, at("state.waiting"))?.get("reason") else {
            continue;
        };
        if as_text(reason, at("state.waiting.reason"))? == "CrashLoopBackOff" {
            looping.push((name, Evidence { path: at("state.waiting.reason"), value: Some(reason) }));
        }
    }
    Ok(looping)
}

fn as_map(value: &Value, path: Path) -> Result<&Map<String, Value>, Refusal> {
    value.as_object().ok_or_else(|| Refusal::wrong_type(path, value, "an object"))
}

fn as_text(value: &Value, path: Path) -> Result<&str, Refusal> {
    value.as_str().ok_or_else(|| Refusal::wrong_type(path, value, "a string"))
}

fn pending<'a>(object: &Object<'a>, now: Timestamp) -> Outcome<'a> {
    let unscheduled = object.condition("PodScheduled", "False");
    let Some(entry) = unscheduled.filter(|entry| entry.reason == "Unschedulable") else {
        let phase = object.status.field("status.phase");
        return Outcome::in_progress("PodPending", "Pod is in the Pending phase", [phase.evidence()]);
    };
    let created = object.metadata.field("metadata.creationTimestamp");
    let evidence = [entry.evidence("reason"), created.evidence()];
    let is_new =
        created.text().and_then(Instant::parse).is_some_and(|created| created.is_after(now, SCHEDULING));
    if is_new {
        Outcome::in_progress("PodNotScheduled", "Pod has not been scheduled", evidence)
    } else {
        Outcome::failed("PodUnschedulable", "Pod could not be scheduled", evidence)
    }
}
