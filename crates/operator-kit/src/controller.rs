//! What a controller is: names, watches and two functions that cannot block and cannot fail.
//!
//! It is made with its watches at hand: `Operator::with(|watches| ...)`.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource;
use kube::api::{DynamicObject, ObjectMeta};
use kube::core::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::act::Refusal;
use crate::cache::incoming::Incoming;
use crate::cache::{Caches, Found, Sight};
use crate::driver::Trigger;
use crate::object::{ObjectKey, resource_of};
use crate::ownership::Ownership;
use crate::plan::Plan;
use crate::poll::{Poll, Polled, Polls};
use crate::selection::Selection;
use crate::temporary_watch::{TemporaryWatch, TemporaryWatches};

/// Keeps objects of one kind as they should be.
pub trait Controller: Send + Sync + 'static {
    /// In logs and metrics, and as field manager `PRODUCT-NAME`.
    const NAME: &'static str;
    /// The finalizer that holds an object until its children are gone. Who leaves nothing behind needs none.
    const FINALIZER: Option<&'static str>;
    /// How its children say whose they are.
    const OWNERSHIP: Ownership;
    /// Fields at the root of the status that only tell the time: a change of them alone is no change.
    const CLOCKS: &'static [&'static str];
    /// In which lane an object is worked on, if that is not its own.
    const LANE: Option<LaneOf<Self::Object>> = None;

    /// The kind it looks after.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;
    /// What it looks at.
    type World: Send + Sync;
    /// What it says.
    type Status: Serialize + DeserializeOwned + Send + Sync;

    /// The world as the caches show it.
    fn observe(&self, object: &Self::Object, view: &View<'_>) -> Self::World;

    /// What to do about it: the same input gives the same plan.
    fn decide(&self, object: &Self::Object, world: &Self::World, now: Timestamp) -> Plan<Self::Status>;

    /// Whether a condition of this type is a warning when it is True: so are the Events about it.
    fn is_warning(type_: &str) -> bool {
        type_ == "Stalled"
    }

    /// What to say of an object that cannot be read as what it should be, and why: nothing else is done about it until it
    /// changes.
    fn unreadable(&self, unreadable: Unreadable<'_, Self::Status>, now: Timestamp) -> Self::Status;
}

/// Names a lane for an object, such as what it acts upon. Of all that are in one lane only one is worked on at a time, and it
/// sees what the others have written. An object without a lane has one of its own.
pub type LaneOf<K> = fn(&K) -> Option<ObjectKey>;

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
pub struct View<'a> {
    /// The objects that the controller watches.
    pub caches: &'a Caches,
    /// What the API server refused of the last plan for this object.
    pub refusals: &'a [Refusal],
    /// The id of the cluster.
    pub cluster: &'a str,
    /// The object that is looked at.
    pub(crate) owner: Option<&'a str>,
    pub(crate) ownership: Ownership,
    pub(crate) temporary_watches: &'a TemporaryWatches,
    pub(crate) polls: &'a Polls,
}

impl View<'_> {
    /// What is known of objects that the last plan wants to be watched.
    #[must_use]
    pub fn find(&self, temporary_watch: &TemporaryWatch) -> Found<Arc<DynamicObject>> {
        self.temporary_watches.find(temporary_watch)
    }

    /// A child of the object. A namesake of somebody else tells nothing about it, and must never be deleted for it.
    #[must_use]
    pub fn child<K>(&self, children: Watched<K>, key: &ObjectKey) -> Sight<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        match self.caches.find(children, key) {
            Sight::Present(child) if !self.ownership.holds(child.meta(), self.owner) => Sight::Absent,
            sight => sight,
        }
    }

    /// What a poll of the last plan brought last.
    #[must_use]
    pub fn answer<P: Poll>(&self, polled: Polled<P>, poll: &P) -> Option<P::Answer> {
        self.polls.answer(polled, poll)
    }
}

/// The kinds that a controller looks at, its own first. Only what is declared here can be read: each declaration gives the
/// [`Watched`] that a look needs.
#[derive(Debug)]
pub struct Watches {
    pub(crate) kinds: Vec<Watch>,
    pub(crate) polls: Polls,
}

/// Objects of kind `K` that a controller has declared. Another selection of the same kind is another one.
#[derive(Debug)]
pub struct Watched<K> {
    pub(crate) place: usize,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Watched<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Watched<K> {}

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
#[derive(Clone)]
pub(crate) enum Concerns {
    /// Itself.
    Itself,
    /// The one that this label names, in the same namespace.
    NamedBy(&'static str),
    /// The one that owns it, wherever that is.
    Owned(Ownership),
    /// Those that this function names.
    Mapped(Arc<Mapping>),
    /// All of them.
    Everything,
}

impl Debug for Concerns {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Concerns::Itself => f.write_str("Itself"),
            Concerns::NamedBy(label) => write!(f, "NamedBy({label})"),
            Concerns::Owned(ownership) => write!(f, "Owned({ownership:?})"),
            Concerns::Mapped(_) => f.write_str("Mapped"),
            Concerns::Everything => f.write_str("Everything"),
        }
    }
}

/// Which objects of a controller a watched one is about. It must not decide: telling too many costs a look, telling too
/// few loses an event.
pub(crate) type Mapping = dyn Fn(&DynamicObject, &Caches) -> Vec<ObjectKey> + Send + Sync;

/// What an object can be found by, besides its own name: see [`Caches::named`].
pub type Names = fn(&DynamicObject) -> Vec<ObjectKey>;

impl Watches {
    /// Those of a controller for `K`.
    pub(crate) fn of<K: Resource<DynamicType = ()>>(polls: Polls) -> Self {
        let mut watches = Self { kinds: Vec::new(), polls };
        watches.add::<K>(Selection::all(), Concerns::Itself);
        watches
    }

    /// The controller's own kind, which is always watched.
    #[must_use]
    pub fn own<K: Resource<DynamicType = ()>>(&self) -> Watched<K> {
        Watched { place: 0, kind: PhantomData }
    }

    /// Children of kind `K`: the value of this label names the object that they are about.
    pub fn labelled<K: Resource<DynamicType = ()>>(&mut self, label: &'static str) -> Watched<K> {
        self.add(Selection::labels(label), Concerns::NamedBy(label))
    }

    /// Children of kind `K`, wherever they live: each is about the object that owns it.
    pub fn owned<K: Resource<DynamicType = ()>>(&mut self, ownership: Ownership) -> Watched<K> {
        let selection = match ownership {
            Ownership::Label(label) => Selection::labels(label),
            Ownership::Reference => Selection::all(),
        };
        if let Some(own) = self.kinds.first_mut() {
            own.names = own.names.or(Some(by_uid));
        }
        self.add(selection, Concerns::Owned(ownership))
    }

    /// These objects of kind `K`, which are about the objects that `mapping` names.
    pub fn mapped<K: Resource<DynamicType = ()>>(
        &mut self,
        selection: Selection,
        mapping: impl Fn(&DynamicObject, &Caches) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Watched<K> {
        self.add(selection, Concerns::Mapped(Arc::new(mapping)))
    }

    /// These objects of kind `K`, which are about every object.
    pub fn for_all<K: Resource<DynamicType = ()>>(&mut self, selection: Selection) -> Watched<K> {
        self.add(selection, Concerns::Everything)
    }

    /// These objects can be found by these names, too.
    pub fn found_by<K>(&mut self, watched: Watched<K>, names: Names) {
        if let Some(watch) = self.kinds.get_mut(watched.place) {
            watch.names = Some(names);
        }
    }

    /// Polls of type `P`, which are asked with this context.
    pub fn polls<P: Poll>(&mut self, context: P::Context) -> Polled<P> {
        self.polls.declare(context)
    }

    fn add<K: Resource<DynamicType = ()>>(&mut self, selection: Selection, concerns: Concerns) -> Watched<K> {
        self.kinds.push(Watch { resource: resource_of::<K>(), selection, concerns, names: None });
        Watched { place: self.kinds.len() - 1, kind: PhantomData }
    }
}

impl Concerns {
    /// What to look at after a change of `seen`.
    pub(crate) fn triggers(&self, seen: &Incoming, caches: &Caches) -> Vec<Trigger> {
        let objects = match self {
            Concerns::Itself => vec![ObjectKey::of(&seen.head)],
            Concerns::NamedBy(label) => named_by(label, &seen.head.metadata).into_iter().collect(),
            Concerns::Owned(ownership) => {
                let owners = ownership.owners_of(&seen.head.metadata);
                owners.into_iter().flat_map(|uid| caches.own_named(&uid_key(uid))).collect()
            }
            Concerns::Mapped(mapping) => mapping(seen.whole(), caches),
            Concerns::Everything => return vec![Trigger::Everything],
        };
        objects.into_iter().map(Trigger::Object).collect()
    }

    /// Whether the objects are the controller's own, or its children: what it writes.
    pub(crate) fn are_written(&self) -> bool {
        matches!(self, Concerns::Itself | Concerns::NamedBy(_) | Concerns::Owned(_))
    }
}

/// A controller's own objects can be found by their uids.
fn by_uid(object: &DynamicObject) -> Vec<ObjectKey> {
    object.metadata.uid.as_deref().map(uid_key).into_iter().collect()
}

fn uid_key(uid: &str) -> ObjectKey {
    ObjectKey { namespace: None, name: uid.to_owned() }
}

fn named_by(label: &str, seen: &ObjectMeta) -> Option<ObjectKey> {
    let name = seen.labels.as_ref()?.get(label)?.clone();
    Some(ObjectKey { namespace: seen.namespace.clone(), name })
}
