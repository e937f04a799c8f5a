//! What a controller is: names, watches and two functions that cannot block and cannot fail.
//!
//! It is made with its watches at hand: `Operator::with(|watches| ...)`.

use std::any::{TypeId, type_name};
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::{DynamicObject, ObjectMeta};
use kube::core::{ApiResource, ClusterResourceScope};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::{Span, info_span};

use crate::act::Refusal;
use crate::cache::incoming::Incoming;
use crate::cache::{Caches, Found, Sight};
use crate::driver::Trigger;
use crate::object::{ObjectKey, plural_name, resource_of};
use crate::ownership::Ownership;
use crate::plan::Plan;
use crate::poll::{DeclaredPolls, Poll, Polled, Polls};
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
    type Object: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned + Send + Sync;
    /// What it looks at.
    type World: Send + Sync;
    /// What it says. It needs a field `sequence` (a whole number), in the schema too: the kit counts the writes there that
    /// change more than messages.
    type Status: Serialize + DeserializeOwned + Send + Sync;

    /// The span of one reconcile: each of its log lines carries these fields.
    fn span(object: &ObjectKey, reconcile_id: &str) -> Span {
        info_span!("reconcile", controller = Self::NAME, %object, reconcile_id)
    }

    /// The world as the caches show it.
    fn observe(&self, object: &Self::Object, view: &View<'_>) -> Self::World;

    /// What to do about it: the same input gives the same plan.
    fn decide(&self, object: &Self::Object, world: &Self::World, now: Timestamp) -> Plan<Self::Status>;

    /// Whether a condition of this type is a warning when it is True: so are the Events about it. A kind with a vocabulary
    /// asks that.
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
            Sight::Unreadable(_) if self.is_known_to_be_anothers(children, key) => Sight::Absent,
            sight => sight,
        }
    }

    fn is_known_to_be_anothers<K: Resource<DynamicType = ()>>(
        &self,
        children: Watched<K>,
        key: &ObjectKey,
    ) -> bool {
        let head = self.caches.head(children, key);
        head.is_some_and(|head| !self.ownership.holds(&head, self.owner))
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
    pub(crate) polls: DeclaredPolls,
    /// What is wrong with the declarations: an operator with any does not start.
    pub(crate) mistakes: Vec<String>,
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
    /// Whether its objects are in no namespace.
    pub(crate) is_cluster_scoped: bool,
    pub(crate) selection: Selection,
    pub(crate) concerns: Concerns,
    /// What its objects are found by, besides their own names.
    pub(crate) names: Vec<Names>,
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
    pub(crate) fn of<K: Resource<DynamicType = (), Scope: 'static>>() -> Self {
        let mut watches = Self { kinds: Vec::new(), polls: DeclaredPolls::default(), mistakes: Vec::new() };
        watches.add::<K>(Selection::all(), Concerns::Itself);
        watches
    }

    /// The controller's own kind, which is always watched.
    #[must_use]
    pub fn own<K: Resource<DynamicType = (), Scope: 'static>>(&mut self) -> Watched<K> {
        let asked = resource_of::<K>();
        if self.kinds.first().is_none_or(|own| own.resource != asked) {
            self.mistakes.push(format!("{} are not the controller's own kind", plural_name(&asked)));
        }
        Watched { place: 0, kind: PhantomData }
    }

    /// Children of kind `K`: the value of this label names the object that they are about.
    pub fn labelled<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        label: &'static str,
    ) -> Watched<K> {
        self.add(Selection::labels(label), Concerns::NamedBy(label))
    }

    /// Children of kind `K`, wherever they live: each is about the object that owns it.
    pub fn owned<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        ownership: Ownership,
    ) -> Watched<K> {
        self.children(ownership.selection(), ownership)
    }

    /// Children of kind `K` that all live in this namespace, whatever the operator as a whole looks at.
    pub fn owned_within<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        ownership: Ownership,
        namespace: &str,
    ) -> Watched<K> {
        self.children(ownership.selection().within(namespace), ownership)
    }

    fn children<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        selection: Selection,
        ownership: Ownership,
    ) -> Watched<K> {
        self.found_by(Watched { place: 0, kind: PhantomData::<fn() -> K> }, by_uid);
        self.add(selection, Concerns::Owned(ownership))
    }

    /// These objects of kind `K`, which are about the objects that `mapping` names.
    pub fn mapped<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        selection: Selection,
        mapping: impl Fn(&DynamicObject, &Caches) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Watched<K> {
        self.add(selection, Concerns::Mapped(Arc::new(mapping)))
    }

    /// These objects of kind `K`, which are about every object.
    pub fn for_all<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        selection: Selection,
    ) -> Watched<K> {
        self.add(selection, Concerns::Everything)
    }

    /// These objects can be found by these names, too.
    pub fn found_by<K>(&mut self, watched: Watched<K>, names: Names) {
        if let Some(watch) = self.kinds.get_mut(watched.place)
            && !watch.names.iter().any(|known| std::ptr::fn_addr_eq(*known, names))
        {
            watch.names.push(names);
        }
    }

    /// Polls of type `P`, which are asked with this context.
    pub fn polls<P: Poll>(
        &mut self,
        context: impl FnOnce(&Client) -> P::Context + Send + 'static,
    ) -> Polled<P> {
        if self.polls.has::<P>() {
            self.mistakes.push(format!("polls of type {} are declared twice", type_name::<P>()));
        }
        self.polls.add(context)
    }

    fn add<K: Resource<DynamicType = (), Scope: 'static>>(
        &mut self,
        selection: Selection,
        concerns: Concerns,
    ) -> Watched<K> {
        let resource = resource_of::<K>();
        let is_same = |known: &Watch| known.resource == resource && known.concerns.are_written();
        if concerns.are_written() && self.kinds.iter().any(is_same) {
            let name = plural_name(&resource);
            self.mistakes.push(format!("{name} are declared twice as what the controller writes"));
        }
        let is_cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        self.kinds.push(Watch { resource, is_cluster_scoped, selection, concerns, names: Vec::new() });
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

    /// Whether children that are watched like this are marked like this: others would never be seen.
    pub(crate) fn may_be_of(&self, ownership: Ownership) -> bool {
        !matches!(self, Concerns::Owned(declared) if *declared != ownership)
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

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};

    fn watches() -> Watches {
        Watches::of::<ConfigMap>()
    }

    fn by_name(object: &DynamicObject) -> Vec<ObjectKey> {
        vec![ObjectKey::of(object)]
    }

    #[test]
    fn owners_are_found_whatever_else_they_are_found_by() {
        let (mut before, mut after) = (watches(), watches());
        let own = before.own::<ConfigMap>();
        before.found_by(own, by_name);
        before.owned::<Secret>(Ownership::Reference);
        after.owned::<Secret>(Ownership::Reference);
        let own = after.own::<ConfigMap>();
        after.found_by(own, by_name);
        for watches in [before, after] {
            assert_eq!(watches.kinds.first().map(|own| own.names.len()), Some(2));
        }
    }

    #[test]
    fn children_that_live_in_one_place_are_watched_there() {
        let (mut watches, label) = (watches(), Ownership::Label("example.org/owner"));
        watches.owned_within::<Secret>(label, "backups");
        let declared = watches.kinds.last().unwrap();
        assert_eq!(declared.selection, Selection::labels("example.org/owner").within("backups"));
        assert!(matches!(declared.concerns, Concerns::Owned(known) if known == label));
        assert_eq!(
            watches.kinds.first().map(|own| own.names.len()),
            Some(1),
            "owners are found by their uid"
        );
    }

    #[test]
    fn children_are_watched_by_what_marks_them() {
        let (label, other) = (Ownership::Label("example.org/owner"), Ownership::Label("example.org/other"));
        assert!(Concerns::Owned(label).may_be_of(label) && Concerns::Itself.may_be_of(label));
        assert!(!Concerns::Owned(label).may_be_of(other));
        assert!(!Concerns::Owned(Ownership::Reference).may_be_of(label));
    }

    #[test]
    fn a_declaration_that_cannot_be_is_a_mistake() {
        let declared = |declare: fn(&mut Watches)| {
            let mut watches = watches();
            declare(&mut watches);
            watches.mistakes
        };
        let fine = declared(|watches| {
            let _ = watches.own::<ConfigMap>();
            watches.owned::<Secret>(Ownership::Reference);
            watches.for_all::<Secret>(Selection::all());
        });
        assert_eq!(fine, Vec::<String>::new());
        let another = declared(|watches| _ = watches.own::<Secret>());
        assert_eq!(another, ["secrets are not the controller's own kind"]);
        let twice = declared(|watches| {
            watches.labelled::<Secret>("a");
            watches.owned::<Secret>(Ownership::Reference);
        });
        assert_eq!(twice, ["secrets are declared twice as what the controller writes"]);
    }

    #[test]
    fn it_is_known_which_objects_are_in_no_namespace() {
        let mut watches = watches();
        watches.for_all::<Namespace>(Selection::all());
        let scoped: Vec<bool> = watches.kinds.iter().map(|kind| kind.is_cluster_scoped).collect();
        assert_eq!(scoped, [false, true]);
    }
}
