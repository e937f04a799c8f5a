//! What kstatus makes of our objects: `Reconciling=True` is InProgress, `Stalled=True` is Failed, neither is Current
//! unless `Ready` says otherwise.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Condition, ConditionSet, Entry, Kind, Moment, Reason, Status, Vocabulary};
use jiff::Timestamp;
use vworkspace_api::application_instance::{self as app, ApplicationInstance};
use vworkspace_api::cluster::{self, Cluster};
use vworkspace_api::operation::{self as op, Operation};

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

/// What kstatus says of an object with these conditions, and why.
fn kstatus<K: Kind>(mut set: ConditionSet<K>) -> String {
    set.project(AT);
    for condition in &set {
        let known = K::VOCABULARY.find(&condition.type_, condition.status, &condition.reason);
        assert!(known.is_some(), "{condition:?} is not in the vocabulary");
    }
    let object = serde_json::json!({
        "apiVersion": format!("{}/v1alpha1", K::VOCABULARY.group),
        "kind": K::VOCABULARY.kind,
        "metadata": {"name": "it", "generation": AT.generation},
        "status": {"observedGeneration": AT.generation, "conditions": set},
    });
    let options = kstatus::Options { profile: kstatus::Profile::Compatible, now: AT.now };
    let outcome = kstatus::compute(&object, &options).expect("kstatus takes our objects");
    match outcome.condition {
        Some(condition) => format!("{}/{}", outcome.status, condition.reason),
        None => outcome.status.to_string(),
    }
}

/// A set in which nothing has been said yet, to be filled from left to right.
struct Said<K>(ConditionSet<K>);

impl<K: Kind> Said<K> {
    fn and(mut self, reason: impl Reason<Kind = K>) -> Self {
        self.0.set(reason, "", AT);
        self
    }

    fn kstatus(self) -> String {
        kstatus(self.0)
    }
}

fn app(ready: app::Ready, reconciling: app::Reconciling) -> Said<ApplicationInstance> {
    Said(ConditionSet::new()).and(ready).and(reconciling)
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
    for blocker in app::Blocked::ALL.iter().filter(|blocker| blocker.row().status == Status::True) {
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
    let waits = app(app::Ready::WaitingForCertificate, app::Reconciling::Stable);
    assert_eq!(waits.kstatus(), "InProgress/WaitingForCertificate");
    let installs = app(app::Ready::Installing, app::Reconciling::HelmReleaseInstalling);
    assert_eq!(installs.kstatus(), "InProgress/HelmReleaseInstalling");
}

/// An operation that was accepted and of which nothing more is known.
fn operation() -> Said<Operation> {
    Said(ConditionSet::new())
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
    for blocker in op::Blocked::ALL.iter().filter(|blocker| blocker.row().status == Status::True) {
        let expected = format!("InProgress/{}", blocker.row().reason);
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
    for failure in op::Failed::ALL.iter().filter(|failure| failure.row().status == Status::True) {
        let ended = operation().and(op::Running::EngineFinished).and(*failure);
        assert_eq!(ended.kstatus(), format!("Failed/{}", failure.row().reason));
    }
    assert_eq!(operation().and(op::Cancelled::UserCancelled).kstatus(), "Failed/UserCancelled");
    let superseded =
        operation().and(op::Blocked::ConflictingOperation).and(op::Cancelled::SupersededByOperation);
    assert_eq!(superseded.kstatus(), "Failed/SupersededByOperation");
}

fn cluster() -> Said<Cluster> {
    Said(ConditionSet::new())
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

/// Every combination of what the types of a kind can say.
fn all_sayings(vocabulary: &Vocabulary) -> Vec<Vec<Condition>> {
    let condition = |entry: &Entry| Condition {
        last_transition_time: AT.now,
        message: String::new(),
        observed_generation: Some(AT.generation),
        reason: entry.reason.to_owned(),
        status: entry.status,
        type_: entry.type_.to_owned(),
    };
    vocabulary.types.iter().fold(vec![Vec::new()], |sayings, known| {
        let with =
            |saying: &Vec<Condition>, entry| saying.iter().cloned().chain([condition(entry)]).collect();
        sayings.iter().flat_map(|saying| known.entries.iter().map(move |entry| with(saying, entry))).collect()
    })
}

/// Whatever the other conditions say, the two that kstatus reads agree, in words of the vocabulary.
fn told_one_thing<K: Kind>() {
    for saying in all_sayings(K::VOCABULARY) {
        let mut set = ConditionSet::<K>::from(saying);
        set.project(AT);
        let of = |type_| set.get(type_).expect("projected");
        let (reconciling, stalled) = (of("Reconciling"), of("Stalled"));
        assert!(reconciling.status == Status::False || stalled.status == Status::False, "{set:?}");
        for condition in [reconciling, stalled] {
            let known = K::VOCABULARY.find(&condition.type_, condition.status, &condition.reason);
            assert!(known.is_some(), "{condition:?} is not in the vocabulary");
        }
        assert_eq!(set.unsaid(AT.generation).count(), 0, "{set:?}");
    }
}

#[test]
fn whatever_is_said_kstatus_is_told_one_thing() {
    told_one_thing::<ApplicationInstance>();
    told_one_thing::<Operation>();
    told_one_thing::<Cluster>();
}
