//! How far a Restore has come, from what Velero says.

use kube::ResourceExt;
use serde_json::{Map, Value};
use vworkspace_api::operation::Failed;

use super::{
    Locations, counted, counts, joined, not_picked_up, percent, quoted, reason, text, time, troubles,
};
use crate::controllers::operation::engines::{Ending, Outcome, Progress, State};
use crate::external::velero::Restore;

/// What also looks as if nobody had seen it.
const PERHAPS: &str = ": it brings one backup back after the other";

/// That somebody has deleted it changes nothing: Velero goes on to the end.
pub(super) fn of(restore: &Restore, backup: &str, locations: &Locations) -> State {
    let (name, status) = (restore.name_any(), &restore.status);
    let said = |message: String| Progress {
        made: time(restore.metadata.creation_timestamp.as_ref()),
        since: time(status.start_timestamp.as_ref()),
        message,
        ..Progress::default()
    };
    let ended = |outcome: Outcome, message: String| State::Ended(ending(restore, backup, outcome, message));
    let failed = Outcome::Failed(Failed::EngineFailed);
    match status.phase.as_str() {
        "" | "New" => {
            State::Waiting(not_picked_up(&format!("Restore {name}"), &restore.metadata, PERHAPS, locations))
        }
        "InProgress" | "Finalizing" | "FinalizingPartiallyFailed" => {
            let percent = percent(status.progress.items_restored, status.progress.total_items);
            State::Running(said(format!("Restore {name} runs: {percent} % of the items.")))
        }
        "WaitingForPluginOperations" | "WaitingForPluginOperationsPartiallyFailed" => {
            State::Running(said(format!("Restore {name} waits for operations of Velero's plugins.")))
        }
        "Completed" => {
            let items = counted(status.progress.items_restored.unwrap_or_default(), "item");
            let message = format!(
                "Restore {name} has completed: {items}. Claims that existed before are as they were: Velero does not \
                 overwrite them."
            );
            ended(Outcome::Succeeded, message)
        }
        "PartiallyFailed" => {
            let troubles = troubles(status.errors, status.warnings, "restore", &name);
            ended(Outcome::Succeeded, format!("Restore {name} has ended, not with everything: {troubles}."))
        }
        "Failed" => ended(
            failed,
            format!(
                "Restore {name} has failed: {}. What it had brought back by then stays.",
                reason(&status.failure_reason).trim_end_matches('.')
            ),
        ),
        "FailedValidation" => ended(
            failed,
            format!("Velero does not take Restore {name}: {}", joined(&status.validation_errors)),
        ),
        phase => State::Running(said(format!(
            "Restore {name} is in phase {}, which this version does not know.",
            quoted(phase)
        ))),
    }
}

fn ending(restore: &Restore, backup: &str, outcome: Outcome, message: String) -> Ending {
    let (name, status) = (restore.name_any(), &restore.status);
    let mut outputs = Map::new();
    text(&mut outputs, "restoreName", name.as_str());
    text(&mut outputs, "backupName", backup);
    let items = status.progress.items_restored.or((outcome == Outcome::Succeeded).then_some(0));
    outputs.extend(items.map(|items| ("restoredItemCount".to_owned(), Value::from(items))));
    // Some are always there: they are no news.
    outputs.extend(counts([("warningCount", status.warnings), ("errorCount", status.errors)]));
    if status.phase == "PartiallyFailed" {
        let troubles = troubles(status.errors, status.warnings, "restore", &name);
        outputs.insert("warnings".to_owned(), Value::from(vec![troubles]));
    }
    Ending {
        outcome,
        message,
        outputs,
        logs_ref: None,
        since: time(status.start_timestamp.as_ref()),
        at: time(status.completion_timestamp.as_ref()),
    }
}
