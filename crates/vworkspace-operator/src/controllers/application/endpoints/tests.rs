//! Objects as they stand in a cluster, and the list a user reads.

use serde_json::{Value, json};

use super::*;

fn service(name: &str, spec: &Value) -> Service {
    let metadata = json!({"name": name, "namespace": "shop"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn ingress(name: &str, spec: &Value) -> Ingress {
    let metadata = json!({"name": name, "namespace": "shop"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn rule(host: &str, paths: &[&str]) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths: Vec<_> = paths
        .iter()
        .map(|path| json!({"path": path, "pathType": "ImplementationSpecific", "backend": backend}))
        .collect();
    json!({"host": host, "http": {"paths": paths}})
}

/// Type and address, which is what most of these tests are about.
fn listed(services: &[Service], ingresses: &[Ingress], host: Option<&str>) -> Vec<String> {
    endpoints(services, ingresses, host)
        .into_iter()
        .map(|endpoint| format!("{} {}", endpoint.type_.unwrap_or_default(), endpoint.url))
        .collect()
}

#[test]
fn an_ingress_is_reached_at_its_hosts_and_paths() {
    let one = |host: &str, paths: &[&str]| json!({"rules": [rule(host, paths)]});
    let table = [
        (one("a.example.org", &["/"]), vec!["ingress http://a.example.org"]),
        (
            one("a.example.org", &["/api", "/ui/"]),
            vec!["ingress http://a.example.org/api", "ingress http://a.example.org/ui"],
        ),
        (
            one("a.example.org", &["/shop(/|$)(.*)", "/.*"]),
            vec!["ingress http://a.example.org", "ingress http://a.example.org/shop"],
        ),
        (json!({"rules": [{"host": "a.example.org"}]}), vec!["ingress http://a.example.org"]),
        (one("a.example.org", &["/.well-known/acme-challenge/x"]), vec![]),
        (
            json!({"rules": [rule("a.example.org", &["/"]), rule("b.example.org", &["/"])], "tls": [{"hosts": ["a.example.org"]}]}),
            vec!["ingress http://b.example.org", "ingress https://a.example.org"],
        ),
        (
            json!({"rules": [rule("a.example.org", &["/"])], "tls": [{"hosts": ["*.example.org"]}]}),
            vec!["ingress https://a.example.org"],
        ),
        (
            json!({"rules": [rule("a.b.example.org", &["/"])], "tls": [{"hosts": ["*.example.org"]}]}),
            vec!["ingress http://a.b.example.org"],
        ),
        (
            json!({"rules": [rule("a.example.org", &["/"])], "tls": [{"secretName": "default"}]}),
            vec!["ingress https://a.example.org"],
        ),
        (json!({"rules": [rule("*.example.org", &["/"])]}), vec!["ingress http://*.example.org"]),
        // No host, and no controller has taken it yet.
        (json!({"rules": [{"http": {"paths": []}}]}), vec![]),
        (json!({"defaultBackend": {"service": {"name": "web"}}}), vec![]),
    ];
    for (spec, expected) in table {
        assert_eq!(listed(&[], &[ingress("web", &spec)], None), expected, "{spec}");
    }
}

#[test]
fn an_ingress_without_a_host_is_reached_at_its_controller() {
    let mut ingress = ingress("web", &json!({"rules": [rule("", &["/"])]}));
    ingress.status = serde_json::from_value(
        json!({"loadBalancer": {"ingress": [{"ip": "2001:db8::1"}, {"hostname": "lb.example.org", "ip": "192.0.2.1"}]}}),
    )
    .unwrap();
    assert_eq!(
        listed(&[], &[ingress], None),
        ["ingress http://[2001:db8::1]", "ingress http://lb.example.org"]
    );
}

#[test]
fn the_host_that_the_spec_names_comes_first() {
    let rules = json!({"rules": [rule("a.example.org", &["/"]), rule("shop.example.org", &["/"])]});
    assert_eq!(
        listed(&[], &[ingress("web", &rules)], Some("shop.example.org")),
        ["ingress http://shop.example.org", "ingress http://a.example.org"]
    );
    // By a wildcard too; a host that no Ingress serves is not promised.
    let wildcard = json!({"rules": [rule("*.example.org", &["/"])], "tls": [{"hosts": ["*.example.org"]}]});
    assert_eq!(
        listed(&[], &[ingress("web", &wildcard)], Some("shop.example.org")),
        ["ingress https://shop.example.org", "ingress https://*.example.org"]
    );
    assert_eq!(
        listed(&[], &[ingress("web", &wildcard)], Some("shop.example.com")),
        ["ingress https://*.example.org"]
    );
}

#[test]
fn a_service_is_reached_at_its_ports() {
    let table = [
        (
            json!({"clusterIP": "10.96.0.9", "ports": [{"port": 80, "name": "http"}]}),
            vec!["service http://web.shop.svc:80"],
        ),
        (json!({"ports": [{"port": 8443, "name": "https-api"}]}), vec!["service https://web.shop.svc:8443"]),
        (
            json!({"ports": [{"port": 80, "appProtocol": "https", "name": "http"}]}),
            vec!["service https://web.shop.svc:80"],
        ),
        (
            json!({"ports": [{"port": 80, "appProtocol": "kubernetes.io/h2c"}]}),
            vec!["service http://web.shop.svc:80"],
        ),
        (
            json!({"ports": [{"port": 9, "appProtocol": "mysql", "name": "http"}]}),
            vec!["service tcp://web.shop.svc:9"],
        ),
        (json!({"ports": [{"port": 5432}]}), vec!["service tcp://web.shop.svc:5432"]),
        (
            json!({"ports": [{"port": 53, "protocol": "UDP", "name": "http"}]}),
            vec!["service udp://web.shop.svc:53"],
        ),
        (
            json!({"clusterIP": "None", "ports": [{"port": 80, "targetPort": 8080, "name": "http"}]}),
            vec!["service http://web.shop.svc:8080"],
        ),
        (json!({"clusterIP": "None"}), vec![]),
        (json!({"type": "ExternalName", "externalName": "db.example.org"}), vec![]),
        (
            json!({"type": "ExternalName", "externalName": "db.example.org", "ports": [{"port": 5432}]}),
            vec!["service tcp://web.shop.svc:5432"],
        ),
        (json!({"ports": [{"port": 8333, "name": "swfs-s3"}]}), vec!["s3 http://web.shop.svc:8333"]),
        (json!({"ports": [{"port": 8334, "name": "s3-https"}]}), vec!["s3 https://web.shop.svc:8334"]),
    ];
    for (spec, expected) in table {
        assert_eq!(listed(&[service("web", &spec)], &[], None), expected, "{spec}");
    }
}

#[test]
fn a_service_labelled_as_s3_offers_s3_and_its_metrics_stay_metrics() {
    let spec = json!({"ports": [{"port": 8333, "name": "http"}, {"port": 9327, "name": "http-metrics"}, {"port": 18333, "name": "grpc"}]});
    let mut storage = service("store-s3", &spec);
    storage.metadata.labels = Some([("app.kubernetes.io/component".to_owned(), "s3".to_owned())].into());
    assert_eq!(
        listed(&[storage], &[], None),
        [
            "s3 http://store-s3.shop.svc:8333",
            "service tcp://store-s3.shop.svc:18333",
            "service http://store-s3.shop.svc:9327"
        ]
    );
}

#[test]
fn names_and_notes_tell_ports_and_ways_apart() {
    let ports = json!([{"port": 80, "name": "http", "nodePort": 30080}, {"port": 9999, "name": "grpc"}]);
    let mut web = service("web", &json!({"type": "LoadBalancer", "ports": ports}));
    web.status = serde_json::from_value(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}})).unwrap();
    let outside =
        service("out", &json!({"type": "ExternalName", "externalName": "x.org", "ports": [{"port": 1}]}));
    let headless = service("pods", &json!({"clusterIP": "None", "ports": [{"port": 2}]}));
    let told: Vec<_> = endpoints([&web, &outside, &headless], [], None)
        .into_iter()
        .map(|endpoint| format!("{} {} {}", endpoint.name, endpoint.url, endpoint.notes.unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            "web-grpc tcp://192.0.2.7:9999 ",
            "web-http http://192.0.2.7:80 ",
            "web-grpc tcp://web.shop.svc:9999 inside the cluster only",
            "web-http http://web.shop.svc:80 inside the cluster; from outside at port 30080 of every node",
            "out tcp://out.shop.svc:1 inside the cluster only; stands for x.org",
            "pods tcp://pods.shop.svc:2 inside the cluster only; leads to single pods",
        ]
    );
}

#[test]
fn the_list_is_ordered_by_use_whatever_the_order_of_the_objects() {
    let mut balanced = service("balanced", &json!({"ports": [{"port": 443, "name": "https"}]}));
    balanced.status =
        serde_json::from_value(json!({"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]}}))
            .unwrap();
    let plain = service("a", &json!({"ports": [{"port": 80, "name": "http"}]}));
    let web = ingress("z", &json!({"rules": [rule("a.example.org", &["/"]), rule("a.example.org", &["/"])]}));
    let same = ingress("zz", &json!({"rules": [rule("a.example.org", &["/"])]}));
    let expected = [
        "ingress http://a.example.org",
        "loadBalancer https://lb.example.org:443",
        "service http://a.shop.svc:80",
        "service https://balanced.shop.svc:443",
    ];
    let (services, ingresses) = ([balanced, plain], [same, web]);
    assert_eq!(listed(&services, &ingresses, None), expected);
    let backwards = |services: &[Service]| services.iter().rev().cloned().collect::<Vec<_>>();
    assert_eq!(listed(&backwards(&services), &ingresses, None), expected);
}

#[test]
fn at_most_64_are_listed_and_what_is_deleted_is_not() {
    let ports: Vec<_> = (1..=100).map(|port| json!({"port": port, "name": format!("p{port}")})).collect();
    let many = service("many", &json!({"ports": ports}));
    let web = ingress("web", &json!({"rules": [rule("a.example.org", &["/"])]}));
    let listed_all = listed(&[many], std::slice::from_ref(&web), None);
    assert_eq!(listed_all.len(), 64);
    assert_eq!(listed_all.first().map(String::as_str), Some("ingress http://a.example.org"));

    let mut going = web;
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-15T06:45:54Z")).unwrap();
    assert_eq!(listed(&[], &[going], None), Vec::<String>::new());
}
