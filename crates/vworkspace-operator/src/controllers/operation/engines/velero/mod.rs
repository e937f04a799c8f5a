//! `velero`: backups and restores, done by Velero in its own namespace.
//!
//! What we make is made once and never written again: Velero keeps its status in the same object, where a write of ours could
//! wipe it. What Velero is told is what we have read and written down ourselves: one duration that it cannot read stops it for
//! everybody.

mod backup;
mod backup_state;
mod location;
mod restore;
mod restore_state;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use operator_kit::{Deletion, Dependents, ObjectKey, Quotes, redact};
use serde_json::{Map, Value};
use vworkspace_api::operation::{EngineRef, Operation};

pub(crate) use backup::BackupWork;
pub(crate) use location::{Locations, every_location, in_its_namespace};
pub(crate) use restore::{Origin, RestoreWork, backup_watch, namespace_watch};

use super::Progress;
use crate::controllers::operation::MANAGED_BY;

/// What no backup takes and no restore brings back: an operation is done once.
const OPERATIONS: &str = "operations.ops.vworkspace.io";
/// Velero writes names into labels.
const LONGEST_NAME: usize = 63;
/// Velero picks up what is new at once, unless it cannot.
const PICKED_UP: SignedDuration = SignedDuration::from_secs(30);
/// Three times as long as Velero needs to look at its storage locations again.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(3);

/// The names of the Velero object of an operation: its own, and one that nobody else has, for when that is taken.
pub(crate) fn names(operation: &Operation) -> [String; 2] {
    let (name, uid) = (operation.name_any(), operation.uid().unwrap_or_default());
    let uid = uid.get(..8).unwrap_or(&uid);
    let cut = name.floor_char_boundary(LONGEST_NAME - 1 - uid.len());
    let cut = name.get(..cut).unwrap_or_default().trim_end_matches(['-', '.']);
    let second = format!("{cut}-{uid}");
    if name.len() > LONGEST_NAME { [second.clone(), second] } else { [name, second] }
}

/// What Velero calls the request to remove the backup of an operation.
pub(crate) fn removal_key(operation: &Operation, namespace: &str) -> ObjectKey {
    let [_, name] = names(operation);
    ObjectKey::namespaced(namespace, &name)
}

fn labels() -> BTreeMap<String, String> {
    let (name, value) = MANAGED_BY;
    [(name.to_owned(), value.to_owned())].into()
}

fn engine_ref<K: Resource<DynamicType = ()>>(object: &K) -> EngineRef {
    EngineRef {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: object.name_any(),
        namespace: object.namespace().unwrap_or_default(),
        uid: object.uid(),
    }
}

/// Of the object as it was seen: what Velero has begun since must not be deleted.
fn delete_untouched<K: Resource<DynamicType = ()>>(object: &K) -> Option<Deletion> {
    let meta = object.meta();
    let deletion = Deletion::new::<K>(ObjectKey::of_meta(meta), meta.uid.as_deref()?, Dependents::GoToo);
    Some(deletion.unchanged_since(meta.resource_version.as_ref()))
}

fn not_installed(plural: &str) -> String {
    format!("Velero is not installed: this cluster has no kind {plural}.velero.io.")
}

/// These kinds and those that are always left out, each once.
fn excluding(theirs: &[String], always: &[&str]) -> Vec<String> {
    let ours = always.iter().filter(|kind| !theirs.iter().any(|known| known == *kind));
    theirs.iter().cloned().chain(ours.map(|kind| (*kind).to_owned())).collect()
}

/// Velero refuses a kind that shall be both taken and left out.
fn overlap(included: &[String], excluded: &[String]) -> Option<String> {
    let both = included.iter().find(|kind| excluded.contains(kind))?;
    Some(format!(
        "spec.parameters.includedResources: found '{both}', which is left out: by excludedResources or always; expected \
         only kinds that are not"
    ))
}

/// What Velero says, fit to be copied: without credentials, and the same as long as the trouble is the same.
fn quoted(message: &str) -> String {
    let mut message = redact(message, Quotes::Trusted);
    // Those of S3 change with every attempt.
    for label in ["RequestID: ", "HostID: ", "request id: ", "host id: "] {
        let Some((before, after)) = message.split_once(label) else { continue };
        let end = after.find([',', ' ']).unwrap_or(after.len());
        message = format!("{before}{label}...{}", after.get(end..).unwrap_or_default());
    }
    message
}

/// All that Velero finds wrong, or that it does not say.
fn joined(problems: &[String]) -> String {
    if problems.is_empty() { "no reason is given".to_owned() } else { quoted(&problems.join("; ")) }
}

/// Its words for a failure.
fn reason(words: &str) -> String {
    if words.is_empty() { "no reason is given".to_owned() } else { quoted(words) }
}

/// How far it is, in tenths: every other word is a write of a status.
fn percent(done: Option<i64>, total: Option<i64>) -> i64 {
    match (done, total) {
        (Some(done), Some(total)) if total > 0 => {
            done.saturating_mul(10).saturating_div(total).clamp(0, 10) * 10
        }
        _ => 0,
    }
}

fn counted(count: i64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What went wrong on the way, and where to read about it.
fn troubles(errors: i64, warnings: i64, what: &str, name: &str) -> String {
    format!(
        "{}, {}; `velero {what} logs {name}` has them",
        counted(errors, "error"),
        counted(warnings, "warning")
    )
}

/// Those that are not zero.
fn counts<const N: usize>(counts: [(&str, i64); N]) -> impl Iterator<Item = (String, Value)> {
    counts
        .into_iter()
        .filter(|(_, count)| *count != 0)
        .map(|(name, count)| (name.to_owned(), Value::from(count)))
}

fn text(outputs: &mut Map<String, Value>, name: &str, value: impl Into<String>) {
    outputs.insert(name.to_owned(), Value::from(value.into()));
}

fn time(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|time| time.0)
}

/// Nobody has begun with it. It should not be so for long.
fn not_picked_up(what: &str, meta: &ObjectMeta, perhaps: &str, locations: &Locations) -> Progress {
    let made = time(meta.creation_timestamp.as_ref());
    let overdue = made.and_then(|made| made.checked_add(PICKED_UP).ok());
    let stuck = format!("Velero has not picked up {what} for more than 30 s{perhaps}.");
    let stopped = locations.heartbeat().zip(overdue).and_then(|((location, beat), overdue)| {
        let message = format!(
            "Velero is not running? It has not picked up {what}, and last looked at BackupStorageLocation {location} at {beat}."
        );
        Some((beat.checked_add(HEARTBEAT).ok()?.max(overdue), message))
    });
    Progress {
        made,
        since: None,
        message: format!("{what} waits for Velero."),
        later: overdue.map(|overdue| (overdue, stuck)).into_iter().chain(stopped).collect(),
        ..Progress::default()
    }
}

#[cfg(test)]
mod tests;
