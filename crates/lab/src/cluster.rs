//! A cluster that the lab works on: its own, or an existing one that the user names. Add-ons and scenarios see no
//! difference but `node`, which only the lab's own cluster has.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Discovery, Scope};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt, watcher::watch_object};
use kube::{Client, Config, ResourceExt};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use crate::node::Node;
use crate::paths::Paths;
use crate::unmet::Unmet;

/// Who wrote a field, as the API server records it.
const MANAGER: &str = "lab";
/// How long a kind or a webhook that was just installed may take to answer.
const SERVING_DEADLINE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(250);
const CRD: &str = "CustomResourceDefinition";

/// A client of the cluster with what is known of it.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) paths: Paths,
    /// The machine below it, if it is the lab's own.
    pub(crate) node: Option<Node>,
    /// The lab's kubectl and helm.
    pub(crate) tools: PathBuf,
}

impl Cluster {
    /// A token of a service account, for so many seconds.
    pub(crate) async fn token(&self, namespace: &str, account: &str, seconds: i64) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let token = accounts.create_token_request(account, &PostParams::default(), &request).await?;
        Ok(token.status.context("the API server issued no token")?.token)
    }

    pub(crate) async fn connect(
        paths: &Paths,
        kubeconfig: &Path,
        node: Option<Node>,
        tools: &Path,
    ) -> Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig).map_err(|error| Unmet::new(error.to_string()))?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.connect_timeout = Some(Duration::from_secs(5));
        if node.is_some() {
            // It is on this machine, whatever the environment says about the way to others.
            config.proxy_url = None;
        }
        Ok(Self {
            client: Client::try_from(config)?,
            kubeconfig: kubeconfig.to_path_buf(),
            paths: paths.clone(),
            node,
            tools: tools.to_path_buf(),
        })
    }

    /// Runs one of the lab's own programs against this cluster.
    pub(crate) fn tool(&self, program: &str) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.tools.join(program));
        command.env("KUBECONFIG", &self.kubeconfig).kill_on_drop(true);
        command
    }

    /// Creates or updates objects: namespaces first, then CRDs until they are served, then the rest in their order. What is
    /// refused because a kind or webhook does not answer yet is tried again for a while.
    pub(crate) async fn apply(&self, objects: &[DynamicObject]) -> Result<()> {
        let rank = |object: &DynamicObject| match kind(object) {
            "Namespace" => 0,
            CRD => 1,
            _ => 2,
        };
        let mut ordered: Vec<&DynamicObject> = objects.iter().collect();
        ordered.sort_by_key(|object| rank(object));
        let mut kinds = Kinds::of(&self.client).await?;
        for same_rank in ordered.chunk_by(|one, other| rank(one) == rank(other)) {
            let deadline = Instant::now() + SERVING_DEADLINE;
            let mut pending: Vec<&DynamicObject> = same_rank.to_vec();
            while let Some(error) = self.apply_all(&mut pending, &kinds).await {
                if Instant::now() > deadline || !is_temporary(&error) {
                    return Err(error);
                }
                sleep(RETRY).await;
                kinds = Kinds::of(&self.client).await?;
            }
            // Programs among the rest may ask for the kinds there are, once and when they start.
            while let Some(missing) = same_rank.iter().find_map(|object| kinds.first_missing(object)) {
                ensure!(Instant::now() <= deadline, NotServed(missing));
                sleep(RETRY).await;
                kinds = Kinds::of(&self.client).await?;
            }
        }
        Ok(())
    }

    /// Leaves in `pending` what could not be applied, and says why for the first of them.
    async fn apply_all(&self, pending: &mut Vec<&DynamicObject>, kinds: &Kinds) -> Option<anyhow::Error> {
        let (mut left, mut first_error) = (Vec::new(), None);
        let results: Vec<_> = futures::stream::iter(pending.iter().copied())
            .map(async |object| (object, self.apply_one(object, kinds).await))
            .buffered(8)
            .collect()
            .await;
        for (object, result) in results {
            if let Err(error) = result {
                left.push(object);
                first_error.get_or_insert(error);
            }
        }
        *pending = left;
        first_error
    }

    async fn apply_one(&self, object: &DynamicObject, kinds: &Kinds) -> Result<()> {
        let name = object.name_any();
        let api = kinds.api(&self.client, object)?;
        // On a cluster that is not ours, what others own stays theirs.
        let params = PatchParams { force: self.node.is_some(), ..PatchParams::apply(MANAGER) };
        api.patch(&name, &params, &Patch::Apply(object))
            .await
            .with_context(|| format!("failed to apply {} {name}", kind(object)))?;
        Ok(())
    }

    /// Reads manifests and applies them.
    pub(crate) async fn apply_yaml(&self, manifests: &str) -> Result<()> {
        self.apply(&parse(manifests)?).await
    }

    /// An API for objects of a kind that we have no type for.
    pub(crate) fn dynamic(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

/// What the API server serves at the moment.
pub(crate) struct Kinds(Discovery);

impl Kinds {
    pub(crate) async fn of(client: &Client) -> Result<Self> {
        Ok(Self(
            Discovery::new(client.clone())
                .run_aggregated()
                .await
                .context("failed to ask the API server for its kinds")?,
        ))
    }

    fn api(&self, client: &Client, object: &DynamicObject) -> Result<Api<DynamicObject>> {
        let Some((resource, capabilities)) = self.0.resolve_object(object) else {
            return Err(NotServed(kind(object).to_owned()).into());
        };
        Ok(match (capabilities.scope, object.namespace()) {
            (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(client.clone(), &namespace, &resource)
            }
            (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), &resource),
        })
    }

    /// The first version of a CRD that is to be served and is not yet. None for an object of any other kind.
    fn first_missing(&self, object: &DynamicObject) -> Option<String> {
        let is_served = |gvk: &GroupVersionKind| self.0.resolve_gvk(gvk).is_some();
        let missing = kinds_of_crd(object).into_iter().find(|gvk| !is_served(gvk))?;
        Some(format!("{} of {}", missing.kind, missing.api_version()))
    }

    /// Namespaced kinds that can be listed.
    pub(crate) fn namespaced(&self) -> Vec<ApiResource> {
        let kinds = self.0.groups().flat_map(kube::discovery::ApiGroup::recommended_resources);
        kinds
            .filter(|(_, capabilities)| {
                capabilities.scope == Scope::Namespaced && capabilities.supports_operation("list")
            })
            .map(|(resource, _)| resource)
            .collect()
    }
}

/// A kind that the API server does not know, or not yet.
#[derive(Debug)]
struct NotServed(String);

impl std::fmt::Display for NotServed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the API server does not serve kind {}", self.0)
    }
}

impl std::error::Error for NotServed {}

/// Refusals that end by themselves while controllers start: unknown kinds, webhooks without a server, a busy API server.
fn is_temporary(error: &anyhow::Error) -> bool {
    if error.is::<NotServed>() {
        return true;
    }
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => {
            matches!(status.code, 404 | 409 | 429 | 500..)
                || status.message.contains("failed calling webhook")
        }
        Some(_) => true,
        None => false,
    }
}

/// What the API server serves once it has taken this CRD; nothing if it is none.
fn kinds_of_crd(object: &DynamicObject) -> Vec<GroupVersionKind> {
    if kind(object) != CRD {
        return Vec::new();
    }
    let text =
        |value: &Value, at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let versions = object.data.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| version["served"] == true);
    let gvk = |version: &Value| {
        let (group, kind) = (text(&object.data, "/spec/group"), text(&object.data, "/spec/names/kind"));
        GroupVersionKind { group, version: text(version, "/name"), kind }
    };
    served.map(gvk).collect()
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("object without kind", |types| types.kind.as_str())
}

/// Reads a stream of manifests; empty documents count for nothing.
pub(crate) fn parse(manifests: &str) -> Result<Vec<DynamicObject>> {
    // Our own files and upstream's: the limits against hostile input would refuse large CRDs.
    let options = serde_saphyr::options! { budget: None };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(manifests, options)?;
    let objects = documents.into_iter().filter(|document| !document.is_null());
    objects.map(|document| serde_json::from_value(document).context("a manifest is no object")).collect()
}

/// What was last seen when a wait ended without success.
#[derive(Debug)]
pub(crate) struct NotInTime<K> {
    pub(crate) last: Option<K>,
    /// Why nothing could be seen, if that was so at the end.
    pub(crate) error: Option<watcher::Error>,
}

impl<K> NotInTime<K> {
    /// For a person: why nothing could be seen, or what was, or that there was nothing.
    pub(crate) fn describe(self, state: impl Fn(&K) -> String) -> String {
        match (self.error, self.last) {
            (Some(error), _) => format!("failed to look: {error}"),
            (None, Some(object)) => state(&object),
            (None, None) => "it does not exist".to_owned(),
        }
    }
}

/// Watches one object until it satisfies `wanted`. A broken watch is taken up again until the deadline.
pub(crate) async fn wait_until<K>(
    api: &Api<K>,
    name: &str,
    deadline: Instant,
    wanted: impl Fn(Option<&K>) -> bool,
) -> Result<Option<K>, NotInTime<K>>
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let (mut last, mut error) = (None, None);
    let mut seen = watch_object(api.clone(), name).default_backoff().boxed();
    loop {
        match timeout_at(deadline, seen.try_next()).await {
            Ok(Ok(Some(object))) => {
                if wanted(object.as_ref()) {
                    return Ok(object);
                }
                (last, error) = (object, None);
            }
            // The stream backs off and goes on by itself.
            Ok(Err(broken)) => error = Some(broken),
            Ok(Ok(None)) | Err(_) => return Err(NotInTime { last, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crd_brings_its_kind_in_each_version_that_is_served() {
        let manifests = "
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.lab.test}, spec: {
  group: lab.test, names: {kind: Boat}, versions: [
    {name: v1, served: true}, {name: v1beta1, served: true}, {name: v1alpha1, served: false}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: boats}}
";
        let objects = parse(manifests).expect("manifests");
        let kinds: Vec<Vec<GroupVersionKind>> = objects.iter().map(kinds_of_crd).collect();
        let boat = |version: &str| GroupVersionKind::gvk("lab.test", version, "Boat");
        assert_eq!(kinds, [vec![boat("v1"), boat("v1beta1")], vec![]]);
    }
}
