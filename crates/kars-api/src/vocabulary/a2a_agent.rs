//! What the conditions of an A2AAgent can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// The card with which an agent presents itself to other agents.
#[derive(Debug, Clone, Copy)]
pub enum A2AAgent {}

const DESCRIBE: &str = "kubectl describe a2aagent -n {namespace} {name}";
const SPEC: &str = "kubectl get a2aagent -n {namespace} {name} -o yaml";
const CARD: &str = "kubectl get configmap -n {namespace} a2aagent-{name}-card -o yaml";

impl Kind for A2AAgent {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "A2AAgent",
        plural: "a2aagents",
        short_names: &["a2a"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE],
        reads: &[
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Reconciling(Progressing::Creating.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Ready::Failed.entry()),
            Reads::Reconciling(Ready::Creating.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The agent's card is compiled and published.
    Ready for A2AAgent {
        True Reconciled contract "0.1.0" {
            meaning: "The card of this generation is in its ConfigMap, for the router to use.",
            investigate: [DESCRIBE, CARD],
            resolve: "Nothing to do.",
        }
        False SpecInvalid contract "0.1.0" {
            meaning: "The spec passes the schema but cannot become a card: a signing key that is no Ed25519 \
                      key, a kid used twice, an expired key, no https in production.",
            investigate: [SPEC, DESCRIBE],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
        False Failed contract "0.1.0" was ["CardWriteFailed", "TimedOut"] {
            meaning: "The card could not be written; the message has the error.",
            investigate: [DESCRIBE, CARD, CONTROLLER],
            resolve: "Mostly missing rights, a quota, or a ConfigMap of that name that belongs to somebody \
                  else. The controller tries again by itself.",
        }
    }
    repeats { False Creating of Progressing, False Reconciling of Progressing }
}

conditions! {
    /// The controller is at work on the card.
    Progressing for A2AAgent {
        True Reconciling contract "0.1.0" {
            meaning: "A change of the spec is being compiled into the card.",
            investigate: [DESCRIBE, CARD],
            resolve: "Wait. This lasts seconds.",
        }
        True Creating contract "0.1.0" {
            meaning: "The card is being written for the first time.",
            investigate: [DESCRIBE, CARD],
            resolve: "Wait. This lasts seconds.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "The card says what the spec says.",
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
