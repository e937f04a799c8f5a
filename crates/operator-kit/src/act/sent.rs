//! What was told lately: an Event that says the same again is counted up, and an object that flaps is told of less.
//!
//! kube's own recorder keeps whole Events, and looks through all of them for each new one: with thousands of objects that
//! is most of an operator's memory.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use tokio::time::Instant;

/// As many Events at once may be about one object, and one more after each pause: as Kubernetes' own clients do it.
const BURST: f64 = 25.0;
const ONE_MORE_AFTER: Duration = Duration::from_secs(300);
/// An Event that says the same within this time is the same.
const SAME_WITHIN: Duration = Duration::from_secs(360);
/// How often what is old is forgotten.
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// Everything is known by its hash.
#[derive(Debug)]
pub(super) struct Sent {
    allowances: HashMap<u64, Allowance>,
    told: HashMap<u64, Told>,
    tidied: Instant,
}

/// An Event that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    /// Part of its name.
    pub(super) number: i64,
    pub(super) count: i32,
    pub(super) at: Instant,
}

/// How many Events may still be sent about one object.
#[derive(Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

/// Says what an Event is about, in few bytes.
pub(super) fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Sent {
    pub(super) fn new(now: Instant) -> Self {
        Self { allowances: HashMap::new(), told: HashMap::new(), tidied: now }
    }

    /// Whether one more Event may be sent about an object; then it counts as sent.
    pub(super) fn allows(&mut self, object: u64, now: Instant) -> bool {
        self.tidy(now);
        self.allowances.entry(object).or_insert(Allowance { left: BURST, at: now }).take(now)
    }

    /// The Event that said the same lately.
    pub(super) fn same(&self, event: u64, now: Instant) -> Option<Told> {
        self.told.get(&event).filter(|told| told.is_recent(now)).copied()
    }

    pub(super) fn note(&mut self, event: u64, told: Told) {
        self.told.insert(event, told);
    }

    fn tidy(&mut self, now: Instant) {
        if now.duration_since(self.tidied) > TIDY_EVERY {
            self.tidied = now;
            // Whoever has its whole allowance again need not be remembered.
            self.allowances.retain(|_, allowance| allowance.left_at(now) < BURST);
            self.told.retain(|_, told| told.is_recent(now));
        }
    }
}

impl Told {
    fn is_recent(&self, now: Instant) -> bool {
        now.duration_since(self.at) < SAME_WITHIN
    }
}

impl Allowance {
    fn left_at(&self, now: Instant) -> f64 {
        let earned = now.duration_since(self.at).as_secs_f64() / ONE_MORE_AFTER.as_secs_f64();
        (self.left + earned).min(BURST)
    }

    fn take(&mut self, now: Instant) -> bool {
        let left = self.left_at(now);
        let may = left >= 1.0;
        *self = Self { left: if may { left - 1.0 } else { left }, at: now };
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_events_that_differ_have_two_hashes() {
        assert_ne!(hash_of(("uid", "Ready")), hash_of(("uid", "Blocked")));
        assert_eq!(hash_of(("uid", "Ready")), hash_of(("uid", "Ready")));
    }

    #[test]
    fn an_object_that_flaps_is_told_of_less_and_less() {
        let start = Instant::now();
        let mut sent = Sent::new(start);
        assert_eq!((0..100).filter(|_| sent.allows(1, start)).count(), 25);
        assert!(!sent.allows(1, start + ONE_MORE_AFTER / 2));
        assert!(sent.allows(2, start + ONE_MORE_AFTER / 2), "another object");
        assert!(sent.allows(1, start + ONE_MORE_AFTER));
    }

    #[test]
    fn the_same_is_counted_up_for_a_while_and_then_forgotten() {
        let start = Instant::now();
        let mut sent = Sent::new(start);
        let told = Told { number: 1, count: 1, at: start };
        sent.note(7, told);
        assert_eq!((sent.same(7, start), sent.same(8, start)), (Some(told), None));
        let later = start + SAME_WITHIN;
        assert_eq!(sent.same(7, later), None);
        sent.allows(1, later);
        assert!(sent.told.is_empty());
    }
}
