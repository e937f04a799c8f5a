//! How the chart gets its values.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{rule, schema};

/// The chart's values, from exactly one place.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = rule::block_found(
    "has(self.inline) == (self.source == 'inline') && has(self.secretRef) == (self.source == 'secretRef') && has(self.configMapRef) == (self.source == 'configMapRef')",
    "\"spec.values.source is '\" + self.source + \"' and spec.values sets\" + (has(self.inline) ? \" inline\" : \"\") + (has(self.secretRef) ? \" secretRef\" : \"\") + (has(self.configMapRef) ? \" configMapRef\" : \"\") + (has(self.inline) || has(self.secretRef) || has(self.configMapRef) ? \"\" : \" nothing\") + \"; expected exactly the field that source names\""
))]
#[serde(rename_all = "camelCase")]
pub struct Values {
    /// Which of the other fields holds the values; exactly that one must be set.
    pub source: ValuesSource,

    /// The values themselves. No place for passwords: everybody who may read the instance reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub inline: Option<Map<String, Value>>,

    /// A key of a Secret of the same namespace that holds the values as YAML or JSON. The operator never reads it; Flux
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyRef>,

    /// A key of a ConfigMap of the same namespace that holds the values as YAML or JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyRef>,
}

/// Where the values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum ValuesSource {
    /// In the instance itself.
    Inline,
    /// In a Secret.
    SecretRef,
    /// In a ConfigMap.
    ConfigMapRef,
}

/// One key of a Secret or ConfigMap.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRef {
    /// The name of the Secret or ConfigMap.
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::object_name("name of the Secret or ConfigMap"))]
    pub name: String,

    /// The key in it.
    #[serde(default = "default_key")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = rule::like("key of the Secret or ConfigMap", "^[-._a-zA-Z0-9]+$", "letters, digits, '-', '_' and '.'"))]
    pub key: String,
}

fn default_key() -> String {
    "values.yaml".to_owned()
}
