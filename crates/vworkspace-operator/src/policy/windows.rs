//! Whether a maintenance window is open, until when, or when the next one opens.
//!
//! Schedules are in the local time of their zone, durations are elapsed time. A start that a day does not have, because
//! clocks are put forward, is the first moment after the gap; one that a day has twice is the first.

mod schedule;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use vworkspace_api::application_instance::MaintenanceWindow;

use schedule::Schedule;

/// Our own copy: the image has no time zone files.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// What the CRD accepts; a policy is held to the same.
const SHORTEST: Duration = Duration::from_mins(1);
const LONGEST: Duration = Duration::from_hours(168);
/// How far windows that follow each other without a gap are followed. Some never close; looking again then is enough.
const HORIZON: Duration = Duration::from_hours(2 * 168);
/// 29 February can be eight years away.
const FARTHEST: i32 = 9 * 366;

/// How a set of windows stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// One is open.
    Open {
        /// Its name; of several, of the one that closes last.
        name: String,
        /// When none is open any more, windows that open meanwhile included; nothing if that is farther away than
        /// [`HORIZON`]: some never close.
        until: Option<Timestamp>,
    },
    /// None is open.
    Closed {
        /// When the next one opens; never if there is none.
        opens_at: Option<Timestamp>,
    },
}

/// A window that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadWindow {
    pub(crate) window: String,
    pub(crate) field: &'static str,
    pub(crate) found: String,
    pub(crate) expected: String,
}

impl std::fmt::Display for BadWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { window, field, found, expected } = self;
        write!(f, "maintenanceWindows['{window}'].{field} is '{found}'; expected {expected}")
    }
}

impl std::error::Error for BadWindow {}

/// The windows that cannot be understood.
pub(crate) fn bad(windows: &[MaintenanceWindow]) -> impl Iterator<Item = BadWindow> {
    windows.iter().filter_map(|window| Window::read(window).err())
}

/// How the windows stand now. One that cannot be understood takes nothing from the others.
pub(crate) fn state(windows: &[MaintenanceWindow], now: Timestamp) -> State {
    let windows = understood(windows);
    match open(&windows, now) {
        Some((until, name)) => State::Open { name: name.to_owned(), until: follow(&windows, until, now) },
        None => State::Closed {
            opens_at: windows.iter().filter_map(|window| window.first_start_after(now)).min(),
        },
    }
}

/// The name of the window that is open now; of several, of the one that closes last.
pub(crate) fn open_now(windows: &[MaintenanceWindow], now: Timestamp) -> Option<&str> {
    open(&understood(windows), now).map(|(_, name)| name)
}

fn understood(windows: &[MaintenanceWindow]) -> Vec<Window<'_>> {
    windows.iter().filter_map(|window| Window::read(window).ok()).collect()
}

/// The window that closes last of those that are open, and when it does.
fn open<'a>(windows: &[Window<'a>], now: Timestamp) -> Option<(Timestamp, &'a str)> {
    let open = windows.iter().filter_map(|window| Some((window.closes_after(now)?, window.name)));
    // The first of those that close at the same time, so that the answer does not depend on how max breaks ties.
    open.reduce(|best, other| if other.0 > best.0 { other } else { best })
}

/// The end of the windows that follow each other without a gap.
fn follow(windows: &[Window<'_>], mut until: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let horizon = now.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
    while until < horizon
        && let Some(later) = windows.iter().filter_map(|window| window.closes_after(until)).max()
    {
        until = later;
    }
    (until < horizon).then_some(until)
}

/// A window that is understood.
pub(crate) struct Window<'a> {
    name: &'a str,
    schedule: Schedule,
    duration: Duration,
    zone: TimeZone,
}

impl<'a> Window<'a> {
    /// Understands a window, or says what is wrong with it.
    pub(crate) fn read(window: &'a MaintenanceWindow) -> Result<Self, BadWindow> {
        let bad = |field, found: &str, expected: &str| BadWindow {
            window: window.name.clone(),
            field,
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        let schedule = Schedule::parse(&window.schedule)
            .map_err(|expected| bad("schedule", &window.schedule, &expected))?;
        let duration = Duration::from(window.duration);
        if !(SHORTEST..=LONGEST).contains(&duration) {
            return Err(bad("duration", &window.duration.to_string(), "a duration from 1m to 168h"));
        }
        // Etc/Unknown is a name to jiff.
        let zone = ZONES.get(&window.time_zone).ok().filter(|zone| !zone.is_unknown()).ok_or_else(|| {
            bad("timeZone", &window.time_zone, "the name of a time zone, such as UTC or Europe/Vienna")
        })?;
        Ok(Self { name: &window.name, schedule, duration, zone })
    }

    /// When it closes, if it is open at that moment.
    fn closes_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let earliest = moment.checked_sub(self.duration).ok()?;
        let closes = self.last_start_until(moment, earliest)?.checked_add(self.duration).ok()?;
        (closes > moment).then_some(closes)
    }

    /// The last start at or before a moment; none before `earliest` is looked for.
    fn last_start_until(&self, moment: Timestamp, earliest: Timestamp) -> Option<Timestamp> {
        // Clocks that are put back can return to the day before, so the local date is not the last one that counts.
        let last = self.date(moment).tomorrow().ok()?;
        let first = self.date(earliest).yesterday().ok()?;
        let days = std::iter::successors(Some(last), |day| day.yesterday().ok());
        days.take_while(|day| *day >= first).filter(|day| self.schedule.is_on(*day)).find_map(|day| {
            let until = self.schedule.times.partition_point(|time| self.start(day, *time) <= moment);
            Some(self.start(day, *self.schedule.times.get(until.checked_sub(1)?)?))
        })
    }

    /// The first start after a moment.
    fn first_start_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let first = self.date(moment).yesterday().ok()?;
        let last = first.checked_add(FARTHEST.days()).unwrap_or(Date::MAX);
        let days = std::iter::successors(Some(first), |day| {
            if self.schedule.is_in(*day) { day.tomorrow() } else { day.last_of_month().tomorrow() }.ok()
        });
        days.take_while(|day| *day <= last).filter(|day| self.schedule.is_on(*day)).find_map(|day| {
            let after = self.schedule.times.partition_point(|time| self.start(day, *time) <= moment);
            Some(self.start(day, *self.schedule.times.get(after)?))
        })
    }

    fn date(&self, moment: Timestamp) -> Date {
        self.zone.to_datetime(moment).date()
    }

    /// The moment at which it is so late on that day; never decreases with the time.
    fn start(&self, day: Date, time: u16) -> Timestamp {
        let minutes = i32::from(time);
        let local = day.to_datetime(jiff::civil::Time::midnight());
        self.moment(local.checked_add(minutes.minutes()).unwrap_or(DateTime::MAX))
    }

    fn moment(&self, local: DateTime) -> Timestamp {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let AmbiguousOffset::Gap { after, .. } = ambiguous.offset() else {
            return ambiguous.earlier().unwrap_or(Timestamp::MAX);
        };
        // By the later offset the missing time lies before the gap: the next change of the clock is its end.
        let before = after.to_timestamp(local).unwrap_or(Timestamp::MAX);
        let mut changes = self.zone.following(before);
        changes.find(|change| change.offset() == after).map_or(Timestamp::MAX, |change| change.timestamp())
    }
}
