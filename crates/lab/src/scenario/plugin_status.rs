//! `kubectl vworkspace`, as a user types it, on live objects.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::time::timeout;

use super::{DEADLINE, Ground, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "kubectl_vworkspace_tells_what_a_live_object_lacks_waits_for_it_and_sees_it_go",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(&WEB.replace("IMAGE", "lab.local/not-there:1")).await?;
    let not_yet = plugin(ground, &["status", "deploy/web", "--wait", "--timeout=5s", "-o", "json"]).await?;
    ensure!(not_yet.status.code() == Some(1), "a Deployment without an image: {}", told(&not_yet));
    let [object] = objects(&not_yet)?.try_into().map_err(|all| anyhow::anyhow!("not one object: {all:?}"))?;
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let what = (field("kind"), field("name"), field("status"), field("message"));
    ensure!(what == ("Deployment", "web", "InProgress", "Available: 0/1"), "the plugin says {what:?}");

    ground.apply(&WEB.replace("IMAGE", "lab.local/busybox:1")).await?;
    let current = plugin(ground, &["status", "deploy/web", "--wait", "--timeout=2m"]).await?;
    ensure!(current.status.success(), "a Deployment that was mended: {}", told(&current));

    let gone = ["status", "deploy/web", "--wait=NotFound", "--timeout=2m"];
    let (deleted, seen) = tokio::join!(ground.delete("apps/v1", "Deployment", "web"), plugin(ground, &gone));
    deleted?;
    let seen = seen?;
    ensure!(seen.status.success(), "a Deployment that was deleted: {}", told(&seen));

    let explained = plugin(ground, &["explain", "appinst", "Blocked", "MissingSecret"]).await?;
    ensure!(
        explained.status.success() && told(&explained).contains("How to resolve it"),
        "{}",
        told(&explained)
    );
    Ok(())
}

/// Runs the plugin through kubectl, which finds it on the PATH.
pub(super) async fn plugin(ground: &Ground, arguments: &[&str]) -> Result<Output> {
    let program = std::env::current_exe()?;
    let folder = program.parent().context("this program is in no folder")?.display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut kubectl = ground.cluster.tool("kubectl");
    kubectl.arg("vworkspace").args(arguments).env("PATH", format!("{folder}:{path}"));
    if arguments.first() == Some(&"status") {
        kubectl.args(["--namespace", &ground.namespace]);
    }
    let ended = timeout(DEADLINE, kubectl.output()).await;
    Ok(ended.with_context(|| format!("kubectl vworkspace {arguments:?} does not end"))??)
}

pub(super) fn objects(output: &Output) -> Result<Vec<Value>> {
    serde_json::from_slice(&output.stdout).with_context(|| format!("no JSON array: {}", told(output)))
}

pub(super) fn told(output: &Output) -> String {
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    format!("{}: {}", output.status, String::from_utf8_lossy(&said))
}

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: web
        image: IMAGE
        imagePullPolicy: Never
        command: [sleep, '1000000']
";
