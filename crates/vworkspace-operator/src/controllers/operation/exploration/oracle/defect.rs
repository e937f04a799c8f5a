//! Mistakes that a controller could make, to see that they would be found.

use conditions::{ConditionSet, Draft, Moment};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_kit::{Child, Finalizer, ObjectKey};
use vworkspace_api::operation::{Cancelled, Failed, Operation, OperationStatus, Phase, Running, Succeeded};

use super::super::shown::time;
use super::super::{Look, OperationPlan};
use super::is_final;
use crate::external::velero::Backup;

/// A mistake of a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Defect {
    None,
    /// What is gone is made again.
    StartsAgain,
    /// It starts beside one that is at work.
    StartsBeside,
    /// It starts before one that came first.
    JumpsTheLine,
    /// What has failed is called a success.
    Embellishes,
    /// It says Cancelled as soon as somebody asks for it.
    CancelsTooEarly,
    /// What has ended is looked at again.
    BeginsAnew,
    /// It lets go of an operation whose engine is at work.
    LetsGoTooEarly,
    /// It keeps saying Running in the conditions of what has ended.
    Contradicts,
    /// It never says anything but the first thing.
    NeverLooksAgain,
}

impl Defect {
    /// The plan that a controller with this defect makes instead.
    pub(in super::super) fn spoil(
        self,
        mut plan: OperationPlan,
        seen: &Look<'_>,
        nth: usize,
    ) -> OperationPlan {
        let own = &seen.operations[nth];
        let before = own.status.as_deref();
        let ends = is_final(Some(&plan.status)) && !is_final(before);
        let is = |plan: &OperationPlan, reason: &str| plan.status.reason.as_deref() == Some(reason);
        let others_begun = seen.operations.iter().enumerate().any(|(other, own)| {
            let status = own.status.as_deref();
            other != nth && !is_final(status) && status.is_some_and(|status| status.engine_ref.is_some())
        });
        let start = |plan: &mut OperationPlan| {
            let key = ObjectKey::namespaced("shop", "again");
            let is_backup = own.spec.task.is_backup();
            let child = if is_backup { Child::new::<Backup>(&key) } else { Child::new::<Job>(&key) };
            plan.creations = vec![child];
            plan.status = before.cloned().unwrap_or_default();
        };
        match self {
            Defect::StartsAgain if ends && is(&plan, "EngineFailed") => start(&mut plan),
            Defect::StartsBeside if is(&plan, "ConflictingOperation") && others_begun => start(&mut plan),
            Defect::JumpsTheLine if is(&plan, "ConflictingOperation") && !others_begun => start(&mut plan),
            Defect::Embellishes if ends && plan.status.phase == Some(Phase::Failed) => {
                plan.status.phase = Some(Phase::Succeeded);
                plan.status.conditions = ended(&plan.status, own.generation, |draft| {
                    draft.say(Running::EngineFinished, "");
                    draft.say(Failed::NotFailed, "");
                    draft.say(Succeeded::EngineCompleted, "");
                });
            }
            Defect::CancelsTooEarly if own.spec.cancel && plan.status.phase == Some(Phase::Running) => {
                plan.status.phase = Some(Phase::Cancelled);
                plan.status.finished_at = Some(Time(time(0)));
                plan.status.outcome_digest = Some(String::new());
                plan.status.conditions = ended(&plan.status, own.generation, |draft| {
                    draft.say(Running::EngineFinished, "");
                    draft.say(Cancelled::UserCancelled, "");
                });
            }
            Defect::BeginsAnew if is_final(before) => {
                plan.status = OperationStatus { phase: Some(Phase::Pending), ..plan.status };
            }
            Defect::LetsGoTooEarly if own.deleting => plan.finalizer = Finalizer::Release,
            Defect::Contradicts if ends => {
                plan.status.conditions = ended(&plan.status, own.generation, |draft| {
                    draft.say(Running::EngineStarted, "");
                });
            }
            Defect::NeverLooksAgain => plan.status = before.cloned().unwrap_or(plan.status),
            _ => {}
        }
        plan
    }
}

/// The conditions of a plan with another end.
fn ended(
    status: &OperationStatus,
    generation: i64,
    say: impl FnOnce(&mut Draft<Operation>),
) -> ConditionSet<Operation> {
    let mut draft = Draft::next(status.conditions.clone(), Moment { generation, now: time(0) });
    say(&mut draft);
    draft.finish()
}
