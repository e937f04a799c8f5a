//! Pods that will not run without help.

use serde_json::Value;

use crate::evidence::{Evidence, Path};
use crate::object::Object;
use crate::outcome::Outcome;

const LISTS: [&str; 2] = ["status.initContainerStatuses", crate::rules::CONTAINERS];

/// What the kubelet retries, but a person has to put right.
const CANNOT_START: [&str; 7] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// A failed pod, or a container (init containers too) that cannot start.
pub(super) fn review<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let phase = object.status.field("status.phase");
    match phase.text()? {
        "Failed" => Some(failed(object)),
        "Running" if object.condition("Ready", "True").is_some() => None,
        "Running" | "Pending" => cannot_start(object),
        _ => None,
    }
}

fn failed<'a>(object: &Object<'a>) -> Outcome<'a> {
    let phase = object.status.field("status.phase");
    let reason = object.status.field("status.reason").text().filter(|reason| !reason.is_empty());
    let message = object.status.field("status.message").text().filter(|message| !message.is_empty());
    Outcome::failed(
        reason.unwrap_or("PodFailed"),
        message.unwrap_or("Pod has completed, but not successfully"),
        [phase.evidence()],
    )
}

fn cannot_start<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    LISTS.into_iter().find_map(|list| {
        let containers = object.status.field(list).list();
        containers.iter().enumerate().find_map(|(index, container)| {
            let value = container.get("state")?.get("waiting")?.get("reason")?;
            let reason = value.as_str().filter(|reason| CANNOT_START.contains(reason))?;
            let name = container.get("name").and_then(Value::as_str).unwrap_or("?");
            let path = Path::Entry { list, index, field: "state.waiting.reason" };
            let message = format!("Container {name} cannot start: {reason}");
            Some(Outcome::failed(reason, message, [Evidence { path, value: Some(value) }]))
        })
    })
}
