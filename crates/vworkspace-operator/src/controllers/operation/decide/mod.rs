//! Everything the operator does for an operation, from what it sees. Pure: same input, same plan.
//!
//! One file per question: what comes next, what is in its way, whose turn it is, what the conditions say, what is left to do
//! after the end.

mod approval;
mod blocker;
mod ended;
mod finished;
mod life;
mod line;
#[cfg(test)]
pub(crate) mod precedence;
mod queue;
mod status;
#[cfg(test)]
mod testing;
mod unreadable;

use agent_protocol::{PublicKeys, SharedSecret};
use jiff::Timestamp;
use operator_kit::{Finalizer, Plan};
use vworkspace_api::operation::{Operation, OperationStatus, Phase};

use super::observe::{self, World};
use life::{Life, Step};
pub(super) use line::told;
pub(super) use queue::Class;
pub(super) use unreadable::unreadable;

/// What the operator is told by its flags.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Whose approvals count.
    pub(crate) approval_keys: PublicKeys,
    /// What the control plane signs claims of the older form with, if it does.
    pub(crate) claim_secret: Option<SharedSecret>,
}

pub(super) fn plan(
    operation: &Operation,
    world: &World,
    rules: &Rules,
    now: Timestamp,
) -> Plan<OperationStatus> {
    if operation.status.as_ref().and_then(|status| status.phase).is_some_and(Phase::is_final) {
        return finished::plan(operation, world, now);
    }
    let step = life::next(operation, world, rules, now);
    let status = status::of(operation, world, &step, rules, now);
    let Step { life, shared, creations, patches, deletions, requeue_at } = step;
    let engine = world.engine.as_ref().ok().filter(|_| life.asks_the_engine());
    let of_engine = engine.map(|engine| engine.temporary_watches(operation)).unwrap_or_default();
    let own = life.is_before_start().then(|| observe::namespace_watch(operation));
    let of_outcome = world.engine.as_ref().map(|engine| engine.outcome_watches()).unwrap_or_default();
    let temporary_watches = own.into_iter().chain(of_engine).chain(of_outcome).collect();
    // With what it is put on for, it takes one reconcile less and no second look at the operation.
    let is_too_early = life == Life::Unseen && !status::has_started(operation);
    let finalizer = if is_too_early { Finalizer::AsItIs } else { Finalizer::Hold };
    Plan {
        shared,
        creations,
        patches,
        deletions,
        temporary_watches,
        polls: world.engine.as_ref().map(|engine| engine.polls()).unwrap_or_default(),
        requeue_at: requeue_at.filter(|at| *at > now),
        ..Plan::only_status(finalizer, status)
    }
}

#[cfg(test)]
mod tests;
