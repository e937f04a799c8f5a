//! An operator that looks after some namespaces only, with the rights that its chart gives it there: what becomes of one of
//! them is no matter of the others.

use anyhow::{Context, Result};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::application::instance::{self, Instance, named};
use super::chart::Chart;
use super::faults::installed;
use super::{Ground, Scenario, gone, operator_chart, text_at};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "watched_namespaces_one_that_is_deleted_goes_and_the_others_are_still_managed",
    needs: &["flux", "operator", "registry"],
    needs_node: false,
    // The operator that the lab has installed would look after the same instances.
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let [doomed, other] = ["doomed", "other"].map(|name| beside(ground, name));
    for namespace in [&doomed, &other] {
        // A run that was stopped may have left it.
        namespace.delete_namespace().await?;
        namespace.apply(NAMESPACE).await?;
    }
    installed::scale(ground, 0).await?;
    let told = lives(ground, &chart, &doomed, &other).await;
    // Whatever the outcome: its roles are cluster-wide, and the lab's own operator can clear up everywhere.
    let uninstalled = operator_chart::uninstall(ground).await;
    let restored = installed::scale(ground, 1).await;
    let cleared = cleared(&doomed).await.and(cleared(&other).await);
    told.and(uninstalled).and(restored).and(cleared)
}

async fn lives(ground: &Ground, chart: &Chart, doomed: &Ground, other: &Ground) -> Result<()> {
    install(ground, doomed, other).await?;
    is_available(ground).await?;
    let kept = named(doomed, "kept", "kept").chart(chart).with("deletionPolicy: Orphan").with(VALUES);
    let (_, _, mut shop) = tokio::try_join!(released(doomed, chart), ready(kept), released(other, chart))?;

    // A namespace takes its rights with it, and when differs. So they go first, while the watches go on: the one that lets
    // its release go sees everything gone, and may not ask once more.
    let bindings = doomed.objects("rbac.authorization.k8s.io/v1", "RoleBinding");
    bindings.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    doomed.delete_namespace().await.context("a namespace that is deleted with an instance in it")?;
    goes_out(other, &mut shop, "second").await.context("after another namespace was deleted")?;

    restart(ground).await?;
    goes_out(other, &mut shop, "third").await.context("after a start without another namespace")?;

    // It is there again, and the rights that went with it are not.
    doomed.apply(NAMESPACE).await?;
    restart(ground).await?;
    goes_out(other, &mut shop, "fourth")
        .await
        .context("after a start without rights in another namespace")?;

    install(ground, doomed, other).await?;
    released(doomed, chart).await.context("in a namespace in which rights were granted later")?;
    Ok(())
}

/// Another namespace of the same scenario.
fn beside(ground: &Ground, name: &str) -> Ground {
    Ground { namespace: format!("{}-{name}", ground.namespace), ..ground.clone() }
}

async fn install(ground: &Ground, doomed: &Ground, other: &Ground) -> Result<()> {
    let values = json!({
        "replicaCount": 1,
        "watchNamespaces": [doomed.namespace, other.namespace],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "logLevel": "debug",
        // They belong to the whole cluster and to the operator that the lab has installed.
        "crds": {"install": false},
        "admissionPolicies": {"install": false},
        "rbac": {"userRoles": false},
    });
    operator_chart::install(ground, values, &[]).await.map(|_| ())
}

async fn is_available(ground: &Ground) -> Result<()> {
    let is_available = |data: &Value| data.pointer("/status/availableReplicas") == Some(&json!(1));
    ground.until("apps/v1", "Deployment", installed::NAME, is_available).await.map(|_| ())
}

/// The operator starts anew; whether it then works is what is asked.
async fn restart(ground: &Ground) -> Result<()> {
    let pods = ground.objects("v1", "Pod");
    for pod in operator_chart::pods(ground).await? {
        pods.delete(&pod, &DeleteParams::default()).await?;
        gone(&pods, "Pod", &pod).await?;
    }
    Ok(())
}

async fn released<'a>(ground: &'a Ground, chart: &Chart) -> Result<Instance<'a>> {
    ready(named(ground, "shop", "web").chart(chart).with(VALUES)).await
}

async fn ready(instance: Instance<'_>) -> Result<Instance<'_>> {
    let instance = instance.applied().await?;
    instance.says("Ready", "True/HelmReleaseReady").await?;
    Ok(instance)
}

async fn goes_out(ground: &Ground, shop: &mut Instance<'_>, greeting: &str) -> Result<()> {
    shop.change(&format!("values: {{inline: {{greeting: {greeting}}}}}")).await?;
    let is_changed = |data: &Value| text_at(data, "/data/greeting") == greeting;
    ground.until("v1", "ConfigMap", "web-settings", is_changed).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await
}

async fn cleared(ground: &Ground) -> Result<()> {
    let cleared = instance::clear(ground).await;
    cleared.and(ground.remove().await)
}

const VALUES: &str = "values: {source: inline, inline: {greeting: first, replicas: 0}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}";
