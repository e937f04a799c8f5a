//! What ConfigMap `vworkspace-catalog-policy` says: maintenance windows for many instances, where charts may come from,
//! and whose changes need an approval.
//!
//! Absent or empty is no window and no approval, and every source is allowed. What cannot be read is a problem and never nothing, a
//! misspelt key included: whoever wrote it wanted to forbid something. What else can be read holds all the same.

mod chart_sources;
mod problem_log;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Spanned;
use vworkspace_api::Duration;
use vworkspace_api::application_instance::MaintenanceWindow;

use crate::policy::windows::Window;
use chart_sources::Address;
pub(crate) use problem_log::ProblemLog;

const WINDOWS: &str = "maintenanceWindows";
const SOURCES: &str = "allowedChartSources";
const APPROVALS: &str = "requiredApprovals";
const KEYS: [&str; 3] = [WINDOWS, SOURCES, APPROVALS];
/// As many problems are told in a message.
const MOST_TOLD: usize = 5;

/// What was understood of a policy, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CatalogPolicy {
    windows: Vec<(MaintenanceWindow, Reach)>,
    /// Nothing if charts may come from everywhere.
    sources: Option<Vec<Address>>,
    /// Whose changes need an approval.
    approvals: Vec<Reach>,
    problems: Vec<PolicyError>,
}

/// To whom something applies; an empty list leaves nobody out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reach {
    catalog_ids: Vec<String>,
    namespaces: Vec<String>,
}

impl Reach {
    fn holds(&self, namespace: &str, catalog_id: &str) -> bool {
        let names = |list: &[String], name: &str| list.is_empty() || list.iter().any(|item| item == name);
        names(&self.namespaces, namespace) && names(&self.catalog_ids, catalog_id)
    }
}

/// A part of a policy that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyError {
    /// Nothing if it is about the whole ConfigMap.
    key: Option<String>,
    /// Of the key's text, counted from 1.
    line: Option<u64>,
    /// What was found, and what is expected.
    problem: String,
}

impl PolicyError {
    /// Whether what this key was to say may be lost by it. A key that nobody knows may be any one, misspelt.
    fn hides(&self, key: &str) -> bool {
        self.key.as_deref().is_none_or(|found| found == key || !KEYS.contains(&found))
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigMap vworkspace-catalog-policy")?;
        if let Some(key) = &self.key {
            write!(f, ", key {key}")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// A window as the policy writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenWindow {
    name: String,
    schedule: String,
    duration: Duration,
    #[serde(default = "utc")]
    time_zone: String,
    #[serde(default)]
    catalog_ids: Vec<String>,
    #[serde(default)]
    namespaces: Vec<String>,
}

fn utc() -> String {
    "UTC".to_owned()
}

impl CatalogPolicy {
    /// Reads the data of the ConfigMap: all that can be read of it.
    pub(crate) fn read(data: &BTreeMap<String, String>) -> Self {
        let unknown = data.keys().filter(|key| !KEYS.contains(&key.as_str()));
        let mut problems = unknown.map(|key| unknown_key(key)).collect();
        let text = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
        let windows = windows(text(WINDOWS), &mut problems);
        let sources = sources(text(SOURCES), &mut problems);
        let approvals =
            list(APPROVALS, "entries with catalogIds and namespaces", text(APPROVALS), &mut problems);
        let approvals = approvals.into_iter().map(|(_, reach)| reach).collect();
        Self { windows, sources, approvals, problems }
    }

    /// A policy that is there, or may be, and of which nothing can be read.
    pub(crate) fn unreadable(why: &str) -> Self {
        let problem = format!("cannot be read: {why}");
        let problems = vec![PolicyError { key: None, line: None, problem }];
        Self { sources: Some(Vec::new()), problems, ..Self::default() }
    }

    /// What cannot be read, if anything cannot.
    pub(crate) fn problem(&self) -> Option<String> {
        let told = self.problems.iter().take(MOST_TOLD).map(ToString::to_string).collect::<Vec<_>>();
        let told = (!told.is_empty()).then(|| told.join("; "))?;
        Some(match self.problems.len().saturating_sub(MOST_TOLD) {
            0 => told,
            more => format!("{told}; and {more} more"),
        })
    }

    /// The problem for which a window may be missing among those that are known.
    pub(crate) fn hides_windows(&self) -> Option<&PolicyError> {
        self.problems.iter().find(|problem| problem.hides(WINDOWS))
    }

    /// Whether a source may be missing among those that are allowed.
    pub(crate) fn hides_sources(&self) -> bool {
        self.problems.iter().any(|problem| problem.hides(SOURCES))
    }

    /// The windows that apply to an instance.
    pub(crate) fn windows_of(&self, namespace: &str, catalog_id: &str) -> Vec<MaintenanceWindow> {
        let windows = self.windows.iter().filter(|(_, reach)| reach.holds(namespace, catalog_id));
        windows.map(|(window, _)| window.clone()).collect()
    }

    /// Whether the changes of an instance need an approval. They do if nobody can tell that they do not.
    pub(crate) fn requires_approval(&self, namespace: &str, catalog_id: &str) -> bool {
        self.approvals.iter().any(|reach| reach.holds(namespace, catalog_id))
            || self.problems.iter().any(|problem| problem.hides(APPROVALS))
    }

    /// Whether a window of this name can be read, whomever it applies to.
    pub(crate) fn knows_window(&self, name: &str) -> bool {
        self.windows.iter().any(|(window, _)| window.name == name)
    }

    /// Whether a chart may come from this address: the whole one that Flux is given, the chart's name included.
    pub(crate) fn allows(&self, url: &str) -> bool {
        self.sources.as_ref().is_none_or(|sources| {
            Address::parse(url).is_ok_and(|chart| sources.iter().any(|source| source.holds(&chart)))
        })
    }

    /// The allowed sources, for messages.
    pub(crate) fn allowed_sources(&self) -> impl Iterator<Item = String> {
        self.sources.iter().flatten().map(ToString::to_string)
    }
}

fn unknown_key(key: &str) -> PolicyError {
    let problem = format!("is no key of a policy; expected {}", KEYS.join(", "));
    PolicyError { key: Some(key.to_owned()), line: None, problem }
}

fn windows(text: &str, problems: &mut Vec<PolicyError>) -> Vec<(MaintenanceWindow, Reach)> {
    let mut windows: Vec<(MaintenanceWindow, Reach)> = Vec::new();
    for (line, written) in list::<WrittenWindow>(WINDOWS, "maintenance windows", text, problems) {
        let WrittenWindow { name, schedule, duration, time_zone, catalog_ids, namespaces } = written;
        let window = MaintenanceWindow { name, schedule, duration, time_zone };
        let mut bad =
            |problem| problems.push(PolicyError { key: Some(WINDOWS.to_owned()), line: Some(line), problem });
        if let Err(error) = Window::read(&window) {
            bad(error.to_string());
            continue;
        }
        // It holds all the same: two of one name are more than was meant, and none would be less.
        if window.name.is_empty() || windows.iter().any(|(other, _)| other.name == window.name) {
            let found = &window.name;
            bad(format!("name is '{found}'; expected one that no other window in the list has"));
        }
        windows.push((window, Reach { catalog_ids, namespaces }));
    }
    windows
}

/// Nothing if charts may come from everywhere. A list in which nothing can be read allows nothing.
fn sources(text: &str, problems: &mut Vec<PolicyError>) -> Option<Vec<Address>> {
    let known = problems.len();
    let mut sources = Vec::new();
    for (line, written) in list::<String>(SOURCES, "addresses", text, problems) {
        match Address::parse(&written) {
            Ok(source) => sources.push(source),
            Err(found) => problems.push(PolicyError {
                key: Some(SOURCES.to_owned()),
                line: Some(line),
                problem: format!(
                    "{found}; expected an address such as oci://registry.example.org/charts or \
                     https://charts.example.org"
                ),
            }),
        }
    }
    (!sources.is_empty() || problems.len() > known).then_some(sources)
}

/// The items of a YAML list that can be read, each with its line; none for an empty text.
fn list<T: DeserializeOwned>(
    key: &str,
    of: &str,
    text: &str,
    problems: &mut Vec<PolicyError>,
) -> Vec<(u64, T)> {
    let whole: Result<Option<Vec<Spanned<T>>>, _> = serde_saphyr::from_str(text);
    let error = match whole {
        Ok(items) => {
            return items.into_iter().flatten().map(|item| (item.referenced.line(), item.value)).collect();
        }
        Err(error) => error,
    };
    let bad = |line, found: &str| PolicyError {
        key: Some(key.to_owned()),
        line,
        problem: format!("{found}; expected a YAML list of {of}"),
    };
    // The reader stops at the first item that it cannot use, and knows its place best.
    problems.push(bad(error.location().map(|location| location.line()), &first_line(&error)));
    let items: Option<Vec<Spanned<Value>>> = serde_saphyr::from_str(text).unwrap_or_default();
    let read = items.into_iter().flatten().map(|item| (item.referenced.line(), T::deserialize(item.value)));
    let (mut good, mut is_first) = (Vec::new(), true);
    for (line, item) in read {
        match item {
            Ok(item) => good.push((line, item)),
            Err(_) if std::mem::take(&mut is_first) => {}
            Err(error) => problems.push(bad(Some(line), &error.to_string())),
        }
    }
    good
}

/// The reader's own words, without the excerpt of the text.
fn first_line(error: &serde_saphyr::Error) -> String {
    error.without_snippet().to_string().lines().next().unwrap_or_default().to_owned()
}
