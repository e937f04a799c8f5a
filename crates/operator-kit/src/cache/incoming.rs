//! An object as the API server sends it. One that nobody can read must not hide the others, nor itself: its head is read,
//! and its text is kept, so that whoever looks is told what is wrong with it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, OwnerReference, Time};
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A part of a list. What it lists is read one by one.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) metadata: ListMeta,
    pub(crate) items: Option<Vec<Box<RawValue>>>,
}

/// What came in.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// As far as it can be read, without what no rule looks at.
    pub(crate) object: DynamicObject,
    /// All of it, if only its head can be read.
    pub(crate) text: Option<Box<str>>,
}

impl Incoming {
    /// Reads at least the head.
    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str::<DynamicObject>(text) {
            Ok(object) => Ok(Self::from(object)),
            Err(_) => Ok(Self { object: head(text)?, text: Some(text.into()) }),
        }
    }
}

impl From<DynamicObject> for Incoming {
    fn from(mut object: DynamicObject) -> Self {
        strip(&mut object);
        Self { object, text: None }
    }
}

/// What can be read of an object that is nested too deeply. What is not asked for is skipped, so not all metadata is: the
/// names of the fields that somebody manages are nested as deeply as those fields.
pub(crate) fn head(text: &str) -> Result<DynamicObject, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: Option<String>,
        kind: Option<String>,
        metadata: Meta,
        status: Option<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        name: Option<String>,
        namespace: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
        generation: Option<i64>,
        creation_timestamp: Option<Time>,
        deletion_timestamp: Option<Time>,
        labels: Option<BTreeMap<String, String>>,
        annotations: Option<BTreeMap<String, String>>,
        finalizers: Option<Vec<String>>,
        owner_references: Option<Vec<OwnerReference>>,
    }
    let Head { api_version, kind, metadata, status } = serde_json::from_str(text)?;
    let status = status.and_then(|status| serde_json::from_str::<Value>(status.get()).ok());
    let mut object = DynamicObject {
        types: api_version.zip(kind).map(|(api_version, kind)| TypeMeta { api_version, kind }),
        metadata: ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: metadata.owner_references,
            ..ObjectMeta::default()
        },
        data: status.map_or_else(|| json!({}), |status| json!({ "status": status })),
    };
    strip(&mut object);
    Ok(object)
}

/// Drops what no rule looks at and what is often the larger part of an object.
fn strip(object: &mut DynamicObject) {
    object.metadata.managed_fields = None;
    if let Some(annotations) = object.metadata.annotations.as_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An object that is nested more deeply than can be read, and so is what the API server adds to it.
    pub(crate) fn deep(name: &str, version: &str) -> String {
        let nested = |name: &str| format!("{}1{}", format!(r#"{{"{name}":"#).repeat(200), "}".repeat(200));
        let managed = format!(r#"[{{"manager":"kubectl","fieldsV1":{}}}]"#, nested("f:a"));
        let meta = format!(
            r#"{{"name":"{name}","namespace":"shop","uid":"u","resourceVersion":"{version}","generation":2,
            "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-02T00:00:00Z",
            "labels":{{"a":"1"}},"annotations":{{"b":"2"}},"finalizers":["x"],"managedFields":{managed},
            "ownerReferences":[{{"apiVersion":"v1","kind":"Y","name":"y","uid":"v"}}]}}"#
        );
        let spec = nested("a");
        format!(r#"{{"apiVersion":"v1","kind":"X","metadata":{meta},"spec":{spec},"status":{{"b":2}}}}"#)
    }

    #[test]
    fn what_cannot_be_read_is_known_by_its_head() {
        let Incoming { object, text } = Incoming::read(&deep("a", "7")).unwrap();
        let expected = json!({"apiVersion": "v1", "kind": "X", "status": {"b": 2}, "metadata": {
            "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"a": "1"}, "annotations": {"b": "2"}, "finalizers": ["x"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Y", "name": "y", "uid": "v"}]}});
        assert_eq!(serde_json::to_value(object).unwrap(), expected);
        assert!(text.is_some_and(|text| text.contains(r#""spec""#)));
        let readable = Incoming::read(r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"spec":{}}"#);
        assert!(readable.unwrap().text.is_none());
        assert!(Incoming::read(&deep("a", "7").replace("metadata", "data")).is_err(), "it has no head");
    }
}
