//! Where an application is reached, from the Services and Ingresses of its release. Only what was observed: an address
//! that nothing serves yet is not listed.

mod ingresses;
mod services;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use vworkspace_api::application_instance::Endpoint;

/// As many as the status holds.
const LIMIT: usize = 64;

/// How useful an address is to a user; the most useful first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// The host that the spec names.
    ChosenHost,
    Ingress,
    LoadBalancer,
    Cluster,
    /// Leads to single pods, or out of the cluster.
    Indirect,
}

/// An address with its place in the list.
struct Found {
    reach: Reach,
    endpoint: Endpoint,
}

/// The addresses of an application, the most useful first; `host` is `spec.integrations.ingress.host`.
pub(crate) fn endpoints<'a>(
    services: impl IntoIterator<Item = &'a Service>,
    ingresses: impl IntoIterator<Item = &'a Ingress>,
    host: Option<&str>,
) -> Vec<Endpoint> {
    let ingresses = ingresses.into_iter().filter(|ingress| ingress.metadata.deletion_timestamp.is_none());
    let services = services.into_iter().filter(|service| service.metadata.deletion_timestamp.is_none());
    let mut found: Vec<_> = ingresses
        .flat_map(|ingress| ingresses::found(ingress, host))
        .chain(services.flat_map(services::found))
        .collect();
    found.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut seen = BTreeSet::new();
    found.retain(|found| seen.insert(found.endpoint.url.clone()));
    found.into_iter().take(LIMIT).map(|found| found.endpoint).collect()
}

/// The same objects in any order give the same list.
fn place(found: &Found) -> (Reach, &str, &str) {
    (found.reach, &found.endpoint.name, &found.endpoint.url)
}

/// A host as it stands in a URL.
fn in_url(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests;
