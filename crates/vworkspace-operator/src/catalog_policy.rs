//! What ConfigMap `vworkspace-catalog-policy` says: maintenance windows for many instances, and where charts may come
//! from.
//!
//! Absent or empty is no window, and every source is allowed. A policy that cannot be read is an error and not an empty
//! one, a misspelt key included: whoever wrote it wanted to forbid something.

mod chart_sources;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::Spanned;
use vworkspace_api::Duration;
use vworkspace_api::application_instance::MaintenanceWindow;

use crate::windows::Window;
use chart_sources::Address;

const WINDOWS: &str = "maintenanceWindows";
const SOURCES: &str = "allowedChartSources";

/// A policy that was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CatalogPolicy {
    windows: Vec<(MaintenanceWindow, Reach)>,
    sources: Vec<Address>,
}

/// To whom a window applies; an empty list leaves nobody out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reach {
    catalog_ids: Vec<String>,
    namespaces: Vec<String>,
}

/// A policy that was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyError {
    pub(crate) key: String,
    /// Of the key's text, counted from 1.
    pub(crate) line: Option<u64>,
    /// What was found, and what is expected.
    pub(crate) problem: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigMap vworkspace-catalog-policy, key {}", self.key)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for PolicyError {}

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
    /// Reads the data of the ConfigMap.
    pub(crate) fn read(data: &BTreeMap<String, String>) -> Result<Self, PolicyError> {
        if let Some(key) = data.keys().find(|key| ![WINDOWS, SOURCES].contains(&key.as_str())) {
            let problem = format!("is no key of a policy; expected {WINDOWS} or {SOURCES}");
            return Err(PolicyError { key: key.clone(), line: None, problem });
        }
        let text = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
        Ok(Self { windows: windows(text(WINDOWS))?, sources: sources(text(SOURCES))? })
    }

    /// The windows that apply to an instance.
    pub(crate) fn windows_of(&self, namespace: &str, catalog_id: &str) -> Vec<MaintenanceWindow> {
        let names = |list: &[String], name: &str| list.is_empty() || list.iter().any(|item| item == name);
        self.windows
            .iter()
            .filter(|(_, reach)| names(&reach.namespaces, namespace) && names(&reach.catalog_ids, catalog_id))
            .map(|(window, _)| window.clone())
            .collect()
    }

    /// Whether a chart may come from this address: the whole one that Flux is given, the chart's name included.
    pub(crate) fn allows(&self, url: &str) -> bool {
        self.sources.is_empty()
            || Address::parse(url).is_ok_and(|chart| self.sources.iter().any(|source| source.holds(&chart)))
    }

    /// The allowed sources, for messages.
    pub(crate) fn allowed_sources(&self) -> impl Iterator<Item = String> {
        self.sources.iter().map(ToString::to_string)
    }
}

fn windows(text: &str) -> Result<Vec<(MaintenanceWindow, Reach)>, PolicyError> {
    let mut windows: Vec<(MaintenanceWindow, Reach)> = Vec::new();
    for Spanned { value, referenced, .. } in list::<WrittenWindow>(WINDOWS, "maintenance windows", text)? {
        let WrittenWindow { name, schedule, duration, time_zone, catalog_ids, namespaces } = value;
        let window = MaintenanceWindow { name, schedule, duration, time_zone };
        let bad = |problem| PolicyError { key: WINDOWS.to_owned(), line: Some(referenced.line()), problem };
        if let Err(error) = Window::read(&window) {
            return Err(bad(error.to_string()));
        }
        if window.name.is_empty() || windows.iter().any(|(other, _)| other.name == window.name) {
            let found = &window.name;
            return Err(bad(format!("name is '{found}'; expected one that no other window in the list has")));
        }
        windows.push((window, Reach { catalog_ids, namespaces }));
    }
    Ok(windows)
}

fn sources(text: &str) -> Result<Vec<Address>, PolicyError> {
    let parse = |Spanned { value, referenced, .. }: Spanned<String>| {
        Address::parse(&value).map_err(|found| PolicyError {
            key: SOURCES.to_owned(),
            line: Some(referenced.line()),
            problem: format!(
                "{found}; expected an address such as oci://registry.example.org/charts or \
                 https://charts.example.org"
            ),
        })
    };
    list(SOURCES, "addresses", text)?.into_iter().map(parse).collect()
}

/// The items of a YAML list, each with its place; none for an empty text.
fn list<T: DeserializeOwned>(key: &str, of: &str, text: &str) -> Result<Vec<Spanned<T>>, PolicyError> {
    let items: Option<Vec<Spanned<T>>> = serde_saphyr::from_str(text).map_err(|error| PolicyError {
        key: key.to_owned(),
        line: error.location().map(|location| location.line()),
        problem: format!("{}; expected a YAML list of {of}", first_line(&error)),
    })?;
    Ok(items.unwrap_or_default())
}

/// The reader's own words, without the excerpt of the text.
fn first_line(error: &serde_saphyr::Error) -> String {
    error.without_snippet().to_string().lines().next().unwrap_or_default().to_owned()
}
