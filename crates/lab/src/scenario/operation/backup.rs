//! Backups and restores by real Velero: what is made, what is said while it waits and runs, how it ends, and what an end before
//! its time leaves behind.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::application::approval::approve;
use super::super::application::instance::{APPS, HELM, instance};
use super::super::application_crd::merge;
use super::super::chart::Chart;
use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario, gone, seen, text_at};
use super::{OPERATION, at, scenario};

pub(in super::super) const SCENARIO: Scenario = Scenario {
    needs: &["operator", "velero"],
    ..scenario("operation_backup_and_restore_by_velero_bring_back_what_was_lost", |ground| {
        Box::pin(run(ground))
    })
};

pub(in super::super) const ENDS_EARLY: Scenario = Scenario {
    needs: &["operator", "velero"],
    ..scenario("operation_backup_that_is_cancelled_leaves_nothing_behind", |ground| {
        Box::pin(ends_early(ground))
    })
};

pub(in super::super) const IN_PLACE: Scenario = Scenario {
    needs: &["operator", "velero"],
    ..scenario("operation_restore_in_place_begins_when_flux_rests_and_flux_goes_on_afterwards", |ground| {
        Box::pin(in_place(ground))
    })
};

pub(in super::super) const VELERO_AWAY: Scenario = Scenario {
    needs: &["operator", "velero"],
    alone: true,
    ..scenario("operation_backup_while_velero_does_not_run_says_so_and_goes_on_afterwards", |ground| {
        Box::pin(velero_away(ground))
    })
};

const VELERO: &str = "velero.io/v1";
const TREASURE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: treasure, namespace: NAMESPACE}, data: {is: gold}}";

fn velero(ground: &Ground, kind: &str) -> Api<DynamicObject> {
    ground.cluster.dynamic(VELERO, kind, Some("velero"))
}

/// Unique: the bucket may hold a backup of an earlier run.
fn unique(name: &str) -> String {
    format!("{name}-{}", Timestamp::now().as_millisecond())
}

/// Something that can be backed up, and a ConfigMap that can be lost.
async fn target(ground: &Ground) -> Result<OwnObject<'_>> {
    let mut shop = instance(ground).with("{mode: placeholder, release: null}").applied().await?;
    for verb in ["backup", "restore"] {
        shop.annotate(&format!("ops.vworkspace.io/{verb}"), Some("velero")).await?;
    }
    ground.apply(TREASURE).await?;
    Ok(shop)
}

/// Named kinds only: other scenarios install kinds and take them away.
fn backup<'a>(ground: &'a Ground, name: &str) -> OwnObject<'a> {
    let kinds = json!(["configmaps", "pods"]);
    let parameters = json!({"ttl": "2h", "includedResources": kinds});
    operation(ground, name, "Backup", &parameters)
}

fn operation<'a>(ground: &'a Ground, name: &str, type_: &str, parameters: &Value) -> OwnObject<'a> {
    let spec = json!({
        "targetRef": {"apiVersion": APPS, "kind": "ApplicationInstance", "name": "shop"},
        "type": type_, "engine": "velero", "parameters": parameters,
    });
    OwnObject::new(ground, OPERATION, name, &spec)
}

async fn run(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    let nightly = backup(ground, &unique("nightly")).applied().await?;
    nightly.says_all(&[("Succeeded", "True/EngineCompleted"), ("Running", "False/EngineFinished")]).await?;
    nightly.kubectl_wait("Succeeded").await?;
    nightly.plugin_status("Current").await?;
    let ended = nightly.read().await?;
    ensure!(
        text_at(&ended.data, "/status/outputs/backupName") == nightly.name,
        "outputs: {}",
        at(&ended, "/status/outputs")
    );
    restored(ground, &nightly.name).await?;
    a_namesake(ground).await?;
    failed(ground).await?;
    no_location(ground).await
}

async fn approved(ground: &Ground, operation: &OwnObject<'_>) -> Result<()> {
    let claim = approve(ground, operation).await?;
    let claim = Patch::Merge(json!({"spec": {"approvals": {"claim": claim}}}));
    operation.api().patch(&operation.name, &PatchParams::default(), &claim).await?;
    Ok(())
}

/// What was lost comes back, when somebody has approved it. A Restore of that name is somebody else's: it is left alone.
async fn restored(ground: &Ground, backup: &str) -> Result<()> {
    ground.delete("v1", "ConfigMap", "treasure").await?;
    let name = unique("bring-back");
    let foreign = json!({"apiVersion": VELERO, "kind": "Restore", "metadata": {"name": name, "namespace": "velero"},
        "spec": {"backupName": "none"}});
    ground.cluster.apply(&[serde_json::from_value(foreign)?]).await?;
    let back = operation(ground, &name, "Restore", &json!({"backupName": backup})).applied().await?;
    back.says("Blocked", "True/AwaitingApproval").await?;
    approved(ground, &back).await?;
    back.says("Succeeded", "True/EngineCompleted").await?;
    let treasure = ground.until("v1", "ConfigMap", "treasure", |_| true).await?;
    ensure!(text_at(&treasure.data, "/data/is") == "gold", "the treasure is {}", treasure.data);
    let ended = back.read().await?;
    let made = text_at(&ended.data, "/status/engineRef/name");
    ensure!(made.starts_with(&name) && made != name, "the Restore is '{made}', which is somebody else's");
    let parameters = json!({"backupName": "no-such-backup"});
    let absent = operation(ground, &unique("none"), "Restore", &parameters).applied().await?;
    approved(ground, &absent).await?;
    absent.says("Accepted", "False/ValidationFailed").await?.naming("no-such-backup")?;
    velero(ground, "Restore").delete(&name, &DeleteParams::background()).await?;
    Ok(())
}

/// An application that Flux looks after: it must not undo what comes back while it does.
async fn in_place(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground).chart(&chart).applied().await?;
    for verb in ["backup", "restore"] {
        shop.annotate(&format!("ops.vworkspace.io/{verb}"), Some("velero")).await?;
    }
    shop.says("Ready", "True/HelmReleaseReady").await?;
    ground.apply(TREASURE).await?;
    let nightly = backup(ground, &unique("nightly")).applied().await?;
    nightly.says("Succeeded", "True/EngineCompleted").await?;
    ground.delete("v1", "ConfigMap", "treasure").await?;

    // By annotation nobody may suspend the release: the restore waits.
    shop.annotate("apps.vworkspace.io/reconcile", Some("disabled")).await?;
    shop.says("Suspended", "True/ReconcilePaused").await?;
    let parameters = json!({"backupName": nightly.name});
    let back = operation(ground, &unique("back"), "Restore", &parameters).applied().await?;
    approved(ground, &back).await?;
    back.says("Blocked", "True/TargetSuspended").await?.naming("apps.vworkspace.io/reconcile")?;
    shop.annotate("apps.vworkspace.io/reconcile", None).await?;
    shop.has_said("Suspended", "True/OperationInProgress").await?;
    back.says("Succeeded", "True/EngineCompleted").await?;
    ground.until("v1", "ConfigMap", "treasure", |_| true).await?;
    shop.says_all(&[("Suspended", "False/Active"), ("Ready", "True/HelmReleaseReady")]).await?;
    let is_resumed =
        |data: &Value| !data.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default();
    ground.until(HELM, "HelmRelease", "web", is_resumed).await?;
    Ok(())
}

/// A Backup of that name is somebody else's: it is never taken over.
async fn a_namesake(ground: &Ground) -> Result<()> {
    let name = unique("namesake");
    let foreign = json!({"apiVersion": VELERO, "kind": "Backup", "metadata": {"name": name, "namespace": "velero"},
        "spec": {"includedNamespaces": [ground.namespace], "includedResources": ["configmaps"], "ttl": "2h"}});
    ground.cluster.apply(&[serde_json::from_value(foreign)?]).await?;
    let namesake = backup(ground, &name).applied().await?;
    namesake.says("Succeeded", "True/EngineCompleted").await?;
    let ended = namesake.read().await?;
    let made = text_at(&ended.data, "/status/outputs/backupName");
    ensure!(made.starts_with(&name) && made != name, "the Backup is '{made}', which is somebody else's");
    Ok(())
}

async fn failed(ground: &Ground) -> Result<()> {
    let failed = fails(ground).await?;
    failed.kubectl_wait("Failed").await?;
    failed.plugin_status("Failed").await
}

/// The bucket has a backup of that name that the cluster does not know: Velero's own words are in the message.
pub(super) async fn fails(ground: &Ground) -> Result<OwnObject<'_>> {
    let name = unique("again");
    let first = backup(ground, &name).applied().await?;
    first.says("Succeeded", "True/EngineCompleted").await?;
    first.delete().await?;
    first.is_gone().await?;
    let backups = velero(ground, "Backup");
    seen(&backups, "Backup", &name, |_| true).await?;
    backups.delete(&name, &DeleteParams::background()).await?;
    gone(&backups, "Backup", &name).await?;
    let second = backup(ground, &name).applied().await?;
    second.says("Failed", "True/VeleroBackupFailed").await?.naming("already exists in object storage")?;
    Ok(second)
}

/// A place that does not exist: of two that wait for the same the newer one does it, when there is such a place.
async fn no_location(ground: &Ground) -> Result<()> {
    let place = unique("place");
    let with_place = format!("parameters: {{storageLocation: {place}}}");
    let older = backup(ground, &unique("older")).with(&with_place).applied().await?;
    older.says("Blocked", "True/DependencyMissing").await?.naming(&place)?;
    older.kubectl_wait("Blocked").await?;
    older.plugin_status("InProgress").await?;
    let newer = backup(ground, &unique("newer")).with(&with_place).applied().await?;
    // Of two of the same second the uid decides.
    let age = |object: &DynamicObject| (object.creation_timestamp().map(|time| time.0), object.uid());
    let (older, newer) =
        if age(&older.read().await?) < age(&newer.read().await?) { (older, newer) } else { (newer, older) };
    older.says("Cancelled", "True/SupersededByOperation").await?.naming(&newer.name)?;
    older.kubectl_wait("Cancelled").await?;
    older.plugin_status("Failed").await?;
    newer.says("Blocked", "True/DependencyMissing").await?;

    let locations = velero(ground, "BackupStorageLocation");
    let mut spec = locations.get("default").await?.data.get("spec").cloned().unwrap_or_default();
    // Velero refuses a bucket with folders at its top that are not its own.
    let prefix = format!("metadata/{place}");
    merge(&mut spec, &json!({"default": null, "objectStorage": {"prefix": prefix}}));
    let location = json!({"apiVersion": VELERO, "kind": "BackupStorageLocation",
        "metadata": {"name": place, "namespace": "velero"}, "spec": spec});
    ground.cluster.apply(&[serde_json::from_value(location)?]).await?;
    newer.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await?;
    locations.delete(&place, &DeleteParams::background()).await?;
    Ok(())
}

/// One that waits in Velero's queue goes at once; one that runs goes when it has ended, and only then it says so.
async fn ends_early(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    ground.apply(SLOW_POD).await?;
    let is_running = |data: &Value| text_at(data, "/status/phase") == "Running";
    ground.until("v1", "Pod", "slow", is_running).await?;
    let (runs, waits) = (unique("runs"), unique("waits"));
    let runs = backup(ground, &runs).applied().await?;
    runs.says("Running", "True/EngineStarted").await?;
    let waits = backup(ground, &waits).with("parameters: {ttl: 3h}").applied().await?;
    waits.says("Running", "False/EngineNotStarted").await?;
    for operation in [&waits, &runs] {
        let cancel = Patch::Merge(json!({"spec": {"cancel": true}}));
        operation.api().patch(&operation.name, &PatchParams::default(), &cancel).await?;
    }
    waits.says("Cancelled", "True/UserCancelled").await?;
    let says_so = |now: &DynamicObject| text_at(&now.data, "/status/message").contains("cannot stop");
    runs.until(says_so).await?;
    runs.says("Cancelled", "True/UserCancelled").await?;
    runs.says("Running", "False/EngineFinished").await?;
    for operation in [&waits, &runs] {
        let left = velero(ground, "Backup").get_opt(&operation.name).await?;
        ensure!(left.is_none(), "Backup {} is still there", operation.name);
    }
    Ok(())
}

/// Velero backs it up when a command in it has ended.
const SLOW_POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: slow
  namespace: NAMESPACE
  annotations:
    pre.hook.backup.velero.io/command: '[\"sleep\", \"12\"]'
    pre.hook.backup.velero.io/timeout: 60s
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: slow, image: 'lab.local/busybox:1', command: [sleep, '1000000']}]
";

async fn velero_away(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    let earlier = backup(ground, &unique("earlier")).applied().await?;
    earlier.says("Succeeded", "True/EngineCompleted").await?;
    scale(ground, 0).await?;
    let told = away(ground, &earlier.name).await;
    scale(ground, 1).await?;
    let later = told?;
    later.says("Succeeded", "True/EngineCompleted").await?;
    Ok(())
}

/// A restore that nobody has begun can be cancelled; a backup waits.
async fn away<'a>(ground: &'a Ground, earlier: &str) -> Result<OwnObject<'a>> {
    let back =
        operation(ground, &unique("back"), "Restore", &json!({"backupName": earlier})).applied().await?;
    approved(ground, &back).await?;
    back.says("Running", "False/EngineNotStarted").await?;
    back.until(|now| !at(now, "/status/engineRef").is_null()).await?;
    let cancel = Patch::Merge(json!({"spec": {"cancel": true}}));
    back.api().patch(&back.name, &PatchParams::default(), &cancel).await?;
    back.says("Cancelled", "True/UserCancelled").await?;
    let later = backup(ground, &unique("later")).applied().await?;
    let says_so = |now: &DynamicObject| text_at(&now.data, "/status/message").contains("has not picked up");
    later.until(says_so).await?;
    Ok(later)
}

pub(super) async fn scale(ground: &Ground, replicas: i64) -> Result<()> {
    let deployments = ground.cluster.dynamic("apps/v1", "Deployment", Some("velero"));
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    deployments.patch("velero", &PatchParams::default(), &patch).await?;
    let is_so = |data: &Value| {
        let ready = data.pointer("/status/readyReplicas").and_then(Value::as_i64).unwrap_or_default();
        let all = data.pointer("/status/replicas").and_then(Value::as_i64).unwrap_or_default();
        ready == replicas && all == replicas
    };
    seen(&deployments, "Deployment", "velero", is_so).await.map(|_| ())
}
