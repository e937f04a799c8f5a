//! Counting: what every owner of pods compares.

use std::borrow::Cow;

use crate::object::Count;
use crate::outcome::Outcome;

/// `have` must reach `want`, else in progress: `<label>: have/want`.
pub(crate) fn too_few<'a>(
    reason: &'static str,
    label: &'static str,
    have: &Count<'a>,
    want: &Count<'a>,
) -> Option<Outcome<'a>> {
    (want.value > have.value).then(|| {
        let message = two_numbers(label, have.value, want.value);
        Outcome::in_progress(reason, message, [have.evidence(), want.evidence()])
    })
}

/// More pods than wanted: some are still going away.
pub(crate) fn too_many<'a>(have: &Count<'a>, want: &Count<'a>) -> Option<Outcome<'a>> {
    (have.value > want.value).then(|| {
        // The reference subtracts in 64 bits and lets it wrap around.
        let extra = have.value.wrapping_sub(want.value);
        let message = one_number("Pending termination: ", extra);
        Outcome::in_progress("ExtraPods", message, [have.evidence(), want.evidence()])
    })
}

/// `<text><number>`
pub(crate) fn one_number(text: &'static str, number: i64) -> Cow<'static, str> {
    Cow::Owned(format!("{text}{number}"))
}

/// `<label>: <have>/<want>`
pub(crate) fn two_numbers(label: &'static str, have: i64, want: i64) -> Cow<'static, str> {
    Cow::Owned(format!("{label}: {have}/{want}"))
}
