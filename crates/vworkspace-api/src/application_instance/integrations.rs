//! What an application needs from other controllers of the cluster.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::rule;

/// What the application needs from other controllers of the cluster.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Integrations {
    /// Secrets that external-secrets writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub external_secrets: ExternalSecrets,

    /// Certificates that cert-manager issues.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cert_manager: CertManager,

    /// The address at which users reach the application.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ingress: Ingress,
}

/// Secrets that external-secrets writes.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalSecrets {
    /// true lets nothing be installed while external-secrets is missing on the cluster, and waits for the Secrets that
    /// ExternalSecrets of the application promise.
    #[serde(default)]
    pub enabled: bool,
}

/// Certificates that cert-manager issues.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertManager {
    /// true lets nothing be installed while cert-manager is missing on the cluster, and waits for the application's
    /// Certificates.
    #[serde(default)]
    pub enabled: bool,
}

/// The address at which users reach the application.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// true lists the address among the endpoints of the status, and waits for an Ingress of the application that serves
    /// it.
    #[serde(default)]
    pub enabled: bool,

    /// The host name, such as cloud.example.org; every host of the application's Ingresses if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::like("spec.integrations.ingress.host", "^([*][.])?[-.a-zA-Z0-9]*$", "a host name, such as cloud.example.org"))]
    pub host: Option<String>,
}
