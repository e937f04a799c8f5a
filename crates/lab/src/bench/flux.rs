//! Flux's part in a bench: its controllers stand still, and what they once said of a release that went well is said again
//! of each release. With thousands of releases the real ones would need all of the machine, and be what is measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::instances::{HELM, SOURCE};
use super::replay::{self, Replay};
use crate::cluster::Cluster;
use crate::scenario::said_by;

const NAMESPACE: &str = "flux-system";
const CONTROLLERS: [&str; 2] = ["source-controller", "helm-controller"];
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(200);
/// What Flux 2.7 said of an OCIRepository and a HelmRelease, recorded on this lab.
const RECORDED: &str = include_str!("recorded.json");

/// Lets Flux's controllers stand still, or go on.
pub(super) async fn scale(cluster: &Cluster, replicas: i32) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    for controller in CONTROLLERS {
        deployments.patch(controller, &PatchParams::default(), &patch).await?;
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let deadline = Instant::now() + PATIENCE;
    while replicas == 0 && !pods.list(&ListParams::default()).await?.items.is_empty() {
        ensure!(Instant::now() < deadline, "Flux' controllers do not stop within {} s", PATIENCE.as_secs());
        sleep(GLANCE).await;
    }
    Ok(())
}

/// A chart that this machine serves as source-controller would, for as long as this lives.
#[derive(Debug, Clone)]
pub(super) struct ServedChart {
    url: String,
    digest: String,
    size: usize,
    _server: Arc<JoinSet<()>>,
}

impl ServedChart {
    pub(super) async fn start(cluster: &Cluster, folder: &Path) -> Result<Self> {
        let chart = folder.join("chart");
        std::fs::create_dir_all(chart.join("templates"))?;
        std::fs::write(chart.join("Chart.yaml"), "{apiVersion: v2, name: bench, version: 1.0.0}")?;
        std::fs::write(chart.join("values.yaml"), super::instances::values(0, 0).to_string())?;
        let mut helm = cluster.tool("helm");
        said_by(helm.arg("package").arg(&chart).arg("--destination").arg(folder)).await?;
        let archive: Arc<[u8]> = std::fs::read(folder.join("bench-1.0.0.tgz"))?.into();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let digest = format!("sha256:{}", hexadecimal(&archive));
        let (size, mut server) = (archive.len(), JoinSet::new());
        server.spawn(async move {
            let mut answers = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                answers.spawn(answer(stream, Arc::clone(&archive)));
                while answers.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, digest, size, _server: Arc::new(server) })
    }
}

/// Whatever is asked for.
async fn answer(mut stream: TcpStream, archive: Arc<[u8]>) -> std::io::Result<()> {
    let mut asked = [0_u8; 4096];
    // Questions are small and come at once.
    let _ = stream.read(&mut asked).await?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", archive.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&archive).await
}

/// Says of each source and each release what Flux once said, for as long as the answer lives.
pub(super) fn replay(cluster: &Cluster, chart: &ServedChart) -> Result<Replay> {
    let recorded: BTreeMap<String, Value> = serde_json::from_str(RECORDED)?;
    let (cluster, chart) = (cluster.clone(), chart.clone());
    Ok(Replay::start("Flux", async move {
        let sources = told(&cluster, SOURCE, "OCIRepository", &recorded, &chart);
        let releases = told(&cluster, HELM, "HelmRelease", &recorded, &chart);
        futures::future::try_join(sources, releases).await.map(|_| ())
    }))
}

async fn told(
    cluster: &Cluster,
    api_version: &str,
    kind: &str,
    recorded: &BTreeMap<String, Value>,
    chart: &ServedChart,
) -> Result<()> {
    let status = recorded.get(kind).with_context(|| format!("nothing is recorded of a {kind}"))?;
    let within = |namespace: Option<&str>| cluster.dynamic(api_version, kind, namespace);
    let say = |object: &DynamicObject| (!is_told(object)).then(|| filled(status, object, chart));
    replay::follow(within, "app.vworkspace.io/application-instance", say).await
}

/// Whether Flux has spoken of what is there.
fn is_told(object: &DynamicObject) -> bool {
    object.data.pointer("/status/observedGeneration").and_then(Value::as_i64) == object.metadata.generation
}

/// What was recorded, about this object and this chart.
fn filled(recorded: &Value, object: &DynamicObject, chart: &ServedChart) -> Value {
    let fill = |value: &Value| filled(value, object, chart);
    match recorded {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let counts = ["observedGeneration", "lastAttemptedGeneration"].contains(&key.as_str());
                let value = match key.as_str() {
                    "size" => json!(chart.size),
                    _ if counts => json!(object.metadata.generation),
                    _ => fill(value),
                };
                (key.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(fill).collect(),
        Value::String(text) => text
            .replace("ARTIFACT_URL", &chart.url)
            .replace("ARTIFACT_DIGEST", &chart.digest)
            .replace("CONFIG_DIGEST", &digest_about(object, "values"))
            .replace("RELEASE_DIGEST", &digest_about(object, "release"))
            .replace("NAMESPACE", &object.namespace().unwrap_or_default())
            .replace("NAME", &object.name_any())
            .into(),
        other => other.clone(),
    }
}

/// Differs from release to release and from change to change, as the real ones do.
fn digest_about(object: &DynamicObject, what: &str) -> String {
    let about =
        format!("{what} of {:?} {} {:?}", object.namespace(), object.name_any(), object.metadata.generation);
    hexadecimal(about.as_bytes())
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _: std::fmt::Result = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_recorded_is_said_of_the_object_at_hand() {
        let object: DynamicObject = serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "shop", "generation": 7}, "status": {"observedGeneration": 6}}))
        .unwrap();
        let chart =
            ServedChart { url: "http://x".into(), digest: "d".into(), size: 3, _server: Arc::default() };
        let recorded = json!({"observedGeneration": 1, "list": ["NAMESPACE/NAME"], "size": 1, "url": "ARTIFACT_URL/NAME"});
        let expected = json!({"observedGeneration": 7, "list": ["shop/a"], "size": 3, "url": "http://x/a"});
        assert_eq!(filled(&recorded, &object, &chart), expected);
        assert!(!is_told(&object));
    }
}
