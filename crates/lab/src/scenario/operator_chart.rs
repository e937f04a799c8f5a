//! The operator's chart on a real cluster, from its installation to its end, under a name that nobody expects.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use super::application::instance::{HELM, instance};
use super::application_crd::merge;
use super::faults::installed;
use super::{Ground, Scenario, gone, said_by, text_at};
use crate::addons::Addon;
use crate::paths;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "operator_chart_runs_two_replicas_under_any_release_name_is_upgraded_and_leaves_its_crds",
    // The operator brings the image, and proves that it is the chart by which the lab installs it.
    needs: &["flux", "operator"],
    needs_node: false,
    // It takes the CRDs over from the lab's own release.
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

const RELEASE: &str = "a-name-of-its-own";
/// As documented, whatever the release is called.
const NAME: &str = "vworkspace-app-operator";
const REPLICAS: i64 = 2;
/// After which a lease that was not given up is taken.
const TERM: Duration = Duration::from_secs(12);

async fn run(ground: &Ground) -> Result<()> {
    refuses_a_misspelt_value(ground).await?;
    ground.apply(RESTRICTED).await?;
    refuses_a_careless_pod(ground).await?;
    let told = life(ground).await;
    if told.is_err() {
        // Cluster-wide roles do not go with the namespace. The first error is the one to tell.
        let _ = uninstall(ground).await;
    }
    told
}

async fn life(ground: &Ground) -> Result<()> {
    upgrade(ground, &[]).await?;
    runs(ground, "--zap-log-level=info").await?;
    let leader = leader(ground).await?;
    hands_over(ground, &leader).await?;
    has_no_more_rights_than_it_needs(ground).await?;
    carries_the_default_account(ground).await?;
    upgrade(ground, &["--set", "logLevel=debug,clusterId=lab"]).await?;
    runs(ground, "--zap-log-level=debug").await?;
    // With the cluster's name there is nothing left to ask about the cluster.
    may(ground, "get namespaces/kube-system", false).await?;

    let before = crd(ground).await?;
    uninstall(ground).await?;
    gone(&ground.objects("apps/v1", "Deployment"), "Deployment", NAME).await?;
    ensure!(crd(ground).await? == before, "the CRD is not the one that was there before the release went");
    Ok(())
}

/// Tells the CRD from another one of the same name.
async fn crd(ground: &Ground) -> Result<Option<String>> {
    let crds = ground.cluster.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let crd = crds.get("applicationinstances.apps.vworkspace.io").await?;
    ensure!(crd.metadata.deletion_timestamp.is_none(), "the CRD is being deleted");
    Ok(crd.metadata.uid)
}

async fn upgrade(ground: &Ground, more: &[&str]) -> Result<()> {
    let values = json!({
        "replicaCount": REPLICAS,
        // The lab's own operator looks after all the others, and after this one too: nobody makes an instance here while it runs.
        "watchNamespaces": [ground.namespace],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        // They belong to the whole cluster and to the operator that the lab has installed.
        "admissionPolicies": {"install": false},
        "rbac": {"userRoles": false},
    });
    let said = install(ground, values, &[&["--take-ownership"], more].concat()).await?;
    ensure!(
        said.contains(&format!("kubectl rollout status deployment/{NAME} --namespace {}", ground.namespace)),
        "helm does not say what to type next: {said}"
    );
    Ok(())
}

/// Installs the chart with the lab's own image in the scenario's namespace, or upgrades it; returns what helm said.
pub(super) async fn install(ground: &Ground, mut values: Value, more: &[&str]) -> Result<String> {
    let image = Addon::load("operator", &ground.cluster.paths)?.image_references();
    let image = image.first().context("the operator has no image")?;
    let (repository, tag) = image.rsplit_once(':').context("the image has no tag")?;
    merge(&mut values, &json!({"image": {"repository": repository, "tag": tag, "pullPolicy": "Never"}}));
    let file = ground.cluster.paths.state.join(format!("{RELEASE}-values.json"));
    std::fs::write(&file, values.to_string())?;
    let mut helm = ground.cluster.tool("helm");
    helm.args(["upgrade", "--install", RELEASE]).arg(chart());
    helm.args(["--namespace", &ground.namespace, "--values"]).arg(&file).args(more);
    let said = said_by(&mut helm).await;
    std::fs::remove_file(&file)?;
    said
}

pub(super) async fn uninstall(ground: &Ground) -> Result<()> {
    let mut helm = ground.cluster.tool("helm");
    said_by(helm.args(["uninstall", RELEASE, "--namespace", &ground.namespace])).await?;
    Ok(())
}

/// All replicas are ready, are found by the documented label, and were started with this flag.
async fn runs(ground: &Ground, flag: &str) -> Result<()> {
    let is_rolled_out = |data: &Value| {
        let number = |path: &str| data.pointer(path).and_then(Value::as_i64).unwrap_or_default();
        let arguments = data.pointer("/spec/template/spec/containers/0/args").and_then(Value::as_array);
        arguments.into_iter().flatten().any(|argument| argument == flag)
            && ["updatedReplicas", "availableReplicas", "replicas"]
                .iter()
                .all(|field| number(&format!("/status/{field}")) == REPLICAS)
    };
    let deployment = ground.until("apps/v1", "Deployment", NAME, is_rolled_out).await?;
    let label = deployment.labels().get("app.kubernetes.io/name").map(String::as_str);
    ensure!(label == Some(NAME), "the Deployment has label app.kubernetes.io/name={label:?}");
    let pods = pods(ground).await?;
    // One that was replaced may still be on its way out.
    ensure!(
        pods.len() as i64 >= REPLICAS,
        "only {} pods have label app.kubernetes.io/name={NAME}",
        pods.len()
    );
    Ok(())
}

pub(super) async fn pods(ground: &Ground) -> Result<Vec<String>> {
    let pods: Api<Pod> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    let labelled = ListParams::default().labels(&format!("app.kubernetes.io/name={NAME}"));
    Ok(pods.list(&labelled).await?.iter().map(ResourceExt::name_any).collect())
}

/// The one of the replicas that holds the lease; only that one believes so.
async fn leader(ground: &Ground) -> Result<String> {
    let holder = |data: &Value| !text_at(data, "/spec/holderIdentity").is_empty();
    let lease = ground.until("coordination.k8s.io/v1", "Lease", NAME, holder).await?;
    let holder = text_at(&lease.data, "/spec/holderIdentity");
    let mut leading = Vec::new();
    for pod in pods(ground).await? {
        let path = format!("/api/v1/namespaces/{}/pods/{pod}:8080/proxy/metrics", ground.namespace);
        let metrics = ground.cluster.client.request_text(http::Request::get(path).body(Vec::new())?).await?;
        if metrics.lines().any(|line| line == "vworkspace_operator_leading 1") {
            leading.push(pod);
        }
    }
    let [leader] = leading.as_slice() else { bail!("these pods lead: {leading:?}; one should") };
    ensure!(holder.starts_with(leader), "{leader} leads, and {holder} holds the lease");
    Ok(leader.clone())
}

/// A replica that is told to stop gives its lease up, so that the other one need not wait for the term to end.
async fn hands_over(ground: &Ground, leader: &str) -> Result<()> {
    let asked = Instant::now();
    ground.objects("v1", "Pod").delete(leader, &DeleteParams::default()).await?;
    let is_handed_over = |data: &Value| {
        let holder = text_at(data, "/spec/holderIdentity");
        !holder.is_empty() && !holder.starts_with(leader)
    };
    ground.until("coordination.k8s.io/v1", "Lease", NAME, is_handed_over).await?;
    let took = asked.elapsed();
    ensure!(
        took < TERM,
        "another replica leads only after {} ms: the lease was not given up",
        took.as_millis()
    );
    println!("     another replica leads {} ms after its leader's pod was deleted", took.as_millis());
    Ok(())
}

async fn has_no_more_rights_than_it_needs(ground: &Ground) -> Result<()> {
    let table = [
        ("list applicationinstances.apps.vworkspace.io --namespace NAMESPACE", true),
        ("patch applicationinstances.apps.vworkspace.io --subresource=status --namespace NAMESPACE", true),
        ("create helmreleases.helm.toolkit.fluxcd.io --namespace NAMESPACE", true),
        ("update leases/vworkspace-app-operator --namespace NAMESPACE", true),
        ("get namespaces/kube-system", true),
        // What a namespace that is deleted must not take along.
        ("list applicationinstances.apps.vworkspace.io --all-namespaces", true),
        ("patch applicationinstances.apps.vworkspace.io --all-namespaces", true),
        ("watch namespaces/NAMESPACE", true),
        ("watch namespaces/default", false),
        ("patch applicationinstances.apps.vworkspace.io --subresource=status --namespace default", false),
        ("create helmreleases.helm.toolkit.fluxcd.io --namespace default", false),
        ("update leases/another --namespace NAMESPACE", false),
        ("create applicationinstances.apps.vworkspace.io --namespace NAMESPACE", false),
        ("delete applicationinstances.apps.vworkspace.io --namespace NAMESPACE", false),
        ("get secrets --namespace NAMESPACE", false),
        ("create pods --namespace NAMESPACE", false),
        ("create clusterrolebindings.rbac.authorization.k8s.io", false),
    ];
    for (question, allowed) in table {
        may(ground, question, allowed).await?;
    }
    Ok(())
}

/// Whether the operator has a right, as `kubectl auth can-i` is asked.
async fn may(ground: &Ground, question: &str, allowed: bool) -> Result<()> {
    let account = format!("--as=system:serviceaccount:{}:{NAME}", ground.namespace);
    let mut kubectl = ground.cluster.tool("kubectl");
    kubectl.args(["auth", "can-i", &account]);
    // It answers no by its exit code as well.
    let output = kubectl.args(question.replace("NAMESPACE", &ground.namespace).split(' ')).output().await?;
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let expected = if allowed { "yes" } else { "no" };
    let complained = String::from_utf8_lossy(&output.stderr);
    ensure!(answer == expected, "may the operator {question}? {answer} {complained}; expected {expected}");
    Ok(())
}

/// The account of the values is on a release whose instance names none; without the value it is taken off again.
async fn carries_the_default_account(ground: &Ground) -> Result<()> {
    // Both operators would look after the instance.
    installed::scale(ground, 0).await?;
    let told = default_account(ground).await;
    let back = installed::scale(ground, 1).await;
    told.and(back)
}

async fn default_account(ground: &Ground) -> Result<()> {
    upgrade(ground, &["--set", "tenancy.defaultServiceAccount=tenant"]).await?;
    runs(ground, "--default-service-account=tenant").await?;
    // Nothing has to be fetched for this.
    let chart =
        "chart: {sourceType: oci, url: 'oci://registry.example.org/charts', name: web, version: 1.2.3}";
    let shop = instance(ground).with(chart).applied().await?;
    let has_account = |expected: &'static str| {
        move |data: &Value| {
            data.get("spec").is_some() && text_at(data, "/spec/serviceAccountName") == expected
        }
    };
    ground.until(HELM, "HelmRelease", "web", has_account("tenant")).await?;
    upgrade(ground, &[]).await?;
    ground.until(HELM, "HelmRelease", "web", has_account("")).await?;
    shop.delete().await?;
    shop.is_gone().await
}

async fn refuses_a_misspelt_value(ground: &Ground) -> Result<()> {
    let mut helm = ground.cluster.tool("helm");
    helm.arg("template").arg(chart()).args(["--set", "image.repository=x,replicaCont=2"]);
    let Err(refusal) = said_by(&mut helm).await else { bail!("helm takes replicaCont for a value") };
    let text = format!("{refusal:#}");
    ensure!(text.contains("additional properties 'replicaCont' not allowed"), "helm says: {text}");
    Ok(())
}

/// Otherwise pods that run would prove nothing about Pod Security.
async fn refuses_a_careless_pod(ground: &Ground) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "careless"},
        "spec": {"containers": [{"name": "careless", "image": "lab.local/busybox:1"}]}});
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    match ground.objects("v1", "Pod").create(&dry_run, &serde_json::from_value(pod)?).await {
        Err(kube::Error::Api(status)) if status.message.contains("violates PodSecurity") => Ok(()),
        other => bail!("a careless pod should violate Pod Security; the API server says: {other:?}"),
    }
}

fn chart() -> PathBuf {
    paths::workspace().join("charts/vworkspace-operator")
}

const RESTRICTED: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE, labels: {pod-security.kubernetes.io/enforce: restricted}}
";
