//! The object that a controller reconciles, as the API server keeps it, and what a plan asks of it. The same for every kind.

use std::hash::Hash;
use std::rc::Rc;

use operator_kit::{Plan, Step};

use crate::hash::hash_of;
use crate::model::{Effect, Model};
use crate::said;

/// Its own kind comes first.
pub(crate) const OWN: usize = 0;

/// The object itself.
#[derive(Debug)]
pub struct Own<Spec, Marks, Status> {
    /// Its resourceVersion.
    pub version: u32,
    /// Its generation: a new spec, or the deletion, makes a new one.
    pub generation: i64,
    /// What the user asks for.
    pub spec: Spec,
    /// What the user asks for by annotations: no new generation.
    pub marks: Marks,
    /// Whether it has a deletionTimestamp.
    pub deleting: bool,
    /// Whether it has the controller's finalizer.
    pub finalizer: bool,
    /// What the controller wrote last.
    pub status: Option<Rc<Status>>,
    /// Whether it is not there any more.
    pub is_gone: bool,
}

// Not derived: a status is shared, so it need not be `Clone`.
impl<Spec: Clone, Marks: Clone, Status> Clone for Own<Spec, Marks, Status> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            generation: self.generation,
            spec: self.spec.clone(),
            marks: self.marks.clone(),
            deleting: self.deleting,
            finalizer: self.finalizer,
            status: self.status.clone(),
            is_gone: self.is_gone,
        }
    }
}

impl<Spec: Clone + PartialEq + Hash, Marks: Hash, Status> Own<Spec, Marks, Status> {
    /// As it was created.
    pub fn new(spec: Spec, marks: Marks) -> Self {
        Self {
            version: 1,
            generation: 1,
            spec,
            marks,
            deleting: false,
            finalizer: false,
            status: None,
            is_gone: false,
        }
    }

    /// The user changes the spec.
    pub fn edit(&mut self, edit: impl FnOnce(&mut Spec)) {
        let before = self.spec.clone();
        edit(&mut self.spec);
        if self.spec != before {
            self.generation += 1;
            self.version += 1;
        }
    }

    /// The user changes an annotation.
    pub fn annotate(&mut self, change: impl FnOnce(&mut Marks)) {
        change(&mut self.marks);
        self.version += 1;
    }

    /// The user deletes it: at once without a finalizer.
    pub fn delete(&mut self) {
        if self.deleting {
            return;
        }
        if !self.finalizer {
            self.is_gone = true;
            return;
        }
        self.deleting = true;
        self.generation += 1;
        self.version += 1;
    }

    /// Everything that users changed of it, in one number.
    pub(crate) fn asked(&self) -> u64 {
        hash_of((self.generation, &self.spec, &self.marks, self.deleting, self.finalizer))
    }
}

/// The object of a model.
pub type OwnOf<M> = Own<<M as Model>::Spec, <M as Model>::Marks, <M as Model>::Status>;
/// A request of a model.
pub type WriteOf<M> = Write<<M as Model>::Child, <M as Model>::Status>;

/// One request. Those to the object itself are locked by its version.
#[derive(Debug, Clone)]
pub enum Write<Child, Status> {
    /// Adds the finalizer.
    Hold {
        /// The version that must still be the newest.
        lock: u32,
    },
    /// To a child.
    Child(Child),
    /// Removes the finalizer.
    LetGo {
        /// The version that must still be the newest.
        lock: u32,
    },
    /// The status.
    Status {
        /// The version that must still be the newest.
        lock: u32,
        /// What it says.
        status: Rc<Status>,
    },
}

impl<Child, Status> Write<Child, Status> {
    /// Whether `act` sends it, after what was refused before it in this plan, and in the plan before: a status is written only
    /// by a plan that knew how its children would fare.
    pub(crate) fn goes_on(&self, is_refused: bool, was_refused: bool) -> bool {
        match self {
            Write::Status { .. } => is_refused == was_refused,
            Write::Hold { .. } | Write::Child(_) | Write::LetGo { .. } => !is_refused,
        }
    }
}

/// What `act` asks of the API server for a plan, by what the caches show: the object as it is here, and what a step about a
/// child still needs.
pub fn writes<M: Model>(
    model: &M,
    plan: &Plan<M::Status>,
    own: &OwnOf<M>,
    child: impl Fn(Step<'_, M::Status>) -> Option<M::Child>,
) -> Vec<WriteOf<M>> {
    let mut writes = Vec::new();
    let mut lock = own.version;
    for step in plan.steps() {
        match step {
            Step::Hold => {
                if !own.finalizer && !own.deleting {
                    writes.push(Write::Hold { lock });
                    lock += 1;
                }
            }
            Step::LetGo(_) => {
                if own.finalizer {
                    writes.push(Write::LetGo { lock });
                    return writes;
                }
            }
            Step::Say(status) => {
                if model.differs(own.status.as_deref(), status) {
                    writes.push(Write::Status { lock, status: Rc::new(model.read_back(status)) });
                }
            }
            step => writes.extend(child(step).map(Write::Child)),
        }
    }
    writes
}

/// What the API server makes of a request.
pub(crate) fn carry_out<M: Model>(
    model: &M,
    world: &mut M::World,
    nth: usize,
    write: &WriteOf<M>,
    now: i64,
) -> Effect {
    let (lock, own) = match write {
        Write::Child(child) => return model.write(world, child, now),
        Write::Hold { lock } | Write::LetGo { lock } | Write::Status { lock, .. } => {
            (*lock, model.own_mut(world, nth))
        }
    };
    if lock != own.version {
        return Effect::Conflict;
    }
    own.version += 1;
    match write {
        Write::Hold { .. } => own.finalizer = true,
        Write::LetGo { .. } => {
            own.finalizer = false;
            own.is_gone = own.deleting;
        }
        Write::Status { status, .. } => own.status = Some(Rc::clone(status)),
        Write::Child(_) => {}
    }
    Effect::Wrote(OWN)
}

/// A request in words.
pub(crate) fn in_words<M: Model>(model: &M, write: &WriteOf<M>) -> String {
    match write {
        Write::Hold { .. } => "the finalizer".to_owned(),
        Write::Child(child) => child.to_string(),
        Write::LetGo { .. } => "the end of the finalizer".to_owned(),
        Write::Status { status, .. } => format!("the status {}", said::words(model.conditions(status))),
    }
}
