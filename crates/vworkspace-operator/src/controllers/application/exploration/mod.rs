//! Drives this controller's `decide` through schedules: see docs/explore.md. The model is of Flux and of users, not of the
//! API server: of that only what plans rely on, which is the locked status, the effect of an apply on our own children,
//! and that a deletion hits only the object that was seen.

mod flux;
mod helm_controller;
mod oracle;
mod outcome;
mod product;
mod shown;
mod source_controller;
mod world;

use std::fmt;

use ::explore::{Dice, Effect, Model, Moves, Violation, WriteOf, hash_of};
use conditions::{Condition, ConditionSet};
use jiff::Timestamp;
use operator_kit::{Child, Plan, Step};
use vworkspace_api::application_instance::ApplicationInstanceStatus;

use super::polls::chart_archive::ArtifactRef;
use super::polls::readiness::ReadinessPoll;
use flux::{Release, Source};
use shown::Desk;
use world::{Change, Instance, Marks, Memory, Move, Spec, Version, World};

type ApplicationPlan = Plan<ApplicationInstanceStatus>;
type Write = WriteOf<Applications>;

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

/// One request to Flux's objects.
#[derive(Debug, Clone)]
enum FluxWrite {
    Source(Version),
    Release { change: Change, suspend: bool },
    DeleteRelease { uid: u8 },
    ReconcileRequest { requested: u16, reset: Option<u8> },
}

impl fmt::Display for FluxWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FluxWrite::Source(version) => write!(f, "the source at {}", version.text()),
            FluxWrite::Release { change, suspend } => {
                let suspended = if *suspend { ", suspended" } else { "" };
                write!(f, "the release for {} with {:?}{suspended}", change.version.text(), change.config)
            }
            FluxWrite::DeleteRelease { .. } => f.write_str("the deletion of the release"),
            FluxWrite::ReconcileRequest { .. } => f.write_str("a reconcile request to Flux"),
        }
    }
}

fn words(status: &ApplicationInstanceStatus) -> String {
    ::explore::words(status.conditions.as_slice())
}

/// ApplicationInstances.
struct Applications;

impl Model for Applications {
    type World = World;
    type Move = Move;
    type Shot = Shot;
    type Memory = Memory;
    type Desk = Desk;
    type Spec = Spec;
    type Marks = Marks;
    type Status = ApplicationInstanceStatus;
    type Child = FluxWrite;

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
        if !world.app.is_gone {
            world::make(world, memory, what, now);
        }
    }

    fn rest(&self, world: &mut World, memory: &mut Memory, now: i64) {
        world::rest(world, memory, now);
    }

    fn start(&self) -> Timestamp {
        shown::time(0)
    }

    fn own<'a>(&self, world: &'a World, _: usize) -> &'a Instance {
        &world.app
    }

    fn own_mut<'a>(&self, world: &'a mut World, _: usize) -> &'a mut Instance {
        &mut world.app
    }

    fn shown<'a>(&self, view: &'a [Shot], _: usize) -> &'a Instance {
        look(view).app
    }

    fn conditions<'a>(&self, status: &'a ApplicationInstanceStatus) -> &'a [Condition] {
        status.conditions.as_slice()
    }

    fn differs(&self, before: Option<&ApplicationInstanceStatus>, after: &ApplicationInstanceStatus) -> bool {
        differs(before, after)
    }

    fn read_back(&self, status: &ApplicationInstanceStatus) -> ApplicationInstanceStatus {
        as_read_back(status)
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

    fn decide(&self, desk: &mut Desk, view: &[Shot], memory: &Memory, _: usize, now: i64) -> ApplicationPlan {
        desk.decide(&look(view), memory, now)
    }

    fn child(&self, step: Step<'_, ApplicationInstanceStatus>, view: &[Shot], _: usize) -> Option<FluxWrite> {
        flux_write(step, &look(view))
    }

    fn write(&self, world: &mut World, write: &FluxWrite, _now: i64) -> Effect {
        carry_out(world, write)
    }

    fn remember(&self, memory: &mut Memory, _: usize, plan: &ApplicationPlan, is_refused: bool) {
        remember(memory, plan, is_refused);
    }

    fn facts(&self, view: &[Shot], memory: &Memory, _: usize) -> u64 {
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
            (app.spec, app.marks, app.deleting),
            release,
            source,
            (seen.dependency_ready, seen.drift, seen.secret, seen.leftovers),
            memory,
        ))
    }

    fn outcome(&self, world: &World, now: i64) -> (u64, u64) {
        outcome::of(world, now)
    }

    fn judge(
        &self,
        world: &mut World,
        view: &[Shot],
        memory: &Memory,
        _: usize,
        plan: &ApplicationPlan,
        now: i64,
    ) -> Result<(), Violation> {
        oracle::judge(world, &look(view), memory, plan, now)
    }

    fn judge_write(&self, world: &World, view: &[Shot], _: usize, write: &Write) -> Result<(), Violation> {
        oracle::judge_write(world, &look(view), write)
    }

    fn judge_settled(&self, world: &World, now: i64) -> Result<(), Violation> {
        oracle::judge_settled(world, now)
    }
}

/// What a step asks of Flux's objects, by what the caches show.
fn flux_write(step: Step<'_, ApplicationInstanceStatus>, seen: &Look<'_>) -> Option<FluxWrite> {
    match step {
        Step::Apply(child) => apply(seen, child),
        Step::Delete(_) => seen.release.map(|release| FluxWrite::DeleteRelease { uid: release.uid }),
        Step::RequestReconcile(_) => Some(reconcile_request(seen)),
        other => panic!("no plan for an instance has it: {other:?}"),
    }
}

/// Everything that a plan asks of the API server.
fn writes(plan: &ApplicationPlan, seen: &Look<'_>) -> Vec<Write> {
    ::explore::writes(&Applications, plan, seen.app, |step| flux_write(step, seen))
}

fn apply(seen: &Look<'_>, child: &Child) -> Option<FluxWrite> {
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
            (!is_so).then_some(FluxWrite::Source(change.version))
        }
    }
}

fn apply_release(seen: &Look<'_>, change: Change, suspend: bool) -> Option<FluxWrite> {
    let is_so = seen.release.is_some_and(|live| live.change == change && live.suspend == suspend);
    (!is_so).then_some(FluxWrite::Release { change, suspend })
}

fn reconcile_request(seen: &Look<'_>) -> FluxWrite {
    let live = seen.release.map_or(0, |live| live.reset);
    if seen.app.marks.retry != 0 && live != seen.app.marks.retry {
        return FluxWrite::ReconcileRequest {
            requested: u16::from(seen.app.marks.retry),
            reset: Some(seen.app.marks.retry),
        };
    }
    FluxWrite::ReconcileRequest {
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
        paused_for,
        flux_complaint,
        missing_secret,
        missing_certificate,
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
        || before.paused_for != *paused_for
        || before.flux_complaint != *flux_complaint
        || before.missing_secret != *missing_secret
        || before.missing_certificate != *missing_certificate
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
        paused_for: status.paused_for.clone(),
        flux_complaint: status.flux_complaint.clone(),
        missing_secret: status.missing_secret.clone(),
        missing_certificate: status.missing_certificate.clone(),
        chart_warnings: status.chart_warnings,
        last_reconcile_time: status.last_reconcile_time.clone(),
    }
}

/// What the API server makes of a request.
fn carry_out(world: &mut World, write: &FluxWrite) -> Effect {
    match write {
        FluxWrite::Source(_) | FluxWrite::Release { .. } if world.admission_denies => Effect::Refused,
        FluxWrite::Source(version) => apply_to_source(world, *version),
        FluxWrite::Release { change, suspend } => apply_to_release(world, *change, *suspend),
        FluxWrite::DeleteRelease { uid } => {
            if world.release.is_some_and(|release| release.uid == *uid) {
                flux::delete_release(world);
            }
            Effect::Wrote(RELEASE)
        }
        FluxWrite::ReconcileRequest { requested, reset } => {
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

fn remember(memory: &mut Memory, plan: &ApplicationPlan, is_refused: bool) {
    memory.is_denied = is_refused;
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
