//! Every combination of what `decide` can be shown, also those that Flux never shows: what holds of any status must hold
//! of all of them, and a second look at the same must have nothing to add.

use std::rc::Rc;

use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::flux::{
    Action, FetchFailed, Mark, Ready, Reconciling, Release, Released, Remediated, Snapshot, Source, Trouble,
};
use super::shown::Desk;
use super::world::{Change, Config, Instance, Memory, Running, Spec, Version};
use super::{Look, Write, as_read_back, oracle, words, writes};

const READY: [Ready; 10] = [
    Ready::Unsaid,
    Ready::Fulfilling,
    Ready::Running(Action::Upgrade),
    Ready::Succeeded,
    Ready::WithoutSource,
    Ready::ArtifactFailed,
    Ready::ValuesError,
    Ready::ActionFailed,
    Ready::RollbackSucceeded,
    Ready::RollbackFailed,
];
const RECONCILING: [Reconciling; 4] =
    [Reconciling::No, Reconciling::Fulfilling, Reconciling::Running(Action::Upgrade), Reconciling::WithRetry];
const RELEASED: [Released; 3] = [Released::Unsaid, Released::Yes, Released::TimedOut];
const NO: [bool; 2] = [false, true];

const CHANGE: Change =
    Change { version: Version::AlsoGood, config: Config::Two, keeps_failed: false, retries: false };
const OLD: Change = Change { version: Version::Good, ..CHANGE };

fn spec() -> Spec {
    Spec {
        change: CHANGE,
        suspend: false,
        depends: false,
        check: false,
        approval: false,
        window: false,
        orphan: false,
    }
}

/// What the user wants, and whether somebody deletes it.
fn wishes() -> [(Spec, bool, bool); 7] {
    [
        (spec(), false, false),
        (spec(), true, false),
        (Spec { suspend: true, ..spec() }, false, false),
        (Spec { check: true, ..spec() }, false, false),
        (Spec { depends: true, ..spec() }, false, false),
        (Spec { change: OLD, ..spec() }, false, false),
        (spec(), false, true),
    ]
}

fn sources() -> [Option<Source>; 6] {
    let new = Source::new(1, CHANGE.version);
    let fetched = Source { observed: 1, artifact: Some(Version::AlsoGood), ..new };
    let failing = |trouble| Some(FetchFailed { trouble, observed: 1, since: -1000 });
    [
        None,
        Some(new),
        Some(fetched),
        Some(Source { artifact: None, ..fetched }),
        Some(Source { fetch_failed: failing(Trouble::Missing), ..new }),
        Some(Source { fetch_failed: failing(Trouble::Unreachable), ..fetched }),
    ]
}

fn histories() -> [[Option<Snapshot>; 4]; 3] {
    let snapshot = |number, change: Change, mark| Some(Snapshot { number, running: change.wants(), mark });
    [
        [None; 4],
        [snapshot(2, CHANGE, Mark::Deployed), snapshot(1, OLD, Mark::Superseded), None, None],
        [snapshot(2, CHANGE, Mark::Failed), snapshot(1, OLD, Mark::Deployed), None, None],
    ]
}

/// One digit of a number that counts through everything.
fn digit<T: Copy>(number: &mut usize, from: &[T]) -> T {
    let digit = from[*number % from.len()];
    *number /= from.len();
    digit
}

const STATUSES: usize = 5;
const RELEASES: usize = 10 * 4 * 3 * 2 * 3 * 2 * 2 * 2;
const RARE_RELEASES: usize = 10 * 3 * 3 * 3 * 2;
const CIRCUMSTANCES: usize = 8;
/// Every state of a release in the usual circumstances, then rarer ones in all circumstances.
const USUAL: usize = RELEASES * 6 * 7 * STATUSES;
pub(super) const ALL: usize = USUAL + RARE_RELEASES * CIRCUMSTANCES * 6 * 7 * STATUSES;

fn release(number: &mut usize) -> Release {
    let mut release = Release::new(2, CHANGE, None);
    release.generation = 3;
    release.ready_observed = 3;
    release.ready = digit(number, &READY);
    release.reconciling = digit(number, &RECONCILING);
    release.released = digit(number, &RELEASED);
    release.stalled = digit(number, &NO);
    release.history = digit(number, &histories());
    release.observed = if digit(number, &NO) { 3 } else { 2 };
    release.attempted = if digit(number, &NO) { 3 } else { 2 };
    release.suspend = digit(number, &NO);
    release.attempted_running = Some(Running { version: Version::AlsoGood, config: Config::Two });
    release.failures = u8::from(release.released == Released::TimedOut);
    release
}

/// What the others leave out: remedies, a release that somebody deletes or has deleted, and a word of an earlier
/// generation.
fn rare_release(number: &mut usize) -> Option<Release> {
    let ready = digit(number, &READY);
    let past = digit(number, &[Released::Unsaid, Released::Yes, Released::TimedOut]);
    let mut release = Release { ready, released: past, ..release(&mut 0) };
    release.history = match past {
        Released::Unsaid | Released::NotRendered => histories()[0],
        Released::Yes => histories()[1],
        Released::TimedOut => histories()[2],
    };
    release.remediated =
        digit(number, &[Remediated::Unsaid, Remediated::RolledBack, Remediated::NotRolledBack]);
    let (is_there, is_deleting) = digit(number, &[(true, false), (true, true), (false, false)]);
    release.deleting = is_deleting;
    release.ready_observed = if digit(number, &NO) { 3 } else { 2 };
    (release.observed, release.attempted) = (3, 3);
    release.failures = u8::from(past == Released::TimedOut);
    is_there.then_some(release)
}

/// What else `decide` is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Circumstance {
    Usual,
    Denied,
    CheckUnanswered,
    CheckFails,
    ChartNotRead,
    Drifted,
    LeftoversUnknown,
    LeftoversTerminate,
}

impl Circumstance {
    const ALL: [Self; CIRCUMSTANCES] = [
        Self::Usual,
        Self::Denied,
        Self::CheckUnanswered,
        Self::CheckFails,
        Self::ChartNotRead,
        Self::Drifted,
        Self::LeftoversUnknown,
        Self::LeftoversTerminate,
    ];

    fn memory(self) -> Memory {
        Memory {
            is_denied: self == Self::Denied,
            chart: Some(Version::AlsoGood).filter(|_| self != Self::ChartNotRead),
            check: Some(self != Self::CheckFails).filter(|_| self != Self::CheckUnanswered),
            listed_leftovers: match self {
                Self::LeftoversUnknown => None,
                Self::LeftoversTerminate => Some((0, 1)),
                _ => Some((0, 0)),
            },
            ..Memory::default()
        }
    }
}

/// What the operator may have said before: nothing, the first word, ready, failed, that the chart cannot be loaded.
pub(super) fn statuses(desk: &mut Desk) -> [Option<Rc<ApplicationInstanceStatus>>; STATUSES] {
    let source = sources()[2];
    let mut ready = Release::new(2, CHANGE, None);
    (ready.generation, ready.ready_observed, ready.observed, ready.attempted) = (3, 3, 3, 3);
    (ready.ready, ready.released) = (Ready::Succeeded, Released::Yes);
    ready.history = histories()[1];
    ready.attempted_running = Some(CHANGE.wants());
    let failed = Release {
        ready: Ready::ActionFailed,
        released: Released::TimedOut,
        history: histories()[2],
        failures: 1,
        ..ready
    };
    let memory = Memory { chart: Some(Version::AlsoGood), ..Memory::default() };
    let without_chart = Release { ready: Ready::ArtifactFailed, ..Release::new(2, CHANGE, None) };
    let mut said = |before: Option<Rc<ApplicationInstanceStatus>>, source, release, now| {
        let app = instance((spec(), false, false), before);
        let plan = desk.decide(&shown(&app, source, release), &memory, now);
        Some(Rc::new(as_read_back(&plan.status)))
    };
    let first = said(None, None, None, 0);
    let ready = said(first.clone(), source, Some(ready), 0);
    let failed = said(ready.clone(), source, Some(failed), 0);
    let without_chart = said(first.clone(), source, Some(without_chart), -3600);
    [None, first, ready, failed, without_chart]
}

fn instance(
    (spec, paused, deleting): (Spec, bool, bool),
    status: Option<Rc<ApplicationInstanceStatus>>,
) -> Instance {
    Instance { version: 1, generation: 1, spec, paused, retry: 0, deleting, finalizer: true, status }
}

fn shown(app: &Instance, source: Option<Source>, release: Option<Release>) -> Look<'_> {
    Look { app, source, release, dependency_ready: false, drift: None, secret: (0, None), leftovers: (0, 0) }
}

/// Checks one combination.
pub(super) fn check(
    desk: &mut Desk,
    statuses: &[Option<Rc<ApplicationInstanceStatus>>; STATUSES],
    mut number: usize,
) -> Result<(), String> {
    let all = number;
    let (release, circumstance) = if number < USUAL {
        (Some(release(&mut number)), Circumstance::Usual)
    } else {
        number -= USUAL;
        (rare_release(&mut number), digit(&mut number, &Circumstance::ALL))
    };
    let source = digit(&mut number, &sources());
    let wish = digit(&mut number, &wishes());
    let before = statuses[number % STATUSES].clone();
    let memory = circumstance.memory();
    let drift = (circumstance == Circumstance::Drifted).then_some(-1);
    let app = instance(wish, before);
    let seen = Look { drift, ..shown(&app, source, release) };
    let plan = desk.decide(&seen, &memory, 0);
    let broken = |what: String| {
        Err(format!("combination {all}: {what}: {} of {source:?} and {release:?}", words(&plan.status)))
    };
    if desk.decide(&seen, &memory, 0) != plan {
        return broken("decided twice, two plans".to_owned());
    }
    if oracle::only_looks(&seen, &memory, &plan.status) {
        return Ok(());
    }
    if let Err(violation) = oracle::consistent(app.status.as_deref(), &plan.status, 1) {
        return broken(violation.words);
    }
    if oracle::is_newly_ready(app.status.as_deref(), &plan.status) && !has_every_proof(&seen) {
        return broken("ready without a proof".to_owned());
    }
    let asked = writes(&plan, &seen);
    if asked.iter().any(|write| !matches!(write, Write::Status { .. })) {
        return Ok(());
    }
    let app = instance(wish, Some(Rc::new(as_read_back(&plan.status))));
    let seen = Look { drift, ..shown(&app, source, release) };
    let again = desk.decide(&seen, &memory, 0);
    if !writes(&again, &seen).is_empty() {
        return broken(format!("a second look says {}", words(&again.status)));
    }
    Ok(())
}

/// Row 17 of what was seen of Flux: each of these was once false while all others held. Of a revision that was seen to
/// succeed less is asked: Flux may be looking at it again, or be kept from it.
fn has_every_proof(seen: &Look<'_>) -> bool {
    let (Some(release), Some(source)) = (seen.release, seen.source) else { return false };
    let Some(newest) = release.history[0].filter(|newest| newest.mark == Mark::Deployed) else {
        return false;
    };
    let known = seen.app.status.as_ref().and_then(|status| status.last_successful_release.as_ref());
    let is_known = known.is_some_and(|known| known.revision == i64::from(newest.number));
    if source.observed != source.generation || release.released != Released::Yes {
        return false;
    }
    if is_known && release.suspend {
        return release.ready != Ready::ValuesError;
    }
    let attempted = release.attempted + i64::from(release.suspend);
    let looks = matches!(
        release.ready,
        Ready::Fulfilling | Ready::WithoutSource | Ready::ArtifactFailed | Ready::Running(_)
    );
    let waits = looks && !matches!(release.reconciling, Reconciling::Running(_));
    Some(newest.running.version) == source.artifact
        && attempted == release.generation
        && (release.suspend || release.observed == release.generation)
        && (release.suspend || release.ready == Ready::Succeeded || (is_known && waits))
}
