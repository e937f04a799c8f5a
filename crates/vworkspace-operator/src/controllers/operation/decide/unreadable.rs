//! An operation that the API server has stored and that we cannot read: it is from a newer version of the operator, or from
//! before a rule of the schema.

use conditions::{Draft, Moment};
use jiff::Timestamp;
use operator_kit::{Quotes, Unreadable, one_line, redact};
use vworkspace_api::operation::{
    Accepted, Blocked, Cancelled, Failed, OperationStatus, Phase, Running, Succeeded,
};

/// What is wrong is told up to this length: it quotes what was found.
const LONGEST: usize = 400;

/// What has ended stays as it is; what has begun goes on, and is not followed before it can be read.
pub(in crate::controllers::operation) fn unreadable(
    Unreadable { generation, why, status, .. }: Unreadable<'_, OperationStatus>,
    now: Timestamp,
) -> OperationStatus {
    let before = status.unwrap_or_default();
    if before.phase.is_some_and(Phase::is_final) {
        return before;
    }
    let message = format!(
        "The object cannot be read: {}. Correct it, or upgrade the operator if it is older than the CRD.",
        one_line(&redact(why, Quotes::Trusted), LONGEST)
    );
    let mut draft = Draft::next(before.conditions.clone(), Moment { generation, now });
    draft.say(Accepted::ValidationFailed, message.clone());
    match draft.read::<Running>() {
        Some(_) => draft.keep::<Running>(),
        None => draft.say(Running::EngineNotStarted, ""),
    }
    draft.say(Succeeded::NotYetSucceeded, "");
    draft.say(Failed::NotFailed, "");
    draft.say(Cancelled::NotCancelled, "");
    match draft.read::<Blocked>() {
        Some(_) => draft.keep::<Blocked>(),
        None => draft.say(Blocked::NotBlocked, ""),
    }
    OperationStatus {
        conditions: draft.finish(),
        observed_generation: Some(generation),
        phase: before.phase.or(Some(Phase::Pending)),
        reason: Some(Accepted::ValidationFailed.entry().reason.to_owned()),
        message: Some(message),
        ..before
    }
}
