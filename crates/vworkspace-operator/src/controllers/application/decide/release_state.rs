//! What Flux tells, read with the care that it needs: each of its reconciles starts with `Ready=Unknown`, conditions come
//! before the fields that prove them, and `observedGeneration` moves without anything being done.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::Sight;
use serde_json::Value;
use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, ChartTrouble, Ready, SuccessfulRelease,
};

use super::chart_source::{SourceTrouble, has_caught_up, has_lost_its_artifact, source_trouble};
use super::earlier_conclusion::{conclusion, last_conclusion, may_have_waited, was_in_place};
use super::quoting::said;
use crate::controllers::application::children::{change_of, source_asked_of};
use crate::controllers::application::observe::{Seen, World};
use crate::external::flux::{
    FluxCondition, HelmRelease, Snapshot, Source, condition, is_same_version, is_true,
};
use operator_kit::{Quotes, redact};

/// How the release is doing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReleaseState {
    /// There is no release yet, or Flux has not looked at it.
    Unseen,
    /// The chart is being fetched. Flux may complain that it is not there yet.
    Fetching(Option<ChartTrouble>),
    /// The chart cannot be fetched, in Flux's words; what ran before runs on.
    SourceTrouble(SourceTrouble),
    /// A Helm action runs, or Flux has not noticed the change yet.
    InProgress(String),
    /// An action failed.
    Failed(Failure),
    /// This very change is released.
    Released(Snapshot),
    /// Flux is between two looks: what was concluded before still holds.
    NoNews,
    /// Suspended before Flux was done with the change, and with what it had come to.
    Halted(Option<Failure>),
}

impl ReleaseState {
    /// What went wrong, if the last action failed.
    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            ReleaseState::Failed(failure) | ReleaseState::Halted(Some(failure)) => Some(failure),
            _ => None,
        }
    }

    /// What keeps Flux from loading the chart, to be remembered.
    pub(super) fn chart_trouble(&self) -> Option<&ChartTrouble> {
        match self {
            ReleaseState::Fetching(trouble) => trouble.as_ref(),
            ReleaseState::SourceTrouble(SourceTrouble::NotLoaded(trouble)) => Some(trouble),
            _ => None,
        }
    }
}

/// An action that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) then: Then,
    /// What it left behind.
    pub(super) left: Left,
}

/// What runs after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// What ran before: Helm had not begun.
    Untouched,
    /// The revision that was tried, or parts of it.
    Damaged,
    /// This revision, which was put back.
    RolledBackTo(String),
}

/// What comes after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Flux tries again.
    Retried,
    /// Nothing, until somebody changes something.
    GivenUp,
}

/// Which change the release carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    ThisSpec,
    /// What the spec asks for now waits.
    AnEarlierOne,
}

/// What was told before, and about what.
#[derive(Clone, Copy)]
struct Told<'a> {
    app: &'a ApplicationInstance,
    carries: Carries,
    /// The change that the release carries.
    change: Option<&'a str>,
    now: Timestamp,
    world: &'a World,
}

/// Flux complains of a chart that is not there yet on every installation, for a moment. Later it is a trouble.
const CHART_PATIENCE: Duration = Duration::from_mins(1);

/// The instance stays, so somebody else did it.
const DELETED: &str = "Somebody deleted the HelmRelease; it is made again when Flux has uninstalled it.";

pub(super) fn of(app: &ApplicationInstance, world: &World, carries: Carries, now: Timestamp) -> ReleaseState {
    let told = |failure: Failure| Failure { message: said(app, world, &failure.message), ..failure };
    let change = world.release.present().and_then(|release| change_of(&release.metadata));
    match seen(Told { app, carries, change, now, world }) {
        // Flux's own words about what it does.
        ReleaseState::InProgress(message) => ReleaseState::InProgress(redact(&message, Quotes::Trusted)),
        ReleaseState::Failed(failure) => ReleaseState::Failed(told(failure)),
        ReleaseState::Halted(Some(failure)) => ReleaseState::Halted(Some(told(failure))),
        state => state,
    }
}

fn seen(told: Told<'_>) -> ReleaseState {
    let world = told.world;
    let (Sight::Present(release), Seen::Known(Sight::Present(source))) = (&world.release, &world.source)
    else {
        return ReleaseState::Unseen;
    };
    if release.is_being_deleted() {
        // Its conditions speak of what was, Ready=True included.
        return ReleaseState::InProgress(DELETED.to_owned());
    }
    let chart = world.helm_chart.as_ref();
    if release.is_suspended()
        && values_complaint(release).is_none()
        && let Some(state) = running(release).or_else(|| released_before(told, release, source))
    {
        return state;
    }
    // Flux had the chart when it said this, whatever became of the source since.
    if has_lost_its_artifact(source)
        && let Some(state) = running(release).or_else(|| broken_values(release))
    {
        return state;
    }
    if let Some(trouble) = trouble(told, release, source, chart) {
        return ReleaseState::SourceTrouble(trouble);
    }
    if release.is_suspended() {
        return halted(told, release);
    }
    if is_moving(told, release, source) {
        return fetching(told, release);
    }
    if !is_attempted(release, source) {
        return not_noticed(told, release);
    }
    stalled(release)
        .or_else(|| failed(release))
        .or_else(|| running(release))
        .or_else(|| released(told, release, source))
        .unwrap_or(ReleaseState::NoNews)
}

/// Flux does nothing for a suspended release but end what it had begun, and notes generations without a look at them. The
/// last one it tried is what runs if nothing but the suspension came after it, here and at the source.
fn released_before(told: Told<'_>, release: &HelmRelease, source: &Source) -> Option<ReleaseState> {
    let status = &release.status;
    let newest = status.history.first()?;
    let only_suspended = release.metadata.generation == Some(status.last_attempted_generation + 1);
    let asked_for = source_asked_of(&release.metadata);
    let is_same_source = asked_for.is_some() && asked_for == source_asked_of(&source.metadata);
    let is_known = is_known_to_carry_the_change(told, release);
    let is_released = (is_known || (only_suspended && is_same_source && is_wanted(release, source, newest)))
        && has_caught_up(source)
        && newest.status == "deployed"
        && is_true(&status.conditions, "Released").is_some()
        && is_content(release);
    is_released.then(|| ReleaseState::Released(newest.clone()))
}

fn known_success(told: Told<'_>) -> Option<&SuccessfulRelease> {
    told.app.status.as_ref()?.last_successful_release.as_ref()
}

/// Whether the newest revision was seen to carry this very change.
fn is_known_to_carry_the_change(told: Told<'_>, release: &HelmRelease) -> bool {
    known_success(told).zip(release.status.history.first()).is_some_and(|(known, newest)| {
        known.revision == newest.version && known.change.is_some() && known.change.as_deref() == told.change
    })
}

/// Suspended, and not known to be released.
fn halted(told: Told<'_>, release: &HelmRelease) -> ReleaseState {
    let released = condition(&release.status.conditions, "Released").filter(|known| known.status == "False");
    let failure = |message| Failure { message, then: Then::Retried, left: left(release) };
    match released {
        Some(released) => ReleaseState::Halted(Some(failure(released.message.clone()))),
        None if values_complaint(release).is_some() || is_new(release) => ReleaseState::Halted(None),
        None => match complaint(release) {
            Some(message) => ReleaseState::Halted(Some(failure(message))),
            None if is_settled(told) && was_in_place(told.app) => ReleaseState::NoNews,
            None => ReleaseState::Halted(None),
        },
    }
}

/// Whether Flux complains of nothing.
fn is_content(release: &HelmRelease) -> bool {
    let conditions = &release.status.conditions;
    let is_failed = condition(conditions, "Ready").is_some_and(|ready| ready.status == "False");
    is_true(conditions, "Stalled").is_none() && (!is_failed || is_waiting(release))
}

/// What Flux is not content with although the action itself succeeded: a Helm test that failed, and is not ignored. Any other
/// word in `Ready` may be about an earlier generation.
fn complaint(release: &HelmRelease) -> Option<String> {
    let conditions = &release.status.conditions;
    let test = condition(conditions, "TestSuccess").filter(|known| known.status == "False")?;
    let counts = is_true(conditions, "Stalled").is_some()
        || condition(conditions, "Ready").is_some_and(|ready| ready.reason == "TestFailed");
    counts.then(|| test.message.clone())
}

/// Flux has never looked at it: it was made again, whatever was said of the one before.
fn is_new(release: &HelmRelease) -> bool {
    condition(&release.status.conditions, "Ready").is_none()
}

/// Why something cannot be fetched that is needed. A source that fails keeps its artifact: a release that is made from
/// that, also with other values, needs no other. The chart out of a classic repository is fetched for the release.
fn trouble(
    told: Told<'_>,
    release: &HelmRelease,
    source: &Source,
    chart: Option<&Source>,
) -> Option<SourceTrouble> {
    let needs_source = is_moving(told, release, source);
    let needs_chart = needs_source || !is_attempted(release, source);
    let of_source = Some(source).filter(|_| needs_source).and_then(source_trouble);
    of_source.or_else(|| chart.filter(|_| needs_chart).and_then(source_trouble))
}

/// Whether the source has not caught up with its spec. One that only lost what it had stored, which source-controller does
/// at each of its restarts, changes nothing about a release that has succeeded or failed.
fn is_moving(told: Told<'_>, release: &HelmRelease, source: &Source) -> bool {
    let has_ended = was_in_place(told.app) || last_conclusion(told.app) == Some(Ready::HelmReleaseFailed);
    let is_over = (has_ended && is_settled(told)) || is_known_to_carry_the_change(told, release);
    !has_caught_up(source) || (has_lost_its_artifact(source) && !is_over)
}

/// Whether Flux has really begun with this generation and this chart. `observedGeneration` proves nothing: it also moves
/// while a release is suspended.
fn is_attempted(release: &HelmRelease, source: &Source) -> bool {
    let status = &release.status;
    release.metadata.generation == Some(status.last_attempted_generation)
        && source.oci_digest().is_none_or(|digest| digest == status.last_attempted_revision_digest)
}

/// The release has a generation that Flux has not begun with, or not said so.
fn not_noticed(told: Told<'_>, release: &HelmRelease) -> ReleaseState {
    let Some(ready) = condition(&release.status.conditions, "Ready") else {
        return ReleaseState::Unseen;
    };
    broken_values(release).or_else(|| running(release)).unwrap_or_else(|| match ready.reason.as_str() {
        // What was said to be fetched is not in place, whatever else was said.
        _ if is_settled(told) && known_trouble(told).is_none() => ReleaseState::NoNews,
        "SourceNotReady" | "ArtifactFailed" => fetching(told, release),
        _ if chart_trouble(told, release).is_some() => fetching(told, release),
        _ => ReleaseState::InProgress("Flux has been given the change.".to_owned()),
    })
}

/// What keeps Flux from loading the chart, and since when. Each of its looks begins with `Ready=Unknown`, which takes
/// nothing back and moves the condition's own time.
fn chart_trouble(told: Told<'_>, release: &HelmRelease) -> Option<ChartTrouble> {
    let ready = condition(&release.status.conditions, "Ready")?;
    let known = known_trouble(told);
    let complains = ["SourceNotReady", "ArtifactFailed"].contains(&ready.reason.as_str());
    if complains && is_of_now(release, ready) {
        return Some(ChartTrouble {
            change: told.change.map(str::to_owned),
            message: said(told.app, told.world, &ready.message),
            since: known.map_or(Time(told.now), |known| known.since.clone()),
        });
    }
    let looks_again = ready.reason == "Progressing" && running(release).is_none();
    known.filter(|_| looks_again).cloned()
}

/// The same as it was seen before, for the same change.
fn known_trouble(told: Told<'_>) -> Option<&ChartTrouble> {
    let known = told.app.status.as_ref()?.chart_trouble.as_ref()?;
    (known.change.as_deref() == told.change).then_some(known)
}

/// The chart is on its way, unless Flux has complained for long.
fn fetching(told: Told<'_>, release: &HelmRelease) -> ReleaseState {
    match chart_trouble(told, release) {
        Some(trouble) if believed_from(&trouble) <= told.now => {
            ReleaseState::SourceTrouble(SourceTrouble::NotLoaded(trouble))
        }
        trouble => ReleaseState::Fetching(trouble),
    }
}

pub(super) fn believed_from(trouble: &ChartTrouble) -> Timestamp {
    trouble.since.0.checked_add(CHART_PATIENCE).unwrap_or(Timestamp::MAX)
}

/// What Flux complains about, if it is the values of this generation. It looks at them before it counts an attempt; what it
/// said of an earlier generation stands until it looks again; it does not look at one that only was suspended since.
pub(super) fn values_complaint(release: &HelmRelease) -> Option<&FluxCondition> {
    let ready = condition(&release.status.conditions, "Ready")?;
    let only_suspended = release.is_suspended()
        && ready.observed_generation.map(|observed| observed + 1) == release.metadata.generation;
    (ready.reason == "ValuesError" && (is_of_now(release, ready) || only_suspended)).then_some(ready)
}

fn broken_values(release: &HelmRelease) -> Option<ReleaseState> {
    values_complaint(release).map(|ready| failure(release, values_error(&ready.message)))
}

/// A condition that names an older generation is about that one; one that names this may still be about the one before.
fn is_of_now(release: &HelmRelease, known: &FluxCondition) -> bool {
    known.observed_generation.is_none() || known.observed_generation == release.metadata.generation
}

/// Whether there was a verdict about this very spec. A change of ours is reported as under way together with handing it
/// over, so what moved the release since was something else: a look of Flux, a pause that ended, or another's hand. Not so
/// a change that was said to wait, and has been taken since.
fn is_settled(Told { app, carries, change, .. }: Told<'_>) -> bool {
    // What waited then was not this change, which is there, but the end of a pause.
    let is_this_in_place = |status: &ApplicationInstanceStatus| {
        let known = status.last_successful_release.as_ref().and_then(|known| known.change.as_deref());
        was_in_place(app) && change.is_some() && known == change
    };
    app.status.as_ref().is_some_and(|status| {
        status.observed_generation == app.metadata.generation
            && status.conditions.read::<Ready>().is_some_and(|reason| conclusion(reason).is_some())
            && (is_this_in_place(status) || !(carries == Carries::ThisSpec && may_have_waited(status)))
    })
}

/// Flux has given up on this generation; the cause is anywhere but in `Ready`.
fn stalled(release: &HelmRelease) -> Option<ReleaseState> {
    let status = &release.status;
    let stalled = is_true(&status.conditions, "Stalled")?;
    // A stall of an earlier generation says nothing about this one.
    if release.metadata.generation != Some(status.observed_generation) {
        return None;
    }
    let message = cause(release).unwrap_or_else(|| stalled.message.clone());
    Some(ReleaseState::Failed(Failure { message, then: Then::GivenUp, left: left(release) }))
}

/// The last action failed and Flux will try again. During a retry the failure stays true until it has succeeded.
fn failed(release: &HelmRelease) -> Option<ReleaseState> {
    let status = &release.status;
    let ready = condition(&status.conditions, "Ready")?;
    if let Some(broken) = broken_values(release) {
        return Some(broken);
    }
    let has_failed = ready.status == "False" && !is_waiting(release);
    let is_retrying = status.failures > 0
        && condition(&status.conditions, "Released").is_some_and(|released| released.status == "False")
        && (running(release).is_some() || is_between_tries(release));
    (has_failed || is_retrying)
        .then(|| failure(release, cause(release).unwrap_or_else(|| ready.message.clone())))
}

/// Flux has failed, has cleaned up and will try again in a moment.
fn is_between_tries(release: &HelmRelease) -> bool {
    is_true(&release.status.conditions, "Reconciling")
        .is_some_and(|known| known.reason == "ProgressingWithRetry")
}

/// Flux waits for something before it looks at the release itself: the release is as it was.
fn is_waiting(release: &HelmRelease) -> bool {
    let waits = ["SourceNotReady", "ArtifactFailed", "DependencyNotReady", "Progressing"];
    condition(&release.status.conditions, "Ready")
        .is_some_and(|ready| ready.status != "True" && waits.contains(&ready.reason.as_str()))
}

fn failure(release: &HelmRelease, message: String) -> ReleaseState {
    ReleaseState::Failed(Failure { message, then: Then::Retried, left: left(release) })
}

/// Flux quotes values that it cannot read: its words stay where they are.
fn values_error(message: &str) -> String {
    if message.ends_with("not found") {
        message.to_owned()
    } else {
        "Flux cannot read the values; kubectl describe helmrelease has its words.".to_owned()
    }
}

/// What went wrong, from the conditions that keep it.
fn cause(release: &HelmRelease) -> Option<String> {
    let conditions = &release.status.conditions;
    let is_false = |type_| condition(conditions, type_).filter(|known| known.status == "False");
    is_false("Released").or_else(|| is_false("TestSuccess")).map(|known| known.message.clone())
}

/// What failed before the change that is asked for now, as far as nothing has succeeded since.
pub(super) fn failed_before(app: &ApplicationInstance, world: &World) -> Option<Failure> {
    let release = world.release.present()?;
    let released =
        condition(&release.status.conditions, "Released").filter(|known| known.status == "False")?;
    Some(Failure { message: said(app, world, &released.message), then: Then::Retried, left: left(release) })
}

/// The newest entry of the history describes the cluster; an older one that is marked as deployed does not.
fn left(release: &HelmRelease) -> Left {
    let conditions = &release.status.conditions;
    let newest = release.status.history.first().filter(|newest| newest.status == "deployed");
    let is_back = is_true(conditions, "Remediated").is_some_and(|known| known.reason == "RollbackSucceeded");
    match newest {
        Some(newest) if is_back => Left::RolledBackTo(format!(
            "revision {} with chart version {}",
            newest.version, newest.chart_version
        )),
        _ if condition(conditions, "Released").is_some_and(|known| known.status == "False") => Left::Damaged,
        // Helm has not begun with it, whatever Flux complains about.
        _ => Left::Untouched,
    }
}

/// A Helm action is under way.
fn running(release: &HelmRelease) -> Option<ReleaseState> {
    let reconciling = action(release)?;
    let message = &reconciling.message;
    // It ends, or runs into its timeout, before Flux looks at anything newer.
    Some(ReleaseState::InProgress(if is_of_now(release, reconciling) {
        message.clone()
    } else {
        format!("The change waits for what Flux has begun before it: {message}")
    }))
}

/// The Helm action that runs.
pub(super) fn action(release: &HelmRelease) -> Option<&FluxCondition> {
    let reconciling = is_true(&release.status.conditions, "Reconciling")?;
    reconciling.message.starts_with("Running '").then_some(reconciling)
}

/// Applied and successful: each of these equalities has been seen to fail while the others held. A success that is known
/// also stands while Flux looks at it again, which it does at every interval; unless Flux has failed since, which it can
/// before Helm has begun: then the look has to end first.
fn released(told: Told<'_>, release: &HelmRelease, source: &Source) -> Option<ReleaseState> {
    let status = &release.status;
    let known = known_success(told);
    let newest = status.history.first()?;
    let is_ready = is_true(&status.conditions, "Ready").is_some();
    let is_new_success = is_ready && is_true(&status.conditions, "Reconciling").is_none();
    let is_known = known.is_some_and(|known| {
        (known.revision, known.chart_version.as_str()) == (newest.version, newest.chart_version.as_str())
    });
    // A look that finds nothing to do ends with Ready=True and Reconciling=True, for a moment.
    let has_failed_since = last_conclusion(told.app) == Some(Ready::HelmReleaseFailed);
    let stands = is_new_success || (is_known && (is_ready || (is_waiting(release) && !has_failed_since)));
    // A source that lost its artifact does not tell any more which chart is asked for.
    let is_wanted = is_wanted(release, source, newest)
        || (has_lost_its_artifact(source) && is_known_to_carry_the_change(told, release));
    let is_released = stands
        && is_wanted
        && newest.status == "deployed"
        && is_true(&status.conditions, "Released").is_some()
        && release.metadata.generation == Some(status.observed_generation);
    is_released.then(|| ReleaseState::Released(newest.clone()))
}

/// Whether a revision has the chart that is asked for.
fn is_wanted(release: &HelmRelease, source: &Source, revision: &Snapshot) -> bool {
    match release.spec.pointer("/chart/spec/version").and_then(Value::as_str) {
        Some(version) => is_same_version(version, &revision.chart_version),
        None => source.oci_digest() == Some(revision.oci_digest.as_str()),
    }
}
