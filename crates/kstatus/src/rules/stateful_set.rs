//! StatefulSet.

use super::replicas::{one_number, too_few, too_many, two_numbers};
use crate::object::{Count, Object};
use crate::outcome::Outcome;

/// What the rule takes for "no partition".
const NO_PARTITION: i64 = -1;

/// The user drives `OnDelete`; otherwise counts, then the partition or the revisions.
pub(super) fn status<'a>(object: &Object<'a>) -> Outcome<'a> {
    let strategy = object.spec.field("spec.updateStrategy.type");
    if strategy.text() == Some("OnDelete") {
        let message = "StatefulSet is using the ondelete update strategy";
        return Outcome::current(message, [strategy.evidence()]);
    }
    let want = object.spec.field("spec.replicas").count(1);
    let there = object.status.field("status.replicas").count(0);
    let ready = object.status.field("status.readyReplicas").count(0);
    let current = object.status.field("status.currentReplicas").count(0);
    too_few("LessReplicas", "Replicas", &there, &want)
        .or_else(|| too_few("LessReady", "Ready", &ready, &want))
        .or_else(|| too_many(&there, &want))
        .or_else(|| partition(object, &want))
        .or_else(|| too_few("LessCurrent", "current", &current, &want))
        .or_else(|| revisions(object))
        .unwrap_or_else(|| {
            let message = one_number("All replicas scheduled as expected. Replicas: ", there.value);
            Outcome::current(message, [there.evidence(), want.evidence()])
        })
}

/// With a partition its answer is final: the revisions cannot become equal.
fn partition<'a>(object: &Object<'a>, want: &Count<'a>) -> Option<Outcome<'a>> {
    let partition = object.spec.field("spec.updateStrategy.rollingUpdate.partition").count(NO_PARTITION);
    if partition.value == NO_PARTITION {
        return None;
    }
    let updated = object.status.field("status.updatedReplicas").count(0);
    let target = want.value.wrapping_sub(partition.value);
    let evidence = [updated.evidence(), want.evidence(), partition.evidence()];
    Some(if updated.value < target {
        Outcome::in_progress("PartitionRollout", two_numbers("updated", updated.value, target), evidence)
    } else {
        Outcome::current(one_number("Partition rollout complete. updated: ", updated.value), evidence)
    })
}

fn revisions<'a>(object: &Object<'a>) -> Option<Outcome<'a>> {
    let current = object.status.field("status.currentRevision");
    let update = object.status.field("status.updateRevision");
    (current.text().unwrap_or_default() != update.text().unwrap_or_default()).then(|| {
        let message = "Waiting for updated revision to match current";
        Outcome::in_progress("RevisionMismatch", message, [current.evidence(), update.evidence()])
    })
}
