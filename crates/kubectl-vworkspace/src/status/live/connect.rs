//! To the cluster, as kubectl would: flags, then `KUBECONFIG`, then `~/.kube/config`, then the service account.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::LiveError;

/// A client, and the namespace that the context names.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

pub(crate) async fn cluster(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<Connection, LiveError> {
    let choice = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = match (kubeconfig, context) {
        (Some(path), _) => {
            let file = Kubeconfig::read_from(path).map_err(LiveError::Kubeconfig)?;
            Config::from_custom_kubeconfig(file, &choice).await.map_err(LiveError::Kubeconfig)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&choice).await.map_err(LiveError::Kubeconfig)?,
        (None, None) => Config::infer().await.map_err(LiveError::Infer)?,
    };
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config).map_err(LiveError::Client)?;
    Ok(Connection { client, namespace })
}
