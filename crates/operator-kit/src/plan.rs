//! What a `decide` wants to be done. A plan is a value: it can be compared, printed and tested without a cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Resource;
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use kube::core::ApiResource;
use serde_json::Value;

use crate::errand::NoErrand;
use crate::interest::Interest;
use crate::object::{ObjectId, ObjectKey, resource_of};

/// Everything a controller wants of the cluster for one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S, E = NoErrand> {
    /// Children that must be as described, in the order in which they are applied.
    pub children: Vec<Child>,
    /// Children that must go.
    pub deletions: Vec<Deletion>,
    /// Whether the object may be removed while nobody cleans up after it.
    pub finalizer: Finalizer,
    /// What must be gone before the finalizer is. The API server itself is asked: a cache that is behind must not end an
    /// object whose children live on.
    pub gone: Vec<Absence>,
    /// The whole status, as it should read.
    pub status: S,
    /// Marks on objects that ask their controllers to look again.
    pub nudges: Vec<Nudge>,
    /// Objects to watch until a plan does not ask for them.
    pub interests: Vec<Interest>,
    /// Questions to ask until a plan does not want to know.
    pub errands: Vec<E>,
    /// When to look again although nothing has changed.
    pub wake_at: Option<Timestamp>,
}

impl<S, E> Plan<S, E> {
    /// A plan that says this and does nothing else.
    #[must_use]
    pub fn only_status(finalizer: Finalizer, status: S) -> Self {
        Self {
            children: Vec::new(),
            deletions: Vec::new(),
            finalizer,
            gone: Vec::new(),
            status,
            nudges: Vec::new(),
            interests: Vec::new(),
            errands: Vec::new(),
            wake_at: None,
        }
    }
}

/// What happens to the controller's finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// It must stand on the object, before any child does.
    Hold,
    /// It must not, because there is nothing left to clean up; taken off last.
    Release,
}

/// A child of this object that there must not be any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence(pub(crate) ObjectId);

impl Absence {
    /// Of a child of kind `K`; a namesake that belongs to somebody else may be there.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()>>(key: ObjectKey) -> Self {
        Self(ObjectId { resource: resource_of::<K>(), key })
    }
}

/// A child as it should be: the fields we care for, and no others. The kit says on it whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub(crate) resource: ApiResource,
    pub(crate) object: DynamicObject,
}

impl Child {
    /// A child of kind `K` in a namespace, with nothing in it yet.
    #[must_use]
    pub fn new<K: Resource<DynamicType = ()>>(namespace: &str, name: &str) -> Self {
        let resource = resource_of::<K>();
        let types = TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() };
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        Self { resource, object: DynamicObject { types: Some(types), metadata, data: Value::default() } }
    }

    /// Labels that it must carry.
    #[must_use]
    pub fn labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.object.metadata.labels = Some(labels);
        self
    }

    /// Annotations that it must carry.
    #[must_use]
    pub fn annotations(mut self, annotations: BTreeMap<String, String>) -> Self {
        self.object.metadata.annotations = Some(annotations);
        self
    }

    /// One more annotation.
    #[must_use]
    pub fn annotated(mut self, name: &str, value: &str) -> Self {
        self.object.metadata.annotations.get_or_insert_default().insert(name.to_owned(), value.to_owned());
        self
    }

    /// Its spec.
    #[must_use]
    pub fn spec(mut self, spec: Value) -> Self {
        self.object.data = Value::Object([("spec".to_owned(), spec)].into_iter().collect());
        self
    }

    /// Which object it is.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId { resource: self.resource.clone(), key: ObjectKey::of(&self.object) }
    }

    /// An annotation of it; for tests of plans.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// A value in it, by JSON pointer; for tests of plans.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.object.data.pointer(pointer)
    }
}

/// Annotations that ask another controller to look at one of its objects again. By custom everybody may write them, so
/// nobody owns them: they are not part of what is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Nudge {
    pub(crate) resource: ApiResource,
    pub(crate) key: ObjectKey,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Nudge {
    /// Puts these annotations on the object of kind `K`, all at once.
    #[must_use]
    pub fn new<K: Resource<DynamicType = ()>>(key: ObjectKey, annotations: BTreeMap<String, String>) -> Self {
        Self { resource: resource_of::<K>(), key, annotations }
    }

    /// Which object it is.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId { resource: self.resource.clone(), key: self.key.clone() }
    }
}

/// A child that must go: exactly the one that was seen, never a namesake that came after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Deletion {
    pub(crate) resource: ApiResource,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    /// Only if it is still as it was seen.
    pub(crate) version: Option<String>,
    pub(crate) dependents: Dependents,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependents {
    /// They go too, after it.
    GoToo,
    /// They stay.
    Stay,
}

impl Deletion {
    /// Deletes the object of kind `K` with this uid.
    #[must_use]
    pub fn new<K: Resource<DynamicType = ()>>(key: ObjectKey, uid: &str, dependents: Dependents) -> Self {
        Self { resource: resource_of::<K>(), key, uid: uid.to_owned(), version: None, dependents }
    }

    /// Only if it still has this version: what has changed since may be wanted again.
    #[must_use]
    pub fn unchanged_since(mut self, version: Option<&String>) -> Self {
        self.version = version.cloned();
        self
    }

    /// Which object it is.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId { resource: self.resource.clone(), key: self.key.clone() }
    }
}
