//! Job.

use crate::object::{Count, Object};
use crate::outcome::Outcome;

/// A Job counts as current as soon as it runs.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    finished(object).unwrap_or_else(|| running(object))
}

fn finished<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let suspend = object.spec.field("spec.suspend");
    object.conditions.iter().filter(|entry| entry.status == "True").find_map(|entry| match entry.kind {
        "Complete" => {
            let done = object.status.field("status.succeeded").count(0);
            let message = format!("Job Completed. succeeded: {}/{}", done.value, completions(object).value);
            Some(Outcome::current(message, [entry.evidence("status")]))
        }
        "Failed" => {
            let failed = object.status.field("status.failed").count(0);
            let message = format!("Job Failed. failed: {}/{}", failed.value, completions(object).value);
            Some(Outcome::failed("JobFailed", message, [entry.evidence("status")]))
        }
        // Both must say so: after a resume the condition lags behind.
        "Suspended" if suspend.flag() => {
            Some(Outcome::current("Job is suspended", [entry.evidence("status"), suspend.evidence()]))
        }
        _ => None,
    })
}

fn completions<'a>(object: &Object<'a>) -> Count<'a> {
    let parallelism = object.spec.field("spec.parallelism").count(1);
    object.spec.field("spec.completions").count(parallelism.value)
}

fn running<'a>(object: &Object<'a>) -> Outcome<'a> {
    let start = object.status.field("status.startTime");
    if start.text().unwrap_or_default().is_empty() {
        return Outcome::in_progress("JobNotStarted", "Job not started", [start.evidence()]);
    }
    let succeeded = object.status.field("status.succeeded").count(0).value;
    let active = object.status.field("status.active").count(0).value;
    let failed = object.status.field("status.failed").count(0).value;
    let message = format!("Job in progress. success:{succeeded}, active: {active}, failed: {failed}");
    Outcome::current(message, [start.evidence()])
}
