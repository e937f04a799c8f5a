//! Velero: what was backed up comes back, objects and files alike.

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams};
use serde_json::Value;

use super::{Ground, Scenario, gone, said_by, seen, text_at};
use crate::diagnosis;
use crate::readiness::has_condition;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_deleted_namespace_comes_back_from_a_velero_backup_with_its_objects_and_files",
    needs: &["velero"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

const VELERO: &str = "velero.io/v1";

async fn run(ground: &Ground) -> Result<()> {
    // Unique: neither the cluster nor the bucket may hold a backup of this name from an earlier run.
    let stamp = Timestamp::now().as_millisecond().to_string();
    let backup = format!("scenario-{stamp}");
    let in_velero = |manifest: &str| manifest.replace("BACKUP", &backup);

    forget_repository(ground).await?;
    ground.apply(&CONTENT.replace("STAMP", &stamp)).await?;
    let before = Content::of(ground).await?;
    in_the_pod(ground, &format!("echo written before the backup {stamp} > /notes/note")).await?;
    let note = in_the_pod(ground, "cat /notes/note").await?;

    ground.apply(&in_velero(BACKUP)).await?;
    completed(ground, "Backup", &backup).await?;

    ground.delete_namespace().await?;

    ground.apply(&in_velero(RESTORE)).await?;
    completed(ground, "Restore", &backup).await?;

    let after = Content::of(ground).await?;
    ensure!(before == after, "the restored objects differ\nbefore: {before:?}\nafter:  {after:?}");
    let restored = in_the_pod(ground, "cat /notes/note").await.context("failed to read the restored file")?;
    ensure!(restored == note, "the file says {restored:?} and said {note:?} before the backup");

    // One that failed stays to be looked at; Velero removes it when its hour is over.
    ground.apply(&in_velero(REMOVAL)).await?;
    gone(&velero(ground, "Backup"), "Backup", &backup).await?;
    gone(&velero(ground, "Restore"), "Restore", &backup).await
}

/// What must be the same before and after.
#[derive(Debug, PartialEq)]
struct Content {
    settings: Option<Value>,
    deployment: Option<Value>,
}

impl Content {
    /// As soon as the workload runs.
    async fn of(ground: &Ground) -> Result<Self> {
        let is_available = |data: &Value| has_condition(data, "Available", "True");
        let deployment = ground.until("apps/v1", "Deployment", "notes", is_available).await?;
        let settings = ground.until("v1", "ConfigMap", "settings", |_| true).await?;
        Ok(Self {
            settings: settings.data.get("data").cloned(),
            deployment: deployment.data.get("spec").cloned(),
        })
    }
}

/// What a command says in the workload's pod.
async fn in_the_pod(ground: &Ground, script: &str) -> Result<String> {
    let mut kubectl = ground.cluster.tool("kubectl");
    kubectl.args([
        "exec",
        "--namespace",
        &ground.namespace,
        "deployment/notes",
        "--container",
        "notes",
        "--",
    ]);
    said_by(kubectl.args(["sh", "-c", script])).await
}

/// Velero remembers for each namespace that the bucket has a place for its files, even when the bucket was replaced since.
pub(super) async fn forget_repository(ground: &Ground) -> Result<()> {
    let of_this_namespace = format!("velero.io/volume-namespace={}", ground.namespace);
    let repositories = velero(ground, "BackupRepository");
    let chosen = ListParams::default().labels(&of_this_namespace);
    repositories.delete_collection(&DeleteParams::background(), &chosen).await?;
    Ok(())
}

fn velero(ground: &Ground, kind: &str) -> Api<DynamicObject> {
    ground.cluster.dynamic(VELERO, kind, Some("velero"))
}

/// Waits until Velero is done, and fails when that is no success.
async fn completed(ground: &Ground, kind: &str, name: &str) -> Result<()> {
    let phases = ["Completed", "PartiallyFailed", "Failed", "FailedValidation"];
    let is_over = |data: &Value| phases.contains(&text_at(data, "/status/phase"));
    let object = seen(&velero(ground, kind), kind, name, is_over).await?;
    let is_completed = text_at(&object.data, "/status/phase") == "Completed";
    ensure!(is_completed, "{kind} {name} is not Completed: {}", diagnosis::state_of(&object.data));
    Ok(())
}

/// Nothing in it writes the file, so after a restore it can only come from the backup.
const CONTENT: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
data: {stamp: 'STAMP', colour: green}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: notes, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: notes}}
  template:
    metadata:
      labels: {app: notes}
      annotations: {backup.velero.io/backup-volumes: notes}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: notes
        image: lab.local/busybox:1
        command: [sleep, '1000000']
        volumeMounts: [{name: notes, mountPath: /notes}]
      volumes: [{name: notes, emptyDir: {}}]
";

/// Named kinds only: other scenarios install kinds and take them away, and Velero, which asks for them every five minutes,
/// would fail to list one that is gone.
const BACKUP: &str = "
apiVersion: velero.io/v1
kind: Backup
metadata: {name: BACKUP, namespace: velero}
spec:
  includedNamespaces: [NAMESPACE]
  includedResources: [namespaces, configmaps, pods, replicasets.apps, deployments.apps]
  ttl: 1h
";

const RESTORE: &str = "
apiVersion: velero.io/v1
kind: Restore
metadata: {name: BACKUP, namespace: velero}
spec: {backupName: BACKUP, includedNamespaces: [NAMESPACE]}
";

/// Removes the backup from the bucket too, and the restores made from it.
const REMOVAL: &str = "
apiVersion: velero.io/v1
kind: DeleteBackupRequest
metadata: {name: BACKUP, namespace: velero}
spec: {backupName: BACKUP}
";
