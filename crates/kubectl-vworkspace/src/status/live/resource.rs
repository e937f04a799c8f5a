//! What `deploy/web` means: arguments taken apart, types looked up among those that the cluster serves.

use kube::Client;
use kube::core::discovery::v2::{APIGroupDiscoveryList, APIResourceDiscovery};
use kube::discovery::ApiResource;

use super::LiveError;

/// A type, and perhaps one name of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// As the user wrote it.
    pub kind: String,
    /// All objects if absent.
    pub name: Option<String>,
}

impl Request {
    /// `TYPE/NAME...`, or `TYPE[,TYPE...] [NAME...]`, as in kubectl.
    ///
    /// # Errors
    ///
    /// What is wrong, with the argument.
    pub fn parse(arguments: &[String]) -> Result<Vec<Request>, String> {
        if arguments.iter().any(|argument| argument.contains('/')) {
            return arguments.iter().map(|argument| Request::with_slash(argument)).collect();
        }
        let Some((kinds, names)) = arguments.split_first() else {
            return Ok(Vec::new());
        };
        let kinds = kinds.split(',').map(str::to_owned).collect::<Vec<_>>();
        if kinds.iter().any(String::is_empty) {
            return Err(format!("expected TYPE or TYPE,TYPE, found {:?}", kinds.join(",")));
        }
        Ok(match names {
            [] => kinds.into_iter().map(|kind| Request { kind, name: None }).collect(),
            names => {
                let pairs = kinds.iter().flat_map(|kind| names.iter().map(move |name| (kind, name)));
                pairs.map(|(kind, name)| Request { kind: kind.clone(), name: Some(name.clone()) }).collect()
            }
        })
    }

    fn with_slash(argument: &str) -> Result<Request, String> {
        match argument.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Request { kind: kind.to_owned(), name: Some(name.to_owned()) })
            }
            _ => Err(format!("expected TYPE/NAME, found {argument:?}; types alone and TYPE/NAME do not mix")),
        }
    }
}

/// A type that the cluster serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// What kube needs to address it.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    names: Vec<String>,
    categories: Vec<String>,
}

/// All types that the cluster serves; core first, then groups and versions as the server prefers them.
#[derive(Debug, Default)]
pub struct Catalogue {
    kinds: Vec<ServedKind>,
}

impl Catalogue {
    pub(super) async fn discover(client: &Client) -> Result<Catalogue, LiveError> {
        let failed = |cause| LiveError::Request {
            action: "ask the cluster which types it serves".to_owned(),
            cause: Box::new(cause),
        };
        let core = client.list_core_api_versions_aggregated().await.map_err(failed)?;
        let groups = client.list_api_groups_aggregated().await.map_err(failed)?;
        Ok(Catalogue::of([core, groups]))
    }

    /// From what the server answers.
    pub fn of(lists: impl IntoIterator<Item = APIGroupDiscoveryList>) -> Catalogue {
        let mut kinds = Vec::new();
        for group in lists.into_iter().flat_map(|list| list.items) {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            for version in group.versions {
                let version_name = version.version.unwrap_or_default();
                let served = version.resources.into_iter();
                kinds.extend(served.filter_map(|resource| ServedKind::of(&name, &version_name, resource)));
            }
        }
        Catalogue { kinds }
    }

    /// The type called `name`: plural, singular, short name or kind, alone or with `.group` or `.version.group`;
    /// or all types of a category (`all`).
    ///
    /// # Errors
    ///
    /// What the user should know if there is none.
    pub fn find(&self, name: &str) -> Result<Vec<&ServedKind>, String> {
        let wanted = name.to_ascii_lowercase();
        if let Some(kind) = self.kinds.iter().find(|kind| kind.is_called(&wanted)) {
            return Ok(vec![kind]);
        }
        let mut members: Vec<&ServedKind> = Vec::new();
        for kind in self.kinds.iter().filter(|kind| kind.categories.contains(&wanted)) {
            let same = |other: &&ServedKind| {
                other.resource.group == kind.resource.group && other.resource.plural == kind.resource.plural
            };
            if !members.iter().any(same) {
                members.push(kind);
            }
        }
        if members.is_empty() {
            let hint = self.similar(&wanted);
            return Err(format!(
                "the cluster serves no type called {name:?}{hint}; `kubectl api-resources` lists what it serves"
            ));
        }
        Ok(members)
    }

    fn similar(&self, wanted: &str) -> String {
        let stem: String = wanted.chars().take(4).collect();
        let mut close: Vec<String> =
            self.kinds.iter().map(ServedKind::full_name).filter(|name| name.starts_with(&stem)).collect();
        close.dedup();
        close.truncate(3);
        if close.is_empty() { String::new() } else { format!(" (close: {})", close.join(", ")) }
    }
}

impl ServedKind {
    fn of(group: &str, version: &str, served: APIResourceDiscovery) -> Option<ServedKind> {
        let kind = served.response_kind?;
        if !served.verbs.iter().any(|verb| verb == "list") {
            return None;
        }
        // A type may answer with a kind of another group or version, and then says so.
        let group = kind.group.filter(|group| !group.is_empty()).unwrap_or_else(|| group.to_owned());
        let version =
            kind.version.filter(|version| !version.is_empty()).unwrap_or_else(|| version.to_owned());
        let (kind, plural) = (kind.kind?, served.resource?);
        let mut names = vec![plural.clone(), kind.to_ascii_lowercase()];
        names.extend(served.singular_resource);
        names.extend(served.short_names);
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        Some(ServedKind {
            resource: ApiResource { group, version, api_version, kind, plural },
            namespaced: served.scope.as_deref() == Some("Namespaced"),
            names,
            categories: served.categories,
        })
    }

    /// `deployments.apps`
    pub fn full_name(&self) -> String {
        let ApiResource { group, plural, .. } = &self.resource;
        if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") }
    }

    fn is_called(&self, wanted: &str) -> bool {
        let ApiResource { group, version, .. } = &self.resource;
        self.names.iter().any(|name| match wanted.strip_prefix(name.as_str()) {
            Some("") => true,
            Some(suffix) => suffix.strip_prefix('.').is_some_and(|suffix| {
                suffix == group
                    || suffix.strip_prefix(version.as_str()).is_some_and(|rest| match rest {
                        "" => group.is_empty(),
                        rest => rest.strip_prefix('.') == Some(group),
                    })
            }),
            None => false,
        })
    }
}
