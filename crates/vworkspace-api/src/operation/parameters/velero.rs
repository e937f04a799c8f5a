//! What Velero is told.

use std::collections::BTreeMap;

use super::check::{is_namespace, retention};
use super::found::Given;
use super::problem::{Problems, problem, quoted};
use crate::Duration;

/// What a backup is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupParameters {
    /// How long Velero keeps it. Written by us: Velero stops at a ttl that it cannot read.
    pub ttl: Option<Duration>,
    /// Whether volumes are saved as snapshots.
    pub snapshot_volumes: Option<bool>,
    /// The BackupStorageLocation.
    pub storage_location: Option<String>,
    /// Only these kinds; all, if empty.
    pub included_resources: Vec<String>,
    /// Not these kinds.
    pub excluded_resources: Vec<String>,
}

/// What a restore is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreParameters {
    /// The Backup that is brought back.
    pub backup_name: String,
    /// From which namespace into which.
    pub namespace_mapping: BTreeMap<String, String>,
    /// Whether volumes are brought back.
    pub restore_pvs: Option<bool>,
    /// What happens to objects that exist.
    pub existing_resource_policy: Option<ExistingResourcePolicy>,
    /// Only these kinds; all, if empty.
    pub included_resources: Vec<String>,
    /// Not these kinds.
    pub excluded_resources: Vec<String>,
}

/// What a restore does with objects that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExistingResourcePolicy {
    /// Leaves them as they are.
    None,
    /// Changes them to what the backup has.
    Update,
}

impl ExistingResourcePolicy {
    /// As Velero writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Update => "update",
        }
    }
}

impl BackupParameters {
    pub(super) fn from_given(given: Given<'_>) -> Self {
        Self {
            ttl: given.text("retention").or_else(|| given.text("ttl")).and_then(retention),
            snapshot_volumes: given.boolean("snapshotVolumes"),
            storage_location: given.text("storageLocation").map(str::to_owned),
            included_resources: given.texts("includedResources"),
            excluded_resources: given.texts("excludedResources"),
        }
    }
}

impl RestoreParameters {
    pub(super) fn from_given(given: Given<'_>) -> Result<Self, Problems> {
        let namespace_mapping = given.text_map("namespaceMapping");
        let names = namespace_mapping.iter().flat_map(|(from, to)| [(from, from), (from, to)]);
        let wrong = names.filter(|(_, name)| !is_namespace(name)).map(|(from, name)| {
            let field = format!("namespaceMapping.{from}");
            problem(&field, &quoted(&name.as_str().into()), "the name of a namespace on both sides")
        });
        Problems::any(wrong.collect())?;
        let existing_resource_policy = match given.text("existingResourcePolicy") {
            Some("none") => Some(ExistingResourcePolicy::None),
            Some("update") => Some(ExistingResourcePolicy::Update),
            _ => None,
        };
        Ok(Self {
            backup_name: given.text("backupName").unwrap_or_default().to_owned(),
            namespace_mapping,
            restore_pvs: given.boolean("restorePVs"),
            existing_resource_policy,
            included_resources: given.texts("includedResources"),
            excluded_resources: given.texts("excludedResources"),
        })
    }
}
