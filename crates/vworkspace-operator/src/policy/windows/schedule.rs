//! When a window opens: five cron fields, read as a CronJob reads them.
//!
//! Written by hand: the crates that work with jiff let a schedule with wildcards fire twice in the hour that is
//! repeated and not at all in the one that is left out, and take more forms than the CRD.

use jiff::civil::Date;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/// The days that a month can have, in leap years too.
const LONGEST: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A schedule that fires on some day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Minutes since midnight, ascending.
    pub(super) times: Vec<u16>,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// The values of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// Whether it says `*`, which restricts nothing.
    any: bool,
}

impl Field {
    fn has(self, value: i8) -> bool {
        u32::try_from(value).ok().and_then(|value| self.bits.checked_shr(value)).unwrap_or(0) & 1 == 1
    }
}

/// What a field may hold.
#[derive(Clone, Copy)]
struct Bounds {
    what: &'static str,
    first: u8,
    last: u8,
    /// Names of the values from `first` on.
    names: &'static [&'static str],
}

const MINUTE: Bounds = Bounds { what: "the minute", first: 0, last: 59, names: &[] };
const HOUR: Bounds = Bounds { what: "the hour", first: 0, last: 23, names: &[] };
const DAY: Bounds = Bounds { what: "the day of the month", first: 1, last: 31, names: &[] };
const MONTH: Bounds = Bounds { what: "the month", first: 1, last: 12, names: &MONTHS };
const WEEKDAY: Bounds = Bounds { what: "the day of the week", first: 0, last: 6, names: &WEEKDAYS };

impl Schedule {
    /// The schedule, or what was expected instead.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(
                "five cron fields (minute, hour, day of the month, month, day of the week), such as \
                        0 2 * * SAT"
                    .to_owned(),
            );
        };
        let (minutes, hours) = (field(minute, MINUTE)?, field(hour, HOUR)?);
        let schedule = Self {
            times: (0..24 * 60).filter(|time| at(hours, time / 60) && at(minutes, time % 60)).collect(),
            days: field(day, DAY)?,
            months: field(month, MONTH)?,
            weekdays: field(weekday, WEEKDAY)?,
        };
        if schedule.is_possible() { Ok(schedule) } else { Err("a day that some year has".to_owned()) }
    }

    /// Whether it fires on that day: on a day that fits both fields or, if both restrict, either.
    pub(super) fn is_on(&self, date: Date) -> bool {
        let day = self.days.has(date.day());
        let weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        let fits = if self.days.any || self.weekdays.any { day && weekday } else { day || weekday };
        fits && self.is_in(date)
    }

    /// Whether it can fire in that month.
    pub(super) fn is_in(&self, date: Date) -> bool {
        self.months.has(date.month())
    }

    fn is_possible(&self) -> bool {
        let has_day = |(month, days): (i8, u8)| {
            self.months.has(month) && (1..=days).any(|day| at(self.days, day.into()))
        };
        !self.weekdays.any || (1..).zip(LONGEST).any(has_day)
    }
}

fn at(field: Field, value: u16) -> bool {
    i8::try_from(value).is_ok_and(|value| field.has(value))
}

fn field(text: &str, bounds: Bounds) -> Result<Field, String> {
    let mut field = Field { bits: 0, any: false };
    for item in text.split(',') {
        let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
        let every = step.map_or(Some(1), |step| number(step).filter(|step| (1..100).contains(step)));
        let every = every.ok_or_else(|| expected(bounds, "a step from 1 to 99 after /"))?;
        let (first, last) = ends(range, step.is_some(), bounds)?;
        for value in (first..=last).step_by(every.into()) {
            // 7 is Sunday too.
            field.bits |= 1 << if bounds.last == 6 { value % 7 } else { value };
        }
        field.any |= range == "*" && every == 1;
    }
    Ok(field)
}

/// The ends of a range; a single value with a step goes on to the last one.
fn ends(range: &str, has_step: bool, bounds: Bounds) -> Result<(u8, u8), String> {
    if range == "*" {
        return Ok((bounds.first, bounds.last));
    }
    let Some((first, last)) = range.split_once('-') else {
        let only = value(range, bounds)?;
        return Ok((only, if has_step { bounds.last.max(only) } else { only }));
    };
    match (value(first, bounds)?, value(last, bounds)?) {
        (first, last) if first <= last => Ok((first, last)),
        // SAT-SUN: the week may also end with Sunday.
        (first, 0) if bounds.last == 6 => Ok((first, 7)),
        _ => Err(expected(bounds, "ranges that ascend")),
    }
}

fn value(text: &str, bounds: Bounds) -> Result<u8, String> {
    let named = (bounds.first..).zip(bounds.names).find(|(_, name)| text.eq_ignore_ascii_case(name));
    let last = if bounds.last == 6 { 7 } else { bounds.last };
    named
        .map(|(value, _)| value)
        .or_else(|| number(text).filter(|value| (bounds.first..=last).contains(value)))
        .ok_or_else(|| expected(bounds, &format!("values from {} to {last}", bounds.first)))
}

/// Digits only: `parse` would take a sign.
fn number(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn expected(bounds: Bounds, what: &str) -> String {
    format!("for {} {what}", bounds.what)
}
