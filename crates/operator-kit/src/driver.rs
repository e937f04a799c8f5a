//! The loop of one controller: watch -> observe -> decide -> act. Only the leader reconciles objects; who takes over begins with
//! all of them.

mod memory;
mod takeover;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use kube::api::DynamicObject;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, warn};

use crate::act::{Actor, Outcome, Request};
use crate::backoff;
use crate::cache::{Caches, KindCache};
use crate::controller::{Controller, Unreadable, View};
use crate::election::Term;
use crate::freshness::{Expectation, LOOK_AGAIN, LOOK_AGAIN_IN_LANE, version_number};
use crate::lane::Lanes;
use crate::metrics::{Ended, Metrics};
use crate::object::ObjectKey;
use crate::poll::Polls;
use crate::queue::{Queue, RESYNC};
use crate::temporary_watch::TemporaryWatches;
use memory::{Asked, Memory, Pause};

/// What is under way when the operator is told to stop may take this long.
const LAST_REQUESTS: Duration = Duration::from_millis(900);
/// The watch shows our own writes within a second; one that takes this long is a trouble.
const LATE: Duration = Duration::from_secs(60);
/// A plan that wants to be woken in the past must not keep a core busy.
const SHORTEST_NAP: Duration = Duration::from_secs(1);

/// What the driver is told.
#[derive(Debug)]
pub(crate) enum Trigger {
    /// Something happened to or around this object.
    Object(ObjectKey),
    /// Something happened that may be about any object.
    Everything,
}

/// What all drivers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) leading: watch::Receiver<bool>,
    /// Until when this process may act.
    pub(crate) term: Term,
    pub(crate) stop: CancellationToken,
    /// How many objects of one controller are reconciled at once.
    pub(crate) workers: usize,
    /// The id of the cluster.
    pub(crate) cluster: Arc<str>,
}

pub(crate) struct Driver<C: Controller> {
    pub(crate) controller: C,
    pub(crate) actor: Actor,
    pub(crate) caches: Arc<Caches>,
    pub(crate) own: Arc<KindCache>,
    pub(crate) temporary_watches: TemporaryWatches,
    pub(crate) polls: Polls,
    pub(crate) shared: Shared,
}

/// When to look at an object again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    /// It is gone.
    Never,
    /// At the latest then.
    By(Instant),
}

struct Reconciled {
    memory: Memory,
    next: Next,
}

/// What a task works on.
struct Job {
    key: ObjectKey,
    lane: Option<ObjectKey>,
    /// What others in the lane had written and the caches did not show.
    awaited: Vec<Expectation>,
}

/// The loop's own state.
#[derive(Default)]
struct Desk {
    queue: Queue,
    /// Of objects of which there is something to remember: of one that is at rest there is not.
    memories: HashMap<ObjectKey, Memory>,
    lanes: Lanes,
    running: JoinSet<Reconciled>,
    jobs: HashMap<Id, Job>,
    /// When this process began to lead, if it does.
    term_began: Option<Instant>,
}

impl<C: Controller> Driver<C> {
    pub(crate) async fn run(self, mut triggers: mpsc::UnboundedReceiver<Trigger>) {
        let driver = Arc::new(self);
        let mut desk = Desk::default();
        let mut leading = driver.shared.leading.clone();
        driver.shared.metrics.introduce(C::NAME);
        loop {
            let is_leading = *leading.borrow_and_update();
            if is_leading {
                if desk.term_began.is_none() {
                    desk.term_began = Some(Instant::now());
                    // What happened before this moment was kept by nobody.
                    driver.take(&mut desk.queue, Trigger::Everything);
                }
                driver.start_reconciles(&mut desk);
            } else if desk.term_began.take().is_some() {
                // Whoever has lost the lease stops in the middle of what it does, and asks nobody anything any more.
                desk.drop_all().await;
                driver.temporary_watches.clear();
                driver.polls.clear();
            }
            driver.shared.metrics.queued(C::NAME, desk.queue.depth(Instant::now()));
            let due = desk.queue.next_due().filter(|_| *leading.borrow() && driver.has_hands(&desk));
            tokio::select! {
                () = driver.shared.stop.cancelled() => break,
                trigger = triggers.recv() => match trigger {
                    Some(trigger) => {
                        let more = std::iter::from_fn(|| triggers.try_recv().ok());
                        // A standby would only collect names, also of what is gone by the time that it leads.
                        for trigger in std::iter::once(trigger).chain(more).filter(|_| is_leading) {
                            driver.take(&mut desk.queue, trigger);
                        }
                    }
                    None => break,
                },
                Some(ended) = desk.running.join_next_with_id() => driver.finish(&mut desk, ended),
                changed = leading.changed() => if changed.is_err() { break },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
        driver.end(desk).await;
    }

    /// Lets what is under way come to its end, for a moment.
    async fn end(&self, mut desk: Desk) {
        let ended = timeout(LAST_REQUESTS, async { while desk.running.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            warn!(controller = C::NAME, cut = desk.running.len(), "stopped in the middle of requests");
        }
    }

    fn take(&self, queue: &mut Queue, trigger: Trigger) {
        let now = Instant::now();
        match trigger {
            Trigger::Object(key) => queue.push(key, now),
            Trigger::Everything => {
                self.own.keys().into_iter().for_each(|key| queue.push(key, now));
            }
        }
    }

    fn has_hands(&self, desk: &Desk) -> bool {
        desk.running.len() < self.shared.workers
    }

    fn start_reconciles(self: &Arc<Self>, desk: &mut Desk) {
        while let Some(term_began) = desk.term_began
            && self.has_hands(desk)
            && let Some(key) = desk.queue.pop(Instant::now())
        {
            let lane = self.lane(&key);
            let mut memory = desk.memories.remove(&key).unwrap_or_default();
            let mut awaited = Vec::new();
            if let Some(lane) = &lane {
                let Some(of_others) = desk.lanes.enter(lane, &key) else {
                    desk.remember(&key, memory);
                    desk.queue.done(key, None);
                    continue;
                };
                let is_new = |expectation: &&Expectation| !memory.expectations.contains(expectation);
                awaited = of_others;
                let others: Vec<Expectation> = awaited.iter().filter(is_new).cloned().collect();
                memory.expectations.extend(others);
            }
            let (driver, object, id) = (Arc::clone(self), key.clone(), reconcile_id());
            let span = C::span(&key, &id);
            let reconcile = async move { driver.run_reconcile(object, memory, &id, term_began).await };
            let task = desk.running.spawn(reconcile.instrument(span));
            desk.jobs.insert(task.id(), Job { key, lane, awaited });
        }
    }

    /// The lane that an object names. One that cannot be read is alone.
    fn lane(&self, key: &ObjectKey) -> Option<ObjectKey> {
        let lane_of = C::LANE?;
        lane_of(&self.own.get(key)?.read().ok()?)
    }

    /// Takes back what a reconcile returned.
    fn finish(&self, desk: &mut Desk, ended: Result<(Id, Reconciled), JoinError>) {
        let now = Instant::now();
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(Job { key, lane, mut awaited }) = desk.jobs.remove(&id) else { return };
        match ended {
            Ok((_, Reconciled { memory, next })) => {
                // It may be in another lane next time.
                if lane.is_some() {
                    awaited.clone_from(&memory.expectations);
                }
                match next {
                    Next::Never => desk.queue.done(key, None),
                    Next::By(at) => {
                        desk.remember(&key, memory);
                        desk.queue.done(key, Some(at));
                    }
                }
            }
            // A bug in a rule: the others go on, and this object is tried again.
            Err(died) => {
                error!(object = %key, reason = %died, "a reconcile died");
                let at = now + backoff::delay(8, &key);
                desk.queue.died(key, at);
            }
        }
        if let Some(lane) = lane {
            desk.lanes.leave(&lane, awaited).into_iter().for_each(|waiting| desk.queue.push(waiting, now));
            desk.lanes.tidy(|expectation| self.is_unmet(expectation));
        }
    }

    /// One reconcile of one object, which is counted.
    async fn run_reconcile(
        &self,
        key: ObjectKey,
        mut memory: Memory,
        id: &str,
        term_began: Instant,
    ) -> Reconciled {
        let started = Instant::now();
        let (ended, next) = self.reconcile(&key, &mut memory, id, term_began).await;
        let took = started.elapsed();
        self.shared.metrics.reconciled(C::NAME, ended, took);
        debug!(outcome = ?ended, took_ms = took.as_millis(), "reconciled");
        Reconciled { memory, next }
    }

    async fn reconcile(
        &self,
        key: &ObjectKey,
        memory: &mut Memory,
        id: &str,
        term_began: Instant,
    ) -> (Ended, Next) {
        let Some(kept) = self.own.get(key) else {
            self.temporary_watches.want(key, &[]);
            self.polls.want(key, &[]);
            return (Ended::Gone, Next::Never);
        };
        if let Some(waiting) = self.wait_for_caches(&kept.version, memory, term_began) {
            return waiting;
        }
        // Of one that nobody can read at least the head is there.
        let object = match kept.incoming() {
            Ok(incoming) => incoming.with_status(),
            Err(error) => {
                note_unreadable(&kept.version, &error, memory);
                return (Ended::Undecodable, Next::By(Instant::now() + RESYNC));
            }
        };
        if is_let_go(&object, C::FINALIZER) {
            self.temporary_watches.want(key, &[]);
            self.polls.want(key, &[]);
            return (Ended::Gone, Next::Never);
        }
        if memory.uid != object.metadata.uid {
            // What was written counts on: for a namesake that came after it, too, and for others in its lane.
            let expectations = std::mem::take(&mut memory.expectations);
            *memory = Memory { uid: object.metadata.uid.clone(), expectations, ..Memory::default() };
        }
        let typed: C::Object = match kept.read() {
            Ok(typed) => typed,
            Err(error) => {
                note_unreadable(&kept.version, &error, memory);
                return self.tell_unreadable(&object, &error, memory).await;
            }
        };
        let now = Timestamp::now();
        let view = View {
            caches: &self.caches,
            refusals: &memory.refusals,
            cluster: &self.shared.cluster,
            owner: object.metadata.uid.as_deref(),
            ownership: C::OWNERSHIP,
            temporary_watches: &self.temporary_watches,
            polls: &self.polls,
        };
        let world = self.controller.observe(&typed, &view);
        let plan = self.controller.decide(&typed, &world, now);
        debug!(children = plan.children.len(), deletions = plan.deletions.len(), finalizer = ?plan.finalizer, "decided");
        self.temporary_watches.want(key, &plan.temporary_watches);
        self.polls.want(key, &plan.polls);
        let nap = plan.requeue_at.map(|requeue_at| nap(now, requeue_at));
        let requests = match self.actor.requests(&object, &plan, &self.caches) {
            Ok(requests) => requests,
            Err(error) => {
                let outcome = Outcome { errors: vec![error], ..Outcome::default() };
                return self.conclude(&object, memory, outcome, nap);
            }
        };
        if let Some(until) = memory.pause.as_ref().and_then(|pause| pause.holds(&object, &requests)) {
            return self.wait(&object, &requests, memory, nap, until).await;
        }
        let outcome = self.actor.carry_out(&object, &requests, &memory.refusals, id).await;
        self.shared.metrics.wrote(C::NAME, outcome.writes);
        self.conclude(&object, memory, outcome, nap)
    }

    /// Caches that do not show our own last write, or what the former leader has said, are too old to decide on.
    fn wait_for_caches(
        &self,
        version: &str,
        memory: &mut Memory,
        term_began: Instant,
    ) -> Option<(Ended, Next)> {
        let now = Instant::now();
        memory.expectations = self.unmet(std::mem::take(&mut memory.expectations));
        if let Some(awaited) = memory.expectations.first() {
            // What others in its lane have written wakes them, and not this object.
            let pause = if C::LANE.is_some() { LOOK_AGAIN_IN_LANE } else { LOOK_AGAIN };
            tell_awaited(awaited, pause);
            return Some((Ended::Waiting, Next::By(now + pause)));
        }
        let (own, children) = (version_number(version), self.caches.oldest_written());
        let (waits, ahead) = takeover::wait(term_began, now, memory.ahead.take(), own, children);
        memory.ahead = ahead;
        waits.then(|| {
            debug!(
                version = own,
                of_children = children,
                "what is seen of its children is older: waiting a moment"
            );
            (Ended::Waiting, Next::By(now + takeover::LOOK))
        })
    }

    /// What failed is not tried again before the pause is over. That it was refused is known to the plan, and what it says
    /// goes on; of anything else it would say what is not done.
    async fn wait(
        &self,
        object: &DynamicObject,
        requests: &[Request],
        memory: &mut Memory,
        nap: Option<Duration>,
        until: Instant,
    ) -> (Ended, Next) {
        if !memory.refusals.is_empty() {
            let outcome = self.actor.tell(object, requests).await;
            self.shared.metrics.wrote(C::NAME, outcome.writes);
            self.tell_errors(&outcome.errors, until.saturating_duration_since(Instant::now()));
            memory.expectations = self.unmet(outcome.expectations);
        }
        let soon = nap.map(|nap| Instant::now() + nap);
        (Ended::Waiting, Next::By(soon.map_or(until, |soon| soon.min(until))))
    }

    /// Says of an object that it cannot be read; it is left alone until it changes.
    async fn tell_unreadable(
        &self,
        object: &DynamicObject,
        error: &serde_json::Error,
        memory: &mut Memory,
    ) -> (Ended, Next) {
        let key = ObjectKey::of(object);
        self.temporary_watches.want(&key, &[]);
        self.polls.want(&key, &[]);
        let next = Next::By(Instant::now() + RESYNC);
        let status = object.data.get("status").cloned().map(serde_json::from_value).transpose();
        // A status that cannot be read holds what must not be lost: it is left as it is.
        let Ok(status) = status else { return (Ended::Undecodable, next) };
        let unreadable = Unreadable {
            generation: object.metadata.generation.unwrap_or_default(),
            is_being_deleted: object.metadata.deletion_timestamp.is_some(),
            why: &error.to_string(),
            status,
        };
        let status = self.controller.unreadable(unreadable, Timestamp::now());
        let outcome = match self.actor.saying(object, &status) {
            Ok(requests) => self.actor.tell(object, &requests).await,
            Err(error) => Outcome { errors: vec![error], ..Outcome::default() },
        };
        self.shared.metrics.wrote(C::NAME, outcome.writes);
        memory.expectations = self.unmet(outcome.expectations);
        if outcome.errors.is_empty() {
            memory.failures = 0;
            return (Ended::Undecodable, next);
        }
        memory.failures = memory.failures.saturating_add(1);
        let pause = backoff::delay(memory.failures, &key);
        self.tell_errors(&outcome.errors, pause);
        (Ended::Undecodable, Next::By(Instant::now() + pause))
    }

    /// What the caches do not show yet, without room for what they do: thousands of objects may wait for their next reconcile.
    fn unmet(&self, mut expectations: Vec<Expectation>) -> Vec<Expectation> {
        expectations.retain(|expectation| self.is_unmet(expectation));
        expectations.shrink_to_fit();
        expectations
    }

    fn is_unmet(&self, expectation: &Expectation) -> bool {
        let cache = self.caches.showing(&expectation.id);
        cache.is_some_and(|cache| !expectation.is_met_by(cache))
    }

    /// A conflict is no error: the watch will show it.
    fn tell_errors(&self, errors: &[crate::act::Error], pause: Duration) {
        for error in errors.iter().filter(|error| !error.is_stale()) {
            self.shared.metrics.failed(C::NAME, error.category());
            error!(category = error.category(), retry_in_ms = pause.as_millis(), "{error}");
        }
    }

    /// What to remember of a plan's outcome, and when to come again.
    fn conclude(
        &self,
        object: &DynamicObject,
        memory: &mut Memory,
        outcome: Outcome,
        nap: Option<Duration>,
    ) -> (Ended, Next) {
        let key = &ObjectKey::of(object);
        memory.pause = None;
        memory.refusals = outcome.refusal.into_iter().collect();
        memory.expectations = self.unmet(outcome.expectations);
        let now = Instant::now();
        if outcome.errors.is_empty() {
            memory.failures = 0;
            // The plan took a refusal for standing that has gone: the next one knows better.
            if outcome.is_news {
                return (Ended::Changed, Next::By(now));
            }
            let ended = if outcome.writes == 0 { Ended::Unchanged } else { Ended::Changed };
            let resync = backoff::spread(RESYNC, key);
            return (ended, Next::By(now + nap.map_or(resync, |nap| nap.min(resync))));
        }
        memory.failures = memory.failures.saturating_add(1);
        let pause = backoff::delay(memory.failures, key);
        if outcome.errors.iter().all(crate::act::Error::is_stale) {
            debug!(reason = %joined(&outcome.errors), "a conflict: somebody else wrote first");
            return (Ended::Conflict, Next::By(now + pause));
        }
        self.tell_errors(&outcome.errors, pause);
        // A refusal that was not known is worth a look at once: the status has to tell it.
        // Twice at most: two answers that take turns are no news any more.
        if outcome.is_news && memory.failures <= 2 {
            return (Ended::Error, Next::By(now));
        }
        let deed = outcome.failed.unwrap_or_else(|| Request::STATUS_DEED.to_owned());
        memory.pause = Some(Pause { until: now + pause, from: Asked::of(object), deed });
        (Ended::Error, Next::By(now + pause))
    }
}

impl Desk {
    fn remember(&mut self, key: &ObjectKey, memory: Memory) {
        if !memory.is_empty() {
            self.memories.insert(key.clone(), memory);
        }
    }

    /// Ends all reconciles, and forgets everything.
    async fn drop_all(&mut self) {
        self.running.shutdown().await;
        for (_, job) in self.jobs.drain() {
            self.queue.done(job.key, None);
        }
        self.lanes.clear();
        self.queue.clear();
        self.memories.clear();
    }
}

/// Whether an object is being deleted and only others hold it: there is nothing left to do, nor to say.
fn is_let_go(object: &DynamicObject, finalizer: Option<&str>) -> bool {
    let meta = &object.metadata;
    let mut finalizers = meta.finalizers.iter().flatten();
    meta.deletion_timestamp.is_some() && !finalizers.any(|known| Some(known.as_str()) == finalizer)
}

/// A watch that is late is no news; one that does not come is, once.
fn tell_awaited(awaited: &Expectation, pause: Duration) {
    let waited = awaited.at.elapsed();
    if waited < LATE || waited >= LATE + pause {
        debug!(child = %awaited.id, "waiting for the cache to show our own write");
    } else {
        warn!(child = %awaited.id, waited_s = waited.as_secs(), "the watch does not show our own write: is it alive?");
    }
}

/// Each version that cannot be read is told once.
fn note_unreadable(version: &str, error: &serde_json::Error, memory: &mut Memory) {
    if memory.undecodable.as_deref() != Some(version) {
        error!(reason = %error, "failed to read the object; it is left alone until it changes");
        memory.undecodable = Some(version.to_owned());
    }
}

fn nap(now: Timestamp, requeue_at: Timestamp) -> Duration {
    Duration::try_from(requeue_at.duration_since(now)).unwrap_or_default().max(SHORTEST_NAP)
}

fn joined(errors: &[crate::act::Error]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A name for one reconcile, to find its log lines; another one after each restart, also in a pod, where the process number
/// is always the same.
fn reconcile_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    static STARTED: LazyLock<i64> = LazyLock::new(|| Timestamp::now().as_millisecond());
    format!("{:x}-{}", *STARTED, COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests;
