//! What we read of Flux's kinds, and nothing more: a field that Flux changes and we do not read cannot hurt us.

mod helm_release;
mod source;

pub(crate) use helm_release::{HelmRelease, Snapshot};
pub(crate) use source::{Artifact, HelmRepository, OciRepository, Source};

use serde::Deserialize;

/// A condition as Flux writes it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FluxCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) observed_generation: Option<i64>,
}

/// The condition of a type.
pub(crate) fn condition<'a>(conditions: &'a [FluxCondition], type_: &str) -> Option<&'a FluxCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The condition of a type, if it is True.
pub(crate) fn is_true<'a>(conditions: &'a [FluxCondition], type_: &str) -> Option<&'a FluxCondition> {
    condition(conditions, type_).filter(|condition| condition.status == "True")
}

/// Names a kind of Flux, so that it can be looked up and applied.
macro_rules! flux_kind {
    ($Type:ident, $kind:literal, $plural:literal, $group:literal, $version:literal) => {
        impl kube::Resource for $Type {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &kube::api::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube::api::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
use flux_kind;
