//! A status on its way: what is said, what still holds, and what nobody has spoken of.
#![allow(missing_docs, clippy::expect_used)] // a test may panic

mod kitchen;

use conditions::{ConditionSet, Draft, Rule, Subject, Verdict};
use kitchen::{Blocked, Ready, Teapot, at};

/// Whether there is water, and whether anybody has looked.
struct Pot;

impl Subject for Pot {
    type Facts<'a> = (bool, bool);
}

const RULES: &[Rule<Pot, Ready>] = &[
    Rule::new(&[Ready::Brewed], "nobody has looked since", |(_, is_seen)| {
        (!is_seen).then_some(Verdict::AsBefore)
    }),
    Rule::new(&[Ready::NoWater], "it is empty", |(has_water, _)| {
        (!has_water).then(|| Verdict::This(Ready::NoWater, "0 ml".to_owned()))
    }),
];

fn before() -> ConditionSet<Teapot> {
    let mut draft = Draft::next(ConditionSet::new(), at(1, 0));
    draft.say(Ready::Brewed, "3 min");
    draft.say(Blocked::NotBlocked, "");
    draft.finish()
}

fn generation(conditions: &ConditionSet<Teapot>, type_: &str) -> Option<i64> {
    conditions.get(type_).expect("it was said").observed_generation
}

#[test]
fn what_still_holds_is_said_again_for_this_generation() {
    let mut draft = Draft::next(before(), at(2, 9));
    let said = draft.say_first(RULES, &(true, false));
    draft.say(Blocked::NotBlocked, "");
    let after = draft.finish();
    assert_eq!(said, Some(("Ready", "nobody has looked since")));
    assert_eq!((after.read(), generation(&after, "Ready")), (Some(Ready::Brewed), Some(2)));
    assert_eq!(after.get("Reconciling").map(|known| known.reason.as_str()), Some("Stable"));
}

#[test]
fn what_no_rule_speaks_of_is_not_known_of_this_generation() {
    let mut draft = Draft::next(before(), at(2, 9));
    assert_eq!(draft.say_first(RULES, &(true, true)), None);
    draft.say(Blocked::NotBlocked, "");
    let after = draft.finish();
    assert_eq!(generation(&after, "Ready"), Some(1), "it was said of the first generation only");
    let reconciling = after.get("Reconciling").expect("derived");
    assert_eq!(reconciling.status.as_str(), "True", "kstatus must not take it for done");
    assert!(reconciling.message.contains("Ready"), "{}", reconciling.message);
}

#[test]
fn what_was_said_of_an_earlier_generation_does_not_stall_this_one() {
    let mut draft = Draft::next(ConditionSet::new(), at(1, 0));
    draft.say(Ready::Brewed, "");
    draft.say(Blocked::NoWater, "broken");
    let before = draft.finish();
    let stalled =
        |conditions: &ConditionSet<Teapot>| conditions.get("Stalled").map(|known| known.status.as_str());
    assert_eq!(stalled(&before), Some("True"));
    let mut draft = Draft::next(before, at(2, 9));
    draft.say(Ready::Brewed, "");
    assert_eq!(stalled(&draft.finish()), Some("False"), "nobody has said so of the second generation");
}

#[test]
fn a_reason_that_is_kept_gets_the_name_that_it_has_now() {
    let json = r#"[{"type": "Blocked", "status": "True", "reason": "Dry", "message": "0 ml",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]"#;
    let known: ConditionSet<Teapot> = serde_json::from_str(json).expect("conditions");
    let mut draft = Draft::next(known, at(1, 9));
    draft.say(Ready::NoWater, "0 ml");
    draft.keep::<Blocked>();
    let after = draft.finish();
    let blocked = after.get("Blocked").expect("it is kept");
    assert_eq!((blocked.reason.as_str(), blocked.message.as_str()), ("NoWater", "0 ml"));
}
