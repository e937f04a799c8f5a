//! How an instance ends. Deletion wins over pausing: Flux skips the uninstall of a suspended release, which would leave
//! the application behind.

use conditions::Draft;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Absence, Cause, Child, Deed, Deletion, Finalizer, Plan, Sight, TemporaryWatch};
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, ChartSourceKind, Degraded, Deleting, DeletionPolicy,
    Ready, Reconciling,
};

use super::chart_source::{SourceTrouble, source_trouble};
use super::quoting::said;
use super::status::{History, forget, moment, unblocked};
use super::{pause, release_state};
use crate::controllers::application::OWNER_LABEL;
use crate::controllers::application::children::{self, Suspension};
use crate::controllers::application::leftovers::{Leftovers, described};
use crate::controllers::application::observe::World;
use crate::controllers::application::temporary_watches;
use crate::external::flux::{HelmRelease, HelmRepository, OciRepository, Source, condition};

const LET_GO: &str = "The release is let go of: it keeps running.";
const RELEASE_GONE: &str = "The release and its objects are gone; its chart source is next.";
/// As many objects are named in a message.
const MOST_NAMED: usize = 5;

/// What is next.
#[derive(Debug, PartialEq)]
enum Step {
    /// The release must first be suspended, or be so no longer.
    Prepare(Box<Child>),
    Delete(Deletion),
    /// Flux is at work, or the release cannot be read.
    Wait(String),
    /// Nothing can be seen of the release, or of what is left of it: why.
    Hidden(String),
    /// The release is gone, and what is left of it is not known yet.
    Look,
    /// The release is gone, and these still terminate.
    WaitForObjects(Vec<String>),
    /// The release is gone, and Flux has not uninstalled it: these still stand.
    NotUninstalled(Vec<String>),
    /// The release and its objects are gone: our own sources go last.
    DeleteSources(Vec<Deletion>),
    Done,
    /// What is missing cannot be seen, or we may not ask for it, because the whole namespace is being deleted.
    LeaveToNamespace,
}

pub(super) fn plan(
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    let step = step(app, world);
    let temporary_watches = wanted_watches(app, world, &step);
    if step == Step::Look {
        let status = app.status.clone().unwrap_or_default();
        return Plan { temporary_watches, ..Plan::only_status(Finalizer::Hold, status) };
    }
    let (finalizer, gone) = match step {
        Step::Done => (Finalizer::Release, children_of(app)),
        // With the namespace everything goes, and nobody may be asked about it.
        Step::LeaveToNamespace => (Finalizer::Release, Vec::new()),
        _ => (Finalizer::Hold, Vec::new()),
    };
    let status = status(app, world, &step, now);
    let (mut children, mut deletions) = (Vec::new(), Vec::new());
    match step {
        Step::Prepare(child) => children.push(*child),
        Step::Delete(deletion) => deletions.push(deletion),
        Step::DeleteSources(sources) => deletions = sources,
        Step::Wait(_)
        | Step::Hidden(_)
        | Step::Look
        | Step::WaitForObjects(_)
        | Step::NotUninstalled(_)
        | Step::Done
        | Step::LeaveToNamespace => {}
    }
    Plan { children, deletions, temporary_watches, gone, ..Plan::only_status(finalizer, status) }
}

/// What is left is looked for from the moment on at which the release is gone and not before: a list that is asked for then
/// has seen everything that Helm deleted, a watch from before it may lag behind.
fn wanted_watches(app: &ApplicationInstance, world: &World, step: &Step) -> Vec<TemporaryWatch> {
    let leftovers = || temporary_watches::leftovers(app).into_iter();
    match step {
        // The namespace tells why something cannot be seen, or why we may not ask whether the last child is gone.
        Step::Hidden(_) | Step::Done | Step::LeaveToNamespace => {
            let namespace = temporary_watches::namespace(app).filter(|_| world.has_rights_in_namespace_only);
            let is_release_gone = !matches!(world.release, Sight::Unknown(_));
            leftovers().filter(|_| is_release_gone).chain(namespace).collect()
        }
        Step::Look | Step::WaitForObjects(_) | Step::NotUninstalled(_) | Step::DeleteSources(_) => {
            leftovers().collect()
        }
        Step::Prepare(_) | Step::Delete(_) | Step::Wait(_) => Vec::new(),
    }
}

fn step(app: &ApplicationInstance, world: &World) -> Step {
    match visible_step(app, world) {
        // With the namespace everything in it goes, and the rights to look at it first.
        Step::Hidden(_) if world.is_namespace_ending => Step::LeaveToNamespace,
        // Where the API server still answers whether the last child is gone, it is believed.
        Step::Done if world.is_namespace_ending && is_forbidden_to_ask(world) => Step::LeaveToNamespace,
        step => step,
    }
}

/// Whether we were not allowed to ask, or to delete, what is left.
fn is_forbidden_to_ask(world: &World) -> bool {
    world.refusals.iter().any(|refusal| refusal.deed == Deed::Clear && refusal.cause == Cause::Forbidden)
}

fn visible_step(app: &ApplicationInstance, world: &World) -> Step {
    let release = match &world.release {
        Sight::Unknown(why) => return Step::Hidden(why.clone()),
        Sight::Absent if world.restored_release.is_some() => return Step::Wait(not_ours(app, world)),
        Sight::Absent | Sight::NotInstalled => return after_release(app, world),
        Sight::Unreadable(why) => return Step::Wait(format!("The HelmRelease cannot be read: {why}")),
        Sight::Present(release) => release,
    };
    if release.is_being_deleted() {
        return Step::Wait(progress(app, release));
    }
    let wanted = match app.spec.deletion_policy {
        DeletionPolicy::Delete => Suspension::Off,
        DeletionPolicy::Orphan => Suspension::On,
    };
    if release.is_suspended() != (wanted == Suspension::On) {
        return Step::Prepare(Box::new(children::as_it_is(app, release, wanted)));
    }
    children::delete_release(release).map_or_else(|| Step::Wait(progress(app, release)), Step::Delete)
}

/// Flux lets go of an object that hangs in a finalizer, and of a whole release whose service account is gone; we do not.
fn after_release(app: &ApplicationInstance, world: &World) -> Step {
    match &world.leftovers {
        // What was never ours to remove is not waited for.
        _ if app.spec.deletion_policy == DeletionPolicy::Orphan => after_objects(world),
        Leftovers::NotYet if !temporary_watches::leftovers(app).is_empty() => Step::Look,
        Leftovers::Hidden(why) => Step::Hidden(why.join("; ")),
        Leftovers::Known(left) if !left.standing.is_empty() && is_install_attempted(app, world) => {
            Step::NotUninstalled(left.standing.clone())
        }
        Leftovers::Known(left) if !left.terminating.is_empty() => {
            Step::WaitForObjects(left.terminating.clone())
        }
        Leftovers::NotYet | Leftovers::Known(_) => after_objects(world),
    }
}

/// Whether Helm ever began with the release, as far as was seen. If not, the objects are of another one, which was
/// orphaned before.
pub(super) fn is_install_attempted(app: &ApplicationInstance, world: &World) -> bool {
    let was_seen = app.status.as_ref().is_some_and(|status| status.install_attempted);
    was_seen || world.release.present().is_some_and(|release| !release.status.history.is_empty())
}

/// The sources are ours, and go last.
fn after_objects(world: &World) -> Step {
    let sources = match &world.own_sources {
        Ok(sources) => sources,
        Err(why) => return Step::Hidden(why.clone()),
    };
    let (going, left): (Vec<_>, Vec<_>) =
        sources.iter().partition(|(_, source)| source.metadata.deletion_timestamp.is_some());
    let deletions: Vec<Deletion> =
        left.into_iter().filter_map(|(kind, source)| children::delete_source(source, *kind)).collect();
    let named = |(kind, source): &(ChartSourceKind, Source)| described(kind.name(), &source.metadata);
    match going.as_slice() {
        _ if !deletions.is_empty() => Step::DeleteSources(deletions),
        [] => Step::Done,
        going => Step::WaitForObjects(going.iter().copied().map(named).collect()),
    }
}

/// Everything of ours that the API server itself must not know any more: everything that an instance may have become.
pub(super) fn children_of(app: &ApplicationInstance) -> Vec<Absence> {
    let key = || children::release_key(app);
    vec![
        Absence::of::<HelmRelease>(key()),
        Absence::of::<OciRepository>(key()),
        Absence::of::<OciRepository>(children::candidate_key(app)),
        Absence::of::<HelmRepository>(key()),
    ]
}

fn progress(app: &ApplicationInstance, release: &HelmRelease) -> String {
    let is_orphaned = app.spec.deletion_policy == DeletionPolicy::Orphan;
    if is_orphaned && release.is_suspended() {
        return LET_GO.to_owned();
    }
    if is_orphaned {
        return "Somebody deleted the HelmRelease while it was not suspended, so Flux uninstalls it, although \
                spec.deletionPolicy is Orphan."
            .to_owned();
    }
    // Of an uninstall Flux says nothing before its end.
    if let Some(action) = release_state::action(release) {
        return format!("Flux uninstalls the release when it has ended what it does: {}", action.message);
    }
    match condition(&release.status.conditions, "Ready") {
        Some(ready) if ready.reason == "UninstallFailed" => format!("Flux tries again: {}", ready.message),
        _ => format!("Flux is uninstalling the release.{}", unsearched(app, release)),
    }
}

/// Kinds that the release has and nobody looks for after it has gone.
fn unsearched(app: &ApplicationInstance, release: &HelmRelease) -> String {
    let searched = temporary_watches::leftovers(app);
    let is_searched = |kind: &str| searched.iter().any(|temporary_watch| temporary_watch.kind() == kind);
    let kinds: Vec<&str> = release.kinds().into_iter().filter(|kind| !is_searched(kind)).collect();
    if kinds.is_empty() {
        return String::new();
    }
    format!(" Objects of these kinds are not waited for: {}.", kinds.join(", "))
}

fn status(
    app: &ApplicationInstance,
    world: &World,
    step: &Step,
    now: Timestamp,
) -> ApplicationInstanceStatus {
    let before = app.status.clone().unwrap_or_default();
    let refused = world.refusals.first();
    let blocked = unblocked(History::of(&before));
    let is_orphaned = app.spec.deletion_policy == DeletionPolicy::Orphan;
    let (deleting, message) = match step {
        Step::Wait(message) => (Deleting::Uninstalling, said(app, world, message)),
        Step::Hidden(why) => {
            (Deleting::WaitingForChildResources, format!("Whether everything is gone cannot be seen: {why}."))
        }
        Step::WaitForObjects(left) => {
            (Deleting::WaitingForChildResources, format!("Still terminating: {}.", named(left)))
        }
        Step::NotUninstalled(left) => (Deleting::WaitingForChildResources, not_uninstalled(app, left)),
        _ if refused.is_some() => (
            Deleting::Uninstalling,
            refused.map(|refusal| said(app, world, &refusal.message)).unwrap_or_default(),
        ),
        Step::Prepare(_) | Step::Delete(_) | Step::Look => (
            Deleting::Uninstalling,
            if is_orphaned { LET_GO } else { "Flux is asked to uninstall the release." }.to_owned(),
        ),
        Step::DeleteSources(_) | Step::Done | Step::LeaveToNamespace => {
            (Deleting::Uninstalling, if is_orphaned { LET_GO } else { RELEASE_GONE }.to_owned())
        }
    };
    let mut draft = Draft::next(before.conditions, moment(app, now));
    draft.say(deleting, message.clone());
    draft.say(Ready::Uninstalling, message);
    draft.say(Reconciling::Stable, "The spec is not carried out any more: see Deleting.");
    match draft.read::<Degraded>() {
        None => draft.say(Degraded::NotDegraded, ""),
        // What else was wrong is not looked at any more.
        Some(Degraded::ChartUnreachable) if answers(world) => draft.say(Degraded::Recovered, ""),
        Some(_) => draft.keep::<Degraded>(),
    }
    draft.say(blocked, "");
    let (suspended, message) = pause::condition(pause::by_hand(app).as_ref());
    draft.say(suspended, message);
    let mut status = ApplicationInstanceStatus { conditions: draft.finish(), ..before };
    status.install_attempted = is_install_attempted(app, world);
    status.observed_generation = app.metadata.generation;
    status.last_reconcile_time = Some(Time(now));
    forget(&mut status);
    status.open_window = None;
    status
}

/// Whether the source is seen to answer. One that is not looked at says nothing.
fn answers(world: &World) -> bool {
    let source = world.source.present();
    source.is_some_and(|source| !matches!(source_trouble(source), Some(SourceTrouble::Unreachable(_))))
}

/// Whether it goes or stays is nobody's to guess.
fn not_ours(app: &ApplicationInstance, world: &World) -> String {
    let release = children::release_key(app);
    format!(
        "HelmRelease {} belongs to an earlier instance of this name, with uid {}, as after a restore. To let it go with this \
         one, set its label {OWNER_LABEL} to {}; otherwise delete it.",
        release.name,
        world.restored_release.as_deref().unwrap_or_default(),
        app.metadata.uid.as_deref().unwrap_or_default()
    )
}

/// It does so without a word when the release's service account is gone, or its history.
fn not_uninstalled(app: &ApplicationInstance, left: &[String]) -> String {
    let release = app
        .spec
        .release
        .as_ref()
        .map(|release| format!("{} --namespace {}", release.name, release.namespace));
    format!(
        "Flux let go of the release and did not uninstall it. Still there: {}. Remove them with helm uninstall {}, or set \
         spec.deletionPolicy to Orphan to leave them.",
        named(left),
        release.unwrap_or_default()
    )
}

/// The first few, and how many more.
fn named(left: &[String]) -> String {
    let named = left.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match left.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
