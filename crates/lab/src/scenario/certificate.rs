//! cert-manager: a certificate that is asked for is issued.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::Api;

use super::{Ground, Scenario};
use crate::readiness::has_condition;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_certificate_of_the_self_signed_issuer_is_issued_into_its_secret",
    needs: &["cert-manager"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(CERTIFICATE).await?;
    ground
        .until("cert-manager.io/v1", "Certificate", "web", |data| has_condition(data, "Ready", "True"))
        .await?;
    let secrets: Api<Secret> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    let secret = secrets.get("web-tls").await?;
    // Only names of keys may be told, never what they hold.
    let data = secret.data.as_ref();
    for (key, header) in
        [("tls.crt", "-----BEGIN CERTIFICATE-----"), ("tls.key", "-----BEGIN RSA PRIVATE KEY-----")]
    {
        let found =
            data.and_then(|data| data.get(key)).is_some_and(|value| value.0.starts_with(header.as_bytes()));
        let keys: Vec<_> = data.into_iter().flat_map(|data| data.keys()).collect();
        ensure!(found, "{key} of Secret web-tls does not start with {header} (keys: {keys:?})");
    }
    let names = secret.annotations().get("cert-manager.io/alt-names").map(String::as_str);
    ensure!(names == Some("web.example.test"), "Secret web-tls holds a certificate for {names:?}");
    Ok(())
}

const CERTIFICATE: &str = "
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: NAMESPACE}
spec:
  secretName: web-tls
  dnsNames: [web.example.test]
  issuerRef: {group: cert-manager.io, kind: ClusterIssuer, name: selfsigned}
";
