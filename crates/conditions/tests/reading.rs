//! What readers are told: former names, types not spoken of yet, and how kstatus reads an object.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Condition, ConditionSet, ConditionType, Entry, Kind, Origin, Reason, Status};
use kitchen::kettle::{self, Kettle};
use kitchen::{Blocked, Ready, Teapot, at};

mod kitchen;

/// `Type=Status/Reason` of every condition.
fn said<K: Kind>(set: &ConditionSet<K>) -> Vec<String> {
    set.iter().map(|one| format!("{}={}/{}", one.type_, one.status, one.reason)).collect()
}

fn stored(type_: &str, status: Status, reason: &str) -> Condition {
    Condition {
        last_transition_time: at(1, 0).now,
        message: String::new(),
        observed_generation: Some(1),
        reason: reason.to_owned(),
        status,
        type_: type_.to_owned(),
    }
}

#[test]
fn a_former_name_is_understood_and_the_new_one_is_written() {
    let mut pot: ConditionSet<Teapot> = vec![stored("Blocked", Status::True, "Dry")].into();
    assert_eq!(pot.read::<Blocked>(), Some(Blocked::NoWater));
    pot.set(Blocked::NoWater, "", at(1, 60));
    assert_eq!(said(&pot), ["Blocked=True/NoWater"]);
    assert_eq!(pot.as_slice()[0].last_transition_time, at(1, 0).now, "a new name is no transition");
}

#[test]
fn a_former_name_decides_for_kstatus_as_the_present_one_does() {
    let mut pot: ConditionSet<Teapot> = vec![stored("Blocked", Status::True, "Empty")].into();
    pot.project(at(1, 60));
    assert_eq!(said(&pot)[1..], ["Reconciling=False/Stable", "Stalled=True/NoWater"]);
}

#[test]
fn a_word_that_the_vocabulary_does_not_have_reads_as_nothing() {
    let read = |status, reason| {
        let pot: ConditionSet<Teapot> = vec![stored("Blocked", status, reason)].into();
        pot.read::<Blocked>()
    };
    assert_eq!(read(Status::True, "NoMilk"), None);
    assert_eq!(read(Status::False, "NoWater"), None, "the status is wrong for it");
}

#[test]
fn a_reason_made_by_hand_cannot_say_what_its_table_does_not() {
    #[derive(Clone, Copy)]
    struct Foreign;
    impl conditions::MadeWithConditions for Foreign {}
    impl Reason for Foreign {
        type Kind = Teapot;
        const TYPE: ConditionType = Ready::TABLE;
        const ALL: &'static [Self] = &[Foreign];
        fn entry(self) -> &'static Entry {
            Blocked::NotBlocked.entry()
        }
    }
    let mut pot = ConditionSet::<Teapot>::new();
    pot.set(Foreign, "", at(1, 0));
    assert_eq!(pot, ConditionSet::new());
}

#[test]
fn what_has_not_been_said_for_this_generation_is_listed() {
    let mut pot = ConditionSet::<Teapot>::new();
    assert_eq!(pot.unsaid(1).collect::<Vec<_>>(), ["Ready", "Blocked", "Reconciling", "Stalled"]);
    pot.set(Ready::Brewing, "", at(1, 0));
    pot.set(Blocked::NotBlocked, "", at(1, 0));
    pot.project(at(1, 0));
    assert_eq!(pot.unsaid(1).count(), 0);
    pot.set(Ready::Brewing, "", at(2, 1));
    assert_eq!(pot.unsaid(2).collect::<Vec<_>>(), ["Blocked", "Reconciling", "Stalled"]);
}

#[test]
fn conditions_of_others_are_kept_until_told_otherwise() {
    let mut pot: ConditionSet<Teapot> =
        vec![stored("example.com/Fresh", Status::True, "New"), stored("Ready", Status::True, "Brewed")]
            .into();
    pot.project(at(1, 0));
    assert_eq!(pot.as_slice().last().expect("one").type_, "example.com/Fresh");
    pot.retain_own();
    assert_eq!(
        said(&pot),
        ["Ready=True/Brewed", "Reconciling=True/NotYetObserved", "Stalled=False/NotStalled"]
    );
}

#[test]
fn of_two_conditions_of_a_type_the_first_counts() {
    let pot: ConditionSet<Teapot> =
        vec![stored("Ready", Status::True, "Brewed"), stored("Ready", Status::False, "Brewing")].into();
    assert_eq!(said(&pot), ["Ready=True/Brewed"]);
}

#[test]
fn a_set_equals_itself_after_a_round_trip_whatever_clock_its_conditions_came_from() {
    let mut condition = stored("Ready", Status::True, "Brewed");
    condition.last_transition_time = "2026-01-01T00:00:00.75Z".parse().expect("a time");
    let pot: ConditionSet<Teapot> = vec![condition].into();
    let read_back: ConditionSet<Teapot> = serde_json::from_str(&kitchen::bytes(&pot)).expect("a set");
    assert_eq!(pot, read_back);
}

#[test]
fn the_first_line_that_holds_decides_how_kstatus_reads_it() {
    let read = |ready: Ready, blocked: Blocked| {
        let mut pot = ConditionSet::<Teapot>::new();
        pot.set(ready, "tea", at(1, 0));
        pot.set(blocked, "water", at(1, 0));
        pot.project(at(1, 0));
        let message = |type_| pot.get(type_).expect("projected").message.clone();
        (said(&pot)[2..].join(" "), message("Reconciling") + &message("Stalled"))
    };
    let stalled = "Reconciling=False/Stable Stalled=True/NoWater";
    assert_eq!(read(Ready::Brewing, Blocked::NoWater), (stalled.into(), "water".into()));
    assert_eq!(read(Ready::Brewed, Blocked::NoWater), (stalled.into(), "water".into()));
    let current = "Reconciling=False/Stable Stalled=False/NotStalled";
    assert_eq!(read(Ready::Brewed, Blocked::NoTea), (current.into(), String::new()));
    let waits = "Reconciling=True/NoTea Stalled=False/NotStalled";
    assert_eq!(read(Ready::Brewing, Blocked::NoTea), (waits.into(), "water".into()));
    let works = "Reconciling=True/Brewing Stalled=False/NotStalled";
    assert_eq!(read(Ready::Brewing, Blocked::NotBlocked), (works.into(), "tea".into()));
    let unknown = "Reconciling=True/NotYetObserved Stalled=False/NotStalled";
    let why = "not known for generation 1: Ready";
    assert_eq!(read(Ready::NotLookedAt, Blocked::NotBlocked), (unknown.into(), why.into()));
}

#[test]
fn a_kind_with_a_reconciling_of_its_own_keeps_its_words_unless_it_is_stalled() {
    use kettle::{Broken, Reconciling};
    let read = |reconciling: Reconciling, broken: Broken| {
        let mut kettle = ConditionSet::<Kettle>::new();
        kettle.set(reconciling, "own words", at(1, 0));
        kettle.set(broken, "", at(1, 0));
        kettle.project(at(1, 60));
        let own = kettle.get("Reconciling").expect("said").message.clone();
        let said = said(&kettle);
        (said[0].clone(), said[2].clone(), own)
    };
    let heating = ("Reconciling=True/Heating".into(), "Stalled=False/NotStalled".into(), "own words".into());
    assert_eq!(read(Reconciling::Heating, Broken::Whole), heating);
    assert_eq!(read(Reconciling::Heating, Broken::FuseBlown), heating, "heating comes before the fuse");
    let fuse = ("Reconciling=False/Stable".into(), "Stalled=True/FuseBlown".into(), "own words".into());
    assert_eq!(read(Reconciling::Stable, Broken::FuseBlown), fuse);
    let leaks = ("Reconciling=False/Stable".into(), "Stalled=True/Leaks".into(), String::new());
    assert_eq!(read(Reconciling::Heating, Broken::Leaks), leaks);
}

#[test]
fn a_kind_cannot_call_itself_stable_while_its_other_conditions_wait() {
    let mut kettle = ConditionSet::<Kettle>::new();
    kettle.set(kettle::Reconciling::Stable, "", at(1, 0));
    kettle.set(kettle::Broken::Descaling, "an hour", at(1, 0));
    kettle.project(at(1, 0));
    assert_eq!(said(&kettle)[0], "Reconciling=True/NotLookedAt");
    assert_eq!(kettle.get("Reconciling").expect("said").message, "an hour");
}

#[test]
fn silence_is_not_read_as_current() {
    let read = |stored: Vec<Condition>, generation| {
        let mut pot: ConditionSet<Teapot> = stored.into();
        pot.project(at(generation, 60));
        let reconciling = pot.get("Reconciling").expect("projected");
        format!("{}/{} {}", reconciling.status, reconciling.reason, reconciling.message)
    };
    let ready = || stored("Ready", Status::True, "Brewed");
    let free = || stored("Blocked", Status::False, "NotBlocked");
    assert_eq!(read(vec![ready(), free()], 1), "False/Stable ");
    let unknown = |types| format!("True/NotYetObserved not known for generation 1: {types}");
    assert_eq!(read(vec![], 1), unknown("Ready, Blocked"));
    assert_eq!(read(vec![ready()], 1), unknown("Blocked"));
    assert_eq!(read(vec![ready(), stored("Blocked", Status::True, "NoMilk")], 1), unknown("Blocked"));
    assert_eq!(read(vec![ready(), stored("Blocked", Status::True, "NotBlocked")], 1), unknown("Blocked"));
    let older = "True/NotYetObserved not known for generation 2: Ready, Blocked";
    assert_eq!(read(vec![ready(), free()], 2), older);
}

#[test]
fn what_was_concluded_goes_when_a_word_changes_but_not_its_time() {
    let reconcile = |pot: &mut ConditionSet<Teapot>, second| {
        pot.set(Ready::NoWater, "", at(1, second));
        pot.set(Blocked::NoWater, "", at(1, second));
        assert_eq!(pot.unsaid(1).collect::<Vec<_>>(), ["Reconciling", "Stalled"]);
        // Whoever looks at the clock twice must not write a new status with every reconcile.
        pot.project(at(1, second + 1));
    };
    let mut pot = ConditionSet::<Teapot>::new();
    reconcile(&mut pot, 0);
    let first = pot.clone();
    reconcile(&mut pot, 60);
    assert_eq!(pot, first);
}

#[test]
fn a_stalled_kinds_own_word_that_the_projection_overruled_is_asked_for_again() {
    let mut kettle = ConditionSet::<Kettle>::new();
    kettle.set(kettle::Reconciling::Heating, "", at(1, 0));
    kettle.set(kettle::Broken::Leaks, "", at(1, 0));
    kettle.project(at(1, 0));
    kettle.set(kettle::Broken::Whole, "", at(1, 60));
    assert_eq!(said(&kettle), ["Broken=False/Whole"]);
    kettle.project(at(1, 60));
    assert_eq!(said(&kettle)[0], "Reconciling=True/NotLookedAt");
}

#[test]
fn what_is_said_for_a_kind_is_said_anew_for_each_generation() {
    let mut pot = ConditionSet::<Teapot>::new();
    pot.set(Ready::Brewed, "", at(1, 0));
    pot.project(at(1, 0));
    pot.project(at(2, 0));
    assert_eq!(pot.unsaid(2).collect::<Vec<_>>(), ["Ready", "Blocked"]);
}

#[test]
fn a_stalled_kind_that_calls_itself_busy_again_and_again_does_not_flap() {
    let mut kettle = ConditionSet::<Kettle>::new();
    let reconcile = |kettle: &mut ConditionSet<Kettle>, second| {
        kettle.set(kettle::Reconciling::Heating, "", at(1, second));
        kettle.set(kettle::Broken::Leaks, "", at(1, second));
        kettle.project(at(1, second));
    };
    reconcile(&mut kettle, 0);
    let first = kettle.clone();
    reconcile(&mut kettle, 60);
    assert_eq!(kettle, first);
}

#[test]
fn of_a_kind_that_is_silent_about_a_new_generation_nothing_is_concluded() {
    let mut kettle = ConditionSet::<Kettle>::new();
    kettle.set(kettle::Reconciling::Heating, "", at(1, 0));
    kettle.project(at(2, 0));
    assert_eq!(kettle.unsaid(2).collect::<Vec<_>>(), ["Broken"]);
    let reconciling = kettle.get("Reconciling").expect("it is not done");
    assert_eq!(reconciling.message, "not known for generation 2: Reconciling, Broken");
}

#[test]
fn the_listing_has_the_added_types_with_the_texts_of_what_decides() {
    let listing: Vec<_> = Teapot::VOCABULARY.entries().collect();
    let lines: Vec<_> =
        listing.iter().map(|one| format!("{}={}/{}", one.type_, one.status, one.reason)).collect();
    assert_eq!(
        lines,
        [
            "Ready=True/Brewed",
            "Ready=False/Brewing",
            "Ready=Unknown/NotLookedAt",
            "Ready=False/NoWater",
            "Blocked=True/NoWater",
            "Blocked=True/NoTea",
            "Blocked=False/NotBlocked",
            "Reconciling=True/NoTea",
            "Reconciling=True/Brewing",
            "Reconciling=True/NotYetObserved",
            "Reconciling=False/Stable",
            "Stalled=True/NoWater",
            "Stalled=False/NotStalled",
        ]
    );
    let stalled = Teapot::VOCABULARY.find("Stalled", Status::True, "Dry").expect("listed");
    assert_eq!((stalled.origin, stalled.resolve), (Origin::Extension, "Fill it."));
    assert_eq!(stalled.repeats.map(|first| first.type_), Some("Blocked"));
    let kettles: Vec<_> = Kettle::VOCABULARY.all_types().map(|listing| listing.name).collect();
    assert_eq!(kettles, ["Reconciling", "Broken", "Stalled"]);
}
