//! Questions that no watch answers: asked beside the reconciles, again and again if need be, while some plan wants them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::hash::Hash;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use kube::Client;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

use crate::beside::Beside;
use crate::driver::Trigger;
use crate::object::ObjectKey;

/// Until a poll that has panicked is asked again.
const AFTER_DEATH: Duration = Duration::from_mins(5);

/// A question about the world outside the API server.
pub trait Poll: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// What comes back.
    type Answer: Clone + Debug + PartialEq + Send + Sync + 'static;
    /// What it is asked with, such as a client: see [`crate::Watches::polls`].
    type Context: Send + Sync + 'static;
    /// So many are asked at the same time. After a restart all of them want their turn.
    const AT_ONCE: usize;
    /// And so many of those that objects of one namespace want: nobody waits for all questions of somebody else.
    const AT_ONCE_PER_NAMESPACE: usize;

    /// Goes and asks; `before` is the last answer. Must end by itself.
    fn ask(
        &self,
        context: &Self::Context,
        before: Option<Self::Answer>,
    ) -> impl Future<Output = Self::Answer> + Send;

    /// How long to wait before it is asked again; `None` if the answer holds for ever.
    fn again_after(&self, answer: &Self::Answer) -> Option<Duration>;
}

/// A poll of any type, as a plan names it.
#[derive(Debug, Clone)]
pub struct AnyPoll(Arc<dyn Erased>);

trait Erased: Any + Debug + Send + Sync {
    fn equals(&self, other: &AnyPoll) -> bool;
}

impl<P: Poll> Erased for P {
    fn equals(&self, other: &AnyPoll) -> bool {
        other.get::<P>() == Some(self)
    }
}

impl AnyPoll {
    /// This poll, if it is of that type.
    #[must_use]
    pub fn get<P: Poll>(&self) -> Option<&P> {
        let poll: &dyn Any = &*self.0;
        poll.downcast_ref()
    }
}

impl<P: Poll> From<P> for AnyPoll {
    fn from(poll: P) -> Self {
        Self(Arc::new(poll))
    }
}

impl PartialEq for AnyPoll {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other)
    }
}

/// Polls of type `P` that a controller has declared.
#[derive(Debug)]
pub struct Polled<P> {
    place: usize,
    poll: PhantomData<fn() -> P>,
}

impl<P> Clone for Polled<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Polled<P> {}

/// The types of polls that a controller will ask, before there is anything to ask them with.
#[derive(Default)]
pub(crate) struct DeclaredPolls(Vec<(TypeId, Begin)>);

type Begin = Box<dyn FnOnce(&mut Polls, &Client) + Send>;

impl Debug for DeclaredPolls {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeclaredPolls").field("types", &self.0.len()).finish_non_exhaustive()
    }
}

impl DeclaredPolls {
    pub(crate) fn has<P: Poll>(&self) -> bool {
        self.0.iter().any(|(known, _)| *known == TypeId::of::<P>())
    }

    pub(crate) fn add<P: Poll>(
        &mut self,
        context: impl FnOnce(&Client) -> P::Context + Send + 'static,
    ) -> Polled<P> {
        let begin: Begin = Box::new(move |polls, client| {
            polls.declare::<P>(context(client));
        });
        self.0.push((TypeId::of::<P>(), begin));
        Polled { place: self.0.len() - 1, poll: PhantomData }
    }

    /// From now on they can be asked.
    pub(crate) fn begin(self, client: &Client, triggers: mpsc::UnboundedSender<Trigger>) -> Polls {
        let mut polls = Polls::new(triggers);
        for (_, begin) in self.0 {
            begin(&mut polls, client);
        }
        polls
    }
}

/// All polls of one controller.
pub(crate) struct Polls {
    triggers: mpsc::UnboundedSender<Trigger>,
    types: Vec<Box<dyn PollType>>,
}

impl Debug for Polls {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Polls").field("types", &self.types.len()).finish_non_exhaustive()
    }
}

impl Polls {
    fn new(triggers: mpsc::UnboundedSender<Trigger>) -> Self {
        Self { triggers, types: Vec::new() }
    }

    fn declare<P: Poll>(&mut self, context: P::Context) -> Polled<P> {
        self.types.push(Box::new(Running::<P>::new(context, self.triggers.clone())));
        Polled { place: self.types.len() - 1, poll: PhantomData }
    }

    /// From now on `object` wants answers to these and nothing else.
    pub(crate) fn want(&self, object: &ObjectKey, wanted: &[AnyPoll]) {
        for poll in wanted.iter().filter(|poll| !self.types.iter().any(|known| known.is_of(poll))) {
            error!(%object, ?poll, "this type of poll was not declared, so it is never asked");
        }
        for known in &self.types {
            known.want(object, wanted);
        }
    }

    /// The last answer.
    pub(crate) fn answer<P: Poll>(&self, polled: Polled<P>, poll: &P) -> Option<P::Answer> {
        let known: &dyn Any = &**self.types.get(polled.place)?;
        known.downcast_ref::<Running<P>>()?.answer(poll)
    }

    pub(crate) fn clear(&self) {
        self.types.iter().for_each(|known| known.clear());
    }
}

/// Polls of one type.
trait PollType: Any + Send + Sync {
    fn is_of(&self, poll: &AnyPoll) -> bool;
    fn want(&self, object: &ObjectKey, wanted: &[AnyPoll]);
    fn clear(&self);
}

type Slot<A> = Arc<Mutex<Option<A>>>;

struct Running<P: Poll> {
    triggers: mpsc::UnboundedSender<Trigger>,
    asking: Arc<Asking<P>>,
    running: Arc<Beside<P, Slot<P::Answer>>>,
}

/// What polls of one type share.
struct Asking<P: Poll> {
    context: P::Context,
    turns: Turns,
}

impl<P: Poll> PollType for Running<P> {
    fn is_of(&self, poll: &AnyPoll) -> bool {
        poll.get::<P>().is_some()
    }

    fn want(&self, object: &ObjectKey, wanted: &[AnyPoll]) {
        let wanted: Vec<P> = wanted.iter().filter_map(|poll| poll.get().cloned()).collect();
        if self.running.want(object, &wanted, |poll| self.start(object, poll)) {
            // Nobody listens any more at shutdown.
            let _ = self.triggers.send(Trigger::Object(object.clone()));
        }
    }

    fn clear(&self) {
        self.running.clear();
    }
}

/// Wakes the objects that want a poll.
fn tell<P: Poll>(running: &Beside<P, Slot<P::Answer>>, poll: &P, triggers: &mpsc::UnboundedSender<Trigger>) {
    for object in running.wanted_by(poll) {
        // Nobody listens any more at shutdown.
        let _ = triggers.send(Trigger::Object(object));
    }
}

impl<P: Poll> Running<P> {
    fn new(context: P::Context, triggers: mpsc::UnboundedSender<Trigger>) -> Self {
        let turns = Turns::new(P::AT_ONCE, P::AT_ONCE_PER_NAMESPACE);
        Self { triggers, asking: Arc::new(Asking { context, turns }), running: Arc::new(Beside::new()) }
    }

    fn answer(&self, poll: &P) -> Option<P::Answer> {
        let slot = self.running.get(poll)?;
        slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn start(&self, object: &ObjectKey, poll: &P) -> (Slot<P::Answer>, AbortOnDropHandle<()>) {
        let slot: Slot<P::Answer> = Slot::default();
        let (known, poll, triggers) = (Arc::clone(&slot), poll.clone(), self.triggers.clone());
        let (running, asking) = (Arc::downgrade(&self.running), Arc::clone(&self.asking));
        let namespace = object.namespace.clone();
        let task = async move {
            loop {
                let before = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let asked = AssertUnwindSafe(asking.ask(&poll, namespace.as_deref(), before.clone()));
                let Ok(answer) = asked.catch_unwind().await else {
                    error!(?poll, "a poll died");
                    // What it answered before may be true no more.
                    let answered = known.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(running) = running.upgrade().filter(|_| answered.is_some()) {
                        tell(&running, &poll, &triggers);
                    }
                    sleep(AFTER_DEATH).await;
                    continue;
                };
                let pause = poll.again_after(&answer);
                let is_news = before.as_ref() != Some(&answer);
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                let Some(running) = running.upgrade().filter(|_| is_news || pause.is_some()) else { return };
                if is_news {
                    tell(&running, &poll, &triggers);
                }
                drop(running);
                let Some(pause) = pause else { return };
                sleep(pause).await;
            }
        };
        // Boxed: the task of an answer that holds for ever is kept as a handle, and its work must not be kept with it.
        (slot, AbortOnDropHandle::new(tokio::spawn(Box::pin(task))))
    }
}

impl<P: Poll> Asking<P> {
    /// Asks when its turn has come. The work itself is boxed by then: thousands may wait for their turn, and each would keep
    /// the room for it.
    async fn ask(&self, poll: &P, namespace: Option<&str>, before: Option<P::Answer>) -> P::Answer {
        let of_namespace = self.turns.of(namespace);
        let _turn = turn(&of_namespace).await;
        let _turn_of_all = turn(&self.turns.all).await;
        Box::pin(poll.ask(&self.context, before)).await
    }
}

/// Nobody closes them.
async fn turn(turns: &Semaphore) -> Option<SemaphorePermit<'_>> {
    turns.acquire().await.ok()
}

/// How many may ask at the same time.
struct Turns {
    all: Semaphore,
    per_namespace: usize,
    /// Of namespaces of which somebody waits or asks.
    by_namespace: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
}

impl Turns {
    fn new(all: usize, per_namespace: usize) -> Self {
        Self { all: Semaphore::new(all), per_namespace, by_namespace: Mutex::default() }
    }

    /// The turns of a namespace. What has no namespace shares them.
    fn of(&self, namespace: Option<&str>) -> Arc<Semaphore> {
        let mut known = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, turns| Arc::strong_count(turns) > 1);
        let turns = known.entry(namespace.unwrap_or_default().into());
        Arc::clone(turns.or_insert_with(|| Arc::new(Semaphore::new(self.per_namespace))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    /// Counts up to three, then says the same for ever.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Count;

    impl Poll for Count {
        type Answer = u32;
        type Context = ();
        const AT_ONCE: usize = 1;
        const AT_ONCE_PER_NAMESPACE: usize = 1;

        async fn ask(&self, (): &(), before: Option<u32>) -> u32 {
            before.map_or(1, |before| (before + 1).min(3))
        }

        fn again_after(&self, _: &u32) -> Option<Duration> {
            Some(Duration::from_secs(30))
        }
    }

    /// Says once what it is asked with, when that says so, and needs much room until then.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Slow(u8);

    impl Poll for Slow {
        type Answer = u8;
        type Context = (u8, Notify);
        const AT_ONCE: usize = 3;
        const AT_ONCE_PER_NAMESPACE: usize = 2;

        async fn ask(&self, (offset, end): &(u8, Notify), _: Option<u8>) -> u8 {
            let room = [*offset; 4096];
            end.notified().await;
            room.iter().fold(self.0, |_, offset| self.0 + offset)
        }

        fn again_after(&self, _: &u8) -> Option<Duration> {
            None
        }
    }

    fn key(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey::namespaced(namespace, name)
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_told_when_the_answer_is_another_one_and_only_then() {
        let (sender, mut triggers) = mpsc::unbounded_channel();
        let mut polls = Polls::new(sender);
        let (counts, slow) = (polls.declare::<Count>(()), polls.declare::<Slow>((7, Notify::new())));
        let web = key("shop", "web");
        polls.want(&web, &[Count.into(), Slow(1).into()]);
        assert_eq!(polls.answer(counts, &Count), None, "not asked yet");
        for expected in 1..=3 {
            assert!(matches!(triggers.recv().await, Some(Trigger::Object(told)) if told == web));
            assert_eq!(polls.answer(counts, &Count), Some(expected));
        }
        let silence = timeout(Duration::from_secs(600), triggers.recv()).await;
        assert!(silence.is_err(), "told although nothing changed");
        assert_eq!(polls.answer(slow, &Slow(1)), None, "another type, which has not answered");
        polls.want(&web, &[Slow(1).into()]);
        assert_eq!(polls.answer(counts, &Count), None, "nobody wants it any more");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_all_questions_of_another_namespace() {
        let (sender, mut triggers) = mpsc::unbounded_channel();
        let running = Running::<Slow>::new((7, Notify::new()), sender);
        let many: Vec<AnyPoll> = (0..5).map(|number| Slow(number).into()).collect();
        running.want(&key("greedy", "web"), &many);
        running.want(&key("shop", "web"), &[Slow(100).into()]);
        // All that have their turn.
        tokio::time::sleep(Duration::from_secs(1)).await;
        running.asking.context.1.notify_waiters();
        let mut told = Vec::new();
        while let Ok(Some(Trigger::Object(object))) = timeout(Duration::from_secs(1), triggers.recv()).await {
            told.push(object);
        }
        told.sort();
        assert_eq!(told, [key("greedy", "web"), key("greedy", "web"), key("shop", "web")]);
        assert_eq!(running.answer(&Slow(100)), Some(107));
        running.clear();
        running.asking.turns.of(Some("other"));
        tokio::task::yield_now().await;
        running.asking.turns.of(Some("shop"));
        assert_eq!(
            running.asking.turns.by_namespace.lock().unwrap().len(),
            1,
            "who asks no more is forgotten"
        );
    }

    #[test]
    fn a_poll_that_waits_for_its_turn_takes_little_room() {
        let asking = Asking::<Slow> { context: (7, Notify::new()), turns: Turns::new(1, 1) };
        let waiting = std::mem::size_of_val(&asking.ask(&Slow(1), None, None));
        assert!(waiting < 512, "{waiting} bytes for each instance at the start");
    }

    #[test]
    fn polls_are_equal_when_type_and_question_are() {
        assert_eq!(AnyPoll::from(Slow(1)), Slow(1).into());
        assert_ne!(AnyPoll::from(Slow(1)), Slow(2).into());
        assert_ne!(AnyPoll::from(Slow(1)), Count.into());
    }

    /// Panics when it is asked for the first time.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Dying;

    impl Poll for Dying {
        type Answer = u8;
        type Context = Mutex<u8>;
        const AT_ONCE: usize = 1;
        const AT_ONCE_PER_NAMESPACE: usize = 1;

        async fn ask(&self, count: &Mutex<u8>, _: Option<u8>) -> u8 {
            let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
            *count += 1;
            assert_ne!(*count, 1, "a mistake in a poll");
            *count
        }

        fn again_after(&self, _: &u8) -> Option<Duration> {
            None
        }
    }

    /// Answers once, and panics from then on.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Failing;

    impl Poll for Failing {
        type Answer = u8;
        type Context = ();
        const AT_ONCE: usize = 1;
        const AT_ONCE_PER_NAMESPACE: usize = 1;

        async fn ask(&self, (): &(), before: Option<u8>) -> u8 {
            assert_eq!(before, None, "a mistake in a poll");
            1
        }

        fn again_after(&self, _: &u8) -> Option<Duration> {
            Some(Duration::from_secs(1))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_poll_answered_before_it_panicked_is_forgotten() {
        let (triggers, mut triggered) = mpsc::unbounded_channel();
        let mut polls = Polls::new(triggers);
        let failing = polls.declare::<Failing>(());
        polls.want(&ObjectKey::namespaced("shop", "web"), &[Failing.into()]);
        for expected in [Some(1), None] {
            triggered.recv().await.unwrap();
            assert_eq!(polls.answer(failing, &Failing), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_panics_is_asked_again_later() {
        let (triggers, mut triggered) = mpsc::unbounded_channel();
        let mut polls = Polls::new(triggers);
        let dying = polls.declare::<Dying>(Mutex::new(0));
        polls.want(&ObjectKey::namespaced("shop", "web"), &[Dying.into()]);
        triggered.recv().await.unwrap();
        assert_eq!(polls.answer(dying, &Dying), Some(2));
    }
}
