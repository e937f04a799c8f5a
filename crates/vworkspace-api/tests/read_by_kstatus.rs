//! What kstatus makes of our objects: `Reconciling=True` is InProgress, `Stalled=True` is Failed, neither is Current
//! unless `Ready` says otherwise.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Reason, Status};
use shared::{Said, not_current_without_a_word, told_one_thing};
use vworkspace_api::application_instance::{self as app, ApplicationInstance};
use vworkspace_api::cluster::{self, Cluster};
use vworkspace_api::operation::{self as op, Operation};

#[path = "../../conditions/tests/read_by_kstatus/mod.rs"]
mod shared;

fn app(ready: app::Ready, reconciling: app::Reconciling) -> Said<ApplicationInstance> {
    Said::nothing()
        .and(ready)
        .and(reconciling)
        .and(app::Degraded::NotDegraded)
        .and(app::Suspended::Active)
        .and(app::Blocked::NotBlocked)
        .and(app::Deleting::NotDeleting)
}

#[test]
fn an_application_that_runs_is_current() {
    assert_eq!(app(app::Ready::HelmReleaseReady, app::Reconciling::Stable).kstatus(), "Current");
    assert_eq!(app(app::Ready::Placeholder, app::Reconciling::Stable).kstatus(), "Current");
}

#[test]
fn an_application_with_a_change_that_waits_is_in_progress() {
    let waits = app(app::Ready::HelmReleaseReady, app::Reconciling::ChangePending);
    assert_eq!(waits.and(app::Suspended::ReconcilePaused).kstatus(), "InProgress/ChangePending");
}

#[test]
fn a_failed_release_fails_only_when_its_retries_are_used_up() {
    let retried = app(app::Ready::HelmReleaseFailed, app::Reconciling::HelmReleaseUpgrading);
    assert_eq!(retried.kstatus(), "InProgress/HelmReleaseUpgrading");
    let given_up = app(app::Ready::HelmReleaseFailed, app::Reconciling::Stable);
    assert_eq!(given_up.and(app::Degraded::UpgradeFailed).kstatus(), "Failed/HelmReleaseFailed");
}

#[test]
fn only_blockers_that_a_person_must_remove_fail_an_application() {
    for blocker in app::Blocked::ALL.iter().filter(|blocker| blocker.entry().status == Status::True) {
        let blocked = app(app::Ready::Blocked, app::Reconciling::ChangePending).and(*blocker).kstatus();
        let expected = match blocker {
            app::Blocked::InvalidSpec => "Failed/InvalidSpec",
            app::Blocked::MissingChartSource => "Failed/MissingChartSource",
            app::Blocked::PolicyDenied => "Failed/PolicyDenied",
            _ => "InProgress/ChangePending",
        };
        assert_eq!(blocked, expected);
    }
}

#[test]
fn an_application_that_is_installed_or_waits_for_something_is_in_progress() {
    let waits = app(app::Ready::WaitingForCertificate, app::Reconciling::HelmReleaseInstalling);
    assert_eq!(waits.kstatus(), "InProgress/HelmReleaseInstalling");
    let installs = app(app::Ready::Installing, app::Reconciling::HelmReleaseInstalling);
    assert_eq!(installs.kstatus(), "InProgress/HelmReleaseInstalling");
}

#[test]
fn an_application_cannot_be_stable_while_its_ready_waits() {
    use app::Ready;
    for ready in Ready::ALL.iter().filter(|ready| ready.entry().status != Status::True) {
        let expected = match ready {
            Ready::HelmReleaseFailed => "Failed/HelmReleaseFailed",
            // The spec has been carried out; what it made does not answer.
            Ready::EndpointUnreachable => "InProgress/EndpointUnreachable",
            _ => "InProgress/Reconciling",
        };
        assert_eq!(app(*ready, app::Reconciling::Stable).kstatus(), expected, "{ready:?}");
    }
}

/// An operation that was accepted and of which nothing more is known.
fn operation() -> Said<Operation> {
    Said::nothing()
        .and(op::Accepted::AdmissionPassed)
        .and(op::Running::EngineNotStarted)
        .and(op::Succeeded::NotYetSucceeded)
        .and(op::Failed::NotFailed)
        .and(op::Cancelled::NotCancelled)
        .and(op::Blocked::NotBlocked)
}

#[test]
fn an_operation_that_has_not_ended_is_in_progress() {
    assert_eq!(operation().kstatus(), "InProgress/AdmissionPassed");
    assert_eq!(operation().and(op::Running::EngineStarted).kstatus(), "InProgress/EngineStarted");
    assert_eq!(operation().and(op::Accepted::ValidationFailed).kstatus(), "InProgress/ValidationFailed");
    for blocker in op::Blocked::ALL.iter().filter(|blocker| blocker.entry().status == Status::True) {
        let expected = format!("InProgress/{}", blocker.entry().reason);
        assert_eq!(operation().and(*blocker).kstatus(), expected);
    }
}

#[test]
fn an_operation_that_succeeded_is_current() {
    let ended = operation().and(op::Running::EngineFinished).and(op::Succeeded::EngineCompleted);
    assert_eq!(ended.kstatus(), "Current");
}

#[test]
fn an_operation_that_failed_or_was_cancelled_is_failed() {
    for failure in op::Failed::ALL.iter().filter(|failure| failure.entry().status == Status::True) {
        let ended = operation().and(op::Running::EngineFinished).and(*failure);
        assert_eq!(ended.kstatus(), format!("Failed/{}", failure.entry().reason));
    }
    assert_eq!(operation().and(op::Cancelled::UserCancelled).kstatus(), "Failed/UserCancelled");
    let superseded =
        operation().and(op::Blocked::ConflictingOperation).and(op::Cancelled::SupersededByOperation);
    assert_eq!(superseded.kstatus(), "Failed/SupersededByOperation");
}

fn cluster() -> Said<Cluster> {
    Said::nothing()
        .and(cluster::Connected::RoundTripOK)
        .and(cluster::Disconnected::Connected)
        .and(cluster::Authenticated::CredentialAccepted)
        .and(cluster::ControllersHealthy::AllControllersReady)
        .and(cluster::BufferOverflow::NoOverflow)
}

#[test]
fn a_cluster_fails_only_when_a_person_must_give_it_a_credential() {
    use cluster::{Authenticated, Connected, ControllersHealthy, Disconnected};
    assert_eq!(cluster().kstatus(), "Current");
    let rejected = cluster().and(Connected::ControlPlaneUnreachable).and(Authenticated::CredentialRejected);
    assert_eq!(rejected.kstatus(), "Failed/CredentialRejected");
    let token = cluster().and(Connected::RegistrationTokenInvalid);
    assert_eq!(token.kstatus(), "Failed/RegistrationTokenInvalid");
    let unreachable = cluster().and(Connected::ControlPlaneUnreachable).and(Disconnected::NoRecentRoundTrip);
    assert_eq!(unreachable.kstatus(), "InProgress/ControlPlaneUnreachable");
    let missing = cluster().and(ControllersHealthy::ControllerMissing);
    assert_eq!(missing.kstatus(), "InProgress/ControllerMissing");
}

#[test]
fn whatever_is_said_kstatus_is_told_one_thing() {
    told_one_thing::<ApplicationInstance>();
    told_one_thing::<Operation>();
    told_one_thing::<Cluster>();
}

#[test]
fn silence_is_not_read_as_current() {
    not_current_without_a_word::<ApplicationInstance>();
    not_current_without_a_word::<Operation>();
    not_current_without_a_word::<Cluster>();
}
