//! An instance that the API server has stored and that we cannot read: it is from before a rule of the schema, from a newer
//! version of the operator, or nested too deeply.

use conditions::{Draft, Moment};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::Unreadable;
use vworkspace_api::application_instance::{
    ApplicationInstanceStatus, Blocked, Degraded, Deleting, Ready, Reconciling, Suspended,
};

use super::status::forget;
use operator_kit::one_line;
use operator_kit::{Quotes, redact};

/// What is wrong is told up to this length: it quotes what was found.
const LONGEST: usize = 400;

/// What was said of the release before is not known any more; that something was once installed is not forgotten.
pub(in crate::controllers::application) fn unreadable(
    Unreadable { generation, is_being_deleted, why, status }: Unreadable<'_, ApplicationInstanceStatus>,
    now: Timestamp,
) -> ApplicationInstanceStatus {
    let before = status.unwrap_or_default();
    let mut draft = Draft::next(before.conditions, Moment { generation, now });
    let message = format!(
        "The object cannot be read: {}. Correct it, or upgrade the operator if it is older than the CRD.",
        one_line(&redact(why, Quotes::Trusted), LONGEST)
    );
    draft.say(Ready::Blocked, format!("{}: {message}", Blocked::InvalidSpec.entry().reason));
    draft.say(Blocked::InvalidSpec, message);
    draft.say(Reconciling::Stable, "Nothing is done for an object that cannot be read.");
    match draft.read::<Degraded>() {
        Some(_) => draft.keep::<Degraded>(),
        None => draft.say(Degraded::NotDegraded, ""),
    }
    // Whether this generation asks for a pause cannot be read: what was said of an earlier one stays as it is.
    if draft.read::<Suspended>().is_none() {
        draft.say(Suspended::Active, "");
    }
    if is_being_deleted {
        draft.say(Deleting::Uninstalling, "Nothing is removed before the object can be read.");
    } else {
        draft.say(Deleting::NotDeleting, "");
    }
    let mut status = ApplicationInstanceStatus { conditions: draft.finish(), ..before };
    status.observed_generation = Some(generation);
    status.last_reconcile_time = Some(Time(now));
    forget(&mut status);
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::application::decide::testing::noon;

    #[test]
    fn an_object_that_cannot_be_read_says_so_and_only_a_person_can_help() {
        let read = |status| {
            unreadable(
                Unreadable {
                    generation: 3,
                    is_being_deleted: false,
                    why: "spec.mode: unknown variant `x`",
                    status,
                },
                noon(),
            )
        };
        let first = read(None);
        let says = |type_: &str| {
            let known = first.conditions.get(type_).unwrap();
            (known.status.to_string(), known.reason.clone())
        };
        assert_eq!(says("Blocked"), ("True".to_owned(), "InvalidSpec".to_owned()));
        assert_eq!(says("Stalled"), ("True".to_owned(), "InvalidSpec".to_owned()));
        assert_eq!(says("Ready"), ("False".to_owned(), "Blocked".to_owned()));
        assert_eq!(first.conditions.iter().count(), 7, "all types are there");
        assert!(first.conditions.get("Blocked").unwrap().message.contains("unknown variant `x`"));
        assert_eq!(read(Some(first.clone())), first, "the same again says the same");

        let mut earlier = first;
        let at = Moment { generation: 2, now: noon() };
        earlier.conditions.set(Suspended::Active, "", at);
        earlier.conditions.set(Degraded::Recovered, "", at);
        let next = read(Some(earlier));
        let of = |type_: &str| next.conditions.get(type_).and_then(|known| known.observed_generation);
        assert_eq!(of("Suspended"), Some(2), "nobody knows what generation 3 asks for");
        assert_eq!(of("Degraded"), Some(3), "nothing was done since");
    }
}
