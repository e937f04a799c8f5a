//! Whether an instance ever said something that was not so. Written against what Flux itself recorded, without a look at the
//! operator's own rules: two that err alike would prove nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::super::application::instance::KIND;
use super::super::text_at;
use super::history::{CLASSIC, HELM_CHART, RELEASE, REPOSITORY, Version};

/// How long after the world has changed a word may still be about the world before: reading, deciding and writing take time
/// on a busy machine.
const REACTION: Duration = Duration::from_secs(2);
/// A clock that is off by an hour is off by more than this after some minutes.
const WRONG: SignedDuration = SignedDuration::from_mins(45);
const TYPES: [&str; 7] = ["Ready", "Reconciling", "Degraded", "Blocked", "Suspended", "Deleting", "Stalled"];
const FINALIZER: &str = "apps.vworkspace.io/finalizer";
/// Where a chart comes from.
const SOURCES: [&str; 3] = [REPOSITORY, CLASSIC, HELM_CHART];
/// What is made for an instance.
const CHILDREN: [&str; 3] = [RELEASE, REPOSITORY, CLASSIC];

/// Every lie of a history, which is in order. `blindness` is for how long a fault kept the operator from knowing.
pub(in super::super) fn lies(history: &[Version], blindness: Duration) -> Vec<String> {
    let instances: Vec<&Version> = history.iter().filter(|version| version.kind == KIND).collect();
    let mut lies = Vec::new();
    for (index, now) in instances.iter().enumerate().filter(|(_, version)| !version.is_gone) {
        let before = index.checked_sub(1).and_then(|index| instances.get(index)).copied();
        let next = instances.get(index + 1).copied();
        // An object of the same name that came later has a history of its own.
        let before = before.filter(|before| before.uid() == now.uid() && !now.is_after_gap);
        let mut found = Vec::new();
        if !now.conditions().is_empty() {
            found.extend(incomplete(now));
            found.extend(contradictions(now));
            let end = next.or(history.last()).map_or(now.seen, |last| last.seen);
            let saying = Saying { now, end, history, blindness };
            found.extend(readiness(&saying));
            found.extend(trouble(&saying));
            found.extend(blocking(&saying));
            found.extend(suspension(now, history));
            found.extend(waiting(now, history));
        }
        found.extend(before.into_iter().flat_map(|before| steps_back(before, now)));
        lies.extend(found.into_iter().map(|lie| format!("v{}: {lie}", now.number)));
    }
    lies.extend(order(history));
    lies
}

/// What an instance claims that its release does not bear out while writes to it are refused, in a history in order: that it
/// is suspended, or that Flux has a change and does something about it or has done it.
pub(in super::super) fn beyond_the_release(history: &[Version]) -> Vec<String> {
    let instances = of(history, KIND).filter(|version| !version.is_gone && !version.is_being_deleted());
    let current =
        instances.filter(|version| version.number_at("/status/observedGeneration") == version.generation());
    current.flat_map(|now| unfounded(now, history)).collect()
}

fn unfounded(now: &Version, history: &[Version]) -> Vec<String> {
    let newest = of(history, RELEASE).take_while(|release| release.number < now.number).last();
    let newest = newest.filter(|release| !release.is_gone);
    let is_suspended =
        newest.is_some_and(|release| release.object.pointer("/spec/suspend") == Some(&Value::Bool(true)));
    let carries = newest.is_some_and(|release| {
        release.object.pointer("/spec/values") == now.object.pointer("/spec/values/inline")
    });
    let (suspended, ready, reconciling) = (now.says("Suspended"), now.says("Ready"), now.says("Reconciling"));
    let mut lies = Vec::new();
    if suspended.starts_with("True/") && suspended != "True/ReconcilePaused" && !is_suspended {
        lies.push(format!("v{}: Suspended={suspended} and the release is not", now.number));
    }
    let is_handed_over = matches!(ready.as_str(), "False/Installing" | "False/Upgrading")
        || matches!(reconciling.strip_prefix("True/"), Some(reason) if reason != "ChangePending")
        || reconciling == "False/Stable" && !now.is_true("Stalled");
    if is_handed_over && !carries {
        lies.push(format!(
            "v{}: Ready={ready}, Reconciling={reconciling} and the release does not carry the change",
            now.number
        ));
    }
    lies
}

/// Which versions could be known at a moment.
type Known<'a> = &'a dyn Fn(&Version) -> bool;

/// What a version of an instance says, for as long as it is the newest one.
struct Saying<'a> {
    now: &'a Version,
    /// When it was said for the last time.
    end: Instant,
    history: &'a [Version],
    blindness: Duration,
}

impl Saying<'_> {
    /// The lie, unless some version of these kinds bears it out: one that was there when it was first said, or shortly
    /// before, and one that was there when it was last said.
    fn unless(
        &self,
        says: &str,
        kinds: &[&str],
        holds: &dyn Fn(&Version) -> bool,
        otherwise: &str,
    ) -> Option<String> {
        let is_so = |known: Known<'_>, at| self.is_borne_out(kinds, holds, known, at);
        self.lie(says, otherwise, &is_so)
    }

    /// The same for what the object that is meant lacks: before its first version nothing has it.
    fn unless_lacking(
        &self,
        says: &str,
        kind: &str,
        is_meant: Known<'_>,
        lacks: &dyn Fn(&Version) -> bool,
        otherwise: &str,
    ) -> Option<String> {
        let is_so = |known: Known<'_>, at| {
            let meant = |version: &Version| is_meant(version) && known(version);
            let first = self.known(&[kind], &meant).map(|version| version.seen).next();
            first.is_none_or(|first| first + REACTION + self.blindness >= at)
                || self.is_borne_out(&[kind], lacks, &meant, at)
        };
        self.lie(says, otherwise, &is_so)
    }

    fn lie(&self, says: &str, otherwise: &str, is_so: &dyn Fn(Known<'_>, Instant) -> bool) -> Option<String> {
        if !is_so(&|version| self.is_before(version), self.now.seen) {
            return Some(format!("{says} while {otherwise}"));
        }
        (!is_so(&|version| version.seen <= self.end, self.end))
            .then(|| format!("{says} was still said when it was so no more"))
    }

    fn is_borne_out(
        &self,
        kinds: &[&str],
        holds: &dyn Fn(&Version) -> bool,
        known: Known<'_>,
        at: Instant,
    ) -> bool {
        let is_there = |version: &Version| {
            self.ended(version, known).is_none_or(|ended| ended + REACTION + self.blindness >= at)
        };
        self.known(kinds, known).any(|version| is_there(version) && holds(version))
    }

    /// The first one after a gap tells what happened in it, though its number is that of its last change.
    fn is_before(&self, version: &Version) -> bool {
        version.number < self.now.number || version.is_after_gap && version.seen <= self.now.seen + REACTION
    }

    fn known<'s>(&'s self, kinds: &'s [&str], known: Known<'s>) -> impl Iterator<Item = &'s Version> {
        self.history.iter().filter(move |version| kinds.contains(&version.kind) && known(version))
    }

    /// When the same object had another version.
    fn ended(&self, version: &Version, known: Known<'_>) -> Option<Instant> {
        let of_it =
            self.history.iter().filter(|next| next.kind == version.kind && next.uid() == version.uid());
        let mut later =
            of_it.skip_while(|next| !std::ptr::eq(*next, version)).skip(1).filter(|next| known(next));
        later.next().map(|next| next.seen)
    }

    /// Whether it speaks of the spec that the object has now.
    fn is_current(&self) -> bool {
        self.now.number_at("/status/observedGeneration") == self.now.generation()
    }
}

/// All types are there from the first word on, and none speaks of a generation that does not exist yet.
fn incomplete(now: &Version) -> Vec<String> {
    let missing = TYPES.iter().filter(|type_| now.condition(type_).is_none());
    let mut lies: Vec<String> = missing.map(|type_| format!("has no condition {type_}")).collect();
    for known in now.conditions() {
        let observed = known.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default();
        if observed > now.generation() || observed == 0 {
            lies.push(format!("{} speaks of generation {observed}", text_at(known, "/type")));
        }
    }
    lies
}

/// What cannot be at the same time.
fn contradictions(now: &Version) -> Vec<String> {
    let both = |one: &str, other: &str| now.is_true(one) && now.is_true(other);
    let mut lies = Vec::new();
    for (one, other) in [("Reconciling", "Stalled"), ("Ready", "Deleting"), ("Ready", "Stalled")] {
        // What runs is ready, and the change that is blocked is what will not go on by itself.
        let is_change = (one, other) == ("Ready", "Stalled") && now.is_true("Blocked");
        if both(one, other) && !is_change {
            lies.push(format!("{one} and {other} are both True"));
        }
    }
    if now.is_true("Deleting") && !now.is_being_deleted() {
        lies.push("Deleting=True of an object that nobody deleted".to_owned());
    }
    lies
}

/// Ready=True, and that nothing is under way: Flux had deployed this very change when it was said, and had it still when it
/// was last said. Of a change that waits Ready says only that something is deployed.
fn readiness(saying: &Saying<'_>) -> Option<String> {
    let Saying { now, history, .. } = saying;
    let is_settled = now.says("Reconciling") == "False/Stable" && !now.is_true("Stalled");
    if !saying.is_current() || now.is_being_deleted() || !(now.is_true("Ready") || is_settled) {
        return None;
    }
    let waits = now.says("Reconciling") == "True/ChangePending" || now.is_true("Blocked");
    let holds = |release: &Version| {
        !release.is_gone
            && is_deployed(release)
            && (waits || carries(release, now) && has_chart(release, now, history))
    };
    let says = format!("Ready={}, Reconciling={}", now.says("Ready"), now.says("Reconciling"));
    saying.unless(&says, &[RELEASE], &holds, "Flux had not deployed it")
}

/// That something failed, is degraded or will not go on by itself: Flux says so itself, since it last succeeded, and says it
/// for as long as the instance does.
fn trouble(saying: &Saying<'_>) -> Vec<String> {
    let now = saying.now;
    if now.is_being_deleted() {
        return Vec::new();
    }
    let mut lies = Vec::new();
    let says = format!("Ready={}", now.says("Ready"));
    match says.as_str() {
        "Ready=False/HelmReleaseFailed" => {
            lies.extend(saying.unless(&says, &[RELEASE], &has_failed, NOT_FAILED));
        }
        "Ready=False/ChartUnreachable" => {
            lies.extend(saying.unless(&says, &SOURCES, &is_unreachable, ANSWERED));
        }
        _ => {}
    }
    if now.is_true("Degraded") {
        lies.extend(degradation(saying));
    }
    if now.is_true("Stalled") {
        lies.extend(stall(saying));
    }
    lies
}

const NOT_FAILED: &str = "Flux had not failed since it last succeeded";
const ANSWERED: &str = "every source answered";

fn degradation(saying: &Saying<'_>) -> Option<String> {
    let told = saying.now.says("Degraded");
    let says = format!("Degraded={told}");
    match told.as_str() {
        "True/UpgradeFailed" | "True/HelmReleaseDegraded" if !was_well(saying) => {
            Some(format!("{says} of what was never well"))
        }
        "True/UpgradeFailed" => {
            let holds = |release: &Version| is_rolled_back(release, saying.history);
            saying.unless(&says, &[RELEASE], &holds, "Flux had rolled nothing back since it last succeeded")
        }
        "True/HelmReleaseDegraded" => saying.unless(&says, &[RELEASE], &has_failed, NOT_FAILED),
        "True/ChartUnreachable" => saying.unless(&says, &SOURCES, &is_unreachable, ANSWERED),
        // Nobody asks for a check or changes what Flux has made.
        _ => Some(format!("{says} and nothing here can be so")),
    }
}

fn was_well(saying: &Saying<'_>) -> bool {
    saying.known(&[RELEASE], &|release| saying.is_before(release)).any(is_deployed)
}

/// It failed, and Flux has put the former one back since the last success, whatever else it tried after that.
fn is_rolled_back(release: &Version, history: &[Version]) -> bool {
    let until: Vec<&Version> =
        of(history, RELEASE).take_while(|known| known.number <= release.number).collect();
    let mut since = until.into_iter().rev().take_while(|known| !is_deployed(known));
    has_failed(release) && since.any(|known| known.is_true("Remediated"))
}

fn stall(saying: &Saying<'_>) -> Option<String> {
    let told = saying.now.says("Stalled");
    let says = format!("Stalled={told}");
    let has_given_up = |release: &Version| !release.is_gone && release.is_true("Stalled");
    match told.as_str() {
        "True/HelmReleaseFailed" => saying.unless(&says, &[RELEASE], &has_given_up, "Flux had not given up"),
        "True/MissingChartSource" => missing_source(saying, &says),
        _ => Some(format!("{says} and nothing here can be so")),
    }
}

/// The last action of Helm failed.
fn has_failed(release: &Version) -> bool {
    let is_failed = release.text("/status/history/0/status") == "failed" || release.is_true("Remediated");
    let released = release.condition("Released").map(|known| text_at(known, "/status"));
    !release.is_gone && (released == Some("False") || is_failed && released != Some("True"))
}

/// The last try to fetch it failed.
fn is_unreachable(source: &Version) -> bool {
    !source.is_gone && source.is_true("FetchFailed")
}

/// Flux cannot get what the source names.
fn is_not_fetched(source: &Version) -> bool {
    !source.is_gone && (source.is_true("FetchFailed") || source.is_true("Stalled"))
}

/// Blocked=True: what is said to be in the way is in the way, for as long as it is said.
fn blocking(saying: &Saying<'_>) -> Option<String> {
    let now = saying.now;
    if !saying.is_current() || now.is_being_deleted() || !now.is_true("Blocked") {
        return None;
    }
    let says = format!("Blocked={}", now.says("Blocked"));
    match now.says("Blocked").as_str() {
        "True/AwaitingApproval" => unapproved(saying, &says),
        "True/MissingChartSource" => missing_source(saying, &says),
        _ => Some(format!("{says} and nothing here can be so")),
    }
}

/// The change has to be approved, and Flux does not have it.
fn unapproved(saying: &Saying<'_>, says: &str) -> Option<String> {
    let Saying { now, history, .. } = saying;
    let is_required = now.object.pointer("/spec/approvals/required").and_then(Value::as_bool);
    if is_required != Some(true) {
        return Some(format!("{says} and nothing has to be approved"));
    }
    let version = now.text("/spec/chart/version");
    let has_version = |release: &Version| {
        let source = of(history, REPOSITORY).take_while(|source| source.seen <= release.seen).last();
        release.text("/spec/chart/spec/version") == version
            || source.is_some_and(|source| source.text("/spec/ref/tag") == version)
    };
    let lacks = |release: &Version| {
        let values = release.object.pointer("/spec/values");
        release.is_gone || values != now.object.pointer("/spec/values/inline") || !has_version(release)
    };
    saying.unless_lacking(says, RELEASE, &|_| true, &lacks, "Flux had the change")
}

/// The source does not have the chart; one that somebody else keeps may also be absent, or have another version.
fn missing_source(saying: &Saying<'_>, says: &str) -> Option<String> {
    let now = saying.now;
    let (theirs, version) = (now.text("/spec/chart/sourceRef/name"), now.text("/spec/chart/version"));
    if !saying.is_current() {
        return None;
    }
    if theirs.is_empty() {
        return saying.unless(says, &SOURCES, &is_not_fetched, "its source had it");
    }
    let is_theirs = |source: &Version| source.text("/metadata/name") == theirs;
    let lacks = |source: &Version| {
        source.is_gone || is_not_fetched(source) || source.text("/spec/ref/tag") != version
    };
    saying.unless_lacking(says, REPOSITORY, &is_theirs, &lacks, "its source had it")
}

fn of<'a>(history: &'a [Version], kind: &'static str) -> impl Iterator<Item = &'a Version> {
    history.iter().filter(move |version| version.kind == kind)
}

/// The newest release of Helm's own history is deployed, and nothing failed after it.
fn is_deployed(release: &Version) -> bool {
    release.text("/status/history/0/status") == "deployed"
        && release.is_true("Released")
        && release.text("/status/lastAttemptedConfigDigest") == release.text("/status/history/0/configDigest")
}

/// Flux has tried this very spec, and it is what the instance asks for.
fn carries(release: &Version, instance: &Version) -> bool {
    release.object.pointer("/spec/values") == instance.object.pointer("/spec/values/inline")
        && release.number_at("/status/lastAttemptedGeneration") == release.generation()
        && release.text("/status/history/0/chartVersion").starts_with(instance.text("/spec/chart/version"))
}

/// The chart of the release is one that the source had under the version that the instance asks for.
fn has_chart(release: &Version, instance: &Version, history: &[Version]) -> bool {
    if release.object.pointer("/spec/chart").is_some() {
        let mut charts = of(history, HELM_CHART).filter(|chart| chart.seen <= release.seen + REACTION);
        return charts.any(|chart| {
            chart.text("/spec/version") == instance.text("/spec/chart/version")
                && chart.text("/status/artifact/revision") == release.text("/status/history/0/chartVersion")
        });
    }
    let digest = release.text("/status/history/0/ociDigest");
    let before = of(history, REPOSITORY).filter(|source| source.seen <= release.seen + REACTION);
    before.into_iter().any(|source| {
        source.text("/spec/ref/tag") == instance.text("/spec/chart/version")
            && !digest.is_empty()
            && source.text("/status/artifact/revision").ends_with(digest)
    })
}

/// Reconciling=True/ChangePending: Flux had not been given the change.
fn waiting(now: &Version, history: &[Version]) -> Option<String> {
    let newest = of(history, RELEASE).take_while(|release| release.number < now.number).last()?;
    let is_current = now.number_at("/status/observedGeneration") == now.generation();
    let is_given = newest.object.pointer("/spec/values") == now.object.pointer("/spec/values/inline")
        && newest.object.pointer("/spec/suspend").is_none();
    let says_it_waits = is_current && now.says("Reconciling") == "True/ChangePending";
    (says_it_waits && is_given && changes_values(now, history))
        .then(|| format!("the change waits, and Flux was given it in v{}", newest.number))
}

/// Whether the change is one that shows in the release: another chart version shows only in the source.
fn changes_values(now: &Version, history: &[Version]) -> bool {
    let values = |version: &Version| version.object.pointer("/spec/values/inline").cloned();
    let former = of(history, KIND).take_while(|version| version.number < now.number);
    former.filter(|version| version.generation() < now.generation()).last().map(values) != Some(values(now))
}

/// Suspended=True: the spec says so, in this way, and Flux had been told.
fn suspension(now: &Version, history: &[Version]) -> Option<String> {
    let is_current = now.number_at("/status/observedGeneration") == now.generation();
    if !is_current || now.is_being_deleted() {
        return None;
    }
    let wanted = pause(now);
    // What could not be handed to Flux waits, a pause too.
    let waits = wanted != NO_PAUSE && now.says("Reconciling") == "True/ChangePending";
    let told = now.says("Suspended");
    let is_right = if wanted == NO_PAUSE { !now.is_true("Suspended") } else { told == wanted };
    if !is_right && (!waits || now.is_true("Suspended")) {
        return Some(format!("the spec means Suspended={wanted} and it is {told}"));
    }
    let newest = of(history, RELEASE).take_while(|release| release.number < now.number).last()?;
    let is_told = newest.object.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default();
    (now.is_true("Suspended") && !newest.is_gone && !is_told)
        .then(|| format!("Suspended=True and Flux was not told (newest release v{})", newest.number))
}

const NO_PAUSE: &str = "False/Active";

/// What the spec means for Suspended. Windows of the workloads are always open.
fn pause(instance: &Version) -> &'static str {
    let is_suspended = instance.object.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true);
    let windows = instance.object.pointer("/spec/maintenanceWindows").and_then(Value::as_array);
    match (is_suspended, windows.is_some_and(|windows| !windows.is_empty())) {
        (true, _) => "True/ManuallySuspended",
        (false, true) => "True/MaintenanceWindow",
        (false, false) => NO_PAUSE,
    }
}

/// What may only grow, and times that may only move with what they tell.
fn steps_back(before: &Version, now: &Version) -> Vec<String> {
    let mut lies = Vec::new();
    let observed = |version: &Version| version.number_at("/status/observedGeneration");
    if observed(now) < observed(before) {
        lies.push(format!("observedGeneration went from {} to {}", observed(before), observed(now)));
    }
    let revision = |version: &Version| version.number_at("/status/lastSuccessfulRelease/revision");
    if revision(now) < revision(before) {
        lies.push(format!("the last successful release went from {} to {}", revision(before), revision(now)));
    }
    for known in now.conditions() {
        let type_ = text_at(known, "/type");
        let Some(former) = before.condition(type_) else { continue };
        let moved = text_at(known, "/lastTransitionTime") != text_at(former, "/lastTransitionTime");
        let changed = text_at(known, "/status") != text_at(former, "/status");
        if moved && !changed {
            lies.push(format!("lastTransitionTime of {type_} moved while it said {}", now.says(type_)));
        }
    }
    // Nothing was asked for meanwhile, and what is deployed does not get undeployed by looking at it.
    let same = observed(before) == before.generation() && before.generation() == now.generation();
    // What is blocked may go on by what others do.
    let is_settled = before.is_true("Ready") && !before.is_true("Reconciling") && !before.is_true("Blocked");
    if same && !now.is_being_deleted() && is_settled && !now.is_true("Ready") {
        lies.push(format!("Ready went from {} to {}", before.says("Ready"), now.says("Ready")));
    }
    lies
}

/// Fails unless the times that the operator wrote are as wrong as its clock was: otherwise nothing was tried.
pub(super) fn clock_was_off(history: &[Version]) -> Result<()> {
    let now = Timestamp::now();
    let is_off = |known: &Value| {
        let time: Option<Timestamp> = text_at(known, "/lastTransitionTime").parse().ok();
        time.is_some_and(|time| now.duration_since(time).abs() > WRONG)
    };
    let mut instances = of(history, KIND).filter(|version| !version.conditions().is_empty());
    ensure!(
        instances.all(|version| version.conditions().iter().all(is_off)),
        "the clock was to be off, and the operator wrote the right time"
    );
    Ok(())
}

/// The finalizer stands before the first child, and goes after the last.
fn order(history: &[Version]) -> Vec<String> {
    let mut lies = Vec::new();
    for child in history.iter().filter(|version| CHILDREN.contains(&version.kind)) {
        let name = format!("{} v{}", child.kind, child.number);
        // A source without an owner is somebody else's.
        if child.owner().is_empty() {
            if child.kind == RELEASE {
                lies.push(format!("{name} belongs to nobody"));
            }
            continue;
        }
        let of_owner = || of(history, KIND).filter(|instance| instance.uid() == child.owner());
        let is_held = |instance: &Version| {
            let finalizers = instance.object.pointer("/metadata/finalizers").and_then(Value::as_array);
            finalizers.into_iter().flatten().any(|known| known.as_str() == Some(FINALIZER))
        };
        if !of_owner().any(|instance| instance.number < child.number && is_held(instance)) {
            lies.push(format!("{name} came before the finalizer"));
        }
        let gone = of_owner().find(|instance| instance.is_gone).map(|instance| instance.number);
        let same = || history.iter().filter(|known| known.kind == child.kind && known.uid() == child.uid());
        let is_last = same().all(|known| known.number <= child.number);
        let is_left = is_last && !same().any(|known| known.is_gone);
        if gone.is_some_and(|gone| gone < child.number || is_left) {
            lies.push(format!("{name} outlived its instance"));
        }
    }
    lies
}

#[cfg(test)]
mod tests;
