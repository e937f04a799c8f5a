//! A restore: Velero brings a backup back into the operation's namespace, and nowhere else.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::ResourceExt;
use kube::api::DynamicObject;
use operator_kit::{Child, Deletion, Found, ObjectKey, Selection, Sight, TemporaryWatch};
use serde::Serialize;
use vworkspace_api::operation::{EngineRef, ExistingResourcePolicy, Operation, RestoreParameters};

use super::location::Use;
use super::{
    Locations, OPERATIONS, delete_untouched, engine_ref, excluding, labels, not_installed, overlap, quoted,
    restore_state,
};
use crate::controllers::operation::engines::{Engine, Permission, State, Stop};
use crate::external::velero::{Backup, Restore};

/// On a namespace: into which others its backups may be brought back.
pub(crate) const RESTORE_TO: &str = "ops.vworkspace.io/restore-to";

/// What no restore brings back: what we and Flux keep ourselves, and what Velero leaves out anyway.
const NEVER: [&str; 24] = [
    OPERATIONS,
    "applicationinstances.apps.vworkspace.io",
    "helmreleases.helm.toolkit.fluxcd.io",
    "helmcharts.source.toolkit.fluxcd.io",
    "helmrepositories.source.toolkit.fluxcd.io",
    "ocirepositories.source.toolkit.fluxcd.io",
    "gitrepositories.source.toolkit.fluxcd.io",
    "buckets.source.toolkit.fluxcd.io",
    "externalartifacts.source.toolkit.fluxcd.io",
    "kustomizations.kustomize.toolkit.fluxcd.io",
    "alerts.notification.toolkit.fluxcd.io",
    "providers.notification.toolkit.fluxcd.io",
    "receivers.notification.toolkit.fluxcd.io",
    "imagepolicies.image.toolkit.fluxcd.io",
    "imagerepositories.image.toolkit.fluxcd.io",
    "imageupdateautomations.image.toolkit.fluxcd.io",
    "events",
    "events.events.k8s.io",
    "nodes",
    "csinodes.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "backups.velero.io",
    "restores.velero.io",
    "backuprepositories.velero.io",
];

/// What is seen of one restore.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RestoreWork {
    pub(crate) parameters: RestoreParameters,
    /// What it is called, or will be.
    pub(crate) key: ObjectKey,
    pub(crate) restore: Sight<Restore>,
    pub(crate) locations: Locations,
    /// The backup that is brought back, while that decides; nothing if it has not been looked at yet.
    pub(crate) backup: Option<Sight<Backup>>,
    pub(crate) origin: Origin,
    /// What of the target has to be brought to rest first and is not, for a restore in place.
    pub(crate) lacks_pause: Option<String>,
}

/// What the namespace that a backup is of says, if that is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It has not been looked at, or need not be.
    NotYet,
    /// It cannot be seen; why.
    Unknown(String),
    /// It does not exist.
    Absent,
    /// Into which namespaces its backups may be brought back.
    LetsInto(Vec<String>),
}

impl Origin {
    /// What the look at that namespace brought.
    pub(crate) fn of<O: AsRef<DynamicObject>>(found: &Found<O>) -> Self {
        let namespaces = match found {
            Found::NotYet => return Origin::NotYet,
            Found::Unlisted(why) => return Origin::Unknown(why.clone()),
            Found::NotInstalled => return Origin::Unknown("namespaces cannot be listed".to_owned()),
            Found::Objects(namespaces) => namespaces,
        };
        let Some(namespace) = namespaces.first() else { return Origin::Absent };
        let list = namespace.as_ref().annotations().get(RESTORE_TO).map(String::as_str).unwrap_or_default();
        Origin::LetsInto(list.split(',').map(|other| other.trim().to_owned()).collect())
    }
}

/// The backup that shall be brought back.
pub(crate) fn backup_watch(parameters: &RestoreParameters, namespace: &str) -> TemporaryWatch {
    TemporaryWatch::of::<Backup>(Selection::named(&parameters.backup_name).within(namespace))
}

/// The namespace that it is of, if that is another one.
pub(crate) fn namespace_watch(backup: &Backup, own: &str) -> Option<TemporaryWatch> {
    let namespace = only_namespace(backup).filter(|namespace| *namespace != own)?;
    Some(TemporaryWatch::of::<Namespace>(Selection::named(namespace).metadata_only()))
}

/// The namespace that a backup is of, if it is of exactly one. A pattern may be more than that.
fn only_namespace(backup: &Backup) -> Option<&str> {
    match backup.spec.included_namespaces.as_slice() {
        [only] if !only.is_empty() && !only.contains(|letter: char| !is_part_of_name(letter)) => Some(only),
        _ => None,
    }
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    backup_name: &'a str,
    included_namespaces: [&'a str; 1],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    namespace_mapping: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    included_resources: Vec<String>,
    excluded_resources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_selector: Option<LabelSelector>,
    #[serde(rename = "restorePVs", skip_serializing_if = "Option::is_none")]
    restore_pvs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    existing_resource_policy: Option<&'static str>,
}

impl RestoreWork {
    fn excluded(&self) -> Vec<String> {
        excluding(&self.parameters.excluded_resources, &NEVER)
    }

    fn refusal(&self, backup: &Backup, own: &str) -> Permission {
        let name = &self.parameters.backup_name;
        let refused = Permission::Refused;
        let Some(namespace) = only_namespace(backup) else {
            let found = match backup.spec.included_namespaces.as_slice() {
                [] => "all namespaces".to_owned(),
                several => format!("namespaces '{}'", several.join(", ")),
            };
            return refused(format!(
                "spec.parameters.backupName: found Backup {name} of {found}; expected one of a single namespace"
            ));
        };
        if namespace != own {
            match &self.origin {
                Origin::NotYet => return Permission::Unseen,
                Origin::LetsInto(others) if others.iter().any(|other| other == own) => {}
                Origin::LetsInto(_) => {
                    return refused(format!(
                        "spec.parameters.backupName: found Backup {name} of namespace {namespace}; expected one of namespace \
                         {own}, or annotation {RESTORE_TO}: {own} on namespace {namespace}"
                    ));
                }
                Origin::Absent => {
                    return refused(format!(
                        "spec.parameters.backupName: found Backup {name} of namespace {namespace}, which does not exist; \
                         expected one of namespace {own}, or a namespace {namespace} with annotation {RESTORE_TO}: {own}"
                    ));
                }
                Origin::Unknown(why) => {
                    return refused(format!(
                        "spec.parameters.backupName: whether namespace {namespace} lets Backup {name} be restored into \
                         namespace {own} cannot be seen: {why}"
                    ));
                }
            }
        }
        for (from, to) in &self.parameters.namespace_mapping {
            if from != namespace {
                return refused(format!(
                    "spec.parameters.namespaceMapping: found '{from}'; expected only '{namespace}', which Backup {name} is of"
                ));
            }
            if to != own {
                return refused(format!(
                    "spec.parameters.namespaceMapping.{from}: found '{to}'; expected '{own}', the namespace of the operation"
                ));
            }
        }
        match backup.status.phase.as_str() {
            "Completed" | "PartiallyFailed" => Permission::Granted,
            "" => refused(format!(
                "spec.parameters.backupName: found Backup {name} without a phase; expected one that has completed"
            )),
            phase => refused(format!(
                "spec.parameters.backupName: found Backup {name} in phase {}; expected one that has completed",
                quoted(phase)
            )),
        }
    }
}

impl Engine for RestoreWork {
    /// Backups of all namespaces lie in one place: who may ask for a restore may have those of its own namespace.
    fn permission(&self, operation: &Operation) -> Permission {
        let refused = |why: String| Permission::Refused(format!("spec.parameters.backupName: {why}"));
        if let Some(overlap) = overlap(&self.parameters.included_resources, &self.excluded()) {
            return Permission::Refused(overlap);
        }
        let name = &self.parameters.backup_name;
        let namespace = &self.locations.namespace;
        match &self.backup {
            None => Permission::Unseen,
            // What is missing then is Velero.
            Some(Sight::NotInstalled) => Permission::Granted,
            Some(Sight::Absent) => refused(format!(
                "found no Backup {name} in namespace {namespace}; expected the name of one that exists"
            )),
            Some(Sight::Unknown(why) | Sight::Unreadable(why)) => {
                refused(format!("Backup {name} in namespace {namespace} cannot be read: {why}"))
            }
            Some(Sight::Present(backup)) => {
                self.refusal(backup, operation.namespace().unwrap_or_default().as_str())
            }
        }
    }

    fn temporary_watches(&self, operation: &Operation) -> Vec<TemporaryWatch> {
        let backup = self.backup.as_ref().and_then(Sight::present);
        let own = operation.namespace().unwrap_or_default();
        let origin = backup.and_then(|backup| namespace_watch(backup, &own));
        std::iter::once(backup_watch(&self.parameters, &self.locations.namespace)).chain(origin).collect()
    }

    fn lacks(&self) -> Option<String> {
        if matches!(self.restore, Sight::NotInstalled) || matches!(self.backup, Some(Sight::NotInstalled)) {
            return Some(not_installed("restores"));
        }
        let backup = self.backup.as_ref().and_then(Sight::present);
        let location = backup.map(|backup| &backup.spec.storage_location).filter(|name| !name.is_empty())?;
        self.locations.lacks(location, Use::Read)
    }

    fn is_installed(&self) -> bool {
        !matches!(self.restore, Sight::NotInstalled)
    }

    fn lacks_pause(&self) -> Option<String> {
        self.lacks_pause.clone()
    }

    fn start(&self, operation: &Operation) -> Vec<Child> {
        let backup = self.backup.as_ref().and_then(Sight::present);
        let Some((from, own)) = backup.and_then(only_namespace).zip(operation.namespace()) else {
            return Vec::new();
        };
        let is_elsewhere = from != own;
        // Helm's own records of the release there; the one here has its own.
        let without_helm = LabelSelectorRequirement {
            key: "owner".to_owned(),
            operator: "NotIn".to_owned(),
            values: Some(vec!["helm".to_owned()]),
        };
        let spec = Spec {
            backup_name: &self.parameters.backup_name,
            included_namespaces: [from],
            namespace_mapping: is_elsewhere.then_some((from, own.as_str())).into_iter().collect(),
            included_resources: self.parameters.included_resources.clone(),
            excluded_resources: self.excluded(),
            label_selector: is_elsewhere
                .then(|| LabelSelector { match_expressions: Some(vec![without_helm]), match_labels: None }),
            restore_pvs: self.parameters.restore_pvs,
            existing_resource_policy: self
                .parameters
                .existing_resource_policy
                .map(ExistingResourcePolicy::as_str),
        };
        vec![Child::new::<Restore>(&self.key).labels(labels()).spec(spec)]
    }

    fn state(&self) -> State {
        match &self.restore {
            Sight::Absent | Sight::NotInstalled => State::NotStarted,
            Sight::Unknown(why) | Sight::Unreadable(why) => State::Unknown(why.clone()),
            Sight::Present(restore) => {
                restore_state::of(restore, &self.parameters.backup_name, &self.locations)
            }
        }
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        self.restore.present().map(engine_ref)
    }

    /// One that Velero has not touched yet has no finalizer.
    fn stop(&self) -> Stop {
        let Some(restore) = self.restore.present() else { return Stop::Underway };
        let is_untouched = restore.status.phase.is_empty() && restore.finalizers().is_empty();
        match is_untouched {
            true if restore.metadata.deletion_timestamp.is_some() => Stop::Underway,
            true => {
                delete_untouched(restore).map_or(Stop::Underway, |deletion| Stop::Delete(Box::new(deletion)))
            }
            false => Stop::Impossible("A restore that has started cannot be stopped."),
        }
    }

    /// Velero keeps it as long as its backup.
    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        None
    }
}

#[cfg(test)]
mod tests;
