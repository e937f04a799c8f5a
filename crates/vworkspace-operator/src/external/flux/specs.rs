//! The specs of Flux's kinds, as far as we write them. What is not set is left out.

use serde::Serialize;
use serde_json::{Map, Value};
use vworkspace_api::Duration;
use vworkspace_api::application_instance::{IgnoredDrift, SecretName};

/// Of an OCIRepository.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OciRepositorySpec<'a> {
    pub(crate) interval: Duration,
    pub(crate) url: String,
    #[serde(rename = "ref")]
    pub(crate) reference: OciReference,
    pub(crate) layer_selector: LayerSelector,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) insecure: bool,
    #[serde(flatten)]
    pub(crate) secrets: SourceSecrets<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct OciReference {
    pub(crate) tag: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LayerSelector {
    pub(crate) media_type: &'static str,
    pub(crate) operation: &'static str,
}

/// Of a HelmRepository.
#[derive(Debug, Serialize)]
pub(crate) struct HelmRepositorySpec<'a> {
    pub(crate) interval: Duration,
    pub(crate) url: &'a str,
    #[serde(flatten)]
    pub(crate) secrets: SourceSecrets<'a>,
}

/// Named, never read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceSecrets<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_ref: Option<&'a SecretName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cert_secret_ref: Option<&'a SecretName>,
}

/// Of a HelmRelease.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HelmReleaseSpec<'a> {
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
    pub(crate) release_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_account_name: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) chart: ReleaseChart<'a>,
    pub(crate) install: Action,
    pub(crate) upgrade: Action,
    #[serde(skip_serializing_if = "Action::is_empty")]
    pub(crate) rollback: Action,
    pub(crate) uninstall: Uninstall,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<Test>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drift_detection: Option<DriftDetection<'a>>,
    /// The user's own: a null in them means something to Helm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values_from: Option<[ValuesReference<'a>; 1]>,
}

/// Where the chart comes from.
#[derive(Debug, Serialize)]
pub(crate) enum ReleaseChart<'a> {
    #[serde(rename = "chartRef")]
    Ref(Reference<'a>),
    #[serde(rename = "chart")]
    Template { spec: ChartTemplate<'a> },
}

#[derive(Debug, Serialize)]
pub(crate) struct Reference<'a> {
    pub(crate) kind: &'static str,
    pub(crate) name: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChartTemplate<'a> {
    pub(crate) chart: &'a str,
    pub(crate) version: &'a str,
    pub(crate) interval: Duration,
    pub(crate) source_ref: Reference<'a>,
}

/// How Helm installs, upgrades or rolls back.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Action {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remediation: Option<Remediation>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) cleanup_on_fail: bool,
}

impl Action {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What Flux does after a failure.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remediation {
    pub(crate) retries: i32,
    pub(crate) remediate_last_failure: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Uninstall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Duration>,
    pub(crate) deletion_propagation: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) disable_hooks: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Test {
    pub(crate) enable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Duration>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) ignore_failures: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct DriftDetection<'a> {
    pub(crate) mode: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) ignore: &'a [IgnoredDrift],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValuesReference<'a> {
    pub(crate) kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) values_key: &'a str,
}

fn is_false(flag: &bool) -> bool {
    !flag
}
