//! The catalog policy of the lab's operator, for as long as a scenario needs one. It is everybody's: who uses it runs alone.

use anyhow::Result;
use kube::api::DeleteParams;

use super::super::Ground;

/// Gives the policy this data, in which NAMESPACE stands for the scenario's own.
pub(super) async fn set(ground: &Ground, data: &str) -> Result<()> {
    ground.apply(&POLICY.replace("DATA", data)).await
}

/// Tells what needs a policy, and removes the policy also after a failure: nobody else may feel it.
pub(super) async fn removed_after(ground: &Ground, told: impl Future<Output = Result<()>>) -> Result<()> {
    let told = told.await;
    let policies = ground.cluster.dynamic("v1", "ConfigMap", Some("vworkspace-system"));
    let removed = policies.delete("vworkspace-catalog-policy", &DeleteParams::background()).await;
    told?;
    removed?;
    Ok(())
}

const POLICY: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: vworkspace-catalog-policy, namespace: vworkspace-system}
data: DATA
";
