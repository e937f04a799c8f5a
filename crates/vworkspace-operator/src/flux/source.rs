//! OCIRepository, HelmRepository and HelmChart, as far as they tell whether a chart can be had.

use kube::api::ObjectMeta;
use serde::Deserialize;

use super::FluxCondition;
use crate::foreign::foreign_kind;

/// The kinds of Flux that hold charts have the same shape.
macro_rules! source_kind {
    ($Type:ident, $kind:literal, $plural:literal) => {
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        pub(crate) struct $Type {
            pub(crate) metadata: ObjectMeta,
            #[serde(default)]
            pub(crate) spec: SourceSpec,
            #[serde(default)]
            pub(crate) status: SourceStatus,
        }

        foreign_kind!($Type, $kind, $plural, "source.toolkit.fluxcd.io", "v1");

        impl From<$Type> for Source {
            fn from($Type { metadata, spec, status }: $Type) -> Self {
                Self { metadata, spec, status }
            }
        }
    };
}

source_kind!(OciRepository, "OCIRepository", "ocirepositories");
source_kind!(HelmRepository, "HelmRepository", "helmrepositories");
// One chart out of a HelmRepository; Flux makes it for a release.
source_kind!(HelmChart, "HelmChart", "helmcharts");

/// A source of any kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: SourceSpec,
    pub(crate) status: SourceStatus,
}

/// What a source of somebody else points to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct SourceSpec {
    pub(crate) url: String,
    #[serde(rename = "type")]
    pub(crate) type_: String,
    #[serde(rename = "ref")]
    pub(crate) reference: Reference,
}

/// Which version an OCIRepository points to. Flux takes the digest before the range before the tag.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Reference {
    pub(crate) digest: String,
    pub(crate) semver: String,
    pub(crate) tag: String,
}

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
    /// Where source-controller serves it.
    pub(crate) url: String,
    /// Of the file that it serves.
    pub(crate) digest: String,
    pub(crate) size: Option<u64>,
}

impl Artifact {
    /// The digest of the chart in its registry.
    pub(crate) fn oci_digest(&self) -> Option<&str> {
        self.revision.split_once('@').map(|(_, digest)| digest)
    }
}
