//! OCIRepository and HelmRepository, as far as they tell whether a chart can be had.

use kube::api::ObjectMeta;
use serde::Deserialize;

use super::FluxCondition;
use crate::foreign::foreign_kind;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct OciRepository {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: SourceStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct HelmRepository {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) status: SourceStatus,
}

foreign_kind!(OciRepository, "OCIRepository", "ocirepositories", "source.toolkit.fluxcd.io", "v1");
foreign_kind!(HelmRepository, "HelmRepository", "helmrepositories", "source.toolkit.fluxcd.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SourceStatus {
    pub(crate) conditions: Vec<FluxCondition>,
    pub(crate) observed_generation: i64,
    pub(crate) artifact: Option<Artifact>,
}

/// What a source has fetched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Artifact {
    /// `1.0.0@sha256:...` for a chart of a registry.
    pub(crate) revision: String,
}

impl Artifact {
    /// The digest of the chart in its registry.
    pub(crate) fn oci_digest(&self) -> Option<&str> {
        self.revision.split_once('@').map(|(_, digest)| digest)
    }
}

/// A source of either kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    pub(crate) metadata: ObjectMeta,
    pub(crate) status: SourceStatus,
}

impl From<OciRepository> for Source {
    fn from(OciRepository { metadata, status }: OciRepository) -> Self {
        Self { metadata, status }
    }
}

impl From<HelmRepository> for Source {
    fn from(HelmRepository { metadata, status }: HelmRepository) -> Self {
        Self { metadata, status }
    }
}
