//! What the controller looks at for one operation.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Resource, ResourceExt};
use operator_kit::{Caches, Found, ObjectKey, Refusal, Selection, Sight, TemporaryWatch, View, Watched};
use serde::de::DeserializeOwned;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Operation, Request};

use super::engines::{Engine, job};
use super::{Kinds, OPERATION_LABEL};

/// What an administrator lets be done in a namespace: a list of types.
const ALLOWED_TYPES: &str = "ops.vworkspace.io/allowed-types";

/// The world around one operation.
pub(crate) struct World {
    /// What carries it out, or what is wrong with what it asks for.
    pub(crate) engine: Result<Box<dyn Engine>, String>,
    /// What it works on.
    pub(crate) target: Sight<ApplicationInstance>,
    /// Who else wants to do something to that, and has not ended.
    pub(crate) others: Vec<Other>,
    pub(crate) allowed_types: AllowedTypes,
    /// What the API server did not let us do.
    pub(crate) refusals: Vec<Refusal>,
    /// The id of the cluster.
    pub(crate) cluster: String,
}

/// Another operation on the same target.
pub(crate) struct Other {
    pub(crate) operation: Operation,
    pub(crate) engine: Option<Box<dyn Engine>>,
}

/// What the namespace lets be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AllowedTypes {
    /// It has not been looked at yet.
    NotYet,
    /// It cannot be looked at; why.
    Unknown(String),
    /// Everything.
    All,
    /// These.
    Only(Vec<String>),
}

pub(super) fn world(operation: &Operation, view: &View<'_>, kinds: &Kinds) -> World {
    let namespace = operation.namespace().unwrap_or_default();
    let target = ObjectKey::namespaced(&namespace, &operation.spec.target_ref.name);
    let others = match view.caches.named(kinds.operations, &target) {
        Found::Objects(operations) => operations,
        Found::NotYet | Found::Unlisted(_) | Found::NotInstalled => Vec::new(),
    };
    let others = others.into_iter().filter(|other| other.uid() != operation.uid());
    World {
        engine: engine(operation, view.caches, kinds),
        target: view.caches.find(kinds.instances, &target),
        others: others
            .map(|other| Other { engine: engine(&other, view.caches, kinds).ok(), operation: other })
            .collect(),
        allowed_types: allowed_types(&view.find(&namespace_watch(operation))),
        refusals: view.refusals.to_vec(),
        cluster: view.cluster.to_owned(),
    }
}

/// The namespace, while the operation has not started: it may forbid it.
pub(super) fn namespace_watch(operation: &Operation) -> TemporaryWatch {
    let namespace = operation.namespace().unwrap_or_default();
    TemporaryWatch::of::<Namespace>(Selection::named(&namespace).metadata_only())
}

fn allowed_types<O: AsRef<kube::api::DynamicObject>>(found: &Found<O>) -> AllowedTypes {
    match found {
        Found::NotYet => AllowedTypes::NotYet,
        Found::Unlisted(why) => AllowedTypes::Unknown(why.clone()),
        Found::NotInstalled => AllowedTypes::Unknown("namespaces cannot be listed".to_owned()),
        Found::Objects(namespaces) => {
            let annotations =
                namespaces.first().and_then(|known| known.as_ref().metadata.annotations.as_ref());
            let list = annotations.and_then(|annotations| annotations.get(ALLOWED_TYPES));
            list.map_or(AllowedTypes::All, |list| {
                AllowedTypes::Only(list.split(',').map(|type_| type_.trim().to_owned()).collect())
            })
        }
    }
}

/// What is seen of the engine of any operation.
fn engine(operation: &Operation, caches: &Caches, kinds: &Kinds) -> Result<Box<dyn Engine>, String> {
    match operation.spec.request().map_err(|problems| problems.to_string())? {
        Request::RunCommand(parameters) => {
            let (namespace, uid) = (operation.namespace().unwrap_or_default(), operation.uid());
            let pods = ObjectKey::namespaced(&namespace, uid.as_deref().unwrap_or_default());
            Ok(Box::new(job::Run {
                parameters,
                job: child(caches, kinds.jobs, &job::key(operation), operation),
                pods: caches.named(kinds.pods, &pods).objects().to_vec(),
                lacks_runner: matches!(
                    caches.find(kinds.runners, &job::runner_key(operation)),
                    Sight::Absent
                ),
            }))
        }
        Request::Backup(_) | Request::Restore(_) | Request::Upgrade(_) => {
            Err("this version cannot run it yet; it runs runCommand.job".to_owned())
        }
    }
}

/// A child of an operation; a namesake of somebody else is none.
fn child<K>(caches: &Caches, children: Watched<K>, key: &ObjectKey, operation: &Operation) -> Sight<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    match caches.find(children, key) {
        Sight::Present(found) if found.labels().get(OPERATION_LABEL) != operation.uid().as_ref() => {
            Sight::Absent
        }
        sight => sight,
    }
}
