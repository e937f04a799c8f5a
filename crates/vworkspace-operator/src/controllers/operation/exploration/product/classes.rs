//! Classes of inputs, and what each of them proves to whoever sees it.

use std::time::Duration;

use agent_protocol::{PublicKeys, SharedSecret, Vws1Claim};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Child, Deletion, Dependents, ObjectKey, Sight};
use serde_json::{Value, json};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{EngineRef, Failed, Operation, OperationStatus};

use super::super::shown::{instance, refusal, show_target, time};
use super::super::world::Target;
use crate::controllers::operation::decide::{self, Rules};
use crate::controllers::operation::engines::{
    Discard, Ending, Engine, Outcome, Permission, Progress, State, Stop,
};
use crate::controllers::operation::observe::{AllowedTypes, Other, World};
use crate::external::velero::DeleteBackupRequest;

pub(super) const ENGINES: usize = 14;
pub(super) const STOPS: usize = 4;
pub(super) const STATUSES: usize = 4;
pub(super) const SPECS: usize = 81;
pub(super) const NAMESPACES: usize = 3;
pub(super) const OTHERS: usize = 5;
pub(super) const TARGETS: usize = 6;

/// What is proven of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts(u32);

impl Facts {
    const NONE: Self = Self(0);
    pub(super) const NOT_STARTED: Self = Self(1);
    /// The operation does not know of anything that was made for it.
    pub(super) const UNRECORDED: Self = Self(1 << 1);
    pub(super) const AT_WORK: Self = Self(1 << 2);
    pub(super) const ENDED_WELL: Self = Self(1 << 3);
    pub(super) const ENDED_BADLY: Self = Self(1 << 4);
    pub(super) const ENDED_LATE: Self = Self(1 << 5);
    /// Something was made for it and is not there any more.
    pub(super) const GONE: Self = Self(1 << 6);
    /// Nothing that does the work is there, or can be.
    pub(super) const NOTHING_THERE: Self = Self(1 << 7);
    /// What it has done cannot be removed.
    pub(super) const STUCK: Self = Self(1 << 8);
    pub(super) const TIMED: Self = Self(1 << 9);
    pub(super) const WAITED: Self = Self(1 << 10);
    pub(super) const CANCELLED: Self = Self(1 << 11);
    pub(super) const WANTED: Self = Self(1 << 12);
    pub(super) const NEWER: Self = Self(1 << 13);
    pub(super) const UNABLE: Self = Self(1 << 14);
    pub(super) const ABLE: Self = Self(1 << 15);
    pub(super) const UNAPPROVED: Self = Self(1 << 16);
    pub(super) const APPROVED: Self = Self(1 << 17);
    pub(super) const LACKS: Self = Self(1 << 18);
    pub(super) const NOT_READY: Self = Self(1 << 19);
    pub(super) const READY: Self = Self(1 << 20);
    pub(super) const IN_THE_WAY: Self = Self(1 << 21);
    pub(super) const FREE_WAY: Self = Self(1 << 22);
    pub(super) const INVALID: Self = Self(1 << 23);
    pub(super) const NO_TARGET: Self = Self(1 << 24);
    pub(super) const FORBIDDEN: Self = Self(1 << 25);
    pub(super) const ALLOWED: Self = Self(1 << 26);
    pub(super) const FINISHED: Self = Self(1 << 27);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn prove(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// An engine that is as a class wants it.
#[derive(Clone)]
struct Shown {
    state: State,
    lacks: bool,
    is_installed: bool,
    permission: Permission,
    stop: usize,
}

impl Engine for Shown {
    fn permission(&self, _: &Operation) -> Permission {
        self.permission.clone()
    }

    fn lacks(&self) -> Option<String> {
        self.lacks.then(|| "nothing to do it with".to_owned())
    }

    fn is_installed(&self) -> bool {
        self.is_installed
    }

    fn start(&self, _: &Operation) -> Vec<Child> {
        vec![Child::new::<Job>(&key())]
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    fn engine_ref(&self) -> Option<EngineRef> {
        (!matches!(self.state, State::NotStarted | State::Unknown(_))).then(engine_ref)
    }

    fn stop(&self) -> Stop {
        match self.stop {
            0 | 3 => Stop::Delete(Box::new(deletion())),
            1 => Stop::Underway,
            _ => Stop::Impossible("Nobody stops it."),
        }
    }

    fn discard(&self, _: &Operation) -> Discard {
        match self.stop {
            0 => Discard::Create(Box::new(Child::new::<DeleteBackupRequest>(&key()))),
            1 => Discard::Underway("It is being removed.".to_owned()),
            2 => Discard::Keep,
            _ => Discard::Stuck("It cannot be removed.".to_owned()),
        }
    }

    fn cleanup(&self) -> Option<(Duration, Deletion)> {
        None
    }
}

fn key() -> ObjectKey {
    ObjectKey::namespaced("shop", "work")
}

fn deletion() -> Deletion {
    Deletion::new::<Job>(key(), "work", Dependents::GoFirst)
}

fn engine_ref() -> EngineRef {
    EngineRef {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "work".to_owned(),
        namespace: "shop".to_owned(),
        uid: Some("work".to_owned()),
    }
}

/// What is seen of an engine; nothing of one whose parameters are wrong.
fn engine(class: usize) -> (Option<Shown>, Facts) {
    let progress = |since: i64| Progress { since: Some(time(since)), ..Progress::default() };
    let ending = |outcome, ended: i64| {
        let outputs = serde_json::Map::new();
        let (since, at) = (Some(time(100)), Some(time(ended)));
        State::Ended(Ending { outcome, message: String::new(), outputs, logs_ref: None, since, at })
    };
    let shown =
        |state| Shown { state, lacks: false, is_installed: true, permission: Permission::Granted, stop: 0 };
    let idle = || shown(State::NotStarted);
    let (idly, there) = (Facts::NOT_STARTED.and(Facts::NOTHING_THERE), Facts::NONE);
    let refused = Permission::Refused("not as things stand".to_owned());
    let badly = Outcome::Failed(Failed::VeleroBackupFailed);
    let (shown, facts) = match class {
        0 => return (None, Facts::INVALID.and(Facts::NOTHING_THERE).and(Facts::NOT_STARTED)),
        1 => (idle(), idly),
        2 => (Shown { lacks: true, ..idle() }, idly.and(Facts::LACKS)),
        3 => (Shown { lacks: true, is_installed: false, ..idle() }, idly.and(Facts::LACKS)),
        4 => (Shown { permission: Permission::Unseen, ..idle() }, idly),
        5 => (Shown { permission: refused, ..idle() }, idly.and(Facts::INVALID)),
        6 => (shown(State::Unknown("forbidden".to_owned())), there),
        7 => (shown(State::Waiting(Progress::default())), there),
        8 => (shown(State::Running(progress(650))), Facts::AT_WORK),
        9 => (shown(State::Running(progress(100))), Facts::AT_WORK),
        10 => (shown(State::Ending(progress(650))), Facts::AT_WORK),
        11 => (shown(ending(Outcome::Succeeded, 150)), Facts::ENDED_WELL),
        12 => (shown(ending(Outcome::Succeeded, 600)), Facts::ENDED_WELL.and(Facts::ENDED_LATE)),
        _ => (shown(ending(badly, 150)), Facts::ENDED_BADLY),
    };
    (Some(shown), facts)
}

/// What is asked for: what, whether somebody wants it to end, its times, and its approval.
fn operation(class: usize, claim: &str) -> (Operation, Facts) {
    let (task, end, times, approval) = (class % 3, class / 3 % 3, class / 9 % 3, class / 27);
    let work = match task {
        0 => json!({"type": "RunCommand", "engine": "job", "parameters": {"image": "tools:1"}}),
        1 => {
            json!({"type": "RunCommand", "engine": "job", "parameters": {"image": "tools:1"}, "policy": {"exclusive": true}})
        }
        _ => json!({"type": "Backup", "engine": "velero"}),
    };
    let mut operation = named("own", "5", &work);
    let mut facts = Facts::NONE;
    match end {
        0 => facts = facts.and(Facts::WANTED),
        1 => operation.spec.cancel = true,
        _ => operation.metadata.deletion_timestamp = Some(Time(time(500))),
    }
    if end > 0 {
        facts = facts.and(Facts::CANCELLED);
    }
    let length = vworkspace_api::Duration::from_secs;
    match times {
        0 => {}
        1 => {
            operation.spec.timeout = Some(length(300));
            operation.spec.policy.wait_timeout = Some(length(3600));
            facts = facts.and(Facts::TIMED);
        }
        _ => {
            operation.spec.policy.wait_timeout = Some(length(600));
            facts = facts.and(Facts::WAITED);
        }
    }
    operation.spec.approvals.required = approval > 0;
    operation.spec.approvals.claim = (approval == 2).then(|| claim.to_owned());
    facts = facts.and(if approval == 1 { Facts::UNAPPROVED } else { Facts::APPROVED });
    (operation, facts)
}

fn named(name: &str, uid: &str, work: &Value) -> Operation {
    let mut spec = json!({"targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"}});
    spec.as_object_mut().unwrap().extend(work.as_object().unwrap().clone());
    serde_json::from_value(json!({"apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation", "spec": spec,
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "generation": 1, "creationTimestamp": time(0).to_string()}}))
    .unwrap()
}

fn target(class: usize) -> (Sight<ApplicationInstance>, Facts) {
    let there = |is_ready, is_able| {
        let mut instance = instance();
        show_target(&mut instance, Target { is_there: true, is_ready, is_able });
        instance
    };
    match class {
        0 => (Sight::Present(there(true, true)), Facts::READY.and(Facts::ABLE)),
        1 => (Sight::Present(there(false, true)), Facts::NOT_READY.and(Facts::ABLE)),
        2 => (Sight::Present(there(true, false)), Facts::UNABLE),
        3 => (Sight::Absent, Facts::NO_TARGET),
        4 => (Sight::Unknown("forbidden".to_owned()), Facts::NONE),
        _ => {
            let mut ending = there(true, true);
            ending.metadata.deletion_timestamp = Some(Time(time(0)));
            (Sight::Present(ending), Facts::NO_TARGET)
        }
    }
}

/// Who else is there, and whether it is in the way of a command that is free, of one that is not, and of a backup.
fn others(class: usize) -> (Vec<Other>, [Facts; 3]) {
    let idle = || engine(1).0.map(|shown| -> Box<dyn Engine> { Box::new(shown) });
    let exclusive = json!({"type": "RunCommand", "engine": "job", "parameters": {"image": "tools:1"},
        "policy": {"exclusive": true, "requireReady": false}});
    let backup = json!({"type": "Backup", "engine": "velero"});
    let (free, blocked) = (Facts::FREE_WAY, Facts::IN_THE_WAY);
    let other = |operation, engine| vec![Other { operation, engine }];
    let running = |mut operation: Operation| {
        operation.status =
            Some(OperationStatus { engine_ref: Some(engine_ref()), ..OperationStatus::default() });
        operation
    };
    match class {
        0 => (Vec::new(), [free; 3]),
        1 => (other(named("older", "1", &exclusive), idle()), [free, blocked, blocked]),
        2 => (other(running(named("busy", "9", &exclusive)), idle()), [free, blocked, blocked]),
        3 => (other(named("younger", "9", &exclusive), idle()), [free; 3]),
        _ => (other(running(named("saves", "9", &backup)), idle()), [free, blocked, free]),
    }
}

/// All classes, and a world that is changed in place: to build it anew costs more than to decide.
pub(super) struct Circumstances {
    pub(super) world: World,
    engines: Vec<(Option<Shown>, Facts)>,
    operations: Vec<Option<Operation>>,
    facts: Vec<Facts>,
    targets: Vec<(Sight<ApplicationInstance>, Facts)>,
    others: [Facts; 3],
    target: Facts,
    chosen: Option<(usize, usize)>,
    asked: usize,
}

impl Circumstances {
    pub(super) fn new() -> (Self, Rules) {
        let secret = SharedSecret::from_text("a secret").unwrap();
        let claim = Vws1Claim {
            at: time(0).to_string(),
            by: "somebody".to_owned(),
            exp: time(1_000_000),
            op: "own".to_owned(),
            rid: 1,
            v: 1,
        };
        let claim = secret.issue(&claim).unwrap();
        let rules = Rules { approval_keys: PublicKeys::default(), claim_secret: Some(secret) };
        let mut world = World {
            engine: Err("wrong parameters".to_owned()),
            target: target(0).0,
            others: Vec::new(),
            allowed_types: AllowedTypes::All,
            is_namespace_ending: false,
            refusals: Vec::new(),
            cluster: "lab".to_owned(),
        };
        let (mut operations, mut known) = (Vec::new(), Vec::new());
        for spec in 0..SPECS {
            let (operation, facts) = operation(spec, &claim);
            for status in 0..STATUSES {
                let (before, told) = before(&operation, status, &mut world, &rules);
                operations.push(Some(Operation { status: before, ..operation.clone() }));
                known.push(facts.and(told));
            }
        }
        let circumstances = Self {
            world,
            engines: (0..ENGINES).map(engine).collect(),
            operations,
            facts: known,
            targets: (0..TARGETS).map(target).collect(),
            others: [Facts::NONE; 3],
            target: Facts::NONE,
            chosen: None,
            asked: 0,
        };
        (circumstances, rules)
    }

    /// Makes the world that of one combination.
    pub(super) fn choose(&mut self, mut number: usize) -> (Facts, Operation) {
        let mut digit = |count: usize| {
            let value = number % count;
            number /= count;
            value
        };
        let (engine, stop, refused) = (digit(ENGINES), digit(STOPS), digit(2));
        let (status, spec) = (digit(STATUSES), digit(SPECS));
        let (namespace, others_, target) = (digit(NAMESPACES), digit(OTHERS), digit(TARGETS));
        if self.chosen != Some((others_, target)) {
            self.chosen = Some((others_, target));
            (self.world.others, self.others) = others(others_);
            let (sight, facts) = &self.targets[target];
            (self.world.target, self.target) = (sight.clone(), *facts);
        }
        self.asked = spec * STATUSES + status;
        let operation = self.operations[self.asked].take().unwrap();
        let mut facts = self.facts[self.asked];
        let (shown, proven) = &self.engines[engine];
        self.world.engine = match shown {
            Some(shown) => Ok(Box::new(Shown { stop, ..shown.clone() })),
            None => Err("wrong parameters".to_owned()),
        };
        self.world.refusals = (refused == 1).then(refusal).into_iter().collect();
        self.world.allowed_types = match namespace {
            0 => AllowedTypes::All,
            1 => AllowedTypes::NotYet,
            _ => AllowedTypes::Only(vec!["Upgrade".to_owned()]),
        };
        facts = facts.and(*proven).and(self.target).and(self.others[spec % 3]);
        facts = match namespace {
            0 => facts.and(Facts::ALLOWED),
            1 => facts,
            _ => facts.and(Facts::FORBIDDEN),
        };
        if stop == 3 {
            facts = facts.and(Facts::STUCK);
        }
        if !facts.prove(Facts::UNRECORDED) && facts.prove(Facts::NOT_STARTED) {
            facts = facts.and(Facts::GONE);
        }
        (facts, operation)
    }

    pub(super) fn put_back(&mut self, operation: Operation) {
        self.operations[self.asked] = Some(operation);
    }
}

/// What was said before: nothing, that it waits, that it runs, or how it ended.
fn before(
    operation: &Operation,
    class: usize,
    world: &mut World,
    rules: &Rules,
) -> (Option<OperationStatus>, Facts) {
    let mut said = |engine_class: usize| {
        world.engine = Ok(Box::new(engine(engine_class).0.unwrap()));
        let mut operation = operation.clone();
        (operation.spec.cancel, operation.metadata.deletion_timestamp) = (false, None);
        let plan = decide::plan(&operation, world, rules, time(10));
        Some(super::Operations::read(&plan.status))
    };
    match class {
        0 => (None, Facts::UNRECORDED),
        1 => (said(2), Facts::UNRECORDED),
        2 => (said(8), Facts::NONE),
        _ => (said(13), Facts::FINISHED),
    }
}
