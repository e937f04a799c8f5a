//! What the operator stands on goes away in the middle of an upgrade: its own processes, the API server, etcd, Flux. Each
//! time the instance ends right, and none of its conditions lied meanwhile.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::ListParams;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::chart::Chart;
use super::faults::history::{RELEASE, REPOSITORY, Recorder, Version};
use super::faults::installed::{self, NAME, NAMESPACE, PROGRAM};
use super::faults::truth;
use super::faults::workload::{Asked, Charts, Subject};
use super::{Ground, Running, Scenario, seen, text_at};
use crate::node::processes::API_SERVER;
use crate::process_table;

pub(super) const LEADER: Scenario = scenario(
    "disruption_of_the_leader_another_replica_takes_over_within_15_s_and_both_killed_at_once_come_back",
    |ground| Box::pin(leader_killed(ground)),
);
pub(super) const LEADER_FROZEN: Scenario = scenario(
    "disruption_of_a_leader_that_sleeps_and_wakes_up_deposed_changes_nothing_about_an_upgrade",
    |ground| Box::pin(leader_frozen(ground)),
);
pub(super) const API_SERVER_KILLED: Scenario = scenario(
    "disruption_of_the_api_server_in_the_middle_of_an_upgrade_changes_nothing_about_its_end",
    |ground| Box::pin(api_server_killed(ground)),
);
pub(super) const ETCD_FROZEN: Scenario = scenario(
    "disruption_of_etcd_for_30_s_in_the_middle_of_an_upgrade_changes_nothing_about_its_end",
    |ground| Box::pin(etcd_frozen(ground)),
);
pub(super) const FLUX_AWAY: Scenario = scenario(
    "disruption_of_flux_in_the_middle_of_an_upgrade_is_told_as_an_upgrade_that_is_not_done",
    |ground| Box::pin(flux_away(ground)),
);

const fn scenario(name: &'static str, run: for<'a> fn(&'a Ground) -> Running<'a>) -> Scenario {
    Scenario { name, needs: &["flux", "operator", "registry"], needs_node: true, alone: true, run }
}

/// How long a step may take after something was away: everybody finds the API server again in their own time.
const PATIENCE: Duration = Duration::from_secs(150);
const TAKE_OVER: Duration = Duration::from_secs(15);
/// How long it may take after the API server is back until the operator sees again what happens.
const RECONNECT: Duration = Duration::from_secs(20);
/// The kubelet's patience with a process that does not answer.
const KUBELET: Duration = Duration::from_secs(25);
const FROZEN: Duration = Duration::from_secs(30);
/// How long Flux is away; every version of the instance is recorded meanwhile.
const AWAY: Duration = Duration::from_secs(10);
const FLUX: [&str; 2] = ["source-controller", "helm-controller"];

/// An instance in the middle of an upgrade, which `disturb` disturbs; then it must end right.
async fn upgrade(
    ground: &Ground,
    blindness: Duration,
    disturb: impl AsyncFnOnce(&Subject<'_>) -> Result<()>,
) -> Result<()> {
    let (old, new) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    let charts = Charts { old: old.version.clone(), new: new.version.clone(), ..Charts::default() };
    let recorder = Recorder::start(ground).await?;
    let subject = Subject::new(ground, &recorder, &charts, PATIENCE);
    let told = async {
        subject.ask(&subject.first()).await?;
        subject.is_done().await.context("before anything was disturbed")?;
        subject.ask(&Asked { version: &charts.new, delay: 3, ..subject.first() }).await?;
        subject.is_running("upgrade").await?;
        disturb(&subject).await?;
        subject.is_done().await?;
        let settings = ground.until("v1", "ConfigMap", "web-settings", |_| true).await?;
        let version = text_at(&settings.data, "/data/version");
        ensure!(version.starts_with(&charts.new), "version {version} runs, not {}", charts.new);
        subject.is_deleted().await?;
        let is_gone =
            |recorder: &Recorder| [RELEASE, REPOSITORY].iter().all(|kind| recorder.newest(kind).is_none());
        recorder.until("the release and its source are gone", PATIENCE, is_gone).await?;
        let lies = truth::lies(&recorder.versions(), blindness);
        if lies.is_empty() { Ok(()) } else { bail!("it lied:\n  {}", lies.join("\n  ")) }
    };
    told.await.map_err(|error: anyhow::Error| anyhow::anyhow!("{error:#}\nits history:\n{}", recorder.told()))
}

async fn leader_killed(ground: &Ground) -> Result<()> {
    with_two_replicas(ground, async |subject| {
        let leader = holder(ground).await?;
        send(Signal::KILL, &replicas(ground, |pod| leader.starts_with(pod)).await?)?;
        let killed = Instant::now();
        let successor = another_holder(ground, &leader).await?;
        let took = killed.elapsed();
        ensure!(
            took <= TAKE_OVER,
            "{successor} leads only {} ms after {leader} was killed",
            took.as_millis()
        );
        // The process that the kubelet starts again in the same pod would be too late.
        ensure!(pod_of(&successor) != pod_of(&leader), "{successor} succeeded {leader}: no other replica");
        println!("     another replica leads {} ms after the leader was killed", took.as_millis());
        subject.is_done().await?;
        // Both at once, in the middle of the next change.
        let second = Asked { version: &subject.charts.new, greeting: "second", delay: 3, ..subject.first() };
        subject.ask(&second).await?;
        subject.is_running("upgrade").await?;
        send(Signal::KILL, &replicas(ground, |_| true).await?)?;
        let killed = Instant::now();
        subject.is_done().await?;
        println!(
            "     the change is done {} ms after both replicas were killed",
            killed.elapsed().as_millis()
        );
        Ok(())
    })
    .await
}

async fn leader_frozen(ground: &Ground) -> Result<()> {
    with_two_replicas(ground, async |subject| {
        let leader = holder(ground).await?;
        let sleeper = Frozen::now(replicas(ground, |pod| leader.starts_with(pod)).await?)?;
        let since = Instant::now();
        let successor = another_holder(ground, &leader).await?;
        subject.is_done().await?;
        // The next change is under way by the successor when the sleeper wakes up with its plans of before.
        let second = Asked { version: &subject.charts.new, greeting: "second", delay: 8, ..subject.first() };
        subject.ask(&second).await?;
        subject.is_running("upgrade").await?;
        let asleep = since.elapsed();
        ensure!(asleep < KUBELET, "this took {} ms: the kubelet may have replaced it", asleep.as_millis());
        drop(sleeper);
        subject.is_done().await?;
        println!("     the leader slept for {} ms", asleep.as_millis());
        let now = holder(ground).await?;
        ensure!(now == successor, "{now} leads after the sleeper woke up, not {successor}");
        Ok(())
    })
    .await
}

/// The same, with a replica that can take over.
async fn with_two_replicas(
    ground: &Ground,
    disturb: impl AsyncFnOnce(&Subject<'_>) -> Result<()>,
) -> Result<()> {
    let scaled = installed::scale(ground, 2).await;
    let told = match scaled {
        Ok(()) => upgrade(ground, TAKE_OVER, disturb).await,
        Err(error) => Err(error),
    };
    // Whatever the outcome: others expect one.
    let restored = installed::scale(ground, 1).await;
    told.and(restored)
}

/// `POD_PID_TIME`, as the lease names a process.
fn pod_of(holder: &str) -> &str {
    holder.split('_').next().unwrap_or(holder)
}

async fn holder(ground: &Ground) -> Result<String> {
    another_holder(ground, "nobody").await
}

/// Waits until somebody else has the lease.
async fn another_holder(ground: &Ground, former: &str) -> Result<String> {
    let leases = ground.cluster.dynamic("coordination.k8s.io/v1", "Lease", Some(NAMESPACE));
    let is_held = |data: &Value| !["", former].contains(&text_at(data, "/spec/holderIdentity"));
    let lease = seen(&leases, "Lease", NAME, is_held).await?;
    Ok(text_at(&lease.data, "/spec/holderIdentity").to_owned())
}

/// The processes of replicas.
pub(super) async fn replicas(ground: &Ground, is_chosen: impl Fn(&str) -> bool) -> Result<Vec<i32>> {
    let pods = ground.cluster.dynamic("v1", "Pod", Some(NAMESPACE));
    let labelled = ListParams::default().labels(&format!("app.kubernetes.io/name={NAME}"));
    let pods = pods.list(&labelled).await?.items;
    let chosen: Vec<String> =
        pods.iter().filter(|pod| is_chosen(&pod.name_any())).filter_map(ResourceExt::uid).collect();
    let node = ground.cluster.node.as_ref().context("this cluster has no node of ours")?;
    let is_chosen = |process: &&process_table::Running| {
        process.program() == PROGRAM && chosen.iter().any(|uid| process.is_in_pod(uid))
    };
    let found: Vec<i32> = node.processes().iter().filter(is_chosen).map(|process| process.pid).collect();
    ensure!(!found.is_empty(), "none of the replicas {chosen:?} has a process");
    Ok(found)
}

/// Processes that do nothing for as long as this lives, however it ends.
struct Frozen(Vec<i32>);

impl Frozen {
    fn now(pids: Vec<i32>) -> Result<Self> {
        let frozen = Self(pids);
        send(Signal::STOP, &frozen.0)?;
        Ok(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // One that has ended needs no waking.
        let _ = send(Signal::CONT, &self.0);
    }
}

async fn api_server_killed(ground: &Ground) -> Result<()> {
    upgrade(ground, RECONNECT, async |_| send(Signal::KILL, &[process(ground, API_SERVER)?])).await
}

async fn etcd_frozen(ground: &Ground) -> Result<()> {
    upgrade(ground, FROZEN + RECONNECT, async |_| {
        let _etcd = Frozen::now(vec![process(ground, "etcd")?])?;
        // The fault itself takes this long; nothing can be watched meanwhile.
        sleep(FROZEN).await;
        Ok(())
    })
    .await
}

async fn flux_away(ground: &Ground) -> Result<()> {
    let told = upgrade(ground, Duration::ZERO, async |subject| {
        scale_flux(ground, 0).await?;
        // Asked for while nobody is there who could do it.
        let second = Asked { version: &subject.charts.new, greeting: "second", delay: 1, ..subject.first() };
        subject.ask(&second).await?;
        let is_told = |instance: &Version| !instance.is_true("Ready") && instance.is_true("Reconciling");
        subject.is("told as not done", is_told).await?;
        sleep(AWAY).await;
        subject.is("still told as not done", is_told).await?;
        scale_flux(ground, 1).await
    })
    .await;
    // Whatever the outcome: others need it.
    told.and(scale_flux(ground, 1).await)
}

async fn scale_flux(ground: &Ground, replicas: i64) -> Result<()> {
    for name in FLUX {
        installed::scale_of(ground, "flux-system", name, replicas).await?;
    }
    Ok(())
}

/// A process of the node.
fn process(ground: &Ground, program: &str) -> Result<i32> {
    let node = ground.cluster.node.as_ref().context("this cluster has no node of ours")?;
    let processes = node.processes();
    let found = processes.iter().find(|process| process.program() == program);
    found.map(|process| process.pid).with_context(|| format!("{program} does not run"))
}

pub(super) fn send(signal: Signal, pids: &[i32]) -> Result<()> {
    for pid in pids {
        let known = Pid::from_raw(*pid).context("no process has number 0")?;
        kill_process(known, signal).with_context(|| format!("failed to send {signal:?} to process {pid}"))?;
    }
    Ok(())
}
