//! What kind of trouble an error of the API server is.

use std::error::Error;

use kube::core::Status;

/// Kinds of trouble, as far as they are handled differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The API server does not know the kind.
    NotInstalled,
    /// The object is gone.
    Gone,
    /// The namespace does not exist, or is on its way out.
    NoNamespace,
    /// We lack the rights, or an admission policy or quota refuses it.
    Forbidden,
    /// Somebody else was faster, or owns the field.
    Conflict,
    /// The API server says that the object is wrong.
    Invalid,
    /// The API server is away or overloaded.
    Unreachable,
    /// Anything else.
    Other,
}

impl Fault {
    /// The word in metrics and logs.
    pub(crate) fn category(self) -> &'static str {
        match self {
            Fault::NotInstalled => "not_installed",
            Fault::Gone => "not_found",
            Fault::NoNamespace => "no_namespace",
            Fault::Forbidden => "forbidden",
            Fault::Conflict => "conflict",
            Fault::Invalid => "invalid",
            Fault::Unreachable => "unreachable",
            Fault::Other => "other",
        }
    }
}

pub(crate) fn fault(error: &kube::Error) -> Fault {
    match error {
        kube::Error::Api(status) if is_denied(&status.message) => Fault::Forbidden,
        kube::Error::Api(status) => match status.code {
            404 if is_about_a_namespace(status) => Fault::NoNamespace,
            404 if names_an_object(status) => Fault::Gone,
            404 => Fault::NotInstalled,
            403 if is_of_an_ending_namespace(status) => Fault::NoNamespace,
            401 | 403 => Fault::Forbidden,
            409 => Fault::Conflict,
            400 | 422 => Fault::Invalid,
            429 | 500.. => Fault::Unreachable,
            _ => Fault::Other,
        },
        kube::Error::HyperError(_) | kube::Error::Service(_) => Fault::Unreachable,
        _ => Fault::Other,
    }
}

/// Of a kind that it does not know the API server can name no object.
fn names_an_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

fn is_about_a_namespace(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == "namespaces")
}

/// Nobody forbids it: nothing is made in a namespace that is being deleted.
fn is_of_an_ending_namespace(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Whether the API server itself has said so: otherwise it is away, and so is everything else.
pub(crate) fn is_answer(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(_))
}

/// A policy or a webhook that says no answers with whatever code it likes, 422 if it has no opinion.
fn is_denied(message: &str) -> bool {
    message.contains("denied request:") || message.contains("denied the request")
}

/// What went wrong, for people: the API server's own words if it answered.
pub(crate) fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => chain(error),
    }
}

/// An error with what is behind it, each cause once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_policy_forbids_whatever_code_it_answers_with() {
        let denied = "helmreleases \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
        let error = kube::Error::Api(Status::failure(denied, "Invalid").with_code(422).boxed());
        assert_eq!(fault(&error), Fault::Forbidden);
        let webhook = "admission webhook \"x.example\" denied the request: no";
        let error = kube::Error::Api(Status::failure(webhook, "").with_code(400).boxed());
        assert_eq!(fault(&error), Fault::Forbidden);
    }

    #[test]
    fn an_object_that_is_gone_is_told_apart_from_a_kind_that_is_not_known() {
        let answer = |details: serde_json::Value| {
            let status = json!({"status": "Failure", "reason": "NotFound", "code": 404, "message": "not found",
                "details": details});
            fault(&kube::Error::Api(serde_json::from_value(status).unwrap()))
        };
        let table = [
            ("an object", json!({"name": "web", "kind": "helmreleases"}), Fault::Gone),
            ("its namespace", json!({"name": "shop", "kind": "namespaces"}), Fault::NoNamespace),
            ("the kind", json!({}), Fault::NotInstalled),
            ("the kind, in plain text", json!(null), Fault::NotInstalled),
        ];
        for (name, details, expected) in table {
            assert_eq!(answer(details), expected, "{name}");
        }
    }

    #[test]
    fn nobody_forbids_what_is_not_made_in_a_namespace_that_goes() {
        let answer = |cause: &str| {
            let status = json!({"status": "Failure", "reason": "Forbidden", "code": 403, "message": "no",
                "details": {"name": "web", "kind": "ocirepositories", "causes": [{"reason": cause, "message": "", "field": ""}]}});
            fault(&kube::Error::Api(serde_json::from_value(status).unwrap()))
        };
        assert_eq!(answer("NamespaceTerminating"), Fault::NoNamespace);
        assert_eq!(answer("FieldValueForbidden"), Fault::Forbidden);
    }

    #[test]
    fn answers_of_the_api_server_are_told_apart_by_their_code() {
        let table = [
            (404, Fault::NotInstalled),
            (403, Fault::Forbidden),
            (401, Fault::Forbidden),
            (409, Fault::Conflict),
            (422, Fault::Invalid),
            (429, Fault::Unreachable),
            (503, Fault::Unreachable),
            (418, Fault::Other),
        ];
        for (code, expected) in table {
            let error = kube::Error::Api(Status::failure("", "").with_code(code).boxed());
            assert_eq!(fault(&error), expected, "{code}");
        }
    }
}
