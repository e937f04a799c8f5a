//! Questions that no watch answers: asked beside the visits, again and again if need be, while some plan wants them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::beside::Beside;
use crate::driver::Trigger;
use crate::object::ObjectKey;

/// A question about the world outside the API server.
pub trait Errand: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// What comes back.
    type Answer: Clone + Debug + PartialEq + Send + Sync;

    /// Goes and asks; `before` is the last answer. Must end by itself.
    fn run(&self, before: Option<Self::Answer>) -> impl Future<Output = Self::Answer> + Send;

    /// How long to wait before it is asked again; `None` if the answer holds for ever.
    fn again_after(&self, answer: &Self::Answer) -> Option<Duration>;
}

/// For controllers that have nothing to ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NoErrand {}

impl Errand for NoErrand {
    type Answer = ();

    async fn run(&self, _before: Option<()>) {}

    fn again_after(&self, (): &()) -> Option<Duration> {
        None
    }
}

type Slot<A> = Arc<Mutex<Option<A>>>;

/// All errands of one controller.
pub(crate) struct Errands<E: Errand> {
    triggers: mpsc::UnboundedSender<Trigger>,
    running: Arc<Beside<E, Slot<E::Answer>>>,
}

impl<E: Errand> Errands<E> {
    pub(crate) fn new(triggers: mpsc::UnboundedSender<Trigger>) -> Self {
        Self { triggers, running: Arc::new(Beside::new()) }
    }

    /// From now on `object` wants answers to these and nothing else.
    pub(crate) fn want(&self, object: &ObjectKey, wanted: &[E]) {
        if self.running.want(object, wanted, |errand| self.start(errand)) {
            // Nobody listens any more at shutdown.
            let _ = self.triggers.send(Trigger::Object(object.clone()));
        }
    }

    /// The last answer.
    pub(crate) fn answer(&self, errand: &E) -> Option<E::Answer> {
        let slot = self.running.get(errand)?;
        slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn clear(&self) {
        self.running.clear();
    }

    fn start(&self, errand: &E) -> (Slot<E::Answer>, AbortOnDropHandle<()>) {
        let slot: Slot<E::Answer> = Slot::default();
        let (known, errand, triggers) = (Arc::clone(&slot), errand.clone(), self.triggers.clone());
        let running = Arc::downgrade(&self.running);
        let task = async move {
            loop {
                let before = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let answer = errand.run(before.clone()).await;
                let pause = errand.again_after(&answer);
                let is_news = before.as_ref() != Some(&answer);
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                let Some(running) = running.upgrade().filter(|_| is_news || pause.is_some()) else { return };
                if is_news {
                    for object in running.wanted_by(&errand) {
                        // Nobody listens any more at shutdown.
                        let _ = triggers.send(Trigger::Object(object));
                    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up to three, then says the same for ever.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Count;

    impl Errand for Count {
        type Answer = u32;

        async fn run(&self, before: Option<u32>) -> u32 {
            before.map_or(1, |before| (before + 1).min(3))
        }

        fn again_after(&self, _: &u32) -> Option<Duration> {
            Some(Duration::from_secs(30))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_told_when_the_answer_is_another_one_and_only_then() {
        let (sender, mut triggers) = mpsc::unbounded_channel();
        let errands = Errands::new(sender);
        let key = ObjectKey::namespaced("shop", "web");
        errands.want(&key, &[Count]);
        assert_eq!(errands.answer(&Count), None, "not asked yet");
        for expected in 1..=3 {
            assert!(matches!(triggers.recv().await, Some(Trigger::Object(told)) if told == key));
            assert_eq!(errands.answer(&Count), Some(expected));
        }
        let silence = tokio::time::timeout(Duration::from_secs(600), triggers.recv()).await;
        assert!(silence.is_err(), "told although nothing changed");
        errands.want(&key, &[]);
        assert_eq!(errands.answer(&Count), None, "nobody wants it any more");
    }
}
