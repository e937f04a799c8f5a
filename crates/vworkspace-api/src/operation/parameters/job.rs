//! What a command is told that runs in a Job.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Map, Value};

use super::found::Given;
use super::problem::{Problems, problem, quoted, sort_of};

/// The places that a variable's value can come from, with what each must name.
const SOURCES: [(&str, &[&str]); 4] = [
    ("configMapKeyRef", &["name", "key"]),
    ("fieldRef", &["fieldPath"]),
    ("resourceFieldRef", &["resource"]),
    ("secretKeyRef", &["name", "key"]),
];

/// What a command is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunCommandParameters {
    /// The image that it runs in.
    pub image: String,
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// The arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: Vec<EnvVar>,
    /// What it may use.
    pub resources: Option<ResourceRequirements>,
    /// The service account, if it was named: always the runner.
    pub service_account_name: Option<String>,
    /// How often a failed pod is replaced.
    pub backoff_limit: Option<i32>,
    /// After how many seconds Kubernetes stops the Job.
    pub active_deadline_seconds: Option<i64>,
    /// How many seconds the Job is kept once it has ended.
    pub ttl_seconds_after_finished: Option<i32>,
}

impl RunCommandParameters {
    pub(super) fn from_given(given: Given<'_>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let env = given.value("env").map(|value| env(value, &mut problems)).unwrap_or_default();
        let resources = given.object("resources").map(|fields| resources(fields, &mut problems));
        Problems::any(problems)?;
        Ok(Self {
            image: given.text("image").unwrap_or_default().to_owned(),
            command: given.texts("command"),
            args: given.texts("args"),
            env,
            resources,
            service_account_name: given.text("serviceAccountName").map(str::to_owned),
            backoff_limit: given.small_number("backoffLimit"),
            active_deadline_seconds: given
                .number("activeDeadlineSeconds")
                .or_else(|| given.number("timeoutSeconds")),
            ttl_seconds_after_finished: given.small_number("ttlSecondsAfterFinished"),
        })
    }
}

/// Variables in either form. What they hold is never quoted: it can be a password.
fn env(value: &Value, problems: &mut Vec<String>) -> Vec<EnvVar> {
    match value {
        Value::Object(entries) => entries
            .iter()
            .filter_map(|(name, value)| {
                let place = format!("env.{name}");
                check_name(&place, Some(&Value::from(name.as_str())), problems);
                let value = text(&place, value, problems)?;
                Some(EnvVar { name: name.clone(), value: Some(value), value_from: None })
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter_map(|(position, item)| variable(&format!("env[{position}]"), item, problems))
            .collect(),
        _ => Vec::new(),
    }
}

/// One item of the list.
fn variable(place: &str, item: &Value, problems: &mut Vec<String>) -> Option<EnvVar> {
    let Value::Object(fields) = item else {
        problems.push(problem(place, sort_of(item), "an object with name and value or valueFrom"));
        return None;
    };
    no_other_fields(place, fields, &["name", "value", "valueFrom"], problems);
    let name = check_name(&format!("{place}.name"), fields.get("name"), problems)?;
    if fields.contains_key("value") && fields.contains_key("valueFrom") {
        problems.push(problem(place, "both value and valueFrom", "one of them"));
    }
    let value = fields.get("value").and_then(|value| text(&format!("{place}.value"), value, problems));
    let value_from =
        fields.get("valueFrom").and_then(|from| source(&format!("{place}.valueFrom"), from, problems));
    Some(EnvVar { name, value, value_from })
}

fn check_name(place: &str, name: Option<&Value>, problems: &mut Vec<String>) -> Option<String> {
    match name {
        Some(Value::String(name)) if is_variable(name) => Some(name.clone()),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), quoted);
            problems.push(problem(place, &found, "the name of a variable, without spaces and '='"));
            None
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=')
}

fn text(place: &str, value: &Value, problems: &mut Vec<String>) -> Option<String> {
    if let Value::String(text) = value {
        return Some(text.clone());
    }
    problems.push(problem(place, sort_of(value), "a text; write a number or true between quotes"));
    None
}

/// Where a variable's value comes from: exactly one place.
fn source(place: &str, from: &Value, problems: &mut Vec<String>) -> Option<EnvVarSource> {
    let only = from.as_object().filter(|fields| fields.len() == 1);
    let is_whole = |(source, needed): &(&str, &[&str])| {
        let place = only.and_then(|fields| fields.get(*source));
        place.is_some_and(|place| {
            needed
                .iter()
                .all(|field| place.get(*field).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))
        })
    };
    let known = SOURCES.iter().any(is_whole);
    let read = known.then(|| serde_json::from_value::<EnvVarSource>(from.clone()).ok()).flatten();
    if read.is_none() {
        let sources = SOURCES.map(|(source, needed)| format!("{source} ({})", needed.join(", ")));
        let expected = format!("exactly one of {}", sources.join(", "));
        problems.push(problem(place, sort_of(from), &expected));
    }
    read
}

/// What a container may use.
fn resources(fields: &Map<String, Value>, problems: &mut Vec<String>) -> ResourceRequirements {
    no_other_fields("resources", fields, &["limits", "requests"], problems);
    let mut quantities = |name: &str| {
        let value = fields.get(name)?;
        let place = format!("resources.{name}");
        let Value::Object(entries) = value else {
            problems.push(problem(&place, &quoted(value), "an object such as {memory: 256Mi}"));
            return None;
        };
        let mut read = BTreeMap::new();
        for (resource, amount) in entries {
            match quantity(amount) {
                Some(quantity) => {
                    read.insert(resource.clone(), quantity);
                }
                None => problems.push(problem(
                    &format!("{place}.{resource}"),
                    &quoted(amount),
                    "a quantity such as 500m, 2 or 256Mi",
                )),
            }
        }
        Some(read)
    };
    let (limits, requests) = (quantities("limits"), quantities("requests"));
    ResourceRequirements { claims: None, limits, requests }
}

/// A number, or a number with a unit, as a text.
fn quantity(value: &Value) -> Option<Quantity> {
    const UNITS: [&str; 15] = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let unit = text.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    let number = text.strip_suffix(unit)?;
    let is_number = number.bytes().any(|byte| byte.is_ascii_digit())
        && number.bytes().filter(|byte| *byte == b'.').count() <= 1;
    (is_number && UNITS.contains(&unit)).then_some(Quantity(text))
}

fn no_other_fields(place: &str, fields: &Map<String, Value>, known: &[&str], problems: &mut Vec<String>) {
    for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
        let expected = format!("only {}", known.join(", "));
        problems.push(problem(&format!("{place}.{name}"), "a field that does not exist", &expected));
    }
}
