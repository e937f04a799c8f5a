use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::*;
use crate::operation::{OperationSpec, Problems, Request};

/// A request of this template with these parameters.
fn request(template: &Template, parameters: &Map<String, Value>) -> Result<Request, Problems> {
    let spec = json!({
        "targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "shop"},
        "type": template.type_.as_str(), "engine": template.engine.as_str(), "parameters": parameters,
    });
    serde_json::from_value::<OperationSpec>(spec).expect("a spec").request()
}

fn example(parameter: &Parameter) -> Value {
    serde_saphyr::from_str(parameter.example)
        .unwrap_or_else(|error| panic!("the example of {}: {error}", parameter.name))
}

/// The examples of what must be given, and of one that may be.
fn with_example(template: &Template, also: &Parameter) -> Map<String, Value> {
    let needed = template.parameters.iter().filter(|parameter| parameter.required);
    needed.chain([also]).map(|parameter| (parameter.name.to_owned(), example(parameter))).collect()
}

#[test]
fn names_are_unique_and_made_of_type_and_engine() {
    let names: BTreeSet<_> = TEMPLATES.iter().map(|template| template.name).collect();
    assert_eq!(names.len(), TEMPLATES.len());
    for template in TEMPLATES {
        let (type_, engine) = template.name.split_once('.').expect("a name has a dot");
        assert_eq!(engine, template.engine.as_str());
        assert!(type_.eq_ignore_ascii_case(template.type_.as_str()), "{}", template.name);
        assert!(type_.starts_with(|first: char| first.is_ascii_lowercase()), "{}", template.name);
        assert_eq!(template.verb, type_.to_lowercase());
        assert_eq!(Template::of(template.type_, template.engine), Some(template));
        assert_eq!(Template::named(template.name), Some(template));
    }
    assert_eq!(Template::named("backup.job"), None);
}

#[test]
fn only_a_restore_needs_an_approval_and_no_ready_target() {
    for template in TEMPLATES {
        let restores = template.type_ == OperationType::Restore;
        assert_eq!((template.needs_approval, template.requires_ready), (restores, !restores), "{template:?}");
    }
}

#[test]
fn texts_are_sentences_and_parameters_stand_once() {
    for template in TEMPLATES {
        assert!(template.meaning.ends_with('.'), "{}", template.name);
        let names: BTreeSet<_> = template.parameters.iter().map(|parameter| parameter.name).collect();
        assert_eq!(names.len(), template.parameters.len(), "{}", template.name);
        for parameter in template.parameters {
            assert!(parameter.meaning.ends_with('.'), "{}.{}", template.name, parameter.name);
            assert!(!(parameter.former && parameter.required), "{}.{}", template.name, parameter.name);
        }
    }
}

#[test]
fn the_example_of_every_parameter_is_accepted() {
    for template in Template::supported() {
        for parameter in template.parameters {
            // An upgrade needs one of its two, which is the one that is tried.
            let answer = request(template, &with_example(template, parameter));
            assert!(answer.is_ok(), "{}.{}: {answer:?}", template.name, parameter.name);
        }
    }
    for parameter in TEMPLATES.iter().flat_map(|template| template.parameters) {
        assert_ne!(example(parameter), Value::Null, "{}", parameter.name);
    }
}

#[test]
fn what_cannot_be_run_yet_is_told_with_what_can() {
    for template in TEMPLATES.iter().filter(|template| !template.is_supported) {
        let said = request(template, &Map::new()).expect_err(template.name).to_string();
        assert_eq!(
            said,
            format!(
                "this version cannot run {}; it runs backup.velero, restore.velero, upgrade.helm, runCommand.job",
                template.name
            )
        );
    }
}

#[test]
fn the_schema_has_every_name_and_a_type_where_all_agree() {
    let schema = serde_json::to_value(parameters_schema(&mut schemars::SchemaGenerator::default()))
        .expect("a schema is JSON");
    let told = [
        ("ttl", json!("string")),
        ("snapshotVolumes", json!("boolean")),
        ("backoffLimit", json!("integer")),
        ("command", json!("array")),
        ("namespaceMapping", json!("object")),
        ("env", Value::Null),
    ];
    for (name, type_) in told {
        assert_eq!(schema["properties"][name]["type"], type_, "{name}");
    }
    assert_eq!(schema["properties"]["serviceAccountName"]["enum"], json!([RUNNER]));
    for parameter in TEMPLATES.iter().flat_map(|template| template.parameters) {
        let described = schema["properties"][parameter.name]["description"].as_str();
        assert!(described.is_some_and(|text| text.contains(parameter.meaning)), "{}", parameter.name);
    }
}
