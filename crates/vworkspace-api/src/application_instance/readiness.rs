//! Checks that must pass before an application counts as ready.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Duration;
use crate::rule;

/// One check of a Service of the instance's own namespace. The Service must lead to pods: one of type ExternalName, or without
/// a selector, could lead anywhere and is not asked.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = rule::block_found(
    "has(self.http) != has(self.tcp)",
    "\"spec.readinessChecks '\" + self.name + \"' has \" + (has(self.http) ? \"both http and tcp\" : \"neither http nor tcp\") + \"; expected exactly one of http and tcp\""
))]
#[serde(rename_all = "camelCase")]
pub struct ReadinessCheck {
    /// What messages call the check; unique in the list.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// Passes when the Service answers a GET request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpCheck>,

    /// Passes when the Service accepts a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpCheck>,

    /// How long one try may take.
    #[serde(default = "default_timeout")]
    #[x_kube(validation = rule::between("spec.readinessChecks[].timeout", "100ms", "60s"))]
    pub timeout: Duration,

    /// How long to wait between two tries.
    #[serde(default = "default_interval")]
    #[x_kube(validation = rule::between("spec.readinessChecks[].interval", "1s", "1h"))]
    pub interval: Duration,

    /// How many tries in a row must fail before the check counts as failed.
    #[serde(default = "default_failure_threshold")]
    #[schemars(range(min = 1, max = 100))]
    pub failure_threshold: i32,
}

/// A GET request to a Service.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpCheck {
    /// The Service's name.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rule::object_name("spec.readinessChecks[].http.service"))]
    pub service: String,

    /// The Service's port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// What to ask for.
    #[serde(default = "default_path")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = rule::like("spec.readinessChecks[].http.path", r"^/[!-~]*$", "a path that starts with '/', without spaces"))]
    pub path: String,

    /// HTTP or HTTPS. The certificate is not verified, as in a pod's probes.
    #[serde(default)]
    pub scheme: Scheme,

    /// The Host header; the Service's own name if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::like("spec.readinessChecks[].http.host", "^[-._a-zA-Z0-9]+(:[0-9]{1,5})?$", "a host name, such as shop.example.org"))]
    pub host: Option<String>,

    /// The status codes that count as an answer; 200 to 399 if not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(range(min = 100, max = 599)))]
    pub statuses: Vec<i32>,
}

/// A connection to a Service.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpCheck {
    /// The Service's name.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rule::object_name("spec.readinessChecks[].tcp.service"))]
    pub service: String,

    /// The Service's port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// How a Service is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Scheme {
    /// In the clear.
    #[default]
    Http,
    /// By TLS.
    Https,
}

fn default_timeout() -> Duration {
    Duration::from_secs(5)
}

fn default_interval() -> Duration {
    Duration::from_secs(30)
}

fn default_failure_threshold() -> i32 {
    3
}

fn default_path() -> String {
    "/".to_owned()
}
