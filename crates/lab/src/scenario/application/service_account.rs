//! Flux works in the name of a service account: what is told when it loses its rights, and when it is gone.

use anyhow::{Result, ensure};
use kube::api::DeleteParams;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, gone};
use super::instance::{HELM, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_service_account_lost_rights_do_not_flicker_and_a_lost_account_does_not_lose_the_application",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    ground.apply(ACCOUNT).await?;
    ground.apply(RIGHTS).await?;
    let mut shop = instance(ground).chart(&chart).with("serviceAccountName: tenant").applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;

    let bindings = ground.objects("rbac.authorization.k8s.io/v1", "RoleBinding");
    bindings.delete("tenant", &DeleteParams::background()).await?;
    shop.says("Blocked", "True/PolicyDenied").await?.naming("ServiceAccount tenant")?;
    shop.says("Ready", "False/HelmReleaseFailed").await?;
    tokio::try_join!(
        shop.keeps_saying("Ready", "False/HelmReleaseFailed"),
        shop.keeps_saying("Blocked", "True/PolicyDenied"),
    )?;
    ground.apply(RIGHTS).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Blocked", "False/Unblocked")]).await?;

    // Without the account Flux lets go of the release, and deletes nothing.
    ground.objects("v1", "ServiceAccount").delete("tenant", &DeleteParams::background()).await?;
    shop.delete().await?;
    gone(&ground.objects(HELM, "HelmRelease"), "HelmRelease", "web").await?;
    shop.says("Deleting", "True/WaitingForChildResources").await?.naming("Deployment web")?;
    shop.change("deletionPolicy: Orphan").await?;
    shop.is_gone().await?;
    let web = ground.objects("apps/v1", "Deployment").get("web").await?;
    ensure!(web.metadata.deletion_timestamp.is_none(), "the Deployment that was to stay is being deleted");
    Ok(())
}

const ACCOUNT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: tenant, namespace: NAMESPACE}
";

const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: tenant, namespace: NAMESPACE}]
";
