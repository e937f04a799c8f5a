//! Whether an apply would change anything.

use kube::api::DynamicObject;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::product::Product;

/// Puts the hash of what is wanted on it, and returns it.
pub(super) fn mark(desired: &mut DynamicObject, product: Product) -> String {
    let hash = hash(desired);
    desired.metadata.annotations.get_or_insert_default().insert(product.hash_annotation(), hash.clone());
    hash
}

/// A short name for what is wanted.
fn hash(desired: &DynamicObject) -> String {
    let text = serde_json::to_string(desired).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The first place where what is there is not what is wanted; none means that an apply would change nothing.
///
/// `desired` carries the hash of itself. What the API server or others have added does not matter.
pub(super) fn first(desired: &DynamicObject, live: &DynamicObject) -> Option<String> {
    let (wanted, there) = (&desired.metadata, &live.metadata);
    missing(&wanted.annotations, &there.annotations)
        .map(|key| format!("metadata.annotations.{key}"))
        .or_else(|| missing(&wanted.labels, &there.labels).map(|key| format!("metadata.labels.{key}")))
        .or_else(|| {
            let known = there.owner_references.as_deref().unwrap_or_default();
            let wanted = wanted.owner_references.as_deref().unwrap_or_default();
            let lacks = wanted.iter().any(|owner| !known.contains(owner));
            lacks.then(|| "metadata.ownerReferences".to_owned())
        })
        .or_else(|| within(&desired.data, &live.data, String::new()))
}

type Texts = Option<std::collections::BTreeMap<String, String>>;

fn missing<'a>(wanted: &'a Texts, there: &Texts) -> Option<&'a String> {
    let there = |key: &String| there.as_ref().and_then(|there| there.get(key));
    wanted.iter().flatten().find(|(key, value)| there(key) != Some(value)).map(|(key, _)| key)
}

fn within(wanted: &Value, there: &Value, path: String) -> Option<String> {
    match (wanted, there) {
        (Value::Object(wanted), Value::Object(there)) => wanted.iter().find_map(|(key, value)| {
            within(value, there.get(key).unwrap_or(&Value::Null), format!("{path}.{key}"))
        }),
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => wanted
            .iter()
            .zip(there)
            .enumerate()
            .find_map(|(index, (wanted, there))| within(wanted, there, format!("{path}[{index}]"))),
        (Value::Number(wanted), Value::Number(there)) if wanted.as_f64() == there.as_f64() => None,
        (wanted, there) => (wanted != there).then_some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(meta: &Value, spec: &Value) -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "X", "metadata": meta, "spec": spec}))
            .unwrap()
    }

    #[test]
    fn only_what_we_want_is_compared() {
        let table = [
            ("the same", json!({"a": 1}), json!({"a": 1}), None),
            ("a default was added", json!({"a": 1}), json!({"a": 1, "b": 2}), None),
            ("a default inside a list", json!({"l": [{"n": "x"}]}), json!({"l": [{"n": "x", "d": 1}]}), None),
            ("another value", json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), Some(".spec.a.b")),
            ("taken away", json!({"a": {"b": 1}}), json!({"a": {}}), Some(".spec.a.b")),
            ("a list got longer", json!({"l": [1]}), json!({"l": [1, 2]}), Some(".spec.l")),
            ("an item changed", json!({"l": [1, 2]}), json!({"l": [1, 3]}), Some(".spec.l[1]")),
            ("1 is 1.0", json!({"a": 1}), json!({"a": 1.0}), None),
        ];
        for (name, wanted, there, expected) in table {
            let difference = first(&object(&json!({}), &wanted), &object(&json!({}), &there));
            assert_eq!(difference.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn labels_annotations_and_owners_count() {
        let owner = json!({"apiVersion": "v1", "kind": "Y", "name": "y", "uid": "1"});
        let full = json!({"labels": {"a": "1"}, "annotations": {"b": "2"}, "ownerReferences": [owner]});
        let without = |field: &str| {
            let mut meta = full.clone();
            meta.as_object_mut().unwrap().remove(field);
            meta
        };
        let table = [
            (full.clone(), None),
            (without("labels"), Some("metadata.labels.a")),
            (without("annotations"), Some("metadata.annotations.b")),
            (without("ownerReferences"), Some("metadata.ownerReferences")),
        ];
        for (there, expected) in table {
            let difference = first(&object(&full, &json!({})), &object(&there, &json!({})));
            assert_eq!(difference.as_deref(), expected);
        }
    }

    #[test]
    fn a_field_that_is_no_longer_wanted_changes_the_hash() {
        let (more, less) =
            (object(&json!({}), &json!({"a": 1, "b": 2})), object(&json!({}), &json!({"a": 1})));
        assert_ne!(hash(&more), hash(&less));
        assert_eq!(hash(&less), hash(&less.clone()));
    }
}
