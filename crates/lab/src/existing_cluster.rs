//! A cluster that is not the lab's: what may be done there, and what must be there already.

use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node as KubernetesNode;
use kube::api::{Api, ListParams};

use crate::addons::{Addon, Installed};
use crate::cluster::Cluster;
use crate::components::Component;
use crate::node_images::{self, BUSYBOX};
use crate::paths::Paths;
use crate::progress::Progress;
use crate::unmet::Unmet;
use crate::up;

/// As many images as a kubelet names unless it is told otherwise.
const IMAGES_NAMED_BY_A_NODE: usize = 50;

/// A cluster that is not ours: only add-ons that it has not, and only if its nodes have the images.
pub(crate) async fn up(paths: &Paths, kubeconfig: &Path, addons: &[Addon]) -> Result<Cluster> {
    let base = Component::load("base", paths)?;
    up::prepare(paths, Some(kubeconfig), addons)?;
    let cluster = Cluster::connect(paths, kubeconfig, None, &base.bin()).await?;
    let images = images_of_nodes(&cluster).await?;
    require_image(&images, BUSYBOX, &node_images::tar_of(paths, &node_images::busybox())?)?;
    let mut wanted = Vec::new();
    for addon in addons.iter().filter(|addon| !addon.is_own_cluster_only()) {
        if addon.is_somebody_elses(&cluster).await? {
            eprintln!("lab: {} is on the cluster already and is left as it is", addon.name);
            continue;
        }
        // What runs has its images; nodes are slow to name new ones.
        if addon.installed(&cluster).await? != Installed::Same {
            for (reference, tar) in addon.image_files(paths)? {
                require_image(&images, &reference, &tar)?;
            }
        }
        wanted.push(addon);
    }
    up::install(&cluster, wanted.iter().copied(), &Progress::new(wanted.len())).await?;
    Ok(cluster)
}

/// What each node says it has. A node names only so many images; one that names that many may have more.
async fn images_of_nodes(cluster: &Cluster) -> Result<Vec<Vec<String>>> {
    let nodes: Api<KubernetesNode> = Api::all(cluster.client.clone());
    let nodes = nodes.list(&ListParams::default()).await.context("failed to list the cluster's nodes")?;
    let images =
        nodes.into_iter().map(|node| node.status.and_then(|status| status.images).unwrap_or_default());
    let known = images.filter(|images| images.len() < IMAGES_NAMED_BY_A_NODE);
    Ok(known.map(|images| images.into_iter().filter_map(|image| image.names).flatten().collect()).collect())
}

fn require_image(nodes: &[Vec<String>], reference: &str, tar: &Path) -> Result<()> {
    if nodes.iter().all(|images| images.iter().any(|image| image == reference)) {
        return Ok(());
    }
    Err(Unmet::new(format!(
        "a node of the cluster lacks image {reference}, and only the lab's own node can be loaded from here; on each node run: \
         ctr --namespace k8s.io images import {}",
        tar.display()
    ))
    .into())
}
