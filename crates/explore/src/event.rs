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
    Reconcile {
        /// For which object.
        nth: u8,
    },
    /// It dies in the middle of that, after as many writes; its successor starts with fresh caches and no memory.
    Dies {
        /// For which object that was.
        nth: u8,
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
    pub(crate) fn in_words(&self, kinds: &[&str], objects: usize) -> String {
        let of = |nth: &u8| if objects > 1 { format!(" of object {nth}") } else { String::new() };
        let name = |kind: &u8| kinds.get(usize::from(*kind)).copied().unwrap_or("?");
        match self {
            Event::Happens(what) => what.to_string(),
            Event::Shows { kind, versions } => format!("the cache of {} sees {versions} more", name(kind)),
            Event::Relists { kind } => format!("the cache of {} lists again", name(kind)),
            Event::CatchesUp => "all caches catch up".to_owned(),
            Event::Reconcile { nth } => format!("reconcile{}", of(nth)),
            Event::Dies { nth, after } => {
                format!("reconcile{}, and the operator dies after {after} writes", of(nth))
            }
            Event::Clock { seconds } => format!("the clock jumps by {seconds} s"),
        }
    }
}

/// The same moves, but the operator sees each at once and is never disturbed.
pub(crate) fn undisturbed<M: Copy>(events: &[Event<M>], objects: usize) -> Vec<Event<M>> {
    let moves = events.iter().filter(|event| matches!(event, Event::Happens(_) | Event::Clock { .. }));
    let objects = u8::try_from(objects).unwrap_or(u8::MAX);
    let looks: Vec<_> = (0..objects).flat_map(|nth| [Event::CatchesUp, Event::Reconcile { nth }]).collect();
    moves.flat_map(|event| [*event].into_iter().chain(looks.clone()).chain(looks.clone())).collect()
}
