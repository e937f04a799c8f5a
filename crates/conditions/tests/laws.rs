//! The laws of a condition set, over any history of things said.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::kstatus::{RECONCILING, STALLED};
use conditions::{Condition, ConditionSet, Kind, Moment, Reason, Status};
use kitchen::kettle::{self, Kettle};
use kitchen::{Blocked, Ready, Teapot, at, bytes};
use proptest::prelude::*;

mod kitchen;

/// One thing said about a teapot.
#[derive(Debug, Clone)]
enum Saying {
    Ready(Ready),
    Blocked(Blocked),
    Project,
}

fn say(set: &mut ConditionSet<Teapot>, saying: &Saying, message: &str, at: Moment) {
    match saying {
        Saying::Ready(reason) => set.set(*reason, message, at),
        Saying::Blocked(reason) => set.set(*reason, message, at),
        Saying::Project => set.project(at),
    }
}

fn sayings() -> impl Strategy<Value = Saying> {
    prop_oneof![
        proptest::sample::select(Ready::ALL).prop_map(Saying::Ready),
        proptest::sample::select(Blocked::ALL).prop_map(Saying::Blocked),
        Just(Saying::Project),
    ]
}

fn both<K: Kind>(set: &ConditionSet<K>) -> bool {
    let holds = |type_| set.get(type_).is_some_and(|condition| condition.status == Status::True);
    holds(RECONCILING) && holds(STALLED)
}

/// What was taken back has a time that `get` no longer shows; `reading.rs` looks at those.
fn concluded(condition: &Condition) -> bool {
    [RECONCILING, STALLED].contains(&condition.type_.as_str())
}

/// One thing said about a kettle.
#[derive(Debug, Clone)]
enum KettleSaying {
    Reconciling(kettle::Reconciling),
    Broken(kettle::Broken),
    Project,
}

fn kettle_histories() -> impl Strategy<Value = Vec<(KettleSaying, Moment)>> {
    let saying = prop_oneof![
        proptest::sample::select(kettle::Reconciling::ALL).prop_map(KettleSaying::Reconciling),
        proptest::sample::select(kettle::Broken::ALL).prop_map(KettleSaying::Broken),
        Just(KettleSaying::Project),
    ];
    let step = (saying, 1..4_i64, 0..100_i64)
        .prop_map(|(saying, generation, second)| (saying, at(generation, second)));
    proptest::collection::vec(step, 0..20)
}

fn histories() -> impl Strategy<Value = Vec<(Saying, String, Moment)>> {
    let step = (sayings(), "[a-z]{0,3}", 1..4_i64, 0..100_i64)
        .prop_map(|(saying, message, generation, second)| (saying, message, at(generation, second)));
    proptest::collection::vec(step, 0..20)
}

fn after(history: &[(Saying, String, Moment)]) -> ConditionSet<Teapot> {
    let mut set = ConditionSet::new();
    for (saying, message, at) in history {
        say(&mut set, saying, message, *at);
    }
    set
}

proptest! {
    #[test]
    fn saying_the_same_again_later_changes_nothing(history in histories(), saying in sayings(), later in 100..200_i64) {
        let mut once = after(&history);
        say(&mut once, &saying, "m", at(3, 50));
        let mut twice = once.clone();
        say(&mut twice, &saying, "m", at(3, later));
        prop_assert_eq!(bytes(&once), bytes(&twice));
    }

    #[test]
    fn the_transition_time_moves_exactly_when_the_status_does(
        history in histories(), saying in sayings(), message in "[a-z]{0,3}", generation in 1..9_i64,
    ) {
        let before = after(&history);
        let mut now = before.clone();
        say(&mut now, &saying, &message, at(generation, 500));
        for condition in now.iter().filter(|condition| !concluded(condition)) {
            match before.get(&condition.type_) {
                Some(was) if was.status == condition.status =>
                    prop_assert_eq!(condition.last_transition_time, was.last_transition_time),
                _ => prop_assert_eq!(condition.last_transition_time, at(generation, 500).now),
            }
        }
    }

    #[test]
    fn within_a_moment_the_last_word_counts(
        history in histories(), retracted in proptest::sample::select(Blocked::ALL),
        reason in proptest::sample::select(Blocked::ALL),
    ) {
        let mut once = after(&history);
        let mut corrected = once.clone();
        once.set(reason, "m", at(9, 500));
        once.project(at(9, 500));
        corrected.set(retracted, "no", at(9, 500));
        corrected.project(at(9, 500));
        corrected.set(reason, "m", at(9, 500));
        corrected.project(at(9, 500));
        prop_assert_eq!(bytes(&once), bytes(&corrected));
    }

    #[test]
    fn what_was_said_is_there_with_its_generation_and_nothing_else_moved(
        history in histories(), reason in proptest::sample::select(Ready::ALL), generation in 1..9_i64,
    ) {
        let before = after(&history);
        let mut now = before.clone();
        now.set(reason, "why", at(generation, 500));
        let said = now.get("Ready").expect("it was said");
        prop_assert_eq!((said.status, said.reason.as_str()), (reason.entry().status, reason.entry().reason));
        prop_assert_eq!((said.message.as_str(), said.observed_generation), ("why", Some(generation)));
        prop_assert_eq!(now.read::<Ready>(), Some(reason));
        prop_assert_eq!(before.get("Blocked"), now.get("Blocked"));
        prop_assert!(now.get(RECONCILING).is_none() && now.get(STALLED).is_none(), "it follows no more");
    }

    #[test]
    fn equal_sets_are_equal_bytes_in_whatever_order_they_came(history in histories(), seed in any::<u64>()) {
        let mut set = after(&history);
        let foreign = ["zeta.example.com/Fresh", "alpha.example.com/Fresh"].map(|type_| Condition {
            last_transition_time: at(1, 0).now,
            message: String::new(),
            observed_generation: None,
            reason: "Foreign".to_owned(),
            status: Status::True,
            type_: type_.to_owned(),
        });
        let mut conditions: Vec<Condition> = set.into();
        conditions.extend(foreign);
        set = conditions.clone().into();
        let length = conditions.len();
        for place in 0..length {
            let other = usize::try_from(seed.rotate_left(u32::try_from(place).expect("small")) % 97).expect("small");
            conditions.swap(place, other % length);
        }
        prop_assert_eq!(bytes(&set), bytes(&ConditionSet::<Teapot>::from(conditions)));
        let read_back: ConditionSet<Teapot> = serde_json::from_str(&bytes(&set)).expect("a set");
        prop_assert_eq!(set, read_back);
    }

    #[test]
    fn the_order_is_that_of_the_vocabulary(history in histories()) {
        let mut set = after(&history);
        set.project(at(3, 300));
        let order: Vec<_> = Teapot::order();
        let places: Vec<_> = set.iter().map(|one| order.iter().position(|name| *name == one.type_)).collect();
        prop_assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}");
        let mut without_twins = places.clone();
        without_twins.dedup();
        prop_assert_eq!(places, without_twins);
    }

    #[test]
    fn reconciling_and_stalled_are_never_both_true_at_any_time(history in histories()) {
        let mut set = ConditionSet::new();
        for (saying, message, at) in &history {
            say(&mut set, saying, message, *at);
            prop_assert!(!both(&set), "{:?}", set);
        }
        set.project(at(3, 300));
        prop_assert!(!both(&set), "{:?}", set);
        prop_assert!(set.get(RECONCILING).is_some() && set.get(STALLED).is_some());
    }

    #[test]
    fn nor_are_they_for_a_kind_with_a_reconciling_of_its_own(history in kettle_histories()) {
        let mut set = ConditionSet::<Kettle>::new();
        for (saying, at) in &history {
            match saying {
                KettleSaying::Reconciling(reason) => set.set(*reason, "", *at),
                KettleSaying::Broken(reason) => set.set(*reason, "", *at),
                KettleSaying::Project => set.project(*at),
            }
            prop_assert!(!both(&set), "{:?}", set);
        }
    }

    #[test]
    fn every_condition_passes_the_servers_checks(history in histories(), message in ".{0,40000}") {
        let mut set = after(&history);
        set.set(Blocked::NoWater, message, at(3, 300));
        set.project(at(3, 300));
        for condition in &set {
            prop_assert_eq!(condition.check(), Ok(()));
        }
    }
}

impl Teapot {
    fn order() -> Vec<&'static str> {
        vec!["Ready", "Blocked", RECONCILING, STALLED]
    }
}
