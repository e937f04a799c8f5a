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
/// A stream that breaks as often in a row is helped by a list: that mends it, or tells what is wrong.
const MOST_RESUMED: u32 = 6;
/// The API server does not know any more what happened since a version.
pub(super) const GONE: u16 = 410;
/// Bookmarks come every minute, unless nothing happens at all. A watch that has brought nothing for longer may wait for a
/// version that is still to come, as after a restoration from a backup.
const BARREN: Duration = Duration::from_secs(150);
/// Streams that break more often than this are not every-day life.
const LIFE: Duration = Duration::from_secs(10);

/// What went wrong with a watch so far.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    failures: u32,
    /// What was told last, and how often in a row.
    told: Option<(Fault, u32)>,
    /// How many lists from the past were refused since one was taken.
    refused: u32,
    /// Since when the API server, where it answered at all, has answered with errors.
    since: Option<Instant>,
    /// How often the stream broke in a row, and when it last did.
    breaks: u32,
    broke_at: Option<Instant>,
    /// When a list or an event last came in.
    heard_at: Option<Instant>,
}

impl Trouble {
    /// The watch has ended with this: how long to wait before the next try.
    pub(super) fn after(&mut self, failed: &Failed, now: Instant, what: &str) -> Duration {
        self.refused = self.refused.saturating_add(failed.is_past.into());
        // One that is away in between has not changed its mind.
        self.since = self.since.or(failed.is_answer.then_some(now));
        self.failures = self.failures.saturating_add(1);
        backoff::delay(self.failures, what).min(SLOWEST_RETRY)
    }

    /// A list came in. Whether it can be watched as well is another question.
    pub(super) fn is_listed(&mut self, now: Instant) {
        (self.refused, self.since, self.heard_at) = (0, None, Some(now));
    }

    /// A watch has brought something.
    pub(super) fn is_heard(&mut self, now: Instant) {
        (self.failures, self.told, self.heard_at) = (0, None, Some(now));
    }

    /// How often this was told in a row, with this time.
    pub(super) fn tells(&mut self, fault: Fault) -> u32 {
        let before = self.told.filter(|(known, _)| *known == fault).map_or(0, |(_, times)| times);
        let times = before.saturating_add(1);
        self.told = Some((fault, times));
        times
    }

    /// Whether the stream has broken so often, or has brought nothing for so long, that only a list helps.
    pub(super) fn needs_a_list(&self, now: Instant) -> bool {
        let is_barren = self.heard_at.is_some_and(|heard| now.duration_since(heard) >= BARREN);
        is_barren || (self.breaks > 0 && self.breaks.is_multiple_of(MOST_RESUMED))
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
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) fault: Fault,
    pub(super) message: String,
    /// Its list showed what had been before.
    is_past: bool,
    /// The API server said so; otherwise it is away.
    is_answer: bool,
    /// The version is too old to go on from it.
    pub(super) is_expired: bool,
}

impl Failed {
    fn other(message: String) -> Self {
        Self { fault: Fault::Other, message, is_past: false, is_answer: true, is_expired: false }
    }

    pub(super) fn of_the_past(listed: &str, seen: u64) -> Self {
        let message =
            format!("the list is of version {listed}, and version {seen} was seen: does the API server lag?");
        Self { is_past: true, is_answer: false, ..Self::other(message) }
    }

    pub(super) fn without_version() -> Self {
        Self::other("the list has no resourceVersion from which it could be watched".to_owned())
    }

    pub(super) fn broken(message: String) -> Self {
        Self { fault: Fault::Unreachable, is_answer: false, ..Self::other(message) }
    }

    pub(super) fn without_answer() -> Self {
        Self::broken("no answer came in time".to_owned())
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::other(format!("the answer cannot be read: {error}"))
    }
}

impl From<kube::Error> for Failed {
    fn from(error: kube::Error) -> Self {
        let is_expired = matches!(&error, kube::Error::Api(status) if status.code == GONE);
        let (fault, is_answer) = (fault(&error), is_answer(&error));
        Self { fault, is_answer, is_expired, ..Self::other(words(&error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn failed(is_answer: bool, is_past: bool) -> Failed {
        Failed { is_past, is_answer, ..Failed::other(String::new()) }
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
        trouble.is_listed(later);
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
        trouble.is_listed(start);
        assert!(trouble.broken(start + second + third, "x") > third);
        assert_eq!(trouble.broken(start + Duration::from_secs(3600), "x"), Duration::ZERO, "long ago");
    }

    #[test]
    fn lists_from_the_past_are_counted_until_one_is_taken() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        for _ in 0..MOST_REFUSED {
            assert_eq!(trouble.past(), Past::Refused);
            trouble.after(&failed(false, true), now, "x");
        }
        assert_eq!(trouble.past(), Past::Accepted);
        trouble.after(&failed(true, false), now, "x");
        assert_eq!(trouble.past(), Past::Accepted, "what fails otherwise counts for nothing");
        trouble.is_listed(now);
        assert_eq!(trouble.past(), Past::Refused);
    }

    #[test]
    fn a_list_that_comes_in_does_not_make_up_for_a_watch_that_is_refused() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        let first = trouble.after(&failed(true, false), now, "x");
        trouble.is_listed(now);
        let second = trouble.after(&failed(true, false), now, "x");
        assert!(second > first, "{first:?} {second:?}");
        trouble.is_heard(now);
        assert_eq!(trouble.after(&failed(true, false), now, "x"), first);
    }

    #[test]
    fn the_same_trouble_is_counted_and_another_one_begins_anew() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        let told =
            [Fault::Other, Fault::Other, Fault::Forbidden, Fault::Other].map(|fault| trouble.tells(fault));
        assert_eq!(told, [1, 2, 1, 1]);
        trouble.is_heard(now);
        assert_eq!(trouble.tells(Fault::Other), 1, "it was well in between");
    }

    #[test]
    fn a_watch_that_brings_nothing_needs_a_list_however_often_it_ends() {
        let (mut trouble, start) = (Trouble::default(), Instant::now());
        trouble.is_listed(start);
        let ended = |trouble: &mut Trouble, seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            trouble.broken(now, "x");
            trouble.needs_a_list(now)
        };
        // Each lives too long to count as broken.
        let needs = [40, 80, 120, 160].map(|seconds| ended(&mut trouble, seconds));
        assert_eq!(needs, [false, false, false, true]);
        trouble.is_heard(start + Duration::from_secs(161));
        assert!(!ended(&mut trouble, 200));
    }
}
