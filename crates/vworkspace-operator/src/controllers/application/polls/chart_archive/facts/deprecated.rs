//! The keys of a chart's values that its schema marks as deprecated.

use std::collections::BTreeMap;

use super::schema::Schema;

/// Properties inside properties, and references, that are followed.
const DEPTH_LIMIT: usize = 32;
/// How much of a schema is looked at in all: references can make a small one endless.
const VISIT_LIMIT: usize = 20_000;
/// More than anybody would put right at once.
const FOUND_LIMIT: usize = 256;
/// Bytes of all that is found together: it is kept for as long as the chart is in use.
const ROOM: usize = 128 * 1024;

/// A key of a chart's values that is deprecated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeprecatedValue {
    pub(crate) path: Vec<String>,
    /// What the schema says about the key; may be empty.
    pub(crate) note: String,
}

/// Every property with `deprecated: true` that is reached by `properties`, `allOf` and references within the schema, in
/// the order of paths. What lies beyond the limits is left out.
pub(super) fn deprecated_values(schema: &Schema) -> Vec<DeprecatedValue> {
    let mut walk = Walk {
        root: schema,
        visits: 0,
        references: Vec::new(),
        path: Vec::new(),
        found: BTreeMap::new(),
        room: ROOM,
    };
    walk.visit(schema, 0);
    let owned = |path: Vec<&str>| path.into_iter().map(str::to_owned).collect();
    let found = walk.found.into_iter();
    found.map(|(path, note)| DeprecatedValue { path: owned(path), note: note.to_owned() }).collect()
}

struct Walk<'a> {
    root: &'a Schema,
    visits: usize,
    /// What those being followed lead to: one that leads to itself is not followed again.
    references: Vec<&'a Schema>,
    path: Vec<&'a str>,
    found: BTreeMap<Vec<&'a str>, &'a str>,
    room: usize,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Schema, depth: usize) {
        self.visits += 1;
        if depth > DEPTH_LIMIT || self.visits > VISIT_LIMIT {
            return;
        }
        self.note_if_deprecated(schema);
        if let Some(target) = self.target(schema)
            && !self.references.iter().any(|known| std::ptr::eq(*known, target))
        {
            self.references.push(target);
            self.visit(target, depth + 1);
            self.references.pop();
        }
        for part in &schema.all_of {
            self.visit(part, depth + 1);
        }
        for (name, property) in schema.properties.iter() {
            self.path.push(name);
            self.visit(property, depth + 1);
            self.path.pop();
        }
    }

    fn note_if_deprecated(&mut self, schema: &'a Schema) {
        if !schema.deprecated || self.path.is_empty() {
            return;
        }
        let note = schema.description.as_deref();
        let note = note.or_else(|| self.target(schema)?.description.as_deref()).unwrap_or_default();
        if let Some(known) = self.found.get_mut(&self.path) {
            if known.is_empty() {
                *known = note;
            }
            return;
        }
        let size = note.len() + self.path.iter().map(|name| name.len()).sum::<usize>();
        if self.found.len() < FOUND_LIMIT && size <= self.room {
            self.room -= size;
            self.found.insert(self.path.clone(), note);
        }
    }

    fn target(&self, schema: &Schema) -> Option<&'a Schema> {
        self.root.target(schema.reference.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::schema::LONGEST_NAME;
    use super::*;

    fn found(schema: &Value) -> Vec<(String, String)> {
        let schema = Schema::read(schema.to_string().as_bytes()).unwrap();
        deprecated_values(&schema).into_iter().map(|value| (value.path.join("/"), value.note)).collect()
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

    #[test]
    fn what_is_found_takes_little_room_however_long_its_keys_are() {
        let nested = (0..20).fold(json!({"deprecated": true}), |inner, level| {
            let name = format!("{level:0LONGEST_NAME$}");
            json!({"deprecated": true, "properties": {name: inner}})
        });
        let many: serde_json::Map<_, _> =
            (0..FOUND_LIMIT).map(|number| (number.to_string(), nested.clone())).collect();
        let size = |(path, note): &(String, String)| path.len() + note.len();
        let total: usize = found(&json!({"properties": many})).iter().map(size).sum();
        assert!((ROOM / 2..ROOM + FOUND_LIMIT * DEPTH_LIMIT).contains(&total), "{total} bytes");
    }
}
