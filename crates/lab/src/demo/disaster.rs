//! The last acts of the demo: a backup, a disaster, and what comes back. Slowly, and with files: docs/backup-restore.md.

use std::fs;

use anstream::println;
use anyhow::{Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::story::{GOODBYE, NAME, NAMESPACE, READY, Story, typed};
use super::watching::Watcher;
use crate::cluster::wait_until;
use crate::scenario::approver_key;

/// Something that no chart knows.
pub(super) const NOTES: &str = "notes";
const NOTE: &str = "written-before-the-disaster";

impl Story<'_> {
    /// The name of the backup. The instance is kept apart: a restore does not bring it back.
    pub(super) async fn back_up(&mut self) -> Result<String> {
        self.act("Back it up", "By Velero, with a note that no chart knows. The instance is kept apart, with spec.suspend: true.");
        let backup = Timestamp::now().strftime("podinfo-%Y%m%d-%H%M%S").to_string();
        self.shown(&format!("kubectl create configmap {NOTES} -n {NAMESPACE} --from-literal=note={NOTE}"))
            .await?;
        self.show(&format!(
            "kubectl vworkspace op create backup.velero --target {NAME} -n {NAMESPACE} --name {backup} --wait"
        ))
        .await?;
        self.show(&format!("kubectl get backup {backup} -n velero -o jsonpath={{.status.phase}}")).await?;
        println!();
        typed(&format!("kubectl get appinst {NAME} -n {NAMESPACE} -o yaml > podinfo.yaml"));
        let get = ["get", "appinst", NAME, "-n", NAMESPACE, "-o", "json"];
        let live: Value = serde_json::from_str(&self.kubectl(&get, None).await?)?;
        // JSON is YAML.
        fs::write(self.folder.join("podinfo.yaml"), as_new(&live).to_string())?;
        Ok(backup)
    }

    pub(super) async fn lose_it(&mut self) -> Result<()> {
        self.act("Lose it", "Somebody deletes the wrong namespace.");
        let started = Instant::now();
        typed(&format!("kubectl delete namespace {NAMESPACE} --wait=false"));
        self.kubectl(&["delete", "namespace", NAMESPACE, "--wait=false"], None).await?;
        let gone = self.watcher.until_gone(started).await;
        self.explained(gone)?;
        let namespaces = self.cluster.dynamic("v1", "Namespace", None);
        let gone = wait_until(&namespaces, NAMESPACE, Instant::now() + GOODBYE, |known| known.is_none());
        ensure!(gone.await.is_ok(), "namespace {NAMESPACE} does not go");
        self.show(&format!("kubectl get appinst,helmreleases,deployments,configmaps -n {NAMESPACE}")).await
    }

    pub(super) async fn restore(&mut self, backup: &str) -> Result<()> {
        self.act(
            "Restore it",
            "The instance waits, suspended, while the objects come back. A restore needs an approval; then Flux takes over.",
        );
        self.shown(&format!("kubectl create namespace {NAMESPACE}")).await?;
        let started = Instant::now();
        self.show("kubectl apply -f podinfo.yaml").await?;
        self.follow(started, &[("Suspended", "True/ManuallySuspended")]).await?;

        let restore = format!("{backup}-back");
        self.show(&format!(
            "kubectl vworkspace op create restore.velero --target {NAME} -n {NAMESPACE} --name {restore} -p backupName={backup}"
        ))
        .await?;
        self.show(&format!(
            "kubectl wait operation/{restore} -n {NAMESPACE} --for=condition=Blocked --timeout=1m"
        ))
        .await?;
        self.approve(&restore).await?;
        self.show(&format!("kubectl vworkspace op show {restore} -n {NAMESPACE}")).await?;
        println!();
        self.patched(&json!({"spec": {"suspend": false}}), READY).await?;
        println!();
        self.answers("Hello, world").await?;
        self.show(&format!("kubectl get configmap {NOTES} -n {NAMESPACE} -o jsonpath={{.data.note}}")).await
    }

    /// With the key of the lab's own approver, which is no secret; then waits for the end.
    async fn approve(&self, restore: &str) -> Result<()> {
        fs::write(self.folder.join("approver.pem"), approver_key())?;
        let started = Instant::now();
        self.show(&format!(
            "kubectl vworkspace op approve {restore} -n {NAMESPACE} --key approver.pem --by demo --yes"
        ))
        .await?;
        let operations = self.cluster.dynamic("ops.vworkspace.io/v1alpha1", "Operation", Some(NAMESPACE));
        let ended = Watcher::new(operations, restore).until(started, &[("Succeeded", "True")]).await;
        self.explained(ended)
    }
}

/// As somebody would keep it: without what the cluster has added, and suspended, to be applied before a restore.
fn as_new(live: &Value) -> Value {
    let at = |pointer: &str| live.pointer(pointer).cloned().unwrap_or_default();
    let mut annotations = at("/metadata/annotations");
    let mut spec = at("/spec");
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.retain(|name, _| name.starts_with("ops.vworkspace.io/"));
    }
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("suspend".to_owned(), true.into());
    }
    json!({
        "apiVersion": at("/apiVersion"),
        "kind": at("/kind"),
        "metadata": {"name": at("/metadata/name"), "namespace": at("/metadata/namespace"), "annotations": annotations},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_kept_without_what_the_cluster_added() {
        let live = json!({
            "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
            "metadata": {"name": "podinfo", "namespace": "demo", "uid": "1", "finalizers": ["a"], "annotations": {
                "ops.vworkspace.io/restore": "velero", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"interval": "5m"}, "status": {"phase": "x"},
        });
        assert_eq!(
            as_new(&live),
            json!({
                "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
                "metadata": {"name": "podinfo", "namespace": "demo", "annotations": {"ops.vworkspace.io/restore": "velero"}},
                "spec": {"interval": "5m", "suspend": true},
            })
        );
    }
}
