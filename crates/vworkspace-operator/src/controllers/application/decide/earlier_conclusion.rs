//! What earlier statuses concluded about the release: the classes of reasons, and what the last one was.

use vworkspace_api::application_instance::{
    ApplicationInstance, ApplicationInstanceStatus, Blocked, Ready, Reconciling,
};

/// What was concluded about what Flux made of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// The release is there.
    InPlace,
    /// It failed, or something that belongs to it is missing.
    NotInPlace,
}

/// Nothing, if it is no conclusion.
pub(super) fn conclusion(reason: Ready) -> Option<Conclusion> {
    match reason {
        Ready::HelmReleaseReady | Ready::HelmReleaseReadyWithWarnings | Ready::EndpointUnreachable => {
            Some(Conclusion::InPlace)
        }
        Ready::WaitingForCertificate | Ready::WaitingForSecret | Ready::HelmReleaseFailed => {
            Some(Conclusion::NotInPlace)
        }
        Ready::Placeholder
        | Ready::ChartUnreachable
        | Ready::Installing
        | Ready::Upgrading
        | Ready::Uninstalling
        | Ready::Blocked
        | Ready::Reconciling => None,
    }
}

/// Whether this is said of a release that is there.
pub(super) fn is_in_place(reason: Ready) -> bool {
    conclusion(reason) == Some(Conclusion::InPlace)
}

/// Whether a blocked change waits here: only a missing Secret is missed by Flux, which has the change.
fn is_held_back(reason: Blocked) -> bool {
    match reason {
        Blocked::InvalidSpec
        | Blocked::MissingDependencies
        | Blocked::MissingChartSource
        | Blocked::DependencyNotReady
        | Blocked::AwaitingApproval
        | Blocked::PolicyDenied => true,
        Blocked::MissingSecret | Blocked::NotBlocked | Blocked::Unblocked => false,
    }
}

/// Whether the last conclusion was that the release is there.
pub(super) fn was_in_place(app: &ApplicationInstance) -> bool {
    last_conclusion(app).is_some_and(is_in_place)
}

pub(super) fn last_conclusion(app: &ApplicationInstance) -> Option<Ready> {
    app.status.as_ref()?.conditions.read::<Ready>()
}

/// Whether the status said that a change waits. A stall hides that behind `Reconciling=False`.
pub(super) fn may_have_waited(status: &ApplicationInstanceStatus) -> bool {
    status.conditions.read::<Reconciling>() == Some(Reconciling::ChangePending)
        || status.conditions.read::<Blocked>().is_some_and(is_held_back)
}
