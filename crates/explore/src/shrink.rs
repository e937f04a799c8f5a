//! Makes a failing schedule short enough to be read.

use crate::dice::Dice;
use crate::event::Event;
use crate::model::{Model, Violation};
use crate::run::{Ended, Run, Telling};

/// As many shorter schedules are tried.
const MOST_TRIES: usize = 4000;

/// How these events end.
pub(crate) fn ending<M: Model>(
    model: &M,
    desk: &mut M::Desk,
    seed: u64,
    events: &[Event<M::Move>],
) -> Result<Ended, Violation> {
    let mut run = Run::new(model, desk, &mut Dice::new(seed), Telling::Silently);
    run.replay(events).and_then(|()| run.settle())
}

/// Leaves out whatever is not needed for an ending to be `wanted`: first large pieces, then single events.
pub(crate) fn shortest<M: Model>(
    model: &M,
    desk: &mut M::Desk,
    seed: u64,
    mut events: Vec<Event<M::Move>>,
    wanted: impl Fn(&Result<Ended, Violation>) -> bool,
) -> Vec<Event<M::Move>> {
    let mut tries = 0;
    let mut size = events.len() / 2;
    while size > 0 && tries < MOST_TRIES {
        let (mut start, mut is_shorter) = (0, false);
        while start < events.len() && tries < MOST_TRIES {
            let mut fewer = events.clone();
            fewer.drain(start..(start + size).min(fewer.len()));
            tries += 1;
            if wanted(&ending(model, desk, seed, &fewer)) {
                (events, is_shorter) = (fewer, true);
            } else {
                start += size;
            }
        }
        if !(is_shorter && size == 1) {
            size /= 2;
        }
    }
    events
}

/// The schedule in words, with what was said.
pub(crate) fn story<M: Model>(
    model: &M,
    desk: &mut M::Desk,
    seed: u64,
    events: &[Event<M::Move>],
) -> Vec<String> {
    let mut run = Run::new(model, desk, &mut Dice::new(seed), Telling::Aloud);
    let ended = run.replay(events).and_then(|()| run.settle());
    let last = match ended {
        Ok(_) => format!("in the end it says {}", run.all_said()),
        Err(violation) => format!("BROKEN {}: {}", violation.invariant, violation.words),
    };
    run.story().into_iter().chain([last]).collect()
}
