//! What kstatus makes of conditions, for the tests of every crate with a vocabulary.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::expect_used)]

use conditions::{Condition, ConditionSet, Entry, Kind, Moment, Reason, Status, Vocabulary};
use jiff::Timestamp;

pub const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

/// A set to be filled from left to right.
pub struct Said<K>(ConditionSet<K>);

impl<K: Kind> Said<K> {
    pub fn nothing() -> Self {
        Said(ConditionSet::new())
    }

    pub fn and(mut self, reason: impl Reason<Kind = K>) -> Self {
        self.0.set(reason, "", AT);
        self
    }

    /// What kstatus says of an object with these conditions, and why.
    pub fn kstatus(mut self) -> String {
        self.0.project(AT);
        for condition in &self.0 {
            assert_known::<K>(condition);
        }
        kstatus_of(&self.0)
    }
}

fn assert_known<K: Kind>(condition: &Condition) {
    let known = K::VOCABULARY.find(&condition.type_, condition.status, &condition.reason);
    assert!(known.is_some(), "{condition:?} is not in the vocabulary");
}

fn kstatus_of<K: Kind>(set: &ConditionSet<K>) -> String {
    let object = serde_json::json!({
        "apiVersion": format!("{}/v1alpha1", K::VOCABULARY.group),
        "kind": K::VOCABULARY.kind,
        "metadata": {"name": "it", "generation": AT.generation},
        "status": {"observedGeneration": AT.generation, "conditions": set},
    });
    let options = kstatus::Options { profile: kstatus::Profile::Compatible, now: AT.now };
    let outcome = kstatus::compute(&object, &options).expect("kstatus takes our objects");
    match outcome.condition {
        Some(condition) => format!("{}/{}", outcome.status, condition.reason),
        None => outcome.status.to_string(),
    }
}

fn stored(type_: &str, status: Status, reason: &str) -> Condition {
    Condition {
        last_transition_time: AT.now,
        message: String::new(),
        observed_generation: Some(AT.generation),
        reason: reason.to_owned(),
        status,
        type_: type_.to_owned(),
    }
}

/// Every combination of what the types of a kind can say.
fn all_sayings(vocabulary: &Vocabulary) -> Vec<Vec<Condition>> {
    let condition = |entry: &Entry| stored(entry.type_, entry.status, entry.reason);
    vocabulary.types.iter().fold(vec![Vec::new()], |sayings, known| {
        let with =
            |saying: &Vec<Condition>, entry| saying.iter().cloned().chain([condition(entry)]).collect();
        sayings.iter().flat_map(|saying| known.entries.iter().map(move |entry| with(saying, entry))).collect()
    })
}

fn projected<K: Kind>(conditions: Vec<Condition>) -> ConditionSet<K> {
    let mut set = ConditionSet::from(conditions);
    set.project(AT);
    set
}

/// Whatever the other conditions say, the two that kstatus reads agree, in words of the vocabulary; and nothing that
/// is said makes up for silence or for a word that nobody knows.
pub fn told_one_thing<K: Kind>() {
    let mut current = 0;
    for saying in all_sayings(K::VOCABULARY) {
        let set = projected::<K>(saying.clone());
        let of = |type_| set.get(type_).expect("projected");
        let (reconciling, stalled) = (of("Reconciling"), of("Stalled"));
        assert!(reconciling.status == Status::False || stalled.status == Status::False, "{set:?}");
        assert_known::<K>(reconciling);
        assert_known::<K>(stalled);
        assert_eq!(set.unsaid(AT.generation).count(), 0, "{set:?}");
        if reconciling.status == stalled.status && kstatus_of(&set) == "Current" {
            current += 1;
            for place in 0..saying.len() {
                not_current_without::<K>(&saying, place);
            }
        }
    }
    assert!(current > 0, "{} can be Current", K::VOCABULARY.kind);
}

fn not_current_without<K: Kind>(saying: &[Condition], place: usize) {
    let others =
        || saying.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, one)| one.clone());
    let type_ = saying.get(place).map_or("", |condition| condition.type_.as_str());
    let silent = projected::<K>(others().collect());
    assert_ne!(kstatus_of(&silent), "Current", "{type_} is missing: {silent:?}");
    for status in [Status::True, Status::False, Status::Unknown] {
        let unreadable = projected::<K>(others().chain([stored(type_, status, "FromTheFuture")]).collect());
        assert_ne!(kstatus_of(&unreadable), "Current", "{type_} is unreadable: {unreadable:?}");
    }
}

/// An object of which nothing is known, or nothing that can be read, is not Current.
pub fn not_current_without_a_word<K: Kind>() {
    assert_ne!(kstatus_of(&projected::<K>(Vec::new())), "Current", "{}", K::VOCABULARY.kind);
    for known in K::VOCABULARY.types {
        for status in [Status::True, Status::False, Status::Unknown] {
            let set = projected::<K>(vec![stored(known.name, status, "FromTheFuture")]);
            assert_ne!(kstatus_of(&set), "Current", "{set:?}");
        }
    }
}

/// Whether kstatus is told in so many words that an object is not there yet, when `reason` is said in a set in which
/// all else is well.
pub fn waits_or_fails<K: Kind>(well: &[&Entry], said: &Entry) -> bool {
    let others = well.iter().filter(|entry| entry.type_ != said.type_).copied().chain([said]);
    let set = projected::<K>(others.map(|one| stored(one.type_, one.status, one.reason)).collect());
    let holds = |type_| set.get(type_).is_some_and(|condition| condition.status == Status::True);
    holds("Reconciling") || holds("Stalled")
}
