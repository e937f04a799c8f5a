//! Who owns what we wanted to write.

use kube::core::Status;
use kube::core::response::StatusCause;

/// `field .spec.interval is owned by kubectl-edit`, for each field of a refused server-side apply.
pub(super) fn describe(status: &Status) -> Option<String> {
    let conflicts: Vec<String> = causes(status)
        .map(|cause| format!("field {} is owned by {}", cause.field, owner(&cause.message)))
        .collect();
    (!conflicts.is_empty())
        .then(|| format!("{}; give it the wanted value there, or let go of it", conflicts.join(", ")))
}

/// Whether it is we who own what we wanted to write: another process of ours has made the object meanwhile.
pub(super) fn is_with_ourselves(status: &Status, manager: &str) -> bool {
    let is_ours = |owner: &str| owner.strip_prefix(manager).is_some_and(is_of_a_reconcile);
    causes(status).any(|_| true) && causes(status).all(|cause| is_ours(owner(&cause.message)))
}

/// What follows the name of a manager: nothing, or the id of the reconcile that made the object. Another controller may have a
/// name that begins alike.
fn is_of_a_reconcile(rest: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_hexdigit());
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .and_then(|id| id.split_once('-'))
            .is_some_and(|(process, count)| is_number(process) && is_number(count))
}

fn causes(status: &Status) -> impl Iterator<Item = &StatusCause> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.filter(|cause| cause.reason == "FieldManagerConflict")
}

/// The API server says `conflict with "NAME" using VERSION`, or with several names.
fn owner(message: &str) -> &str {
    message
        .strip_prefix("conflict with ")
        .map_or(message, |rest| rest.split(" using ").next().unwrap_or(rest).trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_conflict_names_the_field_and_its_owner() {
        let status: Status = serde_json::from_value(json!({
            "status": "Failure", "reason": "Conflict", "code": 409, "message": "Apply failed with 1 conflict",
            "details": {"causes": [{"reason": "FieldManagerConflict", "field": ".spec.interval",
                "message": "conflict with \"kubectl-edit\" using helm.toolkit.fluxcd.io/v2"}]}}))
        .unwrap();
        assert_eq!(
            describe(&status).unwrap(),
            "field .spec.interval is owned by kubectl-edit; give it the wanted value there, or let go of it"
        );
    }

    #[test]
    fn a_conflict_with_another_process_of_ours_is_told_apart() {
        let with = |owners: &[&str]| -> Status {
            let cause = |owner: &&str| {
                json!({"reason": "FieldManagerConflict", "field": ".spec.a",
                "message": format!("conflict with \"{owner}\" using v1")})
            };
            let causes: Vec<_> = owners.iter().map(cause).collect();
            serde_json::from_value(json!({"code": 409, "details": {"causes": causes}})).unwrap()
        };
        let table = [
            (vec!["vworkspace-application-1f-2"], true),
            (vec!["vworkspace-application"], true),
            (vec!["vworkspace-applications"], false),
            (vec!["vworkspace-application-schedule"], false),
            (vec!["vworkspace-application-schedule-1f-2"], false),
            (vec!["kubectl-edit"], false),
            (vec!["vworkspace-application-1f-2", "kubectl-edit"], false),
            (vec![], false),
        ];
        for (owners, expected) in table {
            assert_eq!(is_with_ourselves(&with(&owners), "vworkspace-application"), expected, "{owners:?}");
        }
    }

    #[test]
    fn a_version_that_is_too_old_is_no_conflict_about_fields() {
        assert_eq!(
            describe(&Status::failure("the object has been modified", "Conflict").with_code(409)),
            None
        );
    }
}
