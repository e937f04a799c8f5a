//! Holds parameters against the table of their template: names, what must be given, types and bounds.

use serde_json::{Map, Value};

use super::problem::{Problems, problem, quoted, sort_of};
use super::{MAX_NUMBER, MAX_PARAMETERS};
use crate::Duration;
use crate::operation::{Parameter, ParameterKind, Template};

/// A hundred years: Velero cannot write a date beyond the year 9999.
const LONGEST_RETENTION: Duration = Duration::from_mins(36_500 * 24 * 60);

/// Everything that is wrong with these parameters.
pub(super) fn check(template: &Template, parameters: &Map<String, Value>) -> Result<(), Problems> {
    if parameters.len() > MAX_PARAMETERS {
        let found = format!("{} parameters", parameters.len());
        return Err(Problems::one(problem("", &found, &format!("at most {MAX_PARAMETERS}"))));
    }
    let mut problems = Vec::new();
    for name in parameters.keys().filter(|name| template.parameter(name).is_none()) {
        let names: Vec<&str> = template.parameters.iter().map(|parameter| parameter.name).collect();
        let found = format!("a parameter that {} does not have", template.name);
        problems.push(problem(name, &found, &format!("one of {}", names.join(", "))));
    }
    for parameter in template.parameters {
        match parameters.get(parameter.name) {
            None if parameter.required => {
                problems.push(problem(parameter.name, "nothing", &parameter.expected()));
            }
            None => {}
            Some(value) => check_value(parameter, value, &mut problems),
        }
    }
    Problems::any(problems)
}

fn check_value(parameter: &Parameter, value: &Value, problems: &mut Vec<String>) {
    let name = parameter.name;
    // What is not required and blank counts as not given.
    let may_be_blank = |text: &str| !parameter.required && text.trim().is_empty();
    let fits = match (parameter.kind, value) {
        (ParameterKind::Text, Value::String(text)) => !(parameter.required && text.trim().is_empty()),
        (ParameterKind::Name, Value::String(text)) => may_be_blank(text) || is_name(text),
        (ParameterKind::Retention, Value::String(text)) => may_be_blank(text) || retention(text).is_some(),
        (ParameterKind::OneOf(words), Value::String(text)) => words.contains(&text.as_str()),
        (ParameterKind::Boolean, Value::Bool(_))
        | (ParameterKind::Object | ParameterKind::Env, Value::Object(_))
        | (ParameterKind::Env, Value::Array(_)) => true,
        (ParameterKind::Number { least }, Value::Number(number)) => {
            number.as_i64().is_some_and(|number| (least..=MAX_NUMBER).contains(&number))
        }
        (ParameterKind::TextList, Value::Array(items)) => {
            for (position, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
                problems.push(problem(&format!("{name}[{position}]"), &quoted(item), "a text"));
            }
            true
        }
        (ParameterKind::TextMap, Value::Object(entries)) => {
            for (key, entry) in entries.iter().filter(|(_, entry)| !entry.is_string()) {
                problems.push(problem(&format!("{name}.{key}"), &quoted(entry), "a text"));
            }
            true
        }
        _ => false,
    };
    if !fits {
        // What these hold can be a password.
        let secret = matches!(parameter.kind, ParameterKind::Env | ParameterKind::Object);
        let found = if secret { sort_of(value).to_owned() } else { quoted(value) };
        problems.push(problem(name, &found, &parameter.expected()));
    }
}

/// A duration that may have days, longer than nothing and not longer than Velero can count.
pub(super) fn retention(text: &str) -> Option<Duration> {
    let read = Duration::with_days(text).ok()?;
    (read > Duration::from_secs(0) && read <= LONGEST_RETENTION).then_some(read)
}

/// Whether most kinds would take it for the name of an object.
fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether a namespace can have that name.
pub(super) fn is_namespace(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().all(|byte| is_inner(byte) || byte == b'-')
        && text.bytes().next().is_some_and(is_inner)
        && text.bytes().next_back().is_some_and(is_inner)
}
