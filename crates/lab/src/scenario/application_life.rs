//! An ApplicationInstance from its creation to its end, kept by the operator itself: a process beside the cluster that
//! has the rights of a service account and nothing else.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use jiff::{Timestamp, ToSpan};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, Patch, PatchParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::chart::Chart;
use super::{DEADLINE, Ground, Scenario, application_crd, gone, text_at};
use crate::audit::{self, Request};
use crate::paths;
use crate::tail;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "application_life_an_instance_is_installed_rests_without_writes_is_upgraded_and_leaves_nothing",
    needs: &["flux", "registry"],
    needs_node: true,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

const APPS: &str = "apps.vworkspace.io/v1alpha1";
const HELM: &str = "helm.toolkit.fluxcd.io/v2";
/// A process that is told to stop has handed its lease over within this time.
const HAND_OVER: Duration = Duration::from_secs(2);

async fn run(ground: &Ground) -> Result<()> {
    application_crd::install(ground, &application_crd::crd()?).await?;
    ground.apply(RIGHTS).await?;
    let operator = Operator::start(ground).await?;
    let told = life(ground).await;
    let log = operator.log.clone();
    let ended = match told {
        Ok(()) => operator.stop(ground).await,
        Err(error) => {
            // Nobody will be there to take the finalizer off, and the namespace has to go.
            let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            let instances = ground.objects(APPS, "ApplicationInstance");
            // There may be none: the first error is the one to tell.
            let _ = instances.patch("shop", &PatchParams::default(), &release).await;
            Err(error)
        }
    };
    ended.with_context(|| format!("the operator said:\n{}", tail::of(&log, 60)))
}

async fn life(ground: &Ground) -> Result<()> {
    let old = Chart::published(ground, &[]).await?;
    let started = Timestamp::now();
    ground.apply(&INSTANCE.replace("VERSION", &old.version)).await?;
    says(ground, "Ready", "False/Installing").await?;
    says(ground, "Ready", "True/HelmReleaseReady").await?;
    installed(ground, &old.version).await?;
    ensure!(!writes(ground, started)?.is_empty(), "the audit log tells nothing of the operator's writes");
    rests(ground).await?;

    let new = Chart::published(ground, &[]).await?;
    ground.apply(&INSTANCE.replace("VERSION", &new.version)).await?;
    says(ground, "Ready", "False/Upgrading").await?;
    says(ground, "Ready", "True/HelmReleaseReady").await?;
    installed(ground, &new.version).await?;

    ground.delete(APPS, "ApplicationInstance", "shop").await?;
    for (api_version, kind) in [(HELM, "HelmRelease"), ("apps/v1", "Deployment")] {
        gone(&ground.objects(api_version, kind), kind, "web").await?;
    }
    // The source goes with its owner.
    gone(&ground.objects("source.toolkit.fluxcd.io/v1", "OCIRepository"), "OCIRepository", "web").await
}

/// Waits until the instance says something about its present generation.
async fn says(ground: &Ground, type_: &str, wanted: &str) -> Result<()> {
    let is_wanted = |data: &Value| {
        let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|known| {
            let status = format!("{}/{}", text_at(known, "/status"), text_at(known, "/reason"));
            text_at(known, "/type") == type_ && status == wanted
        })
    };
    let object = ground.until(APPS, "ApplicationInstance", "shop", is_wanted).await?;
    let observed = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    ensure!(observed == object.metadata.generation, "{wanted} is said of generation {observed:?}");
    Ok(())
}

/// The release really runs this version.
async fn installed(ground: &Ground, version: &str) -> Result<()> {
    let settings = ground.until("v1", "ConfigMap", "web-settings", |_| true).await?;
    let found = text_at(&settings.data, "/data/version");
    ensure!(found.starts_with(version), "version {found} is installed, not {version}");
    let greeting = text_at(&settings.data, "/data/greeting");
    ensure!(greeting == "from the instance", "the chart was given greeting '{greeting}'");
    Ok(())
}

/// Flux looks at the release at every interval and says so in its status; the operator sees that and writes nothing.
async fn rests(ground: &Ground) -> Result<()> {
    // The Events of the last transition are sent after the status.
    looked_at(ground, Timestamp::now()).await?;
    let since = Timestamp::now();
    looked_at(ground, since).await?;
    looked_at(ground, since.checked_add(15.seconds())?).await?;
    let written: Vec<String> = writes(ground, since)?.iter().map(Request::describe).collect();
    ensure!(written.is_empty(), "the operator is at rest and wrote: {}", written.join(", "));
    let elapsed = Timestamp::now().duration_since(since).as_secs();
    println!("     no write of the operator in {elapsed} s, while Flux looked at the release twice");
    Ok(())
}

/// Waits until Flux has looked at the release after a moment.
async fn looked_at(ground: &Ground, after: Timestamp) -> Result<()> {
    let is_later = |data: &Value| {
        let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|known| {
            let time: Option<Timestamp> = text_at(known, "/lastTransitionTime").parse().ok();
            text_at(known, "/type") == "Ready"
                && text_at(known, "/status") == "True"
                && time.is_some_and(|time| time > after)
        })
    };
    ground.until(HELM, "HelmRelease", "web", is_later).await.map(|_| ())
}

fn writes(ground: &Ground, since: Timestamp) -> Result<Vec<Request>> {
    let user = audit::service_account(&ground.namespace, "operator");
    let requests = audit::requests(&ground.cluster.paths.audit_log(), &user, since)?;
    Ok(requests.into_iter().filter(Request::is_write).collect())
}

/// The operator's process.
struct Operator {
    process: Child,
    log: PathBuf,
    kubeconfig: PathBuf,
}

impl Operator {
    async fn start(ground: &Ground) -> Result<Self> {
        let program = program().await?;
        let folder = ground.cluster.paths.log();
        let (log, kubeconfig) =
            (folder.join("operator.log"), ground.cluster.paths.state.join("operator.kubeconfig"));
        fs::write(&kubeconfig, kubeconfig_of(ground, "operator").await?)?;
        let process = Command::new(&program)
            .args(["--namespace", &ground.namespace, "--listen", "127.0.0.1:0", "--zap-log-level", "debug"])
            .env("KUBECONFIG", &kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", program.display()))?;
        Ok(Self { process, log, kubeconfig })
    }

    /// Tells it to stop: it must end by itself, soon, and give its lease up.
    async fn stop(mut self, ground: &Ground) -> Result<()> {
        let asked = Instant::now();
        let number = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(number.context("the operator has ended before it was told to")?, Signal::TERM)?;
        let status = timeout(DEADLINE, self.process.wait()).await.context("the operator does not stop")??;
        let took = asked.elapsed();
        ensure!(status.success(), "the operator ended with {status}");
        ensure!(took < HAND_OVER, "the operator took {} ms to stop", took.as_millis());
        let leases = ground.objects("coordination.k8s.io/v1", "Lease");
        let lease = leases.get("vworkspace-app-operator").await?;
        let holder = text_at(&lease.data, "/spec/holderIdentity");
        ensure!(holder.is_empty(), "the operator has stopped and {holder} still holds its lease");
        println!("     stopped and gave its lease up {} ms after SIGTERM", took.as_millis());
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.kubeconfig) {
            eprintln!("lab: failed to remove {}: {error}", self.kubeconfig.display());
        }
    }
}

/// The operator's program, built from this checkout and found beside our own.
async fn program() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut build = Command::new(cargo);
    // As the unit tests are built, so that nothing is built twice.
    build.args(["build", "--quiet", "--locked", "--workspace", "--all-features", "--bins"]);
    let built = build.current_dir(paths::workspace()).stdin(Stdio::null()).output().await?;
    if !built.status.success() {
        bail!("failed to build the operator: {}", String::from_utf8_lossy(&built.stderr).trim());
    }
    let program = std::env::current_exe()?.with_file_name("vworkspace-operator");
    ensure!(program.exists(), "there is no {}", program.display());
    Ok(program)
}

/// The cluster's kubeconfig with the token of a service account and nothing else.
async fn kubeconfig_of(ground: &Ground, account: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    let token =
        accounts.create_token_request(account, &PostParams::default(), &TokenRequest::default()).await?;
    let token = token.status.context("the API server issued no token")?.token;
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(&ground.cluster.kubeconfig)?)?;
    let users = config.pointer_mut("/users").and_then(Value::as_array_mut).context("no users")?;
    for user in users {
        if let Some(user) = user.as_object_mut() {
            user.insert("user".to_owned(), json!({ "token": token }));
        }
    }
    // JSON is YAML.
    Ok(config.to_string())
}

const INSTANCE: &str = "
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: shop, namespace: NAMESPACE}
spec:
  appRef: {catalogId: probe}
  interval: 10s
  timeout: 1m
  chart:
    sourceType: oci
    url: oci://registry.lab-system.svc.cluster.local:5000/charts
    name: probe
    version: VERSION
    insecure: true
  release: {name: web, namespace: NAMESPACE}
  values: {source: inline, inline: {greeting: from the instance}}
";

/// What the operator may do; the chart will say the same.
const RIGHTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lab-application-life}
rules:
- {apiGroups: [apps.vworkspace.io], resources: [applicationinstances], verbs: [get, list, watch, patch]}
- {apiGroups: [apps.vworkspace.io], resources: [applicationinstances/status], verbs: [patch]}
- {apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [get, list, watch, create, patch, delete]}
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [ocirepositories, helmrepositories]
  verbs: [get, list, watch, create, patch, delete]
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-application-life}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lab-application-life}
subjects: [{kind: ServiceAccount, name: operator, namespace: NAMESPACE}]
";
