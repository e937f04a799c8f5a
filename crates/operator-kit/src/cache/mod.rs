//! Copies of what the API server has. Controllers read them and nothing else; they are kept up to date by `watch.rs`.

pub(crate) mod incoming;
mod kept;
mod kind;
mod trouble;
pub(crate) mod watch;

use std::collections::HashMap;
use std::sync::Arc;

use kube::Resource;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use serde::de::DeserializeOwned;

pub(crate) use kept::Kept;
pub(crate) use kind::{KindCache, Listed, Part, Past, Progress};

use crate::object::{ObjectKey, plural_name, resource_of};

/// What a cache knows of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Sight<K> {
    /// Nothing: the kind cannot be listed there, or has not been yet; why.
    Unknown(String),
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
            Sight::Unknown(_) | Sight::NotInstalled | Sight::Absent | Sight::Unreadable(_) => None,
        }
    }

    /// The same of another kind.
    pub fn map<T>(self, map: impl FnOnce(K) -> T) -> Sight<T> {
        match self {
            Sight::Unknown(why) => Sight::Unknown(why),
            Sight::NotInstalled => Sight::NotInstalled,
            Sight::Absent => Sight::Absent,
            Sight::Unreadable(why) => Sight::Unreadable(why),
            Sight::Present(object) => Sight::Present(map(object)),
        }
    }
}

/// What is known of some objects of a kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<K> {
    /// Nothing yet: the watch has only begun, or has not been asked for.
    NotYet,
    /// The API server does not let us list them, or cannot; why.
    Unlisted(String),
    /// The cluster does not have the kind.
    NotInstalled,
    /// These exist, in the order of their names.
    Objects(Vec<K>),
}

impl<K> Found<K> {
    /// Those that are seen.
    pub fn objects(&self) -> &[K] {
        match self {
            Found::Objects(objects) => objects,
            Found::NotYet | Found::Unlisted(_) | Found::NotInstalled => &[],
        }
    }

    /// The same of something else.
    pub fn map<T>(self, map: impl FnMut(K) -> T) -> Found<T> {
        match self {
            Found::NotYet => Found::NotYet,
            Found::Unlisted(why) => Found::Unlisted(why),
            Found::NotInstalled => Found::NotInstalled,
            Found::Objects(objects) => Found::Objects(objects.into_iter().map(map).collect()),
        }
    }

    /// What is known at this stage; the objects only if the cache shows them.
    pub(crate) fn at(progress: &Progress, objects: impl FnOnce() -> Vec<K>) -> Self {
        match progress {
            Progress::Starting => Found::NotYet,
            Progress::Unlisted(why) => Found::Unlisted(why.to_string()),
            Progress::NotInstalled => Found::NotInstalled,
            Progress::Synced => Found::Objects(objects()),
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
        let Some(cache) = self.of(&resource_of::<K>()) else { return Sight::NotInstalled };
        match (cache.progress_at(key), cache.get(key)) {
            (Progress::Starting, _) => {
                Sight::Unknown(format!("{} have not been listed yet", plural_name(&resource_of::<K>())))
            }
            (Progress::Unlisted(why), _) => Sight::Unknown(why.to_string()),
            (Progress::NotInstalled, _) => Sight::NotInstalled,
            (Progress::Synced, None) => Sight::Absent,
            (Progress::Synced, Some(kept)) => kept
                .read()
                .map_or_else(|error: serde_json::Error| Sight::Unreadable(error.to_string()), Sight::Present),
        }
    }

    pub(crate) fn of(&self, resource: &ApiResource) -> Option<&Arc<KindCache>> {
        self.0.get(resource)
    }

    /// The readable objects of a kind in the namespace of `name` that are found by it.
    #[must_use]
    pub fn named<K>(&self, name: &ObjectKey) -> Found<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let resource = resource_of::<K>();
        let Some(cache) = self.of(&resource) else { return Found::NotInstalled };
        Found::at(&cache.progress_at(name), || {
            cache.named(name).iter().filter_map(|(_, kept)| kept.read().ok()).collect()
        })
    }

    /// Which objects of a kind are found by a name.
    #[must_use]
    pub fn keys_named<K: Resource<DynamicType = ()>>(&self, name: &ObjectKey) -> Vec<ObjectKey> {
        let found = self.of(&resource_of::<K>()).map(|cache| cache.named(name)).unwrap_or_default();
        found.into_iter().map(|(key, _)| key).collect()
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
