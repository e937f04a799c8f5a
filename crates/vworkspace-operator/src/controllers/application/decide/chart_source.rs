//! What the chart's source tells: whether it has what it should, and why not.

use std::time::Duration;

use jiff::Timestamp;
use vworkspace_api::application_instance::ChartTrouble;

use crate::controllers::application::observe::World;
use crate::external::flux::{Source, is_true};
use operator_kit::{Quotes, redact};

/// Why a chart cannot be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SourceTrouble {
    /// The source answers that it does not have it.
    Missing(String),
    /// The source does not answer, or refuses us.
    Unreachable(String),
    /// The source complains of nothing, and Flux cannot load what it has.
    NotLoaded(ChartTrouble),
}

impl SourceTrouble {
    pub(super) fn message(&self) -> &str {
        match self {
            SourceTrouble::Missing(message) | SourceTrouble::Unreachable(message) => message,
            SourceTrouble::NotLoaded(trouble) => &trouble.message,
        }
    }
}

/// Why the source cannot be fetched. `FetchFailed` stays while Flux retries; `Ready` flickers.
pub(super) fn source_trouble(source: &Source) -> Option<SourceTrouble> {
    let conditions = &source.status.conditions;
    let failed = is_true(conditions, "FetchFailed").or_else(|| is_true(conditions, "Stalled"))?;
    // It stays over from an address or a tag that has been corrected, until Flux has looked at the new one.
    if failed.observed_generation.is_some_and(|observed| source.metadata.generation != Some(observed)) {
        return None;
    }
    let says = |word: &str| failed.message.contains(word);
    let is_missing = ["MANIFEST_UNKNOWN", "NAME_UNKNOWN", "no match found"].into_iter().any(says)
        || ["URLInvalid", "InvalidChartReference"].contains(&failed.reason.as_str());
    // A repository without an index has the cause on its own object.
    if failed.reason == "NoSourceArtifact" {
        return None;
    }
    let message = redact(&failed.message, Quotes::Trusted);
    Some(if is_missing { SourceTrouble::Missing(message) } else { SourceTrouble::Unreachable(message) })
}

/// A source that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreachable {
    /// From then on it is more than a passing trouble.
    pub(super) counts_from: Timestamp,
    pub(super) message: String,
}

/// Whether the source does not answer, also if nothing needs it at the moment.
pub(super) fn unreachable_source(world: &World, patience: Duration) -> Option<Unreachable> {
    let source = world.source.present()?;
    let failed = is_true(&source.status.conditions, "FetchFailed")?;
    match source_trouble(source)? {
        SourceTrouble::Missing(_) | SourceTrouble::NotLoaded(_) => None,
        SourceTrouble::Unreachable(message) => {
            let since = failed.last_transition_time.as_ref()?.0;
            Some(Unreachable { counts_from: since.checked_add(patience).unwrap_or(Timestamp::MAX), message })
        }
    }
}

/// A HelmRepository of type oci is only an address: Flux writes no status.
fn is_only_an_address(source: &Source) -> bool {
    source.spec.type_ == "oci"
}

/// Whether what it says is about its present spec.
pub(super) fn has_caught_up(source: &Source) -> bool {
    is_only_an_address(source) || source.metadata.generation == Some(source.status.observed_generation)
}

/// Whether it had a chart and has none any more.
pub(super) fn has_lost_its_artifact(source: &Source) -> bool {
    has_caught_up(source) && !is_only_an_address(source) && source.status.artifact.is_none()
}
