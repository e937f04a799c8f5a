//! The example of the kit, run as a process: a kind of its own, whose children live in another namespace.

use std::fs::File;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::{Ground, Scenario, gone, seen};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "example_of_the_kit_keeps_children_in_another_namespace_and_adopts_nobody_elses",
    needs: &[],
    // It runs beside the cluster.
    needs_node: true,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

const API: &str = "example.org/v1";
const KIND: &str = "Notice";

async fn run(ground: &Ground) -> Result<()> {
    let (program, board) = (program()?, format!("{}-board", ground.namespace));
    let crd = Command::new(&program).arg("crd").output().await.context("failed to run the example")?;
    let owner = serde_json::to_value(ground.namespace_as_owner().await?)?;
    let mut crd: Value = serde_json::from_slice(&crd.stdout)?;
    let meta =
        crd.pointer_mut("/metadata").and_then(Value::as_object_mut).context("a CRD without metadata")?;
    meta.insert("ownerReferences".to_owned(), json!([owner]));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": board, "ownerReferences": [owner]}});
    ground.apply(&format!("{crd}\n---\n{namespace}")).await?;
    let operator = start(ground, &program)?;
    let kept = keeps(ground, &board).await;
    // Whatever the outcome: a notice that is held would hold the namespace.
    for notice in notices(ground).list(&kube::api::ListParams::default()).await?.items {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        notices(ground).patch(&notice.name_any(), &PatchParams::default(), &free).await?;
    }
    drop(operator);
    kept
}

async fn keeps(ground: &Ground, board: &str) -> Result<()> {
    let copies = ground.cluster.dynamic("v1", "ConfigMap", Some(board));
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken", "namespace": board},
        "data": {"text": "theirs"}});
    ground.apply(&theirs.to_string()).await?;
    for (name, text) in [("first", "a"), ("second", "b"), ("taken", "c")] {
        ground.apply(&notice(name, board, text)).await?;
    }
    for (name, text) in [("first", "a"), ("second", "b")] {
        seen(&copies, "ConfigMap", name, has_text(text)).await?;
        ground.until(API, KIND, name, says("Published")).await?;
    }
    // In the lane of its board it does not hold up the others, and what belongs to somebody else stays so.
    ground.apply(&notice("first", board, "changed")).await?;
    seen(&copies, "ConfigMap", "first", has_text("changed")).await?;
    ensure!(has_text("theirs")(&copies.get("taken").await?.data), "a ConfigMap of somebody else was changed");

    // Somebody who takes a child away gets it back: it is about a notice in another namespace.
    copies.delete("second", &DeleteParams::default()).await?;
    seen(&copies, "ConfigMap", "second", has_text("b")).await?;
    for name in ["first", "second", "taken"] {
        ground.delete(API, KIND, name).await?;
    }
    gone(&copies, "ConfigMap", "first").await?;
    ensure!(
        has_text("theirs")(&copies.get("taken").await?.data),
        "a ConfigMap of somebody else was taken away"
    );
    Ok(())
}

fn notices(ground: &Ground) -> Api<DynamicObject> {
    ground.objects(API, KIND)
}

fn notice(name: &str, board: &str, text: &str) -> String {
    json!({"apiVersion": API, "kind": KIND, "metadata": {"name": name, "namespace": "NAMESPACE"},
        "spec": {"board": board, "text": text}})
    .to_string()
}

fn has_text(text: &str) -> impl Fn(&Value) -> bool {
    move |data| data.pointer("/data/text").and_then(Value::as_str) == Some(text)
}

fn says(word: &str) -> impl Fn(&Value) -> bool {
    move |data| {
        let is_counted =
            data.pointer("/status/sequence").and_then(Value::as_i64).is_some_and(|known| known > 1);
        is_counted && data.pointer("/status/says").and_then(Value::as_str) == Some(word)
    }
}

/// It was built together with this program.
fn program() -> Result<std::path::PathBuf> {
    let this = std::env::current_exe()?;
    Ok(this.parent().context("this program is in no folder")?.join("examples/notice"))
}

/// Runs until it is dropped.
fn start(ground: &Ground, program: &std::path::Path) -> Result<Child> {
    let log = File::create(ground.cluster.paths.state.join("example.log"))?;
    Command::new(program)
        .env("KUBECONFIG", &ground.cluster.kubeconfig)
        .env("NAMESPACE", &ground.namespace)
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("failed to start the example")
}
