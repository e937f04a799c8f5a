//! What a `decide` wants to be done. A plan is a value: it can be compared, printed and tested without a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource;
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::object::{ObjectId, ObjectKey, resource_of};
use crate::poll::AnyPoll;
use crate::temporary_watch::TemporaryWatch;

/// Everything a controller wants of the cluster for one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S> {
    /// Children that must be as described, in the order in which they are applied.
    pub children: Vec<Child>,
    /// Children that must have been made, and are their own from then on. One that is gone is made again by a plan that
    /// still names it.
    pub creations: Vec<Child>,
    /// Objects that there must be, whoever made them: nobody owns them, and nobody here changes or deletes them.
    pub shared: Vec<Child>,
    /// Changes of objects that belong to somebody else.
    pub patches: Vec<Patch>,
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
    pub reconcile_requests: Vec<ReconcileRequest>,
    /// Objects to watch until a plan does not ask for them.
    pub temporary_watches: Vec<TemporaryWatch>,
    /// Questions to ask until a plan does not want to know.
    pub polls: Vec<AnyPoll>,
    /// When to look again although nothing has changed.
    pub requeue_at: Option<Timestamp>,
}

impl<S> Plan<S> {
    /// A plan that says this and does nothing else.
    #[must_use]
    pub fn only_status(finalizer: Finalizer, status: S) -> Self {
        Self {
            children: Vec::new(),
            creations: Vec::new(),
            shared: Vec::new(),
            patches: Vec::new(),
            deletions: Vec::new(),
            finalizer,
            gone: Vec::new(),
            status,
            reconcile_requests: Vec::new(),
            temporary_watches: Vec::new(),
            polls: Vec::new(),
            requeue_at: None,
        }
    }
}

impl<S> Plan<S> {
    /// What it asks of the API server, in the order in which that is done: whoever comes after a crash can go on. What is so
    /// already is left out by who carries it out.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_, S>> {
        // Named one by one, so that a new part of a plan cannot be forgotten here. The driver takes the rest.
        let Self {
            children,
            creations,
            shared,
            patches,
            deletions,
            finalizer,
            gone,
            status,
            reconcile_requests,
            temporary_watches: _,
            polls: _,
            requeue_at: _,
        } = self;
        let (first, last) = match finalizer {
            Finalizer::Hold => (Some(Step::Hold), None),
            Finalizer::Release => (None, Some(Step::LetGo(gone))),
            Finalizer::AsItIs => (None, None),
        };
        first
            .into_iter()
            .chain(children.iter().map(Step::Apply))
            .chain(shared.iter().map(Step::Share))
            .chain(creations.iter().map(Step::Create))
            .chain(patches.iter().map(Step::Patch))
            .chain(deletions.iter().map(Step::Delete))
            .chain(reconcile_requests.iter().map(Step::RequestReconcile))
            .chain(last)
            .chain([Step::Say(status)])
    }
}

/// A part of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<'a, S> {
    /// The finalizer stands before the first child does.
    Hold,
    /// A child must be as described.
    Apply(&'a Child),
    /// An object must be there, whoever made it.
    Share(&'a Child),
    /// A child must have been made.
    Create(&'a Child),
    /// A change of somebody else's object.
    Patch(&'a Patch),
    /// A child must go.
    Delete(&'a Deletion),
    /// Another controller is asked to look again.
    RequestReconcile(&'a ReconcileRequest),
    /// The finalizer goes when these are gone. If that is done, the object is nobody's to speak of any more.
    LetGo(&'a [Absence]),
    /// The status says so.
    Say(&'a S),
}

/// What happens to the controller's finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// It must stand on the object, before any child does.
    Hold,
    /// It must not, because there is nothing left to clean up; taken off last.
    Release,
    /// It is neither put on nor taken off: nothing is made yet, and what decides has not been seen.
    AsItIs,
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

/// A child as it should be: the fields we care for, and no others. The kit says on it whose it is. It may live anywhere: in
/// another namespace, or in none.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub(crate) resource: ApiResource,
    pub(crate) metadata: ObjectMeta,
    /// All its other fields, or why they cannot be written down.
    pub(crate) fields: Result<Arc<Value>, String>,
}

impl Child {
    /// A child of kind `K`, with nothing in it yet.
    #[must_use]
    pub fn new<K: Resource<DynamicType = ()>>(key: &ObjectKey) -> Self {
        let (name, namespace) = (Some(key.name.clone()), key.namespace.clone());
        let metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
        Self { resource: resource_of::<K>(), metadata, fields: Ok(Arc::default()) }
    }

    /// This very object. What it says of its status is not ours to apply.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Self {
        let mut fields = fields_of(object);
        if let Ok(Value::Object(fields)) = &mut fields {
            fields.retain(|name, _| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
        }
        Self { resource: resource_of::<K>(), metadata: object.meta().clone(), fields: fields.map(Arc::new) }
    }

    /// Labels that it must carry.
    #[must_use]
    pub fn labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.metadata.labels = Some(labels);
        self
    }

    /// Annotations that it must carry.
    #[must_use]
    pub fn annotations(mut self, annotations: BTreeMap<String, String>) -> Self {
        self.metadata.annotations = Some(annotations);
        self
    }

    /// One more annotation.
    #[must_use]
    pub fn annotated(mut self, name: &str, value: &str) -> Self {
        self.metadata.annotations.get_or_insert_default().insert(name.to_owned(), value.to_owned());
        self
    }

    /// Its spec.
    #[must_use]
    pub fn spec(mut self, spec: impl Serialize) -> Self {
        self.fields = fields_of(&BTreeMap::from([("spec", spec)])).map(Arc::new);
        self
    }

    /// All its fields but the metadata, for who has made them before: they are shared, not copied.
    #[must_use]
    pub fn fields(mut self, fields: Arc<Value>) -> Self {
        self.fields = Ok(fields);
        self
    }

    /// Which object it is.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId { resource: self.resource.clone(), key: ObjectKey::of_meta(&self.metadata) }
    }

    /// An annotation of it; for tests of plans.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// A value in it, by JSON pointer; for tests of plans.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.fields.as_ref().ok()?.pointer(pointer)
    }

    /// As it is sent, or why it cannot be.
    pub(crate) fn object(&self) -> Result<DynamicObject, &str> {
        let fields = self.fields.as_ref().map_err(String::as_str)?;
        let types =
            TypeMeta { api_version: self.resource.api_version.clone(), kind: self.resource.kind.clone() };
        Ok(DynamicObject { types: Some(types), metadata: self.metadata.clone(), data: Value::clone(fields) })
    }
}

fn fields_of(object: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(object).map_err(|error| error.to_string())
}

/// A change of an object that belongs to somebody else: only of the very one that was seen, and only if it is still as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    pub(crate) resource: ApiResource,
    pub(crate) key: ObjectKey,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) fields: Map<String, Value>,
}

impl Patch {
    /// Merges these fields into what was seen.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()>>(seen: &K, fields: Map<String, Value>) -> Self {
        let meta = seen.meta();
        Self {
            resource: resource_of::<K>(),
            key: ObjectKey::of_meta(meta),
            uid: meta.uid.clone(),
            version: meta.resource_version.clone(),
            fields,
        }
    }

    /// Whether it can be refused if the object is not the one that was seen any more.
    pub(crate) fn is_locked(&self) -> bool {
        self.version.is_some() && self.fields.get("metadata").is_none_or(Value::is_object)
    }

    /// As it is sent: refused if the object is another one by now, or has changed.
    pub(crate) fn locked(&self) -> Value {
        let mut fields = self.fields.clone();
        let lock = [("uid", &self.uid), ("resourceVersion", &self.version)];
        let meta = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(meta) = meta {
            meta.extend(lock.map(|(name, value)| (name.to_owned(), Value::from(value.clone()))));
        }
        Value::Object(fields)
    }

    /// Which object it is.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId { resource: self.resource.clone(), key: self.key.clone() }
    }
}

/// Annotations that ask another controller to look at one of its objects again. By custom everybody may write them, so
/// nobody owns them: they are not part of what is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ReconcileRequest {
    pub(crate) resource: ApiResource,
    pub(crate) key: ObjectKey,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl ReconcileRequest {
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
    /// They go before it: when it is gone, so are they.
    GoFirst,
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

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    #[test]
    fn a_change_of_what_belongs_to_others_is_locked_by_what_was_seen() {
        let seen: ConfigMap =
            serde_json::from_value(json!({"metadata": {"name": "web", "uid": "u", "resourceVersion": "7"}}))
                .unwrap();
        let patch = |fields: Value| Patch::of(&seen, fields.as_object().cloned().unwrap()).locked();
        let lock = json!({"uid": "u", "resourceVersion": "7"});
        assert_eq!(patch(json!({"data": {"a": "1"}})), json!({"data": {"a": "1"}, "metadata": lock}));
        assert_eq!(
            patch(json!({"metadata": {"labels": {"a": "1"}, "uid": "theirs"}})),
            json!({"metadata": {"labels": {"a": "1"}, "uid": "u", "resourceVersion": "7"}})
        );
    }

    #[test]
    fn a_child_is_what_is_wanted_of_it_without_its_status() {
        let wanted: k8s_openapi::api::core::v1::Pod = serde_json::from_value(json!({
            "metadata": {"name": "web"}, "spec": {"containers": []}, "status": {"phase": "Running"}}))
        .unwrap();
        let child = Child::of(&wanted);
        assert_eq!(child.fields.as_deref(), Ok(&json!({"spec": {"containers": []}})));
        assert_eq!(child.id().to_string(), "Pod web");
    }
}
