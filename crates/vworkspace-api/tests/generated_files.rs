//! What is generated from the kinds is what the kinds say: manifests and reference pages of the CRDs, and the admission
//! policy of operations.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a test may panic

mod field_reference;
mod operation_policy;
mod template_reference;

use std::path::{Path, PathBuf};

use kube::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Operation, Template};

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

/// The CRD of a kind as it is installed.
fn crd<K: CustomResourceExt>() -> Value {
    let mut crd = serde_json::to_value(K::crd()).expect("a CRD is JSON");
    unwrap_descriptions(&mut crd);
    crd
}

fn crds() -> [Value; 2] {
    [crd::<ApplicationInstance>(), crd::<Operation>()]
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
fn the_manifests_are_what_the_types_say() {
    for crd in crds() {
        let name = crd["metadata"]["name"].as_str().expect("a CRD has a name");
        let manifest = serde_saphyr::to_string(&crd).expect("a CRD is YAML");
        // Not in the chart's folder crds, whose content Helm installs once and never upgrades.
        is_current(
            &format!("charts/vworkspace-operator/files/crds/{name}.yaml"),
            &format!("# Generated from crates/vworkspace-api. Write it anew with: {COMMAND}\n{manifest}"),
        );
    }
}

#[test]
fn the_policy_of_operations_is_what_the_templates_say() {
    let manifests = operation_policy::manifests(COMMAND);
    is_current("charts/vworkspace-operator/files/policies/operations.yaml", &manifests);
    // Where the chart puts its labels.
    assert_eq!(manifests.matches("\nmetadata:\n  name:").count(), 2);
}

#[test]
fn the_reference_pages_are_what_the_types_say() {
    let instance = field_reference::page(&crd::<ApplicationInstance>(), "applicationinstance", COMMAND);
    is_current("docs/reference/applicationinstance.md", &instance);
    let operation = field_reference::page(&crd::<Operation>(), "operations", COMMAND);
    is_current("docs/reference/operation.md", &(operation + &template_reference::sections()));
}

#[test]
fn the_names_are_those_of_the_vocabulary() {
    names_are_those_of_the_vocabulary::<ApplicationInstance>();
    names_are_those_of_the_vocabulary::<Operation>();
}

fn names_are_those_of_the_vocabulary<K: CustomResourceExt + conditions::Kind>() {
    let (crd, spec, vocabulary) = (K::crd(), K::crd().spec, K::VOCABULARY);
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
    for crd in crds() {
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        every_field("", schema, &mut |path, field| {
            assert!(path.ends_with("[]") || field["description"].is_string(), "{path} has no description");
            for rule in field["x-kubernetes-validations"].as_array().into_iter().flatten() {
                let message =
                    rule["message"].as_str().or(rule["messageExpression"].as_str()).unwrap_or_default();
                assert!(
                    message.contains("; expected "),
                    "a rule of {path} does not say what it expects: {rule}"
                );
            }
            // The API server warns of formats that it does not know.
            let format = field["format"].as_str().unwrap_or("int32");
            assert!(["int32", "int64", "date-time"].contains(&format), "{path} has format {format}");
        });
    }
}

#[test]
fn every_example_is_an_instance_that_says_what_it_shows() {
    assert!(!examples::<ApplicationInstance>("applicationinstance").is_empty());
}

#[test]
fn every_template_that_can_be_run_has_an_example_that_is_accepted() {
    let examples = examples::<Operation>("operations");
    let mut shown: Vec<&str> = Vec::new();
    for (name, operation) in &examples {
        let template = operation.spec.template().expect("an example has a template").name;
        assert!(operation.spec.request().is_ok(), "{name}: {:?}", operation.spec.request());
        assert!(name == template, "{name} shows {template}");
        shown.push(template);
    }
    shown.sort_unstable();
    let mut supported: Vec<_> = Template::supported().map(|template| template.name).collect();
    supported.sort_unstable();
    assert_eq!(shown, supported);
}

/// The examples of a folder, each with the name of its file. They say what they show, and nothing that the kind does not
/// have.
fn examples<K: DeserializeOwned + Serialize>(folder: &str) -> Vec<(String, K)> {
    let folder = workspace("docs/examples").join(folder);
    let files = std::fs::read_dir(&folder).expect("there are examples");
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("an example can be read");
        assert!(text.starts_with("# "), "{} does not say what it shows", file.display());
        let written: Value = serde_saphyr::from_str(&text).expect("an example is YAML");
        let object: K = serde_json::from_value(written.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let read = serde_json::to_value(&object).expect("an object is JSON");
        assert_contains(&file.display().to_string(), &written, &read);
        (file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), object)
    };
    files.map(|entry| read(entry.expect("the folder can be read").path())).collect()
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
