//! Which words of others may be told.
//!
//! Helm's errors can quote values, and what comes from a Secret must not get out that way. A message speaks of a release
//! that need not be the one that the spec asks for now: of the one that is still there while a change waits, or of one
//! before it, whose failure Flux shows until something succeeds. That such a release was handed over is remembered.

use vworkspace_api::application_instance::{ApplicationInstance, ValuesSource};

use super::Change;
use super::release_state::ReleaseState;
use crate::controllers::application::observe::World;
use crate::external::flux::HelmRelease;
use operator_kit::{Quotes, redact};

/// What somebody else said about the application, without what must not get out.
pub(super) fn said(app: &ApplicationInstance, world: &World, message: &str) -> String {
    let can_quote_secrets = asks_for_secret_values(app) || carries_secret_values(world) || had(app, world);
    if !can_quote_secrets {
        return redact(message, Quotes::Trusted);
    }
    let known = known_names(app, world.release.present());
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    redact(message, Quotes::Untrusted { known: &known })
}

/// Whether Flux's words can quote values of a Secret from now on, for the status.
pub(super) fn can_quote_secrets_later(
    app: &ApplicationInstance,
    world: &World,
    change: Change,
    state: &ReleaseState,
) -> bool {
    let goes_out = change == Change::GoesOut && asks_for_secret_values(app);
    let is_over = matches!(state, ReleaseState::Released(_));
    goes_out || carries_secret_values(world) || (had(app, world) && !is_over)
}

fn asks_for_secret_values(app: &ApplicationInstance) -> bool {
    app.spec.values.as_ref().is_some_and(|values| values.source == ValuesSource::SecretRef)
}

fn carries_secret_values(world: &World) -> bool {
    world
        .release
        .present()
        .is_some_and(|release| release.values_from().any(|reference| reference.kind == "Secret"))
}

/// Whether a release before had values from a Secret, and none without has succeeded since. A release of ours about which
/// nothing was ever said may have had them.
fn had(app: &ApplicationInstance, world: &World) -> bool {
    match &app.status {
        Some(status) => status.secret_values,
        None => world.release.present().is_some(),
    }
}

/// Names that may be told: those of the spec, and those of the release that is there.
fn known_names(app: &ApplicationInstance, release: Option<&HelmRelease>) -> Vec<String> {
    let chart = app.spec.chart.iter().flat_map(|chart| [chart.name.clone(), chart.version.clone()]);
    let own = app.spec.release.iter().flat_map(|release| [release.name.clone(), release.namespace.clone()]);
    let asked = app.spec.values.iter().flat_map(|values| [&values.secret_ref, &values.config_map_ref]);
    let asked = asked.flatten().map(|reference| (reference.name.as_str(), reference.key.as_str()));
    let carried = release.into_iter().flat_map(HelmRelease::values_from);
    let carried = carried.map(|reference| (reference.name, reference.key));
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    let values = asked.chain(carried);
    // Flux also writes the name with its namespace.
    let values = values.flat_map(|(name, key)| [name.into(), key.into(), format!("{namespace}/{name}")]);
    chart.chain(own).chain(values).collect()
}
