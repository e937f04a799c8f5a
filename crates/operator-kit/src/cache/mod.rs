//! Copies of what the API server has. Controllers read them and nothing else; they are kept up to date by `watch.rs`.

mod kept;
mod kind;
pub(crate) mod watch;

use std::collections::HashMap;
use std::sync::Arc;

use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde::de::DeserializeOwned;

pub(crate) use kept::Kept;
pub(crate) use kind::{KindCache, Listed, Part, Past, Progress};

use crate::object::{ObjectKey, resource_of};

/// What a cache knows of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Sight<K> {
    /// The cluster does not have this kind.
    NotInstalled,
    /// There is no such object.
    Absent,
    /// There is one, and it is not what we know under that kind's name.
    Unreadable(String),
    /// There it is.
    Present(K),
}

impl<K> Sight<K> {
    /// The object, if it is there and readable.
    pub fn present(&self) -> Option<&K> {
        match self {
            Sight::Present(object) => Some(object),
            Sight::NotInstalled | Sight::Absent | Sight::Unreadable(_) => None,
        }
    }
}

/// All caches of the operator.
#[derive(Debug, Default)]
pub struct Caches(HashMap<ApiResource, Arc<KindCache>>);

impl Caches {
    /// Looks an object up; a kind that the controller does not watch counts as not installed.
    pub fn find<K>(&self, key: &ObjectKey) -> Sight<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let Some(cache) = self.of(&resource_of::<K>()).filter(|cache| cache.is_installed()) else {
            return Sight::NotInstalled;
        };
        match cache.get(key) {
            None => Sight::Absent,
            Some(kept) => kept
                .read()
                .map_or_else(|error: serde_json::Error| Sight::Unreadable(error.to_string()), Sight::Present),
        }
    }

    /// Whether the cluster has a kind.
    #[must_use]
    pub fn is_installed<K: Resource<DynamicType = ()>>(&self) -> bool {
        self.of(&resource_of::<K>()).is_some_and(|cache| cache.is_installed())
    }

    pub(crate) fn of(&self, resource: &ApiResource) -> Option<&Arc<KindCache>> {
        self.0.get(resource)
    }

    /// The readable objects of a kind that are found by a name, in the order of their own.
    #[must_use]
    pub fn named<K>(&self, name: &ObjectKey) -> Vec<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.found(&resource_of::<K>(), name).iter().filter_map(|(_, kept)| kept.read().ok()).collect()
    }

    /// Which objects of a kind are found by a name.
    #[must_use]
    pub fn keys_named<K: Resource<DynamicType = ()>>(&self, name: &ObjectKey) -> Vec<ObjectKey> {
        self.found(&resource_of::<K>(), name).into_iter().map(|(key, _)| key).collect()
    }

    fn found(&self, resource: &ApiResource, name: &ObjectKey) -> Vec<(ObjectKey, Arc<Kept>)> {
        self.of(resource).map(|cache| cache.named(name)).unwrap_or_default()
    }

    /// An object as it came.
    #[must_use]
    pub fn raw<K: Resource<DynamicType = ()>>(&self, key: &ObjectKey) -> Option<DynamicObject> {
        self.of(&resource_of::<K>())?.object(key)
    }

    pub(crate) fn add(&mut self, resource: &ApiResource, cache: KindCache) {
        self.0.insert(resource.clone(), Arc::new(cache));
    }
}

/// Reads an object as what it should be.
pub fn decode<K: DeserializeOwned>(object: &DynamicObject) -> Result<K, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(object)?)
}
