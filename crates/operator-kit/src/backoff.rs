//! How long to wait after a failure.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(300);

/// The pause after the n-th failure in a row: doubling, bounded, and spread.
pub(crate) fn delay(failures: u32, what: impl Hash) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    spread(FIRST.saturating_mul(1 << doublings).min(LONGEST), (what, failures))
}

/// Up to a quarter shorter, so that what started together does not come back together. Which part is taken off follows
/// from `what`, so that it can be tested.
pub(crate) fn spread(full: Duration, what: impl Hash) -> Duration {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    let thousandths = u32::try_from(hasher.finish() % 1000).unwrap_or_default();
    full - full / 4 * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes_and_lose_at_most_a_quarter() {
        for (failures, full) in
            [(1, 500), (2, 1000), (3, 2000), (6, 16_000), (11, 300_000), (u32::MAX, 300_000)]
        {
            let delay = delay(failures, "shop/web");
            let full = Duration::from_millis(full);
            assert!(delay <= full && delay >= full * 3 / 4, "{failures}: {delay:?} for {full:?}");
        }
    }

    #[test]
    fn objects_that_failed_together_come_back_apart() {
        let delays: std::collections::BTreeSet<_> = (0..100).map(|object| delay(8, object)).collect();
        assert!(delays.len() > 90);
    }
}
