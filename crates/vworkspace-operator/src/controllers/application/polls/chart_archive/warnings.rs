//! What a user should know about the chart he runs, and the values he gives it.

use serde_json::{Map, Value};

use super::{ChartFacts, DeprecatedValue};

/// As many keys are named; the rest is counted.
const NAMED: usize = 16;

/// The chart, and the keys in these values, that are deprecated.
pub(crate) fn warnings(facts: &ChartFacts, inline_values: &Map<String, Value>) -> Vec<String> {
    let chart = facts
        .deprecated
        .then(|| format!("the chart {} {} is marked as deprecated", facts.name, facts.version));
    let used: Vec<_> =
        facts.deprecated_values.iter().filter(|value| is_set(inline_values, &value.path)).collect();
    let rest = used.len().saturating_sub(NAMED);
    let rest = (rest > 0).then(|| format!("{rest} more values keys are deprecated"));
    chart.into_iter().chain(used.into_iter().take(NAMED).map(warning)).chain(rest).collect()
}

fn warning(DeprecatedValue { path, note }: &DeprecatedValue) -> String {
    let keys: Vec<_> =
        path.iter().map(|key| if key.contains('.') { format!("\"{key}\"") } else { key.clone() }).collect();
    let key = keys.join(".");
    match note.as_str() {
        "" => format!("values key {key} is deprecated"),
        note => format!("values key {key} is deprecated: {note}"),
    }
}

/// Whether a key is given. null is how one takes a key out of the chart's own values.
fn is_set(values: &Map<String, Value>, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let found = rest.iter().try_fold(values.get(first), |value, key| Some(value?.as_object()?.get(key)));
    found.flatten().is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn web(deprecated: bool, values: &[(&[&str], &str)]) -> ChartFacts {
        let deprecated_values = values
            .iter()
            .map(|(path, note)| DeprecatedValue {
                path: path.iter().copied().map(str::to_owned).collect(),
                note: (*note).to_owned(),
            })
            .collect();
        ChartFacts { name: "web".into(), version: "1.2.0".into(), deprecated, deprecated_values }
    }

    fn told(facts: &ChartFacts, values: &Value) -> Vec<String> {
        warnings(facts, values.as_object().unwrap())
    }

    #[test]
    fn a_deprecated_chart_and_the_deprecated_keys_in_use_are_told() {
        let keys: [(&[&str], &str); 3] =
            [(&["ingress", "tls"], "use ingress.certificates"), (&["legacy"], ""), (&["pod", "a.b/c"], "")];
        let tls = "values key ingress.tls is deprecated: use ingress.certificates";
        let table = [
            (json!({}), vec![]),
            (json!({"ingress": {"enabled": true}, "replicas": 2}), vec![]),
            (json!({"ingress": {"tls": []}}), vec![tls]),
            (json!({"ingress": {"tls": false}}), vec![tls]),
            (json!({"ingress": {"tls": null}}), vec![]),
            (json!({"ingress": "tls"}), vec![]),
            (json!({"legacy": 1, "ingress": {"tls": {}}}), vec![tls, "values key legacy is deprecated"]),
            (json!({"pod": {"a.b/c": "x"}}), vec!["values key pod.\"a.b/c\" is deprecated"]),
        ];
        for (values, expected) in table {
            assert_eq!(told(&web(false, &keys), &values), expected, "{values}");
        }
        assert_eq!(
            told(&web(true, &keys), &json!({"legacy": 1})),
            ["the chart web 1.2.0 is marked as deprecated", "values key legacy is deprecated"]
        );
    }

    #[test]
    fn many_keys_are_counted() {
        let names: Vec<_> = (10..30).map(|number| number.to_string()).collect();
        let paths: Vec<_> = names.iter().map(|name| [name.as_str()]).collect();
        let keys: Vec<_> = paths.iter().map(|path| (path.as_slice(), "")).collect();
        let values = names.iter().map(|name| (name.clone(), json!(1))).collect();
        let told = warnings(&web(false, &keys), &values);
        assert_eq!(told.len(), 17);
        assert_eq!(told.last().map(String::as_str), Some("4 more values keys are deprecated"));
    }
}
