//! What we read of other projects' kinds: only what decides, and what they have in common.

pub(crate) mod cert_manager;
pub(crate) mod external_secrets;
pub(crate) mod flux;
pub(crate) mod velero;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use operator_kit::{Quotes, redact};

/// A condition as another project writes it; only type and status are sure to be there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ForeignCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) last_transition_time: Option<Time>,
}

impl ForeignCondition {
    /// Reason and message on one line, not too long, and without credentials.
    pub(crate) fn in_words(&self) -> String {
        match (self.reason.as_str(), redact(&self.message, Quotes::Trusted).as_str()) {
            ("", "") => "no reason is given".to_owned(),
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{reason}, {message}"),
        }
    }
}

/// The condition of a type.
pub(crate) fn condition<'a>(conditions: &'a [ForeignCondition], type_: &str) -> Option<&'a ForeignCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The condition of a type, if it is True.
pub(crate) fn is_true<'a>(conditions: &'a [ForeignCondition], type_: &str) -> Option<&'a ForeignCondition> {
    condition(conditions, type_).filter(|condition| condition.status == "True")
}

/// Names a kind of another project, so that it can be looked up and applied.
macro_rules! foreign_kind {
    ($Type:ident, $kind:literal, $plural:literal, $group:literal, $version:literal) => {
        impl kube::Resource for $Type {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &kube::api::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube::api::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use foreign_kind;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_told_by_reason_and_message() {
        let told = |reason: &str, message: &str| {
            ForeignCondition { reason: reason.into(), message: message.into(), ..Default::default() }
                .in_words()
        };
        assert_eq!(told("Failed", "line one\n  line two "), "Failed, line one line two");
        assert_eq!(told("Failed", ""), "Failed");
        assert_eq!(told("", "message"), "message");
        assert_eq!(told("", ""), "no reason is given");
        assert!(!told("Failed", "GET https://me:hunter2@vault.example/v1").contains("hunter2"));
    }
}
