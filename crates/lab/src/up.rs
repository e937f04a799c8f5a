//! Starting a cluster: build what is missing, start the node, load images while the API server starts, install the
//! add-ons side by side.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use tokio::time::{Instant, sleep};

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::components::Component;
use crate::existing_cluster;
use crate::image;
use crate::lock;
use crate::machine;
use crate::node::processes::API_SERVER;
use crate::node::{self, Node, Start, supervise};
use crate::node_images;
use crate::paths::Paths;
use crate::progress::Progress;
use crate::readiness::Expected;
use crate::tail;
use crate::unmet::Unmet;

const API_DEADLINE: Duration = Duration::from_secs(90);
const NODE_DEADLINE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(100);

/// What the user asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) addons: &'a [Addon],
    pub(crate) port: Option<u16>,
    /// A cluster that exists already, instead of our own.
    pub(crate) kubeconfig: Option<&'a Path>,
}

/// Brings the cluster to what is wanted; what runs already is left as it is.
pub(crate) async fn up(paths: &Paths, wanted: &Wanted<'_>) -> Result<Cluster> {
    match wanted.kubeconfig {
        Some(kubeconfig) => existing_cluster::up(paths, kubeconfig, wanted.addons).await,
        None => own(paths, wanted).await,
    }
}

async fn own(paths: &Paths, wanted: &Wanted<'_>) -> Result<Cluster> {
    machine::must_be_root()?;
    let _lock = lock(paths)?;
    let running = Node::find(paths);
    match (&running, wanted.port) {
        // Before anything is built or started.
        (None, port) => {
            machine::can_run(paths)?;
            node::free_ports(port)?;
        }
        (Some(_), Some(port)) => node::require_port(paths, port)?,
        (Some(_), None) => {}
    }
    let base = Component::load("base", paths)?;
    build(paths, std::iter::once(&base).chain(components(wanted.addons)))?;
    build_own(paths, wanted.addons)?;
    // Besides the add-ons: the node's start, the API server, the node's readiness, the images.
    let progress = Progress::new(if running.is_some() { 3 } else { 4 } + wanted.addons.len());
    let node = match running {
        Some(node) => node,
        None => start(paths, &base, wanted, &progress)?,
    };
    let cluster = Cluster::connect(paths, &paths.kubeconfig(), Some(node), &base.bin()).await?;
    match bring_up(&cluster, wanted.addons, &progress).await {
        Ok(()) => Ok(cluster),
        Err(error) => Err(error.context(format!("the lab is not up{}", restarted(paths)))),
    }
}

async fn bring_up(cluster: &Cluster, addons: &[Addon], progress: &Progress) -> Result<()> {
    let (api, images) = tokio::join!(api_server(cluster, progress), load_images(cluster, addons, progress));
    api?;
    images?;
    node_ready(cluster, progress).await?;
    install(cluster, addons, progress).await
}

/// Processes of the node that ended by themselves, with the ends of their logs: often the cause of what is seen elsewhere.
fn restarted(paths: &Paths) -> String {
    let lives = supervise::lives(paths);
    let told = lives.iter().map(|(name, life)| {
        let exit = life.last_exit.as_deref().unwrap_or("ended");
        format!(
            "\n{name} ended {} times, last with {exit}; its log ends:\n{}",
            life.restarts,
            tail::of(&paths.log_of(name), 8)
        )
    });
    told.collect()
}

fn components(addons: &[Addon]) -> impl Iterator<Item = &Component> {
    addons.iter().flat_map(|addon| &addon.components)
}

/// The running lab, for commands that do not start one.
pub(crate) async fn running(paths: &Paths, kubeconfig: Option<&Path>) -> Result<Cluster> {
    let tools = Component::load("base", paths)?.bin();
    match (kubeconfig, Node::find(paths)) {
        (Some(kubeconfig), _) => Cluster::connect(paths, kubeconfig, None, &tools).await,
        (None, Some(node)) => Cluster::connect(paths, &paths.kubeconfig(), Some(node), &tools).await,
        (None, None) => Err(machine::not_running(paths)),
    }
}

/// The folder of the lab's own kubectl and helm, once they are built.
pub(crate) fn tools(paths: &Paths) -> Result<PathBuf> {
    let base = Component::load("base", paths)?;
    if Node::find(paths).is_some() {
        return Ok(paths.bin());
    }
    if !base.is_built() {
        return Err(Unmet::new("kubectl and helm are not built yet; run: cargo lab up").into());
    }
    Ok(base.bin())
}

/// How long the components that the cache has not would take.
pub(crate) fn minutes_to_build(paths: &Paths) -> Result<u32> {
    let addons = Addon::all(paths)?;
    let base = Component::load("base", paths)?;
    let missing = std::iter::once(&base).chain(components(&addons)).filter(|component| !component.is_built());
    Ok(missing
        .map(|component| (component.name.as_str(), component.minutes()))
        .collect::<BTreeMap<_, _>>()
        .values()
        .sum())
}

/// One at a time starts or stops a lab.
pub(crate) fn lock(paths: &Paths) -> Result<File> {
    let failed = || format!("failed to lock {}", paths.lock.display());
    fs::create_dir_all(paths.lock.parent().unwrap_or(&paths.lock)).with_context(failed)?;
    let lock = File::create(&paths.lock).with_context(failed)?;
    lock::take(&lock, "another command that is starting or stopping this lab").with_context(failed)?;
    Ok(lock)
}

/// Checks the machine and builds what these add-ons need, without starting anything.
pub(crate) fn prepare<'a>(
    paths: &Paths,
    kubeconfig: Option<&Path>,
    addons: impl IntoIterator<Item = &'a Addon>,
) -> Result<()> {
    if kubeconfig.is_none() && Node::find(paths).is_none() {
        machine::can_run(paths)?;
    }
    let base = Component::load("base", paths)?;
    let addons: Vec<&Addon> = addons.into_iter().collect();
    let components = addons.iter().flat_map(|addon| &addon.components);
    build(paths, std::iter::once(&base).chain(components))?;
    build_own(paths, addons)
}

/// Builds what the cache has not, and says beforehand how long that will take.
fn build<'a>(paths: &Paths, components: impl Iterator<Item = &'a Component>) -> Result<()> {
    let mut missing: Vec<&Component> = Vec::new();
    for component in components.filter(|component| !component.is_built()) {
        if missing.iter().all(|other| other.name != component.name) {
            missing.push(component);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let minutes: u32 = missing.iter().map(|component| component.minutes()).sum();
    machine::can_build(paths, minutes)?;
    eprintln!(
        "lab: to be built from source: {}; about {} min on 2 cores, once; later runs take it from {}",
        missing.iter().map(|component| component.name.as_str()).collect::<Vec<_>>().join(", "),
        minutes.max(1),
        paths.cache.display()
    );
    let progress = Progress::new(missing.len());
    for component in missing {
        let step = progress.begin(format!("building {}", component.title()));
        component.build(paths, &step)?;
        step.done();
    }
    Ok(())
}

/// Builds this checkout's programs whose images the cache has not.
fn build_own<'a>(paths: &Paths, addons: impl IntoIterator<Item = &'a Addon>) -> Result<()> {
    let missing: Vec<&Addon> = addons.into_iter().filter(|addon| addon.is_to_be_built(paths)).collect();
    let progress = Progress::new(missing.len());
    for addon in missing {
        let step = progress.begin(format!("building {}", addon.title()));
        step.ticking("about 5 min the first time", || addon.image_files(paths))?;
        step.done();
    }
    Ok(())
}

fn start(paths: &Paths, base: &Component, wanted: &Wanted<'_>, progress: &Progress) -> Result<Node> {
    let step = progress.begin("starting the node");
    let bin = base.bin();
    let start = Start { bin: &bin, pause_image: node_images::PAUSE, port: wanted.port };
    let node = Node::start(paths, &start)?;
    step.done();
    Ok(node)
}

/// Waits until the API server answers; an end of the node is told at once.
async fn api_server(cluster: &Cluster, progress: &Progress) -> Result<()> {
    let step = progress.begin("API server ready");
    let deadline = Instant::now() + API_DEADLINE;
    let request = || http::Request::get("/readyz").body(Vec::new());
    while cluster.client.request_text(request()?).await.is_err() {
        let node_runs = cluster.node.as_ref().is_none_or(Node::is_running);
        if !node_runs || Instant::now() > deadline {
            let culprit = if node_runs { API_SERVER } else { "node" };
            bail!(not_ready(&cluster.paths, culprit));
        }
        step.note("");
        sleep(POLL).await;
    }
    step.done();
    Ok(())
}

/// Names the part, shows the end of its log and where the whole log is.
fn not_ready(paths: &Paths, process: &str) -> String {
    let log = paths.log_of(process);
    format!("{process} does not get ready; the end of its log ({}):\n{}", log.display(), tail::of(&log, 20))
}

async fn node_ready(cluster: &Cluster, progress: &Progress) -> Result<()> {
    let step = progress.begin("node ready");
    let expected = Expected {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        namespace: None,
        name: "lab".to_owned(),
        condition: Some("Ready".to_owned()),
        path: None,
        value: None,
    };
    expected
        .wait(cluster, "kube-system", NODE_DEADLINE)
        .await
        .with_context(|| not_ready(&cluster.paths, "kubelet"))?;
    step.done();
    Ok(())
}

/// Loads the images that the node does not have yet. The pause image comes first: without it no pod starts.
async fn load_images(cluster: &Cluster, addons: &[Addon], progress: &Progress) -> Result<()> {
    let Some(node) = &cluster.node else { return Ok(()) };
    let step = progress.begin("loading images");
    let present = wait_for_containerd(cluster, node).await?;
    let has = |reference: &String| present.contains(reference);
    for image in [node_images::pause(&cluster.paths)?, node_images::busybox()] {
        if !has(&image.reference) {
            image::import(node, &node_images::tar_of(&cluster.paths, &image)?).await?;
        }
    }
    for addon in addons.iter().filter(|addon| !addon.image_references().iter().all(has)) {
        step.note(&addon.name);
        addon.load_images(node, &cluster.paths).await?;
    }
    step.done();
    Ok(())
}

/// The references of the node's images, as soon as containerd answers.
async fn wait_for_containerd(cluster: &Cluster, node: &Node) -> Result<Vec<String>> {
    let deadline = Instant::now() + API_DEADLINE;
    loop {
        match image::list(node).await {
            Ok(present) => return Ok(present),
            Err(_) if node.is_running() && Instant::now() < deadline => sleep(POLL).await,
            Err(error) => return Err(error.context(not_ready(&cluster.paths, "containerd"))),
        }
    }
}

/// Installs add-ons side by side and waits for them, then those that must see what the others brought.
pub(crate) async fn install(
    cluster: &Cluster,
    addons: impl IntoIterator<Item = &Addon>,
    progress: &Progress,
) -> Result<()> {
    let (last, first): (Vec<&Addon>, Vec<&Addon>) = addons.into_iter().partition(|addon| addon.is_last());
    let install = async |addon: &Addon| {
        let step = progress.begin(format!("{} ready", addon.title()));
        addon.install(cluster).await?;
        step.done();
        anyhow::Ok(())
    };
    try_join_all(first.into_iter().map(&install)).await?;
    try_join_all(last.into_iter().map(&install)).await?;
    Ok(())
}
