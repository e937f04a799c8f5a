//! What is generated from the kinds is what the kinds say: the CRD's manifest and its reference page.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod field_reference;

use std::path::{Path, PathBuf};

use kube::CustomResourceExt;
use serde_json::Value;
use vworkspace_api::application_instance::ApplicationInstance;

const COMMAND: &str = "UPDATE=1 cargo test -p vworkspace-api --test generated_files";

fn workspace(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// Compares a file with what it should hold, or writes it where UPDATE is set.
fn is_current(file: &str, text: &str) {
    let place = workspace(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(place.parent().expect("a file has a folder"))
            .expect("failed to make the folder");
        std::fs::write(&place, text).expect("failed to write the file");
    }
    let stored = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(stored == text, "{file} is stale; write it anew with: {COMMAND}");
}

/// The CRD as it is installed.
fn crd() -> Value {
    let mut crd = serde_json::to_value(ApplicationInstance::crd()).expect("a CRD is JSON");
    unwrap_descriptions(&mut crd);
    crd
}

/// Puts each description on one line: `kubectl explain` breaks lines itself and would keep those of the source.
fn unwrap_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            fields.values_mut().for_each(unwrap_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        _ => {}
    }
}

#[test]
fn the_manifest_is_what_the_types_say() {
    let manifest = serde_saphyr::to_string(&crd()).expect("a CRD is YAML");
    // Not in the chart's folder crds, whose content Helm installs once and never upgrades.
    is_current(
        "charts/vworkspace-operator/files/crds/applicationinstances.apps.vworkspace.io.yaml",
        &format!("# Generated from crates/vworkspace-api. Write it anew with: {COMMAND}\n{manifest}"),
    );
}

#[test]
fn the_reference_page_is_what_the_types_say() {
    is_current("docs/reference/applicationinstance.md", &field_reference::page(&crd(), COMMAND));
}

#[test]
fn the_names_are_those_of_the_vocabulary() {
    let vocabulary = <ApplicationInstance as conditions::Kind>::VOCABULARY;
    let (crd, spec) = (ApplicationInstance::crd(), ApplicationInstance::crd().spec);
    assert_eq!(crd.metadata.name, Some(format!("{}.{}", vocabulary.plural, vocabulary.group)));
    assert_eq!((spec.group.as_str(), spec.names.kind.as_str()), (vocabulary.group, vocabulary.kind));
    assert_eq!(spec.names.short_names.unwrap_or_default(), vocabulary.short_names);
}

/// Calls `look` with the path and schema of every field.
fn every_field(path: &str, schema: &Value, look: &mut impl FnMut(&str, &Value)) {
    look(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        every_field(&format!("{path}.{name}"), field, look);
    }
    if schema.get("items").is_some() {
        every_field(&format!("{path}[]"), &schema["items"], look);
    }
}

#[test]
fn every_field_is_explained_and_every_rule_says_what_it_expects() {
    let schema = &crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    every_field("", schema, &mut |path, field| {
        assert!(path.ends_with("[]") || field["description"].is_string(), "{path} has no description");
        for rule in field["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let message = rule["message"].as_str().or(rule["messageExpression"].as_str()).unwrap_or_default();
            assert!(message.contains("; expected "), "a rule of {path} does not say what it expects: {rule}");
        }
        // The API server warns of formats that it does not know.
        let format = field["format"].as_str().unwrap_or("int32");
        assert!(["int32", "int64", "date-time"].contains(&format), "{path} has format {format}");
    });
}

#[test]
fn every_example_is_an_instance_that_says_what_it_shows() {
    let folder = workspace("docs/examples/applicationinstance");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("there are examples") {
        let file = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&file).expect("an example can be read");
        assert!(text.starts_with("# "), "{} does not say what it shows", file.display());
        let written: Value = serde_saphyr::from_str(&text).expect("an example is YAML");
        let instance: ApplicationInstance = serde_json::from_value(written.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let read = serde_json::to_value(&instance).expect("an instance is JSON");
        assert_contains(&file.display().to_string(), &written, &read);
        seen += 1;
    }
    assert!(seen > 0);
}

/// Everything that was written was read: no field is misspelt.
fn assert_contains(path: &str, written: &Value, read: &Value) {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            for (name, value) in written {
                assert!(read.contains_key(name) || is_default(value), "{path}.{name} is unknown");
                if let Some(read) = read.get(name) {
                    assert_contains(&format!("{path}.{name}"), value, read);
                }
            }
        }
        (Value::Array(written), Value::Array(read)) => {
            for (position, (written, read)) in written.iter().zip(read).enumerate() {
                assert_contains(&format!("{path}[{position}]"), written, read);
            }
        }
        (written, read) => assert_eq!(written, read, "{path}"),
    }
}

/// What an object leaves out when it is written, because it says nothing.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_default),
        Value::Bool(value) => !value,
        Value::String(word) => word == "Report",
        _ => false,
    }
}
