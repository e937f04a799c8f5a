//! To the cluster, and what its refusals mean.

use std::fmt::Debug;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use kube::core::response::Status;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use vworkspace_api::operation::Operation;

use super::OpError;
use crate::status::live::{LiveError, connect};

/// Which cluster, and which namespace of it.
#[derive(Debug, Args)]
pub struct Access {
    /// Namespace; that of the context if not given
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
}

impl Access {
    pub(super) async fn connect(&self) -> Result<Session, OpError> {
        let connection = connect::cluster(self.kubeconfig.as_deref(), self.context.as_deref()).await?;
        let namespace = self.namespace.clone().unwrap_or(connection.namespace);
        Ok(Session { client: connection.client, namespace })
    }
}

/// A cluster, and the namespace that is meant.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) namespace: String,
}

impl Session {
    pub(super) fn operations(&self) -> Api<Operation> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) async fn operation(&self, name: &str) -> Result<Operation, OpError> {
        self.get(&self.operations(), &(), name).await
    }

    /// The object of that name.
    pub(super) async fn get<K>(&self, api: &Api<K>, kind: &K::DynamicType, name: &str) -> Result<K, OpError>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
    {
        let (word, plural) = (K::kind(kind), full_name::<K>(kind));
        match api.get(name).await {
            Ok(found) => Ok(found),
            Err(kube::Error::Api(status)) if is_absent(&status) => Err(OpError::Refused(format!(
                "there is no {word} {name:?} in namespace {}; `kubectl get {plural} -n {}` lists what there is",
                self.namespace, self.namespace
            ))),
            Err(error) => Err(failed(&plural, "read", &format!("/{name}"), &self.namespace, error)),
        }
    }

    /// What went wrong with operations.
    pub(super) fn failed(&self, verb: &str, name: &str, error: kube::Error) -> OpError {
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        failed(&full_name::<Operation>(&()), verb, &name, &self.namespace, error)
    }
}

/// `operations.ops.vworkspace.io`
fn full_name<K: Resource>(kind: &K::DynamicType) -> String {
    let (plural, group) = (K::plural(kind), K::group(kind));
    if group.is_empty() { plural.into_owned() } else { format!("{plural}.{group}") }
}

/// What to say of a request that failed; a kind that the cluster does not serve has its own words.
pub(super) fn failed(plural: &str, verb: &str, name: &str, namespace: &str, error: kube::Error) -> OpError {
    let place = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    let action = format!("{verb} {plural}{name}{place}");
    match error {
        kube::Error::Api(status) if is_unserved(&status) => OpError::Refused(format!(
            "failed to {action}: the cluster does not serve {plural}; expected its CRD, which the chart \
             vworkspace-operator installs"
        )),
        cause => LiveError::Request { action, cause: Box::new(cause) }.into(),
    }
}

/// Nothing answers under that path: the CRD is not installed.
fn is_unserved(status: &Status) -> bool {
    let is_path = status.reason != "NotFound" || status.message.contains("the requested resource");
    status.code == 404 && is_path
}

fn is_absent(status: &Status) -> bool {
    status.code == 404 && !is_unserved(status)
}
