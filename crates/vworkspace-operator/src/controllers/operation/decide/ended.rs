//! An engine has ended its work. Mostly that is the end of the operation, too; what was to end before its time is removed
//! first, where it can be.

use jiff::Timestamp;
use operator_kit::{Deed, Refusal};
use vworkspace_api::operation::{Cancelled, Failed, Operation};

use super::life::{End, Life, Step, deadline, is_cancelled};
use crate::controllers::operation::engines::{Discard, Ending, Engine, Outcome, Progress};

/// What the end would have been without the engine.
enum Before {
    Cancelled,
    /// The time was over, as the spec says it.
    TimedOut(String),
}

pub(super) fn next(
    operation: &Operation,
    engine: &dyn Engine,
    ending: Ending,
    is_recorded: bool,
    refusals: &[Refusal],
    now: Timestamp,
) -> Step {
    let Some(before) = before(operation, &ending, now) else { return End::ByEngine(ending).into() };
    let why = match &before {
        Before::Cancelled => "It was to be cancelled".to_owned(),
        Before::TimedOut(timeout) => format!("It ended after spec.timeout ({timeout}) had passed"),
    };
    let removing = |how: &str| {
        let refused = refusals.iter().find(|refusal| refusal.deed == Deed::Make);
        let refused =
            refused.map(|refusal| format!(" {} could not be created: {}", refusal.object, refusal.message));
        let message = format!("{why}. {how}{}", refused.unwrap_or_default());
        Step::from(Life::Running(Progress { since: ending.since, message, ..Progress::default() }))
    };
    let asked = "It is being removed.";
    match engine.discard(operation) {
        // Once it is gone, only the status knows that there was something.
        Discard::Create(_) | Discard::Delete(_) if !is_recorded => removing(asked),
        Discard::Create(child) => Step { creations: vec![*child], ..removing(asked) },
        Discard::Delete(deletion) => Step { deletions: vec![*deletion], ..removing(asked) },
        Discard::Underway(how) => removing(&how),
        Discard::Stuck(problem) => match before {
            Before::Cancelled => End::Cancelled(Cancelled::UserCancelled, format!("{why}. {problem}")).into(),
            Before::TimedOut(_) => End::Failed(Failed::Timeout, format!("{why}. {problem}")).into(),
        },
        Discard::Keep => End::ByEngine(match before {
            Before::Cancelled => ending,
            Before::TimedOut(_) => Ending {
                outcome: Outcome::Failed(Failed::Timeout),
                message: format!("{why}: {}", ending.message),
                ..ending
            },
        })
        .into(),
    }
}

fn before(operation: &Operation, ending: &Ending, now: Timestamp) -> Option<Before> {
    if is_cancelled(operation) {
        return Some(Before::Cancelled);
    }
    // What ended in time and is seen late was in time.
    let deadline = deadline(operation, ending.since)?;
    // When a failure was is not always told: then it was in time.
    let ended = match ending.outcome {
        Outcome::Succeeded => ending.at.unwrap_or(now),
        Outcome::Failed(_) => ending.at?,
    };
    let timeout = operation.spec.timeout.filter(|_| ended > deadline)?;
    Some(Before::TimedOut(timeout.to_string()))
}
