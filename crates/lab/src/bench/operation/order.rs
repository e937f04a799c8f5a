//! Whether operations on one target ran in the order in which they were created, one at a time.

use std::collections::{BTreeMap, BTreeSet};

/// An operation in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InLine {
    pub(super) uid: String,
    /// Whose line it is.
    pub(super) target: String,
    /// As the API server wrote it: texts of one length, which are in the order of the times.
    pub(super) created: String,
}

/// What was seen of the Job of an operation, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Begun(String),
    Finished(String),
}

/// What became of all of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How many began once, alone and in their turn.
    pub(super) well: usize,
    /// What was wrong with the others, in words.
    pub(super) faults: Vec<String>,
}

/// Compares what was seen with what has to be.
pub(super) fn judge(line: &[InLine], seen: &[Seen]) -> Verdict {
    let mut ahead = turns(line);
    let targets: BTreeMap<&str, &str> =
        line.iter().map(|one| (one.uid.as_str(), one.target.as_str())).collect();
    let mut at_work: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut verdict = Verdict::default();
    for event in seen {
        let (Seen::Begun(uid) | Seen::Finished(uid)) = event;
        let Some(target) = targets.get(uid.as_str()).copied() else {
            verdict.faults.push(format!("{uid} is none of the operations in line"));
            continue;
        };
        let at_work = at_work.entry(target).or_default();
        if matches!(event, Seen::Finished(_)) {
            at_work.remove(uid.as_str());
            continue;
        }
        let is_alone = at_work.is_empty();
        at_work.insert(uid);
        let place = ahead.get_mut(target).and_then(|turns| take(turns, uid));
        match (place, is_alone) {
            (Some(0), true) => verdict.well += 1,
            (place, _) => verdict.faults.push(fault(uid, target, place)),
        }
    }
    let missing = ahead.iter().flat_map(|(target, turns)| turns.iter().map(move |uid| (target, uid)));
    verdict.faults.extend(missing.map(|(target, uid)| format!("{uid} never began on {target}")));
    verdict
}

/// What is wrong with an operation that began at this place in the line.
fn fault(uid: &str, target: &str, place: Option<usize>) -> String {
    match place {
        Some(0) => format!("{uid} began beside another on {target}"),
        Some(before) => format!("{uid} began on {target} before {before} older ones"),
        None => format!("{uid} began again on {target}"),
    }
}

/// Who comes when, for each target: the older first; of two of the same second, the one with the lower uid.
fn turns(line: &[InLine]) -> BTreeMap<&str, Vec<&str>> {
    let mut sorted: Vec<&InLine> = line.iter().collect();
    sorted.sort_by_key(|one| (&one.created, &one.uid));
    let mut turns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in sorted {
        turns.entry(&one.target).or_default().push(&one.uid);
    }
    turns
}

/// Takes one out of a line, and tells how many stood before it.
fn take(turns: &mut Vec<&str>, uid: &str) -> Option<usize> {
    let place = turns.iter().position(|known| *known == uid)?;
    turns.remove(place);
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::Seen::{Begun, Finished};
    use super::*;

    fn line() -> Vec<InLine> {
        [("c", "web", "10"), ("b", "web", "11"), ("a", "web", "11"), ("x", "shop", "10")]
            .map(|(uid, target, created)| InLine {
                uid: uid.into(),
                target: target.into(),
                created: created.into(),
            })
            .into()
    }

    fn judged(seen: &[(&str, bool)]) -> Verdict {
        let event = |(uid, begun): &(&str, bool)| {
            if *begun { Begun((*uid).to_owned()) } else { Finished((*uid).to_owned()) }
        };
        judge(&line(), &seen.iter().map(event).collect::<Vec<_>>())
    }

    #[test]
    fn one_after_the_other_and_the_oldest_first_is_well() {
        let seen =
            [("c", true), ("x", true), ("c", false), ("a", true), ("a", false), ("x", false), ("b", true)];
        assert_eq!(judged(&seen), Verdict { well: 4, faults: Vec::new() });
    }

    #[test]
    fn every_way_to_break_the_order_is_told() {
        let ended = |uid| [(uid, true), (uid, false)];
        let table = [
            (
                "of one second, the wrong one first",
                [ended("c"), ended("b"), ended("a"), ended("x")].concat(),
                3,
                "b began on web before 1 older ones",
            ),
            (
                "two at once",
                vec![("c", true), ("a", true), ("x", true), ("c", false), ("a", false), ("b", true)],
                3,
                "a began beside another on web",
            ),
            (
                "twice",
                [ended("c"), ended("c"), ended("a"), ended("b"), ended("x")].concat(),
                4,
                "c began again on web",
            ),
            ("never", [ended("c"), ended("a"), ended("b")].concat(), 3, "x never began on shop"),
            (
                "a stranger",
                [ended("c"), ended("a"), ended("b"), ended("x"), ended("y")].concat(),
                4,
                "y is none of the operations in line",
            ),
        ];
        for (title, seen, well, fault) in table {
            let verdict = judged(&seen);
            assert_eq!(verdict.well, well, "{title}");
            assert_eq!(verdict.faults.first().map(String::as_str), Some(fault), "{title}");
        }
    }
}
