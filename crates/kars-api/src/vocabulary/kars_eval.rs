//! What the conditions of a KarsEval can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// A check that a sandbox really behaves as its policies demand, run once or on a schedule.
#[derive(Debug, Clone, Copy)]
pub enum KarsEval {}

const DESCRIBE: &str = "kubectl describe karseval -n {namespace} {name}";
const SPEC: &str = "kubectl get karseval -n {namespace} {name} -o yaml";
const CORPUS: &str = "kubectl get karseval -n {namespace} {name} -o jsonpath='{.spec.corpus}'";
const RESULT: &str = "kubectl get karseval -n {namespace} {name} -o jsonpath='{.status.lastResult}'";
const REPORT: &str = "kubectl get configmap -n {namespace} karseval-{name}-report -o yaml";
const RUNS: &str = "kubectl get cronjob,job,pods -n {namespace} | grep karseval-{name}";
const TARGET: &str = "kubectl describe karssandbox -n {namespace} $(kubectl get karseval -n {namespace} {name} -o jsonpath='{.spec.targetSandboxRef.name}')";

impl Kind for KarsEval {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "KarsEval",
        plural: "karsevals",
        short_names: &["ceval"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE, Degraded::TABLE, ConformanceDrift::TABLE],
        reads: &[
            Reads::Stalled(Degraded::SpecInvalid.entry()),
            Reads::Stalled(Degraded::CorpusBuiltinMissing.entry()),
            Reads::Stalled(Degraded::CorpusParseFailed.entry()),
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Stalled(Ready::CorpusBuiltinMissing.entry()),
            Reads::Stalled(Ready::CorpusParseFailed.entry()),
            Reads::Reconciling(Progressing::Scheduled.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Ready::RunTriggered.entry()),
            Reads::Reconciling(Ready::RunReportRead.entry()),
            // Down here no new verdict is on its way.
            Reads::Stalled(ConformanceDrift::DriftDetected.entry()),
            Reads::Stalled(Ready::DriftDetected.entry()),
            Reads::Reconciling(Degraded::TargetSandboxMissing.entry()),
            Reads::Reconciling(Ready::TargetSandboxMissing.entry()),
            Reads::Reconciling(Degraded::TargetSandboxNotReady.entry()),
            Reads::Reconciling(Ready::TargetSandboxNotReady.entry()),
            Reads::Reconciling(Degraded::CorpusFetchFailed.entry()),
            Reads::Reconciling(Ready::CorpusFetchFailed.entry()),
            Reads::Reconciling(Degraded::RunReportParseFailed.entry()),
            Reads::Reconciling(Ready::RunReportParseFailed.entry()),
            Reads::Reconciling(Ready::Scheduled.entry()),
            Reads::Reconciling(Ready::CorpusResolved.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The last run passed in every case.
    Ready for KarsEval {
        True AllPassed contract "0.1.0" {
            meaning: "The last run of the corpus passed in every case.",
            investigate: [RESULT, REPORT],
            resolve: "Nothing to do.",
        }
        False Reconciled contract "0.1.0" {
            meaning: "Everything is prepared, and nothing has been run: there is no schedule and nobody has \
                      asked for a run.",
            investigate: [DESCRIBE],
            resolve: "Ask for a run: `kubectl annotate karseval -n {namespace} {name} \
                  kars.azure.com/run-now=true`. Or set spec.schedule.",
        }
        False CorpusResolved contract "0.1.0" {
            meaning: "The corpus is found and checked; no run has been started yet.",
            investigate: [CORPUS, "kubectl get configmap -n {namespace} karseval-{name}-corpus -o yaml"],
            resolve: "Wait for the run, or ask for one: `kubectl annotate karseval -n {namespace} {name} \
                  kars.azure.com/run-now=true`.",
        }
        False Scheduled contract "0.1.0" {
            meaning: "The schedule is in place; its first run has not ended yet.",
            investigate: [SPEC, RUNS],
            resolve: "Wait for the schedule, or ask for a run: `kubectl annotate karseval -n {namespace} {name} \
                  kars.azure.com/run-now=true`.",
        }
        False RunTriggered contract "0.1.0" {
            meaning: "A run was asked for and is under way.",
            investigate: [RUNS],
            resolve: "Wait for the Job to end.",
        }
        False RunReportRead contract "0.1.0" {
            meaning: "A run has ended and its report was read; the verdict follows.",
            investigate: [RESULT, REPORT],
            resolve: "Wait. This lasts seconds.",
        }
    }
    repeats {
        False Reconciling of Progressing,
        False SpecInvalid of Degraded,
        False TargetSandboxMissing of Degraded,
        False TargetSandboxNotReady of Degraded,
        False CorpusFetchFailed of Degraded,
        False CorpusParseFailed of Degraded,
        False CorpusBuiltinMissing of Degraded,
        False RunReportParseFailed of Degraded,
        False DriftDetected of ConformanceDrift,
    }
}

conditions! {
    /// A first verdict is on its way.
    Progressing for KarsEval {
        True Reconciling contract "0.1.0" {
            meaning: "The corpus, the schedule or a run is being prepared.",
            investigate: [DESCRIBE, RUNS],
            resolve: "Wait.",
        }
        True Scheduled contract "0.1.0" {
            meaning: "The schedule is in place and its first run has not ended yet.",
            investigate: [SPEC, RUNS],
            resolve: "Wait for the schedule, or ask for a run: `kubectl annotate karseval -n {namespace} {name} \
                  kars.azure.com/run-now=true`.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "There is a verdict, or nothing that could give one has been asked for.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Failed extension "0.1.0" {
            meaning: "The work has come to a halt; Degraded says why.",
            investigate: [DESCRIBE, CONTROLLER],
            resolve: "Solve what Degraded names.",
        }
    }
}

conditions! {
    /// The check cannot be run, or its result cannot be used.
    Degraded is warning for KarsEval {
        True SpecInvalid contract "0.1.0" {
            meaning: "The spec passes the schema but contradicts itself: two sources for the corpus or \
                      none, a schedule that is no schedule.",
            investigate: [SPEC, DESCRIBE],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
        True TargetSandboxMissing contract "0.1.0" {
            meaning: "The sandbox that spec.targetSandboxRef names does not exist in this namespace.",
            investigate: ["kubectl get karssandboxes -n {namespace}", SPEC],
            resolve: "Create the sandbox or correct the reference. The eval goes on by itself.",
        }
        True TargetSandboxNotReady contract "0.1.0" {
            meaning: "The sandbox to be checked is not Ready, so a run would say nothing.",
            investigate: [TARGET],
            resolve: "Make the sandbox Ready; the run then starts by itself.",
        }
        True CorpusFetchFailed contract "0.1.0" {
            meaning: "The corpus artifact could not be fetched, or its signature is not one that the signer \
                      policy allows. The message has the cause.",
            investigate: [CORPUS, "kubectl get configmap -n kars-system kars-signer-policy -o yaml", CONTROLLER],
            resolve: "Correct the reference, the registry credentials or the signature. The controller tries \
                  again by itself.",
        }
        True CorpusParseFailed contract "0.1.0" {
            meaning: "The corpus was fetched but is not a valid one: not JSON, unknown fields, a case id \
                      twice, no cases.",
            investigate: [CORPUS, DESCRIBE],
            resolve: "Correct the corpus, publish it and change the reference. Waiting does not help.",
        }
        True CorpusBuiltinMissing contract "0.1.0" {
            meaning: "spec.corpus.builtin names a corpus that this version does not have.",
            investigate: [CORPUS],
            resolve: "Use one of: jailbreak-baseline, prompt-injection-2026q1, banned-tools, egress-known-bad, \
                  memory-isolation.",
        }
        True RunReportParseFailed contract "0.1.0" {
            meaning: "A run has ended, but its report cannot be read or does not belong to it, so it counts \
                      for nothing.",
            investigate: [RUNS, "kubectl logs -n {namespace} -l job-name --prefix --tail=100 | grep karseval-{name}", CONTROLLER],
            resolve: "Mostly a runner image of another version: correct spec.runnerImage and ask for a new run.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing keeps the check from being run.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The sandbox does not behave as its policies demand.
    ConformanceDrift is warning for KarsEval {
        True DriftDetected contract "0.1.0" {
            meaning: "At least one case of the last run failed. With spec.failSandboxOnDrift the sandbox is \
                      marked Degraded too.",
            investigate: [RESULT, REPORT, TARGET],
            resolve: "Look at the first failing cases in status.lastResult; correct the policy that should have \
                  held, then ask for a new run.",
        }
        False AllPassed extension "0.1.0" {
            meaning: "The last run passed in every case.",
            investigate: [RESULT],
            resolve: "Nothing to do.",
        }
        False NotEvaluated extension "0.1.0" {
            meaning: "There is no run whose result could be used.",
            investigate: [DESCRIBE],
            resolve: "Wait for a run, or look at Degraded.",
        }
    }
}
