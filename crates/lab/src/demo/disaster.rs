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

/// What is needed to get the application back.
pub(super) struct Saved {
    backup: String,
    /// Of its own: a restore does not bring it.
    instance: Value,
}

impl Story<'_> {
    pub(super) async fn back_up(&mut self) -> Result<Saved> {
        self.act("Back it up", "By Velero, with a note that no chart knows. The manifest is kept apart.");
        let backup = Timestamp::now().strftime("podinfo-%Y%m%d-%H%M%S").to_string();
        self.type_all(&[
            format!("kubectl create configmap {NOTES} -n {NAMESPACE} --from-literal=note={NOTE}"),
            format!("kubectl vworkspace op create backup.velero --target {NAME} -n {NAMESPACE} --name {backup} --wait"),
            format!("kubectl get backup {backup} -n velero -o jsonpath={{.status.phase}}"),
        ])
        .await?;
        println!();
        typed(&format!("kubectl get appinst {NAME} -n {NAMESPACE} -o yaml > podinfo.yaml"));
        let get = ["get", "appinst", NAME, "-n", NAMESPACE, "-o", "json"];
        let live: Value = serde_json::from_str(&self.kubectl(&get, None).await?)?;
        Ok(Saved { backup, instance: as_new(&live) })
    }

    pub(super) async fn lose_it(&mut self) -> Result<()> {
        self.act("Lose it", "Somebody deletes the wrong namespace.");
        let started = Instant::now();
        typed(&format!("kubectl delete namespace {NAMESPACE}"));
        self.kubectl(&["delete", "namespace", NAMESPACE, "--wait=false"], None).await?;
        let gone = self.watcher.until_gone(started).await;
        self.explained(gone)?;
        let namespaces = self.cluster.dynamic("v1", "Namespace", None);
        let gone = wait_until(&namespaces, NAMESPACE, Instant::now() + GOODBYE, |known| known.is_none());
        ensure!(gone.await.is_ok(), "namespace {NAMESPACE} does not go");
        self.show(&format!("kubectl get appinst,helmreleases,deployments,configmaps -n {NAMESPACE}")).await
    }

    pub(super) async fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.act(
            "Restore it",
            "The instance waits, suspended, while the objects come back. A restore needs an approval; then Flux takes over.",
        );
        let Saved { backup, instance } = saved;
        self.type_all(&[format!("kubectl create namespace {NAMESPACE}")]).await?;
        println!();
        typed("kubectl apply -f podinfo.yaml      # with spec.suspend: true");
        let started = Instant::now();
        self.kubectl(&["apply", "-f", "-"], Some(&instance.to_string())).await?;
        self.follow(started, &[("Suspended", "True/ManuallySuspended")]).await?;

        let restore = format!("{backup}-back");
        self.type_all(&[
            format!("kubectl vworkspace op create restore.velero --target {NAME} -n {NAMESPACE} --name {restore} -p backupName={backup}"),
            format!("kubectl wait operation/{restore} -n {NAMESPACE} --for=condition=Blocked --timeout=1m"),
        ])
        .await?;
        self.approved(&restore).await?;
        self.show(&format!("kubectl vworkspace op show {restore} -n {NAMESPACE}")).await?;
        println!();
        self.patched(&json!({"spec": {"suspend": false}}), READY).await?;
        println!();
        self.answers("Hello, world").await?;
        let note = format!("kubectl get configmap {NOTES} -n {NAMESPACE} -o jsonpath={{.data.note}}");
        self.show(&note).await
    }

    /// With the key of the lab's own approver, which is no secret.
    async fn approved(&self, restore: &str) -> Result<()> {
        println!();
        typed(&format!("kubectl vworkspace op approve {restore} -n {NAMESPACE} --key approver.pem --yes"));
        let key = self.cluster.paths.state.join("approver.pem");
        fs::write(&key, approver_key())?;
        let file = key.display().to_string();
        let approve = [
            "vworkspace",
            "op",
            "approve",
            restore,
            "-n",
            NAMESPACE,
            "--key",
            &file,
            "--by",
            "the demo",
            "--yes",
        ];
        let started = Instant::now();
        let approved = self.kubectl(&approve, None).await;
        fs::remove_file(&key)?;
        approved?;
        let operations = self.cluster.dynamic("ops.vworkspace.io/v1alpha1", "Operation", Some(NAMESPACE));
        let ended = Watcher::new(operations, restore).until(started, &[("Succeeded", "True")]).await;
        self.explained(ended)
    }

    async fn type_all(&self, commands: &[String]) -> Result<()> {
        for command in commands {
            self.show(command).await?;
        }
        Ok(())
    }
}

/// As somebody would keep it: without what the cluster has added, and suspended.
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
