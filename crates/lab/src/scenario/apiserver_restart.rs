//! The API server dies and comes back: whoever stores or runs something does not notice.

use anyhow::{Context, Result, ensure};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watch_object};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::timeout;

use super::{DEADLINE, Ground, Scenario};
use crate::node::Node;
use crate::node::processes::API_SERVER;
use crate::readiness::has_condition;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "kube_apiserver_killed_and_restarted_loses_nothing",
    needs: &[],
    needs_node: true,
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    let node = ground.cluster.node.as_ref().context("this cluster has no node of ours")?;
    let client = &ground.cluster.client;
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &ground.namespace);

    ground.apply(RUNNING).await?;
    ground.until("v1", "Pod", "running", |data| has_condition(data, "Ready", "True")).await?;
    let running = Life::of(ground, "running").await?;
    let mut watched = watch_object(config_maps.clone(), "ledger").default_backoff().boxed();
    let old = api_server(node).context("kube-apiserver does not run")?;

    let written = config_maps.create(&PostParams::default(), &ledger()).await?;
    sees(&mut watched, |ledger| ledger.uid() == written.uid()).await.context("before the restart")?;
    kill_process(Pid::from_raw(old).context("no process has number 0")?, Signal::KILL)?;

    // The first answer comes from the new process, for the old one is dead.
    let kept = ground.until("v1", "ConfigMap", "ledger", |_| true).await?;
    let new = api_server(node).context("kube-apiserver answers and does not run")?;
    ensure!(new != old, "kube-apiserver still has process {old}, which was killed");
    let same = (kept.uid(), kept.resource_version()) == (written.uid(), written.resource_version());
    ensure!(same, "ConfigMap ledger was written as {:?} and is now {:?}", written.metadata, kept.metadata);

    ground.apply(LATER_ENTRY).await?;
    let has_entry = |ledger: &ConfigMap| ledger.data.as_ref().is_some_and(|data| data.contains_key("later"));
    sees(&mut watched, has_entry).await.context("a watch from before the restart did not go on")?;

    // A new pod needs controllers, scheduler and kubelet: all of them have found the API server again.
    ground.apply(NEW).await?;
    ground.output_of("new").await?;
    let still = Life::of(ground, "running").await?;
    ensure!(still == running, "pod running was {running:?} and is now {still:?}");
    Ok(())
}

fn api_server(node: &Node) -> Option<i32> {
    let processes = node.processes();
    processes.iter().find(|process| process.program() == API_SERVER).map(|process| process.pid)
}

/// Waits until a watch shows the object as wanted.
async fn sees(
    watched: &mut (impl Stream<Item = watcher::Result<Option<ConfigMap>>> + Unpin),
    wanted: impl Fn(&ConfigMap) -> bool,
) -> Result<()> {
    let sight = async {
        while let Some(event) = watched.next().await {
            // An error is a broken watch, which is taken up again.
            if event.is_ok_and(|object| object.as_ref().is_some_and(&wanted)) {
                return Ok(());
            }
        }
        anyhow::bail!("the watch of ConfigMap ledger ended")
    };
    let waited = timeout(DEADLINE, sight).await;
    waited.with_context(|| {
        format!("a watch did not see ConfigMap ledger change within {} s", DEADLINE.as_secs())
    })?
}

/// What a pod's restart would change.
#[derive(Debug, PartialEq)]
struct Life {
    uid: Option<String>,
    containers: Vec<(Option<String>, i32)>,
}

impl Life {
    async fn of(ground: &Ground, pod: &str) -> Result<Self> {
        let pods: Api<Pod> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
        let pod = pods.get(pod).await?;
        let uid = pod.uid();
        let containers = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
        let containers =
            containers.into_iter().map(|container| (container.container_id, container.restart_count));
        Ok(Self { uid, containers: containers.collect() })
    }
}

fn ledger() -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some("ledger".to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

const RUNNING: &str = "
apiVersion: v1
kind: Pod
metadata: {name: running, namespace: NAMESPACE}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: running
    image: lab.local/busybox:1
    command: [sleep, '1000000']
";

const LATER_ENTRY: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: ledger, namespace: NAMESPACE}
data: {later: written after the restart}
";

const NEW: &str = "
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: NAMESPACE}
spec:
  restartPolicy: Never
  containers:
  - name: new
    image: lab.local/busybox:1
    command: ['true']
";
