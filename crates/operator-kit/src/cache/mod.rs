//! Copies of what the API server has. Controllers read them and nothing else; they are kept up to date by `watch.rs`.

pub(crate) mod incoming;
mod kept;
mod kind;
mod trouble;
pub(crate) mod watch;

use std::sync::Arc;

use kube::Resource;
use kube::api::{DynamicObject, ObjectMeta};
use kube::core::ApiResource;
use serde::de::DeserializeOwned;

pub(crate) use kept::Kept;
pub(crate) use kind::{KindCache, Listed, Part, Past, Progress};

use crate::controller::Watched;
use crate::object::{ObjectId, ObjectKey, plural_name, resource_of};

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

    /// Those that are seen, for who wants to keep them.
    pub fn into_objects(self) -> Vec<K> {
        match self {
            Found::Objects(objects) => objects,
            Found::NotYet | Found::Unlisted(_) | Found::NotInstalled => Vec::new(),
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

/// What one controller can look at: the caches of what it has declared, in that order. Two controllers that declare the same
/// share a cache.
#[derive(Debug, Default)]
pub struct Caches(Vec<Declared>);

#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) resource: ApiResource,
    /// Whether the controller writes these objects, and has to see its own writes here.
    pub(crate) is_written: bool,
    pub(crate) cache: Arc<KindCache>,
}

impl Caches {
    pub(crate) fn new(declared: Vec<Declared>) -> Self {
        Self(declared)
    }

    /// Looks an object up.
    pub fn find<K>(&self, watched: Watched<K>, key: &ObjectKey) -> Sight<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let name = || plural_name(&resource_of::<K>());
        let Some(cache) = self.of(watched) else {
            return Sight::Unknown(format!("{} are not watched by this controller", name()));
        };
        match (cache.progress_at(key), cache.get(key)) {
            (Progress::Starting, _) => Sight::Unknown(format!("{} have not been listed yet", name())),
            (Progress::Unlisted(why), _) => Sight::Unknown(why.to_string()),
            (Progress::NotInstalled, _) => Sight::NotInstalled,
            (Progress::Synced, None) => Sight::Absent,
            (Progress::Synced, Some(kept)) => kept
                .read()
                .map_or_else(|error: serde_json::Error| Sight::Unreadable(error.to_string()), Sight::Present),
        }
    }

    /// The readable objects in the namespace of `name` that are found by it.
    #[must_use]
    pub fn named<K>(&self, watched: Watched<K>, name: &ObjectKey) -> Found<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let Some(cache) = self.of(watched) else { return Found::NotYet };
        Found::at(&cache.progress_at(name), || {
            cache.named(name).iter().filter_map(|(_, kept)| kept.read().ok()).collect()
        })
    }

    /// Which objects are found by a name.
    #[must_use]
    pub fn keys_named<K: Resource<DynamicType = ()>>(
        &self,
        watched: Watched<K>,
        name: &ObjectKey,
    ) -> Vec<ObjectKey> {
        let found = self.of(watched).map(|cache| cache.named(name)).unwrap_or_default();
        found.into_iter().map(|(key, _)| key).collect()
    }

    /// An object as it came.
    #[must_use]
    pub fn raw<K: Resource<DynamicType = ()>>(
        &self,
        watched: Watched<K>,
        key: &ObjectKey,
    ) -> Option<DynamicObject> {
        self.of(watched)?.object(key)
    }

    /// The metadata of an object, also of one that cannot be read as what it should be.
    pub(crate) fn head<K: Resource<DynamicType = ()>>(
        &self,
        watched: Watched<K>,
        key: &ObjectKey,
    ) -> Option<ObjectMeta> {
        Some(self.of(watched)?.get(key)?.incoming().ok()?.head.metadata)
    }

    /// Which of the controller's own objects are found by a name.
    pub(crate) fn own_named(&self, name: &ObjectKey) -> Vec<ObjectKey> {
        let found = self.0.first().map(|own| own.cache.named(name)).unwrap_or_default();
        found.into_iter().map(|(key, _)| key).collect()
    }

    /// A declaration of another kind finds nothing here.
    fn of<K: Resource<DynamicType = ()>>(&self, watched: Watched<K>) -> Option<&Arc<KindCache>> {
        let declared = self.0.get(watched.place)?;
        (declared.resource == resource_of::<K>()).then_some(&declared.cache)
    }

    /// Where the controller sees what it writes to this object: where it is seen already, or else among what it makes.
    pub(crate) fn showing(&self, id: &ObjectId) -> Option<&Arc<KindCache>> {
        let mut of_kind = self.0.iter().filter(|known| known.resource == id.resource);
        let holding = of_kind.find(|known| known.cache.get(&id.key).is_some()).map(|known| &known.cache);
        holding.or_else(|| self.written(&id.resource))
    }

    /// All that is seen of what the controller writes has come as far as this version: a child may be in any part.
    pub(crate) fn oldest_written(&self) -> Option<u64> {
        let written = self.0.iter().filter(|known| known.is_written);
        written.filter_map(|known| known.cache.oldest()).min()
    }

    /// Whether the controller has declared objects of this kind.
    pub(crate) fn is_declared(&self, resource: &ApiResource) -> bool {
        self.0.iter().any(|known| known.resource == *resource)
    }

    /// Where the controller sees its own writes to a kind.
    pub(crate) fn written(&self, resource: &ApiResource) -> Option<&Arc<KindCache>> {
        let written = self.0.iter().find(|known| known.is_written && known.resource == *resource);
        written.map(|known| &known.cache)
    }
}

/// Reads an object as what it should be.
pub fn decode<K: DeserializeOwned>(object: &DynamicObject) -> Result<K, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(object)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Watches;
    use crate::selection::Selection;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::json;

    /// A copy with this object in it.
    fn cache(name: &str) -> Arc<KindCache> {
        let cache = KindCache::of_parts([None]);
        cache.begin_list(&None);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "shop", "resourceVersion": "1"}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        cache.list_item(&None, &object.into());
        cache.end_list(&None, "1", Past::Refused);
        Arc::new(cache)
    }

    fn watches() -> Watches {
        Watches::of::<Secret>()
    }

    #[test]
    fn two_selections_of_a_kind_do_not_see_each_others_objects() {
        let mut watches = watches();
        let children = watches.labelled::<ConfigMap>("example.org/owner");
        let policy = watches.for_all::<ConfigMap>(Selection::named("policy"));
        let resources = watches.kinds.iter().zip([cache("own"), cache("child"), cache("policy")]);
        let caches = Caches::new(
            resources
                .map(|(watch, cache)| Declared {
                    resource: watch.resource.clone(),
                    is_written: watch.concerns.are_written(),
                    cache,
                })
                .collect(),
        );
        let key = |name: &str| ObjectKey::namespaced("shop", name);
        let is_there = |watched, name| caches.find::<ConfigMap>(watched, &key(name)).present().is_some();
        assert!(is_there(children, "child") && !is_there(children, "policy"));
        assert!(is_there(policy, "policy") && !is_there(policy, "child"));
        // What is written is looked for among the children, whatever else is watched of their kind.
        let written = caches.written(&resource_of::<ConfigMap>()).unwrap();
        assert!(written.get(&key("child")).is_some() && written.get(&key("policy")).is_none());
    }

    #[test]
    fn what_is_written_is_as_new_as_the_oldest_cache_of_it() {
        let declared = |is_written, newest| {
            let cache = cache("child");
            cache.reached(&None, newest);
            Declared { resource: resource_of::<ConfigMap>(), is_written, cache }
        };
        let oldest = |declared| Caches::new(declared).oldest_written();
        assert_eq!(oldest(vec![declared(true, "9"), declared(true, "7")]), Some(7));
        assert_eq!(oldest(vec![declared(true, "9"), declared(false, "7")]), Some(9), "others write that");
        assert_eq!(oldest(vec![]), None);
    }

    #[test]
    fn what_was_declared_elsewhere_cannot_be_read() {
        let mut elsewhere = watches();
        let foreign = elsewhere.for_all::<ConfigMap>(Selection::all());
        let key = ObjectKey::namespaced("shop", "web");
        let own = Declared { resource: resource_of::<Secret>(), is_written: true, cache: cache("own") };
        for caches in [Caches::default(), Caches::new(vec![own])] {
            let Sight::Unknown(why) = caches.find(foreign, &key) else { panic!("it was found") };
            assert_eq!(why, "configmaps are not watched by this controller");
        }
    }
}
