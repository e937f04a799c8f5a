//! What stands in the way, in the order in which a person would have to solve it.

use operator_kit::{Cause, Refusal, Sight};
use vworkspace_api::application_instance::{ApplicationInstance, Blocked};

use super::reading::{Reading, SourceTrouble};
use crate::controllers::application::children::Order;
use crate::controllers::application::observe::World;
use crate::flux::condition;

/// Something that has to be put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocker {
    /// With a word of the vocabulary.
    Condition(Blocked, String),
    /// A child that we cannot write although nothing forbids it: the change waits, and we try on.
    NotWritten(String),
}

impl Blocker {
    /// Whether there is nothing that could be handed over, or nobody to take it.
    pub(super) fn forbids_handing_over(&self) -> bool {
        matches!(self, Blocker::Condition(Blocked::InvalidSpec | Blocked::MissingDependencies, _))
    }

    /// Whether Flux does not have the change because of it. What was refused is offered again, in case it is not any more.
    pub(super) fn keeps_the_change_back(&self) -> bool {
        self.forbids_handing_over()
            || matches!(self, Blocker::NotWritten(_) | Blocker::Condition(Blocked::PolicyDenied, _))
    }
}

/// The first one is reported.
pub(super) fn first(app: &ApplicationInstance, world: &World, seen: &Reading) -> Option<Blocker> {
    native_storage(app)
        .or_else(|| invalid_spec(app))
        .or_else(|| missing_flux(world))
        .or_else(|| refused(&world.refusals))
        .or_else(|| missing_chart(seen))
        .or_else(|| missing_values(world))
}

fn native_storage(app: &ApplicationInstance) -> Option<Blocker> {
    (app.spec.app_ref.catalog_id == "seaweedfs" && app.spec.chart.is_none()).then(|| {
        let message =
            "This operator has no native SeaweedFS mode. Give spec.chart to install it by its chart.";
        Blocker::Condition(Blocked::MissingDependencies, message.to_owned())
    })
}

fn invalid_spec(app: &ApplicationInstance) -> Option<Blocker> {
    Order::of(app).err().map(|message| Blocker::Condition(Blocked::InvalidSpec, message))
}

fn missing_flux(world: &World) -> Option<Blocker> {
    let missing = match (&world.release, &world.source) {
        (Sight::NotInstalled, _) => {
            "Flux's helm-controller is not installed (no CRD helmreleases.helm.toolkit.fluxcd.io)."
        }
        (_, Sight::NotInstalled) => {
            "Flux's source-controller is not installed, or older than 2.6 (no CRD of source.toolkit.fluxcd.io/v1)."
        }
        _ => return None,
    };
    Some(Blocker::Condition(Blocked::MissingDependencies, missing.to_owned()))
}

/// The API server's answer to the last plan.
fn refused(refusals: &[Refusal]) -> Option<Blocker> {
    let refusal = refusals.first()?;
    let message = refusal.message.clone();
    Some(match refusal.cause {
        Cause::Forbidden => Blocker::Condition(Blocked::PolicyDenied, message),
        // Not InvalidSpec: that would be for ever, and Flux's schema is not ours.
        Cause::Invalid | Cause::Owned | Cause::Unavailable => Blocker::NotWritten(message),
    })
}

/// A release that runs does not need its chart any more; a change does.
fn missing_chart(seen: &Reading) -> Option<Blocker> {
    match seen {
        Reading::SourceTrouble(SourceTrouble::Missing(message)) => {
            Some(Blocker::Condition(Blocked::MissingChartSource, message.clone()))
        }
        _ => None,
    }
}

/// Flux tells which Secret, ConfigMap or key it misses; its other words can quote the values and are not copied.
fn missing_values(world: &World) -> Option<Blocker> {
    let release = world.release.present()?;
    let ready =
        condition(&release.status.conditions, "Ready").filter(|ready| ready.reason == "ValuesError")?;
    let is_missing = ready.message.ends_with("not found");
    is_missing.then(|| Blocker::Condition(Blocked::MissingSecret, ready.message.clone()))
}
