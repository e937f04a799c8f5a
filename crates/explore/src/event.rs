//! What a schedule is made of.

use std::fmt;

/// What happens in a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<M> {
    /// Something outside the operator.
    Happens(M),
    /// A cache moves on by as many versions.
    Shows {
        /// Which.
        kind: u8,
        /// How many.
        versions: u8,
    },
    /// A watch starts again with a list: the cache moves to what the API server has.
    Relists {
        /// Which.
        kind: u8,
    },
    /// All caches show what the API server has.
    CatchesUp,
    /// The operator looks and acts.
    Reconcile,
    /// It dies in the middle of that, after as many writes; its successor starts with fresh caches and no memory.
    Dies {
        /// None is before the first.
        after: u8,
    },
    /// The clock jumps.
    Clock {
        /// Forwards or back.
        seconds: i32,
    },
}

impl<M: fmt::Display> Event<M> {
    pub(crate) fn in_words(&self, kinds: &[&str]) -> String {
        let name = |kind: &u8| kinds.get(usize::from(*kind)).copied().unwrap_or("?");
        match self {
            Event::Happens(what) => what.to_string(),
            Event::Shows { kind, versions } => format!("the cache of {} sees {versions} more", name(kind)),
            Event::Relists { kind } => format!("the cache of {} lists again", name(kind)),
            Event::CatchesUp => "all caches catch up".to_owned(),
            Event::Reconcile => "reconcile".to_owned(),
            Event::Dies { after } => format!("reconcile, and the operator dies after {after} writes"),
            Event::Clock { seconds } => format!("the clock jumps by {seconds} s"),
        }
    }
}

/// The same moves, but the operator sees each at once and is never disturbed.
pub(crate) fn undisturbed<M: Copy>(events: &[Event<M>]) -> Vec<Event<M>> {
    let moves = events.iter().filter(|event| matches!(event, Event::Happens(_) | Event::Clock { .. }));
    let looks = [Event::CatchesUp, Event::Reconcile];
    moves.flat_map(|event| [*event].into_iter().chain(looks).chain(looks)).collect()
}
