//! How kstatus reads our objects: from `Reconciling` and `Stalled`, which every kind carries and nobody sets by hand.
//!
//! kstatus takes `Reconciling=True` for InProgress and `Stalled=True` for Failed, whichever comes first in the list,
//! and everything else for Current unless `Ready` says otherwise. So the two are never both True, and both follow
//! from what the other conditions say: a kind lists what decides, and the first line that holds wins. Silence is never
//! read as Current: as long as one type is not known for the generation, and nothing stalls, `Reconciling` is True.

use crate::condition::Status;
use crate::vocabulary::{Entry, Origin, TypeListing, Vocabulary};

/// The type that makes kstatus say InProgress.
pub const RECONCILING: &str = "Reconciling";
/// The type that makes kstatus say Failed.
pub const STALLED: &str = "Stalled";

/// One line of a kind's list of what decides: if this is what the conditions say, kstatus shall read it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Failed: nothing but a person can help.
    Stalled(&'static Entry),
    /// InProgress: the controller is at work, or waits for something that can come by itself.
    Reconciling(&'static Entry),
    /// Current, once every type is known: there is nothing left to do.
    Current(&'static Entry),
}

impl Reads {
    /// What has to be said for this line to decide.
    #[must_use]
    pub const fn entry(&self) -> &'static Entry {
        match self {
            Reads::Stalled(entry) | Reads::Reconciling(entry) | Reads::Current(entry) => entry,
        }
    }
}

/// `Reconciling=False` for kinds whose own vocabulary has no such type.
pub(crate) static STABLE: Entry = Entry {
    type_: RECONCILING,
    status: Status::False,
    reason: "Stable",
    meaning: "The controller has nothing left to do for this object; kstatus reads the other conditions.",
    // Listed with the commands of its kind.
    investigate: &[],
    resolve: "Nothing to do.",
    since: "0.1.0",
    origin: Origin::Extension,
    was: &[],
    repeats: None,
};

/// `Reconciling=True` while something is not known, for kinds whose own vocabulary has no such type.
pub static NOT_YET_OBSERVED: Entry = Entry {
    type_: RECONCILING,
    status: Status::True,
    reason: "NotYetObserved",
    meaning: "At least one condition is missing, speaks of an older generation, is Unknown, or has a reason that this \
              version does not know. The message names the types.",
    // Listed with the commands of its kind.
    investigate: &[],
    resolve: "Wait for the controller's next reconcile. If it lasts, the controller is not running or is older than the \
              object's status: its log says more.",
    since: "0.1.0",
    origin: Origin::Extension,
    was: &[],
    repeats: None,
};

/// `Stalled=False`.
pub(crate) static NOT_STALLED: Entry = Entry {
    type_: STALLED,
    status: Status::False,
    reason: "NotStalled",
    meaning: "Nothing stands in the way that only a person could remove.",
    // Listed with the commands of its kind.
    investigate: &[],
    resolve: "Nothing to do.",
    since: "0.1.0",
    origin: Origin::Extension,
    was: &[],
    repeats: None,
};

/// The types that a vocabulary gets beside its own, with all that they can say.
pub(crate) fn added_types(vocabulary: &Vocabulary) -> impl Iterator<Item = TypeListing> {
    let reconciling = TypeListing {
        name: RECONCILING,
        about: "The controller is at work, or waits for something that can come by itself; kstatus reads True as \
                InProgress. The reason is that of the condition that decides.",
        entries: decided(vocabulary, &[&NOT_YET_OBSERVED, &STABLE], |line| match line {
            Reads::Reconciling(entry) => Some(entry),
            Reads::Stalled(_) | Reads::Current(_) => None,
        }),
    };
    let stalled = TypeListing {
        name: STALLED,
        about: "Nothing but a person can help; kstatus reads True as Failed. The reason is that of the condition \
                that decides.",
        entries: decided(vocabulary, &[&NOT_STALLED], |line| match line {
            Reads::Stalled(entry) => Some(entry),
            Reads::Reconciling(_) | Reads::Current(_) => None,
        }),
    };
    let names = added_names(vocabulary);
    [reconciling, stalled].into_iter().filter(move |added| names.clone().any(|name| name == added.name))
}

/// What these are called.
pub(crate) fn added_names(vocabulary: &Vocabulary) -> impl Iterator<Item = &'static str> + Clone {
    let has_its_own = vocabulary.has_type(RECONCILING);
    [RECONCILING, STALLED].into_iter().filter(move |name| !(has_its_own && *name == RECONCILING))
}

/// The reasons of the lines that `pick` picks, each listed once, as the first line has it; then the `others`.
fn decided(
    vocabulary: &Vocabulary,
    others: &[&Entry],
    pick: impl Fn(&Reads) -> Option<&'static Entry>,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let type_ = others.first().map_or("", |other| other.type_);
    for entry in vocabulary.reads.iter().filter_map(pick) {
        if !entries.iter().any(|known| known.reason == entry.reason) {
            entries.push(entry.repeated(type_, Status::True));
        }
    }
    entries.extend(others.iter().map(|other| Entry { investigate: vocabulary.investigate, ..**other }));
    entries
}

/// Where the added types stand after a kind's own.
pub(crate) fn rank(type_: &str) -> usize {
    match type_ {
        RECONCILING => 0,
        STALLED => 1,
        _ => 2,
    }
}
