//! What kstatus makes of kars objects: it does not know `Progressing` or `Degraded`, so `Reconciling` and `Stalled`
//! say it for them.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Entry, Kind};
use kars_api::{
    a2a_agent, egress_approval, inference_policy, kars_eval, kars_memory, kars_sandbox, mcp_server,
    tool_policy, trust_graph,
};
use shared::{Said, not_current_without_a_word, told_one_thing, waits_or_fails};

#[path = "../../conditions/tests/read_by_kstatus/mod.rs"]
mod shared;

#[test]
fn a_policy_is_current_only_once_routers_enforce_it() {
    use tool_policy::{Degraded, Progressing, Ready};
    let waits =
        Said::nothing().and(Ready::AwaitingRouterEnforcement).and(Progressing::AwaitingRouterEnforcement);
    assert_eq!(waits.kstatus(), "InProgress/AwaitingRouterEnforcement");
    let enforced = Said::nothing().and(Ready::RouterEnforcing).and(Progressing::Reconciled);
    assert_eq!(enforced.and(Degraded::NotDegraded).kstatus(), "Current");
    let invalid = Said::nothing().and(Ready::SpecInvalid).and(Progressing::Failed);
    assert_eq!(invalid.kstatus(), "Failed/SpecInvalid");
    let unused = Said::nothing().and(Ready::NoSandboxesReferencing).and(Progressing::Reconciled);
    assert_eq!(unused.and(Degraded::NotDegraded).kstatus(), "InProgress/NoSandboxesReferencing");
}

#[test]
fn a_sandbox_without_an_adapter_fails_and_one_that_starts_is_in_progress() {
    use kars_sandbox::{
        AllowlistAuthoritative, AllowlistDrift, AllowlistVerified, Degraded, Progressing, Ready,
        RuntimeReady, Suspended,
    };
    let missing = Said::nothing().and(Ready::AdapterMissing).and(RuntimeReady::AdapterMissing);
    assert_eq!(missing.and(Progressing::Failed).kstatus(), "Failed/AdapterMissing");
    let starts = Said::nothing().and(Ready::Creating).and(Progressing::Creating);
    assert_eq!(starts.kstatus(), "InProgress/Creating");
    let runs = || {
        Said::nothing()
            .and(Ready::RouterEnforcing)
            .and(Progressing::Reconciled)
            .and(Degraded::NotDegraded)
            .and(Suspended::Active)
            .and(RuntimeReady::Reconciled)
            .and(AllowlistVerified::Verified)
            .and(AllowlistAuthoritative::Verified)
            .and(AllowlistDrift::NoDrift)
    };
    assert_eq!(runs().kstatus(), "Current");
    assert_eq!(runs().and(AllowlistAuthoritative::StaleLKG).kstatus(), "InProgress/StaleLKG");
    assert_eq!(runs().and(Degraded::MemoryStoreMissing).kstatus(), "InProgress/MemoryStoreMissing");
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
    use kars_eval::{ConformanceDrift, Degraded, Progressing, Ready};
    let eval = |ready, progressing| Said::nothing().and(Degraded::NotDegraded).and(ready).and(progressing);
    let drift = |ready, progressing| eval(ready, progressing).and(ConformanceDrift::DriftDetected).kstatus();
    assert_eq!(drift(Ready::DriftDetected, Progressing::Reconciled), "Failed/DriftDetected");
    // Until a run that somebody asked for has ended, the old verdict is not the last word.
    assert_eq!(drift(Ready::DriftDetected, Progressing::Reconciling), "InProgress/Reconciling");
    assert_eq!(drift(Ready::DriftDetected, Progressing::Scheduled), "InProgress/Scheduled");
    assert_eq!(drift(Ready::RunTriggered, Progressing::Reconciled), "InProgress/RunTriggered");
    let passed = eval(Ready::AllPassed, Progressing::Reconciled);
    assert_eq!(passed.and(ConformanceDrift::AllPassed).kstatus(), "Current");
}

/// Every reason of a kind that does not say that all is well or rests, in a set in which all else is well, waits or
/// fails in words of `Reconciling` and `Stalled`; what `rests` does neither.
fn told_what_waits<K: Kind>(well: &[&str], rests: &[&str]) {
    let own = || K::VOCABULARY.types.iter().flat_map(|known| known.entries);
    let name = |entry: &Entry| format!("{}/{}", entry.type_, entry.reason);
    let chosen: Vec<_> = own().filter(|entry| well.contains(&name(entry).as_str())).collect();
    assert_eq!(chosen.len(), K::VOCABULARY.types.len(), "one for each type of {}", K::VOCABULARY.kind);
    let still: Vec<_> = own().filter(|entry| !waits_or_fails::<K>(&chosen, entry)).map(name).collect();
    let mut expected: Vec<_> = own().map(name).filter(|one| well.contains(&one.as_str())).collect();
    expected.extend(rests.iter().map(|one| (*one).to_owned()));
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(still), sorted(expected), "{}", K::VOCABULARY.kind);
}

#[test]
fn what_waits_or_is_tried_again_is_in_progress_in_so_many_words() {
    const POLICY: &[&str] = &["Ready/RouterEnforcing", "Progressing/Reconciled", "Degraded/NotDegraded"];
    // `Progressing=False/Failed` only points at the condition that says why.
    const POLICY_RESTS: &[&str] = &["Ready/Reconciled", "Ready/NoSandboxesReferencing", "Progressing/Failed"];
    told_what_waits::<tool_policy::ToolPolicy>(POLICY, POLICY_RESTS);
    told_what_waits::<inference_policy::InferencePolicy>(POLICY, POLICY_RESTS);
    told_what_waits::<kars_memory::KarsMemory>(POLICY, POLICY_RESTS);
    told_what_waits::<kars_sandbox::KarsSandbox>(
        &[
            "Ready/RouterEnforcing",
            "Progressing/Reconciled",
            "Degraded/NotDegraded",
            "Suspended/Active",
            "RuntimeReady/Reconciled",
            "AllowlistVerified/Verified",
            "AllowlistAuthoritative/Verified",
            "AllowlistDrift/NoDrift",
        ],
        &[
            "Ready/Reconciled",
            "Ready/OverlayMode",
            "Ready/SuspendedBySpec",
            "Progressing/Failed",
            // A verdict about the agent, which the sandbox's controller can neither wait for nor change.
            "Degraded/EvalDrift",
            "Suspended/SuspendedBySpec",
            "RuntimeReady/OverlayMode",
            "AllowlistVerified/Unsigned",
            "AllowlistAuthoritative/InlineDiffersFromArtifact",
            "AllowlistAuthoritative/Inline",
            "AllowlistDrift/InlineDiffersFromArtifact",
            "AllowlistDrift/InlineCleared",
        ],
    );
    let simple: &[&str] = &["Ready/Reconciled", "Progressing/Reconciled"];
    told_what_waits::<a2a_agent::A2AAgent>(simple, &["Progressing/Failed"]);
    told_what_waits::<mcp_server::McpServer>(simple, &["Progressing/Failed"]);
    told_what_waits::<kars_eval::KarsEval>(
        &["Ready/AllPassed", "Progressing/Reconciled", "Degraded/NotDegraded", "ConformanceDrift/AllPassed"],
        &["Ready/Reconciled", "Progressing/Failed", "ConformanceDrift/NotEvaluated"],
    );
    told_what_waits::<trust_graph::TrustGraph>(
        &["Ready/Reconciled", "Progressing/Reconciled", "Degraded/NotDegraded"],
        &["Progressing/Failed"],
    );
    told_what_waits::<egress_approval::EgressApproval>(
        &["Ready/RouterConfirmed", "Progressing/Reconciled", "Degraded/NotDegraded"],
        &["Progressing/Failed"],
    );
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

#[test]
fn silence_is_not_read_as_current() {
    not_current_without_a_word::<kars_sandbox::KarsSandbox>();
    not_current_without_a_word::<a2a_agent::A2AAgent>();
    not_current_without_a_word::<mcp_server::McpServer>();
    not_current_without_a_word::<tool_policy::ToolPolicy>();
    not_current_without_a_word::<inference_policy::InferencePolicy>();
    not_current_without_a_word::<kars_memory::KarsMemory>();
    not_current_without_a_word::<kars_eval::KarsEval>();
    not_current_without_a_word::<trust_graph::TrustGraph>();
    not_current_without_a_word::<egress_approval::EgressApproval>();
}
