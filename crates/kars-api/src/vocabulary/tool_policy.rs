//! What the conditions of a ToolPolicy can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// Which tools an agent may use, how often, and with whose approval.
#[derive(Debug, Clone, Copy)]
pub enum ToolPolicy {}

const DESCRIBE: &str = "kubectl describe toolpolicy -n {namespace} {name}";
const SPEC: &str = "kubectl get toolpolicy -n {namespace} {name} -o yaml";
const PROFILE: &str = "kubectl get configmap -n {namespace} toolpolicy-{name}-profile -o yaml";
const USERS: &str = "kubectl get karssandboxes -n {namespace} -o custom-columns=NAME:.metadata.name,TOOLPOLICY:.spec.governance.toolPolicyRef.name,PHASE:.status.phase";
const ROUTERS: &str = "kubectl get pods -A -l kars.azure.com/component=sandbox";

impl Kind for ToolPolicy {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "ToolPolicy",
        plural: "toolpolicies",
        short_names: &["tp"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE, Degraded::TABLE],
        reads: &[
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Reconciling(Progressing::AwaitingRouterEnforcement.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Degraded::Failed.entry()),
            Reads::Reconciling(Ready::Failed.entry()),
            Reads::Reconciling(Ready::AwaitingRouterEnforcement.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The policy is enforced where it is used.
    Ready for ToolPolicy {
        True RouterEnforcing contract "0.1.0" {
            meaning: "The routers of the sandboxes that use the policy have confirmed the very bytes that \
                      the controller compiled; the message counts them.",
            investigate: [DESCRIBE, USERS],
            resolve: "Nothing to do.",
        }
        True Reconciled contract "0.1.0" {
            meaning: "The policy is compiled and published, and has no part that a router would have to \
                      confirm.",
            investigate: [DESCRIBE, PROFILE],
            resolve: "Nothing to do.",
        }
        False NoSandboxesReferencing contract "0.1.0" {
            meaning: "The policy is compiled, but no sandbox uses it, so nobody enforces it.",
            investigate: [USERS],
            resolve: "Name the policy in spec.governance.toolPolicyRef of a sandbox, or delete it. If it is \
                  kept for later, nothing to do.",
        }
        False SpecInvalid contract "0.1.0" was ["InvalidSpec"] {
            meaning: "The spec passes the schema but cannot be compiled: two sources of the profile, a \
                      profile that does not parse.",
            investigate: [SPEC, DESCRIBE],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
    }
    repeats {
        False AwaitingRouterEnforcement of Progressing,
        False Reconciling of Progressing,
        False Failed of Degraded,
    }
}

conditions! {
    /// The policy is on its way to the routers.
    Progressing for ToolPolicy {
        True AwaitingRouterEnforcement contract "0.1.0" {
            meaning: "The policy is compiled and published; at least one router has not confirmed it yet. \
                      The message says how many have.",
            investigate: [USERS, ROUTERS, PROFILE],
            resolve: "Wait: it takes a minute or two to reach a pod. If it lasts, the log of the router \
                  (container inference-router in kars-<sandbox>) says why it refuses the policy.",
        }
        True Reconciling contract "0.1.0" {
            meaning: "A change of the spec is being compiled.",
            investigate: [DESCRIBE, PROFILE],
            resolve: "Wait. This lasts seconds.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "What is published says what the spec says, and nothing is being waited for.",
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
    /// The policy could not be compiled or published.
    Degraded is warning for ToolPolicy {
        True Failed contract "0.1.0" was ["ProfileWriteFailed", "Transient", "TimedOut"] {
            meaning: "Compiling, fetching a bundle or writing the ConfigMap failed; the message has the \
                      error. Routers keep the policy they have.",
            investigate: [DESCRIBE, PROFILE, CONTROLLER],
            resolve: "Correct what the message names: registry credentials, a signature, missing rights, a \
                  quota. The controller tries again by itself.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing is known to fail.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
