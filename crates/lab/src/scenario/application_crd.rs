//! The CRD of ApplicationInstance on a real API server: what it takes, and in which words it refuses the rest.

mod cases;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::response::Status;
use serde_json::{Value, json};

use self::cases::{ACCOUNT_CHANGES, BASE, EXISTING, REFUSED, REFUSED_LATER, TAKEN, TAKEN_LATER};
use super::{DEADLINE, Ground, Scenario, gone, seen};
use crate::cluster;
use crate::paths;
use crate::readiness::has_condition;

pub(super) const TAKES: Scenario = Scenario {
    name: "the_application_crd_takes_every_example_and_the_objects_that_exist_already",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(takes(ground)),
};

pub(super) const REFUSES: Scenario = Scenario {
    name: "the_application_crd_refuses_what_breaks_a_rule_in_the_words_of_the_rule",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(refuses(ground)),
};

pub(super) const RATCHETS: Scenario = Scenario {
    name: "the_application_crd_leaves_a_stored_object_alone_that_is_older_than_its_rules",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(ratchets(ground)),
};

pub(super) const POLICY: Scenario = Scenario {
    name: "the_application_policy_refuses_a_release_in_a_namespace_other_than_the_instances",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(policy(ground)),
};

pub(super) const ACCOUNTS: Scenario = Scenario {
    name: "the_application_policy_warns_of_an_instance_that_flux_would_install_with_its_own_rights_or_refuses_it",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(accounts(ground)),
};

const GROUP: &str = "apps.vworkspace.io";
const API_VERSION: &str = "apps.vworkspace.io/v1alpha1";
const KIND: &str = "ApplicationInstance";

/// Under a group of its own, so that an operator does not write what is compared here.
async fn takes(ground: &Ground) -> Result<()> {
    let group = "takes.lab.vworkspace.io";
    let crd: Value = serde_json::from_str(&crd()?.to_string().replace(GROUP, group))?;
    install(ground, &crd).await?;
    let version = format!("{group}/v1alpha1");
    let result = taken(ground, &version).await;
    let crds = ground.cluster.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    crds.delete(&name_of(&crd), &DeleteParams::background()).await?;
    result
}

async fn taken(ground: &Ground, version: &str) -> Result<()> {
    let instances = ground.objects(version, KIND);
    let group = version.split_once('/').map_or(version, |(group, _)| group);
    for file in examples()? {
        let text = fs::read_to_string(&file)?.replace(GROUP, group);
        let text = text.replace("namespace: shop", &format!("namespace: {}", ground.namespace));
        ground.cluster.apply_yaml(&text).await.with_context(|| file.display().to_string())?;
    }
    ground.apply(&EXISTING.replace(GROUP, group)).await?;
    for change in TAKEN {
        let mut object = base(ground)?;
        merge(&mut object, &json!({"apiVersion": version}));
        merge(&mut object, &serde_saphyr::from_str(change)?);
        merge(&mut object, &json!({"metadata": {"name": "another"}}));
        let object: DynamicObject = serde_json::from_value(object)?;
        instances.create(&dry_run(), &object).await.with_context(|| (*change).to_owned())?;
    }

    let old = instances.get("existing-helm").await?;
    for (field, expected) in [
        ("/spec/mode", json!("managed")),
        ("/spec/interval", json!("5m")),
        ("/spec/timeout", json!("5m")),
        ("/spec/deletionPolicy", json!("Delete")),
    ] {
        let found = old.data.pointer(field);
        ensure!(
            found == Some(&expected),
            "{field} of an object that leaves it out is {found:?}, not {expected}"
        );
    }
    let checked = instances.get("web").await?;
    let check = checked.data.pointer("/spec/readinessChecks/0").context("the check is gone")?;
    ensure!(
        (check["interval"].as_str(), check["failureThreshold"].as_i64()) == (Some("30s"), Some(3)),
        "a check has {check}"
    );

    status_is_kept(&instances, version).await?;
    let mut kubectl = ground.cluster.tool("kubectl");
    kubectl.args(["get", &format!("appinst.{group}"), "shop", "--namespace", &ground.namespace]);
    let table = super::said_by(&mut kubectl).await?;
    let columns: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = ["shop", "False", "Installing", "shop", "1.2.3+0123456789ab"];
    ensure!(
        columns.first().is_some_and(|head| *head == ["NAME", "READY", "REASON", "CHART", "VERSION", "AGE"])
            && columns.get(1).is_some_and(|row| row.starts_with(&expected)),
        "kubectl get shows:\n{table}"
    );
    Ok(())
}

/// Everything that a controller writes into a status comes back, and nothing of it is pruned.
async fn status_is_kept(instances: &Api<DynamicObject>, version: &str) -> Result<()> {
    let time = "2026-01-02T03:04:05Z";
    let status = json!({
        "observedGeneration": 1,
        "conditions": [{
            "type": "Ready", "status": "False", "reason": "Installing", "message": "",
            "lastTransitionTime": time, "observedGeneration": 1,
        }],
        "helmReleaseRef": {"name": "shop", "namespace": "shop"},
        "lastAppliedChart": {"sourceType": "oci", "url": "oci://registry.example.org/charts", "name": "shop", "version": "1.2.3"},
        "lastSuccessfulRelease": {
            "chartVersion": "1.2.3+0123456789ab", "revision": 4, "configDigest": "sha256:1", "ociDigest": "sha256:2", "time": time,
        },
        "lastApprovedChange": {
            "digest": "sha256:3", "change": "5", "chartDigest": "sha256:6", "claimId": "4", "time": time,
        },
        "installAttempted": true,
        "secretValues": true,
        "chartTrouble": {"change": "5", "message": "could not load chart", "since": time},
        "endpoints": [{"name": "shop", "url": "https://shop.example.org", "type": "ingress", "notes": "by TLS"}],
        "lastReconcileTime": time,
    });
    let object = json!({"apiVersion": version, "kind": KIND, "status": status});
    let written =
        instances.patch_status("shop", &PatchParams::apply("status-writer"), &Patch::Apply(&object)).await?;
    let kept = written.data.get("status");
    ensure!(kept == Some(&status), "the status was {status} and became {kept:?}");
    Ok(())
}

async fn refuses(ground: &Ground) -> Result<()> {
    let crd = crd()?;
    install(ground, &crd).await?;
    let instances = ground.objects(API_VERSION, KIND);
    let mut told = Vec::new();
    for (change, message) in REFUSED {
        let mut object = base(ground)?;
        merge(&mut object, &serde_saphyr::from_str(change)?);
        let object: DynamicObject = serde_json::from_value(object)?;
        let refusal = instances.create(&dry_run(), &object).await.map(|_| ());
        told.extend(refused(refusal, change, message)?);
    }

    instances.create(&PostParams::default(), &serde_json::from_value(base(ground)?)?).await?;
    for (change, message) in REFUSED_LATER {
        let change_itself: Value = serde_saphyr::from_str(change)?;
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        let refusal = instances.patch("shop", &params, &Patch::Merge(&change_itself)).await.map(|_| ());
        told.extend(refused(refusal, change, &message.replace("NAMESPACE", &ground.namespace))?);
    }
    for change in TAKEN_LATER {
        let change_itself: Value = serde_saphyr::from_str(change)?;
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        let taken = instances.patch("shop", &params, &Patch::Merge(&change_itself)).await;
        taken.with_context(|| (*change).to_owned())?;
    }
    every_rule_was_broken(&crd, &told)
}

/// What the API server says of each field that it refuses.
fn refused(result: Result<(), kube::Error>, change: &str, expected: &str) -> Result<Vec<String>> {
    let status: Box<Status> = match result {
        Ok(()) => bail!("{change} was taken; it should be refused with: {expected}"),
        Err(kube::Error::Api(status)) => status,
        Err(other) => return Err(other.into()),
    };
    let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    // The API server puts before a message what was found, in its own words.
    let exact = causes.iter().any(|cause| cause.message.ends_with(&format!(": {expected}")));
    ensure!(
        status.code == 422 && exact,
        "{change} should be refused with: {expected}\nthe API server says: {}",
        status.message
    );
    Ok(causes.into_iter().map(|cause| cause.message).collect())
}

/// A rule that no case above breaks could say anything.
fn every_rule_was_broken(crd: &Value, told: &[String]) -> Result<()> {
    let mut openings = Vec::new();
    collect_openings(crd, &mut openings);
    ensure!(openings.len() > 30, "the CRD has only {} rules", openings.len());
    let silent: Vec<_> =
        openings.iter().filter(|opening| !told.iter().any(|message| message.contains(*opening))).collect();
    ensure!(silent.is_empty(), "no case breaks the rules whose messages begin with {silent:?}");
    Ok(())
}

/// How the message of each rule begins.
fn collect_openings(value: &Value, openings: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let opening = fields
                .get("messageExpression")
                .and_then(Value::as_str)
                .and_then(|text| text.split('"').nth(1));
            let whole = fields.get("rule").and(fields.get("message")).and_then(Value::as_str);
            openings.extend(opening.or(whole).map(str::to_owned));
            fields.values().for_each(|field| collect_openings(field, openings));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_openings(item, openings)),
        _ => {}
    }
}

/// Under a group of its own, so that nobody else's CRD is without its rules for a while.
async fn ratchets(ground: &Ground) -> Result<()> {
    let group = "ratchet.lab.vworkspace.io";
    let with_rules: Value = serde_json::from_str(&crd()?.to_string().replace(GROUP, group))?;
    let mut without_rules = with_rules.clone();
    drop_rules(&mut without_rules);
    install(ground, &without_rules).await?;
    let version = format!("{group}/v1alpha1");
    let instances = ground.objects(&version, KIND);
    let mut old = base(ground)?;
    merge(
        &mut old,
        &json!({"apiVersion": version, "spec": {"chart": {"version": "^1.0"}, "appRef": {"catalogId": " "}}}),
    );
    instances.create(&PostParams::default(), &serde_json::from_value(old)?).await?;
    let mut without_chart = base(ground)?;
    let held = json!({"name": "held", "finalizers": ["lab.vworkspace.io/held"]});
    merge(&mut without_chart, &json!({"apiVersion": version, "metadata": held, "spec": {"chart": null}}));
    instances.create(&PostParams::default(), &serde_json::from_value(without_chart)?).await?;

    install(ground, &with_rules).await?;
    let probe = json!({"spec": {"chart": {"version": "^2.0"}}});
    // The rules count from a moment on that the API server does not announce.
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
    while instances.patch("shop", &dry_run, &Patch::Merge(&probe)).await.is_ok() {
        ensure!(tokio::time::Instant::now() < deadline, "the rules do not count");
    }
    let change = json!({"metadata": {"annotations": {"seen": "yes"}}, "spec": {"suspend": true}});
    instances
        .patch("shop", &PatchParams::default(), &Patch::Merge(&change))
        .await
        .context("a stored object that breaks a newer rule can no longer be changed elsewhere")?;

    // What a controller does to an object whose spec breaks a rule as a whole: status, then deletion and its finalizer.
    let status = json!({"status": {"observedGeneration": 1}});
    instances.patch_status("held", &PatchParams::default(), &Patch::Merge(&status)).await?;
    instances.delete("held", &DeleteParams::background()).await?;
    let free = json!({"metadata": {"finalizers": null}});
    instances.patch("held", &PatchParams::default(), &Patch::Merge(&free)).await?;
    gone(&instances, KIND, "held").await?;
    let crds = ground.cluster.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    crds.delete(&name_of(&with_rules), &DeleteParams::background()).await?;
    Ok(())
}

/// Under a name of its own, so that it can go again whoever else has installed the policy.
async fn policy(ground: &Ground) -> Result<()> {
    install(ground, &crd()?).await?;
    let text = policy_file("applicationinstances.yaml")?;
    ground.cluster.apply_yaml(&text.replace("vworkspace-applicationinstances", POLICY_NAME)).await?;
    let result = policy_counts(ground).await;
    remove_policy(ground, POLICY_NAME).await?;
    result
}

fn policy_file(name: &str) -> Result<String> {
    let file = paths::workspace().join("charts/vworkspace-operator/files/policies").join(name);
    fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))
}

async fn remove_policy(ground: &Ground, name: &str) -> Result<()> {
    for kind in ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"] {
        let policies = ground.cluster.dynamic("admissionregistration.k8s.io/v1", kind, None);
        policies.delete(name, &DeleteParams::background()).await?;
    }
    Ok(())
}

const POLICY_NAME: &str = "lab-applicationinstances";

async fn policy_counts(ground: &Ground) -> Result<()> {
    let instances = ground.objects(API_VERSION, KIND);
    let mut elsewhere = base(ground)?;
    merge(&mut elsewhere, &json!({"spec": {"release": {"namespace": "elsewhere"}}}));
    let elsewhere: DynamicObject = serde_json::from_value(elsewhere)?;
    // A policy counts from a moment on that the API server does not announce.
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let refusal = loop {
        match instances.create(&dry_run(), &elsewhere).await {
            Err(kube::Error::Api(status)) => break status,
            Err(other) => return Err(other.into()),
            Ok(_) => ensure!(tokio::time::Instant::now() < deadline, "the policy does not count"),
        }
    };
    let expected = format!(
        "spec.release.namespace is 'elsewhere'; expected '{}', the namespace of the instance",
        ground.namespace
    );
    ensure!(refusal.message.ends_with(&expected), "the API server says: {}", refusal.message);
    instances.create(&PostParams::default(), &serde_json::from_value(base(ground)?)?).await?;
    Ok(())
}

const ACCOUNTS_NAME: &str = "lab-service-accounts";
/// What the policy says.
const NO_ACCOUNT: &str = "spec.serviceAccountName is not set, so Flux would install the chart with its own rights, which are \
                          those of a cluster administrator; expected the name of a service account in this namespace, or \
                          tenancy.defaultServiceAccount in the values of the operator's chart";

/// Under a name of its own, and for this namespace only: others have instances without accounts.
async fn accounts(ground: &Ground) -> Result<()> {
    install(ground, &crd()?).await?;
    let result = accounts_count(ground).await;
    remove_policy(ground, ACCOUNTS_NAME).await?;
    result
}

async fn accounts_count(ground: &Ground) -> Result<()> {
    bind_accounts(ground, "[Warn, Audit]").await?;
    is_warned_of(ground).await?;
    // Taken although it is warned of; the others as well, for what may become of them.
    let mut with_account = base(ground)?;
    let apart = json!({"serviceAccountName": "tenant", "release": {"name": "apart"}});
    merge(&mut with_account, &json!({"metadata": {"name": "apart"}, "spec": apart}));
    let mut placeholder = base(ground)?;
    let nothing = json!({"mode": "placeholder", "chart": null, "release": null});
    merge(&mut placeholder, &json!({"metadata": {"name": "promise"}, "spec": nothing}));
    let instances = ground.objects(API_VERSION, KIND);
    for object in [base(ground)?, with_account, placeholder] {
        instances.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    }
    bind_accounts(ground, "[Deny]").await?;
    is_refused(ground).await?;
    for (name, change, is_taken) in ACCOUNT_CHANGES {
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        let change_itself: Value = serde_saphyr::from_str(&change.replace("NAMESPACE", &ground.namespace))?;
        let result = instances.patch(name, &params, &Patch::Merge(&change_itself)).await;
        let told = result.as_ref().err().map(ToString::to_string);
        let is_right = told.as_ref().map_or(*is_taken, |told| !is_taken && told.contains(NO_ACCOUNT));
        ensure!(is_right, "{name}: {change} should be taken: {is_taken}; the API server says: {told:?}");
    }
    Ok(())
}

async fn bind_accounts(ground: &Ground, actions: &str) -> Result<()> {
    let selected = format!(
        "{actions}\n  matchResources: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {}}}}}}}",
        ground.namespace
    );
    let text = policy_file("service-accounts.yaml")?.replace("[Warn, Audit]", &selected);
    let text = text.replace("vworkspace-applicationinstances-service-account", ACCOUNTS_NAME);
    ground.cluster.apply_yaml(&text).await
}

/// Only kubectl shows warnings. A policy counts from a moment on that the API server does not announce.
async fn is_warned_of(ground: &Ground) -> Result<()> {
    let file = ground.cluster.paths.state.join(format!("{ACCOUNTS_NAME}.json"));
    fs::write(&file, base(ground)?.to_string())?;
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let mut kubectl = ground.cluster.tool("kubectl");
        let output = kubectl.args(["create", "--dry-run=server", "--filename"]).arg(&file).output().await?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "an instance without an account is not taken: {said}");
        // Another policy may warn too: the one that the lab's operator has installed.
        if said.lines().any(|line| line.contains(ACCOUNTS_NAME) && line.ends_with(NO_ACCOUNT)) {
            break;
        }
        ensure!(tokio::time::Instant::now() < deadline, "kubectl does not warn, but says: {said}");
    }
    fs::remove_file(&file)?;
    Ok(())
}

async fn is_refused(ground: &Ground) -> Result<()> {
    let mut object = base(ground)?;
    merge(&mut object, &json!({"metadata": {"name": "another"}}));
    let object: DynamicObject = serde_json::from_value(object)?;
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let refusal = loop {
        match ground.objects(API_VERSION, KIND).create(&dry_run(), &object).await {
            Err(kube::Error::Api(status)) => break status,
            Err(other) => return Err(other.into()),
            Ok(_) => ensure!(tokio::time::Instant::now() < deadline, "the policy does not deny"),
        }
    };
    ensure!(refusal.message.ends_with(NO_ACCOUNT), "the API server says: {}", refusal.message);
    Ok(())
}

fn drop_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(drop_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_rules),
        _ => {}
    }
}

/// Applies the CRD and waits until the API server serves it.
pub(super) async fn install(ground: &Ground, crd: &Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(crd.clone())?;
    ground.cluster.apply(&[object]).await?;
    let crds = ground.cluster.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    seen(&crds, "CustomResourceDefinition", &name_of(crd), |data| {
        has_condition(data, "Established", "True") && !has_condition(data, "NonStructuralSchema", "True")
    })
    .await?;
    Ok(())
}

fn name_of(crd: &Value) -> String {
    super::text_at(crd, "/metadata/name").to_owned()
}

pub(super) fn crd() -> Result<Value> {
    let file = paths::workspace()
        .join("charts/vworkspace-operator/files/crds/applicationinstances.apps.vworkspace.io.yaml");
    let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
    let object = cluster::parse(&text)?.into_iter().next().context("the CRD's file is empty")?;
    Ok(serde_json::to_value(object)?)
}

fn examples() -> Result<Vec<PathBuf>> {
    let folder = paths::workspace().join("docs/examples/applicationinstance");
    let entries = fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    ensure!(!files.is_empty(), "{} is empty", folder.display());
    Ok(files)
}

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

/// An object without fault, of which each case breaks one thing.
fn base(ground: &Ground) -> Result<Value> {
    Ok(serde_saphyr::from_str(&BASE.replace("NAMESPACE", &ground.namespace))?)
}

/// A JSON merge patch: null removes.
pub(super) fn merge(into: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *into = change.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let Value::Object(into) = into else { return };
    for (name, value) in change {
        if value.is_null() {
            into.remove(name);
        } else {
            merge(into.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
