//! What an upgrade changes in the spec of its target, and whether it is still there.

use kube::ResourceExt;
use serde_json::{Map, Value, json};
use vworkspace_api::application_instance::{ApplicationInstance, Chart, ChartSource, Values, ValuesSource};
use vworkspace_api::operation::UpgradeParameters;

/// Why this instance cannot be changed like this.
pub(super) fn refused(parameters: &UpgradeParameters, instance: &ApplicationInstance) -> Option<String> {
    let name = instance.name_any();
    let Some(chart) = &instance.spec.chart else {
        return Some(format!(
            "spec.targetRef.name: ApplicationInstance {name} has no spec.chart; expected one that is installed from a chart"
        ));
    };
    if chart.version.is_empty() {
        return Some(format!(
            "spec.targetRef.name: ApplicationInstance {name} has no spec.chart.version, {} decides it; expected one that \
             names its version",
            source(chart)
        ));
    }
    if let Some(version) = parameters.target_version.as_ref().filter(|version| !is_exact(version)) {
        return Some(format!(
            "spec.parameters.targetVersion: found '{version}'; expected an exact version such as 1.2.3; no range, no tag \
             such as latest"
        ));
    }
    let patch = parameters.values_patch.as_ref()?;
    if let Some(elsewhere) = instance.spec.values.as_ref().and_then(elsewhere) {
        return Some(format!(
            "spec.parameters.valuesPatch: the values of ApplicationInstance {name} come from {elsewhere}, which no \
             operation changes; expected an instance with inline values, or no valuesPatch"
        ));
    }
    let null = patch.iter().find_map(|(name, value)| null_inside(value, name))?;
    Some(format!(
        "spec.parameters.valuesPatch.{null}: found null; expected null only at the top level, where it removes a value"
    ))
}

/// What the chart comes from.
fn source(chart: &Chart) -> String {
    match chart.source() {
        Some(ChartSource::Reference(source)) => format!("{} {}", source.kind.name(), source.name),
        Some(ChartSource::Url(..)) | None => "its source".to_owned(),
    }
}

/// Three numbers, and what may follow them: as the rule of spec.chart.version has it.
pub(super) fn is_exact(version: &str) -> bool {
    let version = version.strip_prefix('v').unwrap_or(version);
    let (version, build) =
        version.split_once('+').map_or((version, None), |(rest, build)| (rest, Some(build)));
    let (version, pre) = version.split_once('-').map_or((version, None), |(rest, pre)| (rest, Some(pre)));
    let is_number = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
            && !part.is_empty()
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    version.split('.').count() == 3
        && version.split('.').all(is_number)
        && pre.is_none_or(is_word)
        && build.is_none_or(is_word)
}

/// Where values are that are not in the instance.
fn elsewhere(values: &Values) -> Option<String> {
    let named = |kind: &str, name: Option<&String>, field: &str| {
        format!("{kind} {} (spec.values.{field})", name.map(String::as_str).unwrap_or_default())
    };
    match values.source {
        ValuesSource::Inline => None,
        ValuesSource::SecretRef => {
            Some(named("Secret", values.secret_ref.as_ref().map(|key| &key.name), "secretRef"))
        }
        ValuesSource::ConfigMapRef => {
            Some(named("ConfigMap", values.config_map_ref.as_ref().map(|key| &key.name), "configMapRef"))
        }
    }
}

/// Where a null stands that a merge patch cannot write: it would remove what it stands for.
fn null_inside(value: &Value, path: &str) -> Option<String> {
    let below = |value: &Value, path: String| match value {
        Value::Null => Some(path),
        value => null_inside(value, &path),
    };
    match value {
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| below(value, format!("{path}.{name}")))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, value)| below(value, format!("{path}[{at}]")))
        }
        _ => None,
    }
}

/// What of the spec has to be written, as a merge patch; empty if it is so already.
pub(super) fn of(parameters: &UpgradeParameters, instance: &ApplicationInstance) -> Map<String, Value> {
    let mut spec = Map::new();
    let version = instance.spec.chart.as_ref().map(|chart| &chart.version);
    if let Some(wanted) = parameters.target_version.as_ref().filter(|wanted| Some(*wanted) != version) {
        spec.insert("chart".to_owned(), json!({ "version": wanted }));
    }
    let is_other = |(name, wanted): &(&String, &Value)| !is_there(instance, name, wanted);
    let values: Map<String, Value> = parameters
        .values_patch
        .iter()
        .flatten()
        .filter(is_other)
        .map(|(name, wanted)| {
            (name.clone(), replacing(inline(instance).and_then(|all| all.get(name)), wanted))
        })
        .collect();
    if !values.is_empty() {
        let source = instance.spec.values.is_none().then(|| ("source".to_owned(), json!("inline")));
        let values = source.into_iter().chain([("inline".to_owned(), Value::Object(values))]).collect();
        spec.insert("values".to_owned(), Value::Object(values));
    }
    spec
}

fn inline(instance: &ApplicationInstance) -> Option<&Map<String, Value>> {
    instance.spec.values.as_ref()?.inline.as_ref()
}

/// Whether a value is as it is wanted: null is one that is not there.
fn is_there(instance: &ApplicationInstance, name: &str, wanted: &Value) -> bool {
    let found = inline(instance).and_then(|values| values.get(name));
    if wanted.is_null() { found.is_none() } else { found == Some(wanted) }
}

/// What makes a merge patch replace a value: what is not wanted any more has to be named.
fn replacing(found: Option<&Value>, wanted: &Value) -> Value {
    let (Some(Value::Object(found)), Value::Object(wanted)) = (found, wanted) else { return wanted.clone() };
    let gone =
        found.keys().filter(|name| !wanted.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = wanted.iter().filter(|(name, value)| found.get(*name) != Some(*value));
    let changed = changed.map(|(name, value)| (name.clone(), replacing(found.get(name), value)));
    Value::Object(gone.chain(changed).collect())
}

/// What of it is not there any more, in words that do not quote values.
pub(super) fn undone(
    parameters: &UpgradeParameters,
    version: &str,
    instance: &ApplicationInstance,
) -> Option<String> {
    let Some(chart) = &instance.spec.chart else { return Some("spec.chart is gone".to_owned()) };
    if chart.version != version {
        return Some(format!("spec.chart.version is '{}', not '{version}' any more", chart.version));
    }
    let patch = parameters.values_patch.as_ref()?;
    if let Some(elsewhere) = instance.spec.values.as_ref().and_then(elsewhere) {
        return Some(format!("the values come from {elsewhere} now"));
    }
    let (name, wanted) = patch.iter().find(|(name, wanted)| !is_there(instance, name, wanted))?;
    Some(match inline(instance).and_then(|values| values.get(name)) {
        None => format!("spec.values.inline.{name} is gone"),
        Some(_) if wanted.is_null() => format!("spec.values.inline.{name} is there again"),
        Some(_) => format!("spec.values.inline.{name} has another value"),
    })
}
