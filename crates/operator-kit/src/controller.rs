//! What a controller is: names, watches and two functions that cannot block and cannot fail.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::act::Refusal;
use crate::cache::{Caches, Found, Sight};
use crate::driver::Trigger;
use crate::errand::{Errand, Errands};
use crate::interest::{Interest, Interests};
use crate::object::{ObjectKey, resource_of};
use crate::ownership::Ownership;
use crate::plan::Plan;
use crate::selection::Selection;

/// Keeps objects of one kind as they should be.
pub trait Controller: Send + Sync + 'static {
    /// In logs and metrics, and as field manager `vworkspace-NAME`.
    const NAME: &'static str;
    /// The finalizer that holds an object until its children are gone.
    const FINALIZER: &'static str;
    /// How its children say whose they are.
    const OWNERSHIP: Ownership;
    /// Fields at the root of the status that only tell the time: a change of them alone is no change.
    const CLOCKS: &'static [&'static str];

    /// The kind it looks after.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;
    /// What it looks at.
    type World: Send + Sync;
    /// What it says.
    type Status: Serialize + DeserializeOwned + Send + Sync;
    /// What it has to ask of the world outside the API server.
    type Errand: Errand;

    /// Which other kinds decide, and whose they are.
    fn watches(&self) -> Watches;

    /// The world as the caches show it.
    fn observe(&self, object: &Self::Object, view: &View<'_, Self::Errand>) -> Self::World;

    /// What to do about it: the same input gives the same plan.
    fn decide(
        &self,
        object: &Self::Object,
        world: &Self::World,
        now: Timestamp,
    ) -> Plan<Self::Status, Self::Errand>;

    /// What to say of an object that cannot be read as what it should be, and why: nothing else is done about it until it
    /// changes.
    fn unreadable(&self, unreadable: Unreadable<'_, Self::Status>, now: Timestamp) -> Self::Status;
}

/// An object that cannot be read as what it should be.
#[derive(Debug)]
pub struct Unreadable<'a, S> {
    /// Of the object.
    pub generation: i64,
    /// Whether it is being deleted.
    pub is_being_deleted: bool,
    /// What is wrong with it.
    pub why: &'a str,
    /// What was said before, if at least that can be read.
    pub status: Option<S>,
}

/// What an `observe` may read.
pub struct View<'a, E: Errand> {
    /// The objects of all watched kinds.
    pub caches: &'a Caches,
    /// What the API server refused of the last plan for this object.
    pub refusals: &'a [Refusal],
    /// The id of the cluster.
    pub cluster: &'a str,
    /// The object that is looked at.
    pub(crate) owner: Option<&'a str>,
    pub(crate) ownership: Ownership,
    pub(crate) interests: &'a Interests,
    pub(crate) errands: &'a Errands<E>,
}

impl<E: Errand> View<'_, E> {
    /// What is known of objects that the last plan was interested in.
    #[must_use]
    pub fn find(&self, interest: &Interest) -> Found<Arc<DynamicObject>> {
        self.interests.find(interest)
    }

    /// A child of the object. A namesake of somebody else tells nothing about it, and must never be deleted for it.
    #[must_use]
    pub fn child<K>(&self, key: &ObjectKey) -> Sight<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        match self.caches.find::<K>(key) {
            Sight::Present(child) if !self.ownership.holds(child.meta(), self.owner) => Sight::Absent,
            sight => sight,
        }
    }

    /// What came back from an errand of the last plan.
    #[must_use]
    pub fn answer(&self, errand: &E) -> Option<E::Answer> {
        self.errands.answer(errand)
    }
}

/// The kinds that a controller watches besides its own.
#[derive(Debug, Default)]
pub struct Watches(pub(crate) Vec<Watch>);

/// One kind, the part of it that matters, and which object a change of it is about.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) resource: ApiResource,
    pub(crate) selection: Selection,
    pub(crate) concerns: Concerns,
    /// What its objects are found by, besides their own names.
    pub(crate) names: Option<Names>,
}

/// Which objects of the controller a watched one is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Concerns {
    /// Itself.
    Itself,
    /// The one that this label names, in the same namespace.
    NamedBy(&'static str),
    /// Those that this function names.
    Mapped(Mapping),
    /// All of them.
    Everything,
}

/// Which objects of a controller a watched one is about. It must not decide: telling too many costs a look, telling too
/// few loses an event.
pub type Mapping = fn(&DynamicObject, &Caches) -> Vec<ObjectKey>;

/// What an object can be found by, besides its own name: see [`Caches::named`].
pub type Names = fn(&DynamicObject) -> Vec<ObjectKey>;

impl Watches {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Objects of kind `K` that carry this label: its value names the object they are about.
    #[must_use]
    pub fn labelled<K: Resource<DynamicType = ()>>(self, label: &'static str) -> Self {
        self.add::<K>(Selection::labels(label), Concerns::NamedBy(label))
    }

    /// These objects of kind `K`, which are about the objects that `mapping` names.
    #[must_use]
    pub fn mapped<K: Resource<DynamicType = ()>>(self, selection: Selection, mapping: Mapping) -> Self {
        self.add::<K>(selection, Concerns::Mapped(mapping))
    }

    /// These objects of kind `K`, which are about every object.
    #[must_use]
    pub fn for_all<K: Resource<DynamicType = ()>>(self, selection: Selection) -> Self {
        self.add::<K>(selection, Concerns::Everything)
    }

    /// The objects of the kind that was named last can be found by these names, too.
    #[must_use]
    pub fn found_by(mut self, names: Names) -> Self {
        if let Some(watch) = self.0.last_mut() {
            watch.names = Some(names);
        }
        self
    }

    fn add<K: Resource<DynamicType = ()>>(mut self, selection: Selection, concerns: Concerns) -> Self {
        self.0.push(Watch { resource: resource_of::<K>(), selection, concerns, names: None });
        self
    }
}

impl Watch {
    /// The controller's own kind.
    pub(crate) fn own<C: Controller>() -> Self {
        let (selection, concerns) = (Selection::all(), Concerns::Itself);
        Self { resource: resource_of::<C::Object>(), selection, concerns, names: None }
    }
}

impl Concerns {
    /// What to look at after a change of `seen`.
    pub(crate) fn triggers(self, seen: &DynamicObject, caches: &Caches) -> Vec<Trigger> {
        let objects = match self {
            Concerns::Itself => vec![ObjectKey::of(seen)],
            Concerns::NamedBy(label) => named_by(label, seen).into_iter().collect(),
            Concerns::Mapped(mapping) => mapping(seen, caches),
            Concerns::Everything => return vec![Trigger::Everything],
        };
        objects.into_iter().map(Trigger::Object).collect()
    }
}

fn named_by(label: &str, seen: &DynamicObject) -> Option<ObjectKey> {
    let name = seen.metadata.labels.as_ref()?.get(label)?.clone();
    Some(ObjectKey { namespace: seen.metadata.namespace.clone(), name })
}
