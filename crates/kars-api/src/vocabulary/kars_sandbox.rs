//! What the conditions of a KarsSandbox can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// An AI agent that runs in a namespace of its own, with the router as its only way out.
#[derive(Debug, Clone, Copy)]
pub enum KarsSandbox {}

const DESCRIBE: &str = "kubectl describe karssandbox -n {namespace} {name}";
const SPEC: &str = "kubectl get karssandbox -n {namespace} {name} -o yaml";
const WORKLOAD: &str = "kubectl get deploy,pods -n kars-{name}";
const PODS: &str = "kubectl describe pods -n kars-{name}";
const EVENTS: &str = "kubectl events -n kars-{name}";
const ROUTER: &str = "kubectl logs -n kars-{name} deploy/{name} -c inference-router --tail=200";
const POLICIES: &str = "kubectl get inferencepolicies,toolpolicies,karsmemories -n {namespace}";
const MEMORY: &str = "kubectl describe karsmemory -n {namespace}";
const ALLOWLIST: &str = "kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.networkPolicy}'";
const ENFORCED: &str = "kubectl get configmap -n kars-{name} karssandbox-{name}-egress-allowlist -o yaml";
const SIGNERS: &str = "kubectl get configmap -n kars-system kars-signer-policy -o yaml";

impl Kind for KarsSandbox {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "KarsSandbox",
        plural: "karssandboxes",
        short_names: &["cs"],
        investigate: &[DESCRIBE],
        types: &[
            Ready::TABLE,
            Progressing::TABLE,
            Degraded::TABLE,
            Suspended::TABLE,
            RuntimeReady::TABLE,
            AllowlistVerified::TABLE,
            AllowlistAuthoritative::TABLE,
            AllowlistDrift::TABLE,
        ],
        reads: &[
            Reads::Stalled(RuntimeReady::AdapterMissing.entry()),
            Reads::Stalled(Ready::AdapterMissing.entry()),
            Reads::Reconciling(Progressing::Creating.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Ready::InferencePolicyNotFound.entry()),
            Reads::Reconciling(Ready::ToolPolicyNotFound.entry()),
            Reads::Reconciling(Degraded::FailedClosed.entry()),
            Reads::Reconciling(Ready::FailedClosed.entry()),
            Reads::Reconciling(AllowlistVerified::FailedClosed.entry()),
            Reads::Reconciling(AllowlistAuthoritative::FailedClosed.entry()),
            Reads::Reconciling(Ready::Failed.entry()),
            Reads::Reconciling(Ready::Creating.entry()),
            Reads::Reconciling(Ready::Created.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
            Reads::Reconciling(Ready::AwaitingRouterEnforcement.entry()),
            Reads::Reconciling(Ready::AwaitingFoundryProvisioning.entry()),
            Reads::Reconciling(Degraded::AuthMisconfigured.entry()),
            Reads::Reconciling(Ready::AuthMisconfigured.entry()),
            Reads::Reconciling(Degraded::MemoryStoreMissing.entry()),
            Reads::Reconciling(Ready::MemoryStoreMissing.entry()),
            // What is enforced is not what the spec asks for, and is tried again.
            Reads::Reconciling(AllowlistAuthoritative::StaleLKG.entry()),
            Reads::Reconciling(AllowlistVerified::StaleLKG.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The agent runs and does so under its policies.
    Ready for KarsSandbox {
        True Reconciled contract "0.1.0" {
            meaning: "The agent's workload is in place and running; there is no policy that a router would \
                      have to confirm.",
            investigate: [DESCRIBE, WORKLOAD],
            resolve: "Nothing to do.",
        }
        True RouterEnforcing contract "0.1.0" {
            meaning: "The agent runs, and its router has confirmed that it enforces every policy bound to \
                      it.",
            investigate: [DESCRIBE, WORKLOAD],
            resolve: "Nothing to do.",
        }
        True OverlayMode contract "0.1.0" {
            meaning: "Another controller runs the workload (spec.upstreamCompatibility: overlay); kars only \
                      adds its policies.",
            investigate: [SPEC, "kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.upstreamCompatibility}'"],
            resolve: "Nothing to do here. Problems of the pod belong to the controller that owns it.",
        }
        False Created contract "0.1.0" {
            meaning: "All objects of the sandbox have just been created; the pod has not been seen running \
                      yet.",
            investigate: [WORKLOAD, EVENTS],
            resolve: "Wait for the pod. If it does not start, its events say why: image, quota, no node.",
        }
        False SuspendedBySpec contract "0.1.0" {
            meaning: "spec.suspended is true: the workload is scaled to zero on purpose.",
            investigate: [SPEC, WORKLOAD],
            resolve: "Set spec.suspended to false to start the agent again.",
        }
        False Failed contract "0.1.0" was ["DeploymentFailed", "TimedOut"] {
            meaning: "The sandbox could not be brought into the wanted state; the message says what went \
                      wrong.",
            investigate: [DESCRIBE, PODS, EVENTS, CONTROLLER],
            resolve: "Correct what the message names. The controller tries again by itself.",
        }
        False AdapterMissing contract "0.1.0" {
            meaning: "kars has no adapter for this spec.runtime.kind, or not for the language chosen in it: \
                      no pod is made.",
            investigate: ["kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.runtime}'"],
            resolve: "Choose a runtime that is supported, or BYO with your own image. Waiting does not help.",
        }
        False InferencePolicyNotFound contract "0.1.0" {
            meaning: "The InferencePolicy that spec.inferenceRef names does not exist in this namespace. \
                      Without it the agent is not started.",
            investigate: ["kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.inferenceRef}'", "kubectl get inferencepolicies -n {namespace}"],
            resolve: "Create the policy or correct spec.inferenceRef.name. The sandbox goes on by itself.",
        }
        False ToolPolicyNotFound contract "0.1.0" {
            meaning: "The ToolPolicy that spec.governance names (kars-default if it names none) does not \
                      exist in this namespace.",
            investigate: ["kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.governance}'", "kubectl get toolpolicies -n {namespace}"],
            resolve: "Create the policy or correct spec.governance.toolPolicyRef.name. The sandbox goes on by \
                  itself.",
        }
        False AwaitingFoundryProvisioning contract "0.1.0" {
            meaning: "The memory store that the sandbox is bound to does not exist at its backend yet; it \
                      usually comes with the first call.",
            investigate: [MEMORY, ROUTER],
            resolve: "Wait for the first call of the agent, or create the store. If it does not come, look at \
                  the KarsMemory.",
        }
        False AwaitingRouterEnforcement contract "0.1.0" {
            meaning: "The router has not yet confirmed all policies bound to the sandbox; the message says \
                      which are missing.",
            investigate: [POLICIES, ROUTER, WORKLOAD],
            resolve: "Wait: a changed policy needs a minute or two to reach the pod. If it lasts, the router's \
                  log says why it refuses the policy.",
        }
    }
    repeats {
        False Creating of Progressing,
        False Reconciling of Progressing,
        False FailedClosed of Degraded,
        False AuthMisconfigured of Degraded,
        False MemoryStoreMissing of Degraded,
    }
}

conditions! {
    /// The controller is at work on the sandbox.
    Progressing for KarsSandbox {
        True Reconciling contract "0.1.0" {
            meaning: "A change of the sandbox or of its policies is being carried out.",
            investigate: [DESCRIBE, WORKLOAD, CONTROLLER],
            resolve: "Wait.",
        }
        True Creating contract "0.1.0" {
            meaning: "Namespace, accounts, network policy and workload are being created, or the pod is \
                      starting.",
            investigate: [WORKLOAD, PODS, EVENTS],
            resolve: "Wait. If the pod does not start, its events say why: image, quota, no node.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "Everything that the spec asks for has been done.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Failed extension "0.1.0" {
            meaning: "The work has come to a halt; Ready and Degraded say why.",
            investigate: [DESCRIBE, CONTROLLER],
            resolve: "Solve what Ready or Degraded names.",
        }
    }
}

conditions! {
    /// The agent may run, but something that it needs fails.
    Degraded is warning for KarsSandbox {
        True AuthMisconfigured contract "0.1.0" {
            meaning: "The memory backend refuses the sandbox's identity (401 or 403), as the router has \
                      seen.",
            investigate: [MEMORY, ROUTER],
            resolve: "Give the identity the role that it needs at the backend. The next successful call clears \
                  it.",
        }
        True MemoryStoreMissing contract "0.1.0" {
            meaning: "The memory store is not there (404) and could not be created, as the router has seen.",
            investigate: [MEMORY, ROUTER],
            resolve: "Create the store, or correct spec.storeName of the KarsMemory. The next successful call \
                  clears it.",
        }
        True FailedClosed contract "0.1.0" {
            meaning: "The egress allowlist could not be verified and there is no earlier verified one: \
                      nothing is allowed out, and no pod is started.",
            investigate: [ALLOWLIST, SIGNERS, CONTROLLER],
            resolve: "Correct the reference, the signature or the signer policy; AllowlistVerified's message \
                  has the cause. The pod then starts by itself.",
        }
        True EvalDrift contract "0.1.0" was ["ConformanceDrift"] {
            meaning: "A KarsEval with failSandboxOnDrift found that the sandbox no longer behaves as its \
                      policies demand.",
            investigate: ["kubectl get karsevals -n {namespace}", "kubectl describe karseval -n {namespace}"],
            resolve: "Look at the first failing cases in the eval's status and correct the policy or the agent. \
                  The next run that passes clears it.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing that the sandbox needs is known to fail.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The sandbox is paused.
    Suspended for KarsSandbox {
        True SuspendedBySpec contract "0.1.0" {
            meaning: "spec.suspended is true: the workload is scaled to zero.",
            investigate: [SPEC, WORKLOAD],
            resolve: "Set spec.suspended to false to start the agent again.",
        }
        False Active contract "0.1.0" {
            meaning: "The sandbox is not paused.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// There is an adapter that runs the chosen runtime.
    RuntimeReady for KarsSandbox {
        True Reconciled extension "0.1.0" {
            meaning: "The runtime is one that kars can run, and its part of the workload is in place.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False AdapterMissing contract "0.1.0" {
            meaning: "kars has no adapter for this spec.runtime.kind, or not for the language chosen in it.",
            investigate: ["kubectl get karssandbox -n {namespace} {name} -o jsonpath='{.spec.runtime}'"],
            resolve: "Choose a runtime that is supported, or BYO with your own image. Waiting does not help.",
        }
        False OverlayMode extension "0.1.0" {
            meaning: "Another controller runs the workload, so kars wires no runtime.",
            investigate: [SPEC],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The egress allowlist comes from an artifact whose signature was verified.
    AllowlistVerified for KarsSandbox {
        True Verified contract "0.1.0" {
            meaning: "The artifact was fetched by its digest, and its signature is one that the signer \
                      policy allows.",
            investigate: [ALLOWLIST, ENFORCED],
            resolve: "Nothing to do.",
        }
        False Unsigned contract "0.1.0" {
            meaning: "The allowlist stands in the spec (or is empty): there is no signed artifact. If the \
                      cluster demands signed lists, nothing is allowed out.",
            investigate: [ALLOWLIST],
            resolve: "Nothing to do where unsigned lists are allowed. Otherwise publish and sign the list and \
                  set spec.networkPolicy.allowlistRef.",
        }
        False FailedClosed contract "0.1.0" {
            meaning: "The artifact could not be verified, and there is no earlier verified list to go on \
                      with. The message has the cause.",
            investigate: [ALLOWLIST, SIGNERS, CONTROLLER],
            resolve: "Correct what the message names: reference, registry credentials, signature, or the signer \
                  policy.",
        }
    }
    repeats { False StaleLKG of AllowlistAuthoritative }
}

conditions! {
    /// The list that the router enforces is the one of the verified artifact.
    AllowlistAuthoritative for KarsSandbox {
        True Verified contract "0.1.0" {
            meaning: "The verified artifact is what is enforced.",
            investigate: [ENFORCED],
            resolve: "Nothing to do.",
        }
        True InlineDiffersFromArtifact contract "0.1.0" {
            meaning: "The verified artifact is what is enforced; the list in the spec differs from it and \
                      is ignored.",
            investigate: [ALLOWLIST, ENFORCED],
            resolve: "Remove spec.networkPolicy.allowedEndpoints, or publish a new artifact that has what you \
                  want.",
        }
        False Inline contract "0.1.0" {
            meaning: "The list in the spec is what is enforced; there is no artifact.",
            investigate: [ALLOWLIST, ENFORCED],
            resolve: "Nothing to do where unsigned lists are allowed.",
        }
        False StaleLKG contract "0.1.0" {
            meaning: "The wanted artifact could not be verified; the last verified list is still enforced.",
            investigate: [ALLOWLIST, ENFORCED, SIGNERS, CONTROLLER],
            resolve: "Correct the reference, the signature or the signer policy; AllowlistVerified's message \
                  has the cause.",
        }
        False FailedClosed contract "0.1.0" {
            meaning: "No list could be verified, so nothing is allowed out.",
            investigate: [ALLOWLIST, SIGNERS, CONTROLLER],
            resolve: "Correct the reference, the signature or the signer policy; AllowlistVerified's message \
                  has the cause.",
        }
    }
}

conditions! {
    /// The list in the spec says something else than the artifact that is enforced.
    AllowlistDrift is warning for KarsSandbox {
        True InlineDiffersFromArtifact contract "0.1.0" {
            meaning: "The list in the spec and the verified artifact differ; the message lists what was \
                      added and removed.",
            investigate: [ALLOWLIST, ENFORCED],
            resolve: "Remove spec.networkPolicy.allowedEndpoints, or publish a new artifact that has what you \
                  want.",
        }
        False InlineCleared contract "0.1.0" {
            meaning: "They differed before; now they agree, or the list in the spec is gone.",
            investigate: [ALLOWLIST],
            resolve: "Nothing to do.",
        }
        False NoDrift extension "0.1.0" {
            meaning: "They have not differed so far.",
            investigate: [ALLOWLIST],
            resolve: "Nothing to do.",
        }
    }
}
