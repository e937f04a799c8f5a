//! Proofreading finds what is wrong with a vocabulary, and nothing else.
#![allow(missing_docs, unreachable_pub, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a test may panic

use conditions::proofread::problems;
use conditions::{ConditionType, Entry, Kind, Reads, Severity, Vocabulary, conditions, kstatus};
use kitchen::Teapot;
use kitchen::kettle::{Kettle, Reconciling};

mod kitchen;

#[test]
fn a_sound_vocabulary_has_no_problems() {
    assert_eq!(problems(Teapot::VOCABULARY), [""; 0]);
    assert_eq!(problems(Kettle::VOCABULARY), [""; 0]);
}

pub enum Cup {}

impl Kind for Cup {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        types: &[Chipped::TABLE],
        reads: &[Reads::Stalled(Reconciling::Heating.entry())],
        ..*Teapot::VOCABULARY
    };
}

conditions! {
    /// Everything that can be wrong.
    Chipped for Cup {
        True Cracked contract "0.1.0" was ["Old"] {
            meaning: "It leaks",
            investigate: ["look at {namespace}/{pot}"],
            resolve: "Glue it with {glue}.",
        }
        True Broken contract "0.1.0" was ["Old"] {
            meaning: "It is in  pieces.",
            investigate: ["kubectl get teapot -n {namespace} {name} -o jsonpath='{.spec}'"],
            resolve: "Buy one: kubectl create cup.",
        }
    }
}

#[test]
fn each_problem_is_named() {
    let found = problems(Cup::VOCABULARY);
    let place = "Teapot: Chipped/Cracked:";
    assert_eq!(
        found[..9],
        [
            "Teapot: Chipped cannot say both that it holds and that it does not".to_owned(),
            "Teapot: Chipped has Old twice".to_owned(),
            "Teapot: Chipped has Old twice".to_owned(),
            format!("{place} not a sentence: \"It leaks\""),
            format!("{place} not a command: \"look at {{namespace}}/{{pot}}\""),
            format!("{place} unknown placeholder {{pot}}"),
            format!("{place} unknown placeholder {{glue}}"),
            "Teapot: Chipped/Broken: not a sentence: \"It is in  pieces.\"".to_owned(),
            "Teapot: Chipped/Broken: a command outside backticks, or one that does not end its sentence: \
             \"Buy one: kubectl create cup.\""
                .to_owned(),
        ]
    );
    assert_eq!(found.last().expect("one"), "Teapot: Reconciling/Heating cannot decide");
}

#[test]
fn a_command_in_prose_stands_between_backticks_at_the_end_of_a_sentence() {
    let about = |resolve: &'static str| {
        let entry = Entry { resolve, ..*kitchen::Blocked::NoTea.entry() };
        let entries = Box::leak(Box::new([entry, *kitchen::Blocked::NotBlocked.entry()]));
        let types = Box::leak(Box::new([ConditionType {
            name: "Blocked",
            about: "",
            severity: Severity::Normal,
            entries,
        }]));
        problems(&Vocabulary { types, reads: &[], ..*Teapot::VOCABULARY })
    };
    assert_eq!(about("Buy some: `kubectl create tea`. Or wait."), [""; 0]);
    assert_eq!(about("Buy `tea`.").len(), 1, "a word is no command");
    assert_eq!(about("Buy some: `kubectl create tea.").len(), 1, "it does not end");
    assert_eq!(about("With `kubectl create tea` you buy some.").len(), 1, "the sentence goes on");
}

#[test]
fn the_added_types_are_read_too_and_nothing_may_stand_twice() {
    const LINE: Reads = Reads::Reconciling(kitchen::Blocked::NoTea.entry());
    const ALIAS: &[Entry] = &[
        Entry { was: &["Stable"], ..*kitchen::Blocked::NoTea.entry() },
        *kitchen::Blocked::NotBlocked.entry(),
    ];
    const CLASH: &[ConditionType] =
        &[ConditionType { name: "Blocked", about: "", severity: Severity::Normal, entries: ALIAS }];
    let [alias, ..] = ALIAS else { panic!("it has an entry") };
    let reads = &[Reads::Reconciling(alias)];
    let found =
        problems(&Vocabulary { types: CLASH, reads: Box::leak(Box::new(*reads)), ..*Teapot::VOCABULARY });
    assert_eq!(found, ["Teapot: Reconciling has Stable twice", "Teapot: Reconciling has Stable twice"]);
    let twice = &[kitchen::Ready::TABLE, kitchen::Ready::TABLE, kitchen::Blocked::TABLE];
    let found = problems(&Vocabulary { types: twice, reads: &[LINE, LINE], ..*Teapot::VOCABULARY });
    assert_eq!(found, ["Teapot: Ready is listed twice", "Teapot: Blocked/NoTea decides twice"]);
}

#[test]
fn silence_is_spoken_for_by_a_word_that_keeps_kstatus_waiting() {
    let found = problems(&Vocabulary { unobserved: Reconciling::Stable.entry(), ..*Kettle::VOCABULARY });
    assert_eq!(found, ["Kettle: Reconciling/Stable cannot stand for silence"]);
    let found = problems(&Vocabulary { unobserved: &kstatus::NOT_YET_OBSERVED, ..*Kettle::VOCABULARY });
    assert_eq!(found, ["Kettle: Reconciling/NotYetObserved cannot stand for silence"]);
    let found = problems(&Vocabulary { unobserved: Reconciling::Heating.entry(), ..*Teapot::VOCABULARY });
    assert_eq!(found, ["Teapot: Reconciling/Heating cannot stand for silence"]);
}

#[test]
fn a_type_that_never_holds_is_one_sided_too() {
    const NEVER: &[Entry] = &[*kitchen::Blocked::NotBlocked.entry()];
    let types = &[ConditionType { name: "Never", about: "", severity: Severity::Normal, entries: NEVER }];
    let found = problems(&Vocabulary { types, reads: &[], ..*Teapot::VOCABULARY });
    assert_eq!(found, ["Teapot: Never cannot say both that it holds and that it does not"]);
}
