//! Times as Go's `time.Parse(time.RFC3339, ...)` reads them, since that decides how old a pod is: a little more
//! than RFC 3339 (one-digit hours, a comma before the fraction, offsets up to 24:60), nothing in lower case.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

/// A moment, possibly beyond what [`Timestamp`] can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    since_epoch: SignedDuration,
}

impl Instant {
    pub(crate) fn parse(text: &str) -> Option<Instant> {
        let mut rest = Digits(text.as_bytes());
        let (year, month) = (rest.exactly(4)?, rest.after(b'-')?.exactly(2)?);
        let (day, hour) = (rest.after(b'-')?.exactly(2)?, rest.after(b'T')?.one_or_two()?);
        let (minute, second) = (rest.after(b':')?.exactly(2)?, rest.after(b':')?.exactly(2)?);
        let nanosecond = rest.fraction();
        let offset = rest.offset()?;
        if !rest.0.is_empty() {
            return None;
        }
        let local = DateTime::new(
            i16::try_from(year).ok()?,
            i8::try_from(month).ok()?,
            i8::try_from(day).ok()?,
            i8::try_from(hour).ok()?,
            i8::try_from(minute).ok()?,
            i8::try_from(second).ok()?,
            nanosecond,
        );
        let epoch = DateTime::new(1970, 1, 1, 0, 0, 0, 0).ok()?;
        Some(Instant { since_epoch: local.ok()?.duration_since(epoch) - SignedDuration::from_secs(offset) })
    }

    /// Whether it is later than `ago` before `now`.
    pub(crate) fn is_after(self, now: Timestamp, ago: SignedDuration) -> bool {
        self.since_epoch > now.duration_since(Timestamp::UNIX_EPOCH) - ago
    }
}

/// What is left to read.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn digit(&mut self) -> Option<i32> {
        let (first, rest) = self.0.split_first()?;
        let digit = first.is_ascii_digit().then(|| i32::from(first - b'0'))?;
        self.0 = rest;
        Some(digit)
    }

    fn exactly(&mut self, count: usize) -> Option<i32> {
        (0..count).try_fold(0, |number, _| Some(number * 10 + self.digit()?))
    }

    fn one_or_two(&mut self) -> Option<i32> {
        let first = self.digit()?;
        Some(self.digit().map_or(first, |second| first * 10 + second))
    }

    fn after(&mut self, separator: u8) -> Option<&mut Self> {
        let (first, rest) = self.0.split_first()?;
        (*first == separator).then(|| {
            self.0 = rest;
            self
        })
    }

    /// Nanoseconds; what is finer is cut off. A separator without a digit is left, and makes the text invalid.
    fn fraction(&mut self) -> i32 {
        let [b'.' | b',', rest @ ..] = self.0 else {
            return 0;
        };
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            return 0;
        }
        self.0 = rest;
        let (mut nanoseconds, mut unit) = (0, 100_000_000);
        while let Some(digit) = self.digit() {
            nanoseconds += digit * unit;
            unit /= 10;
        }
        nanoseconds
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Option<i64> {
        let (sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match sign {
            b'Z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, minutes) = (self.exactly(2)?, self.after(b':')?.exactly(2)?);
        (hours <= 24 && minutes <= 60).then(|| sign * i64::from(hours * 3600 + minutes * 60))
    }
}
