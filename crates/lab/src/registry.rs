//! The lab's OCI registry, reached from this machine: charts go in by helm, as a user would push them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use crate::cluster::Cluster;

const FORWARD_DEADLINE: Duration = Duration::from_secs(20);

/// A port on this machine that leads to the registry for as long as this value lives.
pub(crate) struct Forward {
    pub(crate) address: String,
    _kubectl: Child,
    /// Kept open: kubectl says something at each connection, and ends when nobody listens.
    _said: Lines<BufReader<ChildStdout>>,
}

/// Through the API server rather than through a published port, so that it works on every cluster.
pub(crate) async fn forward(cluster: &Cluster) -> Result<Forward> {
    let mut kubectl = cluster.tool("kubectl");
    kubectl.args(["port-forward", "--namespace", "lab-system", "service/registry", ":5000"]);
    let mut kubectl = kubectl.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut said = BufReader::new(kubectl.stdout.take().context("kubectl says nothing")?).lines();
    let line = timeout(FORWARD_DEADLINE, said.next_line())
        .await
        .context("kubectl port-forward did not start in time")??
        .context("kubectl port-forward ended at once; is the registry running?")?;
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:"));
    let address = address.with_context(|| format!("kubectl port-forward said: {line}"))?.to_owned();
    Ok(Forward { address, _kubectl: kubectl, _said: said })
}

/// Packages the chart in a folder and pushes it to `charts/` in the registry.
pub(crate) async fn push_chart(cluster: &Cluster, chart: &Path) -> Result<()> {
    package_and_push(cluster, chart, &[]).await
}

/// The same under another version than the chart's own.
pub(crate) async fn push_chart_as(cluster: &Cluster, chart: &Path, version: &str) -> Result<()> {
    package_and_push(cluster, chart, &["--version", version]).await
}

async fn package_and_push(cluster: &Cluster, chart: &Path, options: &[&str]) -> Result<()> {
    let forward = forward(cluster).await?;
    // One folder per call: several may push at once.
    let now = jiff::Timestamp::now().as_nanosecond();
    let packages = cluster.paths.cache.join(format!("charts-{}-{now}", std::process::id()));
    std::fs::create_dir_all(&packages)?;
    let pushed = push(cluster, chart, options, &packages, &forward.address).await;
    std::fs::remove_dir_all(&packages)?;
    pushed.with_context(|| format!("failed to push chart {}", chart.display()))
}

async fn push(
    cluster: &Cluster,
    chart: &Path,
    options: &[&str],
    packages: &Path,
    address: &str,
) -> Result<()> {
    let (chart, folder) = (chart.display().to_string(), packages.display().to_string());
    let mut words = vec!["package", &chart, "--destination", &folder];
    words.extend(options);
    helm(cluster, &words).await?;
    for package in std::fs::read_dir(packages)? {
        let package = package?.path().display().to_string();
        helm(cluster, &["push", &package, &format!("oci://{address}/charts"), "--plain-http"]).await?;
    }
    Ok(())
}

/// Runs the lab's helm.
pub(crate) async fn helm(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    let output = cluster.tool("helm").args(arguments).output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "helm {}: {}", arguments.join(" "), said.trim());
    Ok(())
}
