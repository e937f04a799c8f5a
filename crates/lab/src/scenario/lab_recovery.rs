//! The lab itself: killed without warning, it comes back; stopped, it leaves nothing. A second lab, so that the one that the
//! other scenarios run on is not disturbed; that two run at once is shown by the way.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{Ground, Scenario};
use crate::node::{Node, cgroups};
use crate::paths::Paths;
use crate::process_table;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_lab_that_is_killed_at_four_points_of_its_start_comes_back_and_leaves_nothing_when_stopped",
    needs: &[],
    needs_node: true,
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

const UP_DEADLINE: Duration = Duration::from_secs(150);
/// `up` is killed when it says that this many of its steps are done: at once, and then ever later.
const MOMENTS: [usize; 4] = [0, 1, 3, 5];

async fn run(ground: &Ground) -> Result<()> {
    let second = format!("{}-killed", ground.cluster.paths.lab());
    let paths = Paths::of(&second)?;
    let lab = async |arguments: &[&str]| lab(&second, arguments).await;
    lab(&["down"]).await?;
    for steps in MOMENTS {
        // From a node that was killed itself, with all that it ran; the first time from nothing.
        if let Some(node) = Node::find(&paths) {
            kill(node.pid)?;
        }
        kill_up_after(&second, steps).await.with_context(|| format!("killing up after {steps} steps"))?;
        lab(&["up"]).await.with_context(|| format!("up after it was killed at step {steps}"))?;
        lab(&["status"]).await.context("not everything is well after the kill")?;
    }
    let namespaces = Namespaces::of(&Node::find(&paths).context("the lab does not run")?)?;
    let before = Instant::now();
    ensure!(!namespaces.inhabitants(before).is_empty(), "nothing runs in the lab, so nothing could be left");
    lab(&["down"]).await?;
    leaves_nothing(&paths, &namespaces, before)?;
    ensure!(
        ground.cluster.node.as_ref().is_some_and(Node::is_running),
        "the other lab does not run any more"
    );
    Ok(())
}

/// Starts the lab and kills the command, and nothing else, as soon as it tells of its n-th step.
async fn kill_up_after(lab: &str, steps: usize) -> Result<()> {
    let mut up = command(lab, &["up"]).stderr(Stdio::piped()).spawn()?;
    let mut said = BufReader::new(up.stderr.take().context("up says nothing")?).lines();
    let mut seen = 0;
    if steps == 0 {
        return end(&mut up).await;
    }
    while let Some(line) = timeout(UP_DEADLINE, said.next_line()).await.context("up hangs")?? {
        seen += usize::from(line.starts_with('['));
        if seen == steps {
            return end(&mut up).await;
        }
    }
    bail!("up ended before step {steps}")
}

async fn end(up: &mut Child) -> Result<()> {
    kill(up.id().context("up ended too early")?.cast_signed())?;
    up.wait().await?;
    Ok(())
}

async fn lab(name: &str, arguments: &[&str]) -> Result<()> {
    let ended =
        timeout(UP_DEADLINE, command(name, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).output());
    let output = ended.await.with_context(|| format!("lab {arguments:?} hangs"))??;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "lab {arguments:?} failed: {}", String::from_utf8_lossy(&said));
    Ok(())
}

fn command(lab: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--name", lab]).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command
}

fn kill(pid: i32) -> Result<()> {
    let pid = Pid::from_raw(pid).context("no such process")?;
    kill_process(pid, Signal::KILL).context("failed to kill")
}

/// The namespaces that only a lab's processes are in.
#[derive(Debug)]
struct Namespaces(BTreeSet<String>);

impl Namespaces {
    const KINDS: [&str; 3] = ["pid", "mnt", "net"];

    /// Those of the node and of all its pods, without the machine's own.
    fn of(node: &Node) -> Result<Self> {
        let mut all: BTreeSet<String> =
            node.processes().iter().flat_map(|process| Self::of_process(process.pid)).collect();
        // The node's first process is on the machine's network, to listen there for clients.
        for own in Self::of_process(std::process::id().cast_signed()) {
            all.remove(&own);
        }
        ensure!(
            all.len() > Self::KINDS.len(),
            "the lab's processes are in no namespaces of their own: {all:?}"
        );
        Ok(Self(all))
    }

    fn of_process(pid: i32) -> Vec<String> {
        let link = |kind: &&str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
        Self::KINDS.iter().filter_map(|kind| Some(link(kind)?.display().to_string())).collect()
    }

    /// Processes from before a moment that are in one of them. Mounts, networks and packet rules live exactly as long as
    /// somebody is. The kernel gives the numbers of namespaces that ended to new ones: of other labs, after that moment.
    fn inhabitants(&self, before: Instant) -> Vec<String> {
        let age = before.elapsed().as_secs();
        // One that has ended and only waits for its parent is in no namespace any more.
        let all = process_table::all().into_iter().filter(|process| process_table::is_alive(process.pid));
        let inside = all.filter(|process| {
            process.age >= age
                && Self::of_process(process.pid).iter().any(|namespace| self.0.contains(namespace))
        });
        inside.map(|process| process.arguments.join(" ")).collect()
    }
}

/// What a lab could leave: somebody in its namespaces, one of them held by a mount, cgroups, files, rules on the host.
fn leaves_nothing(paths: &Paths, namespaces: &Namespaces, before: Instant) -> Result<()> {
    let inhabitants = namespaces.inhabitants(before);
    ensure!(inhabitants.is_empty(), "processes of the lab still run: {inhabitants:?}");
    let state = paths.state.display().to_string();
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let is_its =
        |line: &&str| line.contains(&state) || namespaces.0.iter().any(|namespace| line.contains(namespace));
    let mounts: Vec<&str> = mounts.lines().filter(is_its).collect();
    ensure!(mounts.is_empty(), "mounts of the lab are left: {mounts:?}");
    let cgroups = cgroups::left_of(&cgroups::name(paths));
    ensure!(cgroups.is_empty(), "cgroups of the lab are left: {cgroups:?}");
    ensure!(!paths.state.exists(), "{state} is left");
    let rules = packet_rules()?;
    ensure!(rules.is_empty(), "packet rules of a cluster are on the host: {rules}");
    Ok(())
}

/// Rules that kube-proxy and the network plugins make, on the host itself, where there must be none.
fn packet_rules() -> Result<String> {
    let output =
        std::process::Command::new("iptables-save").output().context("failed to run iptables-save")?;
    let rules = String::from_utf8_lossy(&output.stdout);
    Ok(rules
        .lines()
        .filter(|line| line.contains("KUBE-") || line.contains("CNI-"))
        .collect::<Vec<_>>()
        .join("\n"))
}
