//! Keeps the copy of one kind up to date, for ever: a kind that is not installed, an API server that is away and missing
//! rights are said once per change and tried again. kube's own watcher is not used because it keeps the version of a list to
//! itself: only by that a list from the past is known that does not show an object at all.

use std::sync::Arc;
use std::time::Duration;

use futures::io::Lines;
use futures::{AsyncBufRead, AsyncBufReadExt, StreamExt};
use http::HeaderValue;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{DynamicObject, ListParams, WatchParams};
use kube::core::{ApiResource, Request};
use kube::{Client, Resource};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, error, info, warn};

use super::incoming::{Incoming, Page};
use super::trouble::{Failed, GONE, Trouble};
use crate::cache::{Kept, KindCache, Listed, Part, Past, Progress};
use crate::fault::Fault;
use crate::object::plural_name;
use crate::selection::{Depth, Selection};

/// A list that the API server answers with an error for this long cannot be had; one that starts says so for a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a kind that was seen before: an API server that is overloaded or recovers must not make us forget what runs.
const LONG_PATIENCE: Duration = Duration::from_secs(300);
/// The same if it says that we may not look.
const FORBIDDEN_PATIENCE: Duration = Duration::from_secs(30);
/// The API server gives a request up after a minute; one that takes longer is lost.
const ANSWER: Duration = Duration::from_secs(65);
/// For so many seconds a stream is asked for. Longer ones are cut by what stands between us and the API server.
const STREAM: u32 = 290;
/// A stream that is silent for this much longer is dead, whatever the network says.
const GRACE: Duration = Duration::from_secs(5);
/// The text of a page is in memory as a whole, for each kind at the same time.
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
    pub(crate) changed: Box<dyn Fn(&Incoming) + Send + Sync>,
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
            self.tell("list", &failed, &mut trouble);
            let pause = trouble.after(&failed, Instant::now(), plural_name(&self.resource).as_str());
            if failed.fault == Fault::NotInstalled {
                let was_known = self.cache.progress_of(&self.part) == Progress::NotInstalled;
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

    /// Lists and watches, until a list fails, or the kind is not there any more.
    async fn follow(&self, client: &Client, trouble: &mut Trouble) -> Failed {
        loop {
            let mut version = match self.list(client, trouble.past()).await {
                Ok(version) => version,
                Err(failed) => {
                    self.cache.drop_list(&self.part);
                    return failed;
                }
            };
            trouble.is_listed(Instant::now());
            loop {
                let end = self.watch(client, &mut version, trouble).await;
                // That streams end and versions expire is every-day life, and they are taken up at once. One that always breaks
                // must not keep us and the API server busy.
                let (now, kind) = (Instant::now(), plural_name(&self.resource));
                let pause = trouble.broken(now, kind.as_str());
                let needs_a_list = trouble.needs_a_list(now);
                debug!(kind, namespace = self.part, ?end, pause_ms = pause.as_millis(), "the watch ended");
                let is_expired = matches!(end, StreamEnd::Expired);
                match end {
                    StreamEnd::Refused(failed) if failed.fault == Fault::NotInstalled => return failed,
                    StreamEnd::Refused(failed) => self.tell("watch", &failed, trouble),
                    StreamEnd::Broken(failed) if needs_a_list => self.tell("watch", &failed, trouble),
                    StreamEnd::Broken(_) | StreamEnd::Closed | StreamEnd::Expired => {}
                }
                sleep(pause).await;
                if is_expired || needs_a_list {
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
            let text = self.page(client, &params).await?;
            let page = serde_json::from_str(&text).map_err(|error| Failed::unreadable(&error))?;
            let Page { metadata, items } = page;
            for item in items.unwrap_or_default() {
                let item = Incoming::read(item.get()).map_err(|error| Failed::unreadable(&error))?;
                self.cache.list_item(&self.part, &item);
            }
            params.continue_token = metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                break metadata.resource_version.filter(|version| !version.is_empty());
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
            Listed::Restored(changed) => {
                let kind = plural_name(&self.resource);
                warn!(
                    kind,
                    version, "what was seen before is gone: the cluster seems to be restored from a backup"
                );
                self.tell_changed(&changed);
                (self.appeared)();
            }
            Listed::Past(seen) => return Err(Failed::of_the_past(&version, seen)),
        }
        Ok(version)
    }

    /// Brings what happens after a version into the cache, and moves the version along.
    async fn watch(&self, client: &Client, version: &mut String, trouble: &mut Trouble) -> StreamEnd {
        let mut lines = match self.lines(client, version).await {
            Ok(lines) => lines,
            Err(failed) if failed.is_expired => return StreamEnd::Expired,
            Err(failed) => return StreamEnd::Refused(failed),
        };
        let silence = Duration::from_secs(STREAM.into()) + GRACE;
        loop {
            let line = match timeout(silence, lines.next()).await {
                Err(_) => return StreamEnd::Expired,
                Ok(None) => return StreamEnd::Closed,
                Ok(Some(Err(error))) => return StreamEnd::Broken(Failed::broken(error.to_string())),
                Ok(Some(Ok(line))) => line,
            };
            match self.take(&line) {
                Ok(Taken::Reached(reached)) => *version = reached,
                Ok(Taken::Expired) => return StreamEnd::Expired,
                Ok(Taken::Trouble(message)) => return StreamEnd::Broken(Failed::broken(message)),
                Err(error) => return StreamEnd::Broken(Failed::unreadable(&error)),
            }
            trouble.is_heard(Instant::now());
        }
    }

    /// Brings one event into the cache.
    fn take(&self, line: &str) -> Result<Taken, serde_json::Error> {
        let Line { event, object } = serde_json::from_str(line)?;
        if event == "ERROR" {
            let status: Status = serde_json::from_str(object.get())?;
            let is_gone = status.code == Some(GONE.into());
            return Ok(if is_gone {
                Taken::Expired
            } else {
                Taken::Trouble(status.message.unwrap_or_default())
            });
        }
        let incoming = Incoming::read(object.get())?;
        let Some(version) = incoming.head.metadata.resource_version.clone().filter(|known| !known.is_empty())
        else {
            // From where it could go on is not known.
            return Ok(Taken::Expired);
        };
        match event {
            "BOOKMARK" => self.cache.reached(&self.part, &version),
            "DELETED" => {
                self.cache.remove(&self.part, &incoming.head);
                (self.changed)(&incoming);
            }
            _ => {
                self.cache.put(&self.part, &incoming);
                (self.changed)(&incoming);
            }
        }
        Ok(Taken::Reached(version))
    }

    /// One page of a list, metadata only if that is all that is wanted.
    async fn page(&self, client: &Client, params: &ListParams) -> Result<String, Failed> {
        let request = match self.selection.depth {
            Depth::Whole => self.request().list(params),
            Depth::Metadata => self.request().list_metadata(params),
        };
        let request = request.map_err(kube::Error::BuildRequest)?;
        // Read by ourselves, one by one: see `Incoming`.
        in_time(client.request_text(request)).await
    }

    /// What happens after a version, likewise, line by line.
    async fn lines(
        &self,
        client: &Client,
        version: &str,
    ) -> Result<Lines<impl AsyncBufRead + Unpin + use<>>, Failed> {
        let params = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(STREAM),
            ..WatchParams::default()
        };
        let request = match self.selection.depth {
            Depth::Whole => self.request().watch(&params, version),
            Depth::Metadata => self.request().watch_metadata(&params, version),
        };
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        // Each event would be packed by itself, which no reader of a stream expects.
        request.headers_mut().insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(in_time(client.request_stream(request)).await?.lines())
    }

    fn request(&self) -> Request {
        Request::new(DynamicObject::url_path(&self.resource, self.part.as_deref()))
    }

    fn tell_changed(&self, changed: &[Arc<Kept>]) {
        for incoming in changed.iter().filter_map(|kept| kept.incoming().ok()) {
            (self.changed)(&incoming);
        }
    }

    fn tell_begin(&self, objects: usize) {
        let kind = plural_name(&self.resource);
        match self.importance {
            Importance::Passing => debug!(kind, objects, "watching for a while"),
            Importance::Own | Importance::Other => info!(kind, objects, namespace = self.part, "watching"),
        }
    }

    /// The same trouble is told when it comes and when it stays, and not in between.
    fn tell(&self, verb: &str, failed: &Failed, trouble: &mut Trouble) {
        let kind = plural_name(&self.resource);
        let message = match failed.fault {
            Fault::NotInstalled => format!("failed to {verb} {kind}: its CRD is not installed"),
            Fault::Forbidden => format!("failed to {verb} {kind}: forbidden"),
            Fault::Unreachable => format!("failed to {verb} {kind}: the API server does not answer"),
            Fault::Gone | Fault::NoNamespace | Fault::Conflict | Fault::Invalid | Fault::Other => {
                format!("failed to {verb} {kind}")
            }
        };
        let (reason, namespace) = (&failed.message, &self.part);
        match (trouble.tells(failed.fault), failed.fault, self.importance) {
            (1, Fault::NotInstalled, Importance::Other) => {
                warn!(kind, namespace, "{message}; watching starts when it appears");
            }
            (1, Fault::NotInstalled, Importance::Own) => {
                error!(
                    kind,
                    namespace, "{message}; install the operator's CRDs, watching then starts by itself"
                );
            }
            (_, Fault::NotInstalled, _) => debug!(kind, namespace, "{message}"),
            (1, _, _) => warn!(kind, namespace, reason, "{message}; trying again"),
            (3, _, _) => error!(kind, namespace, reason, "{message}, three times by now; trying again"),
            (_, _, _) => debug!(kind, namespace, reason, "{message}, still"),
        }
    }
}

/// One event of a watch. What it is about is read by itself.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    event: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What an event meant.
enum Taken {
    /// Everything up to this version is in the cache.
    Reached(String),
    /// What happened since is forgotten.
    Expired,
    /// Nothing: the API server is in trouble.
    Trouble(String),
}

/// How a stream ended. Unless it expired it is taken up where it ended.
#[derive(Debug)]
enum StreamEnd {
    /// As each does after a while.
    Closed,
    /// Before its time.
    Broken(Failed),
    /// Before it began.
    Refused(Failed),
    /// Only a list can tell what happened since.
    Expired,
}

/// An answer that does not come is one, too.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Failed> {
    match timeout(ANSWER, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failed::without_answer()),
    }
}

#[cfg(test)]
mod tests;
