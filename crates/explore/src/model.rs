//! What the engine has to be told about a kind.

use std::fmt::{Debug, Display};
use std::hash::Hash;

use conditions::Condition;
use jiff::Timestamp;
use operator_kit::{Plan, Step};

use crate::dice::Dice;
use crate::own::{OwnOf, WriteOf};

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
/// Kinds are counted from 0, which is the object's own kind. What every object has is in [`crate::Own`], and the engine takes care
/// of it: versions, finalizer, deletion and status. A model adds its children, their controllers and its oracle.
pub trait Model: Sync + Sized {
    /// What is so: the object, its children, and what their controllers are about to do.
    type World: Clone;
    /// Something that happens without the operator.
    type Move: Copy + Display;
    /// What a cache can show of one kind.
    type Shot: Clone;
    /// What the operator remembers between reconciles and loses when it dies.
    type Memory: Default + Hash;
    /// Room for what is built anew for each reconcile; nothing in it may decide.
    type Desk;
    /// What the user asks for.
    type Spec: Clone + PartialEq + Hash;
    /// What the user asks for by annotations.
    type Marks: Hash;
    /// What the controller says of the object.
    type Status: PartialEq;
    /// One request about a child.
    type Child: Display;

    /// As many objects of the own kind are reconciled in one world, counted from 0; they share their caches and a lane. One
    /// that has not been created yet is gone.
    const OBJECTS: usize = 1;
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
    /// The time at which a world begins; `now` counts its seconds.
    fn start(&self) -> Timestamp;

    /// The object itself.
    fn own<'a>(&self, world: &'a Self::World, nth: usize) -> &'a OwnOf<Self>;
    /// The same, to be changed.
    fn own_mut<'a>(&self, world: &'a mut Self::World, nth: usize) -> &'a mut OwnOf<Self>;
    /// The object as its cache shows it.
    fn shown<'a>(&self, view: &'a [Self::Shot], nth: usize) -> &'a OwnOf<Self>;
    /// The conditions of a status.
    fn conditions<'a>(&self, status: &'a Self::Status) -> &'a [Condition];
    /// Whether a status says something else than the one before; the time alone is nothing else.
    fn differs(&self, before: Option<&Self::Status>, after: &Self::Status) -> bool;
    /// How far an object has come by its own word, if that decides what is done next: such a status is a cause by itself.
    fn stage(&self, _status: &Self::Status) -> u64 {
        0
    }
    /// A status as it is read after it was written: without what only its author knew.
    fn read_back(&self, status: &Self::Status) -> Self::Status;

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
        nth: usize,
        now: i64,
    ) -> Plan<Self::Status>;
    /// The request that a step of a plan about a child needs, if the cache does not show it done.
    fn child(&self, step: Step<'_, Self::Status>, view: &[Self::Shot], nth: usize) -> Option<Self::Child>;
    /// One request about a child is carried out.
    fn write(&self, world: &mut Self::World, write: &Self::Child, now: i64) -> Effect;
    /// The plan was carried out, up to what was refused.
    fn remember(&self, memory: &mut Self::Memory, nth: usize, plan: &Plan<Self::Status>, is_refused: bool);

    /// What is true of the world that the view shows, in one number: no flicker of a child changes it.
    fn facts(&self, view: &[Self::Shot], memory: &Self::Memory, nth: usize) -> u64;
    /// What a schedule must not matter for: the world at its end, and what was said of it.
    fn outcome(&self, world: &Self::World, now: i64) -> (u64, u64);

    /// Checks a plan against what was seen and what is true.
    fn judge(
        &self,
        world: &mut Self::World,
        view: &[Self::Shot],
        memory: &Self::Memory,
        nth: usize,
        plan: &Plan<Self::Status>,
        now: i64,
    ) -> Result<(), Violation>;
    /// Checks a write just before it is made.
    fn judge_write(
        &self,
        world: &Self::World,
        view: &[Self::Shot],
        nth: usize,
        write: &WriteOf<Self>,
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
