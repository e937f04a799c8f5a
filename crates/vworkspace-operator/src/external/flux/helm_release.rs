//! HelmRelease v2, as far as it tells how a release is doing.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use super::FluxCondition;
use crate::external::foreign_kind;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct HelmRelease {
    pub(crate) metadata: ObjectMeta,
    /// As it stands, so that it can be applied again with only `suspend` changed.
    #[serde(default)]
    pub(crate) spec: Value,
    #[serde(default)]
    pub(crate) status: HelmReleaseStatus,
}

foreign_kind!(HelmRelease, "HelmRelease", "helmreleases", "helm.toolkit.fluxcd.io", "v2");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HelmReleaseStatus {
    pub(crate) conditions: Vec<FluxCondition>,
    pub(crate) observed_generation: i64,
    /// The only counter that moves when a generation was really loaded.
    pub(crate) last_attempted_generation: i64,
    pub(crate) last_attempted_revision: String,
    pub(crate) last_attempted_revision_digest: String,
    pub(crate) failures: i64,
    pub(crate) last_handled_reconcile_at: String,
    /// Newest first.
    pub(crate) history: Vec<Snapshot>,
    /// What the release is made of; not every version of Flux tells.
    pub(crate) inventory: Inventory,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Inventory {
    pub(crate) entries: Vec<InventoryEntry>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct InventoryEntry {
    /// `NAMESPACE_NAME_GROUP_KIND`.
    pub(crate) id: String,
}

/// One revision of a release.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Snapshot {
    pub(crate) chart_version: String,
    pub(crate) config_digest: String,
    pub(crate) oci_digest: String,
    pub(crate) status: String,
    pub(crate) version: i64,
    pub(crate) last_deployed: Option<Time>,
}

/// Where Flux looks in a Secret or ConfigMap if nobody says it.
const DEFAULT_KEY: &str = "values.yaml";

/// One key of a Secret or ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValuesReference<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) key: &'a str,
}

impl HelmRelease {
    pub(crate) fn is_suspended(&self) -> bool {
        self.spec.get("suspend").and_then(Value::as_bool).unwrap_or_default()
    }

    /// In whose name Flux works for it; in its own if nothing is said.
    pub(crate) fn service_account(&self) -> Option<&str> {
        self.spec.get("serviceAccountName").and_then(Value::as_str)
    }

    /// The Secrets and ConfigMaps that its values come from.
    pub(crate) fn values_from(&self) -> impl Iterator<Item = ValuesReference<'_>> {
        let references = self.spec.get("valuesFrom").and_then(Value::as_array).into_iter().flatten();
        references.map(|reference| {
            let text = |field: &str| reference.get(field).and_then(Value::as_str);
            ValuesReference {
                kind: text("kind").unwrap_or_default(),
                name: text("name").unwrap_or_default(),
                key: text("valuesKey").unwrap_or(DEFAULT_KEY),
            }
        })
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The kinds that the release is made of, as far as Flux tells, each once.
    pub(crate) fn kinds(&self) -> BTreeSet<&str> {
        let kind = |entry: &'_ InventoryEntry| entry.id.rfind('_').map(|at| at + 1);
        let entries = self.status.inventory.entries.iter();
        entries.filter_map(|entry| entry.id.get(kind(entry)?..)).collect()
    }
}

/// Flux takes a version for a constraint: `v1.2.3` finds 1.2.3, and 1.2.3 also finds 1.2.3+build.
pub(crate) fn is_same_version(wanted: &str, found: &str) -> bool {
    let bare = |version: &str| version.strip_prefix('v').unwrap_or(version).to_owned();
    let (wanted, found) = (bare(wanted), bare(found));
    let plain = |version: &str| version.split('+').next().unwrap_or_default().to_owned();
    wanted == found || (!wanted.contains('+') && wanted == plain(&found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_kinds_of_a_release_are_those_of_its_inventory() {
        let release = |status: Value| -> HelmRelease {
            serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap()
        };
        let entries = [
            "shop_web__Service",
            "shop_web_apps_Deployment",
            "shop_a-b_apps_Deployment",
            "_x_rbac_ClusterRole",
        ];
        let entries = entries.map(|id| json!({"id": id, "v": "v1"}));
        let kinds = ["ClusterRole", "Deployment", "Service"];
        assert_eq!(release(json!({"inventory": {"entries": entries}})).kinds(), kinds.into());
        assert!(release(json!({})).kinds().is_empty(), "an older Flux");
    }

    #[test]
    fn a_version_is_what_flux_finds_for_it() {
        let table = [
            ("1.2.3", "1.2.3", true),
            ("v1.2.3", "1.2.3", true),
            ("1.2.3", "v1.2.3", true),
            ("1.2.3", "1.2.3+build", true),
            ("1.2.3+a", "1.2.3+a", true),
            ("1.2.3+a", "1.2.3+b", false),
            ("1.2.3+a", "1.2.3", false),
            ("1.2.3", "1.2.4", false),
        ];
        for (wanted, found, expected) in table {
            assert_eq!(is_same_version(wanted, found), expected, "{wanted} and {found}");
        }
    }
}
