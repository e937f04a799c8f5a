//! What carries operations out, one folder for each engine. Pure: an engine is what is seen of it for one operation, and
//! says what starts the work, how far it has come and what stops it. Nothing here knows conditions but those of a failure.

pub(crate) mod helm;
pub(crate) mod job;
pub(crate) mod velero;

use jiff::Timestamp;
use operator_kit::{AnyPoll, Child, Deletion, Patch, TemporaryWatch};
use serde_json::{Map, Value};
use vworkspace_api::operation::{EngineRef, Failed, LogsRef, Operation};

/// What is seen of the engine for one operation.
pub(crate) trait Engine: Send + Sync {
    /// Whether it may do what is asked of it.
    fn permission(&self, _operation: &Operation) -> Permission {
        Permission::Granted
    }

    /// What has to be seen to know that.
    fn temporary_watches(&self, _operation: &Operation) -> Vec<TemporaryWatch> {
        Vec::new()
    }

    /// Why it cannot take any work now, in words that name what is missing.
    fn lacks(&self) -> Option<String>;

    /// Whether the cluster has the kind of the object that does the work.
    fn is_installed(&self) -> bool {
        true
    }

    /// What has to be brought to rest before it is given its work, and is not yet; nobody else is in its way by then.
    fn lacks_pause(&self) -> Option<String> {
        None
    }

    /// What has to be made for the work to begin: made once, never changed. The last one does the work.
    fn start(&self, operation: &Operation) -> Vec<Child>;

    /// What has to be changed for the work to begin, where nothing is made for it: changed once, and recognised by itself.
    /// The same as long as what is seen is the same: who asks again too soon is known by it.
    fn patches(&self) -> Vec<Patch> {
        Vec::new()
    }

    /// How it ends at once if there is nothing to do; nobody is in its way by then.
    fn needless(&self) -> Option<Ending> {
        None
    }

    /// What must be there for the work, whoever made it.
    fn shares(&self, _operation: &Operation) -> Vec<Child> {
        Vec::new()
    }

    /// What has to be asked to know how it ended, and cannot be watched.
    fn polls(&self) -> Vec<AnyPoll> {
        Vec::new()
    }

    /// What has to be seen to know how it ended.
    fn outcome_watches(&self) -> Vec<TemporaryWatch> {
        Vec::new()
    }

    /// How far it has come.
    fn state(&self) -> State;

    /// The object that does the work, if it is there.
    fn engine_ref(&self) -> Option<EngineRef>;

    /// What ends the work before its time.
    fn stop(&self) -> Stop;

    /// What becomes of work that has ended, but was to end before its time.
    fn discard(&self, _operation: &Operation) -> Discard {
        Discard::Keep
    }

    /// What it means that the object that does the work is gone before the end was seen.
    fn if_gone(&self) -> &'static str {
        "what it has done by then is not known."
    }

    /// What is left to be removed so long after the end, if anything.
    fn cleanup(&self) -> Option<(std::time::Duration, Deletion)>;
}

/// Whether an engine may do what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permission {
    /// What decides has not been seen yet.
    Unseen,
    /// Not as things stand; why.
    Refused(String),
    Granted,
}

/// How far an engine has come with an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// There is nothing of it.
    NotStarted,
    /// How far it is cannot be seen; why.
    Unknown(String),
    /// It has been given the work and has not begun.
    Waiting(Progress),
    /// It is at work.
    Running(Progress),
    /// It has ended by itself; how is still being found out.
    Ending(Progress),
    /// It has ended.
    Ended(Ending),
}

/// What an engine says while it has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// When the object that does the work was made.
    pub(crate) made: Option<Timestamp>,
    /// From when on a timeout counts; of one that is at work and does not say so, from when it was first seen.
    pub(crate) since: Option<Timestamp>,
    pub(crate) message: String,
    /// What is worth remembering before the end.
    pub(crate) outputs: Map<String, Value>,
    /// What is said instead from a time on if nothing changes until then, the earliest first.
    pub(crate) later: Vec<(Timestamp, String)>,
}

impl Progress {
    /// What is to be said now.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        let (due, later): (Vec<_>, Vec<_>) = self.later.into_iter().partition(|(at, _)| *at <= now);
        let message = due.into_iter().last().map_or(self.message, |(_, message)| message);
        Self { message, later, ..self }
    }
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) message: String,
    pub(crate) outputs: Map<String, Value>,
    pub(crate) logs_ref: Option<LogsRef>,
    /// From when on a timeout counts.
    pub(crate) since: Option<Timestamp>,
    /// By the engine's own clock, if it says so.
    pub(crate) at: Option<Timestamp>,
}

/// Well or badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed(Failed),
}

/// What ends the work of an engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    /// The deletion of the object that does it: when that is gone, the work has ended.
    Delete(Box<Deletion>),
    /// It is on its way out.
    Underway,
    /// Nothing does: it goes on to its end; why.
    Impossible(&'static str),
}

/// What becomes of work that has ended, but was to end before its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Discard {
    /// It stays, and counts as it ended.
    Keep,
    /// It is removed by what is made for that, once. When the object that did the work is gone, it is over.
    Create(Box<Child>),
    /// It is removed by this. When it is gone, it is over.
    Delete(Box<Deletion>),
    /// It is being removed; how.
    Underway(String),
    /// It cannot be removed; why.
    Stuck(String),
}
