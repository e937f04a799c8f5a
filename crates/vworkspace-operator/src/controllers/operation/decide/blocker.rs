//! What must hold before an operation may start, whoever else wants to.

use conditions::{Finding, Rule, Status, Subject, first as first_of};
use jiff::Timestamp;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Blocked, Operation};

use super::Rules;
use super::approval::{self, Approval};
use crate::controllers::application::is_left_alone;
use crate::controllers::operation::engines::Engine;
use crate::controllers::operation::observe::World;

/// An operation that might start.
pub(super) struct Candidate<'a> {
    pub(super) operation: &'a Operation,
    pub(super) engine: &'a dyn Engine,
    pub(super) instance: &'a ApplicationInstance,
    pub(super) world: &'a World,
    pub(super) rules: &'a Rules,
    pub(super) now: Timestamp,
}

/// The rules are about [`Candidate`]s.
pub(super) struct Starting;

impl Subject for Starting {
    type Facts<'a> = Candidate<'a>;
}

/// A reason, and the words for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Obstacle(Blocked, String);

impl Finding<Blocked> for Obstacle {
    fn reason(&self) -> Option<Blocked> {
        Some(self.0)
    }
}

/// What only a person can change comes first, what passes by itself last.
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Starting, Blocked, Obstacle>] = &[
    Rule::new(&[Blocked::CapabilityMissing], "the target does not list the engine for this", |candidate| said(Blocked::CapabilityMissing, capability(candidate))),
    Rule::new(&[Blocked::AwaitingApproval], "it needs an approval and has none", |candidate| said(Blocked::AwaitingApproval, unapproved(candidate))),
    Rule::new(&[Blocked::DependencyMissing], "the engine cannot take any work", |candidate| said(Blocked::DependencyMissing, candidate.engine.lacks())),
    Rule::new(&[Blocked::TargetSuspended], "the target has to be paused for it, and somebody wants it to be left alone", |candidate| said(Blocked::TargetSuspended, left_alone(candidate))),
    Rule::new(&[Blocked::TargetNotReady], "the target is not Ready, and it has to be", |candidate| said(Blocked::TargetNotReady, not_ready(candidate))),
];

pub(super) fn first(candidate: &Candidate<'_>) -> Option<(Blocked, String)> {
    first_of(RULES, candidate).map(|(Obstacle(reason, message), _)| (reason, message))
}

fn said(reason: Blocked, message: Option<String>) -> Option<Obstacle> {
    message.map(|message| Obstacle(reason, message))
}

/// The target lists the engines that it can be worked on with.
fn capability(candidate: &Candidate<'_>) -> Option<String> {
    let Candidate { operation, instance, .. } = candidate;
    let verb = operation.spec.template()?.verb;
    let annotation = format!("ops.vworkspace.io/{verb}");
    let engine = operation.spec.engine.to_string();
    let listed = instance.metadata.annotations.as_ref().and_then(|known| known.get(&annotation));
    let target = &operation.spec.target_ref.name;
    match listed {
        None => Some(format!(
            "ApplicationInstance {target} has no annotation {annotation}; expected one that lists {engine}."
        )),
        Some(listed) if !listed.split(',').any(|known| known.trim() == engine) => Some(format!(
            "Annotation {annotation} of ApplicationInstance {target} is '{listed}'; expected {engine} in it."
        )),
        Some(_) => None,
    }
}

fn unapproved(candidate: &Candidate<'_>) -> Option<String> {
    let Candidate { operation, world, rules, now, .. } = candidate;
    match approval::of(operation, &world.cluster, rules, *now) {
        Approval::Missing(what) => Some(what),
        Approval::NotNeeded | Approval::Accepted(_) => None,
    }
}

/// By annotation nobody but the one who set it ends the pause, and nobody suspends the release.
fn left_alone(candidate: &Candidate<'_>) -> Option<String> {
    let Candidate { operation, instance, engine, .. } = candidate;
    let is_left_alone = is_left_alone(instance);
    engine.lacks_pause().filter(|_| is_left_alone).map(|_| {
        format!(
            "ApplicationInstance {} has annotation apps.vworkspace.io/reconcile: disabled; expected none, because its release \
             has to be suspended.",
            operation.spec.target_ref.name
        )
    })
}

/// What was said of an earlier generation of the target does not count.
fn not_ready(candidate: &Candidate<'_>) -> Option<String> {
    let Candidate { operation, instance, .. } = candidate;
    if !operation.spec.requires_ready() {
        return None;
    }
    let target = &operation.spec.target_ref.name;
    let status = instance.status.as_ref();
    let is_current = status.is_some_and(|status| status.observed_generation == instance.metadata.generation);
    let ready = status.and_then(|status| status.conditions.get("Ready"));
    match ready {
        Some(ready) if ready.status == Status::True && is_current => None,
        Some(ready) if ready.status != Status::True => {
            Some(format!("ApplicationInstance {target} is not Ready ({}): {}", ready.reason, ready.message))
        }
        _ => Some(format!("Whether ApplicationInstance {target} is Ready is not known yet.")),
    }
}
