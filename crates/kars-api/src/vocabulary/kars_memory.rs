//! What the conditions of a KarsMemory can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// The memory store that a sandbox's agent may use.
#[derive(Debug, Clone, Copy)]
pub enum KarsMemory {}

const DESCRIBE: &str = "kubectl describe karsmemory -n {namespace} {name}";
const SPEC: &str = "kubectl get karsmemory -n {namespace} {name} -o yaml";
const BINDING: &str = "kubectl get configmap -n {namespace} karsmemory-{name}-binding -o yaml";
const USERS: &str = "kubectl get karssandboxes -n {namespace} -o custom-columns=NAME:.metadata.name,MEMORY:.spec.memoryRef.name,PHASE:.status.phase";
const ROUTER: &str = "kubectl logs -n kars-$(kubectl get karsmemory -n {namespace} {name} -o jsonpath='{.spec.sandboxRef.name}') deploy/$(kubectl get karsmemory -n {namespace} {name} -o jsonpath='{.spec.sandboxRef.name}') -c inference-router --tail=200";

impl Kind for KarsMemory {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "KarsMemory",
        plural: "karsmemories",
        short_names: &["cmem"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE, Degraded::TABLE],
        reads: &[
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Reconciling(Progressing::AwaitingRouterEnforcement.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Degraded::AuthMisconfigured.entry()),
            Reads::Reconciling(Ready::AuthMisconfigured.entry()),
            Reads::Reconciling(Degraded::MemoryStoreMissing.entry()),
            Reads::Reconciling(Ready::MemoryStoreMissing.entry()),
            Reads::Reconciling(Ready::AwaitingFoundryProvisioning.entry()),
            Reads::Reconciling(Ready::AwaitingRouterEnforcement.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The sandbox can use the store, and only this one.
    Ready for KarsMemory {
        True RouterEnforcing contract "0.1.0" {
            meaning: "The router has loaded the very binding that the controller compiled, and the backend \
                      answers.",
            investigate: [DESCRIBE, USERS],
            resolve: "Nothing to do.",
        }
        True Reconciled contract "0.1.0" {
            meaning: "The binding is compiled and published, and has no part that a router would have to \
                      confirm.",
            investigate: [DESCRIBE, BINDING],
            resolve: "Nothing to do.",
        }
        False AwaitingFoundryProvisioning contract "0.1.0" {
            meaning: "The backend answers, but the store does not exist there yet. That is normal until the \
                      agent's first call.",
            investigate: [DESCRIBE, ROUTER],
            resolve: "Wait for the first call of the agent, or create the store at the backend.",
        }
        False SpecInvalid contract "0.1.0" was ["InvalidSpec"] {
            meaning: "The spec passes the schema but cannot be compiled: a scope with characters that are \
                      not allowed, a bundle beside inline fields.",
            investigate: [SPEC, DESCRIBE],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
        False NoSandboxesReferencing extension "0.1.0" {
            meaning: "The binding is compiled, but no sandbox names it in spec.memoryRef, so nobody uses it.",
            investigate: [USERS],
            resolve: "Name it in spec.memoryRef of the sandbox, or delete it. If it is kept for later, nothing \
                  to do.",
        }
    }
    repeats {
        False AuthMisconfigured of Degraded,
        False MemoryStoreMissing of Degraded,
        False AwaitingRouterEnforcement of Progressing,
        False Reconciling of Progressing,
    }
}

conditions! {
    /// The binding is on its way to the router.
    Progressing for KarsMemory {
        True AwaitingRouterEnforcement contract "0.1.0" {
            meaning: "The binding is compiled and published; the router has not confirmed it yet.",
            investigate: [USERS, ROUTER, BINDING],
            resolve: "Wait: it takes a minute or two to reach the pod. If it lasts, the router's log says why \
                  it refuses the binding.",
        }
        True Reconciling contract "0.1.0" {
            meaning: "A change of the spec is being compiled.",
            investigate: [DESCRIBE, BINDING],
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
    /// The store cannot be used, as the router has seen.
    Degraded is warning for KarsMemory {
        True AuthMisconfigured contract "0.1.0" {
            meaning: "The backend refuses the sandbox's identity (401 or 403). If the store is missing too, \
                      this comes first.",
            investigate: [DESCRIBE, ROUTER],
            resolve: "Give the project's managed identity the role that it needs at the backend. The next \
                  successful call clears it.",
        }
        True MemoryStoreMissing contract "0.1.0" {
            meaning: "The backend says that the store does not exist (404), and it could not be created.",
            investigate: [DESCRIBE, ROUTER, SPEC],
            resolve: "Create the store, or correct spec.storeName. The next successful call clears it.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing is known to fail.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
