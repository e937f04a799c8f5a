//! The JSON schema of a condition list, with the limits that `metav1.Condition` has in Go and loses elsewhere.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::condition::Condition;
use crate::limits::{MAX_MESSAGE, MAX_REASON, MAX_TYPE, REASON_PATTERN, TYPE_PATTERN};
use crate::set::ConditionSet;

impl JsonSchema for Condition {
    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    // A CRD's schema has no references.
    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One aspect of the current state of the object.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "When status last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": {
                    "description": "What a person should know; may be empty.",
                    "type": "string",
                    "maxLength": MAX_MESSAGE,
                },
                "observedGeneration": {
                    "description": "The metadata.generation that this was said about.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Why, as one word of the kind's vocabulary.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_REASON,
                    "pattern": REASON_PATTERN,
                },
                "status": {
                    "description": "Whether what the type says holds.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "What the condition is about.",
                    "type": "string",
                    "maxLength": MAX_TYPE,
                    "pattern": TYPE_PATTERN,
                },
            },
        })
    }
}

impl<K> JsonSchema for ConditionSet<K> {
    fn schema_name() -> Cow<'static, str> {
        "Conditions".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What is known about the object, one entry per type.",
            "type": "array",
            "items": generator.subschema_for::<Condition>(),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        })
    }
}
