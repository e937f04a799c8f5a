//! What a request of a client is about.

use http::{Method, Uri};

/// What a request is, as far as faults tell them apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Request {
    /// It may change something.
    Write(Target),
    /// The lease: it says only that somebody is alive.
    Lease,
    Watch(Target),
    List(Target),
    /// Reads of one object, discovery.
    Other,
}

/// What it is about, in the words of its path.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Target {
    /// Such as `helmreleases`.
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// What is asked for of it: lists of the same selection can stand for each other.
    pub(crate) selection: String,
}

impl Target {
    /// `helmreleases web`, for the log.
    pub(crate) fn describe(&self) -> String {
        let subresource =
            if self.subresource.is_empty() { String::new() } else { format!("/{}", self.subresource) };
        format!("{}{subresource} {}", self.plural, self.name).trim_end().to_owned()
    }
}

impl Request {
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let query: Vec<&str> = uri.query().unwrap_or_default().split('&').collect();
        let Some(target) = target(uri.path(), &query) else { return Self::Other };
        let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        match () {
            () if target.plural == "leases" => Self::Lease,
            () if !is_read => Self::Write(target),
            () if query.contains(&"watch=true") => Self::Watch(target),
            () if target.name.is_empty() => Self::List(target),
            () => Self::Other,
        }
    }
}

/// Reads `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE`, or the same with less in it.
fn target(path: &str, query: &[&str]) -> Option<Target> {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (["api", _, rest @ ..] | ["apis", _, _, rest @ ..]) = words.as_slice() else { return None };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let word = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
    let selectors = query.iter().filter(|part| part.contains("Selector=")).copied();
    let selection: Vec<&str> = std::iter::once(namespace).chain(selectors).collect();
    rest.first()?;
    Some(Target { plural: word(0), name: word(1), subresource: word(2), selection: selection.join("&") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_by_method_path_and_query() {
        let releases = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/shop/helmreleases";
        let events = "/apis/events.k8s.io/v1/namespaces/shop/events";
        let table = [
            (Method::GET, format!("{releases}?limit=500"), "list helmreleases"),
            (Method::GET, format!("{releases}?watch=true&resourceVersion=7"), "watch helmreleases"),
            (Method::GET, format!("{releases}/web"), "other"),
            (Method::PATCH, format!("{releases}/web/status?force=true"), "write helmreleases/status web"),
            (Method::DELETE, format!("{releases}/web"), "write helmreleases web"),
            (Method::POST, events.to_owned(), "write events"),
            (Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/shop/leases/a".to_owned(), "lease"),
            (Method::GET, "/api/v1/namespaces/kube-system".to_owned(), "other"),
            (Method::GET, "/version".to_owned(), "other"),
        ];
        for (method, uri, expected) in table {
            let found = match Request::of(&method, &uri.parse().expect("a URI")) {
                Request::Write(target) => format!("write {}", target.describe()),
                Request::Watch(target) => format!("watch {}", target.describe()),
                Request::List(target) => format!("list {}", target.describe()),
                Request::Lease => "lease".to_owned(),
                Request::Other => "other".to_owned(),
            };
            assert_eq!(found, expected, "{method} {uri}");
        }
    }

    #[test]
    fn lists_with_other_selectors_are_others() {
        let list = |query: &str| {
            let uri = format!("/api/v1/namespaces/shop/services?{query}");
            Request::of(&Method::GET, &uri.parse().expect("a URI"))
        };
        assert_eq!(list("labelSelector=a&limit=1"), list("labelSelector=a&limit=2"));
        assert_ne!(list("labelSelector=a"), list("labelSelector=b"));
    }
}
