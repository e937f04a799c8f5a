//! Charts through Flux: what is published is installed with the values given, and nothing of it stays behind.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams};
use serde_json::Value;

use super::chart::Chart;
use super::{Ground, Scenario, gone, text_at};
use crate::readiness::has_condition;
use crate::registry;

pub(super) const FROM_OCI: Scenario = Scenario {
    name: "an_oci_chart_pushed_to_the_registry_is_installed_by_a_helm_release_and_gone_after_its_deletion",
    needs: &["flux", "registry"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(from_oci(ground)),
};

pub(super) const FROM_HTTP: Scenario = Scenario {
    name: "a_chart_of_a_classic_http_repository_is_installed_by_a_helm_release_and_gone_after_its_deletion",
    needs: &["flux", "registry"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(from_http(ground)),
};

async fn from_oci(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    installed_and_gone(ground, &chart, OCI_SOURCE).await
}

async fn from_http(ground: &Ground) -> Result<()> {
    let chart = Chart::write(ground, &[])?;
    serve_over_http(ground, &[&chart]).await?;
    installed_and_gone(ground, &chart, HTTP_SOURCE).await
}

/// Serves charts from a repository with an index, at `http://site.NAMESPACE.svc.cluster.local`.
pub(super) async fn serve_over_http(ground: &Ground, charts: &[&Chart]) -> Result<()> {
    let first = charts.first().context("a repository without charts")?;
    let site = first.folder.join("site").display().to_string();
    for chart in charts {
        let folder = chart.folder.display().to_string();
        registry::helm(&ground.cluster, &["package", &folder, "--destination", &site]).await?;
    }
    registry::helm(&ground.cluster, &["repo", "index", &site]).await?;
    let files = ConfigMap {
        metadata: ObjectMeta { name: Some("site".to_owned()), ..ObjectMeta::default() },
        binary_data: Some(files_in(Path::new(&site))?.collect::<Result<_>>()?),
        ..ConfigMap::default()
    };
    let config_maps: Api<ConfigMap> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    config_maps.create(&PostParams::default(), &files).await?;
    ground.apply(HTTP_SERVER).await?;
    ground.until("apps/v1", "Deployment", "site", is_available).await?;
    Ok(())
}

/// The chart's release, from its creation to its end.
async fn installed_and_gone(ground: &Ground, chart: &Chart, source_and_release: &str) -> Result<()> {
    ground.apply(&source_and_release.replace("VERSION", &chart.version)).await?;
    ground.until(HELM, "HelmRelease", "probe", |data| has_condition(data, "Ready", "True")).await?;
    let settings = ground.until("v1", "ConfigMap", "probe-settings", |_| true).await?;
    let (greeting, version) =
        (text_at(&settings.data, "/data/greeting"), text_at(&settings.data, "/data/version"));
    ensure!(greeting == "from the release", "the chart was given greeting '{greeting}'");
    // Flux adds the digest of an OCI chart after a plus sign.
    let plain = version.split_once('+').map_or(version, |(plain, _)| plain);
    ensure!(plain == chart.version, "version {version} is installed, not {}", chart.version);
    ground.until("apps/v1", "Deployment", "probe", is_available).await?;

    ground.delete(HELM, "HelmRelease", "probe").await?;
    gone(&ground.objects("v1", "ConfigMap"), "ConfigMap", "probe-settings").await?;
    gone(&ground.objects("apps/v1", "Deployment"), "Deployment", "probe").await?;
    // Helm's own record of the release.
    gone(&ground.objects("v1", "Secret"), "Secret", "sh.helm.release.v1.probe.v1").await
}

const HELM: &str = "helm.toolkit.fluxcd.io/v2";

fn is_available(data: &Value) -> bool {
    has_condition(data, "Available", "True")
}

/// Names and contents of the files in a folder.
fn files_in(folder: &Path) -> Result<impl Iterator<Item = Result<(String, ByteString)>>> {
    Ok(fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), ByteString(fs::read(entry.path())?)))
    }))
}

/// The release's timeout is shorter than our own, so that a failure is told by Flux and does not hold the namespace.
const OCI_SOURCE: &str = "
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: probe, namespace: NAMESPACE}
spec:
  interval: 10m
  url: oci://registry.lab-system.svc.cluster.local:5000/charts/probe
  insecure: true
  ref: {tag: VERSION}
  layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: probe, namespace: NAMESPACE}
spec:
  interval: 10m
  timeout: 1m
  chartRef: {kind: OCIRepository, name: probe}
  values: {greeting: from the release}
";

const HTTP_SERVER: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: site, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: site
        image: lab.local/busybox:1
        command: [httpd, -f, -p, '8080', -h, /site]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: site, mountPath: /site}]
      volumes: [{name: site, configMap: {name: site}}]
---
apiVersion: v1
kind: Service
metadata: {name: site, namespace: NAMESPACE}
spec: {selector: {app: site}, ports: [{port: 80, targetPort: 8080}]}
";

const HTTP_SOURCE: &str = "
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: site, namespace: NAMESPACE}
spec: {interval: 10m, url: 'http://site.NAMESPACE.svc.cluster.local'}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: probe, namespace: NAMESPACE}
spec:
  interval: 10m
  timeout: 1m
  chart: {spec: {chart: probe, version: VERSION, sourceRef: {kind: HelmRepository, name: site}}}
  values: {greeting: from the release}
";
