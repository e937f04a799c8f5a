//! What runs beside the reconciles, for as long as an object wants it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::task::AbortOnDropHandle;

use crate::object::ObjectKey;

/// Things that run, and who wants them. Two objects that want the same share it; what nobody wants any more ends.
#[derive(Debug)]
pub(crate) struct Beside<K, V>(Mutex<Wanted<K, V>>);

#[derive(Debug)]
struct Wanted<K, V> {
    /// Keys are shared: they can be long, and each is known here and by each object that wants it.
    running: HashMap<Arc<K>, Running<V>>,
    by_object: HashMap<ObjectKey, Box<[Arc<K>]>>,
}

#[derive(Debug)]
struct Running<V> {
    value: V,
    /// In order; mostly one.
    wanted_by: Vec<ObjectKey>,
    /// Ends with its entry.
    _task: AbortOnDropHandle<()>,
}

impl<K: Clone + Eq + Hash, V: Clone> Beside<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Wanted { running: HashMap::new(), by_object: HashMap::new() }))
    }

    /// From now on `object` wants these and nothing else; `start` starts what nobody wanted before. Tells whether it has
    /// joined something that ran already, which may have had its news before.
    pub(crate) fn want(
        &self,
        object: &ObjectKey,
        wanted: &[K],
        start: impl Fn(&K) -> (V, AbortOnDropHandle<()>),
    ) -> bool {
        let mut state = self.lock();
        let before = state.by_object.get(object).map_or(&[][..], |known| &**known);
        if before.iter().map(Arc::as_ref).eq(wanted) {
            return false;
        }
        let before = before.to_vec();
        let is_new = |what: &K| !before.iter().any(|known| **known == *what);
        let joins = wanted.iter().any(|what| is_new(what) && state.running.contains_key(what));
        let ended: Vec<&Arc<K>> = before.iter().filter(|known| !wanted.contains(known)).collect();
        for what in &ended {
            if let Some(running) = state.running.get_mut(*what) {
                running.remove(object);
            }
        }
        let wanted: Box<[Arc<K>]> = wanted.iter().map(|what| state.add(object, what, &start)).collect();
        for what in ended {
            if state.running.get(what).is_some_and(|running| running.wanted_by.is_empty()) {
                state.running.remove(what);
            }
        }
        if wanted.is_empty() {
            state.by_object.remove(object);
        } else {
            state.by_object.insert(object.clone(), wanted);
        }
        joins
    }

    /// What is known of it, if somebody wants it.
    pub(crate) fn get(&self, what: &K) -> Option<V> {
        self.lock().running.get(what).map(|running| running.value.clone())
    }

    /// The objects to look at when it has news.
    pub(crate) fn wanted_by(&self, what: &K) -> Vec<ObjectKey> {
        self.lock().running.get(what).map(|known| known.wanted_by.clone()).unwrap_or_default()
    }

    /// Ends everything.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.running.clear();
        state.by_object.clear();
    }

    // A panic elsewhere leaves at worst something running that nobody wants until its object is reconciled again.
    fn lock(&self) -> MutexGuard<'_, Wanted<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash, V> Wanted<K, V> {
    /// Runs already, or from now on, for `object` too.
    fn add(
        &mut self,
        object: &ObjectKey,
        what: &K,
        start: impl Fn(&K) -> (V, AbortOnDropHandle<()>),
    ) -> Arc<K> {
        let known = self.running.get_key_value(what).map(|(known, _)| Arc::clone(known));
        let shared = known.unwrap_or_else(|| Arc::new(what.clone()));
        let running = self.running.entry(Arc::clone(&shared)).or_insert_with(|| {
            let (value, task) = start(what);
            Running { value, wanted_by: Vec::with_capacity(1), _task: task }
        });
        if let Err(place) = running.wanted_by.binary_search(object) {
            running.wanted_by.insert(place, object.clone());
        }
        shared
    }
}

impl<V> Running<V> {
    fn remove(&mut self, object: &ObjectKey) {
        if let Ok(place) = self.wanted_by.binary_search(object) {
            self.wanted_by.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("shop", name)
    }

    /// The value lives as long as what runs.
    fn start(_: &&'static str) -> (Arc<()>, AbortOnDropHandle<()>) {
        (Arc::new(()), AbortOnDropHandle::new(tokio::spawn(std::future::pending())))
    }

    #[tokio::test]
    async fn what_two_objects_want_runs_once_and_ends_with_the_last() {
        let beside = Beside::new();
        assert!(!beside.want(&key("a"), &["x"], start), "it is new");
        let first = beside.get(&"x").map(|value| Arc::as_ptr(&value));
        assert!(beside.want(&key("b"), &["x", "y"], start), "it may have had its news");
        assert!(!beside.want(&key("b"), &["x", "y"], start), "nothing has changed");
        assert_eq!(beside.get(&"x").map(|value| Arc::as_ptr(&value)), first, "started once");
        assert_eq!(beside.wanted_by(&"x").len(), 2);
        beside.want(&key("a"), &[], start);
        assert_eq!(beside.wanted_by(&"x"), [key("b")]);
        beside.want(&key("b"), &["y"], start);
        assert!(beside.get(&"x").is_none() && beside.get(&"y").is_some());
        beside.clear();
        assert!(beside.get(&"y").is_none());
    }
}
