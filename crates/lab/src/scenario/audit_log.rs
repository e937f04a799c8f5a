//! The API server's audit log: it tells who wrote what, and so that somebody wrote nothing.

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::time::Instant;

use super::{DEADLINE, Ground, Scenario};
use crate::audit::{self, Request};

const TOKEN_SECONDS: i64 = 3600;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "the_audit_log_tells_who_wrote_what_and_who_wrote_nothing",
    needs: &["flux"],
    needs_node: true,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    let source_controller = audit::service_account("flux-system", "source-controller");
    let started = Timestamp::now();
    ground.apply(ASLEEP).await?;
    // Its one write is the finalizer; seeing it shows that the log would tell of others.
    logged(ground, &source_controller, started, Request::is_write).await?;

    let writer = audit::service_account(&ground.namespace, "writer");
    ground.apply(WRITER).await?;
    let at_rest_since = Timestamp::now();
    write_as(ground, "writer").await?;
    let created = format!("create configmaps {}/note -> 201", ground.namespace);
    let requests = logged(ground, &writer, at_rest_since, |request| request.describe() == created).await?;
    let permissions = audit::permissions(&requests);
    ensure!(permissions == ["create configmaps".to_owned()].into(), "{writer} used {permissions:?}");

    let written = writes_here(ground, &source_controller, at_rest_since)?;
    ensure!(written.is_empty(), "source-controller should be at rest and wrote: {}", describe(&written));
    Ok(())
}

/// Creates a ConfigMap with a token of the account and nothing else. Refusals last until the authorizer has seen the new
/// binding; the log counts them as the same permission.
async fn write_as(ground: &Ground, account: &str) -> Result<()> {
    let token = ground.cluster.token(&ground.namespace, account, TOKEN_SECONDS).await?;
    let kubeconfig = Kubeconfig::read_from(&ground.cluster.kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info = serde_json::from_value(json!({"token": token}))?;
    let config_maps: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, &ground.namespace);
    let note = ConfigMap {
        metadata: ObjectMeta { name: Some("note".to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let deadline = Instant::now() + DEADLINE;
    loop {
        match config_maps.create(&PostParams::default(), &note).await {
            Err(kube::Error::Api(status)) if status.code == 403 && Instant::now() < deadline => {}
            other => {
                return other
                    .map(|_| ())
                    .with_context(|| format!("{account} failed to create ConfigMap note"));
            }
        }
    }
}

/// The requests of a user in the scenario's namespace, once one of them is as wanted. A request is answered before it is
/// logged; asking the API server for something else meanwhile sets the pace.
async fn logged(
    ground: &Ground,
    user: &str,
    since: Timestamp,
    wanted: impl Fn(&Request) -> bool,
) -> Result<Vec<Request>> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let requests = here(ground, user, since)?;
        if requests.iter().any(&wanted) {
            return Ok(requests);
        }
        if Instant::now() > deadline {
            let log = ground.cluster.paths.audit_log();
            bail!("{} does not tell what {user} did; it tells: {}", log.display(), describe(&requests));
        }
        ground.namespaces().get(&ground.namespace).await?;
    }
}

fn writes_here(ground: &Ground, user: &str, since: Timestamp) -> Result<Vec<Request>> {
    Ok(here(ground, user, since)?.into_iter().filter(Request::is_write).collect())
}

/// Other scenarios may run beside this one, so only requests about its own namespace count.
fn here(ground: &Ground, user: &str, since: Timestamp) -> Result<Vec<Request>> {
    let requests = audit::requests(&ground.cluster.paths.audit_log(), user, since)?;
    Ok(requests.into_iter().filter(|request| request.is_in(&ground.namespace)).collect())
}

fn describe(requests: &[Request]) -> String {
    let told: Vec<_> = requests.iter().map(Request::describe).collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

/// source-controller takes note of it and then leaves it alone.
const ASLEEP: &str = "
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: asleep, namespace: NAMESPACE}
spec:
  suspend: true
  interval: 1h
  url: oci://registry.lab-system.svc.cluster.local:5000/charts/asleep
";

const WRITER: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: writer, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writer, namespace: NAMESPACE}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writer, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer}
subjects: [{kind: ServiceAccount, name: writer, namespace: NAMESPACE}]
";
