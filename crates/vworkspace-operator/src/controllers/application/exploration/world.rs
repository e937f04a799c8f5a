//! The true world around one instance, small enough to be copied and compared: what the API server has, what is outside
//! of it, and what was ever true of the application.

use std::fmt;

use ::explore::{Dice, Moves, Own};
use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::flux::{self, Release, Source};
use super::helm_controller::{self, HelmController};
use super::source_controller::{self, SourceController};

/// Charts of the registry. What a version is says how it goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Version {
    Good,
    AlsoGood,
    /// Its pods never become ready.
    Broken,
    /// It cannot be rendered: Helm stores nothing.
    Unrenderable,
    /// The registry does not have it.
    Absent,
}

impl Version {
    pub(super) const ALL: [Version; 5] =
        [Version::Good, Version::AlsoGood, Version::Broken, Version::Unrenderable, Version::Absent];

    pub(super) fn text(self) -> &'static str {
        match self {
            Version::Good => "1.2.0",
            Version::AlsoGood => "1.3.0",
            Version::Broken => "1.4.0",
            Version::Unrenderable => "1.5.0",
            Version::Absent => "9.9.9",
        }
    }

    pub(super) fn digest(self) -> &'static str {
        match self {
            Version::Good => "sha256:12",
            Version::AlsoGood => "sha256:13",
            Version::Broken => "sha256:14",
            Version::Unrenderable => "sha256:15",
            Version::Absent => "sha256:99",
        }
    }
}

/// Where the values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Config {
    Two,
    Three,
    FromSecret,
}

/// What of the spec is handed to Flux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Change {
    pub(super) version: Version,
    pub(super) config: Config,
    /// A failed upgrade stays as it is instead of being rolled back.
    pub(super) keeps_failed: bool,
    /// One more try after a failure.
    pub(super) retries: bool,
}

impl Change {
    /// Every change that can be asked for.
    pub(super) fn all() -> impl Iterator<Item = Change> {
        let configs = [Config::Two, Config::Three, Config::FromSecret];
        Version::ALL.into_iter().flat_map(move |version| {
            configs.into_iter().flat_map(move |config| {
                [(false, false), (false, true), (true, false), (true, true)]
                    .map(|(keeps_failed, retries)| Change { version, config, keeps_failed, retries })
            })
        })
    }

    /// Its place in [`Change::all`].
    pub(super) fn index(self) -> usize {
        (((self.version as usize) * 3 + self.config as usize) * 2 + usize::from(self.keeps_failed)) * 2
            + usize::from(self.retries)
    }

    /// What the cluster has to run for it.
    pub(super) fn wants(self) -> Running {
        Running { version: self.version, config: self.config }
    }
}

/// What an application is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Running {
    pub(super) version: Version,
    pub(super) config: Config,
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Spec {
    pub(super) change: Change,
    pub(super) suspend: bool,
    pub(super) depends: bool,
    pub(super) check: bool,
    pub(super) approval: bool,
    pub(super) window: bool,
    pub(super) orphan: bool,
}

/// What the user asks for by annotations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Marks {
    pub(super) paused: bool,
    pub(super) retry: u8,
}

/// The instance itself.
pub(super) type Instance = Own<Spec, Marks, ApplicationInstanceStatus>;

/// What has been seen of trouble, for what may be said later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) failure: bool,
    pub(super) endpoint: bool,
    pub(super) missing_values: bool,
    pub(super) drift: bool,
    /// Flux complained of the chart.
    pub(super) chart: bool,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) app: Instance,
    pub(super) source: Option<Source>,
    pub(super) source_version: u32,
    pub(super) release: Option<Release>,
    pub(super) release_version: u32,
    pub(super) next_uid: u8,
    /// The instance that this one depends on.
    pub(super) dependency_ready: bool,
    pub(super) dependency_version: u32,
    /// When Flux last told of drift.
    pub(super) drift: Option<i64>,
    pub(super) drift_version: u32,
    /// The version of the Secret with values.
    pub(super) secret: Option<u8>,
    pub(super) secret_version: u32,
    /// Objects of the release that terminate.
    pub(super) leftovers: u8,
    pub(super) leftovers_version: u32,
    // Outside of the API server.
    pub(super) registry_answers: bool,
    pub(super) cluster_works: bool,
    pub(super) endpoint_answers: bool,
    pub(super) admission_denies: bool,
    /// Something holds terminating objects by a finalizer.
    pub(super) is_held: bool,
    pub(super) helm: HelmController,
    pub(super) sources: SourceController,
    /// What really runs.
    pub(super) running: Option<Running>,
    /// Whether that is all of it, and nothing else.
    pub(super) is_whole: bool,
    pub(super) seen: Seen,
}

/// What the operator keeps in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    /// The API server denied a child.
    pub(super) is_denied: bool,
    pub(super) asks_check: bool,
    pub(super) check: Option<bool>,
    pub(super) asks_chart: Option<Version>,
    pub(super) chart: Option<Version>,
    pub(super) wants_values: bool,
    /// The Secret as the list had it, and at which version.
    pub(super) listed_values: Option<(u32, Option<u8>)>,
    pub(super) wants_leftovers: bool,
    pub(super) listed_leftovers: Option<(u32, u8)>,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// Flux's helm-controller makes as many writes.
    Helm(u8),
    /// source-controller makes as many.
    Sources(u8),
    /// Flux's timers come.
    HelmInterval,
    SourceInterval,
    HelmControllerRestarts,
    SourceControllerRestarts,
    AskVersion(Version),
    AskConfig(Config),
    Suspend(bool),
    Pause(bool),
    Retry,
    NeedApproval(bool),
    Window(bool),
    Registry(bool),
    Cluster(bool),
    Endpoint(bool),
    Admission(bool),
    Secret(bool),
    Dependency(bool),
    Drift,
    Hold(bool),
    DeleteRelease,
    Delete,
    LeftoversEnd,
    CheckAnswers,
    ChartIsRead,
    TemporaryWatchesAreListed,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Move::Helm(writes) => write!(f, "helm-controller makes {writes} writes"),
            Move::Sources(writes) => write!(f, "source-controller makes {writes} writes"),
            Move::AskVersion(version) => write!(f, "the user asks for version {}", version.text()),
            other => write!(f, "{other:?}"),
        }
    }
}

/// The model's own source of variety at the start of a world.
pub(super) fn begin(dice: &mut Dice) -> World {
    let version =
        if dice.chance(3, 4) { Version::Good } else { dice.pick(&Version::ALL).unwrap_or(Version::Good) };
    let config = if dice.chance(1, 4) { Config::FromSecret } else { Config::Two };
    let change = Change { version, config, keeps_failed: dice.chance(1, 4), retries: dice.chance(1, 4) };
    let spec = Spec {
        change,
        suspend: dice.chance(1, 24),
        depends: dice.chance(1, 8),
        check: dice.chance(1, 4),
        approval: dice.chance(1, 24),
        window: dice.chance(1, 24),
        orphan: dice.chance(1, 8),
    };
    let app = Own::new(spec, Marks { paused: dice.chance(1, 32), retry: 0 });
    World {
        app,
        source: None,
        source_version: 0,
        release: None,
        release_version: 0,
        next_uid: 1,
        dependency_ready: dice.chance(1, 2),
        dependency_version: 0,
        drift: None,
        drift_version: 0,
        secret: dice.chance(3, 4).then_some(1),
        secret_version: 0,
        leftovers: 0,
        leftovers_version: 0,
        registry_answers: dice.chance(15, 16),
        cluster_works: dice.chance(15, 16),
        endpoint_answers: dice.chance(3, 4),
        admission_denies: dice.chance(1, 32),
        is_held: false,
        helm: HelmController::default(),
        sources: SourceController::default(),
        running: None,
        is_whole: true,
        seen: Seen::default(),
    }
}

impl World {
    pub(super) fn touch_release(&mut self) {
        self.release_version += 1;
        let (running, is_whole) = (self.running, self.is_whole);
        if let Some(release) = &mut self.release {
            (release.truth.running, release.truth.is_whole) = (running, is_whole);
        }
    }

    pub(super) fn touch_source(&mut self) {
        self.source_version += 1;
    }

    pub(super) fn is_window_open(&self, now: i64) -> bool {
        // 11:00 to 13:00, and the model's time begins at noon.
        self.app.spec.window && (now + 3600).rem_euclid(86_400) < 7200
    }
}

/// What can happen now, each as often as it deserves to be looked at.
pub(super) fn moves(world: &World, memory: &Memory, events: usize, into: &mut Moves<Move>) {
    if helm_controller::is_busy(world) {
        into.extend([(Move::Helm(1), 30), (Move::Helm(2), 20), (Move::Helm(4), 40), (Move::Helm(9), 30)]);
    } else if world.release.is_some() {
        into.push((Move::HelmInterval, 14));
    }
    if source_controller::is_busy(world) {
        into.extend([(Move::Sources(1), 30), (Move::Sources(4), 50)]);
    } else if world.source.is_some() {
        into.push((Move::SourceInterval, 4));
    }
    if memory.asks_check {
        into.push((Move::CheckAnswers, 20));
    }
    if memory.asks_chart.is_some() && memory.asks_chart != memory.chart {
        into.push((Move::ChartIsRead, 60));
    }
    let wants_values = memory.wants_values && memory.listed_values.is_none();
    let wants_leftovers = memory.wants_leftovers && memory.listed_leftovers.is_none();
    if wants_values || wants_leftovers {
        into.push((Move::TemporaryWatchesAreListed, 40));
    }
    if world.leftovers > 0 && !world.is_held {
        into.push((Move::LeftoversEnd, 30));
    }
    outside(world, into);
    if !world.app.deleting {
        user(world, into);
        // An object that is gone has nothing more to say.
        if events > 14 {
            into.push((Move::Delete, 4));
        }
    }
}

fn outside(world: &World, into: &mut Moves<Move>) {
    let back = |is_fine: bool, to_worse: u32| if is_fine { to_worse } else { 10 };
    into.extend([
        (Move::Registry(!world.registry_answers), back(world.registry_answers, 2)),
        (Move::Cluster(!world.cluster_works), back(world.cluster_works, 3)),
        (Move::Admission(!world.admission_denies), back(!world.admission_denies, 1)),
        (Move::Hold(!world.is_held), 2),
        (Move::HelmControllerRestarts, 2),
        (Move::SourceControllerRestarts, 1),
    ]);
    if world.app.spec.check {
        into.push((Move::Endpoint(!world.endpoint_answers), 6));
    }
    if world.app.spec.change.config == Config::FromSecret {
        into.push((Move::Secret(world.secret.is_none()), back(world.secret.is_some(), 3)));
    }
    if world.app.spec.depends {
        into.push((Move::Dependency(!world.dependency_ready), 8));
    }
    if world.running.is_some() {
        into.push((Move::Drift, 3));
    }
    if world.release.is_some_and(|release| !release.deleting) {
        into.push((Move::DeleteRelease, 1));
    }
}

fn user(world: &World, into: &mut Moves<Move>) {
    let spec = &world.app.spec;
    into.extend([
        (Move::AskVersion(Version::Good), 4),
        (Move::AskVersion(Version::AlsoGood), 10),
        (Move::AskVersion(Version::Broken), 6),
        (Move::AskVersion(Version::Unrenderable), 3),
        (Move::AskVersion(Version::Absent), 3),
        (Move::AskConfig(Config::Two), 2),
        (Move::AskConfig(Config::Three), 4),
        (Move::AskConfig(Config::FromSecret), 2),
        (Move::Suspend(!spec.suspend), if spec.suspend { 12 } else { 3 }),
        (Move::Pause(!world.app.marks.paused), if world.app.marks.paused { 12 } else { 3 }),
        (Move::NeedApproval(!spec.approval), if spec.approval { 12 } else { 1 }),
        (Move::Retry, 2),
    ]);
    if spec.window {
        into.push((Move::Window(false), 3));
    }
}

pub(super) fn make(world: &mut World, memory: &mut Memory, what: Move, now: i64) {
    match what {
        Move::Helm(writes) => (0..writes).for_each(|_| _ = helm_controller::step(world)),
        Move::Sources(writes) => (0..writes).for_each(|_| _ = source_controller::step(world, now)),
        Move::HelmInterval => world.helm.is_due = true,
        Move::SourceInterval => world.sources.is_due = true,
        Move::HelmControllerRestarts => helm_controller::restart(world),
        Move::SourceControllerRestarts => source_controller::restart(world),
        Move::AskVersion(version) => world.app.edit(|spec| spec.change.version = version),
        Move::AskConfig(config) => world.app.edit(|spec| spec.change.config = config),
        Move::Suspend(suspend) => world.app.edit(|spec| spec.suspend = suspend),
        Move::NeedApproval(approval) => world.app.edit(|spec| spec.approval = approval),
        Move::Window(window) => world.app.edit(|spec| spec.window = window),
        Move::Pause(paused) => world.app.annotate(|marks| marks.paused = paused),
        Move::Retry => world.app.annotate(|marks| marks.retry = marks.retry.wrapping_add(1)),
        Move::Registry(answers) => world.registry_answers = answers,
        Move::Cluster(works) => world.cluster_works = works,
        Move::Endpoint(answers) => world.endpoint_answers = answers,
        Move::Admission(denies) => world.admission_denies = denies,
        Move::Hold(held) => world.is_held = held,
        Move::Secret(there) => {
            world.secret = there.then_some(1);
            world.secret_version += 1;
        }
        Move::Dependency(ready) => {
            world.dependency_ready = ready;
            world.dependency_version += 1;
        }
        Move::Drift => {
            world.drift = Some(now);
            world.drift_version += 1;
        }
        Move::DeleteRelease => flux::delete_release(world),
        Move::Delete => world.app.delete(),
        Move::LeftoversEnd => end_leftovers(world),
        Move::CheckAnswers => memory.check = Some(world.endpoint_answers && world.running.is_some()),
        Move::ChartIsRead => memory.chart = memory.asks_chart,
        Move::TemporaryWatchesAreListed => list_temporary_watches(world, memory),
    }
}

fn end_leftovers(world: &mut World) {
    if world.leftovers > 0 && !world.is_held {
        world.leftovers = 0;
        world.leftovers_version += 1;
    }
}

/// Everything but the operator comes to rest.
pub(super) fn rest(world: &mut World, memory: &mut Memory, now: i64) {
    end_leftovers(world);
    flux::rest(world, now);
    if memory.asks_check {
        memory.check = Some(world.endpoint_answers && world.running.is_some());
    }
    memory.chart = memory.asks_chart.or(memory.chart);
    list_temporary_watches(world, memory);
}

/// Temporary watches begin with a list, which is of now.
fn list_temporary_watches(world: &World, memory: &mut Memory) {
    if memory.wants_values {
        memory.listed_values.get_or_insert((world.secret_version, world.secret));
    }
    if memory.wants_leftovers {
        memory.listed_leftovers.get_or_insert((world.leftovers_version, world.leftovers));
    }
}
