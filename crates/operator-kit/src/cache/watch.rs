//! Keeps the copy of one kind up to date, for ever: a kind that is not installed, an API server that is away and missing
//! rights are said once per change and tried again. kube's own watcher is not used because it keeps the version of a list to
//! itself: only by that a list from the past is known that does not show an object at all.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::api::{DynamicObject, ListParams, ObjectList, WatchEvent, WatchParams};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, error, info, warn};

use super::trouble::{Failed, Trouble};
use crate::cache::{Kept, KindCache, Listed, Part, Past, Progress};
use crate::fault::{Fault, words};
use crate::object::plural_name;
use crate::selection::{Depth, Selection};

/// A list that the API server answers with an error for this long cannot be had; one that starts says so for a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a kind that was seen before: an API server that is overloaded or recovers must not make us forget what runs.
const LONG_PATIENCE: Duration = Duration::from_secs(300);
/// The same if it says that we may not look.
const FORBIDDEN_PATIENCE: Duration = Duration::from_secs(30);
/// The API server does not know any more what happened since a version.
const GONE: u16 = 410;
/// So many seconds the API server lets a stream live: less than the five minutes that are the least it would choose itself.
const STREAM: u32 = 290;
/// A stream that is silent for this much longer is dead, whatever the network says.
const GRACE: Duration = Duration::from_secs(5);
/// A page of a list is in memory as a whole, as text and as objects, for each kind at the same time.
const PAGE: u32 = 100;

/// A kind, the part of it that matters, and who wants to know.
pub(crate) struct KindWatch {
    pub(crate) resource: ApiResource,
    pub(crate) selection: Selection,
    /// The part of the cache that this watch keeps.
    pub(crate) part: Part,
    pub(crate) cache: Arc<KindCache>,
    pub(crate) importance: Importance,
    /// Called for each object that is new, changed or gone.
    pub(crate) changed: Box<dyn Fn(&DynamicObject) + Send + Sync>,
    /// Called when the kind appears, with all its objects, or disappears: that may be about any object.
    pub(crate) appeared: Box<dyn Fn() + Send + Sync>,
}

/// Whether the operator has nothing to do without a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Importance {
    /// A controller's own kind.
    Own,
    /// Something that controllers look at.
    Other,
    /// Something that one object needs for a while.
    Passing,
}

impl KindWatch {
    /// Runs until it is dropped.
    pub(crate) async fn run(self, client: Client) {
        let mut trouble = Trouble::default();
        loop {
            let failed = self.follow(&client, &mut trouble).await;
            self.tell(&failed, &mut trouble.told);
            let pause = trouble.after(&failed, Instant::now(), plural_name(&self.resource).as_str());
            if failed.fault == Fault::NotInstalled {
                let was_known = self.cache.progress() == Progress::NotInstalled;
                self.tell_changed(&self.cache.not_installed(&self.part));
                if !was_known {
                    (self.appeared)();
                }
            } else if trouble.is_lasting(Instant::now(), self.patience(&failed))
                && self.cache.unlisted(&self.part, &self.unlisted(&failed))
            {
                (self.appeared)();
            }
            sleep(pause).await;
        }
    }

    fn patience(&self, failed: &Failed) -> Duration {
        match (self.cache.progress_of(&self.part), failed.fault) {
            (Progress::Synced, Fault::Forbidden) => FORBIDDEN_PATIENCE,
            (Progress::Synced, _) => LONG_PATIENCE,
            (Progress::Starting | Progress::NotInstalled | Progress::Unlisted(_), _) => PATIENCE,
        }
    }

    /// Why this kind cannot be listed, for conditions.
    fn unlisted(&self, failed: &Failed) -> String {
        format!("{} cannot be listed: {}", plural_name(&self.resource), failed.message)
    }

    /// Lists and watches, until something fails that a new list does not mend.
    async fn follow(&self, client: &Client, trouble: &mut Trouble) -> Failed {
        loop {
            let mut version = match self.list(client, trouble.past()).await {
                Ok(version) => version,
                Err(failed) => return failed,
            };
            trouble.is_over();
            loop {
                let ended = match self.watch(client, &mut version).await {
                    Ok(ended) => ended,
                    Err(failed) => return failed,
                };
                // That streams end and versions expire is every-day life, and they are taken up at once. One that always breaks
                // must not keep us and the API server busy.
                let kind = plural_name(&self.resource);
                let pause = trouble.broken(Instant::now(), kind.as_str());
                let (is_expired, reason) = match ended {
                    StreamEnd::Resumable(why) => (false, why),
                    StreamEnd::Expired => (true, "its version has expired".to_owned()),
                };
                debug!(kind, reason, pause_ms = pause.as_millis(), "the watch ended");
                sleep(pause).await;
                if is_expired {
                    break;
                }
            }
        }
    }

    /// Brings the whole list into the cache. Tells its version, from which it can be watched.
    async fn list(&self, client: &Client, past: Past) -> Result<String, Failed> {
        let mut params = ListParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        self.cache.begin_list(&self.part);
        let version = loop {
            let page = self.page(client, &params).await?;
            for mut object in page.items {
                strip(&mut object);
                self.cache.list_item(&self.part, &object);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                break page.metadata.resource_version.filter(|version| !version.is_empty());
            }
        };
        let version = version.ok_or_else(Failed::without_version)?;
        match self.cache.end_list(&self.part, &version, past) {
            Listed::First(objects) => {
                self.tell_begin(objects);
                (self.appeared)();
            }
            Listed::Again(changed) => self.tell_changed(&changed),
            Listed::Back(changed) => {
                self.tell_changed(&changed);
                (self.appeared)();
            }
            Listed::Past(seen) => return Err(Failed::of_the_past(&version, seen)),
        }
        Ok(version)
    }

    /// Brings what happens after a version into the cache, and moves the version along.
    async fn watch(&self, client: &Client, version: &mut String) -> Result<StreamEnd, Failed> {
        let params = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(STREAM),
            ..WatchParams::default()
        };
        let mut events = match self.events(client, &params, version).await {
            Err(kube::Error::Api(status)) if status.code == GONE => return Ok(StreamEnd::Expired),
            events => events?,
        };
        let silence = Duration::from_secs(STREAM.into()) + GRACE;
        loop {
            let resumable = |why: &str| Ok(StreamEnd::Resumable(why.to_owned()));
            let Ok(event) = timeout(silence, events.next()).await else { return resumable("it was silent") };
            match event {
                None => return resumable("the API server closed it"),
                Some(Err(error)) => return resumable(&words(&error)),
                Some(Ok(WatchEvent::Error(status))) if status.code == GONE => return Ok(StreamEnd::Expired),
                Some(Ok(WatchEvent::Error(status))) => return resumable(&status.message),
                Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                    *version = bookmark.metadata.resource_version;
                    self.cache.reached(&self.part, version);
                }
                Some(Ok(WatchEvent::Added(mut object) | WatchEvent::Modified(mut object))) => {
                    strip(&mut object);
                    self.cache.put(&object);
                    self.seen(&object, version);
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    self.cache.remove(&object);
                    self.seen(&object, version);
                }
            }
        }
    }

    fn seen(&self, object: &DynamicObject, version: &mut String) {
        if let Some(seen) = &object.metadata.resource_version {
            version.clone_from(seen);
        }
        (self.changed)(object);
    }

    /// One page of a list, metadata only if that is all that is wanted.
    async fn page(&self, client: &Client, params: &ListParams) -> kube::Result<ObjectList<DynamicObject>> {
        match self.selection.depth {
            Depth::Whole => self.api(client).list(params).await,
            Depth::Metadata => {
                let page = self.api(client).list_metadata(params).await?;
                let items = page.items.into_iter().map(of_metadata).collect();
                Ok(ObjectList { types: page.types, metadata: page.metadata, items })
            }
        }
    }

    /// What happens after a version, likewise.
    async fn events(
        &self,
        client: &Client,
        params: &WatchParams,
        version: &str,
    ) -> kube::Result<BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>> {
        let api = self.api(client);
        Ok(match self.selection.depth {
            Depth::Whole => api.watch(params, version).await?.boxed(),
            Depth::Metadata => {
                let events = api.watch_metadata(params, version).await?;
                events.map_ok(|event| map_event(event, of_metadata)).boxed()
            }
        })
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.part {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    fn tell_changed(&self, changed: &[Arc<Kept>]) {
        for object in changed.iter().filter_map(|kept| kept.read::<DynamicObject>().ok()) {
            (self.changed)(&object);
        }
    }

    fn tell_begin(&self, objects: usize) {
        let kind = plural_name(&self.resource);
        match self.importance {
            Importance::Passing => debug!(kind, objects, "watching for a while"),
            Importance::Own | Importance::Other => info!(kind, objects, namespace = self.part, "watching"),
        }
    }

    /// The same trouble is told loudly once.
    fn tell(&self, failed: &Failed, told: &mut Option<Fault>) {
        let kind = plural_name(&self.resource);
        let again = told.replace(failed.fault) == Some(failed.fault);
        let message = match failed.fault {
            Fault::NotInstalled => format!("failed to list {kind}: its CRD is not installed"),
            Fault::Forbidden => format!("failed to list {kind}: forbidden"),
            Fault::Unreachable => format!("failed to list {kind}: the API server does not answer"),
            Fault::Gone | Fault::Conflict | Fault::Invalid | Fault::Other => format!("failed to list {kind}"),
        };
        let reason = &failed.message;
        match (again, failed.fault, self.importance) {
            (true, _, _) => debug!(kind, reason, "{message}, still"),
            (false, Fault::NotInstalled, Importance::Passing) => debug!(kind, "{message}"),
            (false, Fault::NotInstalled, Importance::Other) => {
                warn!(kind, "{message}; watching starts when it appears");
            }
            (false, Fault::NotInstalled, Importance::Own) => {
                error!(kind, "{message}; install the operator's CRDs, watching then starts by itself");
            }
            (false, _, _) => error!(kind, reason, "{message}; trying again"),
        }
    }
}

/// How a stream ended that had begun well.
enum StreamEnd {
    /// It is taken up where it ended: why it did.
    Resumable(String),
    /// What happened since its version is forgotten: only a list can tell.
    Expired,
}

fn of_metadata(object: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject { types: object.types, metadata: object.metadata, data: serde_json::Value::Null }
}

fn map_event<A, B>(event: WatchEvent<A>, map: impl FnOnce(A) -> B) -> WatchEvent<B> {
    match event {
        WatchEvent::Added(object) => WatchEvent::Added(map(object)),
        WatchEvent::Modified(object) => WatchEvent::Modified(map(object)),
        WatchEvent::Deleted(object) => WatchEvent::Deleted(map(object)),
        WatchEvent::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
        WatchEvent::Error(status) => WatchEvent::Error(status),
    }
}

/// Drops what no rule looks at and what is often the larger part of an object.
fn strip(object: &mut DynamicObject) {
    object.metadata.managed_fields = None;
    if let Some(annotations) = object.metadata.annotations.as_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

#[cfg(test)]
mod tests;
