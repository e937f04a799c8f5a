//! `-p key=value`, turned into what the template's parameter holds. Whether it fits is for
//! [`OperationSpec::request`](vworkspace_api::operation::OperationSpec::request) to say: what cannot be converted goes on as
//! the text that it is.

use serde_json::{Map, Value};
use vworkspace_api::operation::{Parameter, ParameterKind, Template};

use super::OpError;
use crate::explain::nearest::nearest;

/// As much of a file is read.
const MAX_FILE: u64 = 1 << 20;

/// What was given for each parameter, in the order of the command line.
pub(super) fn read(template: &Template, given: &[String]) -> Result<Map<String, Value>, OpError> {
    let mut parameters = Map::new();
    for pair in given {
        let Some((name, text)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(OpError::Refused(format!(
                "-p {pair:?}: found no name and '='; expected -p KEY=VALUE"
            )));
        };
        let parameter = template.parameter(name).ok_or_else(|| unknown(template, name))?;
        let value = value(parameter, text)?;
        match (parameters.get_mut(name), value) {
            (None, value) => drop(parameters.insert(name.to_owned(), value)),
            (Some(Value::Array(known)), Value::Array(more)) if parameter.kind == ParameterKind::TextList => {
                known.extend(more);
            }
            (Some(Value::Object(known)), Value::Object(more)) if parameter.kind == ParameterKind::TextMap => {
                known.extend(more);
            }
            (Some(_), _) => {
                return Err(OpError::Refused(format!("-p {name}: found it twice; expected it once")));
            }
        }
    }
    Ok(parameters)
}

fn unknown(template: &Template, name: &str) -> OpError {
    let names: Vec<&str> = template.parameters.iter().map(|parameter| parameter.name).collect();
    let meant = nearest(name, names.clone()).join(" or ");
    OpError::Refused(format!(
        "{} has no parameter {name:?}; did you mean {meant}? It has {}",
        template.name,
        names.join(", ")
    ))
}

fn value(parameter: &Parameter, text: &str) -> Result<Value, OpError> {
    let as_it_is = || Value::from(text);
    Ok(match parameter.kind {
        ParameterKind::Text | ParameterKind::Name | ParameterKind::Retention | ParameterKind::OneOf(_) => {
            as_it_is()
        }
        ParameterKind::Boolean => text.parse::<bool>().map_or_else(|_| as_it_is(), Value::from),
        ParameterKind::Number { .. } => text.parse::<i64>().map_or_else(|_| as_it_is(), Value::from),
        ParameterKind::TextList if text.starts_with('[') => json(parameter, text)?,
        ParameterKind::TextList if text.is_empty() => Value::Array(Vec::new()),
        ParameterKind::TextList => text.split(',').map(Value::from).collect(),
        ParameterKind::TextMap if text.starts_with('{') => json(parameter, text)?,
        ParameterKind::TextMap => map(parameter, text)?,
        ParameterKind::Env | ParameterKind::Object => match text.strip_prefix('@') {
            Some(path) => file(parameter, path)?,
            None => json(parameter, text)?,
        },
    })
}

fn map(parameter: &Parameter, text: &str) -> Result<Value, OpError> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            let name = parameter.name;
            OpError::Refused(format!("-p {name}: found {pair:?}; expected {name}=KEY=VALUE[,KEY=VALUE]"))
        })?;
        Ok((key.to_owned(), Value::from(value)))
    });
    pairs.collect::<Result<Map<String, Value>, OpError>>().map(Value::Object)
}

/// What it holds can be a password: it is not quoted.
fn json(parameter: &Parameter, text: &str) -> Result<Value, OpError> {
    serde_json::from_str(text).map_err(|error| {
        let Parameter { name, .. } = parameter;
        let (line, column) = (error.line(), error.column());
        let file = match parameter.kind {
            ParameterKind::Env | ParameterKind::Object => ", or @FILE",
            _ => "",
        };
        let example = example(parameter).map(|example| format!(" such as '{name}={example}'"));
        OpError::Refused(format!(
            "-p {name}: found no JSON at line {line}, column {column}; expected JSON{}{file}",
            example.unwrap_or_default()
        ))
    })
}

/// The reference writes examples in YAML.
fn example(parameter: &Parameter) -> Option<Value> {
    serde_saphyr::from_str(parameter.example).ok().filter(|example: &Value| !example.is_null())
}

/// A file of YAML or JSON.
fn file(parameter: &Parameter, path: &str) -> Result<Value, OpError> {
    let bad = |what: String| {
        OpError::Refused(format!("-p {}: {path}: {what}; expected {}", parameter.name, parameter.expected()))
    };
    let size = std::fs::metadata(path).map_err(|error| bad(format!("failed to read: {error}")))?.len();
    if size > MAX_FILE {
        return Err(bad(format!("found {size} bytes; expected at most {MAX_FILE}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(format!("failed to read: {error}")))?;
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
        let place = error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
        bad(format!("found neither YAML nor JSON{}", place.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(template: &str, pairs: &[&str]) -> Result<Value, String> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        let template = Template::named(template).unwrap();
        read(template, &pairs).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn values_get_the_type_of_their_parameter() {
        let told = [
            (
                "backup.velero",
                &["retention=30d", "snapshotVolumes=false"][..],
                json!({"retention": "30d", "snapshotVolumes": false}),
            ),
            (
                "backup.velero",
                &["excludedResources=events,secrets", "excludedResources=pods"],
                json!({"excludedResources": ["events", "secrets", "pods"]}),
            ),
            (
                "restore.velero",
                &["backupName=a", "namespaceMapping=a=b,c=d", "namespaceMapping={\"e\":\"f\"}"],
                json!({"backupName": "a", "namespaceMapping": {"a": "b", "c": "d", "e": "f"}}),
            ),
            (
                "runCommand.job",
                &["image=tools:1", "command=[\"sh\",\"-c\"]", "args=[\"echo a,b\"]", "backoffLimit=0"],
                json!({"image": "tools:1", "command": ["sh", "-c"], "args": ["echo a,b"], "backoffLimit": 0}),
            ),
            (
                "runCommand.job",
                &["image=a=b", "env={\"A\": \"1\"}"],
                json!({"image": "a=b", "env": {"A": "1"}}),
            ),
            // What does not fit is for the check of the whole to say.
            ("backup.velero", &["snapshotVolumes=maybe"], json!({"snapshotVolumes": "maybe"})),
        ];
        for (template, pairs, wanted) in told {
            assert_eq!(given(template, pairs), Ok(wanted), "{pairs:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_without_quoting_what_may_be_secret() {
        let told = [
            (
                "backup.velero",
                &["retention"][..],
                "-p \"retention\": found no name and '='; expected -p KEY=VALUE",
            ),
            ("backup.velero", &["=x"], "-p \"=x\": found no name and '='; expected -p KEY=VALUE"),
            ("backup.velero", &["ttl=1h", "ttl=2h"], "-p ttl: found it twice; expected it once"),
            (
                "restore.velero",
                &["namespaceMapping=a"],
                "-p namespaceMapping: found \"a\"; expected namespaceMapping=KEY=VALUE[,KEY=VALUE]",
            ),
            (
                "upgrade.helm",
                &["valuesPatch={\"password\": hunter2}"],
                "-p valuesPatch: found no JSON at line 1, column 14; expected JSON such as 'valuesPatch={\"replicas\":2}', or @FILE",
            ),
            // As the reference writes it, in YAML.
            (
                "runCommand.job",
                &["command=[/bin/sh, -c]"],
                "-p command: found no JSON at line 1, column 2; expected JSON such as 'command=[\"/bin/sh\",\"-c\"]'",
            ),
        ];
        for (template, pairs, wanted) in told {
            assert_eq!(given(template, pairs).unwrap_err(), wanted, "{pairs:?}");
        }
        let unknown = given("backup.velero", &["retension=1d"]).unwrap_err();
        assert!(
            unknown.starts_with(
                "backup.velero has no parameter \"retension\"; did you mean retention? It has retention, ttl"
            ),
            "{unknown}"
        );
        let absent = given("upgrade.helm", &["valuesPatch=@/nonexistent"]).unwrap_err();
        assert!(absent.starts_with("-p valuesPatch: /nonexistent: failed to read: "), "{absent}");
    }
}
