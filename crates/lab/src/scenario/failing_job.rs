//! The Job controller: what it says of work that fails.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::{Ground, Scenario};
use crate::diagnosis;
use crate::readiness::has_condition;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_failing_job_is_tried_again_until_it_reaches_its_backoff_limit",
    needs: &[],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(JOB).await?;
    let has_ended =
        |data: &Value| has_condition(data, "Failed", "True") || has_condition(data, "Complete", "True");
    let job = ground.until("batch/v1", "Job", "breaks", has_ended).await?;
    let state = diagnosis::state_of(&job.data);
    ensure!(state.contains("Failed=True/BackoffLimitExceeded"), "Job breaks ended otherwise: {state}");
    let failed = job.data.pointer("/status/failed").and_then(Value::as_i64);
    ensure!(
        failed == Some(2),
        "Job breaks counts {failed:?} failed pods, not the first and one more: {state}"
    );
    let pods: Api<Pod> = Api::namespaced(ground.cluster.client.clone(), &ground.namespace);
    let pods = pods.list(&ListParams::default().labels("batch.kubernetes.io/job-name=breaks")).await?;
    let phases: Vec<_> = pods.into_iter().filter_map(|pod| pod.status?.phase).collect();
    ensure!(phases == ["Failed", "Failed"], "the pods of Job breaks are {phases:?}");
    Ok(())
}

const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: breaks, namespace: NAMESPACE}
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: breaks
        image: lab.local/busybox:1
        command: [sh, -c, echo this is meant to fail; exit 7]
";
