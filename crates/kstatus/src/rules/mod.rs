//! The built-in kinds that have a rule of their own. A rule always answers.

mod custom_resource_definition;
mod daemon_set;
pub(crate) mod deployment;
mod job;
mod pod;
mod replica_set;
pub(crate) mod replicas;
mod service;
mod stateful_set;
mod volume_claim;

use jiff::Timestamp;

use crate::object::Object;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

pub(crate) use pod::CONTAINERS;

/// What the rule for the object's kind says; `None` if there is no rule. The API version does not matter.
pub(crate) fn built_in<'a>(object: &Object<'a>, now: Timestamp) -> Option<Result<Outcome<'a>, Refusal>> {
    Some(Ok(match group_and_kind(object)? {
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") => {
            Outcome::current("Resource is always ready", [object.kind_evidence()])
        }
        ("", "Service") => service::status(object),
        ("", "PersistentVolumeClaim") => volume_claim::status(object),
        ("", "Pod") => return Some(pod::status(object, now)),
        ("apps" | "extensions", "Deployment") => deployment::status(object),
        ("apps" | "extensions", "ReplicaSet") => replica_set::status(object),
        ("apps" | "extensions", "DaemonSet") => daemon_set::status(object),
        ("apps", "StatefulSet") => stateful_set::status(object),
        ("policy", "PodDisruptionBudget") => {
            Outcome::current("AllowedDisruptions has been computed.", [object.kind_evidence()])
        }
        ("batch", "Job") => job::status(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => custom_resource_definition::status(object),
        _ => return None,
    }))
}

/// The reference looks rules up by the text `group/kind`, so that a kind of the core group with a slash in its name
/// is taken for one of another group.
fn group_and_kind<'a>(object: &Object<'a>) -> Option<(&'a str, &'a str)> {
    let (group, kind) = (object.group()?, object.kind());
    match kind.split_once('/') {
        Some((other, kind)) if group.is_empty() => Some((other, kind)).filter(|_| !other.is_empty()),
        _ => Some((group, kind)),
    }
}
