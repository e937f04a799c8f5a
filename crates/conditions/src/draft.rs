//! The conditions of an object on their way: what was said before, what the rules say now, and what follows from it.

use std::fmt::Debug;

use crate::rule::{Rule, Subject, Verdict, first};
use crate::set::{ConditionSet, Moment};
use crate::vocabulary::{Kind, Reason};

/// The next conditions of an object.
#[derive(Debug)]
pub struct Draft<K> {
    conditions: ConditionSet<K>,
    at: Moment,
}

impl<K: Kind> Draft<K> {
    /// Begins with what was said before.
    #[must_use]
    pub fn next(before: ConditionSet<K>, at: Moment) -> Self {
        Self { conditions: before, at }
    }

    /// What is said so far, of before or of now.
    #[must_use]
    pub fn read<R: Reason<Kind = K>>(&self) -> Option<R> {
        self.conditions.read()
    }

    /// Says this.
    pub fn say<R: Reason<Kind = K>>(&mut self, reason: R, message: impl Into<String>) {
        self.conditions.set(reason, message, self.at);
    }

    /// Says what the first rule finds. If none finds anything, or nothing new, what was said before still holds. Returns the
    /// words that describe the rule.
    pub fn say_first<S, R>(&mut self, rules: &[Rule<S, R>], facts: &S::Facts<'_>) -> Option<&'static str>
    where
        S: Subject,
        R: Reason<Kind = K> + PartialEq + Debug,
    {
        let (said, when) = first(rules, facts)?;
        if let Verdict::This(reason, message) = said {
            self.say(reason, message);
        }
        Some(when)
    }

    /// What nobody has said anew is said again for this generation, then kstatus' own conditions follow from the rest. A type
    /// that was never said is a mistake; whoever reads it is told that it is not known.
    #[must_use]
    pub fn finish(mut self) -> ConditionSet<K> {
        self.conditions.carry_over(self.at);
        // A word about Reconciling that kstatus' reading had overruled is its to say again.
        self.conditions.project(self.at);
        self.conditions.retain_own();
        let is_said = |type_: &str| self.conditions.get(type_).is_some();
        let own = K::VOCABULARY.types.iter().map(|type_| type_.name);
        let unsaid: Vec<&str> = own.filter(|type_| !is_said(type_)).collect();
        debug_assert!(unsaid.is_empty(), "nothing was ever said of {unsaid:?}");
        self.conditions
    }
}
