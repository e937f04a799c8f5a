//! The schema of spec.parameters: the names of all templates, each with its type where all that have it agree.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{Parameter, ParameterKind, TEMPLATES, Template};
use crate::operation::parameters::MAX_NUMBER;

/// An object with the names of all templates. Others pass the schema: which of them a template has is for the admission
/// policy.
pub(crate) fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    let mut properties = Map::new();
    for parameter in TEMPLATES.iter().flat_map(|template| template.parameters) {
        properties.entry(parameter.name).or_insert_with(|| property(parameter.name));
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// The schema of one name.
fn property(name: &str) -> Value {
    let found: Vec<(&Template, &Parameter)> = TEMPLATES
        .iter()
        .flat_map(|template| template.parameters.iter().map(move |parameter| (template, parameter)))
        .filter(|(_, parameter)| parameter.name == name)
        .collect();
    let mut schemas = found.iter().map(|(_, parameter)| type_of(parameter.kind));
    let first = schemas.next().unwrap_or_else(anything);
    let mut schema = if schemas.all(|other| other == first) { first } else { anything() };
    if let Value::Object(fields) = &mut schema {
        fields.insert("description".into(), description(&found).into());
    }
    schema
}

/// What a name means, for each template that means something else by it.
fn description(found: &[(&Template, &Parameter)]) -> String {
    let mut meanings: Vec<(&str, Vec<&str>)> = Vec::new();
    for (template, parameter) in found {
        match meanings.iter_mut().find(|(meaning, _)| *meaning == parameter.meaning) {
            Some((_, names)) => names.push(template.name),
            None => meanings.push((parameter.meaning, vec![template.name])),
        }
    }
    let told: Vec<String> =
        meanings.iter().map(|(meaning, names)| format!("{}: {meaning}", names.join(", "))).collect();
    told.join(" ")
}

fn type_of(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Text | ParameterKind::Name | ParameterKind::Retention => json!({"type": "string"}),
        ParameterKind::Boolean => json!({"type": "boolean"}),
        ParameterKind::Number { least } => {
            json!({"type": "integer", "minimum": least, "maximum": MAX_NUMBER})
        }
        ParameterKind::TextList => json!({"type": "array", "items": {"type": "string"}}),
        ParameterKind::TextMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ParameterKind::Env => anything(),
        ParameterKind::Object => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ParameterKind::OneOf(words) => json!({"type": "string", "enum": words}),
    }
}

fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}
