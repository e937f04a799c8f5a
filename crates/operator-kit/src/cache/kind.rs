//! The copy of one kind's objects, and how far it has come.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::freshness::version_number;
use crate::object::ObjectKey;

/// How far a cache has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing is known yet.
    Starting,
    /// The cluster does not have this kind.
    NotInstalled,
    /// It shows what the cluster has.
    Synced,
}

/// The copy of one kind's objects.
#[derive(Debug)]
pub(crate) struct KindCache {
    contents: RwLock<Contents>,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Default)]
struct Contents {
    objects: HashMap<ObjectKey, Arc<DynamicObject>>,
    /// What a list that is still coming in has brought so far.
    incoming: HashMap<ObjectKey, Arc<DynamicObject>>,
    incoming_since: Option<Instant>,
    /// The newest version of any object that a watch has shown.
    newest: u64,
    /// When the list was asked for on which the contents rest.
    listed_at: Option<Instant>,
}

/// What a cache can say about how new it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    /// It has seen everything up to this version.
    pub(crate) newest: u64,
    /// It rests on a list that was asked for at this moment.
    pub(crate) listed_at: Option<Instant>,
}

impl KindCache {
    pub(crate) fn new() -> Self {
        Self { contents: RwLock::default(), progress: watch::Sender::new(Progress::Starting) }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<DynamicObject>> {
        self.read().objects.get(key).cloned()
    }

    pub(crate) fn age(&self) -> Age {
        let contents = self.read();
        Age { newest: contents.newest, listed_at: contents.listed_at }
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.progress() == Progress::Synced
    }

    /// Waits until it is known what the cluster has, if only that it does not have the kind.
    pub(crate) async fn settled(&self) {
        let mut progress = self.progress.subscribe();
        // The sender lives as long as `self`.
        let _ = progress.wait_for(|progress| *progress != Progress::Starting).await;
    }

    /// A list is about to be asked for.
    pub(crate) fn begin_list(&self) {
        let mut contents = self.write();
        contents.incoming = HashMap::new();
        contents.incoming_since = Some(Instant::now());
    }

    /// One object of the list.
    pub(crate) fn list_item(&self, object: DynamicObject) {
        self.write().incoming.insert(ObjectKey::of(&object), Arc::new(object));
    }

    /// The list is complete: tells what differs from before, also what is gone.
    pub(crate) fn end_list(&self) -> Vec<Arc<DynamicObject>> {
        let changed = {
            let mut contents = self.write();
            let incoming = std::mem::take(&mut contents.incoming);
            let before = std::mem::replace(&mut contents.objects, incoming);
            contents.listed_at = contents.incoming_since.take();
            let newest = contents.objects.values().map(|object| version_of(object)).max();
            contents.newest = contents.newest.max(newest.unwrap_or_default());
            differences(&before, &contents.objects)
        };
        self.progress.send_replace(Progress::Synced);
        changed
    }

    /// A watch shows an object as it is now.
    pub(crate) fn put(&self, object: DynamicObject) -> Arc<DynamicObject> {
        let object = Arc::new(object);
        let mut contents = self.write();
        contents.newest = contents.newest.max(version_of(&object));
        contents.objects.insert(ObjectKey::of(&object), Arc::clone(&object));
        object
    }

    /// A watch shows that an object is gone.
    pub(crate) fn remove(&self, object: &DynamicObject) {
        let mut contents = self.write();
        contents.newest = contents.newest.max(version_of(object));
        contents.objects.remove(&ObjectKey::of(object));
    }

    /// The cluster does not have the kind (any more): tells what was there.
    pub(crate) fn not_installed(&self) -> Vec<Arc<DynamicObject>> {
        let gone = std::mem::take(&mut *self.write()).objects;
        self.progress.send_replace(Progress::NotInstalled);
        gone.into_values().collect()
    }

    /// All objects.
    pub(crate) fn all(&self) -> Vec<Arc<DynamicObject>> {
        self.read().objects.values().cloned().collect()
    }

    // A panic elsewhere leaves whole values behind: every write below is one assignment or insert.
    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version_of(object: &DynamicObject) -> u64 {
    object.metadata.resource_version.as_deref().and_then(version_number).unwrap_or_default()
}

/// Objects that are new, changed or gone.
fn differences(
    before: &HashMap<ObjectKey, Arc<DynamicObject>>,
    after: &HashMap<ObjectKey, Arc<DynamicObject>>,
) -> Vec<Arc<DynamicObject>> {
    let version = |object: &Arc<DynamicObject>| object.metadata.resource_version.clone();
    let changed = after.iter().filter(|(key, object)| before.get(*key).map(version) != Some(version(object)));
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    changed.chain(gone).map(|(_, object)| Arc::clone(object)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, version: &str) -> DynamicObject {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version}}))
        .unwrap()
    }

    fn names(objects: &[Arc<DynamicObject>]) -> Vec<String> {
        let mut names: Vec<_> = objects.iter().map(|object| ObjectKey::of(object).name).collect();
        names.sort();
        names
    }

    fn list(cache: &KindCache, objects: &[(&str, &str)]) -> Vec<String> {
        cache.begin_list();
        for (name, version) in objects {
            cache.list_item(object(name, version));
        }
        names(&cache.end_list())
    }

    #[test]
    fn a_second_list_tells_what_is_new_changed_and_gone_and_nothing_else() {
        let cache = KindCache::new();
        assert_eq!(list(&cache, &[("a", "1"), ("b", "2"), ("c", "3")]), ["a", "b", "c"]);
        assert_eq!(list(&cache, &[("a", "1"), ("b", "4"), ("d", "5")]), ["b", "c", "d"]);
    }

    #[test]
    fn a_list_that_is_still_coming_in_hides_nothing() {
        let cache = KindCache::new();
        list(&cache, &[("a", "1")]);
        cache.begin_list();
        assert!(cache.get(&ObjectKey { namespace: None, name: "a".to_owned() }).is_some());
    }

    #[test]
    fn a_deletion_moves_the_cache_forward() {
        let cache = KindCache::new();
        list(&cache, &[("a", "1")]);
        cache.remove(&object("a", "7"));
        assert_eq!((cache.age().newest, cache.all().len()), (7, 0));
    }

    #[test]
    fn a_kind_that_disappears_takes_its_objects_along() {
        let cache = KindCache::new();
        list(&cache, &[("a", "1")]);
        assert_eq!(names(&cache.not_installed()), ["a"]);
        assert_eq!(cache.progress(), Progress::NotInstalled);
    }
}
