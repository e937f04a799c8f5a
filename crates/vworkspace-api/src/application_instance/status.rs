//! What is known about an instance.

use conditions::ConditionSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::{ApplicationInstance, Chart, SourceType};
use crate::schema::{self, is_default};

/// What is known about the application.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationInstanceStatus {
    /// The metadata.generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// What is known about the application, one entry per type: Ready, Reconciling, Degraded, Suspended, Blocked, Deleting
    /// and Stalled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conditions: ConditionSet<ApplicationInstance>,

    /// The HelmRelease that carries the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm_release_ref: Option<HelmReleaseRef>,

    /// The chart that was last handed to Flux. Whether it runs is what the conditions say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_chart: Option<AppliedChart>,

    /// The last release that succeeded. Once set it stays: that something was installed is not forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_successful_release: Option<SuccessfulRelease>,

    /// The last change that was approved; a claim counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_approved_change: Option<ApprovedChange>,

    /// How often this status was written with more than other messages: which of two states came later is known without a
    /// clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,

    /// true once Helm has begun with the release, so that there may be objects of it. Kept until the instance is gone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub install_attempted: bool,

    /// true while Flux's words can quote values of a Secret: a release with such values was, or may have been, handed to
    /// Flux, and none without has been seen to succeed since. Its words are then told without what could be a value. Not set otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub secret_values: bool,

    /// What keeps Flux from loading the chart, while it does and the source itself reports no failure. After a minute Ready
    /// says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_trouble: Option<ChartTrouble>,

    /// The maintenance window that is open, or was when it could last be read. It counts as open while it cannot be read.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub open_window: Option<OpenWindow>,

    /// The uid of the Restore that the instance is paused for, once its HelmRelease is seen to be suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_for: Option<String>,

    /// What Flux said stands in the way, if that is what Blocked tells. It holds while Flux looks again.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub flux_complaint: Option<FluxComplaint>,

    /// The ExternalSecret whose Secret was missing when it was last looked for. It holds while that cannot be seen.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub missing_secret: Option<MissingSecret>,

    /// The Certificate that was not issued when it was last seen. It holds while Certificates cannot be listed.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub missing_certificate: Option<MissingCertificate>,

    /// true while Ready tells warnings of the chart and no others. They hold while the chart cannot be read. Not set otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chart_warnings: bool,

    /// Where the application is reached, from its Services and Ingresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub endpoints: Vec<Endpoint>,

    /// When this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_reconcile_time: Option<Time>,
}

/// A maintenance window that is open.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenWindow {
    /// Where it comes from.
    pub origin: WindowOrigin,
    /// Its name.
    pub name: String,
}

/// Where a maintenance window comes from.
#[derive(JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowOrigin {
    /// The catalog policy of the cluster.
    CatalogPolicy,
    /// The spec of the instance.
    Spec,
}

/// What Flux said of a generation.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxComplaint {
    /// What is wrong.
    pub about: ComplaintAbout,
    /// The metadata.generation whose release Flux complained about.
    pub generation: i64,
    /// In words.
    pub message: String,
}

/// What Flux complains about.
#[derive(JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ComplaintAbout {
    /// The Secret or ConfigMap with values, or its key, is missing.
    Values,
    /// An admission policy, a quota or missing rights.
    Denial,
}

/// A Secret that external-secrets has not written.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingSecret {
    /// The ExternalSecret that promises it, such as shop/database.
    pub external_secret: String,
    /// In words.
    pub message: String,
}

/// A Certificate that cert-manager has not issued.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingCertificate {
    /// The Certificate, such as shop/web.
    pub certificate: String,
    /// In words.
    pub message: String,
}

/// A HelmRelease.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseRef {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// A chart that was handed to Flux.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppliedChart {
    /// The kind of place it comes from; not set when the source was given by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<SourceType>,
    /// The address it comes from; not set when the source was given by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The chart's name.
    pub name: String,
    /// The exact version.
    pub version: String,
}

impl From<&Chart> for AppliedChart {
    fn from(chart: &Chart) -> Self {
        Self {
            source_type: chart.source_type,
            url: chart.url.clone(),
            name: chart.name.clone(),
            version: chart.version.clone(),
        }
    }
}

/// A release that Flux reported as successful.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuccessfulRelease {
    /// The chart's version, as Flux tells it (for OCI with the digest after a plus sign).
    pub chart_version: String,
    /// Helm's number of the revision.
    pub revision: i64,
    /// The digest of the values, as Flux tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// The digest of the chart in its registry, for OCI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci_digest: Option<String>,
    /// The change of the spec that it carries, as its HelmRelease names it (annotation
    /// apps.vworkspace.io/change-digest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// When it was seen to have succeeded.
    #[schemars(schema_with = "schema::time")]
    pub time: Time,
}

/// A chart that Flux cannot load.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartTrouble {
    /// The change of the spec that waits for it, as its HelmRelease names it (annotation apps.vworkspace.io/change-digest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// In Flux's words.
    pub message: String,
    /// When it was first seen.
    #[schemars(schema_with = "schema::time")]
    pub since: Time,
}

/// A change that was approved.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedChange {
    /// The digest that the claim was about: of the change, of the chart and of the version of the values.
    pub digest: String,
    /// The digest of the change of the spec alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The digest of the chart in its registry, for OCI: Flux gets this one, wherever the tag points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_digest: Option<String>,
    /// The id of the claim that approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<String>,
    /// When it was approved, as the claim says. A claim from before does not count any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub approved_at: Option<Time>,
    /// When the claim was accepted.
    #[schemars(schema_with = "schema::time")]
    pub time: Time,
}

/// Where an application is reached.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// What it is called, mostly after its Service or Ingress.
    pub name: String,
    /// The address.
    pub url: String,
    /// What kind of address it is, such as ingress, service or s3.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// What else a user should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What another version of the operator remembered in another form is forgotten: a hint that is lost costs less than an
/// instance that cannot be read.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}
