//! OCIRepository, HelmRepository and HelmChart, as far as they tell whether a chart can be had.

use kube::api::ObjectMeta;
use serde::Deserialize;

use super::FluxCondition;
use crate::external::foreign_kind;

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

impl Source {
    /// The digest of the chart in its registry. A classic repository also has a revision that is a digest, of its index:
    /// what refers to a tag or a digest is none.
    pub(crate) fn oci_digest(&self) -> Option<&str> {
        let revision = self.status.artifact.as_ref()?.revision.as_str();
        let Reference { tag, digest, semver } = &self.spec.reference;
        let is_oci = [tag, digest, semver].into_iter().any(|known| !known.is_empty());
        match revision.split_once('@') {
            Some((_, digest)) => Some(digest),
            None => Some(revision).filter(|_| is_oci && revision.contains(':')),
        }
    }
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
    /// `1.0.0@sha256:...` for a chart of a registry, and only `sha256:...` if it was asked for by that.
    pub(crate) revision: String,
    /// Where source-controller serves it.
    pub(crate) url: String,
    /// Of the file that it serves.
    pub(crate) digest: String,
    pub(crate) size: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_of_a_chart_is_known_whether_it_was_asked_for_by_tag_or_by_digest() {
        let by = |tag: &str, digest: &str| json!({"ref": {"tag": tag, "digest": digest}});
        let table = [
            (by("1.2.0", ""), Some("1.2.0@sha256:ab"), Some("sha256:ab")),
            (by("1.2.0", "sha256:ab"), Some("sha256:ab"), Some("sha256:ab")),
            (by("", "sha256:ab"), Some("sha256:ab"), Some("sha256:ab")),
            // It was pinned a moment ago, or is not any more.
            (by("1.2.0", "sha256:cd"), Some("1.2.0@sha256:ab"), Some("sha256:ab")),
            (by("1.2.0", ""), Some("sha256:ab"), Some("sha256:ab")),
            // The index of a classic repository, and a chart out of it.
            (json!({"url": "https://charts.example"}), Some("sha256:ab"), None),
            (json!({}), Some("1.2.0"), None),
            (by("1.2.0", ""), None, None),
        ];
        for (spec, revision, digest) in table {
            let artifact = revision.map(|revision| json!({"revision": revision}));
            let source: OciRepository = serde_json::from_value(
                json!({"metadata": {}, "spec": spec, "status": {"artifact": artifact}}),
            )
            .unwrap();
            assert_eq!(Source::from(source).oci_digest(), digest, "{spec} {revision:?}");
        }
    }
}
