//! Which cluster this is: in every log line, and what approvals are bound to.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};

use crate::fault::{self, Fault};
use crate::{backoff, logs};

const ANSWER: Duration = Duration::from_secs(15);
/// A cluster's oldest namespace: its uid is as good as an id of the cluster, and everybody uses it as such.
const NAMESPACE: &str = "kube-system";

/// The id that was given; otherwise the API server is asked until it answers.
pub(crate) async fn find(client: &Client, given: Option<&str>) -> Arc<str> {
    let id = match given {
        Some(id) => id.to_owned(),
        None => ask(client).await,
    };
    logs::name_cluster(&id);
    info!("found the id of the cluster");
    id.into()
}

async fn ask(client: &Client) -> String {
    let mut failures = 0;
    loop {
        match timeout(ANSWER, Api::<Namespace>::all(client.clone()).get_metadata(NAMESPACE)).await {
            Ok(Ok(namespace)) => return namespace.metadata.uid.unwrap_or_default(),
            Ok(Err(error)) if fault::fault(&error) == Fault::Forbidden => {
                warn!(
                    "failed to get namespace {NAMESPACE}: forbidden; give the cluster's id with --cluster-id"
                );
                return "unknown".to_owned();
            }
            Ok(Err(error)) => {
                error!(reason = fault::words(&error), "failed to get namespace {NAMESPACE}; trying again");
            }
            Err(_) => {
                error!("failed to get namespace {NAMESPACE}: no answer from the API server; trying again");
            }
        }
        failures += 1;
        sleep(backoff::delay(failures, NAMESPACE).min(Duration::from_secs(10))).await;
    }
}
