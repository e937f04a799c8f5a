//! What kstatus makes of kars objects: it does not know `Progressing` or `Degraded`, so `Reconciling` and `Stalled`
//! say it for them.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{ConditionSet, Kind, Moment, Reason, Status};
use jiff::Timestamp;
use kars_api::{egress_approval, kars_eval, kars_sandbox, tool_policy};

const AT: Moment = Moment {
    generation: 1,
    now: Timestamp::UNIX_EPOCH,
};

struct Said<K>(ConditionSet<K>);

impl<K: Kind> Said<K> {
    fn nothing() -> Self {
        Said(ConditionSet::new())
    }

    fn and(mut self, reason: impl Reason<Kind = K>) -> Self {
        self.0.set(reason, "", AT);
        self
    }

    /// As kstatus reads it: the first of `Reconciling` and `Stalled` that is True, then `Ready`.
    fn kstatus(mut self) -> String {
        self.0.project(AT);
        for condition in &self.0 {
            let known = K::VOCABULARY.find(&condition.type_, condition.status, &condition.reason);
            assert!(known.is_some(), "{condition:?} is not in the vocabulary");
            match (condition.type_.as_str(), condition.status) {
                ("Reconciling", Status::True) => return format!("InProgress/{}", condition.reason),
                ("Stalled", Status::True) => return format!("Failed/{}", condition.reason),
                _ => {}
            }
        }
        match self.0.get("Ready") {
            Some(ready) if ready.status != Status::True => format!("InProgress/{}", ready.reason),
            _ => "Current".to_owned(),
        }
    }
}

#[test]
fn a_policy_is_current_only_once_routers_enforce_it() {
    use tool_policy::{Progressing, Ready};
    let waits = Said::nothing()
        .and(Ready::AwaitingRouterEnforcement)
        .and(Progressing::AwaitingRouterEnforcement);
    assert_eq!(waits.kstatus(), "InProgress/AwaitingRouterEnforcement");
    let enforced = Said::nothing()
        .and(Ready::RouterEnforcing)
        .and(Progressing::Reconciled);
    assert_eq!(enforced.kstatus(), "Current");
    let invalid = Said::nothing().and(Ready::SpecInvalid).and(Progressing::Failed);
    assert_eq!(invalid.kstatus(), "Failed/SpecInvalid");
    let unused = Said::nothing()
        .and(Ready::NoSandboxesReferencing)
        .and(Progressing::Reconciled);
    assert_eq!(unused.kstatus(), "InProgress/NoSandboxesReferencing");
}

#[test]
fn a_sandbox_without_an_adapter_fails_and_one_that_starts_is_in_progress() {
    use kars_sandbox::{Progressing, Ready, RuntimeReady};
    let missing = Said::nothing()
        .and(Ready::AdapterMissing)
        .and(RuntimeReady::AdapterMissing);
    assert_eq!(
        missing.and(Progressing::Failed).kstatus(),
        "Failed/AdapterMissing"
    );
    let starts = Said::nothing().and(Ready::Creating).and(Progressing::Creating);
    assert_eq!(starts.kstatus(), "InProgress/Creating");
    let runs = Said::nothing()
        .and(Ready::RouterEnforcing)
        .and(Progressing::Reconciled);
    assert_eq!(runs.kstatus(), "Current");
}

#[test]
fn an_approval_that_expired_or_was_asked_for_wrongly_fails() {
    use egress_approval::{Degraded, Progressing, Ready};
    let expired = Said::nothing()
        .and(Ready::Expired)
        .and(Progressing::Reconciled)
        .and(Degraded::Expired);
    assert_eq!(expired.kstatus(), "Failed/Expired");
    let invalid = Said::nothing()
        .and(Ready::TtlInvalid)
        .and(Progressing::Failed)
        .and(Degraded::TtlInvalid);
    assert_eq!(invalid.kstatus(), "Failed/TtlInvalid");
    let blocked = Said::nothing()
        .and(Ready::BlockedOnSandbox)
        .and(Progressing::Failed);
    assert_eq!(
        blocked.and(Degraded::BlockedOnSandbox).kstatus(),
        "InProgress/BlockedOnSandbox"
    );
    let active = Said::nothing()
        .and(Ready::RouterConfirmed)
        .and(Progressing::Reconciled);
    assert_eq!(active.and(Degraded::NotDegraded).kstatus(), "Current");
}

#[test]
fn an_eval_that_found_drift_fails() {
    use kars_eval::{ConformanceDrift, Progressing, Ready};
    let drift = Said::nothing()
        .and(Ready::DriftDetected)
        .and(Progressing::Reconciled);
    assert_eq!(
        drift.and(ConformanceDrift::DriftDetected).kstatus(),
        "Failed/DriftDetected"
    );
    let passed = Said::nothing().and(Ready::AllPassed).and(Progressing::Reconciled);
    assert_eq!(passed.and(ConformanceDrift::AllPassed).kstatus(), "Current");
}
