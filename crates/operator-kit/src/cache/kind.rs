//! The copy of one kind's objects, and how far it has come.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::time::Instant;

use super::incoming::Incoming;
use super::kept::{Kept, Packer};
use crate::controller::Names;
use crate::freshness::version_number;
use crate::object::ObjectKey;

/// How far a cache has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing is known yet.
    Starting,
    /// The cluster does not have this kind.
    NotInstalled,
    /// It shows what the cluster has.
    Synced,
    /// The API server answers that it cannot be listed, for a while now: why.
    Unlisted(Arc<str>),
}

/// A namespace, if the kind is watched in some namespaces only; otherwise all of it.
pub(crate) type Part = Option<String>;

/// The copy of one kind's objects. Each part of it is kept by a watch of its own.
#[derive(Debug)]
pub(crate) struct KindCache {
    contents: RwLock<Contents>,
    progress: watch::Sender<Progress>,
    packer: Packer,
    /// What else objects are found by.
    names: Vec<Names>,
}

type Objects = BTreeMap<ObjectKey, Arc<Kept>>;

#[derive(Debug, Default)]
struct Contents {
    objects: Objects,
    /// What an object is found by, and the object.
    found_by: BTreeSet<(ObjectKey, ObjectKey)>,
    parts: HashMap<Part, PartState>,
}

/// How far one part has come.
#[derive(Debug)]
struct PartState {
    progress: Progress,
    /// What a list that is still coming in has brought so far, and since when.
    incoming: Objects,
    incoming_since: Option<Instant>,
    /// Everything up to this version has been shown. Another part may be ahead of it.
    newest: u64,
    /// When it last went back to an earlier version.
    went_back_at: Option<Instant>,
}

impl Default for PartState {
    fn default() -> Self {
        Self {
            progress: Progress::Starting,
            incoming: BTreeMap::new(),
            incoming_since: None,
            newest: 0,
            went_back_at: None,
        }
    }
}

impl PartState {
    fn reach(&mut self, version: &str) {
        self.newest = self.newest.max(number_of(version));
    }
}

impl Contents {
    fn part(&mut self, part: &Part) -> &mut PartState {
        self.parts.entry(part.clone()).or_default()
    }

    /// The part that an object belongs to.
    fn part_of(&self, key: &ObjectKey) -> Option<&PartState> {
        self.parts.get(&key.namespace).or_else(|| self.parts.get(&None))
    }

    /// Takes the objects of a part out.
    fn take_part(&mut self, part: &Part) -> Objects {
        let taken: Objects = match part {
            None => std::mem::take(&mut self.objects),
            Some(namespace) => {
                self.objects.extract_if(from(namespace).., |key, _| key.namespace == *part).collect()
            }
        };
        for (key, kept) in &taken {
            self.forget_names(key, kept);
        }
        taken
    }

    fn insert(&mut self, key: ObjectKey, kept: Arc<Kept>) {
        self.remove(&key);
        for name in &kept.names {
            self.found_by.insert((name.clone(), key.clone()));
        }
        self.objects.insert(key, kept);
    }

    fn remove(&mut self, key: &ObjectKey) {
        if let Some(kept) = self.objects.remove(key) {
            self.forget_names(key, &kept);
        }
    }

    fn forget_names(&mut self, key: &ObjectKey, kept: &Kept) {
        for name in &kept.names {
            self.found_by.remove(&(name.clone(), key.clone()));
        }
    }

    /// A kind is known when it is known of each part how it stands. One that cannot be listed does not hide the others.
    fn progress(&self) -> Progress {
        let mut parts = self.parts.values().map(|part| &part.progress);
        let any = |wanted| self.parts.values().any(|part| part.progress == wanted);
        let known = [Progress::Starting, Progress::NotInstalled, Progress::Synced]
            .into_iter()
            .find(|known| any(known.clone()));
        known.or_else(|| parts.next().cloned()).unwrap_or(Progress::Synced)
    }
}

/// What a complete list brought.
#[derive(Debug)]
pub(crate) enum Listed {
    /// So many objects, of which none was known.
    First(usize),
    /// Those that are new, changed or gone.
    Again(Vec<Arc<Kept>>),
    /// The same after a time in which it could not be listed: that it can be is news for everybody.
    Back(Vec<Arc<Kept>>),
    /// The same of a list from before what was seen, which had to be taken.
    Restored(Vec<Arc<Kept>>),
    /// It is from before this version, which was seen: nothing of it was taken.
    Past(u64),
}

/// What to do with a list from before what was seen. A healthy API server gives none; one that lags does for a
/// while, and one that was restored from a backup from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    Refused,
    Accepted,
}

/// What a cache can say about how new it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    /// It has seen everything up to this version.
    pub(crate) newest: u64,
    /// When it last went back to an earlier version: since then no later one of before can be waited for.
    pub(crate) went_back_at: Option<Instant>,
}

impl KindCache {
    /// A copy that is whole when all these parts are.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        let parts = parts.into_iter().map(|part| (part, PartState::default())).collect();
        let contents = RwLock::new(Contents { parts, ..Contents::default() });
        let progress = watch::Sender::new(Progress::Starting);
        Self { contents, progress, packer: Packer::new(), names: Vec::new() }
    }

    /// Objects can be found by these names, too.
    pub(crate) fn found_by(self, names: &[Names]) -> Self {
        Self { names: names.to_vec(), ..self }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Kept>> {
        self.read().objects.get(key).cloned()
    }

    /// An object as it came, as far as it can be read.
    pub(crate) fn object(&self, key: &ObjectKey) -> Option<DynamicObject> {
        self.get(key)?.head().ok()
    }

    /// How new the part is that holds `key`.
    pub(crate) fn age(&self, key: &ObjectKey) -> Age {
        let contents = self.read();
        let part = contents.part_of(key);
        Age {
            newest: part.map(|part| part.newest).unwrap_or_default(),
            went_back_at: part.and_then(|part| part.went_back_at),
        }
    }

    /// Each part that is synced has come as far as this version.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let contents = self.read();
        let synced = contents.parts.values().filter(|part| part.progress == Progress::Synced);
        synced.map(|part| part.newest).min()
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// How far a part has come.
    pub(crate) fn progress_of(&self, part: &Part) -> Progress {
        self.read().parts.get(part).map_or(Progress::Starting, |part| part.progress.clone())
    }

    /// Whether objects in this place are watched at all.
    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        self.read().part_of(key).is_some()
    }

    /// How far the part has come that `key` belongs to.
    pub(crate) fn progress_at(&self, key: &ObjectKey) -> Progress {
        self.read().part_of(key).map_or(Progress::Starting, |part| part.progress.clone())
    }

    /// Waits until it is known what the cluster has, if only that it does not have the kind, or does not show it.
    pub(crate) async fn settled(&self) {
        let mut progress = self.progress.subscribe();
        // The sender lives as long as `self`.
        let _ = progress.wait_for(|progress| *progress != Progress::Starting).await;
    }

    /// A list of this part is about to be asked for.
    pub(crate) fn begin_list(&self, part: &Part) {
        let mut contents = self.write();
        let state = contents.part(part);
        (state.incoming, state.incoming_since) = (BTreeMap::new(), Some(Instant::now()));
    }

    /// The list did not come in.
    pub(crate) fn drop_list(&self, part: &Part) {
        self.write().part(part).incoming = BTreeMap::new();
    }

    /// One object of the list.
    pub(crate) fn list_item(&self, part: &Part, incoming: &Incoming) {
        let kept = self.pack(incoming);
        self.write().part(part).incoming.insert(ObjectKey::of(&incoming.head), kept);
    }

    /// The list is complete and shows everything up to its version: tells what differs from before, also what is gone.
    pub(crate) fn end_list(&self, part: &Part, version: &str, past: Past) -> Listed {
        let mut contents = self.write();
        let state = contents.part(part);
        let (incoming, since) = (std::mem::take(&mut state.incoming), state.incoming_since.take());
        let (seen, listed) = (state.newest, number_of(version));
        let goes_back = listed < seen;
        if goes_back {
            if past == Past::Refused {
                return Listed::Past(seen);
            }
            state.went_back_at = since;
        }
        state.newest = listed;
        let former = std::mem::replace(&mut state.progress, Progress::Synced);
        let before = contents.take_part(part);
        let listed = match former {
            _ if goes_back => Listed::Restored(differences(&before, &incoming)),
            Progress::Starting | Progress::NotInstalled => Listed::First(incoming.len()),
            Progress::Synced => Listed::Again(differences(&before, &incoming)),
            Progress::Unlisted(_) => Listed::Back(differences(&before, &incoming)),
        };
        for (key, kept) in incoming {
            contents.insert(key, kept);
        }
        self.progress.send_replace(contents.progress());
        listed
    }

    /// A watch has shown everything up to a version.
    pub(crate) fn reached(&self, part: &Part, version: &str) {
        self.write().part(part).reach(version);
    }

    /// A watch shows an object as it is now.
    pub(crate) fn put(&self, part: &Part, incoming: &Incoming) {
        let kept = self.pack(incoming);
        let mut contents = self.write();
        contents.part(part).reach(&kept.version);
        contents.insert(ObjectKey::of(&incoming.head), kept);
    }

    /// A watch shows that an object is gone.
    pub(crate) fn remove(&self, part: &Part, object: &DynamicObject) {
        let mut contents = self.write();
        contents.part(part).reach(object.metadata.resource_version.as_deref().unwrap_or_default());
        contents.remove(&ObjectKey::of(object));
    }

    fn pack(&self, incoming: &Incoming) -> Arc<Kept> {
        let names = self.names.iter().flat_map(|names| names(incoming.whole())).collect();
        Arc::new(self.packer.pack(incoming, names))
    }

    /// The cluster does not have the kind (any more): tells what was there.
    pub(crate) fn not_installed(&self, part: &Part) -> Vec<Arc<Kept>> {
        let mut contents = self.write();
        contents.part(part).progress = Progress::NotInstalled;
        let gone = contents.take_part(part);
        self.progress.send_replace(contents.progress());
        gone.into_values().collect()
    }

    /// The API server does not show this part; tells whether that is new. What was seen before is kept for a comparison with
    /// the next list, but counts for nothing.
    pub(crate) fn unlisted(&self, part: &Part, why: &str) -> bool {
        let mut contents = self.write();
        let state = contents.part(part);
        let is_new = !matches!(state.progress, Progress::Unlisted(_));
        state.progress = Progress::Unlisted(why.into());
        self.progress.send_replace(contents.progress());
        is_new
    }

    /// The names of all objects, in their order.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// All objects, in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<Kept>> {
        self.read().objects.values().cloned().collect()
    }

    /// The objects that are found by a name, in the order of their own.
    pub(crate) fn named(&self, name: &ObjectKey) -> Vec<(ObjectKey, Arc<Kept>)> {
        let contents = self.read();
        let first = (name.clone(), ObjectKey { namespace: None, name: String::new() });
        let found = contents.found_by.range(first..).take_while(|(known, _)| known == name);
        found.filter_map(|(_, key)| Some((key.clone(), Arc::clone(contents.objects.get(key)?)))).collect()
    }

    // Nothing that is done under the lock can panic.
    fn read(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Contents> {
        self.contents.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the objects of a namespace begin.
fn from(namespace: &str) -> ObjectKey {
    ObjectKey::namespaced(namespace, "")
}

fn number_of(version: &str) -> u64 {
    version_number(version).unwrap_or_default()
}

/// Objects that are new, changed or gone.
fn differences(before: &Objects, after: &Objects) -> Vec<Arc<Kept>> {
    let version = |kept: &Arc<Kept>| kept.version.clone();
    let changed = after.iter().filter(|(key, kept)| before.get(*key).map(version) != Some(version(kept)));
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    changed.chain(gone).map(|(_, kept)| Arc::clone(kept)).collect()
}

#[cfg(test)]
mod tests;
