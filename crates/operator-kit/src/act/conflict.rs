//! Who owns what we wanted to write.

use kube::core::Status;

/// `field .spec.interval is owned by kubectl-edit`, for each field of a refused server-side apply.
pub(super) fn describe(status: &Status) -> Option<String> {
    let causes = &status.details.as_ref()?.causes;
    let conflicts: Vec<String> = causes
        .iter()
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| format!("field {} is owned by {}", cause.field, owner(&cause.message)))
        .collect();
    (!conflicts.is_empty())
        .then(|| format!("{}; give it the wanted value there, or let go of it", conflicts.join(", ")))
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
    fn a_version_that_is_too_old_is_no_conflict_about_fields() {
        assert_eq!(
            describe(&Status::failure("the object has been modified", "Conflict").with_code(409)),
            None
        );
    }
}
