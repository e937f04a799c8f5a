//! What there is now, kept up to date by watch events. Pure: events and a clock in, changed rows out.

use std::collections::{BTreeMap, BTreeSet};

use kstatus::{Options, Status};
use kube::runtime::watcher::Event;
use serde_json::Value;

use crate::status::row::Row;

/// Target, namespace and name: the order of the table.
type Key = (usize, String, String);

/// All objects of all targets.
#[derive(Debug)]
pub struct Tracked {
    objects: BTreeMap<Key, Value>,
    rows: BTreeMap<Key, Row>,
    targets: Vec<TargetState>,
}

#[derive(Debug)]
struct TargetState {
    /// What to show while a named object does not exist.
    missing: Option<Row>,
    synced: bool,
    given_up: bool,
    listed: BTreeSet<Key>,
}

impl Tracked {
    /// Nothing seen yet. `missing`: for each target, the row of its named object while that does not exist.
    pub fn new(missing: impl IntoIterator<Item = Option<Row>>) -> Tracked {
        let state =
            |missing| TargetState { missing, synced: false, given_up: false, listed: BTreeSet::new() };
        let targets = missing.into_iter().map(state).collect();
        Tracked { objects: BTreeMap::new(), rows: BTreeMap::new(), targets }
    }

    /// Whether all targets have been listed once, or given up.
    pub fn is_synced(&self) -> bool {
        self.targets.iter().all(|target| target.synced || target.given_up)
    }

    /// Nothing more is expected of `target`.
    pub fn give_up(&mut self, target: usize) {
        if let Some(state) = self.targets.get_mut(target) {
            state.given_up = true;
        }
    }

    /// Whether nothing more is expected of `target`.
    pub fn has_given_up(&self, target: usize) -> bool {
        self.targets.get(target).is_some_and(|state| state.given_up)
    }

    /// Whether nothing more is expected of any target.
    pub fn is_hopeless(&self) -> bool {
        self.targets.iter().all(|target| target.given_up)
    }

    /// Whether `target` has been listed once.
    pub fn has_synced(&self, target: usize) -> bool {
        self.targets.get(target).is_some_and(|state| state.synced)
    }

    /// All rows.
    pub fn rows(&self) -> Vec<Row> {
        self.rows.values().cloned().collect()
    }

    /// Takes an event of `target`; returns the rows that changed.
    pub fn apply(&mut self, target: usize, event: Event<Value>, options: &Options) -> Vec<Row> {
        let Some(state) = self.targets.get_mut(target).filter(|state| !state.given_up) else {
            return Vec::new();
        };
        match event {
            Event::Init => {
                state.listed.clear();
                Vec::new()
            }
            Event::InitApply(object) => {
                let key = key(target, &object);
                state.listed.insert(key.clone());
                self.put(key, object, options).into_iter().collect()
            }
            Event::InitDone => self.listed(target),
            Event::Apply(object) => self.put(key(target, &object), object, options).into_iter().collect(),
            Event::Delete(object) => self.remove(&key(target, &object)).into_iter().collect(),
        }
    }

    /// Some answers depend on the time alone; returns the rows that changed.
    pub fn reconsider(&mut self, options: &Options) -> Vec<Row> {
        let objects = self.objects.iter().map(|(key, object)| (key.clone(), Row::of(object, options)));
        let rows: Vec<_> = objects.collect();
        rows.into_iter().filter_map(|(key, row)| self.show(key, row)).collect()
    }

    fn put(&mut self, key: Key, object: Value, options: &Options) -> Option<Row> {
        let row = Row::of(&object, options);
        self.objects.insert(key.clone(), object);
        self.show(key, row)
    }

    fn show(&mut self, key: Key, row: Row) -> Option<Row> {
        if self.rows.get(&key) == Some(&row) {
            return None;
        }
        self.rows.insert(key, row.clone());
        Some(row)
    }

    fn remove(&mut self, key: &Key) -> Option<Row> {
        self.objects.remove(key);
        let gone = self.rows.remove(key)?;
        let row = Row::not_found(gone.api_version, gone.kind, gone.namespace, gone.name);
        let is_named = self.targets.get(key.0).is_some_and(|state| state.missing.is_some());
        if is_named {
            self.rows.insert(key.clone(), row.clone());
        }
        Some(row)
    }

    /// What was there before and is not in the list is gone.
    fn listed(&mut self, target: usize) -> Vec<Row> {
        let Some(state) = self.targets.get_mut(target) else {
            return Vec::new();
        };
        state.synced = true;
        let listed = std::mem::take(&mut state.listed);
        let missing = state.missing.clone();
        let gone: Vec<Key> =
            self.objects.keys().filter(|key| key.0 == target && !listed.contains(*key)).cloned().collect();
        let mut changed: Vec<Row> = gone.iter().filter_map(|key| self.remove(key)).collect();
        if let Some(row) = missing.filter(|_| listed.is_empty()) {
            changed.extend(self.show((target, row.namespace.clone(), row.name.clone()), row));
        }
        changed
    }
}

fn key(target: usize, object: &Value) -> Key {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (target, text("/metadata/namespace"), text("/metadata/name"))
}

/// How far a wait has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Objects that have the wanted status.
    pub reached: usize,
    /// Objects that may still get it.
    pub pending: usize,
    /// All.
    pub total: usize,
}

impl Progress {
    /// A failed object may recover, but nobody has to wait for it once nothing else is pending.
    pub fn of(rows: &[Row], wanted: Status) -> Progress {
        let reached = rows.iter().filter(|row| row.status == wanted).count();
        let failed = match wanted {
            Status::Current => rows.iter().filter(|row| row.status == Status::Failed).count(),
            _ => 0,
        };
        Progress { reached, pending: rows.len() - reached - failed, total: rows.len() }
    }

    /// Nothing is pending. Where nothing exists, only a wait for its absence is over.
    pub fn is_over(&self, wanted: Status) -> bool {
        self.pending == 0 && (self.total > 0 || wanted == Status::NotFound)
    }
}
