//! Drives this controller's `decide` through schedules: see docs/explore.md. The model is of Flux and of users, not of the
//! API server: of that only what plans rely on, which is the locked status, the effect of an apply on our own children,
//! and that a deletion hits only the object that was seen.

mod flux;
mod hash;
mod helm_controller;
mod oracle;
mod outcome;
mod product;
mod shown;
mod source_controller;
mod world;

use std::fmt;
use std::rc::Rc;

use ::explore::{Dice, Effect, Model, Moves, Violation};
use conditions::ConditionSet;
use operator_kit::{Child, Plan, Step};
use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::polls::chart_archive::ArtifactRef;
use super::polls::readiness::ReadinessPoll;
use flux::{Release, Source};
use hash::hash_of;
use shown::Desk;
use world::{Change, Instance, Memory, Move, Version, World};

type ApplicationPlan = Plan<ApplicationInstanceStatus>;

const OWN: usize = 0;
const SOURCE: usize = 1;
const RELEASE: usize = 2;

/// What a cache can show.
#[derive(Debug, Clone)]
enum Shot {
    Instance(Instance),
    Source(Option<Source>),
    Release(Option<Release>),
    Dependency(bool),
    Drift(Option<i64>),
    Secret(u32, Option<u8>),
    Leftovers(u32, u8),
}

/// All caches, by name.
struct Look<'a> {
    app: &'a Instance,
    source: Option<Source>,
    release: Option<Release>,
    dependency_ready: bool,
    drift: Option<i64>,
    secret: (u32, Option<u8>),
    leftovers: (u32, u8),
}

/// A watch goes on from its list.
fn newest<T>(seen: (u32, T), listed: (u32, T)) -> T {
    if seen.0 >= listed.0 { seen.1 } else { listed.1 }
}

fn look(view: &[Shot]) -> Look<'_> {
    match view {
        [
            Shot::Instance(app),
            Shot::Source(source),
            Shot::Release(release),
            Shot::Dependency(dependency_ready),
            Shot::Drift(drift),
            Shot::Secret(secret_version, secret),
            Shot::Leftovers(leftovers_version, leftovers),
        ] => Look {
            app,
            source: *source,
            release: *release,
            dependency_ready: *dependency_ready,
            drift: *drift,
            secret: (*secret_version, *secret),
            leftovers: (*leftovers_version, *leftovers),
        },
        other => panic!("not the caches of an instance: {other:?}"),
    }
}

/// One request.
#[derive(Debug, Clone)]
enum Write {
    HoldFinalizer { lock: u32 },
    Source(Version),
    Release { change: Change, suspend: bool },
    DeleteRelease { uid: u8 },
    ReconcileRequest { requested: u16, reset: Option<u8> },
    Status { lock: u32, status: Rc<ApplicationInstanceStatus> },
    LetGo { lock: u32 },
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Write::HoldFinalizer { .. } => f.write_str("the finalizer"),
            Write::Source(version) => write!(f, "the source at {}", version.text()),
            Write::Release { change, suspend } => {
                let suspended = if *suspend { ", suspended" } else { "" };
                write!(f, "the release for {} with {:?}{suspended}", change.version.text(), change.config)
            }
            Write::DeleteRelease { .. } => f.write_str("the deletion of the release"),
            Write::ReconcileRequest { .. } => f.write_str("a reconcile request to Flux"),
            Write::Status { status, .. } => write!(f, "the status {}", words(status)),
            Write::LetGo { .. } => f.write_str("the end of the finalizer"),
        }
    }
}

fn words(status: &ApplicationInstanceStatus) -> String {
    let told = status.conditions.iter().map(|known| {
        let status = known.status.as_str().chars().next().unwrap_or('?');
        format!("{}={status}/{}", known.type_, known.reason)
    });
    told.collect::<Vec<_>>().join(" ")
}

/// ApplicationInstances.
struct Applications;

impl Model for Applications {
    type World = World;
    type Move = Move;
    type Shot = Shot;
    type Memory = Memory;
    type Desk = Desk;
    type Plan = ApplicationPlan;
    type Write = Write;

    const KINDS: &'static [&'static str] = &[
        "ApplicationInstance",
        "OCIRepository",
        "HelmRelease",
        "the dependency",
        "drift Events",
        "Secret",
        "terminating objects",
    ];
    const INVARIANTS: &'static [(&'static str, &'static str)] = oracle::INVARIANTS;

    fn desk(&self) -> Desk {
        Desk::new()
    }

    fn begin(&self, dice: &mut Dice) -> World {
        world::begin(dice)
    }

    fn moves(&self, world: &World, memory: &Memory, events: usize, into: &mut Moves<Move>) {
        world::moves(world, memory, events, into);
    }

    fn make(&self, world: &mut World, memory: &mut Memory, what: Move, now: i64) {
        if !world.is_gone {
            world::make(world, memory, what, now);
        }
    }

    fn rest(&self, world: &mut World, memory: &mut Memory, now: i64) {
        world::rest(world, memory, now);
    }

    fn is_over(&self, world: &World) -> bool {
        world.is_gone
    }

    fn version(&self, world: &World, kind: usize) -> u32 {
        match kind {
            OWN => world.app.version,
            SOURCE => world.source_version,
            RELEASE => world.release_version,
            3 => world.dependency_version,
            4 => world.drift_version,
            5 => world.secret_version,
            _ => world.leftovers_version,
        }
    }

    fn shot(&self, world: &World, kind: usize) -> Shot {
        match kind {
            OWN => Shot::Instance(world.app.clone()),
            SOURCE => Shot::Source(world.source),
            RELEASE => Shot::Release(world.release),
            3 => Shot::Dependency(world.dependency_ready),
            4 => Shot::Drift(world.drift),
            5 => Shot::Secret(world.secret_version, world.secret),
            _ => Shot::Leftovers(world.leftovers_version, world.leftovers),
        }
    }

    fn decide(&self, desk: &mut Desk, view: &[Shot], memory: &Memory, now: i64) -> ApplicationPlan {
        desk.decide(&look(view), memory, now)
    }

    fn writes(&self, plan: &ApplicationPlan, view: &[Shot]) -> Vec<Write> {
        writes(plan, &look(view))
    }

    fn write(&self, world: &mut World, write: &Write, _now: i64) -> Effect {
        carry_out(world, write)
    }

    fn goes_on(&self, memory: &Memory, refused: Option<&Write>, write: &Write) -> bool {
        match write {
            // A status is written only by a plan that knew how its children would fare.
            Write::Status { .. } => refused.is_some() == memory.is_denied,
            // The end is not written by one that took a refusal for standing which has gone.
            Write::LetGo { .. } => refused.is_none() && !memory.is_denied,
            _ => refused.is_none(),
        }
    }

    fn remember(&self, memory: &mut Memory, plan: &ApplicationPlan, refused: Option<&Write>) {
        remember(memory, plan, refused);
    }

    fn requeue_at(&self, plan: &ApplicationPlan) -> Option<i64> {
        plan.requeue_at.map(shown::seconds)
    }

    fn wishes(&self, view: &[Shot]) -> u64 {
        let app = look(view).app;
        hash_of((app.generation, app.spec, app.paused, app.retry, app.deleting, app.finalizer))
    }

    fn remembered(&self, memory: &Memory) -> u64 {
        hash_of(memory)
    }

    fn facts(&self, view: &[Shot], memory: &Memory) -> u64 {
        let seen = look(view);
        let app = seen.app;
        let release = seen.release.map(|known| {
            // A revision that Helm has stored is no flicker: a try that failed like the one before it is another one.
            let revision = known.history[0].map(|newest| newest.number);
            (known.uid, known.change, known.suspend, known.deleting, known.generation, known.truth, revision)
        });
        let source = seen.source.map(|known| {
            let trouble = known.fetch_failed.map(|failed| failed.trouble);
            (known.uid, known.version, known.artifact, known.observed, trouble)
        });
        hash_of((
            (app.spec, app.paused, app.retry, app.deleting),
            release,
            source,
            (seen.dependency_ready, seen.drift, seen.secret, seen.leftovers),
            memory,
        ))
    }

    fn said(&self, world: &World) -> [u64; 8] {
        let mut said = [0; 8];
        let conditions = world.app.status.iter().flat_map(|status| status.conditions.iter());
        for (place, known) in said.iter_mut().zip(conditions) {
            *place = hash_of((known.status, &known.reason));
        }
        said
    }

    fn said_in_words(&self, world: &World) -> String {
        world.app.status.as_ref().map_or_else(|| "nothing".to_owned(), |status| words(status))
    }

    fn outcome(&self, world: &World, now: i64) -> (u64, u64) {
        outcome::of(world, now)
    }

    fn judge(
        &self,
        world: &mut World,
        view: &[Shot],
        memory: &Memory,
        plan: &ApplicationPlan,
        now: i64,
    ) -> Result<(), Violation> {
        oracle::judge(world, &look(view), memory, plan, now)
    }

    fn judge_write(&self, world: &World, view: &[Shot], write: &Write) -> Result<(), Violation> {
        oracle::judge_write(world, &look(view), write)
    }

    fn judge_settled(&self, world: &World, now: i64) -> Result<(), Violation> {
        oracle::judge_settled(world, now)
    }
}

/// What `act` would ask of the API server, by what the caches show.
fn writes(plan: &ApplicationPlan, seen: &Look<'_>) -> Vec<Write> {
    let app = seen.app;
    let mut writes = Vec::new();
    let mut lock = app.version;
    for step in plan.steps() {
        match step {
            Step::Hold if !app.finalizer && !app.deleting => {
                writes.push(Write::HoldFinalizer { lock });
                lock += 1;
            }
            Step::Apply(child) => writes.extend(apply(seen, child)),
            Step::Delete(_) => {
                writes.extend(seen.release.map(|release| Write::DeleteRelease { uid: release.uid }));
            }
            Step::RequestReconcile(_) => writes.push(reconcile_request(seen)),
            Step::LetGo(_) if app.finalizer => {
                writes.push(Write::LetGo { lock });
                return writes;
            }
            Step::Say(status) if differs(app.status.as_deref(), status) => {
                writes.push(Write::Status { lock, status: Rc::new(as_read_back(status)) });
            }
            Step::Hold | Step::LetGo(_) | Step::Say(_) => {}
            Step::Create(_) | Step::Patch(_) => panic!("no plan for an instance has it: {step:?}"),
        }
    }
    writes
}

fn apply(seen: &Look<'_>, child: &Child) -> Option<Write> {
    let id = child.id();
    let change = seen.app.spec.change;
    match id.resource.kind.as_str() {
        // The source that only finds out what there is to approve is no part of the model: nobody approves anything in it.
        _ if id.key.name == shown::CANDIDATE => None,
        "HelmRelease" => match child.at("/spec/suspend").and_then(serde_json::Value::as_bool) {
            // As it stands, only suspended or not.
            Some(suspend) => apply_release(seen, seen.release.map_or(change, |live| live.change), suspend),
            None => apply_release(seen, change, false),
        },
        _ => {
            let is_so = seen.source.is_some_and(|live| live.version == change.version);
            (!is_so).then_some(Write::Source(change.version))
        }
    }
}

fn apply_release(seen: &Look<'_>, change: Change, suspend: bool) -> Option<Write> {
    let is_so = seen.release.is_some_and(|live| live.change == change && live.suspend == suspend);
    (!is_so).then_some(Write::Release { change, suspend })
}

fn reconcile_request(seen: &Look<'_>) -> Write {
    let live = seen.release.map_or(0, |live| live.reset);
    if seen.app.retry != 0 && live != seen.app.retry {
        return Write::ReconcileRequest { requested: u16::from(seen.app.retry), reset: Some(seen.app.retry) };
    }
    Write::ReconcileRequest {
        requested: shown::VALUES_MARK + u16::from(seen.secret.1.unwrap_or_default()),
        reset: None,
    }
}

/// Whether a status says something else; the time alone is nothing else.
fn differs(before: Option<&ApplicationInstanceStatus>, after: &ApplicationInstanceStatus) -> bool {
    let Some(before) = before else { return *after != ApplicationInstanceStatus::default() };
    // Named one by one, so that a new field cannot be forgotten here.
    let ApplicationInstanceStatus {
        conditions,
        observed_generation,
        helm_release_ref,
        last_applied_chart,
        last_successful_release,
        last_approved_change,
        endpoints,
        install_attempted,
        secret_values,
        chart_trouble,
        open_window,
        flux_complaint,
        missing_secret,
        chart_warnings,
        sequence: _,
        last_reconcile_time: _,
    } = after;
    before.conditions != *conditions
        || before.observed_generation != *observed_generation
        || before.helm_release_ref != *helm_release_ref
        || before.last_applied_chart != *last_applied_chart
        || before.last_successful_release != *last_successful_release
        || before.last_approved_change != *last_approved_change
        || before.endpoints != *endpoints
        || before.install_attempted != *install_attempted
        || before.secret_values != *secret_values
        || before.chart_trouble != *chart_trouble
        || before.open_window != *open_window
        || before.flux_complaint != *flux_complaint
        || before.missing_secret != *missing_secret
        || before.chart_warnings != *chart_warnings
}

/// What was written comes back without what only its author knew.
fn as_read_back(status: &ApplicationInstanceStatus) -> ApplicationInstanceStatus {
    ApplicationInstanceStatus {
        conditions: ConditionSet::from(status.conditions.as_slice().to_vec()),
        observed_generation: status.observed_generation,
        helm_release_ref: status.helm_release_ref.clone(),
        last_applied_chart: status.last_applied_chart.clone(),
        last_successful_release: status.last_successful_release.clone(),
        last_approved_change: status.last_approved_change.clone(),
        endpoints: status.endpoints.clone(),
        sequence: status.sequence,
        install_attempted: status.install_attempted,
        secret_values: status.secret_values,
        chart_trouble: status.chart_trouble.clone(),
        open_window: status.open_window.clone(),
        flux_complaint: status.flux_complaint.clone(),
        missing_secret: status.missing_secret.clone(),
        chart_warnings: status.chart_warnings,
        last_reconcile_time: status.last_reconcile_time.clone(),
    }
}

/// What the API server makes of a request.
fn carry_out(world: &mut World, write: &Write) -> Effect {
    let is_locked_out = |lock: u32| lock != world.app.version;
    match write {
        Write::HoldFinalizer { lock } | Write::Status { lock, .. } | Write::LetGo { lock }
            if is_locked_out(*lock) =>
        {
            return Effect::Conflict;
        }
        Write::Source(_) | Write::Release { .. } if world.admission_denies => return Effect::Refused,
        _ => {}
    }
    match write {
        Write::HoldFinalizer { .. } => {
            world.app.finalizer = true;
            world.app.version += 1;
            Effect::Wrote(OWN)
        }
        Write::Status { status, .. } => {
            world.app.status = Some(Rc::clone(status));
            world.app.version += 1;
            Effect::Wrote(OWN)
        }
        Write::LetGo { .. } => {
            world.app.finalizer = false;
            world.app.version += 1;
            world.is_gone = world.app.deleting;
            Effect::Wrote(OWN)
        }
        Write::Source(version) => apply_to_source(world, *version),
        Write::Release { change, suspend } => apply_to_release(world, *change, *suspend),
        Write::DeleteRelease { uid } => {
            if world.release.is_some_and(|release| release.uid == *uid) {
                flux::delete_release(world);
            }
            Effect::Wrote(RELEASE)
        }
        Write::ReconcileRequest { requested, reset } => {
            if let Some(release) = &mut world.release {
                release.requested = *requested;
                release.reset = reset.unwrap_or(release.reset);
                world.helm.is_due = true;
                world.touch_release();
            }
            Effect::Wrote(RELEASE)
        }
    }
}

fn apply_to_source(world: &mut World, version: Version) -> Effect {
    match &mut world.source {
        None => {
            world.source = Some(Source::new(world.next_uid, version));
            world.next_uid = world.next_uid.wrapping_add(1);
        }
        Some(live) if live.version == version => return Effect::Wrote(SOURCE),
        Some(live) => {
            live.generation += 1;
            live.version = version;
        }
    }
    world.sources.is_due = true;
    world.touch_source();
    Effect::Wrote(SOURCE)
}

/// The chart's version is not in the release but in its source: such a change is no new generation.
fn apply_to_release(world: &mut World, change: Change, suspend: bool) -> Effect {
    match &mut world.release {
        None => {
            world.release = Some(Release { suspend, ..Release::new(world.next_uid, change, world.running) });
            world.next_uid = world.next_uid.wrapping_add(1);
            world.helm.is_due = true;
        }
        Some(live) if live.change == change && live.suspend == suspend => return Effect::Wrote(RELEASE),
        Some(live) => {
            let spec = |change: Change| (change.config, change.keeps_failed, change.retries);
            if spec(live.change) != spec(change) || live.suspend != suspend {
                live.generation += 1;
                world.helm.is_due = true;
            }
            (live.change, live.suspend) = (change, suspend);
        }
    }
    world.touch_release();
    Effect::Wrote(RELEASE)
}

fn remember(memory: &mut Memory, plan: &ApplicationPlan, refused: Option<&Write>) {
    memory.is_denied = refused.is_some();
    memory.asks_check = plan.polls.iter().any(|poll| poll.get::<ReadinessPoll>().is_some());
    memory.asks_chart = plan.polls.iter().find_map(|poll| {
        let artifact: &ArtifactRef = poll.get()?;
        Version::ALL.into_iter().find(|version| version.digest() == artifact.digest)
    });
    if !memory.asks_check {
        memory.check = None;
    }
    if memory.chart != memory.asks_chart {
        memory.chart = None;
    }
    let wants =
        |kind: &str| plan.temporary_watches.iter().any(|temporary_watch| temporary_watch.kind() == kind);
    // Only the end of an instance asks for workloads.
    memory.wants_leftovers = wants("Deployment");
    memory.wants_values = !memory.wants_leftovers && wants("Secret");
    memory.listed_leftovers = memory.listed_leftovers.filter(|_| memory.wants_leftovers);
    memory.listed_values = memory.listed_values.filter(|_| memory.wants_values);
}

#[cfg(test)]
mod tests;
