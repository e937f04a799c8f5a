//! A command that is run as a Job: it ends well, badly, late, or not at all.

use anyhow::{Result, ensure};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::application::approval::approve;
use super::super::own_object::OwnObject;
use super::super::{Ground, Scenario, gone, text_at};
use super::{at, command, job_of, scenario, target};

pub(in super::super) const SCENARIO: Scenario =
    scenario("operation_command_runs_once_in_a_restricted_pod_and_its_end_is_recorded_for_good", |ground| {
        Box::pin(run(ground))
    });

async fn run(ground: &Ground) -> Result<()> {
    let _shop = target(ground).await?;
    tokio::try_join!(
        succeeds(ground),
        fails(ground),
        is_stopped_in_time(ground),
        loses_its_job(ground),
        cannot_start(ground),
        does_not_take_over(ground)
    )?;
    Ok(())
}

async fn succeeds(ground: &Ground) -> Result<()> {
    let check = command(ground, "check", "id -u; touch /tmp/x; echo token=abc; exit 0")
        .with("policy: {captureLogs: true}")
        .applied()
        .await?;
    check
        .says_all(&[
            ("Accepted", "True/AdmissionPassed"),
            ("Running", "False/EngineFinished"),
            ("Succeeded", "True/EngineCompleted"),
            ("Failed", "False/NotFailed"),
            ("Cancelled", "False/NotCancelled"),
            ("Blocked", "False/NotBlocked"),
        ])
        .await?;
    check.kubectl_wait("Succeeded").await?;
    check.plugin_status("Current").await?;
    let ended = check.read().await?;
    ensure!(*at(&ended, "/status/outputs/exitCode") == 0, "outputs: {}", at(&ended, "/status/outputs"));
    let lines = at(&ended, "/status/outputs/lastLines");
    ensure!(*lines == json!(["65532", "token=***"]), "the last lines of the log are others: {lines}");
    ensure!(
        text_at(&ended.data, "/status/logsRef/kind") == "Pod",
        "logsRef: {}",
        at(&ended, "/status/logsRef")
    );
    ensure!(!ended.metadata.finalizers.iter().flatten().any(|_| true), "a finished operation is still held");
    let job = job_of(&check).await?;
    ensure!(
        text_at(&job.data, "/spec/template/spec/serviceAccountName") == "vworkspace-operation-runner",
        "the Job runs in another name: {}",
        at(&job, "/spec/template/spec")
    );
    nothing_changes_what_has_ended(ground, &check, &job.metadata.name.unwrap_or_default()).await
}

/// Its Job goes, its target goes, its spec changes: not a word changes, and nothing is started.
async fn nothing_changes_what_has_ended(ground: &Ground, check: &OwnObject<'_>, job: &str) -> Result<()> {
    let before = check.read().await?;
    let jobs = ground.objects("batch/v1", "Job");
    jobs.delete(job, &DeleteParams::foreground()).await?;
    gone(&jobs, "Job", job).await?;
    let ttl = Patch::Merge(json!({"spec": {"ttlAfterFinished": "1h"}}));
    check.api().patch(&check.name, &PatchParams::default(), &ttl).await?;
    let after =
        check.until(|now| at(now, "/status/observedGeneration").as_i64() == now.metadata.generation).await?;
    for field in
        ["phase", "reason", "message", "outputs", "outcomeDigest", "startedAt", "finishedAt", "engineRef"]
    {
        let pointer = format!("/status/{field}");
        ensure!(at(&before, &pointer) == at(&after, &pointer), "status.{field} has changed after the end");
    }
    let left = jobs.get_opt(job).await?;
    ensure!(left.is_none(), "Job {job} was made again");
    let other = Patch::Merge(json!({"spec": {"parameters": {"image": "other"}}}));
    let refused = check.api().patch(&check.name, &PatchParams::default(), &other).await;
    ensure!(
        refused.as_ref().is_err_and(|error| error.to_string().contains("spec.parameters")),
        "another image was taken: {refused:?}"
    );
    Ok(())
}

async fn fails(ground: &Ground) -> Result<()> {
    let breaks = command(ground, "breaks", "echo password=hunter2 is wrong; exit 7")
        .with("policy: {captureLogs: true}")
        .applied()
        .await?;
    breaks.says("Failed", "True/JobFailedBackoffExceeded").await?.naming("exit code 7")?;
    breaks.says("Running", "False/EngineFinished").await?;
    breaks.kubectl_wait("Failed").await?;
    breaks.plugin_status("Failed").await?;
    let ended = breaks.read().await?;
    ensure!(*at(&ended, "/status/outputs/exitCode") == 7, "outputs: {}", at(&ended, "/status/outputs"));
    let lines = at(&ended, "/status/outputs/lastLines").to_string();
    ensure!(lines.contains("is wrong"), "the last lines of the log are not in the outputs: {lines}");
    ensure!(!lines.contains("hunter2"), "a password is in the outputs: {lines}");
    Ok(())
}

/// The timeout is ours: the pod is really stopped, and only then it is over.
async fn is_stopped_in_time(ground: &Ground) -> Result<()> {
    let slow =
        command(ground, "slow", "trap 'exit 0' TERM; sleep 600 & wait").with("timeout: 6s").applied().await?;
    slow.has_said("Running", "True/EngineStarted").await?;
    slow.says("Failed", "True/Timeout").await?.naming("spec.timeout (6s)")?;
    slow.says("Running", "False/EngineFinished").await?;
    slow.kubectl_wait("Failed").await?;
    slow.plugin_status("Failed").await?;
    let ended = slow.read().await?;
    let jobs = ground.objects("batch/v1", "Job");
    let job = text_at(&ended.data, "/status/engineRef/name");
    ensure!(jobs.get_opt(job).await?.is_none(), "Job {job} still runs although the operation has ended");
    Ok(())
}

/// Somebody deletes the Job: nobody knows what it did, and it is not made again.
async fn loses_its_job(ground: &Ground) -> Result<()> {
    let lost = command(ground, "lost", "trap 'exit 0' TERM; sleep 600 & wait").applied().await?;
    lost.says("Running", "True/EngineStarted").await?;
    let job = job_of(&lost).await?.metadata.name.unwrap_or_default();
    let jobs = ground.objects("batch/v1", "Job");
    jobs.delete(&job, &DeleteParams::foreground()).await?;
    lost.says("Failed", "True/EngineFailed").await?.naming("is gone, and its end was not seen")?;
    ensure!(jobs.get_opt(&job).await?.is_none(), "Job {job} was made again");
    Ok(())
}

/// The image does not exist: the engine never begins, and says why. The way out is the end.
async fn cannot_start(ground: &Ground) -> Result<()> {
    let stuck = command(ground, "stuck", "exit 0")
        .with("parameters: {image: 'lab.local/no-such-image:1'}")
        .applied()
        .await?;
    stuck.says("Running", "False/EngineNotStarted").await?;
    let names_it = |message: &Value| message.as_str().is_some_and(|text| text.contains("no-such-image"));
    stuck.until(|now| names_it(at(now, "/status/message"))).await?;
    stuck.plugin_status("InProgress").await?;
    let cancel = Patch::Merge(json!({"spec": {"cancel": true}}));
    stuck.api().patch("stuck", &PatchParams::default(), &cancel).await?;
    stuck.says("Cancelled", "True/UserCancelled").await?;
    Ok(())
}

/// A Job of that name is somebody else's: it is left alone, and the operation begins when it is gone.
async fn does_not_take_over(ground: &Ground) -> Result<()> {
    let late = command(ground, "late", "exit 0").with("{approvals: {required: true}}").applied().await?;
    late.says("Blocked", "True/AwaitingApproval").await?;
    let uid = late.read().await?.metadata.uid.unwrap_or_default();
    let name = format!("late-{}", uid.get(..8).unwrap_or_default());
    ground.apply(&FOREIGN_JOB.replace("JOB", &name)).await?;
    let claim = approve(ground, &late).await?;
    let claim = Patch::Merge(json!({"spec": {"approvals": {"claim": claim}}}));
    late.api().patch("late", &PatchParams::default(), &claim).await?;
    late.says("Running", "False/EngineNotStarted").await?.naming("belongs to nobody")?;
    ground.delete("batch/v1", "Job", &name).await?;
    late.says("Succeeded", "True/EngineCompleted").await?;
    Ok(())
}

const FOREIGN_JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: JOB, namespace: NAMESPACE}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: theirs, image: 'lab.local/busybox:1'}]
";
