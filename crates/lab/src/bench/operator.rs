//! The operator under measure: the release build as a process on this machine, with the rights of its chart's service
//! account and nothing else. A process rather than a pod, because its memory and its start can then be measured to the
//! millisecond, without a kubelet in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::config::Kubeconfig;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::cluster::Cluster;
use crate::node::network::{self, NODE_IP};
use crate::node::{API_PORT, pki};
use crate::paths;

pub(super) const NAMESPACE: &str = "vworkspace-bench";
pub(super) const ACCOUNT: &str = "vworkspace-app-operator";
const RELEASE: &str = "bench";
/// How long it may take to get ready, or to stop.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a start is looked at.
const GLANCE: Duration = Duration::from_millis(5);
const DAY: i64 = 24 * 3600;

/// What is measured, and how it is let in.
pub(super) struct Program {
    pub(super) path: PathBuf,
    kubeconfig: PathBuf,
    /// For what it needs and what it says.
    pub(super) folder: PathBuf,
    log: PathBuf,
}

/// A running operator; it ends with this value.
pub(super) struct Operator {
    child: Child,
    pid: i32,
    port: u16,
    /// The node's network, if it runs there.
    network: Option<PathBuf>,
    /// From the start of the process until /readyz said yes.
    pub(super) ready_after: Duration,
}

/// How much memory a process has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    /// VmRSS in MiB.
    pub(super) rss: f64,
    /// RssAnon in MiB: without the program itself.
    pub(super) anonymous: f64,
}

impl Program {
    /// Installs the chart without any replica, for its CRDs and rights, and gets a token of its service account.
    pub(super) async fn let_in(cluster: &Cluster, path: PathBuf, folder: &Path) -> Result<Self> {
        let mut helm = cluster.tool("helm");
        helm.args(["upgrade", "--install", "--take-ownership", "--create-namespace", RELEASE]);
        helm.arg(paths::workspace().join("charts/vworkspace-operator"));
        helm.args(["--namespace", NAMESPACE, "--set", "image.repository=none,replicaCount=0"]);
        let output = helm.output().await?;
        ensure!(
            output.status.success(),
            "helm failed to install the operator's rights: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let kubeconfig = cluster.paths.state.join("bench-kubeconfig");
        write_kubeconfig(cluster, &kubeconfig, None).await?;
        Ok(Self { path, kubeconfig, folder: folder.to_owned(), log: folder.join("operator.log") })
    }

    /// Starts it, and waits until it is ready and leads.
    pub(super) async fn start(&self) -> Result<Operator> {
        let mut command = Command::new(&self.path);
        command.env_clear().env("KUBECONFIG", &self.kubeconfig);
        self.run(command, None).await
    }

    /// The same where it reaches Services and the charts of source-controller, as in a pod.
    pub(super) async fn start_inside(&self, cluster: &Cluster) -> Result<Operator> {
        let node = cluster.node.as_ref().context("this cluster has no node of ours")?;
        let network = node.network().context("containerd does not run")?;
        let resolv_conf = self.folder.join("resolv.conf");
        fs::write(&resolv_conf, network::resolv_conf())?;
        let kubeconfig = cluster.paths.state.join("bench-kubeconfig-inside");
        write_kubeconfig(cluster, &kubeconfig, Some(format!("https://{NODE_IP}:{API_PORT}"))).await?;
        let mut command = network::inside(&network, &resolv_conf, &self.path);
        command.env("KUBECONFIG", kubeconfig);
        self.run(command, Some(network)).await
    }

    async fn run(&self, mut command: Command, network: Option<PathBuf>) -> Result<Operator> {
        let port = free_port().await?;
        let log = fs::File::create(&self.log)?;
        command.args(["--namespace", NAMESPACE, "--listen", &format!("127.0.0.1:{port}")]);
        command.env("POD_NAME", "bench");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("failed to start {}", self.path.display()))?;
        let pid =
            child.id().and_then(|id| i32::try_from(id).ok()).context("the operator has ended at once")?;
        let mut operator = Operator { child, pid, port, network, ready_after: Duration::ZERO };
        self.until(&mut operator, "/readyz", |answer| answer.starts_with("HTTP/1.1 200")).await?;
        operator.ready_after = started.elapsed();
        let leads = |answer: &str| answer.lines().any(|line| line == "vworkspace_operator_leading 1");
        self.until(&mut operator, "/metrics", leads).await?;
        Ok(operator)
    }

    async fn until(&self, operator: &mut Operator, path: &str, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if operator.get(path).await.is_ok_and(|answer| wanted(&answer)) {
                return Ok(());
            }
            if let Some(ended) = operator.child.try_wait()? {
                bail!("the operator has ended ({ended}); see {}", self.log.display());
            }
            let patience = PATIENCE.as_secs();
            ensure!(
                Instant::now() < deadline,
                "the operator's {path} is not as expected after {patience} s; see {}",
                self.log.display()
            );
            sleep(GLANCE).await;
        }
    }
}

impl Operator {
    pub(super) fn memory(&self) -> Result<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        Ok(Memory { rss: mebibytes(&status, "VmRSS:")?, anonymous: mebibytes(&status, "RssAnon:")? })
    }

    /// Seconds of processor time since its start.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let ticks: u32 =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
        Ok(f64::from(ticks) / clock_ticks_per_second() as f64)
    }

    /// How many objects wait to be reconciled.
    pub(super) async fn queued(&self) -> Result<u64> {
        self.metric("vworkspace_operator_queue_depth").await
    }

    /// How many requests it has sent that may have changed something.
    pub(super) async fn written(&self) -> Result<u64> {
        self.metric("vworkspace_operator_writes_total").await
    }

    async fn metric(&self, name: &str) -> Result<u64> {
        let metrics = self.get("/metrics").await?;
        sum_of(&metrics, name).with_context(|| format!("the operator's metrics do not tell {name}"))
    }

    /// Tells it to stop, as a kubelet would, and waits until it has.
    pub(super) async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_raw(self.pid).context("the operator has no process number")?;
        kill_process(pid, Signal::TERM)?;
        timeout(PATIENCE, self.child.wait()).await.context("the operator does not stop")??;
        Ok(())
    }

    async fn get(&self, path: &str) -> Result<String> {
        let mut stream = self.connect().await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await??;
        Ok(answer)
    }

    async fn connect(&self) -> Result<TcpStream> {
        let address = format!("127.0.0.1:{}", self.port);
        let Some(network) = &self.network else { return Ok(TcpStream::connect(address).await?) };
        let stream = network::connect(network, &address)?;
        stream.set_nonblocking(true)?;
        Ok(TcpStream::from_std(stream)?)
    }
}

/// A metric, over all controllers.
fn sum_of(metrics: &str, name: &str) -> Option<u64> {
    let lines = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    let values: Option<Vec<u64>> = lines.map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    values.filter(|values| !values.is_empty()).map(|values| values.iter().sum())
}

fn mebibytes(status: &str, field: &str) -> Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u32>().ok());
    Ok(f64::from(kibibytes.with_context(|| format!("/proc tells no {field}"))?) / 1024.0)
}

async fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

/// The lab's kubeconfig with a token of the service account instead of its own keys, and with another address if the API server
/// is reached from elsewhere.
async fn write_kubeconfig(cluster: &Cluster, path: &Path, server: Option<String>) -> Result<()> {
    let token = cluster.token(NAMESPACE, ACCOUNT, DAY).await?;
    let mut config = Kubeconfig::read_from(&cluster.kubeconfig)?;
    for user in &mut config.auth_infos {
        user.auth_info = Some(serde_json::from_value(json!({"token": token}))?);
    }
    for known in config.clusters.iter_mut().filter_map(|known| known.cluster.as_mut()) {
        known.server = server.clone().or_else(|| known.server.take());
    }
    // JSON is YAML.
    pki::write_private(path, &serde_json::to_string(&config)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_that_of_all_controllers() {
        let metrics =
            "depth{controller=\"a\"} 2\ndepth{controller=\"b\"} 3\ndepth_other{controller=\"a\"} 9\n";
        assert_eq!(sum_of(metrics, "depth"), Some(5));
        assert_eq!(sum_of(metrics, "missing"), None);
    }

    #[test]
    fn memory_is_read_in_mebibytes() {
        let status = "Name:\toperator\nVmRSS:\t   10240 kB\nRssAnon:\t    2048 kB\n";
        assert_eq!(mebibytes(status, "VmRSS:").unwrap(), 10.0);
        assert_eq!(mebibytes(status, "RssAnon:").unwrap(), 2.0);
        assert!(mebibytes(status, "VmSwap:").is_err());
    }
}
