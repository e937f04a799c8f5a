//! Drives a controller's `decide` through everything that can happen around it, and checks what it says.
//!
//! A [`Model`] describes one kind: the true world (the object and its children, as the API server has them), what can
//! happen in it, what the caches can show, and what requests about its children change. The engine draws a schedule of events
//! from a seed, lets each cache lag behind on its own, kills the operator in the middle of plans, turns the clock, and checks
//! invariants after each step. What every object has (versions, finalizer, deletion, a locked status) is the engine's. No I/O, no
//! clock, no client.
//!
//! A failure is told with its seed and with the shortest schedule that was found to show it, in words.

mod dice;
mod event;
mod hash;
mod invariant;
mod model;
mod own;
mod run;
mod said;
mod search;
mod shrink;

pub use dice::Dice;
pub use event::Event;
pub use hash::hash_of;
pub use invariant::{INVARIANTS, NO_FLAP, SAME_PLAN, SCHEDULE_DOES_NOT_MATTER, SETTLES};
pub use model::{Effect, Model, Moves, Violation};
pub use own::{Own, OwnOf, Write, WriteOf, writes};
pub use said::{contradiction, says, words};
pub use search::{Search, check};
