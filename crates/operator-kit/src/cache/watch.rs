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
use tokio::time::{Instant, sleep};
use tracing::{debug, error, info, warn};

use crate::backoff;
use crate::cache::{Kept, KindCache, Listed, Part, Past, Progress};
use crate::fault::{Fault, fault, is_answer};
use crate::object::{ObjectKey, plural_name};
use crate::selection::{Depth, Selection};

/// The longest a watch may take to be tried again: a CRD that appears is noticed within this time.
const SLOWEST_RETRY: Duration = Duration::from_secs(10);
/// So often a list from the past is refused; an API server that lags has caught up by then.
const MOST_REFUSED: u32 = 6;
/// A list that the API server answers with an error for this long cannot be had; one that starts says so for a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a kind that was seen before: an API server that is overloaded or recovers must not make us forget what runs.
const LONG_PATIENCE: Duration = Duration::from_secs(300);
/// The same if it says that we may not look.
const FORBIDDEN_PATIENCE: Duration = Duration::from_secs(30);
/// Streams that break more often than this are not every-day life.
const LIFE: Duration = Duration::from_secs(10);
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
    async fn follow(&self, client: &Client, trouble: &mut Trouble) -> Failed {
        let mut past = trouble.past();
        let mut events = self.events(client);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => match self.take(event, past) {
                    Taken::Event => {}
                    Taken::List => {
                        trouble.is_over();
                        past = Past::Refused;
                    }
                    Taken::Nothing(key) => return Failed::of_the_past(&key),
                },
                // Expired versions and ended streams are every-day life: the watcher takes them up by itself, at once. One
                // that always breaks must not keep us and the API server busy.
                Err(error @ (watcher::Error::WatchError(_) | watcher::Error::WatchFailed(_))) => {
                    let pause = trouble.broken(Instant::now(), plural_name(&self.resource).as_str());
                    debug!(kind = plural_name(&self.resource), reason = %error, pause_ms = pause.as_millis(), "the watch broke");
                    sleep(pause).await;
                }
                Err(error) => return Failed::from(&error),
            }
        }
        Failed {
            fault: Fault::Unreachable,
            message: "the watch ended".to_owned(),
            is_past: false,
            is_answer: false,
        }
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
                    Listed::Back(changed) => {
                        self.tell_changed(&changed);
                        (self.appeared)();
                    }
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

/// What was brought into the cache.
enum Taken {
    /// One object, or a part of a list.
    Event,
    /// A list that is complete.
    List,
    /// Nothing of a list that shows this object as it was before.
    Nothing(ObjectKey),
}

/// What went wrong with a watch so far.
#[derive(Debug, Default)]
struct Trouble {
    failures: u32,
    /// What was told loudly.
    told: Option<Fault>,
    /// How many lists from the past were refused in a row.
    refused: u32,
    /// Since when the API server, where it answered at all, has answered with errors.
    since: Option<Instant>,
    /// How often the stream broke in a row, and when it last did.
    breaks: u32,
    broke_at: Option<Instant>,
}

impl Trouble {
    /// The watch has ended with this: how long to wait before the next try.
    fn after(&mut self, failed: &Failed, now: Instant, what: &str) -> Duration {
        // An API server that was away counts for nothing here.
        self.refused = if failed.is_past { self.refused.saturating_add(1) } else { 0 };
        // One that is away in between has not changed its mind.
        self.since = self.since.or(failed.is_answer.then_some(now));
        self.failures = self.failures.saturating_add(1);
        backoff::delay(self.failures, what).min(SLOWEST_RETRY)
    }

    /// A list came in.
    fn is_over(&mut self) {
        (self.failures, self.told, self.refused, self.since) = (0, None, 0, None);
    }

    /// The stream broke: how long to wait before it is taken up again. The first time not at all.
    fn broken(&mut self, now: Instant, what: &str) -> Duration {
        let is_again = self.broke_at.is_some_and(|before| now.duration_since(before) < LIFE + SLOWEST_RETRY);
        self.breaks = if is_again { self.breaks.saturating_add(1) } else { 0 };
        self.broke_at = Some(now);
        if self.breaks == 0 { Duration::ZERO } else { backoff::delay(self.breaks, what).min(SLOWEST_RETRY) }
    }

    fn past(&self) -> Past {
        if self.refused < MOST_REFUSED { Past::Refused } else { Past::Accepted }
    }

    /// Whether the API server itself says no, for so long that it does not pass by itself.
    fn is_lasting(&self, now: Instant, patience: Duration) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= patience)
    }
}

/// Why a watch ended.
struct Failed {
    fault: Fault,
    message: String,
    /// Its list showed what had been before.
    is_past: bool,
    /// The API server said so; otherwise it is away.
    is_answer: bool,
}

impl Failed {
    fn of_the_past(key: &ObjectKey) -> Self {
        let message =
            format!("the list shows {key} as it was before it was last seen: does the API server lag?");
        Self { fault: Fault::Other, message, is_past: true, is_answer: false }
    }
}

impl From<&watcher::Error> for Failed {
    fn from(error: &watcher::Error) -> Self {
        let (fault, message, is_answer) = match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => {
                (fault(error), crate::fault::words(error), is_answer(error))
            }
            other => (Fault::Other, other.to_string(), false),
        };
        Self { fault, message, is_past: false, is_answer }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(is_answer: bool, is_past: bool) -> Failed {
        Failed { fault: Fault::Other, message: String::new(), is_past, is_answer }
    }

    #[test]
    fn a_list_cannot_be_had_when_the_api_server_says_so_for_a_while_and_not_when_it_is_away() {
        let start = Instant::now();
        let later = start + PATIENCE;
        for (is_answer, expected) in [(true, true), (false, false)] {
            let mut trouble = Trouble::default();
            trouble.after(&failed(is_answer, false), start, "x");
            assert!(!trouble.is_lasting(start, PATIENCE), "at once");
            trouble.after(&failed(is_answer, false), later, "x");
            assert_eq!(trouble.is_lasting(later, PATIENCE), expected, "an answer: {is_answer}");
        }
        let mut trouble = Trouble::default();
        trouble.after(&failed(true, false), start, "x");
        trouble.is_over();
        trouble.after(&failed(true, false), later, "x");
        assert!(!trouble.is_lasting(later, PATIENCE), "it could be had in between");
    }

    #[test]
    fn a_stream_that_breaks_once_is_taken_up_at_once_and_one_that_always_breaks_is_not() {
        let (mut trouble, start) = (Trouble::default(), Instant::now());
        assert_eq!(trouble.broken(start, "x"), Duration::ZERO);
        let second = trouble.broken(start, "x");
        let third = trouble.broken(start + second, "x");
        assert!(Duration::ZERO < second && second < third, "{second:?} {third:?}");
        // A list that comes in between proves nothing: an expired version is found out after it.
        trouble.is_over();
        assert!(trouble.broken(start + second + third, "x") > third);
        assert_eq!(trouble.broken(start + Duration::from_secs(3600), "x"), Duration::ZERO, "long ago");
    }

    #[test]
    fn lists_from_the_past_are_counted_in_a_row() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        for _ in 0..MOST_REFUSED {
            assert_eq!(trouble.past(), Past::Refused);
            trouble.after(&failed(false, true), now, "x");
        }
        assert_eq!(trouble.past(), Past::Accepted);
        trouble.after(&failed(false, false), now, "x");
        assert_eq!(trouble.past(), Past::Refused, "an API server that was away counts for nothing");
    }
}
