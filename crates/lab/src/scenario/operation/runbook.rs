//! The page about backup and restore, with the very commands that it prints: first into a fresh namespace, then, after a disaster,
//! into the namespace that was lost. Objects and a file in a volume are compared.

mod page;
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::super::application::approval::private_key;
use super::super::application::instance::{clear, named};
use super::super::application_crd::merge;
use super::super::chart::{Chart, Part};
use super::super::velero_restore::forget_repository;
use super::super::{Ground, Scenario, gone, said_by, text_at};
use super::backup::scale;
use super::scenario;
use crate::diagnosis;
use page::Section;
use terminal::Terminal;

pub(in super::super) const SCENARIO: Scenario = Scenario {
    needs: &["operator", "velero"],
    // For the folders of its volumes.
    needs_node: true,
    // It saves all kinds there are, and others install kinds and take them away.
    alone: true,
    ..scenario("operation_runbook_the_commands_of_the_page_bring_objects_and_files_back", |ground| {
        Box::pin(run(ground))
    })
};

/// The namespaces of the page.
const SHOP: &str = "shop";
const COPY: &str = "shop-copy";
/// After this section of the page there are two applications to compare.
const COMPARED: &str = "Validate";
/// In this section the namespace is gone.
const AFTER_DISASTER: &str = "Restore in place, after a disaster";
const ORDERS: &str = "three apples, one pear";

async fn run(ground: &Ground) -> Result<()> {
    let [shop, copy] = [SHOP, COPY].map(|name| Ground { namespace: name.to_owned(), ..ground.clone() });
    let volumes = Volumes::of(ground);
    remove_all(&shop, &copy, &volumes).await?;
    let told = as_the_page_says(&shop, &copy, &volumes).await;
    let told = match told {
        Ok(()) => Ok(()),
        Err(error) => Err(anyhow!(
            "{error:#}\n{}{}",
            diagnosis::namespace(&ground.cluster, SHOP).await,
            diagnosis::namespace(&ground.cluster, COPY).await
        )),
    };
    told.and(remove_all(&shop, &copy, &volumes).await)
}

async fn as_the_page_says(shop: &Ground, copy: &Ground, volumes: &Volumes) -> Result<()> {
    let sections = page::sections();
    let before_disaster = sections.iter().position(|section| section.title == AFTER_DISASTER);
    let (calm, disaster) = sections.split_at(before_disaster.context("the page has no disaster")?);
    let chart = Chart::published(shop, &[Part::Service]).await?;
    // An earlier scenario may have taken a kind away that Velero still looks for.
    scale(shop, 0).await?;
    scale(shop, 1).await?;
    forget_repository(shop).await?;
    volumes.create(shop).await?;
    shop.apply("{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}").await?;
    application(shop, &chart).await?;

    let before = objects_of(shop).await?;
    let folder = Folder::create(shop)?;
    let mut terminal = Terminal::open(shop, &folder.0)?;
    for section in calm {
        type_all(&mut terminal, section).await?;
        if section.title == COMPARED {
            same(&before, &objects_of(copy).await?).context("the copy differs")?;
            has_the_file(copy).await?;
            counted_the_file(shop).await?;
        }
    }
    shop.delete_namespace().await?;
    for section in disaster {
        type_all(&mut terminal, section).await?;
    }
    same(&before, &objects_of(shop).await?).context("what came back differs")?;
    has_the_file(shop).await
}

async fn type_all(terminal: &mut Terminal, section: &Section) -> Result<()> {
    for command in &section.commands {
        terminal.runs(command).await.with_context(|| format!("section '{}' of the page", section.title))?;
    }
    Ok(())
}

/// The application of the page, with a file in its volume, and with a Secret that no chart has.
async fn application(shop: &Ground, chart: &Chart) -> Result<()> {
    let web = named(shop, "web", "web").chart(chart).with(
        "{timeout: 2m, values: {source: inline, inline: {storageClass: runbook, greeting: from the page}}}",
    );
    let web = web.applied().await?;
    web.says("Ready", "True/HelmReleaseReady").await?;
    shop.apply(BY_HAND).await?;
    in_the_pod(shop, &format!("echo {ORDERS} > /data/orders")).await.map(|_| ())
}

const BY_HAND: &str = "
apiVersion: v1
kind: Secret
metadata: {name: by-hand, namespace: NAMESPACE}
stringData: {password: not in the chart}
";

async fn in_the_pod(ground: &Ground, script: &str) -> Result<String> {
    let mut kubectl = ground.cluster.tool("kubectl");
    kubectl.args(["exec", "--namespace", &ground.namespace, "deployment/web", "--", "sh", "-c", script]);
    said_by(&mut kubectl).await
}

async fn has_the_file(ground: &Ground) -> Result<()> {
    let said = in_the_pod(ground, "cat /data/orders").await?;
    ensure!(said.trim() == ORDERS, "the file in namespace {} says '{}'", ground.namespace, said.trim());
    Ok(())
}

/// The backup says how much it copied: the one file, with its end of line.
async fn counted_the_file(shop: &Ground) -> Result<()> {
    let operations =
        shop.objects("ops.vworkspace.io/v1alpha1", "Operation").list(&ListParams::default()).await?;
    let backup = operations.iter().find(|operation| text_at(&operation.data, "/spec/type") == "Backup");
    let outputs =
        backup.and_then(|backup| backup.data.pointer("/status/outputs")).cloned().unwrap_or_default();
    ensure!(
        outputs.get("backupSizeBytes") == Some(&json!(ORDERS.len() + 1)),
        "outputs of the backup: {outputs}"
    );
    Ok(())
}

/// What must be the same: the kinds, and below what is said for each of them is compared.
const COMPARED_KINDS: [(&str, &str, &str); 6] = [
    ("apps/v1", "Deployment", "/spec"),
    ("v1", "Service", "/spec"),
    ("v1", "ConfigMap", "/data"),
    ("v1", "Secret", "/data"),
    ("v1", "PersistentVolumeClaim", "/spec"),
    ("v1", "ServiceAccount", "/metadata/name"),
];

/// What a namespace has, by kind and name.
async fn objects_of(ground: &Ground) -> Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for (api_version, kind, compared) in COMPARED_KINDS {
        for object in ground.objects(api_version, kind).list(&ListParams::default()).await? {
            // Helm's records of its releases: another namespace has its own.
            if text_at(&object.data, "/type") != "helm.sh/release.v1" {
                let name = format!("{kind} {}", object.name_any());
                objects.insert(name, without_place(object.data.pointer(compared)));
            }
        }
    }
    Ok(objects)
}

/// Without what is the cluster's choice.
fn without_place(content: Option<&Value>) -> Value {
    let mut content = content.cloned().unwrap_or_default();
    let choices = json!({"clusterIP": null, "clusterIPs": null, "volumeName": null});
    if content.is_object() {
        merge(&mut content, &choices);
    }
    content
}

fn same(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Result<()> {
    let is_shown = |kind: &str| before.keys().any(|name| name.starts_with(kind));
    for kind in ["Deployment", "Service ", "ConfigMap", "Secret", "PersistentVolumeClaim"] {
        ensure!(is_shown(kind), "there was no {kind} to compare: {:?}", before.keys());
    }
    for name in before.keys().chain(after.keys()) {
        let (one, other) = (before.get(name), after.get(name));
        ensure!(one == other, "{name}\nbefore: {one:?}\nafter:  {other:?}");
    }
    Ok(())
}

/// The lab has no driver that makes volumes: these are folders of its node. Velero saves their files, as it would not those of a
/// hostPath.
struct Volumes {
    folder: PathBuf,
}

impl Volumes {
    /// One for the application, one for its copy, one for what comes back.
    const NAMES: [&'static str; 3] = ["runbook-1", "runbook-2", "runbook-3"];

    fn of(ground: &Ground) -> Self {
        Self { folder: ground.cluster.paths.var_lib().join("runbook") }
    }

    async fn create(&self, ground: &Ground) -> Result<()> {
        ground.cluster.apply_yaml(STORAGE_CLASS).await?;
        for name in Self::NAMES {
            fs::create_dir_all(self.folder.join(name))?;
            ground.cluster.apply_yaml(&VOLUME.replace("VOLUME", name)).await?;
        }
        Ok(())
    }

    async fn remove(&self, ground: &Ground) -> Result<()> {
        let volumes = ground.cluster.dynamic("v1", "PersistentVolume", None);
        for name in Self::NAMES {
            if volumes.get_opt(name).await?.is_some() {
                volumes.delete(name, &DeleteParams::background()).await?;
                gone(&volumes, "PersistentVolume", name).await?;
            }
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        Ok(())
    }
}

const STORAGE_CLASS: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: runbook}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
";

const VOLUME: &str = "
apiVersion: v1
kind: PersistentVolume
metadata: {name: VOLUME}
spec:
  storageClassName: runbook
  persistentVolumeReclaimPolicy: Retain
  accessModes: [ReadWriteOnce]
  capacity: {storage: 16Mi}
  local: {path: /var/lib/runbook/VOLUME}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [lab]}]
";

/// Whatever an earlier run, or this one, left.
async fn remove_all(shop: &Ground, copy: &Ground, volumes: &Volumes) -> Result<()> {
    for ground in [copy, shop] {
        clear(ground).await?;
        ground.delete_namespace().await?;
    }
    volumes.remove(shop).await
}

/// Where the page's commands are typed: it has the approver's key, and gets what they write.
struct Folder(PathBuf);

impl Folder {
    fn create(ground: &Ground) -> Result<Self> {
        let folder = Self(ground.cluster.paths.state.join("runbook"));
        fs::create_dir_all(&folder.0)?;
        fs::write(folder.0.join("approver.pem"), private_key())?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("lab: failed to remove {}: {error}", self.0.display());
        }
    }
}
