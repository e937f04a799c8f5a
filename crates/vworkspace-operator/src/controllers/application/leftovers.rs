//! What is left of a release after it has gone: what still terminates, and what nobody has deleted.

use std::sync::Arc;

use kube::api::{DynamicObject, ObjectMeta};
use operator_kit::Found;

/// Kinds that other controllers bring along.
const OPTIONAL_KINDS: [&str; 2] = ["Certificate", "ExternalSecret"];

/// Objects of a release that is gone which have not gone yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// Not all kinds have been looked at.
    NotYet,
    /// These, by name and with what holds them.
    Known(Left),
    /// Some kinds cannot be looked at: why.
    Hidden(Vec<String>),
}

/// Objects that outlive their release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// They are being deleted.
    pub(crate) terminating: Vec<String>,
    /// Nobody has deleted them.
    pub(crate) standing: Vec<String>,
}

impl Leftovers {
    /// From what was found of each kind.
    pub(crate) fn of<'a>(kinds: impl Iterator<Item = (&'a str, Found<Arc<DynamicObject>>)>) -> Self {
        let (mut left, mut hidden) = (Left::default(), Vec::new());
        for (kind, found) in kinds {
            match found {
                Found::NotYet => return Leftovers::NotYet,
                Found::NotInstalled => {}
                // A controller of others that is broken does not hold instances that never needed it.
                Found::Unlisted(_) if OPTIONAL_KINDS.contains(&kind) => {}
                Found::Unlisted(why) => hidden.push(why),
                Found::Objects(objects) => {
                    for meta in objects.iter().map(|object| &object.metadata) {
                        if meta.deletion_timestamp.is_some() {
                            left.terminating.push(described(kind, meta));
                        } else if is_made_by_helm(kind, meta) {
                            left.standing.push(described(kind, meta));
                        }
                    }
                }
            }
        }
        if hidden.is_empty() { Leftovers::Known(left) } else { Leftovers::Hidden(hidden) }
    }
}

/// Whether Helm made an object, and an uninstall deletes it. What others make of it inherits its labels: they own it, or
/// it is a Secret, which external-secrets writes with and without an owner.
fn is_made_by_helm(kind: &str, meta: &ObjectMeta) -> bool {
    let is_kept = || {
        let policy = meta.annotations.as_ref().and_then(|known| known.get("helm.sh/resource-policy"));
        policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
    };
    kind != "Secret" && meta.owner_references.as_deref().unwrap_or_default().is_empty() && !is_kept()
}

/// An object by kind and name, and what holds it.
pub(crate) fn described(kind: &str, meta: &ObjectMeta) -> String {
    let name = meta.name.as_deref().unwrap_or_default();
    match meta.finalizers.as_deref().unwrap_or_default() {
        [] => format!("{kind} {name}"),
        held => format!("{kind} {name} (held by {})", held.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_helm_made_and_would_delete_says_that_a_release_was_not_uninstalled() {
        let table = [
            ("Deployment", json!({}), true),
            ("Secret", json!({}), false),
            ("ConfigMap", json!({"annotations": {"helm.sh/resource-policy": "keep"}}), false),
            ("ConfigMap", json!({"annotations": {"helm.sh/resource-policy": " Keep"}}), false),
            ("ConfigMap", json!({"annotations": {"helm.sh/resource-policy": "x"}}), true),
            (
                "Certificate",
                json!({"ownerReferences": [
                    {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web", "uid": "u"}]}),
                false,
            ),
        ];
        for (kind, meta, expected) in table {
            let meta: ObjectMeta = serde_json::from_value(meta).unwrap();
            assert_eq!(is_made_by_helm(kind, &meta), expected, "{kind} {meta:?}");
        }
    }

    #[test]
    fn what_is_left_is_known_when_every_kind_that_may_hold_it_is() {
        let object = |meta: serde_json::Value| {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta});
            Arc::new(serde_json::from_value::<DynamicObject>(object).unwrap())
        };
        let ending = || object(json!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}));
        let standing = || object(json!({"name": "b"}));
        let known = |terminating: &[&str], standing: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            Leftovers::Known(Left { terminating: owned(terminating), standing: owned(standing) })
        };
        let unlisted = || Found::Unlisted("forbidden".to_owned());
        let table = [
            (vec![("ConfigMap", Found::NotInstalled)], known(&[], &[])),
            (
                vec![("ConfigMap", Found::Objects(vec![ending(), standing()]))],
                known(&["ConfigMap a"], &["ConfigMap b"]),
            ),
            (vec![("Certificate", unlisted()), ("ConfigMap", Found::Objects(vec![]))], known(&[], &[])),
            (
                vec![("ConfigMap", unlisted()), ("Service", Found::Objects(vec![standing()]))],
                Leftovers::Hidden(vec!["forbidden".to_owned()]),
            ),
            (
                vec![("ConfigMap", Found::Objects(vec![ending()])), ("Service", Found::NotYet)],
                Leftovers::NotYet,
            ),
        ];
        for (found, expected) in table {
            assert_eq!(Leftovers::of(found.clone().into_iter()), expected, "{found:?}");
        }
    }
}
