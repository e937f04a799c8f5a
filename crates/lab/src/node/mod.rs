//! The machine that the cluster runs on: a process, mount and network namespace on this host. Whether it runs is asked
//! of the kernel, never of a file, so a lab that was killed at any moment is seen as it is.

pub(crate) mod cgroups;
pub(crate) mod network;
pub(crate) mod pki;
pub(crate) mod processes;
pub(crate) mod supervise;

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use self::network::{NODE_IP, Published};
use self::supervise::Spec;
use crate::lock;
use crate::paths::Paths;
use crate::process_table::{self, Running};
use crate::tail;
use crate::unmet::Unmet;

/// The word by which a node's first process is known; followed by the state folder.
pub(crate) const SUPERVISE: &str = "supervise";
/// Ports of the node that are published: the API server's own, and node ports of services.
pub(crate) const API_PORT: u16 = 6443;
const REGISTRY_PORT: u16 = 30500;
pub(crate) const DEMO_PORT: u16 = 30080;
/// First of the three ports on the loopback address: API server, OCI registry, demo application.
const FIRST_PORT: u16 = 26443;
const PORTS: [(&str, u16); 3] =
    [("API server", API_PORT), ("OCI registry", REGISTRY_PORT), ("demo application", DEMO_PORT)];
/// How long the node may take until it listens.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// How long the kernel may take to end a lab's processes.
const STOP_DEADLINE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// A running node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its first process, seen from the host.
    pub(crate) pid: i32,
}

/// A process of the node that does not run while this lives.
pub(crate) struct Held(PathBuf);

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            eprintln!("lab: a process of the node stays held; remove {}: {error}", self.0.display());
        }
    }
}

/// What a node needs to start.
pub(crate) struct Start<'a> {
    /// Folder of the built Kubernetes binaries.
    pub(crate) bin: &'a Path,
    pub(crate) pause_image: &'a str,
    pub(crate) port: Option<u16>,
}

impl Node {
    /// The lab's node, if it runs.
    pub(crate) fn find(paths: &Paths) -> Option<Self> {
        let words = process_table::all().into_iter();
        words.filter(|process| is_node(process, paths)).map(|process| Self { pid: process.pid }).next()
    }

    /// Starts a node with empty state. Whatever a killed predecessor left is removed first.
    pub(crate) fn start(paths: &Paths, start: &Start<'_>) -> Result<Self> {
        stop(paths)?;
        // Held until the node listens: two labs that start at once must not choose the same ports.
        let choosing = File::create(paths.lock.with_file_name("ports.lock"))?;
        lock::take(&choosing, "another lab that is starting")?;
        let port = free_ports(start.port)?;
        fs::create_dir_all(paths.log())?;
        fs::create_dir_all(paths.var_lib())?;
        fs::create_dir_all(paths.bin())?;
        for program in ["kubectl", "helm"] {
            symlink(start.bin.join(program), paths.bin().join(program))?;
        }
        let cgroup = cgroups::name(paths);
        cgroups::create(&cgroup)?;
        pki::write(&paths.pki(), &paths.kubeconfig(), &format!("127.0.0.1:{port}"))?;
        processes::write_configuration(paths, &cgroup, start.pause_image)?;
        let spec =
            Spec { processes: processes::all(start.bin, &paths.pki()), published: published_from(port) };
        fs::write(paths.state.join(supervise::SPEC), serde_json::to_vec_pretty(&spec)?)?;
        let node = spawn(paths)?;
        node.wait_until_listening(paths, port)?;
        Ok(node)
    }

    /// The node publishes its ports first of all; if it cannot even do that it ends and says why.
    fn wait_until_listening(&self, paths: &Paths, port: u16) -> Result<()> {
        let deadline = Instant::now() + START_DEADLINE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if !self.is_running() || Instant::now() > deadline {
                bail!("the node does not start; its log says:\n{}", tail::of(&paths.log_of("node"), 20));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Everything that runs in the lab, containers included, as the host sees it.
    pub(crate) fn processes(&self) -> Vec<Running> {
        process_table::below(self.pid, &process_table::all())
    }

    /// Ends a process of the node, which is not started again while the answer lives.
    pub(crate) fn hold(&self, paths: &Paths, name: &str) -> Result<Held> {
        let held = Held(supervise::holding(paths, name));
        fs::write(&held.0, "")?;
        for process in self.processes().iter().filter(|process| process.program() == name) {
            kill(process.pid)?;
        }
        Ok(held)
    }

    /// containerd's socket, through the node's own mounts.
    pub(crate) fn containerd(&self) -> PathBuf {
        Path::new("/proc").join(self.pid.to_string()).join("root").join("run/containerd/containerd.sock")
    }

    /// The network namespace, as the host sees it. containerd is the one that no scenario kills.
    pub(crate) fn network(&self) -> Option<PathBuf> {
        let processes = self.processes();
        let containerd = processes.iter().find(|process| process.program() == "containerd")?;
        Some(Path::new("/proc").join(containerd.pid.to_string()).join("ns/net"))
    }

    /// A first process that is only waited for has ended, and with it everything else.
    pub(crate) fn is_running(&self) -> bool {
        process_table::is_alive(self.pid)
    }
}

/// Ends whatever runs of this lab and removes all it left, whoever started it and however far it came. Says whether there
/// was anything.
pub(crate) fn stop(paths: &Paths) -> Result<bool> {
    let deadline = Instant::now() + STOP_DEADLINE;
    let mut was_there = paths.state.exists();
    // Its wrapper ends by itself, after everything else; it is killed only when there is no node below it yet.
    while let Some(process) = Node::find(paths).map(|node| node.pid).or_else(|| wrapper(paths)) {
        was_there = true;
        kill(process)?;
        while process_table::is_alive(process) {
            if Instant::now() > deadline {
                bail!(
                    "process {process} of the lab did not end within {} s of being killed",
                    STOP_DEADLINE.as_secs()
                );
            }
            thread::sleep(POLL);
        }
    }
    cgroups::remove(&cgroups::name(paths), deadline)?;
    match fs::remove_dir_all(&paths.state) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", paths.state.display()))
        }
        _ => Ok(was_there),
    }
}

/// Lets a process of the node run that was held by somebody who was killed.
pub(crate) fn let_run(paths: &Paths, name: &str) -> Result<()> {
    match fs::remove_file(supervise::holding(paths, name)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn kill(pid: i32) -> Result<()> {
    let pid = Pid::from_raw(pid).context("there is no process 0")?;
    match kill_process(pid, Signal::KILL) {
        // It ended since we looked.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("failed to kill process {pid:?}")),
    }
}

/// Only root can make the namespaces, so nobody else's process is taken for a node.
fn is_node(process: &Running, paths: &Paths) -> bool {
    let state = paths.state.display().to_string();
    matches!(process.arguments.as_slice(), [_, word, folder] if word == SUPERVISE && *folder == state)
        && process.is_of_root()
}

/// `setsid` or `unshare` that starts this lab's node.
fn wrapper(paths: &Paths) -> Option<i32> {
    let ending = [SUPERVISE.to_owned(), paths.state.display().to_string()];
    let is_wrapper = |process: &Running| {
        matches!(process.program(), "setsid" | "unshare")
            && process.arguments.ends_with(&ending)
            && process.is_of_root()
    };
    process_table::all().into_iter().find(is_wrapper).map(|process| process.pid)
}

/// `unshare` makes the namespaces; `setsid` detaches them from this terminal. The program is this very process's, even if
/// the file was replaced by a build meanwhile.
fn spawn(paths: &Paths) -> Result<Node> {
    let log = File::options().create(true).append(true).open(paths.log_of("node"))?;
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("setsid")
        .args(["unshare", "--pid", "--fork", "--mount", "--propagation", "private", "--"])
        .arg(format!("/proc/{}/exe", std::process::id()))
        .arg(SUPERVISE)
        .arg(&paths.state)
        // Nothing of the user's settings, such as proxies, is for the cluster.
        .env_clear()
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("HOME", "/root")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("failed to run setsid and unshare (Debian package util-linux)")?;
    let deadline = Instant::now() + START_DEADLINE;
    while Instant::now() < deadline {
        if let Some(node) = Node::find(paths) {
            return Ok(node);
        }
        thread::sleep(POLL);
    }
    bail!("the node does not start; its log says:\n{}", tail::of(&paths.log_of("node"), 20));
}

/// Three ports in a row that are free on the loopback address; a port that the user chose must be.
pub(crate) fn free_ports(chosen: Option<u16>) -> Result<u16> {
    let candidates = match chosen {
        Some(port) => vec![port],
        None => (0..100).map(|slot| FIRST_PORT + slot * 10).collect(),
    };
    let mut busy = None;
    for first in candidates {
        let taken = (first..).zip(PORTS).find(|(port, _)| TcpListener::bind(("127.0.0.1", *port)).is_err());
        match taken {
            None => return Ok(first),
            Some((port, (what, _))) => busy = Some((port, what)),
        }
    }
    let (port, what) = busy.context("no port to try")?;
    Err(Unmet::new(format!(
        "port {port} on 127.0.0.1 (for the {what}) is in use; choose another with --port, it and the two above it must be free"
    ))
    .into())
}

fn published_from(first: u16) -> Vec<Published> {
    let publish = |(host, (_, node)): (u16, (&str, u16))| Published {
        on: format!("127.0.0.1:{host}"),
        to: format!("{NODE_IP}:{node}"),
    };
    (first..).zip(PORTS).map(publish).collect()
}

/// A lab that runs keeps its ports.
pub(crate) fn require_port(paths: &Paths, port: u16) -> Result<()> {
    let api = published(paths, API_PORT)?;
    if api == format!("127.0.0.1:{port}") {
        return Ok(());
    }
    Err(Unmet::new(format!(
        "the lab runs already, with its API server on {api}; stop it first, or leave --port out"
    ))
    .into())
}

/// The published address of one of the node's ports.
pub(crate) fn published(paths: &Paths, node_port: u16) -> Result<String> {
    let spec: Spec = serde_json::from_slice(&fs::read(paths.state.join(supervise::SPEC))?)?;
    let to = format!("{NODE_IP}:{node_port}");
    let port = spec.published.into_iter().find(|port| port.to == to);
    port.map(|port| port.on).with_context(|| format!("port {node_port} of the node is not published"))
}
