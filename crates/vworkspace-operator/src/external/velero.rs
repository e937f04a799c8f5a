//! Velero's kinds, as far as they tell how a backup or a restore fares. What we make of them is in the engine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use serde::{Deserialize, Deserializer};

use crate::external::foreign_kind;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Backup {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: BackupSpec,
    #[serde(default)]
    pub(crate) status: BackupStatus,
}

foreign_kind!(Backup, "Backup", "backups", "velero.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BackupSpec {
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) included_namespaces: Vec<String>,
    pub(crate) storage_location: String,
}

/// Counts that are zero are absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BackupStatus {
    /// Empty before Velero has seen it.
    pub(crate) phase: String,
    pub(crate) queue_position: Option<i64>,
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) progress: BackupProgress,
    pub(crate) warnings: i64,
    pub(crate) errors: i64,
    pub(crate) failure_reason: String,
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) validation_errors: Vec<String>,
    pub(crate) start_timestamp: Option<Time>,
    /// Not set by every failure.
    pub(crate) completion_timestamp: Option<Time>,
    pub(crate) expiration: Option<Time>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BackupProgress {
    /// An estimate.
    pub(crate) total_items: Option<i64>,
    pub(crate) items_backed_up: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Restore {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: RestoreStatus,
}

foreign_kind!(Restore, "Restore", "restores", "velero.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RestoreStatus {
    /// Empty before Velero has seen it, and while another one runs.
    pub(crate) phase: String,
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) progress: RestoreProgress,
    pub(crate) warnings: i64,
    pub(crate) errors: i64,
    pub(crate) failure_reason: String,
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) validation_errors: Vec<String>,
    pub(crate) start_timestamp: Option<Time>,
    pub(crate) completion_timestamp: Option<Time>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RestoreProgress {
    pub(crate) total_items: Option<i64>,
    /// Those that were tried.
    pub(crate) items_restored: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct BackupStorageLocation {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: LocationSpec,
    #[serde(default)]
    pub(crate) status: LocationStatus,
}

foreign_kind!(BackupStorageLocation, "BackupStorageLocation", "backupstoragelocations", "velero.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LocationSpec {
    /// ReadWrite unless it says otherwise.
    pub(crate) access_mode: String,
    /// Whether it is used where no location is named.
    pub(crate) default: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LocationStatus {
    pub(crate) phase: String,
    pub(crate) message: String,
    /// Moves on every minute while Velero runs.
    pub(crate) last_validation_time: Option<Time>,
}

/// What Velero copied of one volume for a backup.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct PodVolumeBackup {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: PodVolumeBackupStatus,
}

foreign_kind!(PodVolumeBackup, "PodVolumeBackup", "podvolumebackups", "velero.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct PodVolumeBackupStatus {
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) progress: VolumeProgress,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeProgress {
    pub(crate) bytes_done: Option<u64>,
}

/// Asks Velero to remove a backup, with what is stored of it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct DeleteBackupRequest {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: DeleteBackupStatus,
}

foreign_kind!(DeleteBackupRequest, "DeleteBackupRequest", "deletebackuprequests", "velero.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteBackupStatus {
    /// That it is Processed tells nothing: look at the errors.
    pub(crate) phase: String,
    #[serde(deserialize_with = "nothing_if_null")]
    pub(crate) errors: Vec<String>,
}

/// Velero's schemas allow null where it means nothing.
fn nothing_if_null<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn backup(status: &Value) -> Backup {
        serde_json::from_value(json!({"metadata": {"name": "web"}, "status": status})).unwrap()
    }

    #[test]
    fn what_velero_has_not_written_yet_is_nothing() {
        let new: Backup =
            serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {"ttl": "720h0m0s"}}))
                .unwrap();
        assert_eq!(new.status, BackupStatus::default());
        for status in
            [json!({"progress": {}, "hookStatus": {}}), json!({"progress": null, "validationErrors": null})]
        {
            assert_eq!(backup(&status).status, BackupStatus::default());
        }
    }

    #[test]
    fn a_status_of_velero_is_read() {
        let status = backup(&json!({"phase": "FinalizingPartiallyFailed", "errors": 2, "version": 1,
            "progress": {"totalItems": 14, "itemsBackedUp": 7}, "startTimestamp": "2026-11-15T06:45:54Z"}))
        .status;
        assert_eq!(
            (status.phase.as_str(), status.errors, status.warnings),
            ("FinalizingPartiallyFailed", 2, 0)
        );
        assert_eq!(status.progress.total_items.zip(status.progress.items_backed_up), Some((14, 7)));
        assert!(status.start_timestamp.is_some() && status.completion_timestamp.is_none());
    }
}
