//! The keys and certificates of one lab: a certificate authority of its own, and who may say what to whom.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use serde_json::json;

use super::network::{NODE_IP, SERVICE_IP_OF_API};

/// A client or server of the control plane: file name, common name, organisation, other names.
struct Identity {
    file: &'static str,
    common_name: &'static str,
    group: Option<&'static str>,
    names: &'static [&'static str],
}

const API_SERVER_NAMES: &[&str] = &[
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
    "127.0.0.1",
    SERVICE_IP_OF_API,
    NODE_IP,
];

#[rustfmt::skip]
const IDENTITIES: &[Identity] = &[
    Identity { file: "apiserver",      common_name: "kube-apiserver",                 group: None,                   names: API_SERVER_NAMES },
    Identity { file: "kubelet-client", common_name: "kube-apiserver-kubelet-client",  group: Some("system:masters"), names: &[] },
    Identity { file: "front-proxy",    common_name: "front-proxy-client",             group: None,                   names: &[] },
    Identity { file: "admin",          common_name: "lab-admin",                      group: Some("system:masters"), names: &[] },
    Identity { file: "kube-controller-manager", common_name: "system:kube-controller-manager", group: None,          names: &[] },
    Identity { file: "kube-scheduler", common_name: "system:kube-scheduler",          group: None,                   names: &[] },
    Identity { file: "kube-proxy",     common_name: "system:kube-proxy",              group: None,                   names: &[] },
    Identity { file: "kubelet",        common_name: "system:node:lab",                group: Some("system:nodes"),   names: &["lab", NODE_IP] },
];

/// Identities that talk to the API server from inside the node.
const NODE_CLIENTS: &[&str] = &["kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"];

/// Writes all keys, certificates and kubeconfigs; the admin's goes to `kubeconfig` and uses the published address.
pub(crate) fn write(folder: &Path, kubeconfig: &Path, published: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    let ca = authority()?;
    fs::write(folder.join("ca.crt"), ca.pem())?;
    write_private(&folder.join("ca.key"), &ca.key().serialize_pem())?;
    let service_accounts = KeyPair::generate()?;
    write_private(&folder.join("service-accounts.key"), &service_accounts.serialize_pem())?;
    fs::write(folder.join("service-accounts.pub"), service_accounts.public_key_pem())?;
    for identity in IDENTITIES {
        let (certificate, key) = issue(identity, &ca)?;
        fs::write(folder.join(format!("{}.crt", identity.file)), &certificate)?;
        write_private(&folder.join(format!("{}.key", identity.file)), &key)?;
        let inside = folder.join(format!("{}.kubeconfig", identity.file));
        if NODE_CLIENTS.contains(&identity.file) {
            write_private(
                &inside,
                &kubeconfig_of(&ca.pem(), &certificate, &key, &format!("{NODE_IP}:6443")),
            )?;
        }
        if identity.file == "admin" {
            write_private(kubeconfig, &kubeconfig_of(&ca.pem(), &certificate, &key, published))?;
        }
    }
    Ok(())
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "lab-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    valid_for_the_life_of_a_lab(&mut params);
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
        .context("failed to make the certificate authority")
}

fn issue(identity: &Identity, ca: &CertifiedIssuer<'static, KeyPair>) -> Result<(String, String)> {
    let names: Vec<String> = identity.names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, identity.common_name);
    if let Some(group) = identity.group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    valid_for_the_life_of_a_lab(&mut params);
    let key = KeyPair::generate()?;
    let certificate =
        params.signed_by(&key, ca).with_context(|| format!("failed to sign {}", identity.file))?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// From a fixed past day, so that a clock set back a little does not make the lab's own certificates invalid.
fn valid_for_the_life_of_a_lab(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2024, 1, 1);
    params.not_after = date_time_ymd(2049, 1, 1);
}

/// JSON is YAML: every client reads it. Keys are inside, so the file can be copied anywhere.
fn kubeconfig_of(ca: &str, certificate: &str, key: &str, server: &str) -> String {
    let base64 = |pem: &str| ByteString(pem.as_bytes().to_vec());
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": {
            "server": format!("https://{server}"), "certificate-authority-data": base64(ca)}}],
        "users": [{"name": "lab", "user": {
            "client-certificate-data": base64(certificate), "client-key-data": base64(key)}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        "current-context": "lab",
    })
    .to_string()
}

/// For its owner only: it holds a key or a token.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
