//! What a plan asks of the API server, as values: the half of acting that needs no cluster.
//!
//! The order is such that whoever comes after a crash can go on: the finalizer stands before the first child, and goes last.

use std::collections::BTreeMap;

use kube::api::{DynamicObject, ObjectMeta};
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::Value;

use super::sent::hash_of;
use super::{Deed, Error, difference, finalizer, status};
use crate::cache::Caches;
use crate::object::{ObjectId, ObjectKey};
use crate::ownership::Ownership;
use crate::plan::{Absence, Child, Deletion, Patch, Plan, ReconcileRequest, Step};
use crate::product::Product;

/// What never changes about a controller's objects.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// The controller's own kind.
    pub(crate) resource: ApiResource,
    pub(crate) finalizer: Option<&'static str>,
    /// Fields of the status that only tell the time.
    pub(crate) clocks: &'static [&'static str],
    pub(crate) ownership: Ownership,
    pub(crate) product: Product,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    /// The object's own finalizers, as a whole.
    Finalizers(Vec<String>),
    Apply(Box<Apply>),
    /// Made if it is not there; never changed.
    Create {
        id: ObjectId,
        desired: Box<DynamicObject>,
    },
    /// Made if nobody has made it.
    Share {
        id: ObjectId,
        desired: Box<DynamicObject>,
    },
    /// Locked by what was seen.
    Patch(Patch),
    /// The name is taken: nothing can be sent.
    Taken {
        id: ObjectId,
        owner: String,
    },
    /// Nobody would see what becomes of it: nothing is sent.
    Unwatched {
        id: ObjectId,
    },
    Delete(Deletion),
    /// Locked by the version that was seen.
    Annotate {
        id: ObjectId,
        annotations: BTreeMap<String, String>,
        version: Option<String>,
    },
    /// The end: the API server itself must say that these are gone, then only these finalizers stay.
    LetGo {
        gone: Vec<ObjectId>,
        finalizers: Vec<String>,
    },
    /// The whole status. Sent last, and only if the rest is known to be as it says.
    Status(Value),
}

/// A child that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Apply {
    pub(crate) id: ObjectId,
    /// With the hash of what is wanted.
    pub(crate) desired: DynamicObject,
    pub(crate) hash: String,
    /// As it was seen; nothing if it was not.
    pub(crate) seen: Option<Seen>,
    /// The first place that is not as wanted.
    pub(crate) place: Option<String>,
}

/// What a write of a child is locked by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) version: String,
    /// A version alone does not keep an apply from making an object anew that is gone.
    pub(crate) uid: Option<String>,
    /// By which reconcile it was made, if it says so.
    pub(crate) creation: Option<String>,
}

impl Seen {
    pub(super) fn of(meta: &ObjectMeta, product: Product) -> Self {
        let creation = meta.annotations.as_ref().and_then(|known| known.get(&product.creation_annotation()));
        let version = meta.resource_version.clone().unwrap_or_default();
        Self { version, uid: meta.uid.clone(), creation: creation.cloned() }
    }
}

impl Request {
    pub(crate) const STATUS_DEED: &str = "status";

    /// What it would do, whatever it is locked by: two that are alike fail alike.
    pub(crate) fn deed(&self) -> String {
        match self {
            Request::Finalizers(finalizers) => format!("finalizers {}", finalizers.join(" ")),
            Request::Apply(apply) => format!("apply {} {}", apply.id, apply.hash),
            Request::Create { id, desired } => {
                format!("create {id} {:x}", hash_of(serde_json::to_string(desired).unwrap_or_default()))
            }
            Request::Share { id, .. } => format!("share {id}"),
            Request::Patch(patch) => format!("patch {} {:?}", patch.id(), patch.fields),
            Request::Taken { id, .. } => format!("apply {id}, which is taken"),
            Request::Unwatched { id } => format!("apply {id}, which is not watched"),
            Request::Delete(deletion) => format!("delete {} {}", deletion.id(), deletion.uid),
            Request::Annotate { id, annotations, .. } => format!("annotate {id} {annotations:?}"),
            Request::LetGo { gone, .. } => format!("let go, with {} to ask about", gone.len()),
            Request::Status(_) => Self::STATUS_DEED.to_owned(),
        }
    }

    pub(crate) fn kind(&self) -> Deed {
        match self {
            Request::Finalizers(_)
            | Request::Apply(_)
            | Request::Create { .. }
            | Request::Share { .. }
            | Request::Patch(_)
            | Request::Taken { .. }
            | Request::Unwatched { .. }
            | Request::Status(_) => Deed::Make,
            Request::Delete(_) | Request::Annotate { .. } | Request::LetGo { .. } => Deed::Clear,
        }
    }

    /// The object that it would make.
    pub(super) fn made(&self) -> Option<&ObjectId> {
        match self {
            Request::Apply(apply) if apply.seen.is_none() => Some(&apply.id),
            Request::Create { id, .. } => Some(id),
            _ => None,
        }
    }

    pub(crate) fn is_status(&self) -> bool {
        matches!(self, Request::Status(_))
    }
}

/// Refuses what only a mistake in a controller can ask for: an object of a kind that it has not declared, whose fate it would
/// never see, and a name that would lead to another place of the API.
pub(super) fn check<S>(plan: &Plan<S>, caches: &Caches) -> Result<(), Error> {
    for step in plan.steps() {
        let (id, is_declared) = match step {
            Step::Apply(child) | Step::Create(child) => {
                let id = child.id();
                let is_declared = caches.written(&id.resource).is_some();
                (id, is_declared)
            }
            Step::Share(object) => (object.id(), caches.is_declared(&object.resource)),
            Step::Patch(patch) => (patch.id(), caches.is_declared(&patch.resource)),
            Step::Delete(deletion) => (deletion.id(), caches.is_declared(&deletion.resource)),
            Step::RequestReconcile(request) => (request.id(), caches.is_declared(&request.resource)),
            Step::Hold | Step::LetGo(_) | Step::Say(_) => continue,
        };
        let unwritable = |why: &str| Err(Error::Unwritable { object: id.to_string(), why: why.to_owned() });
        if !is_declared {
            return unwritable("the controller has not declared this kind among those that it writes");
        }
        if !is_segment(&id.key.name) || !id.key.namespace.as_deref().is_none_or(is_segment) {
            return unwritable("its name or namespace cannot be part of an address");
        }
        if let Step::Patch(patch) = step
            && !patch.is_locked()
        {
            return unwritable("a change of somebody else's object needs the version that was seen");
        }
    }
    Ok(())
}

/// What the API server takes as one part of a path.
fn is_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%', '?', '#'])
}

/// Everything that a plan asks for and that is not so yet, in order. `live` shows an object as the caches have it.
pub(crate) fn requests<S: Serialize>(
    terms: &Terms,
    object: &DynamicObject,
    plan: &Plan<S>,
    live: &dyn Fn(&ObjectId) -> Option<DynamicObject>,
) -> Result<Vec<Request>, Error> {
    let finalizers = finalizer::change(&object.metadata, terms.finalizer, plan.finalizer);
    let mut requests = Vec::new();
    for step in plan.steps() {
        requests.extend(match step {
            Step::Hold => finalizers.clone().map(Request::Finalizers),
            Step::LetGo(gone) => finalizers.clone().map(|finalizers| {
                let gone = gone.iter().map(|Absence(id)| id.clone()).collect();
                Request::LetGo { gone, finalizers }
            }),
            Step::Apply(child) => apply(terms, object, child, live)?,
            Step::Create(child) => create(terms, object, child, live)?,
            Step::Share(shared) => share(shared, live)?,
            Step::Patch(patch) => Some(Request::Patch(patch.clone())),
            Step::Delete(deletion) => Some(Request::Delete(deletion.clone())),
            Step::RequestReconcile(request) => annotate(request, live),
            Step::Say(status) => saying(terms, object, status)?,
        });
    }
    Ok(requests)
}

/// The write of a status, if it says something else than before.
pub(super) fn saying<S: Serialize>(
    terms: &Terms,
    object: &DynamicObject,
    status: &S,
) -> Result<Option<Request>, Error> {
    let own = || ObjectId { resource: terms.resource.clone(), key: ObjectKey::of(object) }.to_string();
    let status = serde_json::to_value(status).map_err(|source| Error::Status { object: own(), source })?;
    let current = object.data.get("status").unwrap_or(&Value::Null);
    Ok(status::next(current, &status, terms.clocks).map(Request::Status))
}

/// A child as it is sent: it says whose it is.
fn desired(terms: &Terms, owner: &DynamicObject, child: &Child) -> Result<DynamicObject, Error> {
    let unwritable = |why: &str| Error::Unwritable { object: child.id().to_string(), why: why.to_owned() };
    let mut desired = child.object().map_err(unwritable)?;
    let elsewhere =
        || owner.metadata.namespace.is_some() && desired.metadata.namespace != owner.metadata.namespace;
    if terms.ownership == Ownership::Reference && elsewhere() {
        // The garbage collector takes such a child for an orphan.
        return Err(unwritable(
            "an owner reference does not reach into another namespace: own it by a label",
        ));
    }
    terms.ownership.mark(&mut desired.metadata, &owner.metadata, &terms.resource);
    Ok(desired)
}

/// What stands in the way of a child: a namesake of somebody else.
fn taken(terms: &Terms, owner: &DynamicObject, id: &ObjectId, live: &DynamicObject) -> Option<Request> {
    let is_ours = terms.ownership.holds(&live.metadata, owner.metadata.uid.as_deref());
    (!is_ours).then(|| Request::Taken { id: id.clone(), owner: terms.ownership.owner_of(&live.metadata) })
}

fn apply(
    terms: &Terms,
    owner: &DynamicObject,
    child: &Child,
    live: &dyn Fn(&ObjectId) -> Option<DynamicObject>,
) -> Result<Option<Request>, Error> {
    let (id, mut desired) = (child.id(), desired(terms, owner, child)?);
    let hash = difference::mark(&mut desired, terms.product);
    let Some(live) = live(&id) else {
        return Ok(Some(Request::Apply(Box::new(Apply { id, desired, hash, seen: None, place: None }))));
    };
    if let Some(taken) = taken(terms, owner, &id, &live) {
        return Ok(Some(taken));
    }
    let Some(place) = difference::first(&desired, &live) else { return Ok(None) };
    let seen = Some(Seen::of(&live.metadata, terms.product));
    Ok(Some(Request::Apply(Box::new(Apply { id, desired, hash, seen, place: Some(place) }))))
}

fn create(
    terms: &Terms,
    owner: &DynamicObject,
    child: &Child,
    live: &dyn Fn(&ObjectId) -> Option<DynamicObject>,
) -> Result<Option<Request>, Error> {
    let (id, desired) = (child.id(), desired(terms, owner, child)?);
    Ok(match live(&id) {
        Some(live) => taken(terms, owner, &id, &live),
        None => Some(Request::Create { id, desired: Box::new(desired) }),
    })
}

fn share(
    shared: &Child,
    live: &dyn Fn(&ObjectId) -> Option<DynamicObject>,
) -> Result<Option<Request>, Error> {
    let id = shared.id();
    let unwritable = |why: &str| Error::Unwritable { object: id.to_string(), why: why.to_owned() };
    let desired = Box::new(shared.object().map_err(unwritable)?);
    Ok(live(&id).is_none().then_some(Request::Share { id, desired }))
}

/// Unless the marks are there already, or the object is not.
fn annotate(
    reconcile_request: &ReconcileRequest,
    live: &dyn Fn(&ObjectId) -> Option<DynamicObject>,
) -> Option<Request> {
    let id = reconcile_request.id();
    let live = live(&id)?;
    let there = |key: &String| live.metadata.annotations.as_ref()?.get(key);
    let is_there = reconcile_request.annotations.iter().all(|(key, value)| there(key) == Some(value));
    let version = live.metadata.resource_version.clone();
    (!is_there).then(|| Request::Annotate { id, annotations: reconcile_request.annotations.clone(), version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::resource_of;
    use crate::plan::{Dependents, Finalizer};
    use crate::product::TESTED;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
    use serde_json::json;

    const FINALIZER: &str = "example.org/finalizer";
    const OWNER: &str = "example.org/owner";

    fn terms() -> Terms {
        Terms {
            resource: resource_of::<ConfigMap>(),
            finalizer: Some(FINALIZER),
            clocks: &[],
            ownership: Ownership::Label(OWNER),
            product: TESTED,
        }
    }

    fn object(finalizers: &[&str], status: &Value) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "status": status,
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1",
                "finalizers": finalizers}}))
        .unwrap()
    }

    fn key() -> ObjectKey {
        ObjectKey::namespaced("shop", "web")
    }

    /// Wants a Pod, no Secret any more, and another look at the Pod.
    fn plan(finalizer: Finalizer, status: &Value) -> Plan<Value> {
        let marks = [("look".to_owned(), "again".to_owned())].into();
        Plan {
            children: vec![Child::new::<Pod>(&key()).spec(json!({"a": 1}))],
            deletions: vec![Deletion::new::<Secret>(key(), "s", Dependents::GoToo)],
            reconcile_requests: vec![ReconcileRequest::new::<Pod>(key(), marks)],
            gone: vec![Absence::of::<Pod>(key())],
            ..Plan::only_status(finalizer, status.clone())
        }
    }

    fn deeds(object: &DynamicObject, plan: &Plan<Value>, pod: Option<&DynamicObject>) -> Vec<String> {
        let live = |id: &ObjectId| pod.filter(|_| id.resource.kind == "Pod").cloned();
        let requests = requests(&terms(), object, plan, &live).unwrap();
        let verb = |request: &Request| request.deed().split(' ').next().unwrap_or_default().to_owned();
        requests.iter().map(verb).collect()
    }

    fn pod(owner: &str, annotations: &Value) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"a": 1},
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7", "uid": "p",
                "labels": {OWNER: owner}, "annotations": annotations}}))
        .unwrap()
    }

    /// The Pod as the plan wants it.
    fn as_wanted() -> DynamicObject {
        let mut wanted = plan(Finalizer::Hold, &json!({})).children.remove(0).object().unwrap();
        let owner = object(&[], &Value::Null);
        terms().ownership.mark(&mut wanted.metadata, &owner.metadata, &terms().resource);
        difference::mark(&mut wanted, TESTED);
        wanted
    }

    #[test]
    fn the_finalizer_comes_first_and_the_status_last() {
        let new = object(&[], &Value::Null);
        let plan = plan(Finalizer::Hold, &json!({"a": 1}));
        assert_eq!(deeds(&new, &plan, None), ["finalizers", "apply", "delete", "status"]);
        let held = object(&[FINALIZER], &json!({"a": 1}));
        assert_eq!(deeds(&held, &plan, None), ["apply", "delete"]);
    }

    #[test]
    fn the_finalizer_goes_after_everything_else() {
        let held = object(&[FINALIZER, "other"], &Value::Null);
        let plan = plan(Finalizer::Release, &json!({"a": 1}));
        assert_eq!(deeds(&held, &plan, None), ["apply", "delete", "let", "status"]);
        let live = |_: &ObjectId| None;
        let requests = requests(&terms(), &held, &plan, &live).unwrap();
        let gone = vec![ObjectId { resource: resource_of::<Pod>(), key: key() }];
        assert!(requests.contains(&Request::LetGo { gone, finalizers: vec!["other".to_owned()] }));
    }

    #[test]
    fn what_is_as_wanted_is_left_alone() {
        let mut there = as_wanted();
        let marks = there.metadata.annotations.get_or_insert_default();
        marks.insert("look".to_owned(), "again".to_owned());
        let held = object(&[FINALIZER], &json!({"a": 1}));
        let plan = Plan { deletions: Vec::new(), ..plan(Finalizer::Hold, &json!({"a": 1})) };
        assert_eq!(deeds(&held, &plan, Some(&there)), Vec::<String>::new());
    }

    #[test]
    fn a_write_of_a_child_is_locked_by_what_was_seen_of_it() {
        let plan = plan(Finalizer::Hold, &json!({}));
        let there = pod("u", &json!({"test.example.org/creation": "r1"}));
        let live = |id: &ObjectId| (id.resource.kind == "Pod").then(|| there.clone());
        let requests = requests(&terms(), &object(&[FINALIZER], &Value::Null), &plan, &live).unwrap();
        let seen = requests.iter().find_map(|request| match request {
            Request::Apply(apply) => apply.seen.clone(),
            _ => None,
        });
        let [version, uid, creation] = ["7", "p", "r1"].map(str::to_owned);
        assert_eq!(seen, Some(Seen { version, uid: Some(uid), creation: Some(creation) }));
        let version = Some("7".to_owned());
        assert!(requests.iter().any(
            |request| matches!(request, Request::Annotate { version: locked, .. } if *locked == version)
        ));
    }

    #[test]
    fn a_namesake_of_somebody_else_is_never_adopted() {
        let plan = plan(Finalizer::Hold, &json!({}));
        let live = |id: &ObjectId| (id.resource.kind == "Pod").then(|| pod("theirs", &json!({})));
        let requests = requests(&terms(), &object(&[FINALIZER], &Value::Null), &plan, &live).unwrap();
        assert!(requests.iter().any(
            |request| matches!(request, Request::Taken { owner, .. } if owner == "the object with uid theirs")
        ));
        assert!(!requests.iter().any(|request| matches!(request, Request::Apply(_))));
    }

    #[test]
    fn what_was_created_once_is_left_as_it_is() {
        let child = Child::of(&ConfigMap {
            metadata: ObjectMeta { name: Some("web".to_owned()), ..ObjectMeta::default() },
            data: Some([("a".to_owned(), "1".to_owned())].into()),
            ..ConfigMap::default()
        });
        assert_eq!(child.at("/data/a"), Some(&json!("1")));
        let owner = object(&[FINALIZER], &Value::Null);
        let created =
            |live: Option<DynamicObject>| create(&terms(), &owner, &child, &|_| live.clone()).unwrap();
        let Some(Request::Create { id, desired }) = created(None) else { panic!("it is not there") };
        assert_eq!((id.to_string(), &desired.data["data"]["a"]), ("ConfigMap web".to_owned(), &json!("1")));
        assert_eq!(desired.metadata.labels.unwrap()[OWNER], "u", "whose it is");
        assert_eq!(created(Some(pod("u", &json!({})))), None, "it is there, and other than it was made");
        assert!(matches!(created(Some(pod("theirs", &json!({})))), Some(Request::Taken { .. })));
    }

    #[test]
    fn a_child_that_cannot_be_written_down_is_an_error_and_not_half_a_child() {
        let child = Child::new::<Pod>(&key()).spec(std::collections::BTreeMap::from([(vec![1], 1)]));
        let refused = apply(&terms(), &object(&[], &Value::Null), &child, &|_| None).unwrap_err();
        assert_eq!(refused.to_string(), "failed to write down Pod shop/web: key must be a string");
    }

    #[test]
    fn the_same_deed_is_known_again_whatever_it_is_locked_by() {
        let deed = |version: &str, spec: Value| {
            let mut there = pod("u", &json!({}));
            there.metadata.resource_version = Some(version.to_owned());
            let child = Child::new::<Pod>(&key()).spec(spec);
            apply(&terms(), &object(&[], &Value::Null), &child, &|_| Some(there.clone()))
                .unwrap()
                .unwrap()
                .deed()
        };
        assert_eq!(deed("7", json!({"a": 2})), deed("8", json!({"a": 2})));
        assert_ne!(deed("7", json!({"a": 2})), deed("7", json!({"a": 3})));
    }

    #[test]
    fn an_owner_reference_does_not_reach_into_another_namespace() {
        let terms = Terms { ownership: Ownership::Reference, ..terms() };
        for (namespace, is_written) in [("shop", true), ("elsewhere", false)] {
            let child = Child::new::<Pod>(&ObjectKey::namespaced(namespace, "web"));
            let written = desired(&terms, &object(&[], &Value::Null), &child);
            assert_eq!(written.is_ok(), is_written, "{namespace}: {written:?}");
        }
    }

    #[test]
    fn another_content_is_another_creation() {
        let deed = |phase: &str| {
            let mut desired = DynamicObject::new("web", &resource_of::<Pod>());
            desired.data = json!({"spec": {"phase": phase}});
            let id = ObjectId { resource: resource_of::<Pod>(), key: key() };
            Request::Create { id, desired: Box::new(desired) }.deed()
        };
        assert_eq!(deed("a"), deed("a"));
        assert_ne!(deed("a"), deed("b"));
    }
}
