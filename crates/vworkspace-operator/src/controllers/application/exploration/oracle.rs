//! What must hold of an ApplicationInstance, checked against a truth that the operator cannot see.

use ::explore::Violation;
use conditions::Status;
use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::flux::{Mark, Ready, Release, Trouble, Waits};
use super::shown::SECRET;
use super::world::{Memory, Running, Seen, World};
use super::{ApplicationPlan, FluxWrite, Look, Write, words};

const READY_IS_PROVEN: &str = "ready-is-proven";
const TROUBLE_WAS_SEEN: &str = "trouble-was-seen";
const READY_LEAVES_FOR_A_CAUSE: &str = "ready-leaves-for-a-cause";
const NO_CONTRADICTION: &str = "no-contradiction";
const NOTHING_IS_FORGOTTEN: &str = "nothing-is-forgotten";
const EVERYTHING_IS_SAID: &str = "everything-is-said";
const PAUSED_MEANS_PAUSED: &str = "paused-means-paused";
const SOURCE_BEFORE_RELEASE: &str = "source-before-release";
const NOTHING_IS_LEFT_BEHIND: &str = "nothing-is-left-behind";
const TOLD_AS_IT_IS: &str = "told-as-it-is";
const SECRETS_STAY: &str = "secrets-stay";

pub(super) const INVARIANTS: &[(&str, &str)] = &[
    (
        READY_IS_PROVEN,
        "Ready=True only if the release that the cache shows had, when that version was written, really deployed the \
         change that it carries, whole",
    ),
    (
        TROUBLE_WAS_SEEN,
        "Degraded and Blocked are True, and Ready names a failure, only while or since the cause was in the observed \
         view",
    ),
    (
        READY_LEAVES_FOR_A_CAUSE,
        "what was Ready=True stays so while the release that is seen really runs its change and no other trouble was \
         seen",
    ),
    (NO_CONTRADICTION, "no two conditions exclude each other, and none contradicts the rest of the status"),
    (
        NOTHING_IS_FORGOTTEN,
        "lastSuccessfulRelease stays once it is set; NotBlocked and NotDegraded never come after True",
    ),
    (EVERYTHING_IS_SAID, "every condition is there, for the generation that was looked at"),
    (PAUSED_MEANS_PAUSED, "an instance paused by annotation gets no write but its status and its finalizer"),
    (SOURCE_BEFORE_RELEASE, "no release is handed a change that its source does not have"),
    (
        NOTHING_IS_LEFT_BEHIND,
        "a release is deleted so that Flux does with the application what the spec says, and the finalizer goes only \
         after the release and its objects",
    ),
    (
        SECRETS_STAY,
        "no message quotes a value of a Secret, whichever release it speaks of and whatever the spec asks for",
    ),
    (
        TOLD_AS_IT_IS,
        "in the end, when everything is at rest and has been seen, the conditions say what is true and nothing else",
    ),
];

/// What excludes what: `Type=Status` or `Type=Status/Reason`.
const EXCLUDED: &[(&str, &str)] = &[
    ("Reconciling=True", "Stalled=True"),
    ("Ready=True", "Deleting=True"),
    ("Ready=True", "Reconciling=True/HelmReleaseInstalling"),
    ("Ready=True", "Reconciling=True/HelmReleaseUpgrading"),
    ("Ready=True", "Reconciling=True/ChartSourceSyncing"),
    ("Ready=True", "Degraded=True/UpgradeFailed"),
    ("Ready=True", "Degraded=True/HelmReleaseDegraded"),
    ("Ready=True", "Degraded=True/EndpointUnreachable"),
    ("Ready=True", "Blocked=True/MissingSecret"),
    ("Ready=False/Blocked", "Blocked=False"),
    ("Ready=False/WaitingForSecret", "Blocked=False"),
    ("Ready=False/Uninstalling", "Deleting=False"),
    ("Deleting=True", "Stalled=True"),
];

pub(super) fn says(status: &ApplicationInstanceStatus, pattern: &str) -> bool {
    ::explore::says(status.conditions.as_slice(), pattern)
}

fn reason<'a>(status: &'a ApplicationInstanceStatus, type_: &str) -> (Status, &'a str) {
    let known = status.conditions.get(type_);
    known.map_or((Status::Unknown, ""), |known| (known.status, known.reason.as_str()))
}

/// What holds of any status, whatever the world.
pub(super) fn consistent(
    before: Option<&ApplicationInstanceStatus>,
    after: &ApplicationInstanceStatus,
    generation: i64,
) -> Result<(), Violation> {
    let broken = |name, what: String| Err(Violation::new(name, format!("{what}: {}", words(after))));
    if after.conditions.unsaid(generation).next().is_some() || after.conditions.as_slice().len() != 7 {
        return broken(EVERYTHING_IS_SAID, "a condition is missing".to_owned());
    }
    if let Some((one, other)) = ::explore::contradiction(after.conditions.as_slice(), EXCLUDED) {
        return broken(NO_CONTRADICTION, format!("{one} with {other}"));
    }
    let is_current = says(after, "Reconciling=False") && says(after, "Stalled=False");
    let unfinished = ["Ready=Unknown", "Ready=False/Installing", "Ready=False/Upgrading"];
    if let Some(ready) = unfinished.iter().find(|pattern| is_current && says(after, pattern)) {
        return broken(NO_CONTRADICTION, format!("kstatus would take {ready} for done"));
    }
    let was_released = after.last_successful_release.is_some();
    let needs_none =
        ["Ready=False/Installing", "Reconciling=True/HelmReleaseInstalling", "Ready=False/Blocked"];
    let needs_one = [
        "Ready=False/Upgrading",
        "Reconciling=True/HelmReleaseUpgrading",
        "Ready=True/HelmReleaseReady",
        "Degraded=True/UpgradeFailed",
        "Degraded=True/HelmReleaseDegraded",
    ];
    let wrong = if was_released { &needs_none[..] } else { &needs_one[..] };
    if let Some(wrong) = wrong.iter().find(|pattern| says(after, pattern)) {
        let text = if was_released { "with" } else { "without" };
        return broken(NO_CONTRADICTION, format!("{wrong} {text} lastSuccessfulRelease"));
    }
    let Some(before) = before else { return Ok(()) };
    if before.last_successful_release.is_some() && !was_released {
        return broken(NOTHING_IS_FORGOTTEN, "lastSuccessfulRelease is gone".to_owned());
    }
    for (never, type_) in [("NotBlocked", "Blocked"), ("NotDegraded", "Degraded")] {
        let (was, now) = (reason(before, type_), reason(after, type_));
        if now.1 == never && !matches!(was.1, "" | "NotBlocked" | "NotDegraded") {
            return broken(NOTHING_IS_FORGOTTEN, format!("{never} after {}", was.1));
        }
    }
    Ok(())
}

/// Whether the release that is seen had really deployed what it carries. A plan that was cut short after the source has
/// handed over a chart that the release's own label does not speak of.
pub(super) fn is_proven(seen: &Look<'_>) -> bool {
    seen.release.is_some_and(|release| {
        let charts = [Some(release.change.version), seen.source.map(|source| source.version)];
        let truth = release.truth;
        let runs = |running: Running| {
            running.config == release.change.config && charts.contains(&Some(running.version))
        };
        truth.running.is_some_and(runs) && truth.is_whole && truth.acting.is_none() && !release.deleting
    })
}

pub(super) fn judge(
    world: &mut World,
    seen: &Look<'_>,
    memory: &Memory,
    plan: &ApplicationPlan,
    now: i64,
) -> Result<(), Violation> {
    let status = &plan.status;
    if only_looks(seen, memory, status) {
        return Ok(());
    }
    consistent(seen.app.status.as_deref(), status, seen.app.generation)?;
    // What stands, and not what a plan would have said that was cut short.
    if let Some(before) = seen.app.status.as_deref() {
        world.seen = still_told(world.seen, before);
    }
    note_trouble(world, seen, memory, now);
    let broken = |name, what: &str| Err(Violation::new(name, format!("{what}: {}", words(status))));
    if quotes_a_secret(status) {
        return broken(SECRETS_STAY, "a value of a Secret is told");
    }
    let (ready, _) = reason(status, "Ready");
    if ready != Status::True && leaves_without_cause(world, seen, plan) {
        return broken(READY_LEAVES_FOR_A_CAUSE, "the release runs as before");
    }
    if ready == Status::True && !is_proven(seen) {
        return broken(READY_IS_PROVEN, "the release that was seen had not deployed its change");
    }
    if let Some(unseen) = unseen_trouble(world, seen, memory, status) {
        return broken(TROUBLE_WAS_SEEN, &format!("{unseen} without its cause"));
    }
    Ok(())
}

fn quotes_a_secret(status: &ApplicationInstanceStatus) -> bool {
    let trouble = status.chart_trouble.as_ref().map(|trouble| trouble.message.as_str());
    let messages = status.conditions.iter().map(|known| known.message.as_str());
    messages.chain(trouble).any(|message| message.contains(SECRET))
}

/// Whether a plan says only what was said: of another generation, or before it is known what a release has left.
pub(super) fn only_looks(seen: &Look<'_>, memory: &Memory, status: &ApplicationInstanceStatus) -> bool {
    let is_left_unknown = seen.app.deleting && seen.release.is_none() && memory.listed_leftovers.is_none();
    let is_of_now = status.observed_generation == Some(seen.app.generation);
    !super::differs(seen.app.status.as_deref(), status)
        && (is_left_unknown || !is_of_now || status.conditions.as_slice().is_empty())
}

/// Whether an instance was ready for this very spec, and nothing that was seen has changed that.
fn leaves_without_cause(world: &World, seen: &Look<'_>, plan: &ApplicationPlan) -> bool {
    let Some(before) = seen.app.status.as_deref() else { return false };
    let Some(release) = seen.release else { return false };
    let was_ready = says(before, "Ready=True") && before.observed_generation == Some(seen.app.generation);
    // Dear, so it is asked last.
    let writes_children = || super::writes(plan, seen).iter().any(|write| matches!(write, Write::Child(_)));
    was_ready
        && !seen.app.deleting
        && !release.deleting
        && is_proven(seen)
        && release.truth.waits.is_none()
        && !release.truth.has_failed
        && !(world.seen.endpoint || world.seen.missing_values)
        && !writes_children()
}

/// What is in the view now.
fn note_trouble(world: &mut World, seen: &Look<'_>, memory: &Memory, now: i64) {
    world.seen.drift |= seen.drift.is_some_and(|at| is_fresh_drift(at, now));
    let Some(release) = seen.release else { return };
    let truth = release.truth;
    world.seen.failure |= truth.has_failed || !truth.is_whole;
    // Flux does not look at a release that only was suspended since.
    let is_of_now = release.ready_observed + i64::from(release.suspend) >= release.generation;
    world.seen.missing_values |= release.ready == Ready::ValuesError && is_of_now;
    world.seen.endpoint |= memory.check == Some(false);
    world.seen.chart |= matches!(release.ready, Ready::WithoutSource | Ready::ArtifactFailed);
}

/// Flux tells drift once in each interval of five minutes, and never that it is over.
pub(super) fn is_fresh_drift(at: i64, now: i64) -> bool {
    now - at < 600
}

/// What was seen and is told by a status. What is not told any more has to be seen again before it is.
pub(super) fn still_told(seen: Seen, status: &ApplicationInstanceStatus) -> Seen {
    let tells = |patterns: &[&str]| patterns.iter().any(|pattern| says(status, pattern));
    Seen {
        failure: seen.failure && !tells(&["Ready=True"]),
        drift: seen.drift && tells(&["Degraded=True/Drifted"]),
        missing_values: seen.missing_values
            && tells(&["Blocked=True/MissingSecret", "Ready=False/WaitingForSecret"]),
        chart: seen.chart && status.chart_trouble.is_some(),
        endpoint: seen.endpoint
            && tells(&["Degraded=True/EndpointUnreachable", "Ready=False/EndpointUnreachable"]),
    }
}

/// Something that is said although nothing in the view, now or since, is its cause.
fn unseen_trouble(
    world: &World,
    seen: &Look<'_>,
    memory: &Memory,
    status: &ApplicationInstanceStatus,
) -> Option<&'static str> {
    let trouble = seen.source.and_then(|source| source.fetch_failed).map(|failed| failed.trouble);
    let spec = &seen.app.spec;
    let deleting = seen.app.deleting;
    let is_handed_over = seen.release.is_some_and(|release| release.change == spec.change)
        && seen.source.is_some_and(|source| source.version == spec.change.version);
    let is_suspended = seen.release.is_some_and(|release| release.suspend);
    let table: [(&'static str, bool); 15] = [
        ("Reconciling=True/ChangePending", !is_handed_over || memory.is_denied || is_suspended),
        ("Degraded=True/UpgradeFailed", world.seen.failure || deleting),
        ("Degraded=True/HelmReleaseDegraded", world.seen.failure || deleting),
        ("Degraded=True/EndpointUnreachable", world.seen.endpoint || deleting),
        ("Degraded=True/ChartUnreachable", trouble == Some(Trouble::Unreachable)),
        ("Degraded=True/Drifted", world.seen.drift || deleting),
        ("Ready=False/HelmReleaseFailed", world.seen.failure),
        ("Ready=False/EndpointUnreachable", world.seen.endpoint),
        ("Ready=False/ChartUnreachable", trouble.is_some() || world.seen.chart),
        ("Ready=False/WaitingForSecret", world.seen.missing_values),
        ("Blocked=True/MissingSecret", world.seen.missing_values),
        ("Blocked=True/MissingChartSource", trouble == Some(Trouble::Missing)),
        ("Blocked=True/DependencyNotReady", spec.depends && !seen.dependency_ready),
        ("Blocked=True/AwaitingApproval", spec.approval),
        ("Blocked=True/PolicyDenied", memory.is_denied),
    ];
    table.into_iter().find(|(pattern, has_cause)| !has_cause && says(status, pattern)).map(|(said, _)| said)
}

pub(super) fn judge_write(world: &World, seen: &Look<'_>, write: &Write) -> Result<(), Violation> {
    let broken = |name, what: &str| Err(Violation::new(name, what));
    let to_child = matches!(write, Write::Child(_));
    if to_child && seen.app.marks.paused && !seen.app.deleting {
        return broken(PAUSED_MEANS_PAUSED, "it is paused by annotation");
    }
    match write {
        Write::Child(FluxWrite::Release { change, .. })
            if world.source.is_none_or(|source| source.version != change.version) =>
        {
            // A release that is only suspended keeps what it has.
            let keeps = world.release.is_some_and(|live| live.change == *change);
            if keeps { Ok(()) } else { broken(SOURCE_BEFORE_RELEASE, "the source does not have the change") }
        }
        Write::Child(FluxWrite::Source(_)) if seen.app.deleting => {
            broken(NOTHING_IS_LEFT_BEHIND, "the instance is being deleted")
        }
        Write::Child(FluxWrite::DeleteRelease { .. })
            if world.release.is_some_and(|live| live.suspend != seen.app.spec.orphan) =>
        {
            broken(NOTHING_IS_LEFT_BEHIND, "Flux would do the opposite with the application")
        }
        Write::LetGo { .. } if world.release.is_some() => {
            broken(NOTHING_IS_LEFT_BEHIND, "the release is still there")
        }
        Write::LetGo { .. } if world.leftovers > 0 && !seen.app.spec.orphan => {
            broken(NOTHING_IS_LEFT_BEHIND, "objects of the release still terminate")
        }
        _ => Ok(()),
    }
}

/// What the end of a schedule must say, by what is true then.
pub(super) fn judge_settled(world: &World, now: i64) -> Result<(), Violation> {
    let Some(status) = &world.app.status else {
        return Err(Violation::new(TOLD_AS_IT_IS, "nothing was said".to_owned()));
    };
    let expected = expected(world, now);
    let missing = expected.iter().find(|pattern| !pattern.split('|').any(|one| says(status, one)));
    match missing {
        None => Ok(()),
        Some(missing) => {
            let words = format!("expected {missing}, found {}; {}", words(status), truth(world));
            Err(Violation::new(TOLD_AS_IT_IS, words))
        }
    }
}

fn truth(world: &World) -> String {
    format!(
        "true is: asked {:?}, release {:?}, source {:?}, runs {:?} whole {}, cluster works {}, registry {}, endpoint {}",
        world.app.spec,
        world.release,
        world.source,
        world.running,
        world.is_whole,
        world.cluster_works,
        world.registry_answers,
        world.endpoint_answers
    )
}

/// What must be said, alternatives apart by `|`.
fn expected(world: &World, now: i64) -> Vec<&'static str> {
    let spec = &world.app.spec;
    if world.app.deleting {
        let step = if world.release.is_some() {
            "Deleting=True/Uninstalling"
        } else {
            "Deleting=True/WaitingForChildResources"
        };
        return vec!["Ready=False/Uninstalling", step, "Stalled=False"];
    }
    let mut expected = vec!["Deleting=False/NotDeleting"];
    let is_paused = world.app.marks.paused || spec.suspend || world.is_window_open(now);
    // A release that could not be suspended goes on, whatever the spec wants.
    let goes_on =
        world.admission_denies && world.release.is_some_and(|release| !release.suspend && !release.deleting);
    // And one that could not be resumed stands still.
    let stands_still =
        world.admission_denies && world.release.is_some_and(|release| release.suspend && !release.deleting);
    expected.push(match (world.app.marks.paused, spec.suspend, world.is_window_open(now)) {
        (true, ..) => "Suspended=True/ReconcilePaused",
        _ if goes_on => "Suspended=False/Active",
        (_, true, _) => "Suspended=True/ManuallySuspended",
        (.., true) => "Suspended=True/MaintenanceWindow",
        _ if stands_still => "Suspended=True",
        _ => "Suspended=False/Active",
    });
    let is_handed_over = world.release.is_some_and(|release| release.change == spec.change)
        && world.source.is_some_and(|source| source.version == spec.change.version);
    if !is_handed_over {
        // Only a pause, a blocker or the API server can hold a change back for ever.
        let is_held = is_paused || world.admission_denies || spec.approval || spec.depends;
        expected.push(if is_held {
            "Reconciling=True/ChangePending|Stalled=True"
        } else {
            "Ready=True/never"
        });
    }
    let Some(release) = world.release.filter(|release| !release.suspend && !is_paused) else {
        return expected;
    };
    if !is_handed_over {
        return expected;
    }
    expected.extend(expected_of_release(world, &release));
    expected
}

/// What Flux has come to, which the operator has seen.
fn expected_of_release(world: &World, release: &Release) -> Vec<&'static str> {
    if release.deleting {
        return vec!["Ready=False", "Reconciling=True", "Stalled=False"];
    }
    let was_released = world.app.status.as_ref().is_some_and(|known| known.last_successful_release.is_some());
    let trouble = world.source.and_then(|source| source.fetch_failed).map(|failed| failed.trouble);
    let is_fetched =
        world.source.is_some_and(|source| source.generation == source.observed && source.artifact.is_some());
    if is_lost(world) {
        // What runs goes on, what has failed has failed, and what is new cannot begin: all of that can be said.
        let fails = world.app.spec.check && !world.endpoint_answers;
        return vec![if fails {
            "Ready=False/EndpointUnreachable|Ready=False/ChartUnreachable|Ready=False/HelmReleaseFailed"
        } else {
            "Ready=True|Ready=False/ChartUnreachable|Ready=False/HelmReleaseFailed"
        }];
    }
    if !is_fetched {
        return match trouble {
            Some(Trouble::Missing) => {
                let ready = if was_released { "Ready=False/ChartUnreachable" } else { "Ready=False/Blocked" };
                let mut told =
                    vec![ready, "Blocked=True/MissingChartSource", "Stalled=True/MissingChartSource"];
                // What failed before stays as it is.
                told.extend((was_released && !world.is_whole).then_some("Degraded=True"));
                told
            }
            Some(Trouble::Unreachable) => {
                vec!["Ready=False/ChartUnreachable", "Degraded=True", "Stalled=False"]
            }
            None => Vec::new(),
        };
    }
    if release.truth.waits == Some(Waits::ForValues) {
        return vec!["Ready=False/WaitingForSecret", "Blocked=True/MissingSecret", "Stalled=False"];
    }
    let wanted = release.change.wants();
    if world.running == Some(wanted) && world.is_whole && !release.truth.has_failed {
        return expected_of_success(world);
    }
    if release.truth.has_failed && release.stalled {
        let is_back = release.history[0].is_some_and(|newest| newest.mark == Mark::Deployed);
        let degraded = match (was_released, is_back) {
            (true, true) => "Degraded=True/UpgradeFailed",
            (true, false) => "Degraded=True/HelmReleaseDegraded",
            (false, _) => not_degraded(world),
        };
        return vec![
            "Ready=False/HelmReleaseFailed",
            "Stalled=True/HelmReleaseFailed",
            "Reconciling=False",
            degraded,
        ];
    }
    if release.truth.has_failed {
        return vec!["Ready=False/HelmReleaseFailed", "Stalled=False", "Reconciling=True"];
    }
    Vec::new()
}

/// Whether source-controller has lost what it had stored, and cannot fetch it again.
pub(super) fn is_lost(world: &World) -> bool {
    world.source.is_some_and(|source| source.generation == source.observed && source.artifact.is_none())
}

fn expected_of_success(world: &World) -> Vec<&'static str> {
    if world.app.spec.check && !world.endpoint_answers {
        return vec!["Ready=False/EndpointUnreachable", "Degraded=True", "Stalled=False"];
    }
    let degraded = not_degraded(world);
    vec![
        "Ready=True/HelmReleaseReady",
        "Reconciling=False/Stable",
        "Stalled=False",
        "Blocked=False",
        degraded,
    ]
}

/// Nothing is wrong, except that a registry may not answer.
fn not_degraded(world: &World) -> &'static str {
    if world.registry_answers { "Degraded=False" } else { "Degraded=True/ChartUnreachable|Degraded=False" }
}
