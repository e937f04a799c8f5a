//! A ValidatingAdmissionPolicy of a scenario's own, for its namespace only. It counts, and stops to count, from a moment on
//! that the API server does not announce; a dry run tells.

use anyhow::Result;
use kube::api::{DeleteParams, DynamicObject};
use serde_json::{Value, json};

use super::super::{Ground, comes_true};

const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const KINDS: [&str; 2] = ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"];

/// A policy that stands until it is removed.
pub(super) struct AdmissionPolicy<'a> {
    ground: &'a Ground,
    /// Cluster-wide.
    name: &'static str,
}

impl<'a> AdmissionPolicy<'a> {
    /// `rule` is one of matchConstraints' resourceRules, `validations` what must hold; both as YAML.
    pub(super) async fn applied(
        ground: &'a Ground,
        name: &'static str,
        rule: &str,
        validations: &str,
    ) -> Result<Self> {
        let (rule, validations): (Value, Value) =
            (serde_saphyr::from_str(rule)?, serde_saphyr::from_str(validations)?);
        let [binding, policy] = KINDS;
        let object = |kind: &str, spec: Value| -> Result<DynamicObject> {
            let object =
                json!({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec});
            Ok(serde_json::from_value(object)?)
        };
        let here = json!({"matchLabels": {"kubernetes.io/metadata.name": ground.namespace}});
        let objects = [
            object(
                policy,
                json!({"matchConstraints": {"resourceRules": [rule]}, "validations": validations}),
            )?,
            object(
                binding,
                json!({"policyName": name, "validationActions": ["Deny"],
                    "matchResources": {"namespaceSelector": here}}),
            )?,
        ];
        ground.cluster.apply(&objects).await?;
        Ok(Self { ground, name })
    }

    /// Waits until it refuses what is attempted, which must change nothing.
    pub(super) async fn counts<T>(&self, attempt: impl AsyncFn() -> kube::Result<T>) -> Result<()> {
        comes_true(&format!("policy {} counts", self.name), async || attempt().await.is_err()).await
    }

    /// Removes it, and waits until what is attempted is not refused any more.
    pub(super) async fn remove<T>(self, attempt: impl AsyncFn() -> kube::Result<T>) -> Result<()> {
        for kind in KINDS {
            let policies = self.ground.cluster.dynamic(ADMISSION, kind, None);
            policies.delete(self.name, &DeleteParams::background()).await?;
        }
        comes_true(&format!("policy {} is gone", self.name), async || attempt().await.is_ok()).await
    }
}
