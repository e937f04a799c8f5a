//! Which object is next. Pure: the driver tells the time.
//!
//! An object is worked on by one at a time; what happens to it meanwhile makes it come again, once. kube's own scheduler
//! does not tell how long the queue is, nor can it forget an object.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::object::ObjectKey;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<ObjectKey, Instant>,
    /// What waits for its time.
    later: BTreeSet<(Instant, ObjectKey)>,
    /// What is due: how many are is asked at every turn, and counting them each time costs more than the rest of it.
    due: BTreeSet<(Instant, ObjectKey)>,
    /// Being worked on, and when it is to come again.
    running: HashMap<ObjectKey, Option<Instant>>,
}

impl Queue {
    /// Wants `key` to be looked at, at the latest at `at`.
    pub(crate) fn push(&mut self, key: ObjectKey, at: Instant) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or(at, |known| known.min(at)));
            return;
        }
        if let Some(known) = self.waiting.get(&key).copied() {
            if known <= at {
                return;
            }
            let place = (known, key.clone());
            let _ = self.later.remove(&place) || self.due.remove(&place);
        }
        self.waiting.insert(key.clone(), at);
        self.later.insert((at, key));
    }

    /// What is due by now.
    fn advance(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            self.due.extend(self.later.pop_first());
        }
    }

    /// Takes the object that has been due for longest.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<ObjectKey> {
        self.advance(now);
        let (_, key) = self.due.pop_first()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), None);
        Some(key)
    }

    /// The work on `key` has ended; `next` is when to look again if nothing happens.
    pub(crate) fn done(&mut self, key: ObjectKey, next: Option<Instant>) {
        let happened = self.running.remove(&key).flatten();
        if let Some(at) = [happened, next].into_iter().flatten().min() {
            self.push(key, at);
        }
    }

    /// The work on `key` died, which it may do again at once: it is not taken up before the pause is over.
    pub(crate) fn died(&mut self, key: ObjectKey, pause_until: Instant) {
        self.running.remove(&key);
        self.push(key, pause_until);
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.later.clear();
        self.due.clear();
    }

    /// When the next object is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().or(self.later.first()).map(|(at, _)| *at)
    }

    /// How many are due and not yet worked on; an object that waits for its time is not late.
    pub(crate) fn depth(&mut self, now: Instant) -> usize {
        self.advance(now);
        self.due.len()
    }
}

/// When a healthy object is looked at although nothing happened, in case an event was lost.
pub(crate) const RESYNC: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("shop", name)
    }

    #[test]
    fn many_events_about_one_object_are_one_reconcile() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for _ in 0..5 {
            queue.push(key("a"), now);
        }
        assert_eq!(queue.depth(now), 1);
        assert_eq!(queue.pop(now), Some(key("a")));
        assert_eq!(queue.pop(now), None);
    }

    #[test]
    fn an_object_that_changes_while_it_is_worked_on_comes_again_and_not_at_the_same_time() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key("a"), now);
        queue.pop(now);
        queue.push(key("a"), now);
        assert_eq!(queue.pop(now), None);
        queue.done(key("a"), None);
        assert_eq!(queue.pop(now), Some(key("a")));
    }

    #[test]
    fn the_earlier_of_two_times_counts() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let later = now + Duration::from_secs(60);
        queue.push(key("a"), later);
        queue.push(key("a"), now);
        queue.push(key("a"), later);
        assert_eq!(queue.next_due(), Some(now));
        assert_eq!(queue.pop(now), Some(key("a")));
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn what_happens_during_a_reconcile_that_fails_is_looked_at_at_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let pause_until = now + Duration::from_secs(300);
        for (happens, expected) in [(true, Some(key("a"))), (false, None)] {
            queue.push(key("a"), now);
            queue.pop(now);
            if happens {
                queue.push(key("a"), now);
            }
            queue.done(key("a"), Some(pause_until));
            assert_eq!(queue.pop(now), expected, "something happened: {happens}");
            queue = Queue::default();
        }
    }

    #[test]
    fn a_reconcile_that_died_is_not_repeated_at_once_whatever_happens() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let later = now + Duration::from_secs(60);
        queue.push(key("a"), now);
        queue.pop(now);
        queue.push(key("a"), now);
        queue.died(key("a"), later);
        assert_eq!((queue.pop(now), queue.next_due()), (None, Some(later)));
    }

    #[test]
    fn nothing_is_kept_for_a_standby() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key("a"), now);
        queue.clear();
        assert_eq!((queue.pop(now), queue.depth(now), queue.next_due()), (None, 0, None));
    }

    #[test]
    fn the_longest_due_comes_first() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key("b"), now);
        queue.push(key("a"), now + Duration::from_millis(1));
        let soon = now + Duration::from_millis(5);
        assert_eq!((queue.pop(soon), queue.pop(soon)), (Some(key("b")), Some(key("a"))));
    }
}
