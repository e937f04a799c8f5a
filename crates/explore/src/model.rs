//! What the engine has to be told about a kind.

use std::fmt::{Debug, Display};

use crate::dice::Dice;

/// Something that must never happen did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// What was said or done, and why that is wrong.
    pub words: String,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// An object of this kind has a new version, or is gone.
    Wrote(usize),
    /// Somebody else wrote first: the version that the write was locked to is no longer the newest. The plan ends here.
    Conflict,
    /// The API server does not want it. Writes that rely on it are left out.
    Refused,
}

/// What can happen next, and how often it is chosen.
pub type Moves<M> = Vec<(M, u32)>;

/// One kind: its world, its `decide` and what must hold.
///
/// Kinds are counted from 0, which is the object's own kind.
pub trait Model: Sync {
    /// What is so: the object, its children, and what their controllers are about to do.
    type World: Clone;
    /// Something that happens without the operator.
    type Move: Copy + Display;
    /// What a cache can show of one kind.
    type Shot: Clone;
    /// What the operator remembers between reconciles and loses when it dies.
    type Memory: Default;
    /// Room for what is built anew for each reconcile; nothing in it may decide.
    type Desk;
    /// What `decide` returns.
    type Plan: PartialEq;
    /// One request to the API server.
    type Write: Display;

    /// The watched kinds; each has a lag of its own.
    const KINDS: &'static [&'static str];
    /// The model's own invariants, by name, and what they ask.
    const INVARIANTS: &'static [(&'static str, &'static str)];

    /// An empty desk.
    fn desk(&self) -> Self::Desk;
    /// How a world begins.
    fn begin(&self, dice: &mut Dice) -> Self::World;
    /// What can happen now; `events` is how many have, for what should come late.
    fn moves(&self, world: &Self::World, memory: &Self::Memory, events: usize, into: &mut Moves<Self::Move>);
    /// It happens.
    fn make(&self, world: &mut Self::World, memory: &mut Self::Memory, what: Self::Move, now: i64);
    /// Lets everything but the operator come to rest; called again it must change nothing.
    fn rest(&self, world: &mut Self::World, memory: &mut Self::Memory, now: i64);
    /// Whether there is nothing left to look after.
    fn is_over(&self, world: &Self::World) -> bool;

    /// A number that grows with each change of a kind.
    fn version(&self, world: &Self::World, kind: usize) -> u32;
    /// What a cache that is up to date shows.
    fn shot(&self, world: &Self::World, kind: usize) -> Self::Shot;

    /// The function that is examined.
    fn decide(
        &self,
        desk: &mut Self::Desk,
        view: &[Self::Shot],
        memory: &Self::Memory,
        now: i64,
    ) -> Self::Plan;
    /// The requests that carry a plan out, in their order; only those that the cache shows to be needed.
    fn writes(&self, plan: &Self::Plan, view: &[Self::Shot]) -> Vec<Self::Write>;
    /// One request is carried out.
    fn write(&self, world: &mut Self::World, write: &Self::Write, now: i64) -> Effect;
    /// Whether a write is made at all, after what was refused of the writes before it and what the operator knew of that
    /// when it made the plan.
    fn goes_on(&self, memory: &Self::Memory, refused: Option<&Self::Write>, write: &Self::Write) -> bool;
    /// The plan was carried out, up to what was refused.
    fn remember(&self, memory: &mut Self::Memory, plan: &Self::Plan, refused: Option<&Self::Write>);
    /// When a plan wants to be woken.
    fn requeue_at(&self, plan: &Self::Plan) -> Option<i64>;

    /// Everything that users changed of the object itself, in one number.
    fn wishes(&self, view: &[Self::Shot]) -> u64;
    /// Everything that the memory adds to the view, in one number.
    fn remembered(&self, memory: &Self::Memory) -> u64;
    /// What is true of the world that the view shows, in one number: no flicker of a child changes it.
    fn facts(&self, view: &[Self::Shot], memory: &Self::Memory) -> u64;
    /// What the object says, one number per condition.
    fn said(&self, world: &Self::World) -> [u64; 8];
    /// The same in words.
    fn said_in_words(&self, world: &Self::World) -> String;
    /// What a schedule must not matter for: the world at its end, and what was said of it.
    fn outcome(&self, world: &Self::World, now: i64) -> (u64, u64);

    /// Checks a plan against what was seen and what is true.
    fn judge(
        &self,
        world: &mut Self::World,
        view: &[Self::Shot],
        memory: &Self::Memory,
        plan: &Self::Plan,
        now: i64,
    ) -> Result<(), Violation>;
    /// Checks a write just before it is made.
    fn judge_write(
        &self,
        world: &Self::World,
        view: &[Self::Shot],
        write: &Self::Write,
    ) -> Result<(), Violation>;
    /// Checks what is said in the end, when everything is at rest and has been seen.
    fn judge_settled(&self, world: &Self::World, now: i64) -> Result<(), Violation>;
}

/// For models: a violation in words.
impl Violation {
    /// What went wrong with which invariant.
    #[must_use]
    pub fn new(invariant: &'static str, words: impl Debug + Display) -> Self {
        Self { invariant, words: words.to_string() }
    }
}
