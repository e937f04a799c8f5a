//! Whether changes of the spec go out.

use std::time::Duration;

use conditions::Verdict;
use jiff::Timestamp;
use kube::ResourceExt;
use operator_kit::{Deed, Sight};
use vworkspace_api::application_instance::{
    ApplicationInstance, MaintenanceWindow, OpenWindow, Suspended, WindowOrigin,
};

use super::quoting::said;
use super::status::{Rule, rule};
use crate::controllers::application::children;
use crate::controllers::application::observe::World;
use crate::controllers::application::restoring::Restoring;
use crate::external::flux::HelmRelease;
use crate::policy::windows::{self, State};

const RECONCILE: &str = "apps.vworkspace.io/reconcile";
const DAY: Duration = Duration::from_hours(24);

/// Why an instance is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pause {
    /// By annotation: we write only its status.
    Annotated,
    /// By an operation that brings back what was lost: Flux would undo it. The same until that has ended.
    Restore(Restoring),
    /// By its spec: its release is suspended too.
    Suspended,
    /// By a maintenance window: the same until it closes.
    Window { window: OpenWindow, until: Option<Timestamp> },
    /// By a maintenance window that was open when it was last understood: nobody knows whether it has closed.
    LostWindow { window: OpenWindow, problem: String },
}

fn in_words(OpenWindow { origin, name }: &OpenWindow) -> String {
    let whose = match origin {
        WindowOrigin::CatalogPolicy => "The catalog policy's",
        WindowOrigin::Spec => "The spec's",
    };
    format!("{whose} maintenance window '{name}'")
}

impl Pause {
    /// Whether Flux is to leave the release alone too.
    pub(super) fn suspends_the_release(&self) -> bool {
        match self {
            Pause::Restore(_) | Pause::Suspended | Pause::Window { .. } | Pause::LostWindow { .. } => true,
            Pause::Annotated => false,
        }
    }

    /// The window that it is for.
    pub(super) fn window(&self) -> Option<&OpenWindow> {
        match self {
            Pause::Window { window, .. } | Pause::LostWindow { window, .. } => Some(window),
            Pause::Annotated | Pause::Restore(_) | Pause::Suspended => None,
        }
    }
}

/// Of several pauses the annotation comes first, because it forbids more: see [`by_hand`].
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Suspended>] = &[
    rule(&[Suspended::Active], "the release could not be suspended, or whether it is suspended is not known", |facts| {
        Some(Verdict::This(Suspended::Active, facts.refused_pause.clone()?))
    }),
    rule(&[Suspended::ManuallySuspended, Suspended::OperationInProgress, Suspended::MaintenanceWindow, Suspended::ReconcilePaused], "the release could not be resumed", |facts| {
        Some(Verdict::This(still(facts.app), facts.refused_end.clone()?))
    }),
    rule(&[Suspended::ReconcilePaused], "annotation `apps.vworkspace.io/reconcile` is `disabled`; only status and finalizer are written", |facts| {
        said_of(facts.pause, |pause| matches!(pause, Pause::Annotated))
    }),
    rule(&[Suspended::ManuallySuspended], "`spec.suspend` is true; the release is suspended too", |facts| {
        said_of(facts.pause, |pause| matches!(pause, Pause::Suspended))
    }),
    rule(&[Suspended::OperationInProgress], "a Restore has begun, or is about to; the release is suspended too", |facts| {
        said_of(facts.pause, |pause| matches!(pause, Pause::Restore(_)))
    }),
    rule(&[Suspended::MaintenanceWindow], "a maintenance window of the spec or of the catalog policy is open, or was and cannot be read any more; the release is suspended too", |facts| {
        said_of(facts.pause, |pause| matches!(pause, Pause::Window { .. } | Pause::LostWindow { .. }))
    }),
    rule(&[Suspended::Active], "none of these", |_| Some(Verdict::This(Suspended::Active, String::new()))),
];

fn said_of(pause: Option<&Pause>, is_it: fn(&Pause) -> bool) -> Option<Verdict<Suspended>> {
    let (reason, message) = condition(pause.filter(|pause| is_it(pause)));
    pause.filter(|pause| is_it(pause)).map(|_| Verdict::This(reason, message))
}

/// Whether an instance is paused, and when a window changes that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pausing {
    pub(super) pause: Option<Pause>,
    pub(super) look_again: Option<Timestamp>,
}

pub(super) fn of(app: &ApplicationInstance, world: &World, now: Timestamp) -> Pausing {
    let windows = Windows::of(app, world);
    let state = windows::state(&windows.all(), now);
    let look_again = match &state {
        // One that never closes is looked at once a day.
        State::Open { until, .. } => until.or_else(|| now.checked_add(DAY).ok()),
        State::Closed { opens_at } => *opens_at,
    };
    let open = match state {
        State::Open { name, until } => Some(windows.open(name, until, now)),
        State::Closed { .. } => lost_window(app, world),
    };
    let restore = || world.restoring.clone().map(Pause::Restore);
    Pausing { pause: by_hand(app).or_else(restore).or(open), look_again }
}

/// The windows of an instance.
struct Windows<'a> {
    spec: &'a [MaintenanceWindow],
    policy: Vec<MaintenanceWindow>,
}

impl<'a> Windows<'a> {
    fn of(app: &'a ApplicationInstance, world: &World) -> Self {
        let namespace = app.namespace().unwrap_or_default();
        let policy = world.policy.windows_of(&namespace, &app.spec.app_ref.catalog_id);
        Self { spec: &app.spec.maintenance_windows, policy }
    }

    fn all(&self) -> Vec<MaintenanceWindow> {
        self.spec.iter().chain(&self.policy).cloned().collect()
    }

    /// One of the policy is named before one of the spec, so that it is known if it gets lost.
    fn open(&self, name: String, until: Option<Timestamp>, now: Timestamp) -> Pause {
        let open = |origin, name| Pause::Window { window: OpenWindow { origin, name }, until };
        match windows::open_now(&self.policy, now) {
            Some(name) => open(WindowOrigin::CatalogPolicy, name.to_owned()),
            None => open(WindowOrigin::Spec, name),
        }
    }
}

/// The window for which the instance was last said to be paused, if it cannot be understood any more. What cannot be
/// read never opens anything.
fn lost_window(app: &ApplicationInstance, world: &World) -> Option<Pause> {
    let window = app.status.as_ref()?.open_window.as_ref()?;
    let OpenWindow { origin, name } = window;
    let problem = match origin {
        WindowOrigin::CatalogPolicy => {
            world.policy.hides_windows().filter(|_| !world.policy.knows_window(name))?.to_string()
        }
        WindowOrigin::Spec => {
            let bad = windows::bad(&app.spec.maintenance_windows).find(|bad| bad.window == *name)?;
            format!("spec.{bad}")
        }
    };
    Some(Pause::LostWindow { window: window.clone(), problem })
}

/// Whether somebody wants nothing but its status to be written.
pub(crate) fn is_left_alone(app: &ApplicationInstance) -> bool {
    app.annotations().get(RECONCILE).is_some_and(|value| value == "disabled")
}

/// Why somebody paused it.
pub(super) fn by_hand(app: &ApplicationInstance) -> Option<Pause> {
    if is_left_alone(app) {
        return Some(Pause::Annotated);
    }
    app.spec.suspend.then_some(Pause::Suspended)
}

/// The operation that the instance is paused for, if Flux is seen to leave the release alone, or has none.
pub(super) fn operation_at_rest(world: &World, pause: Option<&Pause>) -> Option<String> {
    let restoring = world.restoring.as_ref().filter(|_| pause.is_some_and(Pause::suspends_the_release))?;
    let is_at_rest = match &world.release {
        Sight::Present(release) => release.is_suspended(),
        Sight::Absent | Sight::NotInstalled => true,
        Sight::Unknown(_) | Sight::Unreadable(_) => false,
    };
    is_at_rest.then(|| restoring.uid.clone())
}

/// Whether it is we who suspended the release: it says so, or we did when we last spoke of it.
pub(super) fn is_ours(app: &ApplicationInstance, release: &HelmRelease) -> bool {
    let said = app.status.as_ref().and_then(|status| status.conditions.read::<Suspended>());
    let was_told = matches!(
        said,
        Some(Suspended::ManuallySuspended | Suspended::OperationInProgress | Suspended::MaintenanceWindow)
    );
    release.is_suspended() && (children::is_suspended_by_us(&release.metadata) || was_told)
}

/// Why a release that we suspended does not go on although the pause is over: that was refused.
pub(super) fn refused_end(app: &ApplicationInstance, world: &World, pause: Option<&Pause>) -> Option<String> {
    let release = world.release.present().filter(|release| !release.is_being_deleted())?;
    let is_held = pause.is_none() && is_ours(app, release);
    let refusal = world.refusals.iter().find(|refusal| is_held && refusal.deed == Deed::Make)?;
    Some(format!("The release could not be resumed: {}", said(app, world, &refusal.message)))
}

/// What was said of a pause that has not ended.
pub(super) fn still(app: &ApplicationInstance) -> Suspended {
    let said = app.status.as_ref().and_then(|status| status.conditions.read::<Suspended>());
    match said {
        Some(
            said @ (Suspended::MaintenanceWindow
            | Suspended::OperationInProgress
            | Suspended::ReconcilePaused),
        ) => said,
        Some(Suspended::ManuallySuspended | Suspended::Active) | None => Suspended::ManuallySuspended,
    }
}

/// What is wrong with a window of the spec.
pub(super) fn bad_window(app: &ApplicationInstance) -> Option<String> {
    let bad = windows::bad(&app.spec.maintenance_windows).next()?;
    Some(format!("spec.{bad}."))
}

/// Why Flux has not been told of the pause: it was refused, so that the release goes on as before.
pub(super) fn refused(app: &ApplicationInstance, world: &World, pause: Option<&Pause>) -> Option<String> {
    if let (Some(pause), Sight::Unreadable(why)) = (pause, &world.release)
        && pause.suspends_the_release()
    {
        return Some(format!("Whether the release is suspended is not known: it cannot be read: {why}."));
    }
    let release = world.release.present().filter(|release| !release.is_being_deleted())?;
    let is_untold = pause?.suspends_the_release() && !release.is_suspended();
    let refusal = world.refusals.iter().find(|refusal| is_untold && refusal.deed == Deed::Make)?;
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
        Some(Pause::Restore(Restoring { name, .. })) => {
            let message =
                format!("Operation {name} restores from a backup; changes wait until it has ended.");
            return (Suspended::OperationInProgress, message);
        }
        Some(Pause::Suspended) => {
            (Suspended::ManuallySuspended, "spec.suspend is true. Set it to false to go on.")
        }
        Some(Pause::Window { window, until }) => {
            let until = until.map_or("it is changed: it never closes".to_owned(), |until| until.to_string());
            let message = format!("{} is open; changes wait until {until}.", in_words(window));
            return (Suspended::MaintenanceWindow, message);
        }
        Some(Pause::LostWindow { window, problem }) => {
            let message = format!(
                "{} was open, and cannot be read any more; changes wait until it can be, or is removed: {problem}.",
                in_words(window)
            );
            return (Suspended::MaintenanceWindow, message);
        }
    };
    (reason, message.to_owned())
}
