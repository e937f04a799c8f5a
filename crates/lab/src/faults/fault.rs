//! What can go wrong, and when. A fault has a short text, such as `kill-after:7`, by which a run is repeated.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use explore::Dice;

/// One thing that goes wrong, once. `write` is the n-th request that may change something since the proxy was armed, leases
/// apart; for what happens to reads it is the moment at which that write has been answered.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fault {
    /// The program is killed, and the write never reaches the API server.
    KillBefore { write: usize },
    /// The write is done, and the program is killed before it knows.
    KillAfter { write: usize },
    /// As before, and the next process meets an API server that lags: its lists are those of the first one, and the watches
    /// after them begin late.
    KillAndStaleLists { write: usize },
    /// The write is done, and the program sleeps before it knows: until another process has taken over and carried out the
    /// change that was made meanwhile. Then it wakes up.
    FreezeAfter { write: usize },
    /// The write is done, and its answer is lost.
    LoseReply { write: usize },
    /// The write is done, and its answer comes late.
    LateReply { write: usize, millis: u64 },
    /// So many writes are not done but answered with this code.
    Refuse { write: usize, code: u16, times: usize },
    /// All watches break off.
    CutWatches { write: usize },
    /// All watches are told that their version is too old (410).
    ExpireWatches { write: usize },
    /// All watches break off, and the next request of each is answered with this code.
    RefuseWatches { write: usize, code: u16 },
    /// The watch of a kind is silent for a while; then all that was missed comes at once.
    FreezeWatch { write: usize, kind: Kind, millis: u64 },
    /// Every event of a kind comes so much later than those of the others: what happened first is seen last.
    LateWatch { kind: Kind, millis: u64 },
    /// The program's clock is off by so many seconds, for as long as it runs.
    Clock { seconds: i64 },
    /// The watch of a kind expires, the list that follows is the one that the program was given first, and the watch after
    /// it begins late.
    StaleList { write: usize, kind: Kind },
}

/// Kinds whose watches can be disturbed on their own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Kind {
    Instances,
    Releases,
    Sources,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Instances, Self::Releases, Self::Sources];

    /// As it stands in a path.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Instances => "applicationinstances",
            Self::Releases => "helmreleases",
            Self::Sources => "ocirepositories",
        }
    }
}

/// How each is written; docs/reliability.md says what they do.
const SYNTAX: &str = "kill-before:N, kill-after:N, kill-and-stale-lists:N, freeze-after:N, lose-reply:N, late-reply:N:MS, \
    refuse:N:CODE:TIMES, cut-watches:N, expire-watches:N, refuse-watches:N:CODE, freeze-watch:N:KIND:MS, \
    late-watch:KIND:MS, clock:SECONDS, stale-list:N:KIND, with N the number of a write and KIND applicationinstances, \
    helmreleases or ocirepositories";
const CODES: [u16; 4] = [409, 429, 500, 503];
const WATCH_CODES: [u16; 4] = [410, 429, 500, 503];
const LATE_REPLY: [u64; 2] = [3000, 17_000];
const FREEZE: [u64; 2] = [2500, 7000];
const LATE_WATCH: [u64; 2] = [400, 1500];
/// How far an API server is behind that shows the past.
pub(crate) const LAG: Duration = Duration::from_millis(2500);
const CLOCKS: [i64; 2] = [3600, -3600];
/// How long it takes until a lease that nobody gave back has another holder.
const TAKE_OVER: Duration = Duration::from_secs(15);

impl Fault {
    /// Every crash point of a workload that makes so many writes.
    pub(crate) fn crashes(writes: usize) -> Vec<Self> {
        (1..=writes).flat_map(|write| [Self::KillBefore { write }, Self::KillAfter { write }]).collect()
    }

    /// A sleep after each write of a workload that makes so many.
    pub(crate) fn sleeps(writes: usize) -> Vec<Self> {
        (1..=writes).map(|write| Self::FreezeAfter { write }).collect()
    }

    /// One of each class of [`Fault::others`].
    pub(crate) fn one_of_each(writes: usize, dice: &mut Dice) -> Vec<Self> {
        let all = Self::others(writes, dice);
        let mut classes = BTreeSet::new();
        dice.shuffled(all).into_iter().filter(|fault| classes.insert(fault.class())).collect()
    }

    /// One of each of the other faults, at moments that the dice choose.
    pub(crate) fn others(writes: usize, dice: &mut Dice) -> Vec<Self> {
        let most = u32::try_from(writes).unwrap_or(u32::MAX);
        let write = |dice: &mut Dice| 1 + dice.below(most) as usize;
        let kind = |dice: &mut Dice| dice.pick(&Kind::ALL).unwrap_or(Kind::Releases);
        let mut all = vec![
            Self::KillAndStaleLists { write: write(dice) },
            Self::LoseReply { write: write(dice) },
            Self::LoseReply { write: write(dice) },
            Self::CutWatches { write: write(dice) },
            Self::ExpireWatches { write: write(dice) },
            Self::StaleList { write: write(dice), kind: kind(dice) },
        ];
        all.extend(LATE_REPLY.map(|millis| Self::LateReply { write: write(dice), millis }));
        for times in [1, 4] {
            all.extend(CODES.map(|code| Self::Refuse { write: write(dice), code, times }));
        }
        all.extend(WATCH_CODES.map(|code| Self::RefuseWatches { write: write(dice), code }));
        all.extend(FREEZE.map(|millis| Self::FreezeWatch { write: write(dice), kind: kind(dice), millis }));
        all.extend(LATE_WATCH.map(|millis| Self::LateWatch { kind: kind(dice), millis }));
        all.extend(CLOCKS.map(|seconds| Self::Clock { seconds }));
        all
    }

    /// The word by which faults are counted.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::KillBefore { .. } => "kill-before",
            Self::KillAfter { .. } => "kill-after",
            Self::KillAndStaleLists { .. } => "kill-and-stale-lists",
            Self::FreezeAfter { .. } => "freeze-after",
            Self::LoseReply { .. } => "lose-reply",
            Self::LateReply { .. } => "late-reply",
            Self::Refuse { .. } => "refuse",
            Self::CutWatches { .. } => "cut-watches",
            Self::ExpireWatches { .. } => "expire-watches",
            Self::RefuseWatches { .. } => "refuse-watches",
            Self::FreezeWatch { .. } => "freeze-watch",
            Self::LateWatch { .. } => "late-watch",
            Self::Clock { .. } => "clock",
            Self::StaleList { .. } => "stale-list",
        }
    }

    /// Whether it is there from the start, and not at some moment.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, Self::LateWatch { .. } | Self::Clock { .. })
    }

    /// By how many seconds the program's clock is off.
    pub(crate) fn clock(&self) -> Option<i64> {
        match self {
            Self::Clock { seconds } => Some(*seconds),
            _ => None,
        }
    }

    /// For how long the program cannot know what is going on, or cannot say it, by this fault.
    pub(crate) fn blindness(&self) -> Duration {
        match self {
            Self::Clock { .. } => Duration::ZERO,
            Self::FreezeAfter { .. } => TAKE_OVER,
            Self::LateReply { millis, .. }
            | Self::FreezeWatch { millis, .. }
            | Self::LateWatch { millis, .. } => Duration::from_millis(*millis),
            // A process starts again, gets the lease and fills its caches; or a watch is taken up again after a pause.
            Self::KillBefore { .. }
            | Self::KillAfter { .. }
            | Self::LoseReply { .. }
            | Self::CutWatches { .. }
            | Self::ExpireWatches { .. }
            | Self::RefuseWatches { .. } => Duration::from_secs(3),
            // The pause after a refusal doubles.
            Self::Refuse { times, .. } => Duration::from_secs(if *times == 1 { 3 } else { 10 }),
            Self::KillAndStaleLists { .. } | Self::StaleList { .. } => Duration::from_secs(3) + LAG,
        }
    }
}

impl Fault {
    /// For how long something may still come of it when everything is done.
    pub(crate) fn aftermath(&self) -> Duration {
        match self {
            // It was awake before that, and what it had planned it does at once.
            Self::FreezeAfter { .. } => Duration::from_secs(3),
            other => other.blindness(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class();
        match self {
            Self::KillBefore { write }
            | Self::KillAfter { write }
            | Self::KillAndStaleLists { write }
            | Self::FreezeAfter { write }
            | Self::LoseReply { write }
            | Self::CutWatches { write }
            | Self::ExpireWatches { write } => write!(f, "{class}:{write}"),
            Self::LateReply { write, millis } => write!(f, "{class}:{write}:{millis}"),
            Self::Refuse { write, code, times } => write!(f, "{class}:{write}:{code}:{times}"),
            Self::RefuseWatches { write, code } => write!(f, "{class}:{write}:{code}"),
            Self::FreezeWatch { write, kind, millis } => {
                write!(f, "{class}:{write}:{}:{millis}", kind.plural())
            }
            Self::LateWatch { kind, millis } => write!(f, "{class}:{}:{millis}", kind.plural()),
            Self::Clock { seconds } => write!(f, "{class}:{seconds}"),
            Self::StaleList { write, kind } => write!(f, "{class}:{write}:{}", kind.plural()),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no fault; expected one of {SYNTAX}");
        let words: Vec<&str> = text.split(':').collect();
        let number = |word: &str| word.parse::<usize>().map_err(|_| wrong());
        let millis = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        let code = |word: &str| word.parse::<u16>().map_err(|_| wrong());
        let kind = |word: &str| Kind::ALL.into_iter().find(|kind| kind.plural() == word).ok_or_else(wrong);
        Ok(match words.as_slice() {
            ["kill-before", write] => Self::KillBefore { write: number(write)? },
            ["kill-after", write] => Self::KillAfter { write: number(write)? },
            ["kill-and-stale-lists", write] => Self::KillAndStaleLists { write: number(write)? },
            ["freeze-after", write] => Self::FreezeAfter { write: number(write)? },
            ["lose-reply", write] => Self::LoseReply { write: number(write)? },
            ["cut-watches", write] => Self::CutWatches { write: number(write)? },
            ["expire-watches", write] => Self::ExpireWatches { write: number(write)? },
            ["late-reply", write, late] => Self::LateReply { write: number(write)?, millis: millis(late)? },
            ["refuse", write, with, times] => {
                Self::Refuse { write: number(write)?, code: code(with)?, times: number(times)? }
            }
            ["refuse-watches", write, with] => {
                Self::RefuseWatches { write: number(write)?, code: code(with)? }
            }
            ["freeze-watch", write, of, time] => {
                Self::FreezeWatch { write: number(write)?, kind: kind(of)?, millis: millis(time)? }
            }
            ["late-watch", of, late] => Self::LateWatch { kind: kind(of)?, millis: millis(late)? },
            ["clock", seconds] => Self::Clock { seconds: seconds.parse().map_err(|_| wrong())? },
            ["stale-list", write, of] => Self::StaleList { write: number(write)?, kind: kind(of)? },
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_read_from_what_is_printed() {
        let mut all = Fault::crashes(3);
        all.extend(Fault::sleeps(2));
        all.extend(Fault::others(9, &mut Dice::new(1)));
        for fault in all {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        for text in ["", "kill-after", "kill-after:x", "refuse:1:503", "stale-list:1:pods", "explode:1"] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn one_of_each_leaves_no_class_out() {
        let classes = |faults: &[Fault]| faults.iter().map(Fault::class).collect::<BTreeSet<_>>();
        let (all, few) = (Fault::others(9, &mut Dice::new(1)), Fault::one_of_each(9, &mut Dice::new(1)));
        assert_eq!(classes(&all), classes(&few));
        assert_eq!(few.len(), classes(&few).len());
    }

    #[test]
    fn a_crash_point_lies_before_and_after_each_write() {
        assert_eq!(Fault::crashes(4).len(), 8);
    }
}
