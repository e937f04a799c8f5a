//! Which chart, in which version, from where.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::rule;

/// SemVer 2 in full; fewer numbers would be a range to Flux.
const EXACT_VERSION: &str =
    r"^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$";

/// The chart and where it comes from: by url, or by a reference to a Flux source that somebody else keeps.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(
    validation = rule::block_found(
        "has(self.url) != has(self.sourceRef)",
        "\"spec.chart has \" + (has(self.url) ? \"both url and sourceRef\" : \"neither url nor sourceRef\") + \"; expected exactly one of url and sourceRef\""
    ),
    validation = rule::block(
        "!has(self.url) || has(self.sourceType)",
        "spec.chart.sourceType is missing; expected oci or helm beside spec.chart.url"
    ),
    validation = rule::block_found(
        "has(self.url) || !has(self.sourceType)",
        "\"spec.chart.sourceType is '\" + self.sourceType + \"'; expected sourceType only beside spec.chart.url\""
    ),
    // Existing objects may leave the scheme of a registry out.
    validation = rule::block_found(
        "!has(self.url) || !has(self.sourceType) || self.sourceType != 'oci' || self.url.startsWith('oci://') || !self.url.contains('://')",
        "\"spec.chart.url is '\" + self.url + \"'; expected oci://..., because spec.chart.sourceType is oci\""
    ),
    validation = rule::block_found(
        "!has(self.url) || !has(self.sourceType) || self.sourceType != 'helm' || self.url.matches('^https?://')",
        "\"spec.chart.url is '\" + self.url + \"'; expected https://... or http://..., because spec.chart.sourceType is helm\""
    ),
    // Not quoted: it holds a password.
    validation = rule::block(
        "!has(self.url) || !self.url.matches('^([a-z]+://)?[^/]*@')",
        "spec.chart.url has a user or password in it; expected them in a Secret that spec.chart.secretRef names"
    ),
    validation = rule::block(
        "has(self.url) || !(has(self.secretRef) || has(self.certSecretRef) || has(self.insecure))",
        "spec.chart has secretRef, certSecretRef or insecure; expected these only beside spec.chart.url, because a referenced source has its own"
    ),
    // Also keeps anybody from setting it beforehand.
    validation = rule::block_found(
        "!has(self.replace) || self.replace == self.name",
        "\"spec.chart.replace is '\" + self.replace + \"' and spec.chart.name is '\" + self.name + \"'; expected spec.chart.replace only with the same name\""
    ),
    // Flux takes another name for another release: it uninstalls the one that runs.
    validation = rule::block_found(
        "self.name == oldSelf.name || (has(self.replace) && self.replace == self.name)",
        "\"spec.chart.name was '\" + oldSelf.name + \"' and would become '\" + self.name + \"'; expected no change, because Flux would uninstall the running release and its volumes would be lost: if that is meant, set spec.chart.replace to the new name in the same change\""
    )
)]
#[serde(rename_all = "camelCase")]
pub struct Chart {
    /// The kind of place that url points to. oci: a container registry. helm: a chart repository with an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<SourceType>,

    /// The address of the registry or repository, such as oci://registry.example.org/charts or
    /// https://charts.example.org. For oci the chart's name is appended unless the address already ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub url: Option<String>,

    /// A Flux source of the same namespace that already exists, instead of url and sourceType.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<ChartSourceRef>,

    /// The chart's name in its source. Another name means another release to Flux, which uninstalls the one that runs: it is
    /// refused unless replace says that this is meant.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = rule::like("spec.chart.name", r"^\S+$", "the name of a chart, such as nextcloud"))]
    pub name: String,

    /// The name of the new chart, in the same change that gives name to it: says that the running release may be uninstalled
    /// and its volumes lost. Must be the same as name, and does nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub replace: Option<String>,

    /// The exact version, such as 1.2.3. A referenced OCIRepository has a tag of its own: nothing is changed until both
    /// agree.
    #[schemars(length(min = 1, max = 128))]
    #[x_kube(validation = rule::like("spec.chart.version", EXACT_VERSION, "an exact version such as 1.2.3; no range, no tag such as latest"))]
    pub version: String,

    /// A Secret of the same namespace with the credentials for url, in the form that Flux takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,

    /// A Secret of the same namespace with the CA certificate (key ca.crt) that url is verified with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<SecretName>,

    /// true lets an oci url be plain HTTP.
    #[serde(default, skip_serializing_if = "is_default")]
    pub insecure: bool,
}

/// Where a chart comes from, once it is known to be sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartSource<'a> {
    /// The operator keeps a Flux source for this address.
    Url(SourceType, &'a str),
    /// Somebody else keeps the Flux source.
    Reference(&'a ChartSourceRef),
}

impl Chart {
    /// Where the chart comes from; nothing for an object that the rules of the schema would refuse.
    #[must_use]
    pub fn source(&self) -> Option<ChartSource<'_>> {
        match (self.source_type, &self.url, &self.source_ref) {
            (Some(source_type), Some(url), None) => Some(ChartSource::Url(source_type, url)),
            (None, None, Some(reference)) => Some(ChartSource::Reference(reference)),
            _ => None,
        }
    }
}

/// The kind of place that url points to. oci: a container registry. helm: a chart repository with an index.
// An optional field shows the description of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum SourceType {
    /// A container registry.
    Oci,
    /// A chart repository with an index.
    Helm,
}

/// A Flux source that somebody else keeps.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartSourceRef {
    /// OCIRepository or HelmRepository.
    pub kind: ChartSourceKind,
    /// Its name.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::object_name("spec.chart.sourceRef.name"))]
    pub name: String,
}

/// The kinds of Flux that hold charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ChartSourceKind {
    /// One chart in one version of a container registry.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// A chart repository with an index.
    HelmRepository,
}

impl ChartSourceKind {
    /// The kind, as Kubernetes names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChartSourceKind::OciRepository => "OCIRepository",
            ChartSourceKind::HelmRepository => "HelmRepository",
        }
    }
}

/// A Secret of the same namespace.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretName {
    /// The Secret's name.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::object_name("name of the Secret"))]
    pub name: String,
}
