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
    /// The types of which what was said before still holds.
    kept: Vec<&'static str>,
}

impl<K: Kind> Draft<K> {
    /// Begins with what was said before.
    #[must_use]
    pub fn next(before: ConditionSet<K>, at: Moment) -> Self {
        Self { conditions: before, at, kept: Vec::new() }
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

    /// What was said before still holds.
    pub fn keep<R: Reason<Kind = K>>(&mut self) {
        self.kept.push(R::TYPE.name);
    }

    /// Says what the first rule finds; if that is nothing new, what was said before still holds. Returns the
    /// condition's type and the words that describe the rule.
    pub fn say_first<S, R>(
        &mut self,
        rules: &[Rule<S, R>],
        facts: &S::Facts<'_>,
    ) -> Option<(&'static str, &'static str)>
    where
        S: Subject,
        R: Reason<Kind = K> + PartialEq + Debug,
    {
        let (said, when) = first(rules, facts)?;
        match said {
            Verdict::This(reason, message) => self.say(reason, message),
            Verdict::AsBefore => self.keep::<R>(),
        }
        Some((R::TYPE.name, when))
    }

    /// What still holds is said again for this generation, then kstatus' own conditions follow from the rest. What nobody has
    /// spoken of stays as it was, of the generation that it was said of: that it holds for this one is not known, and kstatus
    /// does not take the object for done. A type that was never said is a mistake.
    #[must_use]
    pub fn finish(mut self) -> ConditionSet<K> {
        self.conditions.carry_over(&self.kept, self.at);
        // What kstatus had overruled of Reconciling is said again from the rest.
        self.conditions.project(self.at);
        self.conditions.retain_own();
        let is_said = |type_: &str| self.conditions.get(type_).is_some();
        let own = K::VOCABULARY.types.iter().map(|type_| type_.name);
        let unsaid: Vec<&str> = own.filter(|type_| !is_said(type_)).collect();
        debug_assert!(unsaid.is_empty(), "nothing was ever said of {unsaid:?}");
        self.conditions
    }
}
