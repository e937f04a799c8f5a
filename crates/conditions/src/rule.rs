//! Rules about one condition, in the order in which they are asked.

use std::fmt::Debug;

use crate::vocabulary::Reason;

/// What rules are asked about. The facts may borrow, the rules are constants.
pub trait Subject {
    /// Everything that a rule may look at.
    type Facts<'a>;
}

/// What a rule has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<R> {
    /// This, in these words.
    This(R, String),
    /// Nothing new: what was said before still holds.
    AsBefore,
}

/// Something that a rule has found, and that a condition may say.
pub trait Finding<R> {
    /// The reason that it stands for, if there is one.
    fn reason(&self) -> Option<R>;
}

impl<R: Copy> Finding<R> for Verdict<R> {
    fn reason(&self) -> Option<R> {
        match self {
            Verdict::This(reason, _) => Some(*reason),
            Verdict::AsBefore => None,
        }
    }
}

/// One rule about a condition: what it can say, when, and how that is found out.
pub struct Rule<S: Subject, R: 'static, F = Verdict<R>> {
    /// What it can say.
    pub says: &'static [R],
    /// In words, for the reference page.
    pub when: &'static str,
    find: for<'a> fn(&S::Facts<'a>) -> Option<F>,
}

impl<S: Subject, R, F> Rule<S, R, F> {
    /// A rule that says nothing but this. The types cannot be inferred if the facts borrow: write `Rule::<S, R>::new`.
    pub const fn new(
        says: &'static [R],
        when: &'static str,
        find: for<'a> fn(&S::Facts<'a>) -> Option<F>,
    ) -> Self {
        Self { says, when, find }
    }
}

/// What the first rule finds that finds something, and in which words that rule is described.
pub fn first<S, R, F>(rules: &[Rule<S, R, F>], facts: &S::Facts<'_>) -> Option<(F, &'static str)>
where
    S: Subject,
    R: Reason + PartialEq + Debug,
    F: Finding<R>,
{
    rules.iter().find_map(|rule| {
        let found = (rule.find)(facts)?;
        // A mistake in a rule, and the reference page would be wrong.
        debug_assert!(
            found.reason().is_none_or(|reason| rule.says.contains(&reason)),
            "the rule for {:?} said {:?}",
            rule.says,
            found.reason()
        );
        Some((found, rule.when))
    })
}

/// A line of the reference page for each rule: what it can say, and when.
pub fn described<S: Subject, R: Reason, F>(
    rules: &[Rule<S, R, F>],
) -> impl Iterator<Item = (Vec<String>, &'static str)> {
    let says = |reason: &R| {
        let entry = reason.entry();
        format!("{} `{}`", entry.status, entry.reason)
    };
    rules.iter().map(move |rule| (rule.says.iter().map(says).collect(), rule.when))
}
