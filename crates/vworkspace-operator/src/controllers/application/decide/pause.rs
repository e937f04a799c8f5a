//! Whether changes of the spec go out.

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use vworkspace_api::application_instance::{ApplicationInstance, MaintenanceWindow, Suspended};

use super::quoting::said;
use crate::controllers::application::observe::World;
use crate::windows::{self, State};

const RECONCILE: &str = "apps.vworkspace.io/reconcile";
const DAY: Duration = Duration::from_hours(24);

/// Why an instance is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pause {
    /// By annotation: we write only its status.
    Annotated,
    /// By its spec: its release is suspended too.
    Suspended,
    /// By a maintenance window: the same until it closes.
    Window { name: String, until: Option<Timestamp> },
}

impl Pause {
    /// Whether Flux is to leave the release alone too.
    pub(super) fn suspends_the_release(&self) -> bool {
        matches!(self, Pause::Suspended | Pause::Window { .. })
    }
}

/// What wins, for the reference page; `of` goes by it.
#[cfg(test)]
pub(super) const ORDER: [(Suspended, &str); 4] = [
    (
        Suspended::ReconcilePaused,
        "annotation `apps.vworkspace.io/reconcile` is `disabled`; only the status is written",
    ),
    (Suspended::ManuallySuspended, "`spec.suspend` is true; the release is suspended too"),
    (
        Suspended::MaintenanceWindow,
        "a maintenance window of the spec or of the catalog policy is open; the release is suspended too",
    ),
    (Suspended::Active, "none of these"),
];

/// Whether an instance is paused, and when a window changes that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pausing {
    pub(super) pause: Option<Pause>,
    pub(super) look_again: Option<Timestamp>,
}

/// The annotation comes first, because it forbids more.
pub(super) fn of(app: &ApplicationInstance, world: &World, now: Timestamp) -> Pausing {
    // Windows that cannot be understood are told as InvalidSpec or PolicyDenied, and hold changes back that way.
    let window = windows::state(&all_windows(app, world), now).ok();
    let look_again = match &window {
        // One that never closes is looked at once a day.
        Some(State::Open { until, .. }) => until.or_else(|| now.checked_add(DAY).ok()),
        Some(State::Closed { opens_at }) => *opens_at,
        None => None,
    };
    let by_hand = by_hand(app);
    let open = match window {
        Some(State::Open { name, until }) => Some(Pause::Window { name, until }),
        _ => None,
    };
    Pausing { pause: by_hand.or(open), look_again }
}

/// Why somebody paused it.
pub(super) fn by_hand(app: &ApplicationInstance) -> Option<Pause> {
    if app.annotations().get(RECONCILE).is_some_and(|value| value == "disabled") {
        return Some(Pause::Annotated);
    }
    app.spec.suspend.then_some(Pause::Suspended)
}

/// Whether it was last said to be paused in the way that suspends the release.
pub(super) fn was_ours(app: &ApplicationInstance) -> bool {
    let said = app.status.as_ref().and_then(|status| status.conditions.read::<Suspended>());
    matches!(said, Some(Suspended::ManuallySuspended | Suspended::MaintenanceWindow))
}

/// What is wrong with a window of the spec.
pub(super) fn bad_window(app: &ApplicationInstance, now: Timestamp) -> Option<String> {
    let error = windows::state(&app.spec.maintenance_windows, now).err()?;
    Some(format!("spec.{error}."))
}

fn all_windows(app: &ApplicationInstance, world: &World) -> Vec<MaintenanceWindow> {
    let namespace = app.namespace().unwrap_or_default();
    let policy = world.policy.as_ref().ok();
    let policy = policy.map(|policy| policy.windows_of(&namespace, &app.spec.app_ref.catalog_id));
    app.spec.maintenance_windows.iter().cloned().chain(policy.into_iter().flatten()).collect()
}

/// Why Flux has not been told of the pause: it was refused, so that the release goes on as before.
pub(super) fn refused(app: &ApplicationInstance, world: &World, pause: Option<&Pause>) -> Option<String> {
    let release = world.release.present().filter(|release| !release.is_being_deleted())?;
    let is_untold = pause?.suspends_the_release() && !release.is_suspended();
    let refusal = world.refusals.first().filter(|_| is_untold)?;
    Some(format!("The release could not be suspended and goes on: {}", said(app, world, &refusal.message)))
}

/// What the condition says.
pub(super) fn condition(pause: Option<&Pause>) -> (Suspended, String) {
    let (reason, message) = match pause {
        None => return (Suspended::Active, String::new()),
        Some(Pause::Annotated) => (
            Suspended::ReconcilePaused,
            "Annotation apps.vworkspace.io/reconcile is disabled. Remove it to go on.",
        ),
        Some(Pause::Suspended) => {
            (Suspended::ManuallySuspended, "spec.suspend is true. Set it to false to go on.")
        }
        Some(Pause::Window { name, until }) => {
            let until = until.map_or("it is changed: it never closes".to_owned(), |until| until.to_string());
            return (
                Suspended::MaintenanceWindow,
                format!("Maintenance window '{name}' is open; changes wait until {until}."),
            );
        }
    };
    (reason, message.to_owned())
}
