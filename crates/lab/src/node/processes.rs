//! What runs on the node, with which flags, in which order. Paths below /var/lib and /var/log are the lab's own:
//! the node sees its state folder there.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::network::{DNS_IP, NODE_IP, PODS, SERVICES};
use crate::paths::Paths;

/// One process of the node.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    /// `address:port` that must accept connections first.
    pub(crate) after: Option<String>,
}

pub(crate) const API_SERVER: &str = "kube-apiserver";
pub(crate) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// As the node sees its state folder.
const CONFIG: &str = "/var/lib/lab";
const CONTAINERD: &str = "/run/containerd/containerd.sock";

/// The node's processes in starting order. What needs the API server waits for its port; containerd does not, so that
/// images can be loaded meanwhile.
pub(crate) fn all(bin: &Path, pki: &Path) -> Vec<Process> {
    let api = format!("{NODE_IP}:6443");
    let run = |name: &str, program: String, flags: Vec<String>, after: Option<&str>| Process {
        name: name.to_owned(),
        argv: std::iter::once(program).chain(flags).collect(),
        after: after.map(str::to_owned),
    };
    let built = |name: &str| bin.join(name).display().to_string();
    let pki = pki.display().to_string();
    vec![
        run("etcd", built("etcd"), etcd(), None),
        run("containerd", "containerd".to_owned(), vec![format!("--config={CONFIG}/containerd.toml")], None),
        run(API_SERVER, built(API_SERVER), api_server(&pki), Some("127.0.0.1:2379")),
        run(CONTROLLER_MANAGER, built(CONTROLLER_MANAGER), controller_manager(&pki), Some(&api)),
        run("kube-scheduler", built("kube-scheduler"), scheduler(&pki), Some(&api)),
        run("kubelet", built("kubelet"), kubelet(&pki), Some(&api)),
        run("kube-proxy", built("kube-proxy"), kube_proxy(&pki), Some(&api)),
    ]
}

fn etcd() -> Vec<String> {
    [
        "--data-dir=/var/lib/etcd",
        "--listen-client-urls=http://127.0.0.1:2379",
        "--advertise-client-urls=http://127.0.0.1:2379",
        "--listen-peer-urls=http://127.0.0.1:2380",
        // A lab's data need not survive the machine, and a disk shared with builds would stall the whole cluster.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    .map(str::to_owned)
    .into()
}

fn api_server(pki: &str) -> Vec<String> {
    vec![
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        format!("--service-cluster-ip-range={SERVICES}"),
        "--secure-port=6443".to_owned(),
        format!("--advertise-address={NODE_IP}"),
        format!("--tls-cert-file={pki}/apiserver.crt"),
        format!("--tls-private-key-file={pki}/apiserver.key"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--service-account-key-file={pki}/service-accounts.pub"),
        format!("--service-account-signing-key-file={pki}/service-accounts.key"),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        format!("--kubelet-certificate-authority={pki}/ca.crt"),
        format!("--kubelet-client-certificate={pki}/kubelet-client.crt"),
        format!("--kubelet-client-key={pki}/kubelet-client.key"),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        format!("--requestheader-client-ca-file={pki}/ca.crt"),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        format!("--proxy-client-cert-file={pki}/front-proxy.crt"),
        format!("--proxy-client-key-file={pki}/front-proxy.key"),
        "--allow-privileged=true".to_owned(),
        format!("--audit-policy-file={CONFIG}/audit-policy.yaml"),
        "--audit-log-path=/var/log/audit.log".to_owned(),
        "--audit-log-maxsize=200".to_owned(),
        "--audit-log-maxbackup=2".to_owned(),
    ]
}

fn controller_manager(pki: &str) -> Vec<String> {
    vec![
        format!("--kubeconfig={pki}/kube-controller-manager.kubeconfig"),
        format!("--service-account-private-key-file={pki}/service-accounts.key"),
        format!("--root-ca-file={pki}/ca.crt"),
        format!("--cluster-signing-cert-file={pki}/ca.crt"),
        format!("--cluster-signing-key-file={pki}/ca.key"),
        "--use-service-account-credentials".to_owned(),
        "--leader-elect=false".to_owned(),
        format!("--cluster-cidr={PODS}"),
        "--allocate-node-cidrs".to_owned(),
    ]
}

fn scheduler(pki: &str) -> Vec<String> {
    vec![format!("--kubeconfig={pki}/kube-scheduler.kubeconfig"), "--leader-elect=false".to_owned()]
}

fn kubelet(pki: &str) -> Vec<String> {
    vec![
        format!("--config={CONFIG}/kubelet.yaml"),
        format!("--kubeconfig={pki}/kubelet.kubeconfig"),
        format!("--node-ip={NODE_IP}"),
        "--hostname-override=lab".to_owned(),
    ]
}

fn kube_proxy(pki: &str) -> Vec<String> {
    vec![
        format!("--kubeconfig={pki}/kube-proxy.kubeconfig"),
        "--hostname-override=lab".to_owned(),
        "--proxy-mode=iptables".to_owned(),
        format!("--cluster-cidr={PODS}"),
        // The limit is the whole machine's, not the lab's.
        "--conntrack-max-per-core=0".to_owned(),
    ]
}

/// Writes the files that the flags above name.
pub(crate) fn write_configuration(paths: &Paths, cgroup: &str, pause_image: &str) -> Result<()> {
    let folder = paths.var_lib().join("lab");
    fs::create_dir_all(folder.join("cni"))?;
    fs::write(folder.join("cni/10-lab.conflist"), cni())?;
    fs::write(folder.join("containerd.toml"), containerd_toml(pause_image))?;
    fs::write(folder.join("kubelet.yaml"), kubelet_yaml(&paths.pki().display().to_string(), cgroup))?;
    fs::write(folder.join("audit-policy.yaml"), AUDIT_POLICY)?;
    Ok(())
}

/// Everything by everyone but probes, as metadata: enough to say who wrote what and which verbs are used. Of the operator's
/// own requests also the bodies, so that they can be searched for what must not be in them; leases apart, which say nothing.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: [/healthz*, /livez*, /readyz*]
- level: Metadata
  resources: [{group: coordination.k8s.io}]
- level: Request
  users: ['system:serviceaccount:vworkspace-system:vworkspace-app-operator']
  verbs: [create, update, patch, delete]
- level: Metadata
";

/// Pods are joined by routes, not by a bridge: a bridge needs a kernel module for services to answer.
fn cni() -> String {
    let pods_of_the_node = PODS.replace("/16", "/24");
    serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "lab",
        "plugins": [
            {"type": "ptp", "ipMasq": true, "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": pods_of_the_node}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": "/run/cni"}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
    .to_string()
}

fn containerd_toml(pause_image: &str) -> String {
    format!(
        r#"version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause_image}"
  # This user may lack the right to lower the score.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{CONFIG}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"#
    )
}

fn kubelet_yaml(pki: &str, cgroup: &str) -> String {
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509:
    clientCAFile: "{pki}/ca.crt"
authorization: {{mode: Webhook}}
tlsCertFile: "{pki}/kubelet.crt"
tlsPrivateKeyFile: "{pki}/kubelet.key"
cgroupDriver: cgroupfs
# Its own root: a kubelet removes every container below its root that it does not know, another lab's too.
cgroupRoot: /{cgroup}
failCgroupV1: false
clusterDNS: [{DNS_IP}]
clusterDomain: cluster.local
resolvConf: ""
containerRuntimeEndpoint: unix://{CONTAINERD}
failSwapOn: false
volumePluginDir: /var/lib/kubelet/volume-plugins
# The disk is shared with builds. The kubelet must neither evict for it nor delete images, which nobody can pull again.
evictionHard: {{memory.available: 100Mi, nodefs.available: 200Mi, imagefs.available: 200Mi}}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
"#
    )
}
