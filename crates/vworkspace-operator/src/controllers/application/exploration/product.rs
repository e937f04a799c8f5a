//! Every combination of what `decide` can be shown, also those that Flux never shows: what holds of any status must hold
//! of all of them, and a second look at the same must have nothing to add.
//!
//! Each class of inputs carries what it proves by itself. A status may claim what the classes together prove, whatever way
//! the rules came to it: nothing here asks or repeats them.

use std::rc::Rc;

use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::flux::{
    Action, FetchFailed, Mark, Ready, Reconciling, Release, Released, Remediated, Snapshot, Source, Trouble,
};
use super::shown::Desk;
use super::world::{Change, Config, Instance, Marks, Memory, Spec, Version};
use super::{Look, Write, as_read_back, oracle, words, writes};

/// What is proven of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts(u32);

impl Facts {
    const NONE: Self = Self(0);
    /// Nobody deletes the release.
    const STAYS: Self = Self(1);
    /// The newest revision is the one with the chart that is asked for, and was put in place.
    const DEPLOYED: Self = Self(1 << 1);
    /// The last action went well.
    const SUCCEEDED: Self = Self(1 << 2);
    /// No action is under way.
    const NOT_ACTING: Self = Self(1 << 3);
    /// Flux has come to the end of its look.
    const LOOKED: Self = Self(1 << 4);
    /// Flux complains of nothing.
    const NO_COMPLAINT: Self = Self(1 << 5);
    /// Flux calls it a success, and not only a wait.
    const CALLED_A_SUCCESS: Self = Self(1 << 6);
    /// The newest revision was made from the release as it is now.
    const SAME_RELEASE: Self = Self(1 << 7);
    /// The source has looked for what it is asked for now.
    const SAME_SOURCE: Self = Self(1 << 8);
    /// The source has that chart.
    const SAME_CHART: Self = Self(1 << 9);
    /// Every check passes; also if none is asked for.
    const ANSWERS: Self = Self(1 << 10);
    /// Flux has not stopped trying.
    const NOT_GIVEN_UP: Self = Self(1 << 11);
    const SAID_READY: Self = Self(1 << 12);
    const FAILED: Self = Self(1 << 13);
    const GIVEN_UP: Self = Self(1 << 14);
    const VALUES_MISSING: Self = Self(1 << 15);
    const CHART_MISSING: Self = Self(1 << 16);
    const REGISTRY_UNREACHABLE: Self = Self(1 << 17);
    const HAS_CHECK: Self = Self(1 << 18);
    const CHECK_FAILS: Self = Self(1 << 19);
    const DRIFTED: Self = Self(1 << 20);
    const DENIED: Self = Self(1 << 21);
    const DEPENDENCY_NOT_READY: Self = Self(1 << 22);
    const PAUSED: Self = Self(1 << 23);
    const SUSPENDED: Self = Self(1 << 24);
    const DELETING: Self = Self(1 << 25);

    /// A revision that was seen to be this very change is one: what Flux does since does not alter it.
    const SEEN_TO_SUCCEED: Self =
        all(&[Self::LOOKED, Self::CALLED_A_SUCCESS, Self::SAME_RELEASE, Self::SAME_CHART]);
    /// This very change runs, whole: each of these was once false while all others held (row 17 of what was seen of Flux).
    const RELEASED: Self = all(&[
        Self::STAYS,
        Self::DEPLOYED,
        Self::SUCCEEDED,
        Self::NOT_ACTING,
        Self::LOOKED,
        Self::NOT_GIVEN_UP,
        Self::NO_COMPLAINT,
        Self::CALLED_A_SUCCESS,
        Self::SAME_RELEASE,
        Self::SAME_SOURCE,
        Self::SAME_CHART,
    ]);

    fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    fn forget(&mut self, what: Self) {
        self.0 &= !what.0;
    }

    fn prove(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

const fn all(facts: &[Facts]) -> Facts {
    let (mut known, mut index) = (0, 0);
    while index < facts.len() {
        known |= facts[index].0;
        index += 1;
    }
    Facts(known)
}

/// What a status may say, and what of it has to be proven: all facts of one of the sets.
const CLAIMS: &[(&str, &[Facts])] = &[
    ("Ready=True", &[all(&[Facts::RELEASED, Facts::ANSWERS]), Facts::SAID_READY]),
    ("Ready=False/HelmReleaseFailed", &[Facts::FAILED]),
    ("Ready=False/ChartUnreachable", &[Facts::CHART_MISSING, Facts::REGISTRY_UNREACHABLE]),
    ("Ready=False/WaitingForSecret", &[Facts::VALUES_MISSING]),
    ("Ready=False/EndpointUnreachable", &[CHECKED_AND_FAILS]),
    ("Ready=False/Uninstalling", &[Facts::DELETING]),
    (
        "Reconciling=False/Stable",
        &[
            Facts::RELEASED,
            Facts::SAID_READY,
            Facts::GIVEN_UP,
            Facts::CHART_MISSING,
            Facts::DENIED,
            Facts::DELETING,
        ],
    ),
    ("Degraded=True/UpgradeFailed", &[Facts::FAILED]),
    ("Degraded=True/HelmReleaseDegraded", &[Facts::FAILED]),
    ("Degraded=True/ChartUnreachable", &[Facts::REGISTRY_UNREACHABLE]),
    ("Degraded=True/EndpointUnreachable", &[CHECKED_AND_FAILS]),
    ("Degraded=True/Drifted", &[Facts::DRIFTED]),
    ("Blocked=True/MissingSecret", &[Facts::VALUES_MISSING]),
    ("Blocked=True/MissingChartSource", &[Facts::CHART_MISSING]),
    ("Blocked=True/PolicyDenied", &[Facts::DENIED]),
    ("Blocked=True/DependencyNotReady", &[Facts::DEPENDENCY_NOT_READY]),
    ("Suspended=True/ReconcilePaused", &[Facts::PAUSED]),
    ("Suspended=True/ManuallySuspended", &[Facts::SUSPENDED]),
    ("Stalled=True", &[Facts::GIVEN_UP, Facts::CHART_MISSING, Facts::DENIED]),
    ("Deleting=True", &[Facts::DELETING]),
];
const CHECKED_AND_FAILS: Facts = all(&[Facts::HAS_CHECK, Facts::CHECK_FAILS]);

/// A class of inputs, and what it proves to whoever sees it: that is known of Flux, and owed to no rule.
#[derive(Debug, Clone, Copy)]
struct Class<T> {
    shown: T,
    proves: Facts,
}

const fn class<T: Copy>(shown: T, proves: &[Facts]) -> Class<T> {
    Class { shown, proves: all(proves) }
}

const READY: [Class<Ready>; 10] = [
    class(Ready::Unsaid, &[Facts::NO_COMPLAINT]),
    class(Ready::Fulfilling, &[Facts::NO_COMPLAINT]),
    class(Ready::Running(Action::Upgrade), &[Facts::NO_COMPLAINT]),
    class(Ready::Succeeded, &[Facts::NO_COMPLAINT, Facts::CALLED_A_SUCCESS]),
    class(Ready::WithoutSource, &[Facts::NO_COMPLAINT]),
    class(Ready::ArtifactFailed, &[Facts::NO_COMPLAINT]),
    class(Ready::ValuesError, &[Facts::VALUES_MISSING, Facts::FAILED]),
    class(Ready::ActionFailed, &[Facts::FAILED]),
    class(Ready::RollbackSucceeded, &[Facts::FAILED]),
    class(Ready::RollbackFailed, &[Facts::FAILED]),
];
const RECONCILING: [Class<Reconciling>; 4] = [
    class(Reconciling::No, &[Facts::NOT_ACTING, Facts::LOOKED]),
    class(Reconciling::Fulfilling, &[Facts::NOT_ACTING]),
    class(Reconciling::Running(Action::Upgrade), &[]),
    class(Reconciling::WithRetry, &[Facts::NOT_ACTING]),
];
const RELEASED: [Class<Released>; 3] = [
    class(Released::Unsaid, &[]),
    class(Released::Yes, &[Facts::SUCCEEDED]),
    class(Released::TimedOut, &[Facts::FAILED]),
];
const STALLED: [Class<bool>; 2] =
    [class(false, &[Facts::NOT_GIVEN_UP]), class(true, &[Facts::FAILED, Facts::GIVEN_UP])];

/// How far Flux has come with generation 3: observed, attempted, and whether it is suspended.
const PROGRESS: [Class<(i64, i64, bool)>; 8] = [
    class((3, 3, false), &[Facts::SAME_RELEASE]),
    // What it has begun with it has not ended.
    class((2, 3, false), &[]),
    // This number moves without anything being done.
    class((3, 2, false), &[]),
    class((2, 2, false), &[]),
    // Flux tries no generation that is suspended.
    class((3, 3, true), &[]),
    class((2, 3, true), &[]),
    // Nothing but the suspension came after what it tried, and it does not look again.
    class((3, 2, true), &[Facts::SAME_RELEASE, Facts::LOOKED, Facts::CALLED_A_SUCCESS]),
    class((2, 2, true), &[Facts::SAME_RELEASE, Facts::LOOKED, Facts::CALLED_A_SUCCESS]),
];

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

/// What the user wants.
type Asked = (Spec, Paused, Deleting);
type Paused = bool;
type Deleting = bool;

fn asked() -> [Class<Asked>; 7] {
    let plain = spec();
    [
        class((plain, false, false), &[Facts::ANSWERS]),
        class((plain, true, false), &[Facts::ANSWERS, Facts::PAUSED]),
        class((Spec { suspend: true, ..plain }, false, false), &[Facts::ANSWERS, Facts::SUSPENDED]),
        class((Spec { check: true, ..plain }, false, false), &[Facts::HAS_CHECK]),
        class(
            (Spec { depends: true, ..plain }, false, false),
            &[Facts::ANSWERS, Facts::DEPENDENCY_NOT_READY],
        ),
        class((Spec { change: OLD, ..plain }, false, false), &[Facts::ANSWERS]),
        class((plain, false, true), &[Facts::ANSWERS, Facts::DELETING]),
    ]
}

fn sources() -> [Class<Option<Source>>; 6] {
    let new = Source::new(1, CHANGE.version);
    let fetched = Source { observed: 1, artifact: Some(CHANGE.version), ..new };
    let failing = |trouble| Some(FetchFailed { trouble, observed: 1, since: -1000 });
    [
        class(None, &[]),
        class(Some(new), &[]),
        class(Some(fetched), &[Facts::SAME_SOURCE, Facts::SAME_CHART]),
        class(Some(Source { artifact: None, ..fetched }), &[Facts::SAME_SOURCE]),
        class(Some(Source { fetch_failed: failing(Trouble::Missing), ..new }), &[Facts::CHART_MISSING]),
        class(
            Some(Source { fetch_failed: failing(Trouble::Unreachable), ..fetched }),
            &[Facts::SAME_SOURCE, Facts::SAME_CHART, Facts::REGISTRY_UNREACHABLE],
        ),
    ]
}

type History = [Option<Snapshot>; 4];

fn histories() -> [Class<History>; 4] {
    let snapshot = |number, change: Change, mark| Some(Snapshot { number, running: change.wants(), mark });
    [
        class([None; 4], &[]),
        class(
            [snapshot(2, CHANGE, Mark::Deployed), snapshot(1, OLD, Mark::Superseded), None, None],
            &[Facts::DEPLOYED],
        ),
        class(
            [snapshot(2, CHANGE, Mark::Failed), snapshot(1, OLD, Mark::Deployed), None, None],
            &[Facts::FAILED],
        ),
        // Flux says that it was a success before it says which revision that made.
        class([snapshot(1, OLD, Mark::Deployed), None, None, None], &[]),
    ]
}

/// One digit of a number that counts through everything, and what it proves.
fn digit<T: Copy>(number: &mut usize, from: &[Class<T>], facts: &mut Facts) -> T {
    let digit = from[*number % from.len()];
    *number /= from.len();
    facts.add(digit.proves);
    digit.shown
}

const STATUSES: usize = 5;
const RELEASES: usize = 10 * 4 * 3 * 2 * 4 * 2 * 2 * 2;
const RARE_RELEASES: usize = 10 * 3 * 3 * 3 * 2;
const CIRCUMSTANCES: usize = 8;
/// Every state of a release in the usual circumstances, then rarer ones in all circumstances.
const USUAL: usize = RELEASES * 6 * 7 * STATUSES;
pub(super) const ALL: usize = USUAL + RARE_RELEASES * CIRCUMSTANCES * 6 * 7 * STATUSES;

fn release(number: &mut usize, facts: &mut Facts) -> Release {
    let mut release = Release::new(2, CHANGE, None);
    release.generation = 3;
    release.ready_observed = 3;
    facts.add(Facts::STAYS);
    release.ready = digit(number, &READY, facts);
    release.reconciling = digit(number, &RECONCILING, facts);
    release.released = digit(number, &RELEASED, facts);
    release.stalled = digit(number, &STALLED, facts);
    release.history = digit(number, &histories(), facts);
    (release.observed, release.attempted, release.suspend) = digit(number, &PROGRESS, facts);
    release.attempted_running = Some(CHANGE.wants());
    release.failures = u8::from(release.released == Released::TimedOut);
    release
}

/// Whether there is a release, and whether somebody deletes it.
const PRESENCE: [Class<(bool, Deleting)>; 3] =
    [class((true, false), &[Facts::STAYS]), class((true, true), &[]), class((false, false), &[])];
const REMEDIATED: [Class<Remediated>; 3] = [
    class(Remediated::Unsaid, &[]),
    class(Remediated::RolledBack, &[]),
    class(Remediated::NotRolledBack, &[Facts::FAILED]),
];
/// The generation that `Ready` was written for.
const READY_OBSERVED: [Class<i64>; 2] = [class(EARLIER, &[]), class(3, &[])];
const EARLIER: i64 = 2;

/// What the others leave out: remedies, a release that somebody deletes or has deleted, and a word of an earlier
/// generation. Nothing is under way.
fn rare_release(number: &mut usize, facts: &mut Facts) -> Option<Release> {
    let mut proven = Facts::NONE;
    let ready = digit(number, &READY, &mut proven);
    let past = *number % RELEASED.len();
    let released = digit(number, &RELEASED, &mut proven);
    // Each goes with one of the histories.
    let history = digit(&mut { past }, &histories(), &mut proven);
    let remediated = digit(number, &REMEDIATED, &mut proven);
    let (is_there, deleting) = digit(number, &PRESENCE, &mut proven);
    let ready_observed = digit(number, &READY_OBSERVED, &mut proven);
    let reconciling = digit(&mut 0, &RECONCILING, &mut proven);
    let stalled = digit(&mut 0, &STALLED, &mut proven);
    let (observed, attempted, suspend) = digit(&mut 0, &PROGRESS, &mut proven);
    if !is_there {
        return None;
    }
    if ready_observed == EARLIER {
        // Those were the values of another generation.
        proven.forget(Facts::VALUES_MISSING);
    }
    facts.add(proven);
    let failures = u8::from(released == Released::TimedOut);
    let mut release = Release {
        ready,
        released,
        history,
        remediated,
        deleting,
        ready_observed,
        reconciling,
        stalled,
        observed,
        attempted,
        suspend,
        failures,
        ..Release::new(2, CHANGE, None)
    };
    release.generation = 3;
    release.attempted_running = Some(CHANGE.wants());
    Some(release)
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

    fn proves(self) -> Facts {
        match self {
            Self::Denied => all(&[Facts::DENIED, Facts::ANSWERS]),
            Self::CheckFails => Facts::CHECK_FAILS,
            Self::CheckUnanswered => Facts::NONE,
            Self::Drifted => all(&[Facts::DRIFTED, Facts::ANSWERS]),
            Self::Usual | Self::ChartNotRead | Self::LeftoversUnknown | Self::LeftoversTerminate => {
                Facts::ANSWERS
            }
        }
    }

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

/// What stands when each of the statuses was said before. That something failed is over only when something succeeds.
const SAID: [Facts; STATUSES] = [
    Facts::NONE,
    Facts::NONE,
    all(&[Facts::SEEN_TO_SUCCEED, Facts::SAID_READY]),
    all(&[Facts::SEEN_TO_SUCCEED, Facts::FAILED]),
    Facts::NONE,
];

/// What the operator may have said before: nothing, the first word, ready, failed, that the chart cannot be loaded.
pub(super) fn statuses(desk: &mut Desk) -> [Option<Rc<ApplicationInstanceStatus>>; STATUSES] {
    let source = sources()[2].shown;
    let mut ready = Release::new(2, CHANGE, None);
    (ready.generation, ready.ready_observed, ready.observed, ready.attempted) = (3, 3, 3, 3);
    (ready.ready, ready.released) = (Ready::Succeeded, Released::Yes);
    ready.history = histories()[1].shown;
    ready.attempted_running = Some(CHANGE.wants());
    let failed = Release {
        ready: Ready::ActionFailed,
        released: Released::TimedOut,
        history: histories()[2].shown,
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

fn instance((spec, paused, deleting): Asked, status: Option<Rc<ApplicationInstanceStatus>>) -> Instance {
    let marks = Marks { paused, retry: 0 };
    Instance { deleting, finalizer: true, status, ..Instance::new(spec, marks) }
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
    let combination = number;
    let mut facts = Facts::NONE;
    let (release, circumstance) = if number < USUAL {
        facts.add(Circumstance::Usual.proves());
        (Some(release(&mut number, &mut facts)), Circumstance::Usual)
    } else {
        number -= USUAL;
        let release = rare_release(&mut number, &mut facts);
        let circumstances = Circumstance::ALL.map(|one| Class { shown: one, proves: one.proves() });
        (release, digit(&mut number, &circumstances, &mut facts))
    };
    let source = digit(&mut number, &sources(), &mut facts);
    let asked = digit(&mut number, &asked(), &mut facts);
    let before = statuses[number % STATUSES].clone();
    facts.add(SAID[number % STATUSES]);
    let memory = circumstance.memory();
    let drift = (circumstance == Circumstance::Drifted).then_some(-1);
    let app = instance(asked, before);
    let seen = Look { drift, ..shown(&app, source, release) };
    let plan = desk.decide(&seen, &memory, 0);
    let broken = |what: String| {
        Err(format!(
            "combination {combination}: {what}: {} of {source:?} and {release:?}",
            words(&plan.status)
        ))
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
    if let Some(claim) = unproven(&plan.status, facts) {
        return broken(format!("{claim} without a proof"));
    }
    let written = writes(&plan, &seen);
    if written.iter().any(|write| !matches!(write, Write::Status { .. })) {
        return Ok(());
    }
    let app = instance(asked, Some(Rc::new(as_read_back(&plan.status))));
    let seen = Look { drift, ..shown(&app, source, release) };
    let again = desk.decide(&seen, &memory, 0);
    if !writes(&again, &seen).is_empty() {
        return broken(format!("a second look says {}", words(&again.status)));
    }
    Ok(())
}

/// Something that is said and that the classes do not prove.
fn unproven(status: &ApplicationInstanceStatus, facts: Facts) -> Option<&'static str> {
    let is_proven = |proofs: &[Facts]| proofs.iter().any(|proof| facts.prove(*proof));
    let claimed = CLAIMS.iter().find(|(claim, proofs)| !is_proven(proofs) && oracle::says(status, claim));
    claimed.map(|(claim, _)| *claim)
}
