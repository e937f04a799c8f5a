//! To the cluster, as kubectl would: flags, then `KUBECONFIG`, then `~/.kube/config`, then the service account.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::LiveError;
use crate::status::args::StatusArgs;

/// A client, and the namespace that the context names.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) namespace: String,
}

pub(super) async fn cluster(args: &StatusArgs) -> Result<Connection, LiveError> {
    let choice = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let config = match (&args.kubeconfig, &args.context) {
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
