//! How far a Backup has come, from what Velero says.

use kube::ResourceExt;
use operator_kit::Found;
use serde_json::{Map, Value};
use vworkspace_api::operation::Failed;

use super::{
    Locations, counted, counts, joined, not_picked_up, percent, quoted, reason, text, time, troubles,
};
use crate::controllers::operation::engines::{Ending, Outcome, Progress, State};
use crate::external::velero::{Backup, PodVolumeBackup};

/// What is known to keep a Velero that lives from looking at backups.
const PERHAPS: &str = "; one Backup that it cannot read, such as one with ttl 30d, stops it for all";

/// Whether it has come to an end with something that can be restored.
pub(super) fn is_stored(backup: &Backup) -> bool {
    matches!(backup.status.phase.as_str(), "Completed" | "PartiallyFailed")
}

/// `stuck` is why it could not be removed, if somebody tried.
pub(super) fn of(
    backup: &Backup,
    locations: &Locations,
    stuck: Option<String>,
    volumes: &Found<PodVolumeBackup>,
) -> State {
    let (name, status) = (backup.name_any(), &backup.status);
    let said = |message: String| Progress {
        made: time(backup.metadata.creation_timestamp.as_ref()),
        since: time(status.start_timestamp.as_ref()),
        message,
        ..Progress::default()
    };
    if is_stored(backup) && *volumes == Found::NotYet {
        return State::Ending(said(format!(
            "Backup {name} has ended; what it copied of volumes is being counted."
        )));
    }
    let failed = Outcome::Failed(Failed::VeleroBackupFailed);
    let ending = |outcome, message| ending(backup, outcome, message, volumes.objects());
    match status.phase.as_str() {
        "" | "New" => {
            State::Waiting(not_picked_up(&format!("Backup {name}"), &backup.metadata, PERHAPS, locations))
        }
        "Queued" => State::Waiting(said(match status.queue_position {
            Some(position) => format!("Backup {name} is in Velero's queue, at position {position}."),
            None => format!("Backup {name} is in Velero's queue."),
        })),
        "ReadyToStart" | "InProgress" | "Finalizing" | "FinalizingPartiallyFailed" => {
            let percent = percent(status.progress.items_backed_up, status.progress.total_items);
            State::Running(said(format!("Backup {name} runs: {percent} % of the items.")))
        }
        "WaitingForPluginOperations" | "WaitingForPluginOperationsPartiallyFailed" => {
            State::Running(said(format!("Backup {name} waits for operations of Velero's plugins.")))
        }
        "Deleting" => match stuck {
            Some(why) => State::Ended(ending(failed, format!("Backup {name} could not be removed: {why}"))),
            None => State::Running(said(format!("Velero removes Backup {name}."))),
        },
        "Completed" => {
            let items = counted(status.progress.items_backed_up.unwrap_or_default(), "item");
            let until = status.expiration.as_ref().map(|at| format!(", kept until {}", at.0));
            let message = format!("Backup {name} has completed: {items}{}.", until.unwrap_or_default());
            State::Ended(ending(Outcome::Succeeded, message))
        }
        "PartiallyFailed" => {
            let troubles = troubles(status.errors, status.warnings, "backup", &name);
            let message = format!("Backup {name} has ended and can be restored: {troubles}.");
            State::Ended(ending(Outcome::Succeeded, message))
        }
        "Failed" => {
            let message = format!("Backup {name} has failed: {}", reason(&status.failure_reason));
            State::Ended(ending(failed, message))
        }
        "FailedValidation" => {
            // Velero tells that a location is not available, and only the location why.
            let location = locations.named(&backup.spec.storage_location);
            let why = location.map(|location| location.status.message.as_str()).filter(|why| !why.is_empty());
            let why = why.map(|why| format!(" ({})", quoted(why))).unwrap_or_default();
            let problems = joined(&status.validation_errors);
            let message = format!("Velero does not take Backup {name}: {problems}{why}");
            State::Ended(ending(failed, message))
        }
        phase => State::Running(said(format!(
            "Backup {name} is in phase {}, which this version does not know.",
            quoted(phase)
        ))),
    }
}

fn ending(backup: &Backup, outcome: Outcome, message: String, volumes: &[PodVolumeBackup]) -> Ending {
    let (name, status) = (backup.name_any(), &backup.status);
    let mut outputs = Map::new();
    text(&mut outputs, "backupName", name.as_str());
    if !backup.spec.storage_location.is_empty() {
        text(&mut outputs, "storageLocation", backup.spec.storage_location.as_str());
    }
    // Zero is absent; of a failure it is not known.
    let items = status.progress.items_backed_up.or((outcome == Outcome::Succeeded).then_some(0));
    outputs.extend(items.map(|items| ("backupItemCount".to_owned(), Value::from(items))));
    // Velero counts the bytes of what it copied itself, not those of snapshots or of the objects.
    let bytes =
        volumes.iter().filter_map(|volume| volume.status.progress.bytes_done).reduce(u64::saturating_add);
    outputs.extend(bytes.map(|bytes| ("backupSizeBytes".to_owned(), Value::from(bytes))));
    outputs.extend(counts([("warningCount", status.warnings), ("errorCount", status.errors)]));
    if status.phase == "PartiallyFailed" {
        let troubles = troubles(status.errors, status.warnings, "backup", &name);
        outputs.insert("warnings".to_owned(), Value::from(vec![troubles]));
    }
    if let Some(expiration) = &status.expiration {
        text(&mut outputs, "expiration", expiration.0.to_string());
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
