//! `cargo lab demo`: a real application, installed by Flux from the lab's own registry, answering over HTTP.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::node::{self, DEMO_PORT};
use crate::paths::Paths;
use crate::registry;
use crate::up::{self, Wanted};

/// Starts what is needed and shows it.
/// `named` is how the user names this lab on the command line.
pub(crate) async fn run(paths: &Paths, kubeconfig: Option<&Path>, named: &str) -> Result<()> {
    let addons = Addon::selected(&[], paths)?;
    let demo = Addon::load("demo", paths)?;
    // Everything is built before anything is started.
    up::prepare(paths, kubeconfig, addons.iter().chain([&demo]))?;
    let cluster = up::up(paths, &Wanted { addons: &addons, port: None, kubeconfig }).await?;
    registry::push_chart(&cluster, &demo.asset("podinfo/chart")?).await?;
    let cluster = up::up(paths, &Wanted { addons: &[demo], port: None, kubeconfig }).await?;
    show(&cluster, named).await
}

async fn show(cluster: &Cluster, named: &str) -> Result<()> {
    say(cluster, "get nodes").await?;
    say(cluster, "get ocirepository,helmrelease --namespace demo").await?;
    say(cluster, "get pods,services --namespace demo").await?;
    // Through the API server, so that it works on every cluster.
    let path = "/api/v1/namespaces/demo/services/podinfo:http/proxy/api/info";
    let answer = cluster.client.request_text(http::Request::get(path).body(Vec::new())?).await?;
    let answer: Value = serde_json::from_str(&answer).context("podinfo answers something else than JSON")?;
    ensure!(answer.get("hostname").is_some(), "podinfo does not say where it runs: {answer}");
    let address = match &cluster.node {
        Some(_) => format!("http://{}/api/info", node::published(&cluster.paths, DEMO_PORT)?),
        None => path.to_owned(),
    };
    println!("$ curl {address}\n{answer:#}\n");
    if cluster.node.is_some() {
        println!("The application: {address} (open it in a browser)");
        println!("The cluster:     eval \"$(cargo lab{named} env)\"; kubectl get pods --all-namespaces");
        println!("Stop it:         cargo lab{named} down");
    }
    Ok(())
}

/// Shows a command as a user would type it, and its answer.
async fn say(cluster: &Cluster, arguments: &str) -> Result<()> {
    let output = cluster.tool("kubectl").args(arguments.split(' ')).output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl {arguments}: {}", said.trim());
    println!("$ kubectl {arguments}\n{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}
