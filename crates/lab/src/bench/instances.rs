//! The instances of a bench: each with 1 KiB of values of its own, half of which no two have in common.

use anyhow::{Context, Result, ensure};
use explore::Dice;
use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::Cluster;

pub(super) const APPS: &str = "apps.vworkspace.io/v1alpha1";
pub(super) const INSTANCE: &str = "ApplicationInstance";
pub(super) const HELM: &str = "helm.toolkit.fluxcd.io/v2";
pub(super) const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
pub(super) const OPS: &str = "ops.vworkspace.io/v1alpha1";
pub(super) const OPERATION: &str = "Operation";
/// The kinds of what a bench and the operator make.
const MADE: [(&str, &str); 5] = [
    (OPS, OPERATION),
    ("batch/v1", "Job"),
    (APPS, INSTANCE),
    (HELM, "HelmRelease"),
    (SOURCE, "OCIRepository"),
];
/// As many requests as the operator has under way at once, by default.
pub(super) const CONCURRENCY: usize = 8;
/// How much of an instance its user has written.
const VALUES_SIZE: usize = 1024;
const PER_NAMESPACE: usize = 500;
const MANAGER: &str = "lab-bench";

/// Instance `number` of a bench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Which {
    pub(super) namespace: String,
    pub(super) name: String,
    number: usize,
}

/// Instances `from` to `to`, spread over namespaces.
pub(super) fn numbered(prefix: &str, from: usize, to: usize) -> Vec<Which> {
    let which = |number: usize| Which {
        namespace: format!("{prefix}-{}", number / PER_NAMESPACE),
        name: format!("app-{number}"),
        number,
    };
    (from..to).map(which).collect()
}

impl Which {
    /// The same in another namespace.
    pub(super) fn within(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// The instance, at its first or a later change.
    pub(super) fn manifest(&self, change: usize) -> Value {
        json!({
            "apiVersion": APPS, "kind": INSTANCE,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "appRef": {"catalogId": "bench"},
                "chart": {"sourceType": "oci", "url": "oci://registry.example.org/charts", "name": "bench",
                    "version": "1.0.0"},
                "release": {"name": self.name, "namespace": self.namespace},
                "values": {"source": "inline", "inline": values(self.number, change)},
            },
        })
    }
}

/// 1 KiB of values: what a chart of a web application is usually given, and texts that look like none other.
pub(super) fn values(number: usize, change: usize) -> Value {
    let mut dice = Dice::new(number as u64 + 1);
    let mut values = json!({
        "change": change,
        "image": {"repository": format!("registry.example.org/team-{}/web", number % 97), "tag": noise(&mut dice, 12)},
        "replicaCount": number % 5 + 1,
        "ingress": {"enabled": true, "host": format!("app-{number}.example.org"), "tls": true},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "persistence": {"enabled": true, "size": format!("{}Gi", number % 40 + 1), "storageClass": "standard"},
        "env": {},
    });
    let mut entry = 0;
    while values.to_string().len() < VALUES_SIZE {
        let room = VALUES_SIZE.saturating_sub(values.to_string().len()).clamp(1, 48);
        if let Some(env) = values.get_mut("env").and_then(Value::as_object_mut) {
            env.insert(format!("SETTING_{entry}"), noise(&mut dice, room).into());
        }
        entry += 1;
    }
    values
}

/// Hexadecimal digits that do not repeat, the same in each run.
fn noise(dice: &mut Dice, length: usize) -> String {
    (0..length).filter_map(|_| char::from_digit(dice.below(16), 16)).collect()
}

/// Creates the namespaces of these instances.
pub(super) async fn make_room(cluster: &Cluster, instances: &[Which]) -> Result<()> {
    let mut namespaces: Vec<&str> = instances.iter().map(|which| which.namespace.as_str()).collect();
    namespaces.dedup();
    let manifest = |name: &&str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let objects = namespaces.iter().map(|name| serde_json::from_value(manifest(name)));
    cluster.apply(&objects.collect::<Result<Vec<_>, _>>()?).await
}

/// Creates instances, some at once.
pub(super) async fn create(cluster: &Cluster, instances: &[Which]) -> Result<()> {
    create_as(cluster, instances, |which| which.manifest(0)).await
}

/// Creates instances with manifests of their own, some at once.
pub(super) async fn create_as(
    cluster: &Cluster,
    instances: &[Which],
    manifest: impl Fn(&Which) -> Value,
) -> Result<()> {
    for_each(instances, async |which| {
        let object: DynamicObject = serde_json::from_value(manifest(which))?;
        apps(cluster, &which.namespace).create(&PostParams::default(), &object).await?;
        Ok(())
    })
    .await
}

/// Does the same for each, some at once.
pub(super) async fn for_each<T>(all: &[T], work: impl AsyncFn(&T) -> Result<()>) -> Result<()> {
    stream::iter(all).map(|one| work(one)).buffer_unordered(CONCURRENCY).try_collect().await
}

pub(super) fn apps(cluster: &Cluster, namespace: &str) -> Api<DynamicObject> {
    cluster.dynamic(APPS, INSTANCE, Some(namespace))
}

/// Changes an instance as a user would.
pub(super) async fn change(cluster: &Cluster, which: &Which, change: usize) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"values": {"inline": {"change": change}}}}));
    apps(cluster, &which.namespace).patch(&which.name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Sends what somebody else has sent, under another name.
pub(super) async fn apply(api: &Api<DynamicObject>, name: &str, body: &Value) -> Result<DynamicObject> {
    let params = PatchParams::apply(MANAGER);
    api.patch(name, &params, &Patch::Apply(body)).await.with_context(|| format!("failed to apply {name}"))
}

/// The body of the apply that made this object, but for the label by which the operator finds its own.
pub(super) fn raw_copy(object: &DynamicObject) -> Value {
    let labels =
        object.labels().iter().map(|(key, value)| (key.replace("application-", "applicable-"), value));
    let labels: Value = labels.map(|(key, value)| (key, json!(value))).collect();
    let types = object.types.clone().unwrap_or_default();
    json!({
        "apiVersion": types.api_version, "kind": types.kind,
        "metadata": {"name": object.name_any(), "namespace": object.namespace(), "labels": labels,
            "annotations": object.annotations(), "ownerReferences": object.owner_references()},
        "spec": object.data.get("spec"),
    })
}

/// How many instances of a part there are.
pub(super) async fn count(cluster: &Cluster, prefix: &str) -> Result<usize> {
    Ok(all_below(cluster, (APPS, INSTANCE), prefix).await?.len())
}

/// Whether all instances of a part are ready.
pub(super) async fn all_ready(cluster: &Cluster, prefix: &str, count: usize) -> Result<()> {
    let all = all_below(cluster, (APPS, INSTANCE), prefix).await?;
    let (ready, others): (Vec<_>, Vec<_>) = all.iter().partition(|app| is_ready(app));
    let first = others.first().and_then(|app| app.data.get("status")).map(Value::to_string);
    ensure!(
        ready.len() == count,
        "{} of {count} instances are ready; another one says {}",
        ready.len(),
        first.unwrap_or_default()
    );
    Ok(())
}

/// Whether an instance is ready as its spec is now.
pub(super) fn is_ready(app: &DynamicObject) -> bool {
    let conditions = app.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type") == Some(&json!("Ready"))
            && condition.get("status") == Some(&json!("True"))
            && condition.get("observedGeneration") == Some(&json!(app.metadata.generation))
    })
}

/// All objects of a kind in the namespaces of a part.
pub(super) async fn all_below(
    cluster: &Cluster,
    (api_version, kind): (&str, &str),
    prefix: &str,
) -> Result<Vec<DynamicObject>> {
    let (mut found, mut page) = (Vec::new(), ListParams::default().limit(500));
    let is_ours = |object: &DynamicObject| {
        object.namespace().is_some_and(|namespace| namespace.starts_with(&format!("{prefix}-")))
    };
    loop {
        let list = cluster.dynamic(api_version, kind, None).list(&page).await?;
        let token = list.metadata.continue_.clone().filter(|token| !token.is_empty());
        found.extend(list.items.into_iter().filter(is_ours));
        match token {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// Takes everything of a bench away, without the operator: it must not run.
pub(super) async fn remove_all(cluster: &Cluster, prefix: &str) -> Result<()> {
    let namespaces = cluster.dynamic("v1", "Namespace", None);
    let found = namespaces.list(&ListParams::default()).await?;
    let ours = found.iter().map(ResourceExt::name_any).filter(|name| name.starts_with(&format!("{prefix}-")));
    for namespace in ours {
        for (api_version, kind) in MADE {
            let api = cluster.dynamic(api_version, kind, Some(&namespace));
            release(&api).await?;
            api.delete_collection(&DeleteParams::background(), &ListParams::default()).await?;
        }
        namespaces.delete(&namespace, &DeleteParams::background()).await?;
        crate::scenario::gone(&namespaces, "Namespace", &namespace).await?;
    }
    Ok(())
}

/// Takes all finalizers away: nobody is there to do it.
async fn release(api: &Api<DynamicObject>) -> Result<()> {
    let held = api.list_metadata(&ListParams::default()).await?;
    let held = held.iter().filter(|object| !object.finalizers().is_empty()).map(ResourceExt::name_any);
    for_each(&held.collect::<Vec<_>>(), async |name| {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch(name, &PatchParams::default(), &free).await?;
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_a_kibibyte_and_no_two_are_alike() {
        for number in [0, 7, 9_999] {
            let size = values(number, 0).to_string().len();
            assert!((VALUES_SIZE..VALUES_SIZE + 64).contains(&size), "{number}: {size}");
        }
        assert_ne!(values(1, 0).get("env"), values(2, 0).get("env"));
        assert_eq!(values(1, 0), values(1, 0));
    }

    #[test]
    fn an_instance_is_ready_only_as_its_spec_is_now() {
        let app = |generation: i64| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "a", "generation": generation}, "status": {
                "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}}))
            .unwrap()
        };
        assert!(is_ready(&app(1)) && !is_ready(&app(2)));
    }

    #[test]
    fn instances_are_spread_over_namespaces() {
        let all = numbered("many", 499, 501);
        assert_eq!(
            all.iter().map(|which| which.namespace.as_str()).collect::<Vec<_>>(),
            ["many-0", "many-1"]
        );
    }
}
