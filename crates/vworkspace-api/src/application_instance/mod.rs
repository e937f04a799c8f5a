//! ApplicationInstance (`applicationinstances.apps.vworkspace.io`): one application that the operator installs and keeps
//! running through Flux. What belongs here: the shape of its spec and status with the rules that the API server holds
//! against them, and what its conditions can say. What does not: what the operator makes of them.
//!
//! A field's documentation is what `kubectl explain` and the reference page show: it is written for users.
// KubeSchema repeats each struct inside a function, where `pub` reaches nobody.
#![allow(unreachable_pub)]

mod approvals;
mod chart;
mod drift;
mod integrations;
mod maintenance;
mod readiness;
mod release;
mod status;
mod values;
mod vocabulary;

pub use approvals::Approvals;
pub use chart::{Chart, ChartSource, ChartSourceKind, ChartSourceRef, SecretName, SourceType};
pub use drift::{DriftDetection, DriftMode, DriftTarget, IgnoredDrift};
pub use integrations::{CertManager, ExternalSecrets, Ingress, Integrations};
pub use maintenance::MaintenanceWindow;
pub use readiness::{HttpCheck, ReadinessCheck, Scheme, TcpCheck};
pub use release::{
    AfterFailedInstall, AfterFailedUpgrade, DeletionPolicy, HelmTests, InstallPolicy, ReleaseIdentity,
    UninstallPolicy, UpgradePolicy,
};
pub use status::{
    ApplicationInstanceStatus, AppliedChart, ApprovedChange, ChartTrouble, ComplaintAbout, Endpoint,
    FluxComplaint, HelmReleaseRef, MissingCertificate, MissingSecret, OpenWindow, SuccessfulRelease,
    WindowOrigin,
};
pub use values::{KeyRef, Values, ValuesSource};
pub use vocabulary::{Blocked, Degraded, Deleting, Ready, Reconciling, Suspended};

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::Duration;
use crate::rule;
use crate::schema::is_default;

/// What shall be installed, from where, with which values, and how carefully it is changed.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "apps.vworkspace.io",
    version = "v1alpha1",
    kind = "ApplicationInstance",
    plural = "applicationinstances",
    shortname = "appinst",
    namespaced,
    status = "ApplicationInstanceStatus",
    derive = "PartialEq",
    doc = "An application that the operator installs and keeps running through Flux.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the application is available",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        description = "Why",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(
        name = "Chart",
        type_ = "string",
        description = "The chart that is asked for",
        json_path = ".spec.chart.name"
    ),
    printcolumn(
        name = "Version",
        type_ = "string",
        description = "The chart's version that was released last",
        json_path = ".status.lastSuccessfulRelease.chartVersion"
    ),
    printcolumn(
        name = "Wanted",
        type_ = "string",
        description = "The chart's version that is asked for",
        json_path = ".spec.chart.version",
        priority = 1
    ),
    printcolumn(
        name = "Blocked",
        type_ = "string",
        description = "What has to be put right, if something has to be",
        json_path = r#".status.conditions[?(@.type=="Blocked")].reason"#,
        priority = 1
    ),
    printcolumn(
        name = "Suspended",
        type_ = "string",
        description = "Why changes do not go out, if they do not",
        json_path = r#".status.conditions[?(@.type=="Suspended")].reason"#,
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "Since when the instance exists",
        json_path = ".metadata.creationTimestamp"
    ),
    validation = rule::block_found(
        "!has(self.spec.dependsOn) || self.spec.dependsOn.all(other, other.name != self.metadata.name)",
        "\"spec.dependsOn names '\" + self.metadata.name + \"', which is this instance; expected only other instances in spec.dependsOn\""
    )
)]
#[x_kube(
    validation = rule::block(
        "self.mode == 'placeholder' || self.appRef.catalogId == 'seaweedfs' || has(self.chart)",
        "spec.chart is missing; expected a chart, because spec.mode is managed"
    ),
    validation = rule::block(
        "self.mode == 'placeholder' || has(self.release)",
        "spec.release is missing; expected name and namespace of the release, because spec.mode is managed"
    ),
    validation = rule::block_found(
        "self.mode != 'placeholder' || (!has(self.chart) && !has(self.values))",
        "\"spec.\" + (has(self.chart) ? \"chart\" : \"values\") + \" is set; expected neither spec.chart nor spec.values, because spec.mode is placeholder\""
    ),
    validation = rule::block(
        "self.mode != 'placeholder' || oldSelf.mode == 'placeholder' || !(has(oldSelf.chart) || has(oldSelf.release))",
        "spec.mode was managed and would become placeholder; expected no change, because the installed application would be left behind: delete the instance and create another"
    ),
    validation = rule::block(
        "!has(oldSelf.release) || has(self.release)",
        "spec.release was set and would be removed; expected no change, because it says which release belongs to this instance: delete the instance and create another"
    ),
    // Without it, removing a chart and giving another would be a way around the rule of its name.
    validation = rule::block(
        "!has(oldSelf.chart) || has(self.chart)",
        "spec.chart was set and would be removed; expected no change, because what it installed would be left without a chart: delete the instance and create another"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationInstanceSpec {
    /// The entry of the catalog that this application comes from.
    pub app_ref: AppRef,

    /// managed: the operator installs and keeps the application. placeholder: nothing is installed, the instance only
    /// stands as a target for operations.
    #[serde(default)]
    pub mode: Mode,

    /// The chart and where it comes from. Needed in mode managed, not allowed in mode placeholder; cannot be removed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<Chart>,

    /// The identity of the Helm release. Needed in mode managed; cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseIdentity>,

    /// The chart's values. Without it the chart's own defaults apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,

    /// What the application needs from other controllers of the cluster.
    #[serde(default, skip_serializing_if = "is_default")]
    pub integrations: Integrations,

    /// true stops all changes to the release until it is false again. What runs keeps running.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,

    /// How often Flux compares the release with what it should be, such as 5m or 1h.
    #[serde(default = "default_interval")]
    #[x_kube(validation = rule::between("spec.interval", "10s", "24h"))]
    pub interval: Duration,

    /// How long each Helm action (install, upgrade, rollback, test, uninstall) may take, unless its own block says
    /// otherwise.
    #[serde(default = "default_timeout")]
    #[x_kube(validation = rule::between("spec.timeout", "1s", "24h"))]
    pub timeout: Duration,

    /// How the first installation is tried.
    #[serde(default, skip_serializing_if = "is_default")]
    pub install: InstallPolicy,

    /// How a change is tried, and what happens when it fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub upgrade: UpgradePolicy,

    /// How the application is removed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uninstall: UninstallPolicy,

    /// Whether the chart's own tests run after each installation and upgrade.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tests: HelmTests,

    /// Whether changes that somebody else made to the application's objects are reported. They are never undone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift_detection: DriftDetection,

    /// Checks beyond Flux's own that must pass before the application counts as ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub readiness_checks: Vec<ReadinessCheck>,

    /// Instances of the same namespace that must be ready before this one is installed or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub depends_on: Vec<Dependency>,

    /// Times at which the release is left alone: inside a window nothing is installed or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub maintenance_windows: Vec<MaintenanceWindow>,

    /// Whether a change waits for somebody's approval, and the approval.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approvals: Approvals,

    /// The service account in whose name Flux writes the application's objects. Without it the one of the operator's flag
    /// --default-service-account; without that too Flux uses its own rights, which are those of a cluster administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::object_name("spec.serviceAccountName"))]
    pub service_account_name: Option<String>,

    /// What becomes of the application when the instance is deleted. Delete: it is uninstalled. Orphan: it keeps running
    /// and nobody looks after it.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// A link to the catalog.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppRef {
    /// The stable id of the catalog's entry, such as nextcloud.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = rule::like("spec.appRef.catalogId", r"\S", "the id of a catalog entry, such as nextcloud"))]
    pub catalog_id: String,
}

/// Whether the operator installs anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Mode {
    /// The operator installs and keeps the application.
    #[default]
    Managed,
    /// Nothing is installed.
    Placeholder,
}

/// Another instance that must be ready first.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The name of an ApplicationInstance of the same namespace.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::object_name("spec.dependsOn[].name"))]
    pub name: String,
}

fn default_interval() -> Duration {
    Duration::from_mins(5)
}

fn default_timeout() -> Duration {
    Duration::from_mins(5)
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn instance(spec: &serde_json::Value) -> ApplicationInstance {
        let object = json!({"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
            "metadata": {"name": "shop"}, "spec": spec});
        serde_json::from_value(object).expect("an instance")
    }

    /// The API server fills in defaults only where a block is given; where it is not, the type does.
    fn an_empty_block_is_an_absent_one<T: Default + PartialEq + Debug + DeserializeOwned>() {
        assert_eq!(serde_json::from_value::<T>(json!({})).expect("an empty block"), T::default());
    }

    #[test]
    fn a_block_that_is_left_out_means_the_same_as_an_empty_one() {
        an_empty_block_is_an_absent_one::<Approvals>();
        an_empty_block_is_an_absent_one::<DriftDetection>();
        an_empty_block_is_an_absent_one::<HelmTests>();
        an_empty_block_is_an_absent_one::<InstallPolicy>();
        an_empty_block_is_an_absent_one::<Integrations>();
        an_empty_block_is_an_absent_one::<UninstallPolicy>();
        an_empty_block_is_an_absent_one::<UpgradePolicy>();
    }

    #[test]
    fn an_instance_that_says_nothing_is_upgraded_with_a_way_back_and_watched_for_drift() {
        let spec = instance(&json!({"appRef": {"catalogId": "shop"}})).spec;
        assert_eq!((spec.mode, spec.deletion_policy), (Mode::Managed, DeletionPolicy::Delete));
        assert_eq!(spec.upgrade.on_failure, AfterFailedUpgrade::Rollback);
        assert_eq!(spec.drift_detection.mode, DriftMode::Report);
        assert_eq!((spec.interval, spec.timeout), (Duration::from_mins(5), Duration::from_mins(5)));
        assert!(!spec.tests.enabled && !spec.approvals.required && !spec.suspend);
    }

    #[test]
    fn a_chart_comes_from_an_address_or_from_a_source_that_exists() {
        let source = |chart| {
            let spec = instance(&json!({"appRef": {"catalogId": "shop"}, "chart": chart})).spec;
            format!("{:?}", spec.chart.as_ref().and_then(Chart::source))
        };
        assert_eq!(
            source(json!({"sourceType": "oci", "url": "oci://here", "name": "shop", "version": "1.2.3"})),
            r#"Some(Url(Oci, "oci://here"))"#
        );
        assert_eq!(
            source(
                json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "shop", "version": "1.2.3"})
            ),
            r#"Some(Reference(ChartSourceRef { kind: OciRepository, name: "charts" }))"#
        );
        assert_eq!(source(json!({"url": "oci://here", "name": "shop", "version": "1.2.3"})), "None");
    }

    #[test]
    fn a_status_comes_back_as_it_was_written() {
        let status = json!({
            "observedGeneration": 3,
            "conditions": [{"type": "Ready", "status": "True", "reason": "HelmReleaseReady", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 3}],
            "helmReleaseRef": {"name": "shop", "namespace": "shop"},
            "lastAppliedChart": {"sourceType": "oci", "url": "oci://here", "name": "shop", "version": "1.2.3"},
            "lastSuccessfulRelease": {"chartVersion": "1.2.3+abc", "revision": 2, "time": "2026-01-02T03:04:05Z"},
            "secretValues": true,
            "chartTrouble": {"change": "abc", "message": "could not load chart", "since": "2026-01-02T03:04:05Z"},
            "endpoints": [{"name": "s3", "url": "http://shop", "type": "s3", "notes": "inside only"}],
            "lastReconcileTime": "2026-01-02T03:04:05Z",
        });
        let read: ApplicationInstanceStatus = serde_json::from_value(status.clone()).expect("a status");
        assert_eq!(read.conditions.read(), Some(Ready::HelmReleaseReady));
        assert_eq!(serde_json::to_value(read).expect("JSON"), status);
    }
}
