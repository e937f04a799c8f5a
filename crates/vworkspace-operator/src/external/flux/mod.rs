//! What we read of Flux's kinds, and nothing more: a field that Flux changes and we do not read cannot hurt us.

mod helm_release;
mod source;
pub(crate) mod specs;

pub(crate) use crate::external::{ForeignCondition as FluxCondition, condition, is_true};
pub(crate) use helm_release::{HelmRelease, Snapshot, is_same_version};
pub(crate) use source::{Artifact, HelmChart, HelmRepository, OciRepository, Source};
