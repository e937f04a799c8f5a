//! A backup: Velero saves the objects of the operation's namespace, and its volumes.

use std::time::Duration;

use kube::ResourceExt;
use operator_kit::{Child, Deletion, Found, ObjectKey, Selection, Sight, TemporaryWatch};
use serde::Serialize;
use serde_json::json;
use vworkspace_api::operation::{BackupParameters, EngineRef, Operation};

use super::location::Use;
use super::{
    Locations, OPERATIONS, backup_state, delete_untouched, engine_ref, excluding, joined, labels,
    not_installed, overlap, removal_key,
};
use crate::controllers::operation::engines::{Discard, Engine, Permission, State, Stop};
use crate::external::velero::{Backup, DeleteBackupRequest, PodVolumeBackup};

/// What is seen of one backup.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BackupWork {
    pub(crate) parameters: BackupParameters,
    /// What it is called, or will be.
    pub(crate) key: ObjectKey,
    pub(crate) backup: Sight<Backup>,
    pub(crate) locations: Locations,
    /// What was made to remove it.
    pub(crate) removal: Sight<DeleteBackupRequest>,
    /// What was copied of volumes.
    pub(crate) volumes: Found<PodVolumeBackup>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    included_namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    included_resources: Vec<String>,
    excluded_resources: Vec<String>,
    storage_location: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot_volumes: Option<bool>,
}

impl BackupWork {
    /// What was copied of volumes, once that is all there is.
    pub(crate) fn volumes_watch(&self) -> Option<TemporaryWatch> {
        let backup = self.backup.present().filter(|backup| backup_state::is_stored(backup))?;
        let selection = Selection::labels(&format!("velero.io/backup-name={}", backup.name_any()));
        Some(TemporaryWatch::of::<PodVolumeBackup>(selection.within(&backup.namespace()?)))
    }

    fn location(&self) -> String {
        self.parameters.storage_location.clone().unwrap_or_else(|| self.locations.default_name())
    }

    fn excluded(&self) -> Vec<String> {
        excluding(&self.parameters.excluded_resources, &[OPERATIONS])
    }
}

impl Engine for BackupWork {
    fn permission(&self, _operation: &Operation) -> Permission {
        overlap(&self.parameters.included_resources, &self.excluded())
            .map_or(Permission::Granted, Permission::Refused)
    }

    fn outcome_watches(&self) -> Vec<TemporaryWatch> {
        self.volumes_watch().into_iter().collect()
    }

    fn lacks(&self) -> Option<String> {
        match self.backup {
            Sight::NotInstalled => Some(not_installed("backups")),
            _ => self.locations.lacks(&self.location(), Use::Write),
        }
    }

    fn is_installed(&self) -> bool {
        !matches!(self.backup, Sight::NotInstalled)
    }

    fn start(&self, operation: &Operation) -> Vec<Child> {
        let spec = Spec {
            included_namespaces: operation.namespace().into_iter().collect(),
            included_resources: self.parameters.included_resources.clone(),
            excluded_resources: self.excluded(),
            storage_location: self.location(),
            ttl: self.parameters.ttl.map(|ttl| go_duration(ttl.into())),
            snapshot_volumes: self.parameters.snapshot_volumes,
        };
        vec![Child::new::<Backup>(&self.key).labels(labels()).spec(spec)]
    }

    fn state(&self) -> State {
        match &self.backup {
            Sight::Absent | Sight::NotInstalled => State::NotStarted,
            Sight::Unknown(why) | Sight::Unreadable(why) => State::Unknown(why.clone()),
            Sight::Present(backup) => {
                let stuck = self.removal.present().and_then(failure);
                backup_state::of(backup, &self.locations, stuck, &self.volumes)
            }
        }
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        self.backup.present().map(engine_ref)
    }

    fn stop(&self) -> Stop {
        let Some(backup) = self.backup.present() else { return Stop::Underway };
        match backup.status.phase.as_str() {
            _ if backup.metadata.deletion_timestamp.is_some() => Stop::Underway,
            "" | "New" | "Queued" => {
                delete_untouched(backup).map_or(Stop::Underway, |deletion| Stop::Delete(Box::new(deletion)))
            }
            "Deleting" => Stop::Underway,
            _ => Stop::Impossible("Velero cannot stop a backup that runs; it is removed when it has ended."),
        }
    }

    /// To delete the object alone is not enough: Velero would bring it back from what is stored.
    fn discard(&self, operation: &Operation) -> Discard {
        let Some(backup) = self.backup.present() else { return Discard::Keep };
        let name = backup.name_any();
        match &self.removal {
            Sight::Present(removal) => match failure(removal) {
                Some(why) => {
                    Discard::Stuck(format!("Backup {name} is still there: Velero could not remove it: {why}"))
                }
                None => Discard::Underway(format!("Velero removes Backup {name}.")),
            },
            // Nothing was stored.
            Sight::Absent if backup.status.phase == "FailedValidation" => {
                delete_untouched(backup).map_or(Discard::Keep, |deletion| Discard::Delete(Box::new(deletion)))
            }
            Sight::Absent => {
                let key = removal_key(operation, self.key.namespace.as_deref().unwrap_or_default());
                let removal = Child::new::<DeleteBackupRequest>(&key).labels(labels());
                Discard::Create(Box::new(removal.spec(json!({"backupName": name}))))
            }
            Sight::NotInstalled => Discard::Stuck(format!(
                "Backup {name} is still there: this cluster has no kind deletebackuprequests.velero.io."
            )),
            Sight::Unknown(why) | Sight::Unreadable(why) => {
                Discard::Underway(format!("Whether Velero removes Backup {name} cannot be seen: {why}"))
            }
        }
    }

    fn if_gone(&self) -> &'static str {
        "Velero goes on to the end all the same, and what it stores then cannot be seen."
    }

    /// A backup outlives its operation.
    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        None
    }
}

/// Why a removal did not work. That it is over says nothing.
fn failure(removal: &DeleteBackupRequest) -> Option<String> {
    let status = &removal.status;
    (status.phase == "Processed" && !status.errors.is_empty()).then(|| joined(&status.errors))
}

/// As Go writes it; what Go cannot read stops Velero for everybody.
fn go_duration(length: Duration) -> String {
    let seconds = length.as_secs();
    format!("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests;
