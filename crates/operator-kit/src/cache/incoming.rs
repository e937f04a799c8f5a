//! An object as the API server sends it. Its head is read, the rest only if somebody asks: most of it is what no rule looks
//! at. One that nobody can read must not hide the others, nor itself: its text is kept, so that whoever looks is told what
//! is wrong with it.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, OwnerReference, Time};
use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// What is often the larger part of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A part of a list. What it lists is read one by one.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<'a> {
    pub(crate) metadata: ListMeta,
    #[serde(borrow)]
    pub(crate) items: Option<Vec<&'a RawValue>>,
}

/// What came in.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Which object it is: nothing but its types and metadata.
    pub(crate) head: DynamicObject,
    /// Its other fields, as they came.
    fields: BTreeMap<String, Box<RawValue>>,
    whole: OnceCell<DynamicObject>,
}

impl Incoming {
    /// Reads the head.
    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
        let mut text_of = |name: &str| {
            let value: Option<String> =
                fields.remove(name).map(|value| serde_json::from_str(value.get())).transpose()?;
            Ok::<_, serde_json::Error>(value)
        };
        let types = text_of("apiVersion")?.zip(text_of("kind")?);
        let types = types.map(|(api_version, kind)| TypeMeta { api_version, kind });
        let metadata: Metadata =
            serde_json::from_str(fields.remove("metadata").as_deref().map_or("", RawValue::get))?;
        let head = DynamicObject { types, metadata: metadata.into(), data: Value::Null };
        Ok(Self { head, fields, whole: OnceCell::new() })
    }

    /// As much of it as can be read: what is nested too deeply is not there.
    pub(crate) fn whole(&self) -> &DynamicObject {
        self.whole.get_or_init(|| {
            let readable = self
                .fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), serde_json::from_str(value.get()).ok()?)));
            let data: Map<String, Value> = readable.collect();
            DynamicObject { data: data.into(), ..self.head.clone() }
        })
    }

    /// Its head, and what was said of it, if that can be read.
    pub(crate) fn with_status(&self) -> DynamicObject {
        let status = self.fields.get("status").and_then(|value| serde_json::from_str(value.get()).ok());
        let data: Map<String, Value> =
            status.map(|status| ("status".to_owned(), status)).into_iter().collect();
        DynamicObject { data: data.into(), ..self.head.clone() }
    }

    /// All of it, without what no rule looks at.
    pub(crate) fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
        let DynamicObject { types, metadata, data: _ } = &self.head;
        let metadata = to_raw_value(metadata)?;
        let mut all: BTreeMap<&str, &RawValue> =
            self.fields.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        all.insert("metadata", &metadata);
        let types = types.as_ref().map(|TypeMeta { api_version, kind }| (api_version, kind));
        let types = types
            .map(|(version, kind)| Ok::<_, serde_json::Error>((to_raw_value(version)?, to_raw_value(kind)?)));
        let types = types.transpose()?;
        if let Some((api_version, kind)) = &types {
            all.extend([("apiVersion", &**api_version), ("kind", &**kind)]);
        }
        serde_json::to_vec(&all)
    }
}

/// The metadata that rules look at. The names of the fields that somebody manages are not among it: they are the larger part of
/// an object, and nested as deeply as those fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
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

impl From<Metadata> for ObjectMeta {
    fn from(metadata: Metadata) -> Self {
        let mut annotations = metadata.annotations;
        if let Some(annotations) = annotations.as_mut() {
            annotations.remove(LAST_APPLIED);
        }
        Self {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            labels: metadata.labels,
            annotations,
            finalizers: metadata.finalizers,
            owner_references: metadata.owner_references,
            ..Self::default()
        }
    }
}

#[cfg(test)]
impl From<DynamicObject> for Incoming {
    fn from(object: DynamicObject) -> Self {
        Self::read(&serde_json::to_string(&object).unwrap()).unwrap()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

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
        let incoming = Incoming::read(&deep("a", "7")).unwrap();
        let expected = json!({"apiVersion": "v1", "kind": "X", "status": {"b": 2}, "metadata": {
            "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"a": "1"}, "annotations": {"b": "2"}, "finalizers": ["x"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Y", "name": "y", "uid": "v"}]}});
        assert_eq!(serde_json::to_value(incoming.whole()).unwrap(), expected);
        let text = String::from_utf8(incoming.text().unwrap()).unwrap();
        assert!(text.contains(r#""spec""#) && !text.contains("managedFields"), "{text}");
        assert!(Incoming::read(&deep("a", "7").replace("metadata", "data")).is_err(), "it has no head");
    }

    #[test]
    fn what_no_rule_looks_at_is_left_out_and_the_rest_stays_as_it_came() {
        let came = r#"{"kind":"X","apiVersion":"v1","metadata":{"name":"a","annotations":{"b":"2",
            "kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"x"}]},"spec":{"z":1.50,"a":"\u00fc"}}"#;
        let text = String::from_utf8(Incoming::read(came).unwrap().text().unwrap()).unwrap();
        let expected = r#"{"apiVersion":"v1","kind":"X","metadata":{"annotations":{"b":"2"},"name":"a"},"spec":{"z":1.50,"a":"\u00fc"}}"#;
        assert_eq!(text, expected);
    }
}
