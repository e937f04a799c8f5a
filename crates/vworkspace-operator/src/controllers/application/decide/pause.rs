//! Whether changes of the spec go out.

use kube::ResourceExt;
use vworkspace_api::application_instance::{ApplicationInstance, Suspended};

const RECONCILE: &str = "apps.vworkspace.io/reconcile";

/// Why an instance is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// By annotation: we write only its status.
    Annotated,
    /// By its spec: its release is suspended too.
    Suspended,
}

/// The annotation comes first, because it forbids more.
pub(super) fn reason(app: &ApplicationInstance) -> Option<Pause> {
    if app.annotations().get(RECONCILE).is_some_and(|value| value == "disabled") {
        return Some(Pause::Annotated);
    }
    app.spec.suspend.then_some(Pause::Suspended)
}

/// What the condition says.
pub(super) fn condition(pause: Option<Pause>) -> (Suspended, &'static str) {
    match pause {
        None => (Suspended::Active, ""),
        Some(Pause::Annotated) => (
            Suspended::ReconcilePaused,
            "Annotation apps.vworkspace.io/reconcile is disabled. Remove it to go on.",
        ),
        Some(Pause::Suspended) => {
            (Suspended::ManuallySuspended, "spec.suspend is true. Set it to false to go on.")
        }
    }
}
