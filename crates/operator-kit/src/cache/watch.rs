//! Keeps the copy of one kind up to date, for ever: a kind that is not installed, an API server that is away and missing
//! rights are said once per change and tried again.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::api::DynamicObject;
use kube::core::{ApiResource, DynamicResourceScope, PartialObjectMeta};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use tokio::time::sleep;
use tracing::{debug, error, info, warn};

use crate::backoff;
use crate::cache::{Kept, KindCache, Listed, Part, Past, Progress};
use crate::fault::{Fault, fault};
use crate::object::{ObjectKey, plural_name};
use crate::selection::{Depth, Selection};

/// The longest a watch may take to be tried again: a CRD that appears is noticed within this time.
const SLOWEST_RETRY: Duration = Duration::from_secs(10);
/// So often a list from the past is refused; an API server that lags has caught up by then.
const MOST_REFUSED: u32 = 6;
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
        let (mut failures, mut told, mut refused) = (0_u32, None, 0_u32);
        loop {
            let past = if refused < MOST_REFUSED { Past::Refused } else { Past::Accepted };
            let failed = self.follow(&client, past, &mut failures, &mut told).await;
            // An API server that was away counts for nothing here.
            refused = if failed.is_past { refused.saturating_add(1) } else { 0 };
            self.tell(&failed, &mut told);
            // What nobody may look at for a while cannot be waited for either.
            let is_hidden = failed.fault == Fault::Forbidden && self.importance == Importance::Passing;
            if failed.fault == Fault::NotInstalled || is_hidden {
                let was_known = self.cache.progress() == Progress::NotInstalled;
                self.tell_changed(&self.cache.not_installed(&self.part));
                if !was_known {
                    (self.appeared)();
                }
            }
            failures = failures.saturating_add(1);
            sleep(backoff::delay(failures, plural_name(&self.resource).as_str()).min(SLOWEST_RETRY)).await;
        }
    }

    /// The events of one watch, metadata only if that is all that is wanted.
    fn events(&self, client: &Client) -> BoxStream<'static, watcher::Result<Event<DynamicObject>>> {
        let config = watcher::Config {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            page_size: Some(PAGE),
            ..watcher::Config::default()
        };
        match self.selection.depth {
            Depth::Whole => watcher(self.api::<DynamicObject>(client), config).boxed(),
            Depth::Metadata => watcher(self.api::<PartialObjectMeta>(client), config)
                .map_ok(|event| {
                    map_event(event, |object| DynamicObject {
                        types: object.types,
                        metadata: object.metadata,
                        data: serde_json::Value::Null,
                    })
                })
                .boxed(),
        }
    }

    fn api<K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>>(
        &self,
        client: &Client,
    ) -> Api<K> {
        match &self.part {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// One watch, from its list to its first failure.
    async fn follow(
        &self,
        client: &Client,
        mut past: Past,
        failures: &mut u32,
        told: &mut Option<Fault>,
    ) -> Failed {
        let mut events = self.events(client);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => match self.take(event, past) {
                    Taken::Event => {}
                    Taken::List => {
                        *failures = 0;
                        *told = None;
                        past = Past::Refused;
                    }
                    Taken::Nothing(key) => return Failed::of_the_past(&key),
                },
                // Expired versions and ended streams are every-day life: the watcher takes them up by itself.
                Err(watcher::Error::WatchError(_) | watcher::Error::WatchFailed(_)) => {}
                Err(error) => return Failed::from(&error),
            }
        }
        Failed { fault: Fault::Unreachable, message: "the watch ended".to_owned(), is_past: false }
    }

    /// Brings one event into the cache.
    fn take(&self, event: Event<DynamicObject>, past: Past) -> Taken {
        match event.modify(strip) {
            Event::Init => self.cache.begin_list(&self.part),
            Event::InitApply(object) => self.cache.list_item(&self.part, &object),
            Event::InitDone => {
                match self.cache.end_list(&self.part, past) {
                    Listed::First(objects) => {
                        self.tell_begin(objects);
                        (self.appeared)();
                    }
                    Listed::Again(changed) => self.tell_changed(&changed),
                    Listed::Past(key) => return Taken::Nothing(key),
                }
                return Taken::List;
            }
            Event::Apply(object) => {
                self.cache.put(&object);
                (self.changed)(&object);
            }
            Event::Delete(object) => {
                self.cache.remove(&object);
                (self.changed)(&object);
            }
        }
        Taken::Event
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
            Fault::Conflict | Fault::Invalid | Fault::Other => format!("failed to list {kind}"),
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

/// What was brought into the cache.
enum Taken {
    /// One object, or a part of a list.
    Event,
    /// A list that is complete.
    List,
    /// Nothing of a list that shows this object as it was before.
    Nothing(ObjectKey),
}

/// Why a watch ended.
struct Failed {
    fault: Fault,
    message: String,
    /// Its list showed what had been before.
    is_past: bool,
}

impl Failed {
    fn of_the_past(key: &ObjectKey) -> Self {
        let message =
            format!("the list shows {key} as it was before it was last seen: does the API server lag?");
        Self { fault: Fault::Other, message, is_past: true }
    }
}

impl From<&watcher::Error> for Failed {
    fn from(error: &watcher::Error) -> Self {
        let (fault, message) = match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => (fault(error), crate::fault::words(error)),
            other => (Fault::Other, other.to_string()),
        };
        Self { fault, message, is_past: false }
    }
}

fn map_event<A, B>(event: Event<A>, map: impl FnOnce(A) -> B) -> Event<B> {
    match event {
        Event::Apply(object) => Event::Apply(map(object)),
        Event::Delete(object) => Event::Delete(map(object)),
        Event::InitApply(object) => Event::InitApply(map(object)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

/// Drops what no rule looks at and what is often the larger part of an object.
fn strip(object: &mut DynamicObject) {
    object.metadata.managed_fields = None;
    if let Some(annotations) = object.metadata.annotations.as_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}
