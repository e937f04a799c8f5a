//! The keys of a chart's values that its schema marks as deprecated.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::one_line::one_line;

/// Properties inside properties, and references, that are followed.
const DEPTH_LIMIT: usize = 32;
/// How much of a schema is looked at in all: references can make a small one endless.
const VISIT_LIMIT: usize = 20_000;
/// More than anybody would put right at once.
const FOUND_LIMIT: usize = 256;
const LONGEST_NOTE: usize = 200;

/// A key of a chart's values that is deprecated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeprecatedValue {
    pub(crate) path: Vec<String>,
    /// What the schema says about the key; may be empty.
    pub(crate) note: String,
}

/// Every property with `deprecated: true` that is reached by `properties`, `allOf` and references within the schema, in
/// the order of paths. What lies beyond the limits is left out.
pub(super) fn deprecated_values(schema: &Value) -> Vec<DeprecatedValue> {
    let mut walk =
        Walk { root: schema, visits: 0, references: Vec::new(), path: Vec::new(), found: BTreeMap::new() };
    walk.visit(schema, 0);
    walk.found.into_iter().map(|(path, note)| DeprecatedValue { path, note }).collect()
}

struct Walk<'a> {
    root: &'a Value,
    visits: usize,
    /// Those being followed: one that leads to itself is not followed again.
    references: Vec<&'a str>,
    path: Vec<String>,
    found: BTreeMap<Vec<String>, String>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value, depth: usize) {
        self.visits += 1;
        if depth > DEPTH_LIMIT || self.visits > VISIT_LIMIT {
            return;
        }
        self.note_if_deprecated(schema);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.target(reference)
            && !self.references.contains(&reference)
        {
            self.references.push(reference);
            self.visit(target, depth + 1);
            self.references.pop();
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.visit(part, depth + 1);
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.path.push(name.clone());
            self.visit(property, depth + 1);
            self.path.pop();
        }
    }

    fn note_if_deprecated(&mut self, schema: &Value) {
        let marked = schema.get("deprecated").and_then(Value::as_bool) == Some(true);
        if !marked || self.path.is_empty() || self.found.len() >= FOUND_LIMIT {
            return;
        }
        let referenced =
            || schema.get("$ref").and_then(Value::as_str).and_then(|reference| self.target(reference));
        let note = description(schema).or_else(|| referenced().and_then(description)).unwrap_or_default();
        let note = one_line(note, LONGEST_NOTE);
        let known = self.found.entry(self.path.clone()).or_default();
        if known.is_empty() {
            *known = note;
        }
    }

    /// What a reference within the schema, such as `#/$defs/tls`, points to.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: &Value) -> Vec<(String, String)> {
        deprecated_values(schema).into_iter().map(|value| (value.path.join("/"), value.note)).collect()
    }

    #[test]
    fn a_deprecated_property_is_found_where_the_schema_says_so() {
        let note = |path: &str, note: &str| (path.to_owned(), note.to_owned());
        let table = [
            (json!({"properties": {"a": {"type": "string"}}}), vec![]),
            (json!({"properties": {"a": {"deprecated": true}}}), vec![note("a", "")]),
            (json!({"properties": {"a": {"deprecated": false}, "b": {"deprecated": "true"}}}), vec![]),
            (
                json!({"properties": {"ingress": {"properties": {"tls": {"deprecated": true, "description": "use\n ingress.certificates"}}}}}),
                vec![note("ingress/tls", "use ingress.certificates")],
            ),
            // A key and one below it.
            (
                json!({"properties": {"a": {"deprecated": true, "properties": {"b": {"deprecated": true}}}}}),
                vec![note("a", ""), note("a/b", "")],
            ),
            // A key called like a keyword.
            (
                json!({"properties": {"deprecated": {"type": "boolean"}, "properties": {"deprecated": true}}}),
                vec![note("properties", "")],
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/old"}, "b": {"$ref": "#/definitions/x~1y"}},
                    "$defs": {"old": {"deprecated": true, "description": "old"}},
                    "definitions": {"x/y": {"properties": {"c": {"deprecated": true}}}}}),
                vec![note("a", "old"), note("b/c", "")],
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/tls", "deprecated": true}}, "$defs": {"tls": {"description": "TLS"}}}),
                vec![note("a", "TLS")],
            ),
            (json!({"allOf": [{"properties": {"a": {"deprecated": true}}}]}), vec![note("a", "")]),
            // Not ours to fetch, or nowhere.
            (
                json!({"properties": {"a": {"$ref": "https://example.org/schema#/x"}, "b": {"$ref": "#/nowhere"}}}),
                vec![],
            ),
            // The chart as a whole is Chart.yaml's business.
            (json!({"deprecated": true}), vec![]),
            (json!(true), vec![]),
            (json!([{"properties": []}]), vec![]),
        ];
        for (schema, expected) in table {
            assert_eq!(found(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn references_in_a_circle_come_to_an_end_and_hide_nothing_beside_them() {
        let node = json!({"properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"},
            "again": {"$ref": "#"}}});
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/node"}, "z": {"deprecated": true}},
            "$defs": {"node": node}});
        let paths: Vec<_> = found(&schema).into_iter().map(|(path, _)| path).collect();
        assert!(paths.contains(&"z".to_owned()), "{paths:?}");
        assert!(paths.len() < 10, "{paths:?}");
    }

    #[test]
    fn a_schema_that_unfolds_without_end_is_left_after_a_while() {
        let defs: serde_json::Map<_, _> = (0..40)
            .map(|level| {
                let next = json!({"$ref": format!("#/$defs/{}", level + 1), "deprecated": true});
                (level.to_string(), json!({"properties": {"a": next, "b": next, "c": next}}))
            })
            .collect();
        assert_eq!(found(&json!({"$ref": "#/$defs/0", "$defs": defs})).len(), FOUND_LIMIT);
    }
}
