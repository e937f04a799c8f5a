//! Whether an instance ever said something that was not so. Written against what Flux itself recorded, without a look at the
//! operator's own rules: two that err alike would prove nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::super::application::instance::KIND;
use super::super::text_at;
use super::history::{RELEASE, REPOSITORY, Version};

/// How long after the world has changed a word may still be about the world before: reading, deciding and writing take time
/// on a busy machine.
const REACTION: Duration = Duration::from_secs(2);
/// A clock that is off by an hour is off by more than this after some minutes.
const WRONG: SignedDuration = SignedDuration::from_mins(45);
const TYPES: [&str; 7] = ["Ready", "Reconciling", "Degraded", "Blocked", "Suspended", "Deleting", "Stalled"];
const FINALIZER: &str = "apps.vworkspace.io/finalizer";

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
            found.extend(readiness(now, next, history, blindness));
            found.extend(trouble(now, history));
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
        if both(one, other) {
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
fn readiness(
    now: &Version,
    next: Option<&Version>,
    history: &[Version],
    blindness: Duration,
) -> Option<String> {
    let is_current = now.number_at("/status/observedGeneration") == now.generation();
    let is_settled = now.says("Reconciling") == "False/Stable" && !now.is_true("Stalled");
    if !is_current || now.is_being_deleted() || !(now.is_true("Ready") || is_settled) {
        return None;
    }
    let waits = now.says("Reconciling") == "True/ChangePending";
    let holds = |release: &Version| {
        !release.is_gone
            && is_deployed(release)
            && (waits || carries(release, now) && has_chart(release, now, history))
    };
    // Whether a release that was there at a moment, or shortly before, bears it out.
    let is_borne_out = |known: &dyn Fn(&Version) -> bool, at: Instant| {
        let releases: Vec<&Version> = of(history, RELEASE).filter(|release| known(release)).collect();
        releases.iter().enumerate().any(|(index, release)| {
            let ended = releases.get(index + 1).map(|next| next.seen);
            ended.is_none_or(|ended| ended + REACTION + blindness >= at) && holds(release)
        })
    };
    // The first one after a gap tells what happened in it, though its number is that of its last change.
    let before = |release: &Version| {
        release.number < now.number || release.is_after_gap && release.seen <= now.seen + REACTION
    };
    let says = format!("Ready={}, Reconciling={}", now.says("Ready"), now.says("Reconciling"));
    if !is_borne_out(&before, now.seen) {
        return Some(format!("{says} while Flux had not deployed it"));
    }
    let end = next.or(history.last()).map_or(now.seen, |last| last.seen);
    (!is_borne_out(&|release| release.seen <= end, end))
        .then(|| format!("{says} was still said when it was so no more"))
}

/// Degraded and Stalled: Flux had failed at something, at some time.
fn trouble(now: &Version, history: &[Version]) -> Option<String> {
    let types = ["Degraded", "Stalled"].into_iter().filter(|type_| now.is_true(type_));
    let has_failed = |version: &&Version| {
        version.number < now.number
            && (version.text("/status/history/0/status") == "failed"
                || version.conditions().iter().any(is_failure))
    };
    let failed = history.iter().filter(|version| version.kind != KIND).any(|version| has_failed(&version));
    let told: Vec<String> = types.map(|type_| format!("{type_}={}", now.says(type_))).collect();
    (!told.is_empty() && !failed).then(|| format!("{} and Flux had not failed", told.join(", ")))
}

fn is_failure(known: &Value) -> bool {
    let (type_, status) = (text_at(known, "/type"), text_at(known, "/status"));
    matches!((type_, status), ("Ready" | "Released", "False") | ("Stalled" | "FetchFailed", "True"))
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

/// The chart of the release is one that the source had under the tag that the instance asks for.
fn has_chart(release: &Version, instance: &Version, history: &[Version]) -> bool {
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

/// Suspended=True: the spec says so, and Flux had been told.
fn suspension(now: &Version, history: &[Version]) -> Option<String> {
    let is_current = now.number_at("/status/observedGeneration") == now.generation();
    let wanted = now.object.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default();
    if !is_current || now.is_being_deleted() {
        return None;
    }
    // What could not be handed to Flux waits, a pause too.
    let waits = wanted && now.says("Reconciling") == "True/ChangePending";
    if now.is_true("Suspended") != wanted && !waits {
        return Some(format!("spec.suspend is {wanted} and Suspended is {}", now.says("Suspended")));
    }
    let newest = of(history, RELEASE).take_while(|release| release.number < now.number).last()?;
    let is_told = newest.object.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default();
    (now.is_true("Suspended") && !newest.is_gone && !is_told)
        .then(|| format!("Suspended=True and Flux was not told (newest release v{})", newest.number))
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
    let is_settled = before.is_true("Ready") && !before.is_true("Reconciling");
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
    for child in history.iter().filter(|version| [RELEASE, REPOSITORY].contains(&version.kind)) {
        let owner = child.text("/metadata/ownerReferences/0/uid");
        let of_owner = || of(history, KIND).filter(|instance| instance.uid() == owner);
        let is_held = |instance: &Version| {
            let finalizers = instance.object.pointer("/metadata/finalizers").and_then(Value::as_array);
            finalizers.into_iter().flatten().any(|known| known.as_str() == Some(FINALIZER))
        };
        let held = of_owner().any(|instance| instance.number < child.number && is_held(instance));
        if !held {
            lies.push(format!("{} v{} came before the finalizer", child.kind, child.number));
        }
        let gone = of_owner().find(|instance| instance.is_gone).map(|instance| instance.number);
        // The source is left to the garbage collector; the release must be gone first.
        if child.kind == RELEASE && gone.is_some_and(|gone| gone < child.number) {
            lies.push(format!("{} v{} outlived its instance", child.kind, child.number));
        }
    }
    lies
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A history that is told step by step.
    struct Told(Vec<Version>, Instant);

    impl Told {
        fn new() -> Self {
            Self(Vec::new(), Instant::now())
        }

        fn then(mut self, kind: &'static str, after_ms: u64, object: &Value) -> Self {
            self.1 += Duration::from_millis(after_ms);
            let number = self.0.len() as u64 + 1;
            self.0.push(Version {
                kind,
                number,
                seen: self.1,
                object: object.clone(),
                is_gone: false,
                is_after_gap: false,
            });
            self
        }

        fn lies(&self) -> Vec<String> {
            lies(&self.0, Duration::ZERO)
        }
    }

    /// The instance says that its change waits.
    fn waiting(generation: i64) -> Value {
        let mut object = instance(generation, generation, &["Ready", "Reconciling"]);
        object["status"]["conditions"][1]["reason"] = json!("ChangePending");
        object
    }

    #[test]
    fn a_change_that_flux_was_given_does_not_wait() {
        let given = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 0, &instance(2, 1, &["Ready"]));
        assert_eq!(given.then(KIND, 10, &waiting(2)).lies(), Vec::<String>::new());
        let given = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 0, &instance(2, 1, &["Ready"]));
        let told = given.then(RELEASE, 10, &release(2, true)).then(KIND, 10, &waiting(2));
        assert!(told.lies().iter().any(|lie| lie.contains("Flux was given it")), "{:?}", told.lies());
    }

    fn condition(type_: &str, status: &str, generation: i64) -> Value {
        json!({"type": type_, "status": status, "reason": "R", "observedGeneration": generation,
            "lastTransitionTime": format!("{status}-{generation}")})
    }

    fn instance(generation: i64, observed: i64, truths: &[&str]) -> Value {
        let status = |type_: &str| if truths.contains(&type_) { "True" } else { "False" };
        let conditions: Vec<Value> =
            TYPES.iter().map(|type_| condition(type_, status(type_), observed)).collect();
        // Transition times are told by the status alone here.
        let conditions: Vec<Value> = conditions
            .into_iter()
            .map(|mut known| {
                known["lastTransitionTime"] = known["status"].clone();
                known
            })
            .collect();
        json!({"metadata": {"uid": "u", "generation": generation, "finalizers": [FINALIZER]},
            "spec": {"chart": {"version": "1.0.0"}, "values": {"inline": {"a": generation}}},
            "status": {"observedGeneration": observed, "conditions": conditions}})
    }

    fn source() -> Value {
        json!({"metadata": {"ownerReferences": [{"uid": "u"}]}, "spec": {"ref": {"tag": "1.0.0"}},
            "status": {"artifact": {"revision": "1.0.0@sha256:d"}}})
    }

    /// A release of the values of a generation, deployed up to another.
    fn release(values: i64, deployed: bool) -> Value {
        let status = if deployed { "deployed" } else { "pending-upgrade" };
        json!({"metadata": {"generation": values, "ownerReferences": [{"uid": "u"}]},
            "spec": {"values": {"a": values}},
            "status": {"lastAttemptedGeneration": values, "lastAttemptedConfigDigest": "c",
                "history": [{"status": status, "configDigest": "c", "chartVersion": "1.0.0+x",
                    "ociDigest": "sha256:d"}],
                "conditions": [condition("Released", if deployed { "True" } else { "Unknown" }, values)]}})
    }

    fn begun() -> Told {
        Told::new().then(KIND, 0, &instance(1, 1, &["Reconciling"])).then(REPOSITORY, 10, &source()).then(
            RELEASE,
            10,
            &release(1, false),
        )
    }

    #[test]
    fn ready_after_flux_deployed_it_is_true_and_before_it_is_a_lie() {
        let honest = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"]));
        assert_eq!(honest.lies(), Vec::<String>::new());
        let hasty = begun().then(KIND, 10, &instance(1, 1, &["Ready"]));
        assert_eq!(hasty.lies().len(), 1, "{:?}", hasty.lies());
    }

    #[test]
    fn ready_for_a_change_that_only_the_former_release_carries_is_a_lie() {
        let told = begun()
            .then(RELEASE, 10, &release(1, true))
            .then(KIND, 10, &instance(1, 1, &["Ready"]))
            .then(KIND, 10, &instance(2, 2, &["Ready"]));
        assert!(told.lies().iter().any(|lie| lie.contains("had not deployed")), "{:?}", told.lies());
    }

    #[test]
    fn a_change_that_waits_leaves_ready_alone() {
        let begun = || begun().then(RELEASE, 10, &release(1, true));
        assert_eq!(begun().then(KIND, 10, &waiting(2)).lies(), Vec::<String>::new());
        // One that is under way does not.
        let hasty = begun().then(KIND, 10, &instance(2, 2, &["Ready", "Reconciling"]));
        assert!(hasty.lies().iter().any(|lie| lie.contains("had not deployed")), "{:?}", hasty.lies());
    }

    #[test]
    fn ready_long_after_the_release_broke_is_a_lie_and_right_after_it_is_not() {
        let broken = || begun().then(RELEASE, 10, &release(1, true)).then(RELEASE, 10, &release(1, false));
        assert_eq!(broken().then(KIND, 100, &instance(1, 1, &["Ready"])).lies(), Vec::<String>::new());
        assert_eq!(broken().then(KIND, 5000, &instance(1, 1, &["Ready"])).lies().len(), 1);
    }

    #[test]
    fn ready_that_nobody_takes_back_is_a_lie() {
        let said =
            || begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"]));
        let broken = said().then(RELEASE, 10, &release(1, false));
        assert_eq!(broken.then(REPOSITORY, 100, &source()).lies(), Vec::<String>::new());
        let broken = said().then(RELEASE, 10, &release(1, false)).then(REPOSITORY, 5000, &source());
        assert!(broken.lies().iter().any(|lie| lie.contains("so no more")), "{:?}", broken.lies());
    }

    #[test]
    fn trouble_that_flux_never_had_is_a_lie() {
        let degraded = || instance(1, 1, &["Degraded", "Reconciling"]);
        let told = begun().then(KIND, 10, &degraded());
        assert!(told.lies().iter().any(|lie| lie.contains("had not failed")), "{:?}", told.lies());
        let mut failed = release(1, false);
        failed["status"]["history"][0]["status"] = json!("failed");
        assert_eq!(
            begun().then(RELEASE, 10, &failed).then(KIND, 10, &degraded()).lies(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_was_ready_does_not_stop_to_be_by_looking_at_it() {
        let told = begun()
            .then(RELEASE, 10, &release(1, true))
            .then(KIND, 10, &instance(1, 1, &["Ready"]))
            .then(KIND, 10, &instance(1, 1, &["Reconciling"]));
        assert!(told.lies().iter().any(|lie| lie.contains("Ready went")), "{:?}", told.lies());
    }

    #[test]
    fn each_other_lie_is_found() {
        let mut two_minds = instance(1, 1, &["Reconciling", "Stalled"]);
        let mut incomplete = instance(1, 1, &[]);
        incomplete["status"]["conditions"].as_array_mut().expect("a list").pop();
        let mut early = instance(1, 2, &[]);
        early["status"]["observedGeneration"] = json!(1);
        let mut suspended = instance(1, 1, &["Suspended"]);
        suspended["spec"]["suspend"] = json!(false);
        let mut unheld = instance(1, 1, &[]);
        unheld["metadata"]["finalizers"] = json!([]);
        two_minds["metadata"]["uid"] = json!("v");
        let table = [
            ("both True", Told::new().then(KIND, 0, &two_minds)),
            ("has no condition Stalled", Told::new().then(KIND, 0, &incomplete)),
            ("speaks of generation 2", Told::new().then(KIND, 0, &early)),
            ("spec.suspend is false", Told::new().then(KIND, 0, &suspended)),
            ("nobody deleted", Told::new().then(KIND, 0, &instance(1, 1, &["Deleting"]))),
            ("before the finalizer", Told::new().then(KIND, 0, &unheld).then(RELEASE, 0, &release(1, false))),
            (
                "observedGeneration went",
                Told::new().then(KIND, 0, &instance(2, 2, &[])).then(KIND, 0, &instance(2, 1, &[])),
            ),
        ];
        for (expected, told) in table {
            let lies = told.lies();
            assert!(lies.iter().any(|lie| lie.contains(expected)), "{expected}: {lies:?}");
        }
    }

    /// What one version says after the release was given the first generation's values.
    fn beyond(now: &Value) -> Vec<String> {
        beyond_the_release(&Told::new().then(RELEASE, 0, &release(1, true)).then(KIND, 10, now).0)
    }

    #[test]
    fn what_was_refused_is_not_claimed() {
        let says = |generation: i64, type_: &str, reason: &str, truths: &[&str]| {
            let mut object = instance(generation, generation, truths);
            let conditions = object["status"]["conditions"].as_array_mut().expect("a list");
            let known = conditions.iter_mut().find(|known| known["type"] == type_).expect("the type");
            known["reason"] = json!(reason);
            object
        };
        let table = [
            ("the release carries it", says(1, "Ready", "Upgrading", &[]), 0),
            ("it does not", says(2, "Ready", "Upgrading", &[]), 1),
            ("under way", says(2, "Reconciling", "HelmReleaseUpgrading", &["Reconciling"]), 1),
            ("it waits", says(2, "Reconciling", "ChangePending", &["Reconciling", "Ready"]), 0),
            ("done", says(2, "Reconciling", "Stable", &["Ready"]), 1),
            ("given up", says(2, "Reconciling", "Stable", &["Stalled"]), 0),
            ("asleep", says(1, "Suspended", "MaintenanceWindow", &["Suspended"]), 1),
            ("left alone by annotation", says(1, "Suspended", "ReconcilePaused", &["Suspended"]), 0),
        ];
        for (name, now, lies) in table {
            assert_eq!(beyond(&now).len(), lies, "{name}: {:?}", beyond(&now));
        }
        // Nothing was made at all.
        let told = Told::new().then(KIND, 0, &says(1, "Ready", "Installing", &[]));
        assert_eq!(beyond_the_release(&told.0).len(), 1);
        // It is suspended, and it says so.
        let mut release = release(1, true);
        release["spec"]["suspend"] = json!(true);
        let told = Told::new().then(RELEASE, 0, &release);
        let told = told.then(KIND, 0, &says(1, "Suspended", "ManuallySuspended", &["Suspended"]));
        assert_eq!(beyond_the_release(&told.0), Vec::<String>::new());
    }
}
