//! Who may start: operations on one target stand in line, in the order in which they were created.

use jiff::Timestamp;
use vworkspace_api::operation::{Operation, OperationType};

/// What an operation does to its target, as far as others are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controllers::operation) enum Class {
    /// It changes the target: alone.
    Exclusive,
    /// It reads the target: beside others that read it.
    Shared,
    /// Nobody's business.
    Free,
}

impl Class {
    pub(in crate::controllers::operation) fn of(operation: &Operation) -> Self {
        match operation.spec.type_ {
            _ if operation.spec.policy.exclusive => Class::Exclusive,
            OperationType::Restore | OperationType::Upgrade | OperationType::Migration => Class::Exclusive,
            OperationType::Backup => Class::Shared,
            OperationType::RunCommand | OperationType::Runbook => Class::Free,
        }
    }

    /// Whether two of these must not run at the same time.
    pub(super) fn excludes(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Class::Exclusive, Class::Exclusive | Class::Shared) | (Class::Shared, Class::Exclusive)
        )
    }
}

/// Where an operation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) order: Order,
    pub(super) standing: Standing,
}

/// The older comes first; of two of the same second, the one with the lower uid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    pub(super) created: Timestamp,
    pub(super) uid: String,
}

/// How far an operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its engine may be at work.
    Running,
    /// Nothing but others is in its way.
    Runnable,
    /// Something else is in its way: others need not wait for it.
    Held,
}

/// Whom an operation has to wait for: of all that come before it, the last one. That one stays the answer while the line moves
/// on.
pub(super) fn waits_for<'a>(own: &Place, others: &'a [Place]) -> Option<&'a Place> {
    let is_before = |other: &&Place| match other.standing {
        Standing::Running => true,
        Standing::Runnable => other.order < own.order,
        Standing::Held => false,
    };
    let ahead = others.iter().filter(|other| own.class.excludes(other.class)).filter(is_before);
    // One that runs although it is younger ends before those that have not begun.
    ahead.max_by_key(|other| (other.standing == Standing::Runnable, &other.order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(name: &str, class: Class, second: i64, standing: Standing) -> Place {
        let created = Timestamp::from_second(second).unwrap();
        Place { name: name.to_owned(), class, order: Order { created, uid: name.to_owned() }, standing }
    }

    const CLASSES: [Class; 3] = [Class::Exclusive, Class::Shared, Class::Free];

    #[test]
    fn conflicts_are_the_same_from_both_sides() {
        let told: Vec<_> = CLASSES.iter().map(|one| CLASSES.map(|other| one.excludes(other))).collect();
        assert_eq!(told, [[true, true, false], [true, false, false], [false, false, false]]);
        for (one, other) in CLASSES.iter().flat_map(|one| CLASSES.map(|other| (*one, other))) {
            assert_eq!(one.excludes(other), other.excludes(one));
        }
    }

    #[test]
    fn the_last_one_ahead_is_named() {
        use Class::{Exclusive, Free, Shared};
        use Standing::{Held, Runnable, Running};
        let own = place("own", Exclusive, 5, Runnable);
        let table: [(&str, Vec<Place>, Option<&str>); 8] = [
            ("nobody", vec![], None),
            ("the one that runs", vec![place("a", Exclusive, 1, Running)], Some("a")),
            ("also if it is younger", vec![place("a", Shared, 9, Running)], Some("a")),
            (
                "older ones, the last first",
                vec![place("a", Shared, 1, Runnable), place("b", Exclusive, 2, Runnable)],
                Some("b"),
            ),
            ("not one that is held", vec![place("a", Exclusive, 1, Held)], None),
            ("not a younger one", vec![place("a", Exclusive, 6, Runnable)], None),
            ("not one that may run beside it", vec![place("a", Free, 1, Running)], None),
            (
                "one that waits rather than one that runs",
                vec![place("a", Exclusive, 1, Running), place("b", Exclusive, 2, Runnable)],
                Some("b"),
            ),
        ];
        for (name, others, expected) in table {
            assert_eq!(waits_for(&own, &others).map(|other| other.name.as_str()), expected, "{name}");
        }
        let twin = place("twin", Exclusive, 5, Runnable);
        assert_eq!(waits_for(&own, std::slice::from_ref(&twin)), None, "own < twin by uid");
        assert!(waits_for(&twin, std::slice::from_ref(&own)).is_some());
    }

    proptest! {
        /// Steps in any order: what may start starts, what runs ends. Nobody waits for ever, no two that exclude each other
        /// run together, and those that exclude each other start in the order in which they were created.
        #[test]
        fn the_line_moves_on(classes in prop::collection::vec(0..3_usize, 1..12), turns in prop::collection::vec(0..64_usize, 200)) {
            let mut line: Vec<Place> = classes
                .iter()
                .enumerate()
                .map(|(at, class)| place(&format!("{at:02}"), CLASSES[*class], 1, Standing::Runnable))
                .collect();
            let mut started: Vec<Place> = Vec::new();
            let whole = line.len();
            for turn in turns.into_iter().chain((0..64).cycle().take(64 * 24)) {
                if line.is_empty() {
                    break;
                }
                let at = turn % line.len();
                let own = line[at].clone();
                let others: Vec<Place> = line.iter().filter(|other| other.name != own.name).cloned().collect();
                match own.standing {
                    Standing::Running => drop(line.remove(at)),
                    _ if waits_for(&own, &others).is_some() => {}
                    _ => {
                        for running in others.iter().filter(|other| other.standing == Standing::Running) {
                            prop_assert!(!own.class.excludes(running.class));
                        }
                        line[at].standing = Standing::Running;
                        started.push(own);
                    }
                }
            }
            prop_assert_eq!(started.len(), whole, "somebody never started");
            for (at, one) in started.iter().enumerate() {
                for later in &started[at + 1..] {
                    prop_assert!(!one.class.excludes(later.class) || one.order < later.order);
                }
            }
        }
    }
}
