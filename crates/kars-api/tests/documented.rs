//! The vocabularies hold every entry of the published document, and no other than those and our own additions.
//!
//! The lists are written by hand: a row that is dropped, misspelt or given another status fails.
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use conditions::{Origin, Vocabulary, proofread};
use kars_api::VOCABULARIES;

/// `Kind Type=Status/Reason` of every entry of the kinds' own types, sorted.
fn entries(origin: Origin) -> Vec<String> {
    let of_kind = |vocabulary: &&'static Vocabulary| {
        let own = vocabulary.types.iter().flat_map(|known| known.entries);
        let of_origin = own.filter(|entry| entry.origin == origin);
        let kind = vocabulary.kind;
        of_origin
            .map(|entry| format!("{kind} {}={}/{}", entry.type_, entry.status, entry.reason))
            .collect::<Vec<_>>()
    };
    sorted(VOCABULARIES.iter().flat_map(of_kind))
}

/// A list in which each line is `Kind Type=Status Reason Reason ...`.
fn listed(list: &str) -> Vec<String> {
    let lines = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    sorted(lines.filter(|words| !words.is_empty()).flat_map(|words| {
        words[2..].iter().map(|reason| format!("{} {}/{reason}", words[0], words[1])).collect::<Vec<_>>()
    }))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn the_nine_kinds_have_the_89_documented_entries() {
    let documented = listed(
        "KarsSandbox Ready=True Reconciled OverlayMode RouterEnforcing
         KarsSandbox Ready=False Created SuspendedBySpec Failed AdapterMissing InferencePolicyNotFound
         KarsSandbox Ready=False ToolPolicyNotFound AwaitingFoundryProvisioning AwaitingRouterEnforcement
         KarsSandbox Progressing=True Reconciling Creating
         KarsSandbox Degraded=True AuthMisconfigured MemoryStoreMissing FailedClosed EvalDrift
         KarsSandbox Suspended=True SuspendedBySpec
         KarsSandbox Suspended=False Active
         KarsSandbox RuntimeReady=False AdapterMissing
         KarsSandbox AllowlistVerified=True Verified
         KarsSandbox AllowlistVerified=False Unsigned FailedClosed
         KarsSandbox AllowlistAuthoritative=True Verified InlineDiffersFromArtifact
         KarsSandbox AllowlistAuthoritative=False Inline StaleLKG FailedClosed
         KarsSandbox AllowlistDrift=True InlineDiffersFromArtifact
         KarsSandbox AllowlistDrift=False InlineCleared

         A2AAgent Ready=True Reconciled
         A2AAgent Ready=False SpecInvalid Failed
         A2AAgent Progressing=True Reconciling Creating

         McpServer Ready=True Reconciled
         McpServer Ready=False SpecInvalid DependencyMissing Failed
         McpServer Progressing=True Reconciling

         ToolPolicy Ready=True RouterEnforcing Reconciled
         ToolPolicy Ready=False NoSandboxesReferencing SpecInvalid
         ToolPolicy Progressing=True AwaitingRouterEnforcement Reconciling
         ToolPolicy Degraded=True Failed

         InferencePolicy Ready=True RouterEnforcing Reconciled
         InferencePolicy Ready=False NoSandboxesReferencing SpecInvalid
         InferencePolicy Progressing=True AwaitingRouterEnforcement Reconciling
         InferencePolicy Degraded=True Failed

         KarsMemory Ready=True RouterEnforcing Reconciled
         KarsMemory Ready=False AwaitingFoundryProvisioning SpecInvalid
         KarsMemory Progressing=True AwaitingRouterEnforcement Reconciling
         KarsMemory Degraded=True AuthMisconfigured MemoryStoreMissing

         KarsEval Ready=True AllPassed
         KarsEval Ready=False Reconciled CorpusResolved Scheduled RunTriggered RunReportRead
         KarsEval Progressing=True Reconciling Scheduled
         KarsEval Degraded=True SpecInvalid TargetSandboxMissing TargetSandboxNotReady CorpusFetchFailed
         KarsEval Degraded=True CorpusParseFailed CorpusBuiltinMissing RunReportParseFailed
         KarsEval ConformanceDrift=True DriftDetected

         TrustGraph Ready=True Reconciled
         TrustGraph Progressing=True Reconciling
         TrustGraph Degraded=True SpecInvalid Failed

         EgressApproval Ready=True RouterConfirmed
         EgressApproval Progressing=True AwaitingRouterEcho
         EgressApproval Degraded=True TtlExceedsCeiling TtlInvalid ReasonInvalid
         EgressApproval Degraded=False BlockedOnSandbox Expired",
    );
    assert_eq!(documented.len(), 89);
    assert_eq!(entries(Origin::Contract), documented);
}

#[test]
fn our_additions_are_the_other_side_of_each_type_and_nothing_more() {
    let additions = listed(
        "KarsSandbox Ready=False Creating Reconciling FailedClosed AuthMisconfigured MemoryStoreMissing
         KarsSandbox Progressing=False Reconciled Failed
         KarsSandbox Degraded=False NotDegraded
         KarsSandbox RuntimeReady=True Reconciled
         KarsSandbox RuntimeReady=False OverlayMode
         KarsSandbox AllowlistVerified=False StaleLKG
         KarsSandbox AllowlistDrift=False NoDrift

         A2AAgent Ready=False Creating Reconciling
         A2AAgent Progressing=False Reconciled Failed

         McpServer Ready=False Reconciling
         McpServer Progressing=False Reconciled Failed

         ToolPolicy Ready=False AwaitingRouterEnforcement Reconciling Failed
         ToolPolicy Progressing=False Reconciled Failed
         ToolPolicy Degraded=False NotDegraded

         InferencePolicy Ready=False AwaitingRouterEnforcement Reconciling Failed
         InferencePolicy Progressing=False Reconciled Failed
         InferencePolicy Degraded=False NotDegraded

         KarsMemory Ready=False NoSandboxesReferencing AuthMisconfigured MemoryStoreMissing
         KarsMemory Ready=False AwaitingRouterEnforcement Reconciling
         KarsMemory Progressing=False Reconciled Failed
         KarsMemory Degraded=False NotDegraded

         KarsEval Ready=False Reconciling SpecInvalid TargetSandboxMissing TargetSandboxNotReady
         KarsEval Ready=False CorpusFetchFailed CorpusParseFailed CorpusBuiltinMissing RunReportParseFailed
         KarsEval Ready=False DriftDetected
         KarsEval Progressing=False Reconciled Failed
         KarsEval Degraded=False NotDegraded
         KarsEval ConformanceDrift=False AllPassed NotEvaluated

         TrustGraph Ready=False Reconciling SpecInvalid Failed
         TrustGraph Progressing=False Reconciled Failed
         TrustGraph Degraded=False NotDegraded

         EgressApproval Ready=False AwaitingRouterEcho BlockedOnSandbox TtlExceedsCeiling TtlInvalid
         EgressApproval Ready=False ReasonInvalid Expired
         EgressApproval Progressing=False Reconciled Failed
         EgressApproval Degraded=False NotDegraded",
    );
    assert_eq!(entries(Origin::Extension), additions);
}

#[test]
fn the_vocabularies_are_sound() {
    for vocabulary in VOCABULARIES {
        assert_eq!(proofread::problems(vocabulary), [""; 0]);
    }
}

#[test]
fn timed_out_which_no_kind_lists_is_understood_wherever_a_kind_can_fail() {
    for vocabulary in VOCABULARIES {
        let failures: Vec<_> = vocabulary.entries().filter(|entry| entry.reason == "Failed").collect();
        let holds = failures.iter().filter(|entry| entry.type_ != "Progressing");
        assert!(holds.clone().all(|entry| entry.answers_to("TimedOut")), "{}", vocabulary.kind);
        assert!(vocabulary.entries().all(|entry| entry.reason != "TimedOut"), "{}", vocabulary.kind);
    }
}
