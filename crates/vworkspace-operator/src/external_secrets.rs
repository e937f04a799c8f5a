//! external-secrets' ExternalSecret, as far as it tells whether an application still waits for its Secret.

use kube::api::ObjectMeta;
use serde::Deserialize;

use crate::foreign::{ForeignCondition, condition, foreign_kind};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct ExternalSecret {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: ExternalSecretSpec,
    #[serde(default)]
    pub(crate) status: ExternalSecretStatus,
}

foreign_kind!(ExternalSecret, "ExternalSecret", "externalsecrets", "external-secrets.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ExternalSecretSpec {
    /// Not set when each entry names a store of its own.
    pub(crate) secret_store_ref: Option<StoreRef>,
    pub(crate) target: Target,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct StoreRef {
    pub(crate) name: String,
    pub(crate) kind: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Target {
    pub(crate) name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ExternalSecretStatus {
    pub(crate) conditions: Vec<ForeignCondition>,
}

impl ExternalSecret {
    /// The Secret that is to be written: called like the ExternalSecret if nothing else is said.
    pub(crate) fn target(&self) -> &str {
        match self.spec.target.name.as_str() {
            "" => self.metadata.name.as_deref().unwrap_or_default(),
            name => name,
        }
    }
}

/// What an ExternalSecret still lacks; None once its Secret is synced.
///
/// A generation that lies behind is not held against it: external-secrets looks at a change of the spec only as its
/// refreshPolicy and refreshInterval allow, which may be never, and its conditions carry no generation.
pub(crate) fn waiting_for(secret: &ExternalSecret) -> Option<String> {
    let problem = problem(&secret.status.conditions)?;
    let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let store = match &secret.spec.secret_store_ref {
        Some(StoreRef { name, kind }) if kind.is_empty() => format!(", SecretStore {name}"),
        Some(StoreRef { name, kind }) => format!(", {kind} {name}"),
        None => String::new(),
    };
    // The condition has a fixed sentence; what the store answered is only in Events.
    Some(format!(
        "ExternalSecret {namespace}/{name} {problem} (Secret {}{store}); \
         `kubectl describe externalsecret -n {namespace} {name}` tells more",
        secret.target()
    ))
}

fn problem(conditions: &[ForeignCondition]) -> Option<String> {
    let Some(ready) = condition(conditions, "Ready") else {
        return Some("has not been looked at by external-secrets yet".to_owned());
    };
    match (ready.status.as_str(), ready.reason.as_str()) {
        // Done as told, says external-secrets; there is no Secret all the same.
        ("True", "SecretDeleted" | "SecretMissing") => Some(format!("has no Secret: {}", ready.in_words())),
        ("True", _) => None,
        _ => Some(format!("is not synced: {}", ready.in_words())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn secret(spec: &Value, conditions: &[(&str, &str, &str)]) -> ExternalSecret {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(status, reason, message)| {
                json!({"type": "Ready", "status": status, "reason": reason, "message": message,
                    "lastTransitionTime": "2026-11-15T06:45:54Z"})
            })
            .collect();
        let status = json!({"conditions": conditions, "refreshTime": null, "syncedResourceVersion": "1-abc"});
        let metadata = json!({"name": "db", "namespace": "shop", "generation": 2});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn only_a_secret_that_exists_is_not_waited_for() {
        let spec = json!({"secretStoreRef": {"name": "vault", "kind": "ClusterSecretStore"}, "target": {"name": "db-login"}});
        let table = [
            (vec![("True", "SecretSynced", "secret synced")], None),
            (vec![], Some("has not been looked at by external-secrets yet")),
            (
                vec![("False", "SecretSyncedError", "could not get secret data from provider")],
                Some("is not synced: SecretSyncedError, could not get secret data from provider"),
            ),
            (vec![("Unknown", "", "")], Some("is not synced: no reason is given")),
            (
                vec![("True", "SecretDeleted", "secret deleted due to DeletionPolicy")],
                Some("has no Secret: SecretDeleted, secret deleted due to DeletionPolicy"),
            ),
            (
                vec![("True", "SecretMissing", "secret will not be created due to CreationPolicy=Merge")],
                Some("has no Secret: SecretMissing, secret will not be created due to CreationPolicy=Merge"),
            ),
        ];
        for (conditions, expected) in table {
            let expected = expected.map(|problem| {
                format!(
                    "ExternalSecret shop/db {problem} (Secret db-login, ClusterSecretStore vault); \
                     `kubectl describe externalsecret -n shop db` tells more"
                )
            });
            assert_eq!(waiting_for(&secret(&spec, &conditions)), expected);
        }
    }

    #[test]
    fn what_the_spec_leaves_out_has_its_default() {
        let told = waiting_for(&secret(&json!({"secretStoreRef": {"name": "vault"}}), &[])).unwrap();
        assert!(told.contains("(Secret db, SecretStore vault)"), "{told}");
        let told = waiting_for(&secret(&json!({"target": {}}), &[])).unwrap();
        assert!(told.contains("(Secret db)"), "{told}");
    }
}
