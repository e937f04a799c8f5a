//! cert-manager's Certificate, as far as it tells whether an application still waits for one.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use serde::Deserialize;
use vworkspace_api::application_instance::MissingCertificate;

use crate::external::{ForeignCondition, condition, foreign_kind};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Certificate {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: CertificateSpec,
    #[serde(default)]
    pub(crate) status: CertificateStatus,
}

foreign_kind!(Certificate, "Certificate", "certificates", "cert-manager.io", "v1");

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CertificateSpec {
    pub(crate) secret_name: String,
    pub(crate) issuer_ref: IssuerRef,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct IssuerRef {
    pub(crate) name: String,
    pub(crate) kind: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CertificateStatus {
    pub(crate) conditions: Vec<ForeignCondition>,
    pub(crate) not_after: Option<Time>,
}

/// What a Certificate still lacks; None once it is issued, and also while an issued one is renewed.
pub(crate) fn waiting_for(certificate: &Certificate, now: Timestamp) -> Option<MissingCertificate> {
    let problem = problem(certificate, now)?;
    let namespace = certificate.metadata.namespace.as_deref().unwrap_or_default();
    let name = certificate.metadata.name.as_deref().unwrap_or_default();
    let CertificateSpec { secret_name, issuer_ref } = &certificate.spec;
    let issuer_kind = if issuer_ref.kind.is_empty() { "Issuer" } else { &issuer_ref.kind };
    // A Certificate does not tell that its issuer is absent or broken; only its CertificateRequests do.
    let message = format!(
        "Certificate {namespace}/{name} {problem} (Secret {secret_name}, {issuer_kind} {}); \
         `kubectl describe certificaterequest -n {namespace}` tells more",
        issuer_ref.name
    );
    Some(MissingCertificate { certificate: format!("{namespace}/{name}"), message })
}

fn problem(certificate: &Certificate, now: Timestamp) -> Option<String> {
    let conditions = &certificate.status.conditions;
    let Some(ready) = condition(conditions, "Ready") else {
        return Some(match condition(conditions, "Issuing") {
            Some(issuing) => format!("is not issued: {}", issuing.in_words()),
            None => "has not been looked at by cert-manager yet".to_owned(),
        });
    };
    if let Some(generation) = unseen_generation(certificate, ready) {
        return Some(format!("has changed: cert-manager has not looked at generation {generation} yet"));
    }
    if ready.status != "True" {
        return Some(format!("is not issued: {}", last_failure(conditions).unwrap_or(ready).in_words()));
    }
    let Time(end) = certificate.status.not_after.as_ref().filter(|end| end.0 <= now)?;
    // Ready=True stays until cert-manager runs again.
    Some(match condition(conditions, "Issuing") {
        Some(issuing) => format!("expired at {end} and is not renewed: {}", issuing.in_words()),
        None => format!("expired at {end} and is not renewed"),
    })
}

/// The generation that Ready does not speak of yet: it stays True for a moment after a change of the spec.
fn unseen_generation(certificate: &Certificate, ready: &ForeignCondition) -> Option<i64> {
    let generation = certificate.metadata.generation?;
    ready.observed_generation.filter(|observed| *observed < generation).map(|_| generation)
}

/// Why the last try failed; Ready itself only says that the Secret does not exist.
fn last_failure(conditions: &[ForeignCondition]) -> Option<&ForeignCondition> {
    condition(conditions, "Issuing").filter(|issuing| issuing.status == "False")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const READY: &str = "Certificate is up to date and has not expired";
    const ABSENT: &str = "Issuing certificate as Secret does not exist";

    /// A Certificate with a status as cert-manager 1.11 wrote it on a real cluster.
    fn certificate(generation: i64, issuer: &Value, status: &Value) -> Certificate {
        let spec = json!({"secretName": "web-tls", "dnsNames": ["shop.example.org"], "issuerRef": issuer});
        let metadata = json!({"name": "web", "namespace": "shop", "generation": generation});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    }

    fn says(type_: &str, status: &str, reason: &str, message: &str, observed: i64) -> Value {
        json!({"type": type_, "status": status, "reason": reason, "message": message,
            "observedGeneration": observed, "lastTransitionTime": "2026-11-15T06:45:54Z"})
    }

    fn self_signed() -> Value {
        json!({"name": "selfsigned", "kind": "ClusterIssuer"})
    }

    fn waiting(generation: i64, issuer: &Value, conditions: &[Value]) -> Option<String> {
        let status = json!({"conditions": conditions, "notBefore": "2026-11-15T06:45:54Z",
            "notAfter": "2027-02-13T06:45:54Z", "renewalTime": "2027-01-14T06:45:54Z", "revision": 1});
        let now = "2026-12-01T00:00:00Z".parse().unwrap();
        waiting_for(&certificate(generation, issuer, &status), now).map(|missing| missing.message)
    }

    #[test]
    fn an_issued_certificate_is_not_waited_for() {
        assert_eq!(waiting(1, &self_signed(), &[says("Ready", "True", "Ready", READY, 1)]), None);
    }

    #[test]
    fn an_issued_certificate_that_is_being_renewed_is_not_waited_for() {
        let renewing = "Renewing certificate as renewal was scheduled at 2026-11-15 06:46:54 +0000 UTC";
        let conditions =
            [says("Ready", "True", "Ready", READY, 1), says("Issuing", "True", "Renewing", renewing, 1)];
        assert_eq!(waiting(1, &self_signed(), &conditions), None);
    }

    #[test]
    fn a_certificate_whose_issuer_does_not_exist_is_waited_for() {
        let conditions = [
            says("Issuing", "True", "DoesNotExist", ABSENT, 1),
            says("Ready", "False", "DoesNotExist", ABSENT, 1),
        ];
        assert_eq!(
            waiting(1, &json!({"name": "absent"}), &conditions).as_deref(),
            Some(
                "Certificate shop/web is not issued: DoesNotExist, Issuing certificate as Secret does not exist \
                 (Secret web-tls, Issuer absent); `kubectl describe certificaterequest -n shop` tells more"
            )
        );
    }

    #[test]
    fn what_is_said_comes_from_where_cert_manager_says_it() {
        let changed = "Fields on existing CertificateRequest resource not up to date: [spec.dnsNames]";
        let moved =
            "Issuing certificate as Secret was previously issued by ClusterIssuer.cert-manager.io/selfsigned";
        let failed = "The certificate request has failed to complete and will be retried: denied";
        let table: [(i64, &[Value], &str); 6] = [
            (1, &[], "has not been looked at by cert-manager yet"),
            // The first status there is.
            (
                1,
                &[says("Issuing", "True", "DoesNotExist", ABSENT, 1)],
                "is not issued: DoesNotExist, Issuing certificate as Secret does not exist",
            ),
            (
                2,
                &[says("Ready", "True", "Ready", READY, 1)],
                "has changed: cert-manager has not looked at generation 2 yet",
            ),
            (
                3,
                &[
                    says("Ready", "True", "Ready", READY, 2),
                    says("Issuing", "True", "IncorrectIssuer", moved, 3),
                ],
                "has changed: cert-manager has not looked at generation 3 yet",
            ),
            (
                2,
                &[says("Ready", "False", "RequestChanged", changed, 2)],
                "is not issued: RequestChanged, Fields on existing CertificateRequest resource not up to date: [spec.dnsNames]",
            ),
            // From cert-manager's source, not seen on a cluster.
            (
                1,
                &[
                    says("Ready", "False", "DoesNotExist", ABSENT, 1),
                    says("Issuing", "False", "Failed", failed, 1),
                ],
                "is not issued: Failed, The certificate request has failed to complete and will be retried: denied",
            ),
        ];
        for (generation, conditions, expected) in table {
            let told = waiting(generation, &self_signed(), conditions).unwrap_or_default();
            assert!(
                told.starts_with(&format!(
                    "Certificate shop/web {expected} (Secret web-tls, ClusterIssuer selfsigned)"
                )),
                "{told}"
            );
        }
    }

    #[test]
    fn an_expired_certificate_is_waited_for_although_ready_stays_true() {
        let status = json!({"conditions": [says("Ready", "True", "Ready", READY, 1)], "notAfter": "2026-11-15T07:45:54Z"});
        let certificate = certificate(1, &self_signed(), &status);
        let at = |time: &str| waiting_for(&certificate, time.parse().unwrap());
        assert_eq!(at("2026-11-15T07:45:53Z"), None);
        let told = at("2026-11-15T07:45:54Z").unwrap();
        assert!(told.message.contains("expired at 2026-11-15T07:45:54Z and is not renewed"), "{told:?}");
    }

    #[test]
    fn a_certificate_without_status_is_read() {
        let bare =
            serde_json::from_value::<Certificate>(json!({"metadata": {"name": "web"}, "spec": {}})).unwrap();
        assert!(waiting_for(&bare, Timestamp::UNIX_EPOCH).is_some());
    }
}
