#![allow(clippy::expect_used)]

use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn window(name: &str, schedule: &str, duration: &str, zone: &str) -> MaintenanceWindow {
    serde_json::from_value(
        json!({"name": name, "schedule": schedule, "duration": duration, "timeZone": zone}),
    )
    .expect("a window")
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// `name until` or `opens_at`.
fn told(windows: &[MaintenanceWindow], now: &str) -> String {
    match state(windows, time(now)) {
        State::Open { name, until: Some(until) } => format!("{name} until {until}"),
        State::Open { name, until: None } => format!("{name} without end"),
        State::Closed { opens_at: Some(opens_at) } => format!("opens {opens_at}"),
        State::Closed { opens_at: None } => "never".to_owned(),
    }
}

#[test]
fn a_window_is_open_from_its_start_up_to_but_not_at_its_end() {
    // 2026-11-14 is a Saturday.
    let told_of = [
        ("0 2 * * SAT", "2h", "UTC", "2026-11-14T01:59:59Z", "opens 2026-11-14T02:00:00Z"),
        ("0 2 * * SAT", "2h", "UTC", "2026-11-14T02:00:00Z", "w until 2026-11-14T04:00:00Z"),
        ("0 2 * * SAT", "2h", "UTC", "2026-11-14T04:00:00Z", "opens 2026-11-21T02:00:00Z"),
        ("0 2 * * SAT", "2h", "Europe/Vienna", "2026-11-14T01:30:00Z", "w until 2026-11-14T03:00:00Z"),
        ("30 23 * * 7", "168h", "UTC", "2026-11-14T12:00:00Z", "w without end"),
        ("0 0 13 * FRI", "1h", "UTC", "2026-11-14T02:00:00Z", "opens 2026-11-20T00:00:00Z"),
        ("0 0 13 * FRI", "1h", "UTC", "2026-12-12T02:00:00Z", "opens 2026-12-13T00:00:00Z"),
        ("0 0 * * SAT-SUN", "1h", "UTC", "2026-11-14T02:00:00Z", "opens 2026-11-15T00:00:00Z"),
        ("0 0 */2 * SAT", "1h", "UTC", "2026-11-14T02:00:00Z", "opens 2026-11-15T00:00:00Z"),
        ("5/20 4 1 JAN,jul *", "1h", "UTC", "2026-11-14T02:00:00Z", "opens 2027-01-01T04:05:00Z"),
        ("0 0 29 FEB *", "1h", "UTC", "2096-03-01T00:00:00Z", "opens 2104-02-29T00:00:00Z"),
        ("0 0 31 2,4,12 *", "1h", "UTC", "2027-01-01T00:00:00Z", "opens 2027-12-31T00:00:00Z"),
        ("0 0 30 FEB MON", "1h", "UTC", "2026-11-14T02:00:00Z", "opens 2027-02-01T00:00:00Z"),
    ];
    for (schedule, duration, zone, now, expected) in told_of {
        assert_eq!(told(&[window("w", schedule, duration, zone)], now), expected, "{schedule} at {now}");
    }
    assert_eq!(told(&[], "2026-11-14T02:00:00Z"), "never");
}

#[test]
fn windows_that_overlap_or_touch_are_one_and_a_gap_ends_it() {
    let windows = [
        window("first", "0 1 * * *", "2h", "UTC"),
        window("overlaps", "30 2 * * *", "1h", "UTC"),
        window("touches", "30 3 * * *", "30m", "UTC"),
        window("later", "1 4 * * *", "1h", "UTC"),
    ];
    assert_eq!(told(&windows, "2026-11-14T01:15:00Z"), "first until 2026-11-14T04:00:00Z");
    assert_eq!(told(&windows, "2026-11-14T02:45:00Z"), "overlaps until 2026-11-14T04:00:00Z");
    assert_eq!(told(&windows, "2026-11-14T04:00:30Z"), "opens 2026-11-14T04:01:00Z");
}

#[test]
fn windows_that_never_close_have_no_end() {
    let now = "2026-11-14T01:15:00Z";
    for (schedule, duration) in [("* * * * *", "1m"), ("0 * * * *", "1h"), ("0 0 * * SUN", "168h")] {
        assert_eq!(told(&[window("w", schedule, duration, "UTC")], now), "w without end");
    }
}

#[test]
fn a_start_that_is_left_out_comes_right_after_the_gap_and_one_that_is_repeated_comes_once() {
    let told_of = [
        // Vienna leaves out 02:00 to 03:00 on 28 March 2027 and repeats it on 31 October.
        ("30 2 * * *", "Europe/Vienna", "2027-03-27T12:00:00Z", "opens 2027-03-28T01:00:00Z"),
        ("30 2 * * *", "Europe/Vienna", "2027-03-28T01:00:00Z", "w until 2027-03-28T01:10:00Z"),
        ("30 2 * * *", "Europe/Vienna", "2027-03-28T01:10:00Z", "opens 2027-03-29T00:30:00Z"),
        ("30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00Z", "opens 2027-10-31T00:30:00Z"),
        ("30 2 * * *", "Europe/Vienna", "2027-10-31T00:45:00Z", "opens 2027-11-01T01:30:00Z"),
        // Half an hour on Lord Howe; a whole day, 30 December 2011, in Samoa; midnight itself in Beirut.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "opens 2026-10-03T15:30:00Z"),
        ("0 12 30 * *", "Pacific/Apia", "2011-12-29T12:00:00Z", "opens 2011-12-30T10:00:00Z"),
        ("0 0 * * *", "Asia/Beirut", "2027-03-27T12:00:00Z", "opens 2027-03-27T22:00:00Z"),
    ];
    for (schedule, zone, now, expected) in told_of {
        assert_eq!(told(&[window("w", schedule, "10m", zone)], now), expected, "{schedule} {zone} {now}");
    }
}

#[test]
fn a_window_that_cannot_be_understood_names_field_found_and_expected() {
    let told_of = [
        ("0 0 30 FEB *", "1h", "UTC", "schedule is '0 0 30 FEB *'; expected a day that some year has"),
        (
            "0 0 31 4,6,SEP *",
            "1h",
            "UTC",
            "schedule is '0 0 31 4,6,SEP *'; expected a day that some year has",
        ),
        ("0 0 * *", "1h", "UTC", "schedule is '0 0 * *'; expected five cron fields"),
        ("60 0 * * *", "1h", "UTC", "expected for the minute values from 0 to 59"),
        ("0 24 * * *", "1h", "UTC", "expected for the hour values from 0 to 23"),
        ("0 0 0 * *", "1h", "UTC", "expected for the day of the month values from 1 to 31"),
        ("0 0 * FOO *", "1h", "UTC", "expected for the month values from 1 to 12"),
        ("0 0 * * 8", "1h", "UTC", "expected for the day of the week values from 0 to 7"),
        ("0 0 * * MON-", "1h", "UTC", "expected for the day of the week values from 0 to 7"),
        ("0 22-2 * * *", "1h", "UTC", "expected for the hour ranges that ascend"),
        ("*/0 0 * * *", "1h", "UTC", "expected for the minute a step from 1 to 99 after /"),
        ("+5 0 * * *", "1h", "UTC", "expected for the minute values from 0 to 59"),
        ("0 0 * * *", "30s", "UTC", "duration is '30s'; expected a duration from 1m to 168h"),
        ("0 0 * * *", "169h", "UTC", "duration is '169h'; expected a duration from 1m to 168h"),
        ("0 0 * * *", "1h", "Mars/Base", "timeZone is 'Mars/Base'; expected the name of a time zone"),
        ("0 0 * * *", "1h", "Etc/Unknown", "timeZone is 'Etc/Unknown'; expected the name of a time zone"),
        ("0 0 * * *", "1h", "", "timeZone is ''; expected the name of a time zone"),
    ];
    for (schedule, duration, zone, expected) in told_of {
        let told = bad(&[window("w", schedule, duration, zone)]).next().expect("a bad window").to_string();
        assert!(told.starts_with("maintenanceWindows['w'].") && told.contains(expected), "{told}");
    }
}

#[test]
fn a_window_that_cannot_be_understood_opens_no_other() {
    let freeze = || window("freeze", "0 1 * * *", "2h", "UTC");
    let bad = [
        window("bad", "0 1 * * *", "2h", "Mars/Base"),
        window("bad", "0 0 30 FEB *", "2h", "UTC"),
        window("bad", "0 1 * * *", "30s", "UTC"),
    ];
    for bad in bad {
        let both = [[bad.clone(), freeze()], [freeze(), bad.clone()]];
        for windows in both {
            assert_eq!(told(&windows, "2026-11-14T01:15:00Z"), "freeze until 2026-11-14T03:00:00Z");
            assert_eq!(told(&windows, "2026-11-14T03:15:00Z"), "opens 2026-11-15T01:00:00Z");
        }
        assert_eq!(told(&[bad], "2026-11-14T01:15:00Z"), "never");
    }
}

#[test]
fn even_the_slowest_schedules_take_no_time_to_speak_of() {
    let zone = "America/New_York";
    let (rare, never_closes) =
        (window("r", "0 0 29 2 *", "168h", zone), window("n", "* * * * *", "1m", zone));
    // The quickest of some tries: a busy machine makes each of them slower by chance, and none quicker.
    let quickest = |tries: u32, windows: &[MaintenanceWindow], moment: &str| {
        let took = (0..tries).map(|_| {
            let begin = Instant::now();
            told(windows, moment);
            begin.elapsed()
        });
        took.min().unwrap_or_default()
    };
    let rare = quickest(100, std::slice::from_ref(&rare), "2096-03-08T05:00:00Z");
    let never_closes = quickest(3, std::slice::from_ref(&never_closes), "2026-11-14T02:00:00Z");
    println!("rare: {rare:?}, never closes: {never_closes:?}");
    // Generous: a debug build.
    assert!(rare < Duration::from_millis(50) && never_closes < Duration::from_secs(10));
}

/// A window as sets of values, which the oracle compares without cron.
#[derive(Debug, Clone)]
struct Drawn {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    days: Option<Vec<i8>>,
    weekdays: Option<Vec<i8>>,
    length: i64,
    zone: &'static str,
}

impl Drawn {
    fn window(&self) -> MaintenanceWindow {
        let list = |values: &[i8]| values.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
        let star = |values: &Option<Vec<i8>>| values.as_ref().map_or("*".to_owned(), |values| list(values));
        let (days, weekdays) = (star(&self.days), star(&self.weekdays));
        let schedule = format!("{} {} {days} * {weekdays}", list(&self.minutes), list(&self.hours));
        window("w", &schedule, &format!("{}m", self.length), self.zone)
    }

    fn fires(&self, local: DateTime) -> bool {
        let weekday = local.weekday().to_sunday_zero_offset();
        let on = match (&self.days, &self.weekdays) {
            (None, None) => true,
            (Some(days), None) => days.contains(&local.day()),
            (None, Some(weekdays)) => weekdays.contains(&weekday),
            (Some(days), Some(weekdays)) => days.contains(&local.day()) || weekdays.contains(&weekday),
        };
        on && self.minutes.contains(&local.minute()) && self.hours.contains(&local.hour())
    }

    /// Marks the minutes from `from` on in which the window is open, by living through them one by one.
    fn mark(&self, from: Timestamp, open: &mut [bool]) {
        let zone = ZONES.get(self.zone).expect("a zone");
        let mut latest = zone.to_datetime(from);
        let mut left = 0;
        for (index, open) in (1..).zip(open) {
            let local = zone.to_datetime(from + index.minutes());
            // Local minutes that were never seen before, those that the clock jumped over included.
            while latest < local {
                latest = latest.checked_add(1.minute()).expect("a time");
                if self.fires(latest) {
                    left = self.length;
                }
            }
            *open |= left > 0;
            left -= 1;
        }
    }
}

const ZONES_WITH_CHANGES: [&str; 6] =
    ["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Atlantic/Azores"];

fn drawn() -> impl Strategy<Value = Drawn> {
    let some = |first: i8, last: i8, most| proptest::collection::vec(first..=last, 1..most);
    (
        some(0, 59, 3),
        // The hours in which clocks change, more often than others.
        prop_oneof![some(0, 3, 4), some(0, 23, 4)],
        proptest::option::of(some(1, 31, 4)),
        proptest::option::of(some(0, 6, 3)),
        prop_oneof![1_i64..90, 60_i64..1500],
        prop::sample::select(&ZONES_WITH_CHANGES[..]),
    )
        .prop_map(|(minutes, hours, days, weekdays, length, zone)| Drawn {
            minutes,
            hours,
            days,
            weekdays,
            length,
            zone,
        })
}

/// What a minute-by-minute life says of the moment with that index.
fn lived(open: &[bool], index: usize) -> (bool, Option<usize>) {
    (open[index], (index..open.len()).find(|later| open[*later] != open[index]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Weeks in which the clocks of 2027 change.
    #[test]
    fn a_minute_by_minute_life_gives_the_same_answer(
        windows in proptest::collection::vec(drawn(), 1..3),
        start in prop::sample::select(&["2027-03-11", "2027-03-25", "2027-10-28", "2027-04-01"][..]),
    ) {
        let from = time(&format!("{start}T12:00:00Z"));
        let mut open = vec![false; 7 * 1440];
        for window in &windows {
            window.mark(from, &mut open);
        }
        // Index 0 is one minute after `from`.
        let at = |index: usize| from + (i64::try_from(index).expect("small") + 1).minutes();
        let end = at(open.len() - 1);
        let windows: Vec<_> = windows.iter().map(Drawn::window).collect();
        // The longest window before the first moment, then every change and the minute before it, and some between.
        for index in (1500..6 * 1440).filter(|index| {
            index % 211 == 0 || open[*index] != open[index - 1] || open[*index] != open[index + 1]
        }) {
            let told = match state(&windows, at(index)) {
                State::Open { until, .. } => (true, until.filter(|until| *until <= end)),
                State::Closed { opens_at } => (false, opens_at.filter(|opens| *opens <= end)),
            };
            let (is_open, change) = lived(&open, index);
            prop_assert_eq!(told, (is_open, change.map(at)), "at {}", at(index));
        }
    }
}
