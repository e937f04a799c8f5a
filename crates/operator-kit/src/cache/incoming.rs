//! An object as the API server sends it. One that nobody can read must not hide the others, nor itself: its head is read,
//! and its text is kept, so that whoever looks is told what is wrong with it.

use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::{Value, json};

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

/// What can be read of an object whose spec cannot, because it is nested too deeply: what is not asked for is skipped.
pub(super) fn head(text: &str) -> Result<DynamicObject, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: String,
        kind: String,
        metadata: ObjectMeta,
        status: Option<Value>,
    }
    let Head { api_version, kind, metadata, status } = serde_json::from_str(text)?;
    let mut object = DynamicObject {
        types: Some(TypeMeta { api_version, kind }),
        metadata,
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
pub(super) mod tests {
    use super::*;

    /// An object that is nested more deeply than can be read.
    pub(in crate::cache) fn deep(name: &str, version: &str) -> String {
        let (open, close) = (r#"{"a":"#.repeat(200), "}".repeat(200));
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"shop",
            "resourceVersion":"{version}","managedFields":[]}},"spec":{open}1{close},"status":{{"b":2}}}}"#
        )
    }

    #[test]
    fn what_cannot_be_read_is_known_by_its_head() {
        let Incoming { object, text } = Incoming::read(&deep("a", "7")).unwrap();
        assert_eq!(object.metadata.name.as_deref(), Some("a"));
        assert_eq!((object.metadata.managed_fields, object.data), (None, json!({"status": {"b": 2}})));
        assert!(text.is_some_and(|text| text.contains(r#""spec""#)));
        let readable = Incoming::read(r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"spec":{}}"#);
        assert!(readable.unwrap().text.is_none());
        assert!(Incoming::read(&deep("a", "7").replace("metadata", "data")).is_err(), "it has no head");
    }
}
