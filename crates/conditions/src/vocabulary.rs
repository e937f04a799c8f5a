//! What conditions of a kind can say: a closed set of (type, status, reason), each with what it means, how to investigate
//! and how to resolve it, written once.

use crate::condition::Status;
use crate::kstatus::{self, Reads};
use crate::limits;

/// Where a word comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The published contract that we implement.
    Contract,
    /// Added by us, for states that the published contract has no word for.
    Extension,
}

impl Origin {
    /// The word in machine output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Origin::Contract => "contract",
            Origin::Extension => "extension",
        }
    }
}

/// One thing that a condition can say, and everything a person needs to know about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The condition's type.
    pub type_: &'static str,
    /// The only status that the reason has within its type.
    pub status: Status,
    /// The reason.
    pub reason: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Commands that show more, with `{namespace}` and `{name}` of the object to fill in.
    pub investigate: &'static [&'static str],
    /// What makes it go away; a command stands between backticks at the end of a sentence.
    pub resolve: &'static str,
    /// The first version that says it.
    pub since: &'static str,
    /// Where the word comes from.
    pub origin: Origin,
    /// Names that the reason had before: understood when read, never written.
    pub was: &'static [&'static str],
    /// The entry whose reason this one repeats in another type.
    pub repeats: Option<&'static Entry>,
}

impl Entry {
    /// Refuses, at compile time, what the API server or a reader at 3 a.m. would refuse.
    #[must_use]
    pub const fn checked(self) -> Self {
        assert!(limits::is_plain_type(self.type_), "the condition type does not fit metav1");
        assert!(limits::is_reason(self.reason), "the reason does not fit metav1");
        assert!(!self.meaning.is_empty(), "a reason needs a meaning");
        assert!(!self.investigate.is_empty(), "a reason needs a command that shows more");
        assert!(!self.resolve.is_empty(), "a reason needs a way out");
        assert!(!self.since.is_empty(), "a reason needs the version that it came with");
        let mut rest = self.was;
        while let [name, tail @ ..] = rest {
            assert!(limits::is_reason(name), "a former name does not fit metav1");
            assert!(!same(name, self.reason) && !has(tail, name), "a name is listed twice");
            rest = tail;
        }
        self
    }

    /// The same reason and texts in another type, which repeats it.
    #[must_use]
    pub const fn repeated(&'static self, type_: &'static str, status: Status) -> Self {
        let first = match self.repeats {
            Some(first) => first,
            None => self,
        };
        Entry { type_, status, origin: Origin::Extension, repeats: Some(first), ..*self }
    }

    /// Whether a condition with this status and reason (or a former name of it) says what this entry says.
    #[must_use]
    pub fn matches(&self, status: Status, reason: &str) -> bool {
        self.status == status && self.answers_to(reason)
    }

    /// Whether `reason` is this entry's reason, now or under a former name.
    #[must_use]
    pub fn answers_to(&self, reason: &str) -> bool {
        self.reason == reason || self.was.contains(&reason)
    }
}

/// How bad it is when a condition is True.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// As it should be, or no matter.
    Normal,
    /// Something is wrong.
    Warning,
}

/// One condition type and all that it can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionType {
    /// The type.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// How bad it is when it is True.
    pub severity: Severity,
    /// Everything it can say.
    pub entries: &'static [Entry],
}

/// A condition type with all that it can say, be it of the kind's own table or added for kstatus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeListing {
    /// The type.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// Everything it can say.
    pub entries: Vec<Entry>,
}

/// Everything that the conditions of a kind can say, and how that reads to kstatus.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// The system that the kind belongs to: `vworkspace` or `kars`.
    pub system: &'static str,
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource name, lower case and plural.
    pub plural: &'static str,
    /// The short names that kubectl knows.
    pub short_names: &'static [&'static str],
    /// Commands that show an object of this kind with its status, with `{namespace}` and `{name}` to fill in.
    pub investigate: &'static [&'static str],
    /// The types in the order in which a status lists them, without those that [`kstatus`] adds.
    pub types: &'static [ConditionType],
    /// What decides how kstatus reads an object, most decisive first.
    pub reads: &'static [Reads],
    /// What `Reconciling` says while something is not known: [`kstatus::NOT_YET_OBSERVED`], or a word of the kind's own.
    pub unobserved: &'static Entry,
}

/// What `conditions!` gives to the enums that it declares.
#[doc(hidden)]
pub trait MadeWithConditions {}

/// A kind of object that speaks a vocabulary.
pub trait Kind {
    /// The vocabulary.
    const VOCABULARY: &'static Vocabulary;
}

/// Everything that one condition type of one kind can say.
///
/// Only [`conditions!`](crate::conditions) makes one, and only of a table that the kind's vocabulary lists. It has to be
/// able to do so in other crates, so the door that it uses is hidden, not locked: keep out.
pub trait Reason: Copy + MadeWithConditions + 'static {
    /// The kind that the condition belongs to.
    type Kind: Kind;
    /// The condition's type and everything it can say.
    const TYPE: ConditionType;
    /// Every reason, in the order of the table.
    const ALL: &'static [Self];

    /// Status, reason and texts.
    fn entry(self) -> &'static Entry;

    /// The reason that says `status` with this word, a former name included.
    #[must_use]
    fn read(status: Status, reason: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.entry().matches(status, reason))
    }
}

impl Vocabulary {
    /// All types with all that they can say, `Reconciling` and `Stalled` included, in the order of a status.
    pub fn all_types(&self) -> impl Iterator<Item = TypeListing> {
        let own = self.types.iter().map(|known| TypeListing {
            name: known.name,
            about: known.about.trim(),
            entries: known.entries.to_vec(),
        });
        own.chain(kstatus::added_types(self))
    }

    /// How bad it is when a condition of this type is True. `Stalled` means that nothing but a person can help.
    #[must_use]
    pub fn severity(&self, type_: &str) -> Severity {
        let own = self.types.iter().find(|known| known.name == type_).map(|known| known.severity);
        own.unwrap_or(if type_ == kstatus::STALLED { Severity::Warning } else { Severity::Normal })
    }

    /// The names of all types, in the same order, without a copy of what they can say.
    pub(crate) fn type_names(&self) -> impl Iterator<Item = &'static str> {
        self.types.iter().map(|known| known.name).chain(kstatus::added_names(self))
    }

    /// Everything that conditions of this kind can say, in stable order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.all_types().flat_map(|listing| listing.entries)
    }

    /// What a condition says, former names of reasons understood.
    #[must_use]
    pub fn find(&self, type_: &str, status: Status, reason: &str) -> Option<Entry> {
        self.entries().find(|entry| entry.type_ == type_ && entry.matches(status, reason))
    }

    /// Where a condition type stands in a status; unknown types come last.
    pub(crate) fn rank(&self, type_: &str) -> usize {
        let own = self.types.iter().position(|known| known.name == type_);
        own.unwrap_or_else(|| self.types.len() + kstatus::rank(type_))
    }

    /// Whether `table` is one of the kind's own, word for word.
    #[must_use]
    pub const fn declares(&self, table: &ConditionType) -> bool {
        let mut rest = self.types;
        while let [known, tail @ ..] = rest {
            if same(known.name, table.name) {
                return same_words(known.entries, table.entries);
            }
            rest = tail;
        }
        false
    }

    pub(crate) const fn must_declare(&self, table: &ConditionType) {
        assert!(self.declares(table), "the kind's vocabulary does not have this table");
    }

    pub(crate) fn has_type(&self, type_: &str) -> bool {
        self.types.iter().any(|known| known.name == type_)
    }
}

const fn same_words(left: &[Entry], right: &[Entry]) -> bool {
    let (mut left, mut right) = (left, right);
    while let ([one, left_tail @ ..], [other, right_tail @ ..]) = (left, right) {
        if one.status as u8 != other.status as u8 || !same(one.reason, other.reason) {
            return false;
        }
        (left, right) = (left_tail, right_tail);
    }
    left.is_empty() && right.is_empty()
}

const fn has(names: &[&str], name: &str) -> bool {
    let mut rest = names;
    while let [one, tail @ ..] = rest {
        if same(one, name) {
            return true;
        }
        rest = tail;
    }
    false
}

// `==` of strings, which constants do not have yet.
const fn same(left: &str, right: &str) -> bool {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while let ([one, left_tail @ ..], [other, right_tail @ ..]) = (left, right) {
        if *one != *other {
            return false;
        }
        (left, right) = (left_tail, right_tail);
    }
    left.is_empty() && right.is_empty()
}
