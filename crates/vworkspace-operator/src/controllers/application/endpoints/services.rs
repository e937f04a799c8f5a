//! The addresses of a Service: one for each port, inside the cluster and at its load balancer.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use vworkspace_api::application_instance::Endpoint;

use super::{Found, Reach, in_url};

const COMPONENT: &str = "app.kubernetes.io/component";

pub(super) fn found(service: &Service) -> Vec<Found> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let ports = spec.ports.as_deref().unwrap_or_default();
    ports
        .iter()
        .flat_map(|port| {
            let offer = Offer { service, spec, port, alone: ports.len() == 1 };
            offer.at_load_balancer().into_iter().chain([offer.in_cluster()]).collect::<Vec<_>>()
        })
        .collect()
}

/// One port of a Service.
struct Offer<'a> {
    service: &'a Service,
    spec: &'a ServiceSpec,
    port: &'a ServicePort,
    /// The Service has no other port.
    alone: bool,
}

impl Offer<'_> {
    fn at_load_balancer(&self) -> Vec<Found> {
        let balancer = self.service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let addresses = balancer.and_then(|balancer| balancer.ingress.as_ref()).into_iter().flatten();
        addresses
            .filter_map(|address| address.hostname.as_deref().or(address.ip.as_deref()))
            .map(|host| Found {
                reach: Reach::LoadBalancer,
                endpoint: self.endpoint(host, self.port.port, "loadBalancer", None),
            })
            .collect()
    }

    fn in_cluster(&self) -> Found {
        let name = self.service.metadata.name.as_deref().unwrap_or_default();
        let namespace = self.service.metadata.namespace.as_deref().unwrap_or_default();
        let host = format!("{name}.{namespace}.svc");
        let (reach, port, notes) = if self.spec.type_.as_deref() == Some("ExternalName") {
            let outside = self.spec.external_name.as_deref().unwrap_or_default();
            (Reach::Indirect, self.port.port, format!("inside the cluster only; stands for {outside}"))
        } else if self.spec.cluster_ip.as_deref() == Some("None") {
            (Reach::Indirect, self.port_of_pods(), "inside the cluster only; leads to single pods".to_owned())
        } else {
            (Reach::Cluster, self.port.port, self.notes_of_cluster_ip())
        };
        Found { reach, endpoint: self.endpoint(&host, port, "service", Some(notes)) }
    }

    /// Without a cluster IP the name leads to the pods themselves, so their port counts.
    fn port_of_pods(&self) -> i32 {
        match self.port.target_port {
            Some(IntOrString::Int(port)) => port,
            Some(IntOrString::String(_)) | None => self.port.port,
        }
    }

    /// Which address a node has is not known here.
    fn notes_of_cluster_ip(&self) -> String {
        match self.port.node_port {
            Some(port) => format!("inside the cluster; from outside at port {port} of every node"),
            None => "inside the cluster only".to_owned(),
        }
    }

    fn endpoint(&self, host: &str, port: i32, type_: &str, notes: Option<String>) -> Endpoint {
        let url = format!("{}://{}:{port}", self.scheme(), in_url(host));
        if self.is_s3() {
            return Endpoint { name: "s3".to_owned(), url, type_: Some("s3".to_owned()), notes };
        }
        let service = self.service.metadata.name.as_deref().unwrap_or_default();
        let name = match self.port.name.as_deref() {
            Some(port) if !self.alone => format!("{service}-{port}"),
            _ => service.to_owned(),
        };
        Endpoint { name, url, type_: Some(type_.to_owned()), notes }
    }

    fn scheme(&self) -> &'static str {
        match (self.port.protocol.as_deref(), self.said_scheme()) {
            (Some("UDP"), _) => "udp",
            (Some("SCTP"), _) => "sctp",
            (_, Some(scheme)) => scheme,
            // S3 is spoken over HTTP.
            (_, None) if self.is_s3() => "http",
            (_, None) => "tcp",
        }
    }

    /// What the port's appProtocol says, or else its name.
    fn said_scheme(&self) -> Option<&'static str> {
        match self.port.app_protocol.as_deref() {
            Some("https" | "HTTPS" | "kubernetes.io/wss") => Some("https"),
            Some("http" | "HTTP" | "http2" | "kubernetes.io/h2c" | "kubernetes.io/ws") => Some("http"),
            None if self.is_named("https") => Some("https"),
            None if self.is_named("http") || self.is_named("http2") => Some("http"),
            // Another protocol, or nothing said.
            _ => None,
        }
    }

    /// A port that is called so, or a Service of that part of an application: there its only port, or the one that
    /// speaks HTTP and is not for metrics.
    fn is_s3(&self) -> bool {
        let labels = self.service.metadata.labels.as_ref();
        let labelled = labels.and_then(|labels| labels.get(COMPONENT)).is_some_and(|part| part == "s3");
        let serves = self.alone || self.said_scheme().is_some();
        self.is_named("s3") || (labelled && serves && !self.is_named("metrics"))
    }

    /// Whether a word of the port's name, such as http in `http-api`, is this one.
    fn is_named(&self, word: &str) -> bool {
        self.port.name.as_deref().is_some_and(|name| name.split('-').any(|part| part == word))
    }
}
