//! What the published troubleshooting guide tells people to type about operations, exactly as it prints it, each in the
//! situation that it is for. Left out: `WorkflowFailed`, as long as no template of that engine can run.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use vworkspace_api::operation::{Engine, TEMPLATES};

use super::super::application::instance::named;
use super::super::own_object::OwnObject;
use super::super::shell::Shell;
use super::super::{Ground, Scenario};
use super::{backup, command, explained, scenario, target};

pub(in super::super) const SCENARIO: Scenario = Scenario {
    needs: &["flux", "operator", "velero"],
    ..scenario("operation_troubleshooting_the_commands_of_the_guide_show_what_it_promises", |ground| {
        Box::pin(run(ground))
    })
};

async fn run(ground: &Ground) -> Result<()> {
    workflows_are_for_later()?;
    let mut shell = Shell::of(ground)?;
    let mut shop = target(ground).await?;
    target_not_ready(ground, &mut shell).await?;
    capability_missing(ground, &mut shell, &mut shop).await?;
    conflicting_operation(ground, &mut shell).await?;
    job_failed(ground, &mut shell).await?;
    timeout(ground, &mut shell).await?;
    shop.annotate("ops.vworkspace.io/backup", Some("velero")).await?;
    velero_backup_failed(ground, &mut shell).await
}

/// The guide's commands for it are `kubectl get workflow -n <ns>`, `kubectl describe workflow -n <ns> <name>` and
/// `kubectl logs -n <ns> <pod-of-failing-node>`.
fn workflows_are_for_later() -> Result<()> {
    let runs = TEMPLATES.iter().find(|template| template.engine == Engine::Workflow && template.is_supported);
    ensure!(
        runs.is_none(),
        "a workflow can run now: type here what the guide says about WorkflowFailed, in its situation"
    );
    Ok(())
}

/// Operation.status.conditions[Blocked]=True, reason TargetNotReady
async fn target_not_ready(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    // The lab has no such application.
    let mut store = named(ground, "store", "store").with("appRef: {catalogId: seaweedfs}").applied().await?;
    store.annotate("ops.vworkspace.io/runcommand", Some("job")).await?;
    let waits = command(ground, "waits", "exit 0").with("targetRef: {name: store}").applied().await?;
    waits.says("Blocked", "True/TargetNotReady").await?;
    // Read the target's status (the ApplicationInstance symptoms).
    shell.fill("<name>", "store");
    let status = "kubectl get applicationinstance -n <ns> <name> -o yaml | grep -A40 status:";
    shell.shows(status, &["MissingDependencies", "type: Ready"]).await?;
    explained::works(shell, &waits, "TargetNotReady", &["Name:         store", "MissingDependencies"])
        .await?;
    // Or set Operation.spec.policy.requireReady: false.
    shell.fill("<name>", "waits");
    let anyway = "kubectl patch operation -n <ns> <name> --type merge -p '{\"spec\": {\"policy\": {\"requireReady\": false}}}'";
    shell.shows(anyway, &["patched"]).await?;
    waits.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await
}

/// Operation.status.conditions[Blocked]=True, reason CapabilityMissing
async fn capability_missing(ground: &Ground, shell: &mut Shell<'_>, shop: &mut OwnObject<'_>) -> Result<()> {
    shop.annotate("ops.vworkspace.io/runcommand", Some("workflow")).await?;
    let unable = command(ground, "unable", "exit 0").applied().await?;
    unable.says("Blocked", "True/CapabilityMissing").await?;
    shell.fill("<name>", "shop");
    let annotations = "kubectl get applicationinstance -n <ns> <name> -o jsonpath='{.metadata.annotations}'";
    shell.shows(annotations, &["\"ops.vworkspace.io/runcommand\":\"workflow\""]).await?;
    explained::works(shell, &unable, "CapabilityMissing", &["runcommand\":\"workflow\"", "engine: job"])
        .await?;
    // Add the capability annotation.
    shop.annotate("ops.vworkspace.io/runcommand", Some("job")).await?;
    unable.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await
}

/// Operation.status.conditions[Blocked]=True, reason ConflictingOperation
async fn conflicting_operation(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let alone = "policy: {exclusive: true}";
    let first =
        command(ground, "hangs", "trap 'exit 0' TERM; sleep 600 & wait").with(alone).applied().await?;
    first.says("Running", "True/EngineStarted").await?;
    let second = command(ground, "blocked", "exit 0").with(alone).applied().await?;
    second.says("Blocked", "True/ConflictingOperation").await?;

    let columns = ["PHASE", "REASON", "TYPE", "ENGINE", "TARGET", "DURATION", "AGE"];
    let table = shell.shows("kubectl get operations -n <ns>", &columns).await?;
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    ensure!(
        row("hangs").contains("Running") && row("blocked").contains("ConflictingOperation"),
        "kubectl get operations does not tell who runs and who waits: {table}"
    );
    let running = "kubectl get operations -A -o json | jq '.items[] | select(.status.phase==\"Running\")'";
    let shown = shell.shows(running, &["\"name\": \"hangs\"", "\"phase\": \"Running\""]).await?;
    ensure!(!shown.contains("\"name\": \"blocked\""), "`{running}` shows one that waits: {shown}");
    explained::works(shell, &second, "ConflictingOperation", &["ConflictingOperation", "\"hangs\""]).await?;

    // Cancel it if it is stuck and safe to cancel. The Blocked condition clears automatically.
    shell.fill("<name>", "hangs");
    shell.shows("kubectl delete operation/<name>", &["deleted"]).await?;
    first.is_gone().await?;
    second.says_all(&[("Succeeded", "True/EngineCompleted"), ("Blocked", "False/Unblocked")]).await
}

/// Operation.status.conditions[Failed]=True, reason JobFailedBackoffExceeded
async fn job_failed(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let breaks = command(ground, "breaks", "echo the host is away; exit 7")
        .with("parameters: {backoffLimit: 1}")
        .applied()
        .await?;
    breaks.says("Failed", "True/JobFailedBackoffExceeded").await?.naming("exit code 7")?;
    shell.fill("<uid>", &breaks.read().await?.uid().context("the operation has no uid")?);
    let pods = "kubectl get pods -n <ns> -l ops.vworkspace.io/operation=<uid>";
    let listed = shell.shows(pods, &["breaks-", "Error"]).await?;
    ensure!(listed.matches("breaks-").count() == 2, "`{pods}` does not list both attempts: {listed}");
    let logs = "kubectl logs -n <ns> -l ops.vworkspace.io/operation=<uid> --previous --tail=200";
    let previous = shell.runs(logs).await?;
    if previous.code != Some(0) {
        // Each attempt is a pod of its own, which never restarts.
        previous.says("previous terminated container")?;
        shell.shows(&logs.replace(" --previous", ""), &["the host is away"]).await?;
    } else {
        previous.says("the host is away")?;
    }
    // The Pod's last terminated.exitCode.
    shell.shows(&format!("{pods} -o yaml"), &["exitCode: 7"]).await?;
    let promised = ["breaks-", "the host is away", "\"exitCode\":7"];
    explained::works(shell, &breaks, "JobFailedBackoffExceeded", &promised).await
}

/// Operation.status.conditions[Failed]=True, reason Timeout, which the guide does not have.
async fn timeout(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let slow =
        command(ground, "slow", "trap 'exit 0' TERM; sleep 600 & wait").with("timeout: 5s").applied().await?;
    slow.says("Failed", "True/Timeout").await?;
    explained::works(shell, &slow, "Timeout", &["spec.timeout (5s)"]).await
}

/// Operation.status.conditions[Failed]=True, reason VeleroBackupFailed
async fn velero_backup_failed(ground: &Ground, shell: &mut Shell<'_>) -> Result<()> {
    let again = backup::fails(ground).await?;
    shell.fill("<operation-name>", &again.name);
    shell.shows("kubectl get backup -n velero", &[&again.name]).await?;
    // The Velero Backup's status.failureReason is the canonical source.
    let describe = "kubectl describe backup -n velero <operation-name>";
    shell.shows(describe, &["Failure Reason:", "already exists in object storage"]).await?;
    shell.shows("kubectl logs -n velero deploy/velero --tail=200", &[&again.name]).await?;
    let promised = ["Failure Reason:", "already exists in object storage", "default"];
    explained::works(shell, &again, "VeleroBackupFailed", &promised).await
}
