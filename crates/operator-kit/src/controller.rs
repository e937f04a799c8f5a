//! What a controller is: names, watches and two functions that cannot block and cannot fail.

use jiff::Timestamp;
use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::act::Refusal;
use crate::cache::Caches;
use crate::object::{ObjectKey, resource_of};
use crate::plan::Plan;

/// Keeps objects of one kind as they should be.
pub trait Controller: Send + Sync + 'static {
    /// In logs and metrics, and as field manager `vworkspace-NAME`.
    const NAME: &'static str;
    /// The finalizer that holds an object until its children are gone.
    const FINALIZER: &'static str;
    /// Fields at the root of the status that only tell the time: a change of them alone is no change.
    const CLOCKS: &'static [&'static str];

    /// The kind it looks after.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;
    /// What it looks at.
    type World: Send + Sync;
    /// What it says.
    type Status: Serialize + Send + Sync;

    /// Which other kinds decide, and whose they are.
    fn watches(&self) -> Watches;

    /// The world as the caches show it.
    fn observe(&self, object: &Self::Object, view: &View<'_>) -> Self::World;

    /// What to do about it: the same input gives the same plan.
    fn decide(&self, object: &Self::Object, world: &Self::World, now: Timestamp) -> Plan<Self::Status>;
}

/// What an `observe` may read.
#[derive(Debug)]
pub struct View<'a> {
    /// The objects of all watched kinds.
    pub caches: &'a Caches,
    /// What the API server refused of the last plan for this object.
    pub refusals: &'a [Refusal],
}

/// The kinds that a controller watches besides its own.
#[derive(Debug, Default)]
pub struct Watches(pub(crate) Vec<Watch>);

/// One kind, the part of it that matters, and which object a change of it is about.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) resource: ApiResource,
    pub(crate) labels: Option<String>,
    pub(crate) concerns: Concerns,
}

/// Which object of the controller a watched one is about.
#[derive(Debug, Clone)]
pub(crate) enum Concerns {
    /// Itself.
    Itself,
    /// The one that this label names, in the same namespace.
    NamedBy(&'static str),
}

impl Watches {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Objects of kind `K` that carry this label: its value names the object they are about.
    #[must_use]
    pub fn labelled<K: Resource<DynamicType = ()>>(mut self, label: &'static str) -> Self {
        self.0.push(Watch {
            resource: resource_of::<K>(),
            labels: Some(label.to_owned()),
            concerns: Concerns::NamedBy(label),
        });
        self
    }
}

impl Watch {
    /// The controller's own kind.
    pub(crate) fn own<C: Controller>() -> Self {
        Self { resource: resource_of::<C::Object>(), labels: None, concerns: Concerns::Itself }
    }
}

impl Concerns {
    /// The object that a change of `seen` is about.
    pub(crate) fn object(&self, seen: &DynamicObject) -> Option<ObjectKey> {
        match self {
            Concerns::Itself => Some(ObjectKey::of(seen)),
            Concerns::NamedBy(label) => {
                let name = seen.metadata.labels.as_ref()?.get(*label)?.clone();
                Some(ObjectKey { namespace: seen.metadata.namespace.clone(), name })
            }
        }
    }
}
