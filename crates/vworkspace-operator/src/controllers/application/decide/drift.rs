//! Whether somebody changed the application's objects. Flux tells it by Events only, and never that it is over.

use jiff::Timestamp;
use vworkspace_api::application_instance::{ApplicationInstance, DriftMode};

use super::quoting::said;
use crate::controllers::application::observe::{Drift, World};

/// Flux looks once in each interval: two without a word mean that it is over.
const SILENT_INTERVALS: u32 = 2;

/// A difference that still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) message: String,
    /// When it counts as over if Flux does not say it again.
    pub(super) until: Timestamp,
}

pub(super) fn current(app: &ApplicationInstance, world: &World, now: Timestamp) -> Option<Current> {
    if app.spec.drift_detection.mode == DriftMode::Disabled {
        return None;
    }
    let Drift { message, seen_at } = world.drift.as_ref()?;
    // Flux may be late by its own time-outs; a release since then has put everything back.
    let interval = std::time::Duration::from(app.spec.interval) * SILENT_INTERVALS;
    let until = seen_at.checked_add(interval).ok()?;
    let history = world.release.present().and_then(|release| release.status.history.first());
    let deployed = history.and_then(|newest| newest.last_deployed.as_ref()).map(|time| time.0);
    let is_undone = deployed.is_some_and(|deployed| deployed > *seen_at);
    (now < until && !is_undone).then(|| Current { message: said(app, world, &in_one_line(message)), until })
}

/// Which objects, without the sentence before them: `ConfigMap/shop/web changed (...)`.
fn in_one_line(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [_, objects @ ..] if !objects.is_empty() => objects.join("; "),
        lines => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_are_told_and_not_what_everybody_knows() {
        let told = "Cluster state of release shop/web.v1 has drifted from the desired state:\n\
                    ConfigMap/shop/web changed (0 additions, 1 changes, 0 removals)\nDeployment/shop/web removed";
        assert_eq!(
            in_one_line(told),
            "ConfigMap/shop/web changed (0 additions, 1 changes, 0 removals); Deployment/shop/web removed"
        );
        assert_eq!(in_one_line("something else"), "something else");
    }
}
