//! What the conditions of an McpServer can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// An MCP server whose tools agents may use through the router.
#[derive(Debug, Clone, Copy)]
pub enum McpServer {}

const DESCRIBE: &str = "kubectl describe mcpserver -n {namespace} {name}";
const SPEC: &str = "kubectl get mcpserver -n {namespace} {name} -o yaml";
const KEYS: &str = "kubectl get configmap -n {namespace} mcp-{name}-jwks -o yaml";

impl Kind for McpServer {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "McpServer",
        plural: "mcpservers",
        short_names: &["mcp"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE],
        reads: &[
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Ready::DependencyMissing.entry()),
            Reads::Reconciling(Ready::Failed.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The server's OAuth metadata and keys are published for the routers; it says nothing about the server itself.
    Ready for McpServer {
        True Reconciled contract "0.1.0" {
            meaning: "OAuth metadata and signing keys were mirrored for every sandbox that uses the server. \
                      Whether the server answers is not known from this.",
            investigate: [DESCRIBE, KEYS],
            resolve: "Nothing to do.",
        }
        False SpecInvalid contract "0.1.0" was ["InvalidSpec"] {
            meaning: "The spec passes the schema but contradicts itself: production without an issuer or \
                      without https, a bundle beside inline fields.",
            investigate: [SPEC, DESCRIBE],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
        False DependencyMissing contract "0.1.0" was ["JwksFetchFailed"] {
            meaning: "In production mode the issuer's keys must be fetched first, and that fails: the \
                      issuer does not answer, or its answer has no keys.",
            investigate: [
                "kubectl get mcpserver -n {namespace} {name} -o jsonpath='{.spec.oauth.issuer}'",
                "curl -sS $(kubectl get mcpserver -n {namespace} {name} -o jsonpath='{.spec.oauth.issuer}')/.well-known/openid-configuration",
                CONTROLLER,
            ],
            resolve: "Make the issuer reachable from the controller, or correct spec.oauth.issuer. The \
                  controller tries again by itself.",
        }
        False Failed contract "0.1.0" was ["TimedOut", "ManagedWorkloadFailed", "McpProbeFailed"] {
            meaning: "The server could not be set up; the message has the error.",
            investigate: [DESCRIBE, KEYS, CONTROLLER],
            resolve: "Correct what the message names. The controller tries again by itself.",
        }
    }
    repeats { False Reconciling of Progressing }
}

conditions! {
    /// The controller is at work on the server.
    Progressing for McpServer {
        True Reconciling contract "0.1.0" {
            meaning: "Metadata and keys are being mirrored, or the workload of a managed server is starting.",
            investigate: [DESCRIBE, KEYS, "kubectl get deploy,pods -n kars-mcp"],
            resolve: "Wait.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "What is published says what the spec says.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Failed extension "0.1.0" {
            meaning: "The work has come to a halt; Ready says why.",
            investigate: [DESCRIBE, CONTROLLER],
            resolve: "Solve what Ready names.",
        }
    }
}
