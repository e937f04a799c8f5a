//! What the words on the command line ask for: kinds, types and reasons, in any case and by any of their names.

use conditions::{Entry, Status, TypeListing, Vocabulary};

use super::nearest::nearest;
use super::page::in_short;
use super::vocabularies;
use super::words;

/// What is to be explained.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Which kinds there are.
    Kinds,
    /// All types of one kind.
    Kind(&'static Vocabulary),
    /// Condition types, each of one kind.
    Types(Vec<(&'static Vocabulary, TypeListing)>),
    /// Reasons, each of one kind.
    Entries(Vec<(&'static Vocabulary, Entry)>),
}

/// Why words ask for nothing that can be explained.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A word is none of ours.
    #[error("{place} called {word:?}; {}", suggestion(.nearest))]
    Unknown {
        /// Where it was looked for.
        place: String,
        /// The word.
        word: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
    /// They are no kind, type and reason.
    #[error("found {found:?}; expected [KIND] [TYPE[=STATUS]] [REASON], such as Blocked=True/PolicyDenied")]
    Malformed {
        /// The words.
        found: String,
    },
    /// A condition has another status than this.
    #[error("{found:?} is no status of a condition; expected True, False or Unknown")]
    UnknownStatus {
        /// What stands after the equals sign.
        found: String,
    },
    /// No condition says this together with that status.
    #[error("no condition says {found:?}; expected {}", .expected.join(" or "))]
    NeverSaid {
        /// The words.
        found: String,
        /// What is said instead.
        expected: Vec<String>,
    },
}

fn suggestion(nearest: &[String]) -> String {
    format!("did you mean {}?", nearest.join(" or "))
}

impl Asked {
    /// Everything that every kind can say.
    pub(crate) fn everything() -> Self {
        Asked::Entries(entries(None, None, None))
    }

    /// Every entry that was asked for, one by one.
    pub(crate) fn entries(&self) -> Vec<(&'static Vocabulary, Entry)> {
        match self {
            Asked::Kinds => entries(None, None, None),
            Asked::Kind(vocabulary) => vocabulary.entries().map(|entry| (*vocabulary, entry)).collect(),
            Asked::Types(types) => types
                .iter()
                .flat_map(|(of, listing)| listing.entries.iter().map(|entry| (*of, *entry)))
                .collect(),
            Asked::Entries(entries) => entries.clone(),
        }
    }
}

/// Reads `[KIND [TYPE [REASON]]]`; a type or a reason may also stand without what belongs before it, and a slash between
/// them. A status after the type leaves out what is said with another one.
pub(crate) fn find(words: &[String]) -> Result<Asked, Refused> {
    let read = words::read(words)?;
    let asked = named(&read.names)?;
    match read.status {
        None => Ok(asked),
        Some(status) => with_status(asked, status, words),
    }
}

fn named(names: &[&str]) -> Result<Asked, Refused> {
    match *names {
        [] => Ok(Asked::Kinds),
        [word] => match kind(word) {
            Some(vocabulary) => Ok(Asked::Kind(vocabulary)),
            None => types_or_reasons(None, word)
                .ok_or_else(|| unknown("there is no kind, type or reason", word, all_words())),
        },
        [first, second] => match kind(first) {
            Some(of) => types_or_reasons(Some(of), second).ok_or_else(|| {
                unknown(&format!("{} has no condition type or reason", of.kind), second, words_of(of))
            }),
            None => reasons_of_type(None, first, second),
        },
        [first, second, third, ..] => match kind(first) {
            Some(of) => reasons_of_type(Some(of), second, third),
            None => Err(unknown("there is no kind", first, vocabularies().map(|of| of.kind).collect())),
        },
    }
}

/// What of it is said with that status.
fn with_status(asked: Asked, status: Status, words: &[String]) -> Result<Asked, Refused> {
    let found = words.join(" ");
    match asked {
        Asked::Kinds | Asked::Kind(_) => Err(Refused::Malformed { found }),
        Asked::Types(mut types) => {
            let expected = types.iter().flat_map(|(_, listing)| &listing.entries);
            let expected = distinct(expected.map(|entry| format!("{}={}", entry.type_, entry.status)));
            for (_, listing) in &mut types {
                listing.entries.retain(|entry| entry.status == status);
            }
            types.retain(|(_, listing)| !listing.entries.is_empty());
            if types.is_empty() {
                Err(Refused::NeverSaid { found, expected })
            } else {
                Ok(Asked::Types(types))
            }
        }
        Asked::Entries(mut entries) => {
            let expected = entries.iter().map(|(_, entry)| entry);
            let expected = expected.map(|entry| format!("{}={}/{}", entry.type_, entry.status, entry.reason));
            let expected = distinct(expected);
            entries.retain(|(_, entry)| entry.status == status);
            if entries.is_empty() {
                Err(Refused::NeverSaid { found, expected })
            } else {
                Ok(Asked::Entries(entries))
            }
        }
    }
}

fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    words.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// The types of that name, or else the reasons.
fn types_or_reasons(of: Option<&'static Vocabulary>, word: &str) -> Option<Asked> {
    let types: Vec<_> = in_scope(of)
        .flat_map(|of| of.all_types().map(move |listing| (of, listing)))
        .filter(|(_, listing)| listing.name.eq_ignore_ascii_case(word))
        .collect();
    if !types.is_empty() {
        return Some(Asked::Types(types));
    }
    let found = entries(of, None, Some(word));
    (!found.is_empty()).then_some(Asked::Entries(found))
}

fn reasons_of_type(of: Option<&'static Vocabulary>, type_: &str, reason: &str) -> Result<Asked, Refused> {
    let place = of.map_or_else(|| "there is".to_owned(), |of| format!("{} has", of.kind));
    let of_type = entries(of, Some(type_), None);
    if of_type.is_empty() {
        let types = in_scope(of).flat_map(Vocabulary::all_types).map(|listing| listing.name);
        let kinds = of.is_none().then(|| vocabularies().map(|of| of.kind)).into_iter().flatten();
        let what = if of.is_none() { "kind or condition type" } else { "condition type" };
        return Err(unknown(&format!("{place} no {what}"), type_, types.chain(kinds).collect()));
    }
    let found = entries(of, Some(type_), Some(reason));
    if found.is_empty() {
        let name = of_type.first().map_or(type_, |(_, entry)| entry.type_);
        let known = of_type.iter().map(|(_, entry)| entry.reason).collect();
        let owner = of.map_or_else(|| name.to_owned(), |of| format!("{} {name}", of.kind));
        return Err(unknown(&format!("{owner} has no reason"), reason, known));
    }
    Ok(Asked::Entries(found))
}

/// The kind of that name: as in the API, in lower case, plural, short, or with its group.
fn kind(word: &str) -> Option<&'static Vocabulary> {
    vocabularies().find(|of| {
        let full = format!("{}.{}", of.plural, of.group);
        let names = of.short_names.iter().copied().chain([of.kind, of.plural, &full]);
        names.into_iter().any(|name| name.eq_ignore_ascii_case(word))
    })
}

fn in_scope(of: Option<&'static Vocabulary>) -> impl Iterator<Item = &'static Vocabulary> {
    vocabularies().filter(move |other| of.is_none_or(|of| of.kind == other.kind))
}

/// The entries of a kind, of a type, of a reason (also under a former name); `None` is any.
fn entries(
    of: Option<&'static Vocabulary>,
    type_: Option<&str>,
    reason: Option<&str>,
) -> Vec<(&'static Vocabulary, Entry)> {
    let named = |entry: &Entry| {
        let names = || entry.was.iter().copied().chain([entry.reason]);
        type_.is_none_or(|type_| entry.type_.eq_ignore_ascii_case(type_))
            && reason.is_none_or(|reason| names().any(|name| name.eq_ignore_ascii_case(reason)))
    };
    in_scope(of)
        .flat_map(|of| of.entries().map(move |entry| (of, entry)))
        .filter(|(_, entry)| named(entry))
        .collect()
}

/// Every kind, type and reason.
pub(crate) fn all_words() -> Vec<&'static str> {
    let of_kind = |of: &'static Vocabulary| [of.kind].into_iter().chain(words_of(of));
    vocabularies().flat_map(of_kind).collect()
}

/// Every type and reason of a kind.
fn words_of(of: &'static Vocabulary) -> Vec<&'static str> {
    let of_type = |listing: TypeListing| {
        let reasons = listing.entries.into_iter().map(|entry| entry.reason);
        [listing.name].into_iter().chain(reasons).collect::<Vec<_>>()
    };
    of.all_types().flat_map(of_type).collect()
}

/// A word that may come next, and what it says.
pub(crate) type Candidate = (&'static str, Option<String>);

/// What may follow the words `before`: kinds, then types, then reasons. What may also stand alone, but is too much to
/// list, is offered once something is `typed`.
pub(crate) fn candidates(before: &[&str], typed: &str) -> Vec<Candidate> {
    let more = !typed.is_empty();
    let mut found: Vec<Candidate> = match *before {
        [] => {
            let kinds = vocabularies().map(|of| (of.kind, Some(of.system.to_owned())));
            kinds.chain(more.then(|| types_and_reasons(None, true)).into_iter().flatten()).collect()
        }
        [first] => match kind(first) {
            Some(of) => types_and_reasons(Some(of), more),
            None => reasons(None, first),
        },
        [first, second] => kind(first).map(|of| reasons(Some(of), second)).unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|(word, _)| seen.insert(*word));
    found
}

fn types_and_reasons(of: Option<&'static Vocabulary>, with_reasons: bool) -> Vec<Candidate> {
    let types = in_scope(of).flat_map(Vocabulary::all_types);
    let types = types.map(|listing| (listing.name, Some(listing.about.to_owned())));
    let reasons = if with_reasons { entries(of, None, None) } else { Vec::new() };
    types.chain(reasons.iter().map(candidate)).collect()
}

fn reasons(of: Option<&'static Vocabulary>, type_: &str) -> Vec<Candidate> {
    entries(of, Some(type_), None).iter().map(candidate).collect()
}

fn candidate((_, entry): &(&'static Vocabulary, Entry)) -> Candidate {
    (entry.reason, Some(in_short(entry)))
}

fn unknown(place: &str, word: &str, known: Vec<&'static str>) -> Refused {
    Refused::Unknown { place: place.to_owned(), word: word.to_owned(), nearest: nearest(word, known) }
}
