//! How objects are named: by kind, namespace and name.

use std::fmt;

use kube::api::{DynamicObject, ObjectMeta};
use kube::core::ApiResource;
use kube::{Resource, ResourceExt};

/// Namespace and name of an object; cluster-scoped ones have no namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Where it lives.
    pub namespace: Option<String>,
    /// What it is called there.
    pub name: String,
}

impl ObjectKey {
    /// An object in a namespace.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), name: name.to_owned() }
    }

    /// The key of an object that the API server sent.
    #[must_use]
    pub fn of(object: &DynamicObject) -> Self {
        Self { namespace: object.namespace(), name: object.name_any() }
    }

    /// The key that stands in an object's metadata.
    #[must_use]
    pub fn of_meta(meta: &ObjectMeta) -> Self {
        Self { namespace: meta.namespace.clone(), name: meta.name.clone().unwrap_or_default() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// An object of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// What it is.
    pub resource: ApiResource,
    /// Which one.
    pub key: ObjectKey,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource.kind, self.key)
    }
}

/// The kind of a type, as the API server names it.
pub(crate) fn resource_of<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

/// `plural.group`, the name that a role and `kubectl` use.
pub(crate) fn plural_name(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}
