//! Changes of a CRD that somebody else has installed, for as long as a scenario needs them.

use anyhow::{Context, Result};
use kube::api::PostParams;
use serde_json::Value;
use tokio::time::Instant;

use super::{DEADLINE, Ground};

/// Changes a CRD as a whole: an apply would leave alone what others own too.
pub(super) async fn edit(
    ground: &Ground,
    name: &str,
    change: impl Fn(&mut Value) -> Result<()>,
) -> Result<()> {
    let crds = ground.cluster.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let deadline = Instant::now() + DEADLINE;
    loop {
        let mut crd = crds.get(name).await?;
        change(&mut crd.data)?;
        match crds.replace(name, &PostParams::default(), &crd).await {
            // Its own controllers write its status.
            Err(kube::Error::Api(status)) if status.code == 409 && Instant::now() < deadline => {}
            other => return other.map(|_| ()).with_context(|| format!("failed to change CRD {name}")),
        }
    }
}
