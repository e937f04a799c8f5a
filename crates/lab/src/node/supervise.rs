//! The node's first process. It is process 1 of a process namespace and holds a mount namespace of its own, so when it
//! ends, however it ends, the kernel ends every process, mount and network of the lab with it.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{WaitOptions, WaitStatus, wait};
use serde::{Deserialize, Serialize};

use super::network::{self, Published};
use super::processes::Process;
use crate::paths::Paths;

/// What to run: written by `up` before it starts the node.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Spec {
    pub(crate) processes: Vec<Process>,
    pub(crate) published: Vec<Published>,
}

/// What became of a process so far: written by the node, read by `status`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Life {
    pub(crate) restarts: u32,
    pub(crate) last_exit: Option<String>,
}

pub(crate) const SPEC: &str = "node.json";
const LIVES: &str = "lives.json";
/// A process that lived this long was well; its next start is not delayed.
const SETTLED: Duration = Duration::from_secs(10);
const FIRST_RESTART: Duration = Duration::from_millis(300);
const SLOWEST_RESTART: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// What became of the node's processes: those that ended at least once.
pub(crate) fn lives(paths: &Paths) -> BTreeMap<String, Life> {
    let text = fs::read(paths.state.join(LIVES)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Who waits for the end of which process.
type Waiters = Arc<Mutex<HashMap<i32, Sender<WaitStatus>>>>;
type Lives = Arc<Mutex<HashMap<String, Life>>>;

/// Runs the node and returns only if it cannot be set up.
pub(crate) fn run(paths: &Paths) -> Result<()> {
    let spec: Spec = serde_json::from_slice(&fs::read(paths.state.join(SPEC))?)
        .context("failed to read the node's spec")?;
    isolate(paths)?;
    network::create()?;
    for port in spec.published {
        network::publish(port)?;
    }
    let waiters = Waiters::default();
    let lives = Lives::default();
    for process in spec.processes {
        let (paths, waiters, lives) = (paths.clone(), Arc::clone(&waiters), Arc::clone(&lives));
        thread::spawn(move || keep_running(&process, &paths, &waiters, &lives));
    }
    reap(&waiters)
}

/// The node's own view of the machine: nothing mounted here is seen outside, and the places that Kubernetes writes to are
/// folders of the lab.
fn isolate(paths: &Paths) -> Result<()> {
    // Pods' volumes must show up in containers that are running already.
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC)
        .context("failed to share mounts")?;
    let nothing = MountFlags::empty();
    mount("proc", "/proc", "proc", nothing, None).context("failed to mount /proc")?;
    mount("tmpfs", "/run", "tmpfs", nothing, None).context("failed to mount /run")?;
    mount_bind(paths.var_lib(), "/var/lib").context("failed to mount /var/lib")?;
    mount_bind(paths.log(), "/var/log").context("failed to mount /var/log")?;
    shield_kernel_settings(Path::new("/run/kernel-settings"))
}

/// The kubelet sets a few kernel settings of the whole machine when they are not as it likes. It finds files that say they
/// are, so it leaves the machine alone.
fn shield_kernel_settings(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (setting, value) in [
        ("vm/overcommit_memory", "1"),
        ("vm/panic_on_oom", "0"),
        ("kernel/panic", "10"),
        ("kernel/panic_on_oops", "1"),
        ("kernel/keys/root_maxkeys", "1000000"),
        ("kernel/keys/root_maxbytes", "25000000"),
    ] {
        let real = Path::new("/proc/sys").join(setting);
        if !real.exists() {
            continue;
        }
        let stand_in = folder.join(setting.replace('/', "-"));
        fs::write(&stand_in, format!("{value}\n"))?;
        mount_bind(&stand_in, &real).with_context(|| format!("failed to shield {}", real.display()))?;
    }
    Ok(())
}

/// Says, while it is there, that a process of the node shall not run.
pub(super) fn holding(paths: &Paths, process: &str) -> PathBuf {
    paths.state.join(format!("held-{process}"))
}

/// Starts a process again whenever it ends, as an init system would, unless it is held.
fn keep_running(process: &Process, paths: &Paths, waiters: &Waiters, lives: &Lives) {
    let mut delay = FIRST_RESTART;
    loop {
        if let Some(address) = &process.after {
            wait_for(address);
        }
        while holding(paths, &process.name).exists() {
            thread::sleep(POLL);
        }
        let started = Instant::now();
        let exit = match start(process, paths, waiters) {
            Ok(ended) => ended.recv().map_or_else(|_| "lost".to_owned(), describe),
            Err(error) => format!("did not start: {error:#}"),
        };
        record(process, &exit, paths, lives);
        delay = if started.elapsed() > SETTLED { FIRST_RESTART } else { (delay * 2).min(SLOWEST_RESTART) };
        thread::sleep(delay);
    }
}

/// Starts the process in the node's network; the receiver tells its end.
fn start(process: &Process, paths: &Paths, waiters: &Waiters) -> Result<Receiver<WaitStatus>> {
    let log = File::options().create(true).append(true).open(paths.log_of(&process.name))?;
    let (ended, receiver) = channel();
    // Held over the start, so that nobody reaps the process before it is known.
    let mut waiters = waiters.lock().unwrap_or_else(PoisonError::into_inner);
    let child = Command::new("nsenter")
        .arg(format!("--net={}", network::NAMESPACE))
        .arg("--")
        .args(&process.argv)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("failed to start {}", process.name))?;
    waiters.insert(child.id().cast_signed(), ended);
    Ok(receiver)
}

/// Collects every process of the node that ended, orphans of containers included.
fn reap(waiters: &Waiters) -> Result<()> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let waiter = waiters
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&pid.as_raw_nonzero().get());
                if let Some(waiter) = waiter {
                    // Its thread lives as long as we do, so somebody listens.
                    let _ = waiter.send(status);
                }
            }
            Ok(None) | Err(rustix::io::Errno::CHILD) => thread::sleep(POLL),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("failed to wait for processes"),
        }
    }
}

/// Waits until the address accepts connections, seen from inside the node.
fn wait_for(address: &str) {
    let address = address.to_owned();
    let ready = thread::spawn(move || network::reachable(&address));
    if !ready.join().unwrap_or(false) {
        eprintln!("gave up waiting for a port; starting anyway");
    }
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// A reader never sees half a file: it is renamed into place.
fn record(process: &Process, exit: &str, paths: &Paths, lives: &Lives) {
    eprintln!("{} ended: {exit}", process.name);
    let mut lives = lives.lock().unwrap_or_else(PoisonError::into_inner);
    let life = lives.entry(process.name.clone()).or_default();
    life.restarts += 1;
    life.last_exit = Some(exit.to_owned());
    let (file, draft) = (paths.state.join(LIVES), paths.state.join("lives.json.new"));
    let written =
        serde_json::to_vec(&*lives).map_err(std::io::Error::from).and_then(|text| fs::write(&draft, text));
    if let Err(error) = written.and_then(|()| fs::rename(&draft, &file)) {
        eprintln!("failed to write {}: {error}", file.display());
    }
}
