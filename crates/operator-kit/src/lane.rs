//! Objects that must not be worked on at the same time: those in one lane come one after the other, and each sees what the one
//! before it has written.

use std::collections::{BTreeSet, HashMap};

use crate::freshness::Expectation;
use crate::object::ObjectKey;

/// The lanes in which something happens, or has just happened.
#[derive(Debug, Default)]
pub(crate) struct Lanes(HashMap<ObjectKey, Lane>);

#[derive(Debug, Default)]
struct Lane {
    is_busy: bool,
    /// Who came while it was busy.
    waiting: BTreeSet<ObjectKey>,
    /// What was written in it and is not shown yet.
    expectations: Vec<Expectation>,
}

impl Lanes {
    /// Begins work on `key` in a lane: what to wait for first. Nothing if somebody else is at work there; then `key` waits
    /// for its turn.
    pub(crate) fn enter(&mut self, lane: &ObjectKey, key: &ObjectKey) -> Option<Vec<Expectation>> {
        let lane = self.0.entry(lane.clone()).or_default();
        if lane.is_busy {
            lane.waiting.insert(key.clone());
            return None;
        }
        lane.is_busy = true;
        lane.waiting.remove(key);
        Some(std::mem::take(&mut lane.expectations))
    }

    /// The work in a lane has ended, and these writes are not shown yet: whose turn may be next.
    pub(crate) fn leave(&mut self, lane: &ObjectKey, expectations: Vec<Expectation>) -> BTreeSet<ObjectKey> {
        let left = self.0.remove(lane).unwrap_or_default();
        if !expectations.is_empty() {
            self.0.insert(lane.clone(), Lane { expectations, ..Lane::default() });
        }
        left.waiting
    }

    /// Forgets writes that are shown by now, in lanes that nobody uses any more.
    pub(crate) fn tidy(&mut self, is_unmet: impl Fn(&Expectation) -> bool) {
        self.0.retain(|_, lane| {
            lane.expectations.retain(&is_unmet);
            lane.is_busy || !lane.expectations.is_empty()
        });
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::freshness::Wrote;
    use crate::object::{ObjectId, resource_of};
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::Instant;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("shop", name)
    }

    fn written() -> Expectation {
        let id = ObjectId { resource: resource_of::<ConfigMap>(), key: key("child") };
        Expectation { id, wrote: Wrote::Version("7".to_owned()), at: Instant::now() }
    }

    #[test]
    fn a_lane_is_entered_by_one_at_a_time_and_who_waited_comes_next() {
        let (mut lanes, lane) = (Lanes::default(), key("target"));
        assert_eq!(lanes.enter(&lane, &key("a")), Some(vec![]));
        assert_eq!((lanes.enter(&lane, &key("b")), lanes.enter(&lane, &key("c"))), (None, None));
        assert_eq!(lanes.enter(&key("another"), &key("d")), Some(vec![]), "other lanes are free");
        assert_eq!(lanes.leave(&lane, vec![]), [key("b"), key("c")].into());
        assert_eq!(lanes.enter(&lane, &key("b")), Some(vec![]));
        assert_eq!(lanes.leave(&lane, vec![]), BTreeSet::new(), "who is told once comes by itself");
    }

    #[test]
    fn what_one_has_written_the_next_in_its_lane_waits_for() {
        let (mut lanes, lane) = (Lanes::default(), key("target"));
        lanes.enter(&lane, &key("a"));
        let written = written();
        lanes.leave(&lane, vec![written.clone()]);
        assert_eq!(lanes.enter(&lane, &key("b")), Some(vec![written]));
    }

    #[test]
    fn a_lane_is_forgotten_when_nothing_is_left_to_wait_for() {
        let (mut lanes, lane) = (Lanes::default(), key("target"));
        lanes.enter(&lane, &key("a"));
        lanes.tidy(|_| false);
        assert_eq!(lanes.0.len(), 1, "somebody is at work");
        lanes.leave(&lane, vec![written()]);
        lanes.tidy(|_| true);
        assert_eq!(lanes.0.len(), 1, "its write is on its way");
        lanes.tidy(|_| false);
        assert!(lanes.0.is_empty());
    }
}
