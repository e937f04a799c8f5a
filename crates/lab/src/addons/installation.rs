//! Whether a cluster has an add-on, and how it gets there.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;

use super::Addon;
use crate::cluster::Cluster;
use crate::readiness::Expected;
use crate::registry;

/// How long an add-on may take to get ready on a machine that is busy with other things.
const READY_DEADLINE: Duration = Duration::from_secs(150);

/// What a cluster has of an add-on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Installed {
    Not,
    /// This very content.
    Same,
    /// Another content, from another state of the repository.
    Other,
}

impl Addon {
    /// Installs the checkout's chart, or upgrades it in place.
    async fn upgrade(&self, cluster: &Cluster, release: &[String]) -> Result<()> {
        let namespace = self.namespace();
        cluster
            .apply_yaml(&format!(
                "{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}, \
                 labels: {{pod-security.kubernetes.io/enforce: restricted}}}}}}"
            ))
            .await?;
        // CRDs stay when a release goes, and scenarios apply them without one.
        let mut words = vec!["upgrade", "--install", "--take-ownership"];
        words.extend(release.iter().map(String::as_str));
        registry::helm(cluster, &words).await
    }

    /// Installs it unless this very content is there already, and waits until it is ready.
    pub(crate) async fn install(&self, cluster: &Cluster) -> Result<()> {
        let workloads = self.workloads(&cluster.paths, &cluster.tools)?;
        let is_whole =
            self.installed(cluster).await? == Installed::Same && self.missing(cluster).await?.is_empty();
        if !is_whole {
            let installed = match self.release() {
                Some(release) => self.upgrade(cluster, &release).await,
                None => cluster.apply(&self.manifests(&cluster.paths, &cluster.tools)?).await,
            };
            installed.with_context(|| format!("failed to install {}", self.name))?;
            self.mark_installed(cluster).await?;
        }
        let others = self.definition.ready.iter().filter(|expected| !expected.is_workload()).cloned();
        let expected: Vec<Expected> = workloads.into_iter().chain(others).collect();
        let waits = expected.iter().map(|expected| expected.wait(cluster, self.namespace(), READY_DEADLINE));
        try_join_all(waits).await.with_context(|| format!("{} does not get ready", self.name))?;
        Ok(())
    }

    /// What the marker in the cluster says.
    pub(crate) async fn installed(&self, cluster: &Cluster) -> Result<Installed> {
        let marker =
            markers(cluster).get_opt(&self.marker()).await.context("failed to ask what is installed")?;
        let key = marker.map(|marker| marker.data.and_then(|data| data.get("key").cloned()));
        Ok(match key {
            None => Installed::Not,
            Some(key) if key.as_ref() == Some(&self.key) => Installed::Same,
            Some(_) => Installed::Other,
        })
    }

    /// Those of its workloads that the cluster does not have.
    pub(crate) async fn missing(&self, cluster: &Cluster) -> Result<Vec<Expected>> {
        let mut missing = Vec::new();
        for workload in self.workloads(&cluster.paths, &cluster.tools)? {
            if !workload.exists(cluster).await? {
                missing.push(workload);
            }
        }
        Ok(missing)
    }

    /// Whether somebody else has installed the same on the cluster: its workloads are there, our marker is not.
    pub(crate) async fn is_somebody_elses(&self, cluster: &Cluster) -> Result<bool> {
        let all = self.workloads(&cluster.paths, &cluster.tools)?.len();
        let is_there = self.missing(cluster).await?.len() < all;
        Ok(is_there && self.installed(cluster).await? == Installed::Not)
    }

    async fn mark_installed(&self, cluster: &Cluster) -> Result<()> {
        let (name, key) = (self.marker(), &self.key);
        cluster
            .apply_yaml(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: kube-system}}, data: {{key: '{key}'}}}}"
            ))
            .await
    }

    fn marker(&self) -> String {
        format!("lab-addon-{}", self.name)
    }
}

fn markers(cluster: &Cluster) -> Api<ConfigMap> {
    Api::namespaced(cluster.client.clone(), "kube-system")
}
