//! The addresses of an Ingress: its hosts with their paths.

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressRule, IngressSpec};
use vworkspace_api::application_instance::Endpoint;

use super::{Found, Reach, in_url};

/// What cert-manager serves to prove that the host is ours.
const CHALLENGES: &str = "/.well-known/acme-challenge";

pub(super) fn found(ingress: &Ingress, chosen: Option<&str>) -> Vec<Found> {
    let Some(spec) = &ingress.spec else { return Vec::new() };
    let rules = spec.rules.iter().flatten();
    rules
        .flat_map(|rule| hosts(ingress, rule, chosen).into_iter().map(move |host| (rule, host)))
        .flat_map(|(rule, host)| paths(rule).into_iter().map(move |path| (host.clone(), path)))
        .map(|(host, path)| {
            let reach = if is_chosen(&host, chosen) { Reach::ChosenHost } else { Reach::Ingress };
            Found { reach, endpoint: endpoint(ingress, spec, &host, &path) }
        })
        .collect()
}

fn endpoint(ingress: &Ingress, spec: &IngressSpec, host: &str, path: &str) -> Endpoint {
    let scheme = if has_tls(spec, host) { "https" } else { "http" };
    Endpoint {
        name: ingress.metadata.name.clone().unwrap_or_default(),
        url: format!("{scheme}://{}{}", in_url(host), path.trim_end_matches('/')),
        type_: Some("ingress".to_owned()),
        notes: host.strip_prefix("*.").map(|domain| format!("any name below {domain}")),
    }
}

/// The hosts of a rule: its own, and the chosen one if it is meant too; without a host the controller's address.
fn hosts(ingress: &Ingress, rule: &IngressRule, chosen: Option<&str>) -> Vec<String> {
    match rule.host.as_deref().filter(|host| !host.is_empty()) {
        Some(host) => {
            let covered = chosen.filter(|chosen| *chosen != host && covers(host, chosen));
            covered.into_iter().chain([host]).map(str::to_owned).collect()
        }
        None => {
            let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
            let addresses = balancer.and_then(|balancer| balancer.ingress.as_ref()).into_iter().flatten();
            addresses.filter_map(|address| address.hostname.clone().or_else(|| address.ip.clone())).collect()
        }
    }
}

fn is_chosen(host: &str, chosen: Option<&str>) -> bool {
    chosen.is_some_and(|chosen| chosen.eq_ignore_ascii_case(host))
}

/// A wildcard stands for exactly one label.
fn covers(pattern: &str, host: &str) -> bool {
    let Some(domain) = pattern.strip_prefix("*.") else { return pattern.eq_ignore_ascii_case(host) };
    host.split_once('.').is_some_and(|(label, rest)| label != "*" && rest.eq_ignore_ascii_case(domain))
}

/// An entry without hosts holds for all of them.
fn has_tls(spec: &IngressSpec, host: &str) -> bool {
    spec.tls.iter().flatten().any(|tls| match tls.hosts.as_deref() {
        None | Some([]) => true,
        Some(hosts) => hosts.iter().any(|pattern| pattern == host || covers(pattern, host)),
    })
}

/// A rule without paths leads everything to the default backend.
fn paths(rule: &IngressRule) -> Vec<String> {
    let paths = rule.http.as_ref().map(|http| http.paths.as_slice()).unwrap_or_default();
    if paths.is_empty() {
        return vec!["/".to_owned()];
    }
    paths.iter().map(path).filter(|path| !path.starts_with(CHALLENGES)).collect()
}

/// Some controllers take patterns, such as `/shop(/|$)(.*)`: their plain start is an address.
fn path(path: &HTTPIngressPath) -> String {
    let path = path.path.as_deref().unwrap_or("/");
    match path.split_once(|c| "()[]{}*+?|^$\\".contains(c)) {
        Some((start, _)) => start.trim_end_matches('.').to_owned(),
        None => path.to_owned(),
    }
}
