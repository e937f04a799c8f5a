//! The installed operator's own program as a process beside the cluster, so that it can be started again at once: in the
//! node's network and with the cluster's DNS, so that it reaches what its pod reaches, and with the rights of its chart; only
//! the API server it reaches through the proxy.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::Config;
use kube::api::{Api, DeleteParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;
use serde_json::json;
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::application::approval;
use super::super::{Ground, said_by};
use super::installed::PROGRAM;
use crate::cluster;
use crate::faults::{Process, Proxy, Victim};
use crate::node::network::{self, NODE_IP};
use crate::node::pki;
use crate::{machine, paths, tail};

const NAME: &str = "vworkspace-app-operator";
/// What of the chart the process needs; the rest is about its pod.
const RIGHTS: [&str; 5] = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
/// The file with the key of the lab's approver.
const APPROVERS: &str = "approvers";
const TOKEN_SECONDS: i64 = 6 * 3600;
/// What a panic leaves in the log.
const PANICS: [&str; 2] = ["panicked at", "a reconcile died"];
const POLL: Duration = Duration::from_millis(25);
/// Without a write for this long the operator is at rest.
pub(super) const REST: Duration = Duration::from_millis(900);

/// What processes of one namespace are started with. Its folder, with the token, goes with it.
pub(super) struct Desk {
    ground: Ground,
    folder: PathBuf,
    program: PathBuf,
    /// The node's network, as the host sees it.
    network: PathBuf,
    config: Config,
    token: String,
}

impl Desk {
    pub(super) async fn prepare(ground: Ground, program: &Path) -> Result<Self> {
        let node = ground.cluster.node.as_ref().context("this cluster has no node of ours")?;
        let network = node.network().context("containerd does not run")?;
        let folder = ground.cluster.paths.state.join(&ground.namespace);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("resolv.conf"), network::resolv_conf())?;
        fs::write(folder.join(APPROVERS), approval::public_key())?;
        grant(&ground).await?;
        let token = ground.cluster.token(&ground.namespace, NAME, TOKEN_SECONDS).await?;
        let file = Kubeconfig::read_from(&ground.cluster.kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.proxy_url = None;
        Ok(Self { ground, folder, program: program.to_owned(), network, config, token })
    }

    /// Starts a proxy, and the operator behind it, which is started again whenever it is killed.
    /// Its clock is off by so many seconds.
    pub(super) async fn start(&self, clock: Option<i64>) -> Result<Operator> {
        self.free_lease().await?;
        let victim = Victim::default();
        let listen = || network::listen(&self.network, &format!("{NODE_IP}:0"));
        let proxy = Proxy::start([listen()?, listen()?], self.config.clone(), victim.clone())?;
        let proxy = Arc::new(proxy);
        for who in [Process::First, Process::Successor] {
            let address = proxy.address(who).to_string();
            pki::write_private(&self.folder.join(kubeconfig(who)), &self.way_to(&address))?;
        }
        let log = self.folder.join("operator.log");
        fs::write(&log, "")?;
        let crash = Arc::new(Mutex::new(None));
        let keeper = Keeper {
            command: Start {
                program: self.program.clone(),
                network: self.network.clone(),
                folder: self.folder.clone(),
                namespace: self.ground.namespace.clone(),
                clock,
            },
            proxy: Arc::clone(&proxy),
            victim: victim.clone(),
            lease: self.leases(),
            crash: Arc::clone(&crash),
        };
        Ok(Operator { proxy, victim, log, crash, keeper: tokio::spawn(keeper.run()) })
    }

    /// A kubeconfig.
    fn way_to(&self, address: &str) -> String {
        let named = |field: &str| {
            json!([{"name": "proxy", field: match field {
                "cluster" => json!({"server": format!("http://{address}")}),
                "user" => json!({"token": self.token}),
                _ => json!({"cluster": "proxy", "user": "proxy"}),
            }}])
        };
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": named("cluster"), "users": named("user"), "contexts": named("context")})
        .to_string()
    }

    fn leases(&self) -> Api<kube::api::DynamicObject> {
        self.ground.objects("coordination.k8s.io/v1", "Lease")
    }

    async fn free_lease(&self) -> Result<()> {
        match self.leases().delete(NAME, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(|_| ()).context("failed to free the lease"),
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // What cannot be removed is overwritten by the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The chart's own service account and roles, for this namespace. What is cluster-wide goes with the namespace.
async fn grant(ground: &Ground) -> Result<()> {
    let mut helm = ground.cluster.tool("helm");
    helm.arg("template").arg(paths::workspace().join("charts/vworkspace-operator"));
    let values = "image.repository=none,clusterId=lab,rbac.userRoles=false";
    helm.args(["--namespace", &ground.namespace, "--set", values]);
    helm.args(["--set", &format!("watchNamespaces={{{}}}", ground.namespace)]);
    let rendered = said_by(&mut helm).await?;
    let is_right = |object: &kube::api::DynamicObject| {
        object.types.as_ref().is_some_and(|types| RIGHTS.contains(&types.kind.as_str()))
    };
    let mut rights: Vec<_> = cluster::parse(&rendered)?.into_iter().filter(is_right).collect();
    let owner = ground.namespace_as_owner().await?;
    for right in rights.iter_mut().filter(|right| right.metadata.namespace.is_none()) {
        right.metadata.owner_references = Some(vec![owner.clone()]);
    }
    ground.cluster.apply(&rights).await
}

/// How the process is started.
struct Start {
    program: PathBuf,
    network: PathBuf,
    folder: PathBuf,
    namespace: String,
    clock: Option<i64>,
}

/// The file by which a process finds its port of the proxy.
fn kubeconfig(who: Process) -> &'static str {
    match who {
        Process::First => "kubeconfig",
        Process::Successor => "kubeconfig-of-successor",
    }
}

impl Start {
    fn spawn(&self, who: Process) -> Result<Child> {
        let log = File::options().append(true).open(self.folder.join("operator.log"))?;
        let mut command = network::inside(&self.network, &self.folder.join("resolv.conf"), &self.program()?);
        command.args(["--listen=127.0.0.1:0", "--cluster-id=lab"]);
        command.arg(format!("--namespace={}", self.namespace));
        command.arg(format!("--watch-namespaces={}", self.namespace));
        command.arg(format!("--approval-keys-file={}", self.folder.join(APPROVERS).display()));
        command.env("KUBECONFIG", self.folder.join(kubeconfig(who)));
        if let Some(seconds) = self.clock {
            command.env("LD_PRELOAD", machine::WRONG_CLOCK).env("FAKETIME", format!("{seconds:+}s"));
            // Only what a clock on the wall shows: a machine never takes time back by itself.
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        command.spawn().context("failed to start the operator with setpriv, nsenter and unshare (util-linux)")
    }

    /// A static program cannot be told a wrong time: there it is the one that was built for the tests, from the same sources.
    fn program(&self) -> Result<PathBuf> {
        match self.clock {
            None => Ok(self.program.clone()),
            Some(_) => Ok(std::env::current_exe()?.with_file_name(PROGRAM)),
        }
    }
}

/// Starts the operator again when it was killed, as the kubelet would, only without its pauses.
struct Keeper {
    command: Start,
    proxy: Arc<Proxy>,
    victim: Victim,
    lease: Api<kube::api::DynamicObject>,
    /// Why it ended without having been killed.
    crash: Arc<Mutex<Option<String>>>,
}

impl Keeper {
    async fn run(self) {
        loop {
            let ended = self.one_life().await;
            if let Err(error) = ended {
                let mut crash = self.crash.lock().unwrap_or_else(PoisonError::into_inner);
                crash.get_or_insert(format!("{error:#}"));
                return;
            }
            // Otherwise each crash would cost the 12 s after which a silent holder has lost its lease; that this works is
            // another scenario's matter.
            let _ = self.lease.delete(NAME, &DeleteParams::default()).await;
        }
    }

    async fn one_life(&self) -> Result<()> {
        self.proxy.restarted(Process::First);
        let mut child = self.command.spawn(Process::First)?;
        self.victim.is(child.id());
        let status = tokio::select! {
            status = child.wait() => status?,
            () = self.victim.sleeps() => return self.with_successor(child).await,
        };
        let was_killed = self.victim.was_killed() && status.signal() == Some(Signal::KILL.as_raw());
        ensure!(was_killed, "the operator ended by itself: {status}");
        Ok(())
    }

    /// Another process takes over when the sleeper's term has ended. The lease is not freed for it: within its term the
    /// sleeper may rightly believe that it leads.
    async fn with_successor(&self, mut sleeper: Child) -> Result<()> {
        self.proxy.restarted(Process::Successor);
        let mut successor = self.command.spawn(Process::Successor)?;
        let status = tokio::select! {
            status = sleeper.wait() => status?,
            status = successor.wait() => status?,
        };
        bail!("one of two operators ended by itself: {status}")
    }
}

/// The operator under test and the proxy before it, until this is dropped.
pub(super) struct Operator {
    pub(super) proxy: Arc<Proxy>,
    victim: Victim,
    log: PathBuf,
    crash: Arc<Mutex<Option<String>>>,
    keeper: JoinHandle<()>,
}

impl Operator {
    /// Waits until it leads and has written nothing for a while.
    pub(super) async fn is_quiet(&self, pause: Duration, patience: Duration) -> Result<()> {
        let deadline = Instant::now() + patience;
        while !self.proxy.is_quiet(pause) {
            self.is_well()?;
            ensure!(
                Instant::now() < deadline,
                "the operator does not come to rest: it has no lease, or writes"
            );
            sleep(POLL).await;
        }
        self.is_well()
    }

    /// Waits until a fault puts it to sleep.
    pub(super) async fn sleeps(&self) {
        self.victim.sleeps().await;
    }

    /// Wakes it, if it was put to sleep.
    pub(super) fn wake(&self) -> Result<()> {
        self.victim.wake().context("failed to wake the operator")
    }

    /// Whoever has lost the lease writes nothing any more.
    pub(super) fn has_obeyed_the_lease(&self) -> Result<()> {
        let written = self.proxy.deposed_writes();
        ensure!(
            written.is_empty(),
            "it woke up after another had taken over, and wrote all the same: {}",
            written.join(", ")
        );
        Ok(())
    }

    /// It must never end by itself.
    pub(super) fn is_well(&self) -> Result<()> {
        let crash = self.crash.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ensure!(crash.is_none(), "{}", crash.unwrap_or_default());
        Ok(())
    }

    /// A reconcile that panics does not end the process; it must not happen all the same.
    pub(super) fn has_not_panicked(&self) -> Result<()> {
        let log = fs::read_to_string(&self.log)?;
        let panic = log.lines().find(|line| PANICS.iter().any(|sign| line.contains(sign)));
        ensure!(panic.is_none(), "the operator panicked: {}", panic.unwrap_or_default());
        Ok(())
    }

    pub(super) fn log_tail(&self) -> String {
        tail::of(&self.log, 40)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // The process is killed with the task that waits for it.
        self.keeper.abort();
    }
}
