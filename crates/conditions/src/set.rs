//! The conditions of one object, and the rules that keep them honest and quiet.

use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::condition::{Condition, Status, whole_seconds};
use crate::kstatus::{NOT_STALLED, RECONCILING, Reads, STABLE, STALLED};
use crate::limits;
use crate::vocabulary::{Entry, Kind, Reason};

/// When something is said, and about which generation of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// `metadata.generation` of the object that was looked at.
    pub generation: i64,
    /// Now.
    pub now: Timestamp,
}

/// `status.conditions` of an object of kind `K`: at most one condition of each type, always in the same order.
///
/// What it can say is the vocabulary of `K`. Conditions of other types, which somebody else wrote, are kept as they are.
pub struct ConditionSet<K> {
    // Sorted by `order`, no type twice.
    conditions: Vec<Condition>,
    // What was said before the moment of which we speak: a transition is a difference from that, not from a word that
    // was taken back at once.
    before: Vec<Condition>,
    moment: Option<Moment>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> ConditionSet<K> {
    /// No conditions.
    #[must_use]
    pub const fn new() -> Self {
        Self::of(Vec::new())
    }

    /// Says `reason` with `message`; saying the same again changes nothing.
    ///
    /// The transition time moves only when the status changes. Within one moment the last word counts, and what was said
    /// before it leaves no trace. What [`project`](Self::project) concluded from the conditions no longer follows from
    /// them, and goes.
    pub fn set<R: Reason<Kind = K>>(&mut self, reason: R, message: impl Into<String>, at: Moment) {
        const { K::VOCABULARY.must_declare(&R::TYPE) };
        let said = reason.entry();
        let same = |entry: &&Entry| entry.type_ == said.type_ && entry.matches(said.status, said.reason);
        // `conditions!` makes no reason without an entry; for any other the type stays unsaid, and kstatus is told so.
        if let Some(entry) = R::TYPE.entries.iter().find(same) {
            self.begin(at);
            self.withdraw();
            self.put(entry, message.into(), at);
        }
    }

    /// The condition of a type.
    #[must_use]
    pub fn get(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// What the set says about the type of `R`; a former name of a reason reads as the present one.
    #[must_use]
    pub fn read<R: Reason<Kind = K>>(&self) -> Option<R> {
        let condition = self.get(R::TYPE.name)?;
        R::read(condition.status, &condition.reason)
    }

    /// Types that nothing has been said about for this generation; empty once a `decide` has done its work.
    pub fn unsaid(&self, generation: i64) -> impl Iterator<Item = &'static str> {
        let said = move |type_| {
            self.get(type_).is_some_and(|condition| condition.observed_generation == Some(generation))
        };
        K::VOCABULARY.type_names().filter(move |type_| !said(type_))
    }

    /// Drops conditions whose type the vocabulary does not have, so that a server-side apply claims only our own.
    pub fn retain_own(&mut self) {
        let is_own = |condition: &Condition| K::VOCABULARY.type_names().any(|own| own == condition.type_);
        self.conditions.retain(is_own);
    }

    /// Sets `Reconciling` and `Stalled` as the other conditions want to be read; call it last.
    ///
    /// Nothing is concluded from silence: as long as a type is not known for this generation, and nothing stalls,
    /// `Reconciling` is True.
    pub fn project(&mut self, at: Moment) {
        self.begin(at);
        let decided = K::VOCABULARY
            .reads
            .iter()
            .find_map(|line| Some((line, self.saying(line.entry(), at.generation)?)));
        match decided {
            Some((Reads::Stalled(entry), message)) => {
                self.settle(at);
                self.put(&entry.repeated(STALLED, Status::True), message, at);
            }
            Some((Reads::Reconciling(entry), message)) => {
                if !K::VOCABULARY.has_type(RECONCILING) {
                    self.put(&entry.repeated(RECONCILING, Status::True), message, at);
                } else if entry.type_ != RECONCILING {
                    self.put(K::VOCABULARY.unobserved, message, at);
                } // else the kind has said it itself, in its own words
                self.put(&NOT_STALLED, String::new(), at);
            }
            Some((Reads::Current(_), _)) | None => {
                let unknown = self.unknown(at.generation);
                if unknown.is_empty() {
                    self.settle(at);
                } else {
                    let message =
                        format!("not known for generation {}: {}", at.generation, unknown.join(", "));
                    self.put(K::VOCABULARY.unobserved, message, at);
                }
                self.put(&NOT_STALLED, String::new(), at);
            }
        }
    }

    /// What was said of these types is said again for this generation, under the name that its reason has now. What is not of
    /// the vocabulary any more is not.
    pub(crate) fn carry_over(&mut self, kept: &[&str], at: Moment) {
        self.begin(at);
        for type_ in K::VOCABULARY.types.iter().filter(|type_| kept.contains(&type_.name)) {
            let Some(known) = self.get(type_.name) else { continue };
            let entry = type_.entries.iter().find(|entry| entry.matches(known.status, &known.reason));
            let Some(entry) = entry else { continue };
            if known.observed_generation != Some(at.generation) || known.reason != entry.reason {
                self.put(entry, known.message.clone(), at);
            }
        }
    }

    /// The kind's own types of which nothing is known for this generation.
    fn unknown(&self, generation: i64) -> Vec<&'static str> {
        let known = |condition: &Condition, entries: &[Entry]| {
            condition.status != Status::Unknown
                && condition.observed_generation == Some(generation)
                && entries.iter().any(|entry| entry.matches(condition.status, &condition.reason))
        };
        let unknown = K::VOCABULARY
            .types
            .iter()
            .filter(|type_| !self.get(type_.name).is_some_and(|condition| known(condition, type_.entries)));
        unknown.map(|type_| type_.name).collect()
    }

    /// Takes back what a projection has written.
    fn withdraw(&mut self) {
        let stalls = self.get(STALLED).is_some_and(|condition| condition.status == Status::True);
        // A stalled kind's own `Reconciling` may be the projection's word instead of the controller's.
        let both = stalls || !K::VOCABULARY.has_type(RECONCILING);
        self.conditions
            .retain(|condition| condition.type_ != STALLED && !(both && condition.type_ == RECONCILING));
    }

    /// Remembers what was said before this moment, conclusions that were taken back since included.
    fn begin(&mut self, at: Moment) {
        if self.moment != Some(at) {
            self.moment = Some(at);
            let spoken: Vec<_> = self.conditions.iter().map(|condition| condition.type_.as_str()).collect();
            self.before.retain(|before| {
                [RECONCILING, STALLED].contains(&before.type_.as_str())
                    && !spoken.contains(&before.type_.as_str())
            });
            self.before.extend_from_slice(&self.conditions);
        }
    }

    /// `Reconciling=False`, unless the kind's own controller already said so in its own words.
    fn settle(&mut self, at: Moment) {
        let said = self.get(RECONCILING).is_some_and(|condition| condition.status == Status::False);
        if !(said && K::VOCABULARY.has_type(RECONCILING)) {
            self.put(&STABLE, String::new(), at);
        }
    }

    /// The message with which the set says `entry` of this generation, if it does.
    fn saying(&self, entry: &Entry, generation: i64) -> Option<String> {
        let condition =
            self.get(entry.type_).filter(|known| known.observed_generation == Some(generation))?;
        entry.matches(condition.status, &condition.reason).then(|| condition.message.clone())
    }

    fn put(&mut self, entry: &Entry, message: String, at: Moment) {
        let before = self.before.iter().find(|before| before.type_ == entry.type_);
        let last_transition_time = before
            .filter(|before| before.status == entry.status)
            .map_or_else(|| whole_seconds(at.now), |before| before.last_transition_time);
        let (message, observed_generation) = (limits::fit_message(message), Some(at.generation));
        if let Some(known) = self.conditions.iter_mut().find(|known| known.type_ == entry.type_) {
            entry.reason.clone_into(&mut known.reason);
            (known.status, known.message) = (entry.status, message);
            (known.observed_generation, known.last_transition_time) =
                (observed_generation, last_transition_time);
            return;
        }
        let place = self.conditions.partition_point(|known| order::<K>(&known.type_, entry.type_).is_lt());
        let said = Condition {
            last_transition_time,
            message,
            observed_generation,
            reason: entry.reason.to_owned(),
            status: entry.status,
            type_: entry.type_.to_owned(),
        };
        self.conditions.insert(place, said);
    }
}

/// Types of the vocabulary in its order, then all others by name.
fn order<K: Kind>(left: &str, right: &str) -> std::cmp::Ordering {
    let rank = |type_| K::VOCABULARY.rank(type_);
    rank(left).cmp(&rank(right)).then_with(|| left.cmp(right))
}

impl<K> ConditionSet<K> {
    const fn of(conditions: Vec<Condition>) -> Self {
        ConditionSet { conditions, before: Vec::new(), moment: None, kind: PhantomData }
    }

    /// The conditions in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[Condition] {
        &self.conditions
    }

    /// The conditions in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Condition> {
        self.conditions.iter()
    }
}

impl<K: Kind> From<Vec<Condition>> for ConditionSet<K> {
    /// Takes over what an object carries; of two conditions of a type the first counts, as for every reader.
    fn from(mut conditions: Vec<Condition>) -> Self {
        for condition in &mut conditions {
            condition.last_transition_time = whole_seconds(condition.last_transition_time);
        }
        conditions.sort_by(|left, right| order::<K>(&left.type_, &right.type_));
        conditions.dedup_by(|later, first| later.type_ == first.type_);
        Self::of(conditions)
    }
}

impl<K> From<ConditionSet<K>> for Vec<Condition> {
    fn from(set: ConditionSet<K>) -> Self {
        set.conditions
    }
}

impl<'a, K> IntoIterator for &'a ConditionSet<K> {
    type Item = &'a Condition;
    type IntoIter = std::slice::Iter<'a, Condition>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Kind> Default for ConditionSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

// Written out because a derive would ask the same of `K`, which is only a name.
impl<K> Clone for ConditionSet<K> {
    fn clone(&self) -> Self {
        ConditionSet {
            conditions: self.conditions.clone(),
            before: self.before.clone(),
            moment: self.moment,
            kind: PhantomData,
        }
    }
}

impl<K> PartialEq for ConditionSet<K> {
    fn eq(&self, other: &Self) -> bool {
        self.conditions == other.conditions
    }
}

impl<K> Eq for ConditionSet<K> {}

impl<K> fmt::Debug for ConditionSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.conditions).finish()
    }
}

impl<K> Serialize for ConditionSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.conditions.serialize(serializer)
    }
}

impl<'de, K: Kind> Deserialize<'de> for ConditionSet<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As everywhere in Kubernetes, null is an empty list.
        Option::<Vec<Condition>>::deserialize(deserializer).map(|read| Self::from(read.unwrap_or_default()))
    }
}
