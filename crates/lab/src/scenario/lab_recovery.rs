//! The lab itself: killed without warning, it comes back; stopped, it leaves nothing. A second lab, so that the one that the
//! other scenarios run on is not disturbed; that two run at once is shown by the way.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::{Ground, Scenario};
use crate::node::{Node, cgroups};
use crate::paths::Paths;
use crate::process_table;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_lab_that_is_killed_at_any_moment_comes_back_and_leaves_nothing_when_stopped",
    needs: &[],
    needs_node: true,
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

const UP_DEADLINE: Duration = Duration::from_secs(150);
/// `up` is killed when it says that this many of its steps are done.
const MOMENTS: [usize; 3] = [1, 2, 4];

async fn run(ground: &Ground) -> Result<()> {
    let second = format!("{}-killed", ground.cluster.paths.lab());
    let paths = Paths::of(&second)?;
    let lab = async |arguments: &[&str]| lab(&second, arguments).await;
    lab(&["down"]).await?;
    let before = Traces::of_this_machine(&paths)?;
    for steps in MOMENTS {
        kill_up_after(&second, steps).await.with_context(|| format!("killing up after {steps} steps"))?;
        lab(&["up"]).await.with_context(|| format!("up after it was killed at step {steps}"))?;
        lab(&["status"]).await.context("not everything is well after the kill")?;
        // The next one starts from a node that was killed itself, with all that it ran.
        kill(Node::find(&paths).context("the lab does not run")?.pid)?;
    }
    lab(&["down"]).await?;
    let after = Traces::of_this_machine(&paths)?;
    ensure!(before == after, "the lab left something behind: before {before:?}, after {after:?}");
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
    while let Some(line) = timeout(UP_DEADLINE, said.next_line()).await.context("up hangs")?? {
        seen += usize::from(line.starts_with('['));
        if seen == steps {
            kill(up.id().context("up ended too early")?.cast_signed())?;
            up.wait().await?;
            return Ok(());
        }
    }
    bail!("up ended before step {steps}")
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

/// What a lab can leave on a machine.
#[derive(Debug, Eq, PartialEq)]
struct Traces {
    processes: BTreeSet<String>,
    mounts: BTreeSet<String>,
    network_namespaces: BTreeSet<String>,
    cgroups: BTreeSet<String>,
    packet_rules: String,
    state: bool,
}

impl Traces {
    fn of_this_machine(paths: &Paths) -> Result<Self> {
        let state = paths.state.display().to_string();
        let mentions = |text: &String| text.contains(&state);
        let processes = process_table::all().into_iter().map(|process| process.arguments.join(" "));
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let cgroup = cgroups::name(paths);
        let hierarchies = names("/sys/fs/cgroup");
        Ok(Self {
            processes: processes.filter(mentions).collect(),
            mounts: fs::read_to_string("/proc/mounts")?.lines().map(str::to_owned).collect(),
            network_namespaces: names("/run/netns"),
            cgroups: hierarchies
                .into_iter()
                .filter(|hierarchy| {
                    *hierarchy == cgroup || names(&format!("/sys/fs/cgroup/{hierarchy}")).contains(&cgroup)
                })
                .collect(),
            packet_rules: packet_rules()?,
            state: paths.state.exists(),
        })
    }
}

/// Without counters and comments, which change by themselves.
fn packet_rules() -> Result<String> {
    let output =
        std::process::Command::new("iptables-save").output().context("failed to run iptables-save")?;
    let rules = String::from_utf8_lossy(&output.stdout);
    Ok(rules.lines().filter(|line| line.starts_with("-A")).collect::<Vec<_>>().join("\n"))
}
