//! The vocabularies hold every entry of the published documents, and no other than those and our own additions.
//!
//! The lists are written by hand from the documents: a row that is dropped, misspelt or given another status fails.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Kind, Origin, Vocabulary, proofread};
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::cluster::Cluster;
use vworkspace_api::operation::Operation;

/// `Type=Status/Reason` of every entry of the kind's own types, sorted.
fn entries(vocabulary: &Vocabulary, origin: Origin) -> Vec<String> {
    let own = vocabulary.types.iter().flat_map(|known| known.entries);
    let of_origin = own.filter(|entry| entry.origin == origin);
    sorted(of_origin.map(|entry| format!("{}={}/{}", entry.type_, entry.status, entry.reason)))
}

/// A list in which each line is `Type=Status Reason Reason ...`.
fn listed(list: &str) -> Vec<String> {
    let lines = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    sorted(lines.filter(|words| !words.is_empty()).flat_map(|words| {
        words[1..].iter().map(|reason| format!("{}/{reason}", words[0])).collect::<Vec<_>>()
    }))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn an_application_instance_has_the_31_documented_entries() {
    let conditions_document = listed(
        "Ready=True HelmReleaseReady HelmReleaseReadyWithWarnings
         Ready=False HelmReleaseFailed ChartUnreachable WaitingForCertificate WaitingForSecret Installing Upgrading
         Ready=Unknown Reconciling
         Reconciling=True HelmReleaseUpgrading HelmReleaseInstalling ChartSourceSyncing
         Reconciling=False Stable
         Degraded=True HelmReleaseDegraded ChartUnreachable EndpointUnreachable Drifted
         Degraded=False Recovered
         Suspended=True MaintenanceWindow ManuallySuspended
         Suspended=False Active
         Blocked=True AwaitingApproval MissingChartSource MissingDependencies PolicyDenied
         Blocked=False Unblocked
         Deleting=True Uninstalling WaitingForChildResources",
    );
    let troubleshooting_document =
        listed("Blocked=True MissingSecret\nDegraded=True UpgradeFailed\nSuspended=True ReconcilePaused");
    assert_eq!((conditions_document.len(), troubleshooting_document.len()), (28, 3));
    let documented = sorted(conditions_document.into_iter().chain(troubleshooting_document));
    assert_eq!(entries(ApplicationInstance::VOCABULARY, Origin::Contract), documented);
    assert_eq!(documented.len(), 31);
}

#[test]
fn an_operation_has_the_19_documented_entries() {
    let conditions_document = listed(
        "Accepted=True AdmissionPassed
         Accepted=False ValidationFailed
         Running=True EngineStarted
         Running=False EngineNotStarted
         Succeeded=True EngineCompleted
         Succeeded=False NotYetSucceeded
         Failed=True EngineFailed Timeout PreconditionFailed
         Cancelled=True UserCancelled SupersededByOperation
         Blocked=True ConflictingOperation AwaitingApproval TargetNotReady DependencyMissing",
    );
    let troubleshooting_document = listed(
        "Blocked=True CapabilityMissing
         Failed=True VeleroBackupFailed JobFailedBackoffExceeded WorkflowFailed",
    );
    assert_eq!((conditions_document.len(), troubleshooting_document.len()), (15, 4));
    let documented = sorted(conditions_document.into_iter().chain(troubleshooting_document));
    assert_eq!(entries(Operation::VOCABULARY, Origin::Contract), documented);
    assert_eq!(documented.len(), 19);
}

#[test]
fn a_cluster_has_the_16_documented_entries() {
    let conditions_document = listed(
        "Connected=True RoundTripOK ControlPlaneReachable
         Connected=False ControlPlaneUnreachable
         Disconnected=True NoRecentRoundTrip
         Disconnected=False Connected
         Authenticated=True CredentialAccepted
         Authenticated=False CredentialRejected ControlPlaneAuthenticationFailed CredentialExpired
         ControllersHealthy=True AllControllersReady
         ControllersHealthy=False ControllerMissing ControllerDegraded
         BufferOverflow=True EventBufferFull
         BufferOverflow=False BufferDrained",
    );
    let troubleshooting_document =
        listed("Connected=False RegistrationTokenInvalid\nAuthenticated=False CredentialRevoked");
    assert_eq!((conditions_document.len(), troubleshooting_document.len()), (14, 2));
    let documented = sorted(conditions_document.into_iter().chain(troubleshooting_document));
    assert_eq!(entries(Cluster::VOCABULARY, Origin::Contract), documented);
    assert_eq!(documented.len(), 16);
}

#[test]
fn our_additions_are_those_that_were_agreed() {
    let application_instance = listed(
        "Ready=True Placeholder
         Ready=False Blocked EndpointUnreachable Uninstalling
         Reconciling=True ChangePending Reconciling
         Degraded=False NotDegraded
         Blocked=True DependencyNotReady InvalidSpec
         Blocked=False NotBlocked
         Suspended=True OperationInProgress
         Deleting=False NotDeleting",
    );
    assert_eq!(entries(ApplicationInstance::VOCABULARY, Origin::Extension), application_instance);
    let operation = listed(
        "Running=False EngineFinished
         Failed=False NotFailed
         Cancelled=False NotCancelled
         Blocked=True TargetSuspended
         Blocked=False NotBlocked Unblocked",
    );
    assert_eq!(entries(Operation::VOCABULARY, Origin::Extension), operation);
    assert_eq!(entries(Cluster::VOCABULARY, Origin::Extension), listed("BufferOverflow=False NoOverflow"));
}

#[test]
fn the_vocabularies_are_sound() {
    for vocabulary in vworkspace_api::VOCABULARIES {
        assert_eq!(proofread::problems(vocabulary), [""; 0]);
    }
}
