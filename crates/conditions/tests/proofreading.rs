//! Proofreading finds what is wrong with a vocabulary, and nothing else.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::proofread::problems;
use conditions::{ConditionType, Entry, Kind, Reads, Vocabulary, conditions};
use kitchen::Teapot;
use kitchen::kettle::{Kettle, Reconciling};

mod kitchen;

#[test]
fn a_sound_vocabulary_has_no_problems() {
    assert_eq!(problems(Teapot::VOCABULARY), [""; 0]);
    assert_eq!(problems(Kettle::VOCABULARY), [""; 0]);
}

conditions! {
    /// Everything that can be wrong.
    Chipped for Teapot {
        True Cracked seed "0.1.0" was ["Old"] {
            meaning: "It leaks",
            look: ["look at {namespace}/{pot}"],
            fix: "Glue it with {glue}.",
        }
        True Broken seed "0.1.0" was ["Old"] {
            meaning: "It is in  pieces.",
            look: ["kubectl get teapot -n {namespace} {name} -o jsonpath='{.spec}'"],
            fix: "Buy one.",
        }
    }
}

#[test]
fn each_problem_is_named() {
    let found = problems(&Vocabulary {
        types: &[Chipped::TABLE],
        reads: const { &[Reads::Stalled(Reconciling::Heating.row())] },
        ..*Teapot::VOCABULARY
    });
    let place = "Teapot: Chipped/Cracked:";
    assert_eq!(
        found[..8],
        [
            "Teapot: Chipped cannot say both that it holds and that it does not".to_owned(),
            "Teapot: Chipped has Old twice".to_owned(),
            "Teapot: Chipped has Old twice".to_owned(),
            format!("{place} not a sentence: \"It leaks\""),
            format!("{place} not a command: \"look at {{namespace}}/{{pot}}\""),
            format!("{place} unknown placeholder {{pot}}"),
            format!("{place} unknown placeholder {{glue}}"),
            "Teapot: Chipped/Broken: not a sentence: \"It is in  pieces.\"".to_owned(),
        ]
    );
    assert_eq!(found.last().expect("one"), "Teapot: Reconciling/Heating cannot decide");
}

#[test]
fn a_type_that_never_holds_is_one_sided_too() {
    const NEVER: &[Entry] = &[*kitchen::Blocked::NotBlocked.row()];
    let types = &[ConditionType { name: "Never", about: "", entries: NEVER }];
    let found = problems(&Vocabulary { types, reads: &[], ..*Teapot::VOCABULARY });
    assert_eq!(found, ["Teapot: Never cannot say both that it holds and that it does not"]);
}
