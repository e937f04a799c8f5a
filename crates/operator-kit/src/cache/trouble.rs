//! What went wrong with a watch, how long to wait before it is tried again, and whether it will last.

use std::time::Duration;

use tokio::time::Instant;

use super::Past;
use crate::backoff;
use crate::fault::{Fault, fault, is_answer, words};

/// The longest a watch may take to be tried again: a CRD that appears is noticed within this time.
const SLOWEST_RETRY: Duration = Duration::from_secs(10);
/// So often a list from the past is refused; an API server that lags has caught up by then.
const MOST_REFUSED: u32 = 6;
/// Streams that break more often than this are not every-day life.
const LIFE: Duration = Duration::from_secs(10);

/// What went wrong with a watch so far.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    failures: u32,
    /// What was told loudly.
    pub(super) told: Option<Fault>,
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
    pub(super) fn after(&mut self, failed: &Failed, now: Instant, what: &str) -> Duration {
        // An API server that was away counts for nothing here.
        self.refused = if failed.is_past { self.refused.saturating_add(1) } else { 0 };
        // One that is away in between has not changed its mind.
        self.since = self.since.or(failed.is_answer.then_some(now));
        self.failures = self.failures.saturating_add(1);
        backoff::delay(self.failures, what).min(SLOWEST_RETRY)
    }

    /// A list came in.
    pub(super) fn is_over(&mut self) {
        (self.failures, self.told, self.refused, self.since) = (0, None, 0, None);
    }

    /// The stream broke: how long to wait before it is taken up again. The first time not at all.
    pub(super) fn broken(&mut self, now: Instant, what: &str) -> Duration {
        let is_again = self.broke_at.is_some_and(|before| now.duration_since(before) < LIFE + SLOWEST_RETRY);
        self.breaks = if is_again { self.breaks.saturating_add(1) } else { 0 };
        self.broke_at = Some(now);
        if self.breaks == 0 { Duration::ZERO } else { backoff::delay(self.breaks, what).min(SLOWEST_RETRY) }
    }

    pub(super) fn past(&self) -> Past {
        if self.refused < MOST_REFUSED { Past::Refused } else { Past::Accepted }
    }

    /// Whether the API server itself says no, for so long that it does not pass by itself.
    pub(super) fn is_lasting(&self, now: Instant, patience: Duration) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= patience)
    }
}

/// Why a watch ended.
pub(super) struct Failed {
    pub(super) fault: Fault,
    pub(super) message: String,
    /// Its list showed what had been before.
    is_past: bool,
    /// The API server said so; otherwise it is away.
    is_answer: bool,
}

impl Failed {
    pub(super) fn of_the_past(listed: &str, seen: u64) -> Self {
        let message =
            format!("the list is of version {listed}, and version {seen} was seen: does the API server lag?");
        Self { fault: Fault::Other, message, is_past: true, is_answer: false }
    }

    pub(super) fn without_version() -> Self {
        let message = "the list has no resourceVersion from which it could be watched".to_owned();
        Self { fault: Fault::Other, message, is_past: false, is_answer: false }
    }
}

impl From<kube::Error> for Failed {
    fn from(error: kube::Error) -> Self {
        Self { fault: fault(&error), message: words(&error), is_past: false, is_answer: is_answer(&error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn failed(is_answer: bool, is_past: bool) -> Failed {
        Failed { fault: Fault::Other, message: String::new(), is_past, is_answer }
    }

    #[test]
    fn a_list_cannot_be_had_when_the_api_server_says_so_for_a_while_and_not_when_it_is_away() {
        let start = Instant::now();
        let later = start + LONG;
        for (is_answer, expected) in [(true, true), (false, false)] {
            let mut trouble = Trouble::default();
            trouble.after(&failed(is_answer, false), start, "x");
            assert!(!trouble.is_lasting(start, LONG), "at once");
            trouble.after(&failed(is_answer, false), later, "x");
            assert_eq!(trouble.is_lasting(later, LONG), expected, "an answer: {is_answer}");
        }
        let mut trouble = Trouble::default();
        trouble.after(&failed(true, false), start, "x");
        trouble.is_over();
        trouble.after(&failed(true, false), later, "x");
        assert!(!trouble.is_lasting(later, LONG), "it could be had in between");
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
