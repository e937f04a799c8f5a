//! Where Velero keeps what it saves. It looks at each location once a minute: that is all that tells whether it lives.

use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use operator_kit::{Found, ObjectKey};

use super::{not_installed, quoted, time};
use crate::external::velero::BackupStorageLocation;

/// The one that is meant where none is named, unless another one says that it is.
const DEFAULT: &str = "default";

/// All storage locations of Velero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Locations {
    pub(crate) namespace: String,
    pub(crate) found: Found<BackupStorageLocation>,
}

/// What is wanted of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// What every location is found by.
pub(crate) fn every_location(namespace: &str) -> ObjectKey {
    ObjectKey::namespaced(namespace, "")
}

/// All locations of a namespace are found together.
pub(crate) fn in_its_namespace(location: &DynamicObject) -> Vec<ObjectKey> {
    location.metadata.namespace.as_deref().map(every_location).into_iter().collect()
}

impl Locations {
    /// The name of the one that is used where none is named.
    pub(super) fn default_name(&self) -> String {
        let default = self.found.objects().iter().find(|location| location.spec.default);
        default.map_or_else(|| DEFAULT.to_owned(), ResourceExt::name_any)
    }

    pub(super) fn named(&self, name: &str) -> Option<&BackupStorageLocation> {
        self.found.objects().iter().find(|location| location.metadata.name.as_deref() == Some(name))
    }

    /// Why it cannot be used.
    pub(super) fn lacks(&self, name: &str, wanted: Use) -> Option<String> {
        let namespace = &self.namespace;
        let location = match (&self.found, self.named(name)) {
            (Found::NotInstalled, _) => return Some(not_installed("backupstoragelocations")),
            (Found::NotYet, _) => {
                return Some("Velero's storage locations have not been seen yet.".to_owned());
            }
            (Found::Unlisted(why), _) => {
                return Some(format!("Velero's storage locations cannot be seen: {why}"));
            }
            (Found::Objects(_), None) => {
                return Some(format!("Velero has no BackupStorageLocation {name} in namespace {namespace}."));
            }
            (Found::Objects(_), Some(location)) => location,
        };
        if location.status.phase != "Available" {
            let why = match (location.status.message.as_str(), location.status.phase.as_str()) {
                ("", "") => "Velero has not looked at it yet".to_owned(),
                ("", phase) => phase.to_owned(),
                (message, _) => quoted(message),
            };
            return Some(format!("BackupStorageLocation {name} is not Available: {why}"));
        }
        let is_read_only = location.spec.access_mode == "ReadOnly";
        (wanted == Use::Write && is_read_only)
            .then(|| format!("BackupStorageLocation {name} is read-only (spec.accessMode)."))
    }

    /// When Velero was last seen alive, and by which location.
    pub(super) fn heartbeat(&self) -> Option<(&str, Timestamp)> {
        let beats = self.found.objects().iter().filter_map(|location| {
            Some((location.metadata.name.as_deref()?, time(location.status.last_validation_time.as_ref())?))
        });
        beats.max_by_key(|(_, beat)| *beat)
    }
}
