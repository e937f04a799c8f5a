//! Argo Workflows, run by an account with the least rights: what one that works and one that breaks say of themselves.

use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use serde_json::Value;

use super::{Ground, Scenario, text_at};

pub(super) const SUCCEEDS: Scenario = Scenario {
    name: "a_workflow_of_two_steps_succeeds_and_hands_the_first_result_to_the_second",
    needs: &["argo"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(succeeds(ground)),
};

pub(super) const FAILS: Scenario = Scenario {
    name: "a_workflow_with_a_failing_step_fails_names_the_step_and_stops_there",
    needs: &["argo"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(fails(ground)),
};

async fn succeeds(ground: &Ground) -> Result<()> {
    let workflow = ended(ground, "passes-on", PASSES_ON).await?;
    let told = tell(&workflow.data);
    ensure!(text_at(&workflow.data, "/status/phase") == "Succeeded", "{told}");
    for (step, result) in [("first", "hello"), ("second", "hello again")] {
        let node = node(&workflow.data, step).with_context(|| format!("step {step} did not run; {told}"))?;
        ensure!(text_at(node, "/phase") == "Succeeded", "{told}");
        let value = text_at(node, "/outputs/parameters/0/value");
        ensure!(value == result, "step {step} returned '{value}', not '{result}'; {told}");
    }
    Ok(())
}

async fn fails(ground: &Ground) -> Result<()> {
    let workflow = ended(ground, "breaks", BREAKS).await?;
    let told = tell(&workflow.data);
    ensure!(text_at(&workflow.data, "/status/phase") == "Failed", "{told}");
    let step = node(&workflow.data, "first").with_context(|| format!("step first did not run; {told}"))?;
    let (phase, message) = (text_at(step, "/phase"), text_at(step, "/message"));
    ensure!(
        phase == "Failed" && message.contains("exit code 3"),
        "step first should fail with exit code 3; {told}"
    );
    ensure!(node(&workflow.data, "second").is_none(), "step second ran after the first had failed; {told}");
    Ok(())
}

/// The Workflow once it is over, however it went.
async fn ended(ground: &Ground, name: &str, manifest: &str) -> Result<DynamicObject> {
    ground.apply(ACCOUNT).await?;
    ground.apply(manifest).await?;
    let is_over = |data: &Value| matches!(text_at(data, "/status/phase"), "Succeeded" | "Failed" | "Error");
    ground.until("argoproj.io/v1alpha1", "Workflow", name, is_over).await
}

/// The pod of a step.
fn node<'a>(workflow: &'a Value, step: &str) -> Option<&'a Value> {
    nodes(workflow).find(|node| text_at(node, "/type") == "Pod" && text_at(node, "/displayName") == step)
}

fn nodes(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow.pointer("/status/nodes").and_then(Value::as_object).into_iter().flat_map(|nodes| nodes.values())
}

/// For a person: how the Workflow and each of its steps ended. Its own message only names a generated child.
fn tell(workflow: &Value) -> String {
    let said =
        |data: &Value| format!("{} {}", text_at(data, "/phase"), text_at(data, "/message")).trim().to_owned();
    let status = workflow.get("status").map(said).unwrap_or_default();
    let steps = nodes(workflow).filter(|node| text_at(node, "/type") == "Pod");
    let steps: Vec<_> =
        steps.map(|node| format!("step {}: {}", text_at(node, "/displayName"), said(node))).collect();
    format!("the Workflow is {status} ({})", steps.join("; "))
}

const ACCOUNT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: argo-runner}
subjects: [{kind: ServiceAccount, name: runner, namespace: NAMESPACE}]
";

const PASSES_ON: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: passes-on, namespace: NAMESPACE}
spec:
  serviceAccountName: runner
  entrypoint: both
  templates:
  - name: both
    steps:
    - - name: first
        template: say
        arguments: {parameters: [{name: words, value: hello}]}
    - - name: second
        template: say
        arguments: {parameters: [{name: words, value: '{{steps.first.outputs.parameters.said}} again'}]}
  - name: say
    inputs: {parameters: [{name: words}]}
    container:
      image: lab.local/busybox:1
      command: [sh, -c, 'echo -n \"{{inputs.parameters.words}}\" > /tmp/said']
    outputs: {parameters: [{name: said, valueFrom: {path: /tmp/said}}]}
";

const BREAKS: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: breaks, namespace: NAMESPACE}
spec:
  serviceAccountName: runner
  entrypoint: both
  templates:
  - name: both
    steps:
    - - {name: first, template: break}
    - - {name: second, template: break}
  - name: break
    container:
      image: lab.local/busybox:1
      command: [sh, -c, echo this is meant to fail; exit 3]
";
