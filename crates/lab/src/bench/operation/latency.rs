//! How long it takes from a new operation to its Job, and from the end of the Job to that of the operation, against one raw
//! write. One in flight, interleaved, until this program's own watch shows the result.

use anyhow::{Context, Result};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use super::commands::{self, Command, phase};
use super::jobs;
use crate::bench::eyes::{Eyes, Took};
use crate::bench::instances::{self, Which, apply};
use crate::bench::ratio::Pair;
use crate::bench::results::Row;
use crate::bench::workbench::Workbench;

pub(super) const PREFIX: &str = "command";
/// The instances that are worked on in turn.
const TARGETS: usize = 20;
const AGAINST: &str = "raw writes";

struct Stage<'a> {
    bench: &'a Workbench,
    jobs: Api<DynamicObject>,
    seen_jobs: Eyes,
    seen_operations: Eyes,
    /// The body of a Job that the operator made.
    template: Value,
}

#[derive(Default)]
struct Samples {
    /// Beside a raw creation, which is how the operator makes a Job.
    created: Pair,
    /// The same beside a raw apply.
    applied: Pair,
    /// From the moment when the API server had the end of the Job.
    finished: Pair,
    /// The same from the moment when it was sent.
    finishing: Pair,
}

/// What raw writes took.
struct Raw {
    created: Took,
    applied: Took,
    finished: Took,
}

pub(super) async fn measure(bench: &Workbench, samples: usize) -> Result<Vec<Row>> {
    bench.clear(PREFIX).await?;
    let targets = instances::numbered(PREFIX, 0, TARGETS);
    let operator = commands::with_targets(bench, PREFIX, &targets).await?;
    let held = jobs::without_controllers(&bench.cluster)?;
    let samples = Stage::prepare(bench, &targets).await?.sample(&targets, samples).await?;
    operator.stop().await?;
    drop(held);
    bench.clear(PREFIX).await?;
    Ok(samples.rows())
}

impl Samples {
    fn rows(&self) -> Vec<Row> {
        let created = self.created.rows("new operation to its Job", AGAINST, [4.0, 6.0]);
        let applied = self.applied.rows("", "", [4.0, 6.0]);
        let finished = self.finished.rows("finished Job to finished operation", AGAINST, [2.0, 4.0]);
        let finishing = self.finishing.rows("", "", [2.0, 4.0]);
        let also = |rows: Vec<Row>, others: Vec<Row>, how: &str| {
            let both = rows.into_iter().zip(others);
            let also = |(row, other): (Row, Row)| {
                let detail = format!("{}; {how} {:.2} x", row.detail, other.measured);
                row.because(detail)
            };
            both.map(also).collect::<Vec<_>>()
        };
        [
            also(created, applied, "against raw applies of the same"),
            also(finished, finishing, "from the request that ends the Job"),
        ]
        .concat()
    }
}

impl<'a> Stage<'a> {
    async fn prepare(bench: &'a Workbench, targets: &[Which]) -> Result<Self> {
        let namespace = targets.first().map(|which| which.namespace.as_str());
        let jobs = jobs::of(&bench.cluster, namespace);
        let seen_operations = Eyes::on(commands::of(&bench.cluster, namespace));
        let (seen_jobs, template) = (Eyes::on(jobs.clone()), Value::Null);
        let mut stage = Self { bench, jobs, seen_jobs, seen_operations, template };
        // The first one also makes the account that commands run under.
        let first = Command::on(targets.first().context("no targets")?, 0);
        let (_, job) = stage.run(&first).await?;
        stage.template = jobs::raw_copy(&job)?;
        Ok(stage)
    }

    async fn sample(mut self, targets: &[Which], samples: usize) -> Result<Samples> {
        let mut all = Samples::default();
        for (number, target) in (1..=samples).zip(targets.iter().cycle()) {
            let raw = self.raw(number).await?;
            all.created.raw.push(raw.created.from_request);
            all.applied.raw.push(raw.applied.from_request);
            all.finished.raw.push(raw.finished.from_request);
            all.finishing.raw.push(raw.finished.from_request);
            let ((created, finished), _) = self.run(&Command::on(target, number)).await?;
            all.created.ours.push(created.from_request);
            all.applied.ours.push(created.from_request);
            all.finished.ours.push(finished.from_answer);
            all.finishing.ours.push(finished.from_request);
        }
        Ok(all)
    }

    /// The bench's own Jobs, which are nobody's: one is created, one applied, and both end.
    async fn raw(&mut self, number: usize) -> Result<Raw> {
        let jobs = self.jobs.clone();
        let (name, other) = (format!("raw-{number}"), format!("raw-applied-{number}"));
        let body = serde_json::from_value(self.named(&name))?;
        let request = async { Ok(jobs.create(&PostParams::default(), &body).await.map(|_| ())?) };
        let (created, _) = self.seen_jobs.timed(request, |job| job.name_any() == name).await?;
        let body = self.named(&other);
        let request = async { apply(&jobs, &other, &body).await.map(|_| ()) };
        let (applied, _) = self.seen_jobs.timed(request, |job| job.name_any() == other).await?;
        let is_over = |job: &DynamicObject| job.name_any() == name && jobs::is_finished(job);
        let (finished, _) = self.seen_jobs.timed(jobs::finish(&jobs, &name), is_over).await?;
        jobs::finish(&jobs, &other).await?;
        Ok(Raw { created, applied, finished })
    }

    fn named(&self, name: &str) -> Value {
        let mut body = self.template.clone();
        if let Some(place) = body.pointer_mut("/metadata/name") {
            *place = json!(name);
        }
        body
    }

    /// An operation, from its creation until nothing is left to do for it.
    async fn run(&mut self, command: &Command) -> Result<((Took, Took), DynamicObject)> {
        let cluster = self.bench.cluster.clone();
        let request = async { command.create(&cluster).await.map(|_| ()) };
        let begins = format!("{}-", command.name);
        let is_its = |job: &DynamicObject| job.name_any().starts_with(&begins);
        let (created, job) = self.seen_jobs.timed(request, is_its).await?;
        let is_it = |operation: &DynamicObject| operation.name_any() == command.name;
        self.seen_operations.until(|operation| is_it(operation) && knows_its_job(operation)).await?;
        let (jobs, name) = (self.jobs.clone(), job.name_any());
        let is_over = |operation: &DynamicObject| is_it(operation) && phase(operation) == Some("Succeeded");
        let (finished, operation) = self.seen_operations.timed(jobs::finish(&jobs, &name), is_over).await?;
        if !operation.finalizers().is_empty() {
            let is_let_go = |operation: &DynamicObject| is_it(operation) && operation.finalizers().is_empty();
            self.seen_operations.until(is_let_go).await?;
        }
        Ok(((created, finished), job))
    }
}

/// Whether the operator has said that it sees the Job: until the Job ends, there is nothing more to say.
fn knows_its_job(operation: &DynamicObject) -> bool {
    operation.data.pointer("/status/engineRef/uid").is_some_and(Value::is_string)
}
