//! What kstatus makes of kars objects: it does not know `Progressing` or `Degraded`, so `Reconciling` and `Stalled`
//! say it for them.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Condition, ConditionSet, Entry, Kind, Moment, Reason, Status, Vocabulary};
use jiff::Timestamp;
use kars_api::{
    a2a_agent, egress_approval, inference_policy, kars_eval, kars_memory, kars_sandbox, mcp_server,
    tool_policy, trust_graph,
};

const AT: Moment = Moment { generation: 1, now: Timestamp::UNIX_EPOCH };

struct Said<K>(ConditionSet<K>);

impl<K: Kind> Said<K> {
    fn nothing() -> Self {
        Said(ConditionSet::new())
    }

    fn and(mut self, reason: impl Reason<Kind = K>) -> Self {
        self.0.set(reason, "", AT);
        self
    }

    /// What kstatus says of an object with these conditions, and why.
    fn kstatus(mut self) -> String {
        self.0.project(AT);
        for condition in &self.0 {
            let known = K::VOCABULARY.find(&condition.type_, condition.status, &condition.reason);
            assert!(known.is_some(), "{condition:?} is not in the vocabulary");
        }
        let object = serde_json::json!({
            "apiVersion": format!("{}/v1alpha1", K::VOCABULARY.group),
            "kind": K::VOCABULARY.kind,
            "metadata": {"name": "it", "generation": AT.generation},
            "status": {"observedGeneration": AT.generation, "conditions": self.0},
        });
        let options = kstatus::Options { profile: kstatus::Profile::Compatible, now: AT.now };
        let outcome = kstatus::compute(&object, &options).expect("kstatus takes our objects");
        match outcome.condition {
            Some(condition) => format!("{}/{}", outcome.status, condition.reason),
            None => outcome.status.to_string(),
        }
    }
}

#[test]
fn a_policy_is_current_only_once_routers_enforce_it() {
    use tool_policy::{Progressing, Ready};
    let waits =
        Said::nothing().and(Ready::AwaitingRouterEnforcement).and(Progressing::AwaitingRouterEnforcement);
    assert_eq!(waits.kstatus(), "InProgress/AwaitingRouterEnforcement");
    let enforced = Said::nothing().and(Ready::RouterEnforcing).and(Progressing::Reconciled);
    assert_eq!(enforced.kstatus(), "Current");
    let invalid = Said::nothing().and(Ready::SpecInvalid).and(Progressing::Failed);
    assert_eq!(invalid.kstatus(), "Failed/SpecInvalid");
    let unused = Said::nothing().and(Ready::NoSandboxesReferencing).and(Progressing::Reconciled);
    assert_eq!(unused.kstatus(), "InProgress/NoSandboxesReferencing");
}

#[test]
fn a_sandbox_without_an_adapter_fails_and_one_that_starts_is_in_progress() {
    use kars_sandbox::{Progressing, Ready, RuntimeReady};
    let missing = Said::nothing().and(Ready::AdapterMissing).and(RuntimeReady::AdapterMissing);
    assert_eq!(missing.and(Progressing::Failed).kstatus(), "Failed/AdapterMissing");
    let starts = Said::nothing().and(Ready::Creating).and(Progressing::Creating);
    assert_eq!(starts.kstatus(), "InProgress/Creating");
    let runs = Said::nothing().and(Ready::RouterEnforcing).and(Progressing::Reconciled);
    assert_eq!(runs.kstatus(), "Current");
}

#[test]
fn an_approval_that_expired_or_was_asked_for_wrongly_fails() {
    use egress_approval::{Degraded, Progressing, Ready};
    let expired = Said::nothing().and(Ready::Expired).and(Progressing::Reconciled).and(Degraded::Expired);
    assert_eq!(expired.kstatus(), "Failed/Expired");
    let invalid = Said::nothing().and(Ready::TtlInvalid).and(Progressing::Failed).and(Degraded::TtlInvalid);
    assert_eq!(invalid.kstatus(), "Failed/TtlInvalid");
    let blocked = Said::nothing().and(Ready::BlockedOnSandbox).and(Progressing::Failed);
    assert_eq!(blocked.and(Degraded::BlockedOnSandbox).kstatus(), "InProgress/BlockedOnSandbox");
    let active = Said::nothing().and(Ready::RouterConfirmed).and(Progressing::Reconciled);
    assert_eq!(active.and(Degraded::NotDegraded).kstatus(), "Current");
}

#[test]
fn an_eval_that_found_drift_fails() {
    use kars_eval::{ConformanceDrift, Progressing, Ready};
    let drift = Said::nothing().and(Ready::DriftDetected).and(Progressing::Reconciled);
    assert_eq!(drift.and(ConformanceDrift::DriftDetected).kstatus(), "Failed/DriftDetected");
    let passed = Said::nothing().and(Ready::AllPassed).and(Progressing::Reconciled);
    assert_eq!(passed.and(ConformanceDrift::AllPassed).kstatus(), "Current");
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
    told_one_thing::<kars_sandbox::KarsSandbox>();
    told_one_thing::<a2a_agent::A2AAgent>();
    told_one_thing::<mcp_server::McpServer>();
    told_one_thing::<tool_policy::ToolPolicy>();
    told_one_thing::<inference_policy::InferencePolicy>();
    told_one_thing::<kars_memory::KarsMemory>();
    told_one_thing::<kars_eval::KarsEval>();
    told_one_thing::<trust_graph::TrustGraph>();
    told_one_thing::<egress_approval::EgressApproval>();
}
