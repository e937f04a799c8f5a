//! Which Services may be asked, and where they are reached.
//!
//! The operator reaches more than a user of one namespace does, and tells what it found: a check must not lead it
//! anywhere else. A Service with a selector leads to pods of its own namespace. One without, or of type ExternalName, leads
//! wherever somebody says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Service, ServiceSpec};

/// Where a Service is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Destination {
    /// At its cluster IPs: no name has to be looked up, so that nobody can change what it stands for.
    ClusterIps(Vec<IpAddr>),
    /// At its pods, which only the cluster's DNS knows.
    Pods,
}

/// Where this Service is reached at this port, or why it is not asked.
pub(crate) fn destination(service: &Service, port: u16) -> Result<Destination, String> {
    let none = ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&none);
    let refused = |why: String| {
        let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
        let name = service.metadata.name.as_deref().unwrap_or_default();
        format!("Service {namespace}/{name} {why}")
    };
    if spec.type_.as_deref() == Some("ExternalName") {
        let outside = spec.external_name.as_deref().unwrap_or_default();
        return Err(refused(format!(
            "is of type ExternalName and leads to '{outside}'; expected one that leads to pods of this namespace"
        )));
    }
    if spec.selector.as_ref().is_none_or(BTreeMap::is_empty) {
        return Err(refused(
            "has no selector, so it can lead anywhere; expected one that leads to pods of this namespace"
                .to_owned(),
        ));
    }
    let ips = spec.cluster_ips.clone().unwrap_or_else(|| spec.cluster_ip.clone().into_iter().collect());
    if ips.iter().any(|ip| ip == "None") {
        return Ok(Destination::Pods);
    }
    let ips: Vec<IpAddr> = ips.iter().filter_map(|ip| ip.parse().ok()).collect();
    if ips.is_empty() {
        return Err(refused("has no cluster IP yet".to_owned()));
    }
    let ports = tcp_ports(spec);
    if !ports.contains(&i32::from(port)) {
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        return Err(refused(format!(
            "has no TCP port {port}; expected one of its ports: {}",
            ports.join(", ")
        )));
    }
    Ok(Destination::ClusterIps(ips))
}

fn tcp_ports(spec: &ServiceSpec) -> Vec<i32> {
    let ports = spec.ports.iter().flatten();
    let tcp = ports.filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
    tcp.map(|port| port.port).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_service_is_asked_only_if_it_leads_to_pods_of_its_namespace() {
        let selector = json!({"app": "web"});
        let ports = json!([{"port": 80}, {"port": 443, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
        let at =
            |ips: &[&str]| Ok(Destination::ClusterIps(ips.iter().map(|ip| ip.parse().unwrap()).collect()));
        let refused = |why: &str| {
            Err(format!("Service shop/web {why}; expected one that leads to pods of this namespace"))
        };
        let unselected = || refused("has no selector, so it can lead anywhere");
        let table: [(Value, u16, Result<Destination, String>); 13] = [
            (json!({"clusterIP": "10.96.0.9", "selector": selector, "ports": ports}), 80, at(&["10.96.0.9"])),
            (
                json!({"type": "LoadBalancer", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9", "fd00::9"],
                    "selector": selector, "ports": ports}),
                443,
                at(&["10.96.0.9", "fd00::9"]),
            ),
            (json!({"clusterIP": "None", "selector": selector, "ports": ports}), 80, Ok(Destination::Pods)),
            // The pods' own ports count there.
            (
                json!({"clusterIP": "None", "clusterIPs": ["None"], "selector": selector}),
                8080,
                Ok(Destination::Pods),
            ),
            (
                json!({"type": "ExternalName", "externalName": "db.other.svc.cluster.local"}),
                80,
                refused("is of type ExternalName and leads to 'db.other.svc.cluster.local'"),
            ),
            // Whatever else it says.
            (
                json!({"type": "ExternalName", "externalName": "169.254.169.254", "selector": selector,
                    "clusterIP": "10.96.0.9", "ports": ports}),
                80,
                refused("is of type ExternalName and leads to '169.254.169.254'"),
            ),
            (json!({"clusterIP": "10.96.0.9", "ports": ports}), 80, unselected()),
            (json!({"clusterIP": "10.96.0.9", "selector": {}, "ports": ports}), 80, unselected()),
            (json!({"clusterIP": "None", "ports": ports}), 80, unselected()),
            (
                json!({"clusterIP": "10.96.0.9", "selector": selector, "ports": ports}),
                53,
                Err("Service shop/web has no TCP port 53; expected one of its ports: 80, 443".to_owned()),
            ),
            (
                json!({"clusterIP": "", "selector": selector, "ports": ports}),
                80,
                Err("Service shop/web has no cluster IP yet".to_owned()),
            ),
            (json!({"selector": selector}), 80, Err("Service shop/web has no cluster IP yet".to_owned())),
            (json!({}), 80, unselected()),
        ];
        for (spec, port, expected) in table {
            let object = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
            let service = serde_json::from_value(object).unwrap();
            assert_eq!(destination(&service, port), expected, "{spec}");
        }
    }
}
