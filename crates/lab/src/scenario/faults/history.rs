//! Every version of what a run is about, in the order in which the API server made them: versions of all kinds count
//! upwards together.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::super::application::instance::{APPS, HELM, KIND, SOURCE};
use super::super::{Ground, text_at};

/// What is recorded.
const KINDS: [(&str, &str); 5] =
    [(APPS, KIND), (HELM, RELEASE), (SOURCE, REPOSITORY), (SOURCE, CLASSIC), (SOURCE, HELM_CHART)];
pub(in super::super) const RELEASE: &str = "HelmRelease";
pub(in super::super) const REPOSITORY: &str = "OCIRepository";
/// A repository with an index.
pub(super) const CLASSIC: &str = "HelmRepository";
/// What Flux makes of it for a release.
pub(super) const HELM_CHART: &str = "HelmChart";
/// Says on a child whose it is.
const OWNER_LABEL: &str = "/metadata/labels/apps.vworkspace.io~1instance-uid";

/// One version of an object.
#[derive(Clone, Debug)]
pub(in super::super) struct Version {
    pub(super) kind: &'static str,
    pub(super) number: u64,
    /// When we saw it, which is a few milliseconds after it was made.
    pub(super) seen: Instant,
    /// The whole object; as it was last, if it is gone.
    pub(super) object: Value,
    pub(super) is_gone: bool,
    /// Whether the API server was away before it, so that others may have been missed.
    pub(super) is_after_gap: bool,
}

impl Version {
    pub(super) fn text(&self, pointer: &str) -> &str {
        text_at(&self.object, pointer)
    }

    pub(super) fn number_at(&self, pointer: &str) -> i64 {
        self.object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn generation(&self) -> i64 {
        self.number_at("/metadata/generation")
    }

    pub(super) fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// The uid of the instance that it was made for; empty if it is nobody's.
    pub(super) fn owner(&self) -> &str {
        match self.text(OWNER_LABEL) {
            "" => self.text("/metadata/ownerReferences/0/uid"),
            uid => uid,
        }
    }

    pub(super) fn is_being_deleted(&self) -> bool {
        !self.text("/metadata/deletionTimestamp").is_empty()
    }

    pub(super) fn conditions(&self) -> &[Value] {
        let conditions = self.object.pointer("/status/conditions").and_then(Value::as_array);
        conditions.map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn condition(&self, type_: &str) -> Option<&Value> {
        self.conditions().iter().find(|known| text_at(known, "/type") == type_)
    }

    /// `True/HelmReleaseReady`; empty if there is no such condition.
    pub(super) fn says(&self, type_: &str) -> String {
        let words = |known: &Value| format!("{}/{}", text_at(known, "/status"), text_at(known, "/reason"));
        self.condition(type_).map(words).unwrap_or_default()
    }

    pub(in super::super) fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|known| text_at(known, "/status") == "True")
    }

    /// One line for a person.
    pub(super) fn describe(&self, start: Instant) -> String {
        let at = self.seen.saturating_duration_since(start).as_millis();
        let what = if self.is_gone { "is gone".to_owned() } else { self.state() };
        format!("{at:>6} ms  {:<19} v{}  {what}", self.kind, self.number)
    }

    fn state(&self) -> String {
        let deleted = if self.is_being_deleted() { " being deleted" } else { "" };
        let conditions = self.conditions().iter().map(|known| {
            let (type_, status, reason) =
                (text_at(known, "/type"), text_at(known, "/status"), text_at(known, "/reason"));
            format!("{type_}={status}/{reason}")
        });
        let conditions: Vec<String> = conditions.collect();
        let seen = self.number_at("/status/observedGeneration");
        format!("generation {} (seen {seen}){deleted} {}", self.generation(), conditions.join(" "))
    }
}

/// How far a recorder has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Kinds whose watch has begun.
    begun: usize,
    versions: usize,
}

/// How long the first look at all kinds may take.
const BEGIN: Duration = Duration::from_secs(30);

/// Records until it is dropped.
pub(in super::super) struct Recorder {
    versions: Arc<Mutex<Vec<Version>>>,
    count: watch::Receiver<Progress>,
    pub(super) start: Instant,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Returns when it sees everything that happens from then on.
    pub(in super::super) async fn start(ground: &Ground) -> Result<Self> {
        let versions = Arc::new(Mutex::new(Vec::new()));
        let (tell, count) = watch::channel(Progress::default());
        let tell = Arc::new(tell);
        let record = |(api_version, kind): (&str, &'static str)| {
            let api = ground.objects(api_version, kind);
            tokio::spawn(record(api, kind, Arc::clone(&versions), Arc::clone(&tell)))
        };
        let tasks = KINDS.into_iter().map(record).collect();
        let recorder = Self { versions, count, start: Instant::now(), tasks };
        let mut begun = recorder.count.clone();
        let all = begun.wait_for(|progress| progress.begun >= KINDS.len());
        timeout(BEGIN, all).await.context("the recorder does not begin to watch")??;
        Ok(recorder)
    }

    /// Everything so far, in order.
    pub(in super::super) fn versions(&self) -> Vec<Version> {
        let mut versions = locked(&self.versions).clone();
        versions.sort_by_key(|version| (version.number, version.is_gone));
        versions
    }

    /// The object of a kind as it is now, if there is one.
    pub(in super::super) fn newest(&self, kind: &str) -> Option<Version> {
        let versions = locked(&self.versions);
        versions.iter().rev().find(|version| version.kind == kind).filter(|version| !version.is_gone).cloned()
    }

    /// Waits until what was recorded is as wanted.
    pub(in super::super) async fn until(
        &self,
        what: &str,
        patience: Duration,
        wanted: impl Fn(&Self) -> bool,
    ) -> Result<()> {
        let mut count = self.count.clone();
        let waited = timeout(patience, async {
            while !wanted(self) {
                if count.changed().await.is_err() {
                    return;
                }
            }
        });
        if waited.await.is_err() || !wanted(self) {
            bail!("not within {} s: {what}", patience.as_secs());
        }
        Ok(())
    }

    /// All of it, for a person.
    pub(in super::super) fn told(&self) -> String {
        let lines: Vec<String> = self.versions().iter().map(|version| version.describe(self.start)).collect();
        lines.join("\n")
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn record(
    api: Api<DynamicObject>,
    kind: &'static str,
    versions: Arc<Mutex<Vec<Version>>>,
    tell: Arc<watch::Sender<Progress>>,
) {
    // Goes on where it was after a break; after an API server that was away it has to look anew, and may have missed some.
    let (mut has_begun, mut is_after_gap) = (false, false);
    // What a list shows anew; what it does not is gone.
    let mut listed: Option<HashSet<String>> = None;
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        let (object, is_gone) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::InitDone) if !has_begun => {
                has_begun = true;
                tell.send_modify(|progress| progress.begun += 1);
                continue;
            }
            Ok(Event::Init) => {
                is_after_gap = has_begun;
                listed = has_begun.then(HashSet::new);
                continue;
            }
            Ok(Event::InitDone) => {
                if let Some(listed) = listed.take() {
                    let mut known = locked(&versions);
                    note_gone(&mut known, kind, &listed);
                    tell.send_modify(|progress| progress.versions = known.len());
                }
                continue;
            }
            Err(_) => continue,
        };
        if let Some(listed) = &mut listed {
            listed.extend(object.uid());
        }
        let number = object.resource_version().and_then(|number| number.parse().ok()).unwrap_or_default();
        let mut object = object;
        object.managed_fields_mut().clear();
        let Ok(object) = serde_json::to_value(object) else { continue };
        let mut known = locked(&versions);
        // A list after a break shows again what is known.
        if known
            .iter()
            .any(|version| version.kind == kind && version.number == number && version.is_gone == is_gone)
        {
            is_after_gap = false;
            continue;
        }
        known.push(Version { kind, number, seen: Instant::now(), object, is_gone, is_after_gap });
        is_after_gap = false;
        tell.send_modify(|progress| progress.versions = known.len());
    }
}

/// What ended while nobody looked: it is not among what is there now.
fn note_gone(versions: &mut Vec<Version>, kind: &'static str, listed: &HashSet<String>) {
    let mut of_kind = versions.iter().filter(|version| version.kind == kind);
    let Some(newest) = of_kind.next_back().filter(|newest| !newest.is_gone && !listed.contains(newest.uid()))
    else {
        return;
    };
    versions.push(Version { seen: Instant::now(), is_gone: true, is_after_gap: true, ..newest.clone() });
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
