//! external-secrets' ExternalSecret, as far as it tells whether an application still waits for its Secret.

use kube::api::ObjectMeta;
use serde::Deserialize;

use crate::external::{ForeignCondition, condition, foreign_kind, is_true};

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
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ExternalSecretStatus {
    pub(crate) conditions: Vec<ForeignCondition>,
    /// When external-secrets was last done with it.
    pub(crate) refresh_time: Option<String>,
}

/// An ExternalSecret of a release, and whether its Secret is there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Promised {
    pub(crate) external: ExternalSecret,
    /// Looked for only while it is not synced.
    pub(crate) secret: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nobody knows yet.
    NotYet,
    Absent,
    Present,
}

/// What an ExternalSecret means for the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its Secret is as it should be.
    Synced,
    /// It is not synced, and nobody knows yet whether there is a Secret all the same.
    Unseen,
    /// There is no Secret; what is lacking, in words.
    Missing(String),
    /// There is a Secret, but not as it should be; in words.
    Outdated(String),
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

impl Promised {
    /// An ExternalSecret that cannot be refreshed leaves the Secret in place that it has written, and what runs on it.
    ///
    /// A generation that lies behind is not held against it: external-secrets looks at a change of the spec only as its
    /// refreshPolicy and refreshInterval allow, which may be never, and its conditions carry no generation.
    pub(crate) fn standing(&self) -> Standing {
        let Some(problem) = problem(&self.external.status.conditions) else { return Standing::Synced };
        match self.secret {
            Presence::NotYet => Standing::Unseen,
            Presence::Absent => Standing::Missing(self.external.missing(&problem)),
            Presence::Present => Standing::Outdated(self.external.outdated(&problem)),
        }
    }
}

impl ExternalSecret {
    /// How messages call it.
    pub(crate) fn in_words(&self) -> String {
        format!("ExternalSecret {}", self.namespaced_name())
    }

    /// Such as `shop/database`.
    pub(crate) fn namespaced_name(&self) -> String {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        format!("{namespace}/{}", self.metadata.name.as_deref().unwrap_or_default())
    }

    fn missing(&self, problem: &str) -> String {
        let store = match &self.spec.secret_store_ref {
            Some(StoreRef { name, kind }) if kind.is_empty() => format!(", SecretStore {name}"),
            Some(StoreRef { name, kind }) => format!(", {kind} {name}"),
            None => String::new(),
        };
        // The condition has a fixed sentence; what the store answered is only in Events.
        format!(
            "{} {problem} (Secret {}{store}); `kubectl describe externalsecret -n {} {}` tells more",
            self.in_words(),
            self.target(),
            self.metadata.namespace.as_deref().unwrap_or_default(),
            self.metadata.name.as_deref().unwrap_or_default(),
        )
    }

    fn outdated(&self, problem: &str) -> String {
        // Also when it has found that there is no Secret.
        let is_done = is_true(&self.status.conditions, "Ready").is_some();
        let secret = match self.status.refresh_time.as_ref().filter(|_| !is_done) {
            Some(time) => format!("the Secret {} is the one that was synced at {time}", self.target()),
            None => format!("the Secret {} that is there is not from it", self.target()),
        };
        format!("{} {problem}; {secret}", self.in_words())
    }
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
        let status = json!({"conditions": conditions, "refreshTime": "2026-11-15T06:45:00Z"});
        let metadata = json!({"name": "db", "namespace": "shop", "generation": 2});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    }

    fn promised(external: &ExternalSecret, secret: Presence) -> Standing {
        Promised { external: external.clone(), secret }.standing()
    }

    #[test]
    fn only_a_secret_that_is_absent_is_waited_for() {
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
        for (conditions, problem) in table {
            let external = secret(&spec, &conditions);
            let there = match problem {
                Some(problem) if problem.starts_with("has no Secret") => "that is there is not from it",
                _ => "is the one that was synced at 2026-11-15T06:45:00Z",
            };
            let standings = [Presence::NotYet, Presence::Absent, Presence::Present]
                .map(|there| promised(&external, there));
            let expected = match problem {
                None => [Standing::Synced, Standing::Synced, Standing::Synced],
                Some(problem) => [
                    Standing::Unseen,
                    Standing::Missing(format!(
                        "ExternalSecret shop/db {problem} (Secret db-login, ClusterSecretStore vault); \
                         `kubectl describe externalsecret -n shop db` tells more"
                    )),
                    Standing::Outdated(format!(
                        "ExternalSecret shop/db {problem}; the Secret db-login {there}"
                    )),
                ],
            };
            assert_eq!(standings, expected);
        }
    }

    #[test]
    fn a_secret_that_it_has_never_written_is_not_taken_for_its_own() {
        let mut external = secret(&json!({}), &[("False", "SecretSyncedError", "")]);
        external.status.refresh_time = None;
        let expected = "ExternalSecret shop/db is not synced: SecretSyncedError; the Secret db that is there is not from it";
        assert_eq!(promised(&external, Presence::Present), Standing::Outdated(expected.to_owned()));
    }

    #[test]
    fn what_the_spec_leaves_out_has_its_default() {
        for (spec, expected) in [
            (json!({"secretStoreRef": {"name": "vault"}}), "(Secret db, SecretStore vault)"),
            (json!({"target": {}}), "(Secret db)"),
        ] {
            let told = promised(&secret(&spec, &[]), Presence::Absent);
            assert!(matches!(&told, Standing::Missing(told) if told.contains(expected)), "{told:?}");
        }
    }
}
