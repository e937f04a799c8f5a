//! What the conditions of a TrustGraph can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// Who trusts whom, by signed edges between agents.
#[derive(Debug, Clone, Copy)]
pub enum TrustGraph {}

const DESCRIBE: &str = "kubectl describe trustgraph {name}";
const SPEC: &str = "kubectl get trustgraph {name} -o yaml";
const PROJECTION: &str = "kubectl get configmap -n kars-system trustgraph-{name}-projection -o yaml";
const REJECTED: &str = "kubectl logs -n kars-system deploy/kars-controller --tail=500 | grep -i trustgraph";

impl Kind for TrustGraph {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "TrustGraph",
        plural: "trustgraphs",
        short_names: &["tg"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE, Degraded::TABLE],
        reads: &[
            Reads::Stalled(Degraded::SpecInvalid.entry()),
            Reads::Stalled(Ready::SpecInvalid.entry()),
            Reads::Reconciling(Progressing::Reconciling.entry()),
            Reads::Reconciling(Degraded::Failed.entry()),
            Reads::Reconciling(Ready::Failed.entry()),
            Reads::Reconciling(Ready::Reconciling.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The graph is checked and published; it does not say that a router uses it.
    Ready for TrustGraph {
        True Reconciled contract "0.1.0" {
            meaning: "The graph was parsed, the signatures of its edges were checked, and what passed is \
                      published. Edges that did not pass are counted in status.invalidEdges and left out.",
            investigate: ["kubectl get trustgraph {name}", PROJECTION],
            resolve: "Nothing to do. If status.invalidEdges is not 0, look for the edges in the controller's \
                  log.",
        }
    }
    repeats {
        False Reconciling of Progressing,
        False SpecInvalid of Degraded,
        False Failed of Degraded,
    }
}

conditions! {
    /// The controller is at work on the graph.
    Progressing for TrustGraph {
        True Reconciling contract "0.1.0" {
            meaning: "A change of the graph is being checked and published.",
            investigate: [DESCRIBE, PROJECTION],
            resolve: "Wait. This lasts seconds.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "What is published says what the spec says.",
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
    /// The graph could not be checked or published.
    Degraded is warning for TrustGraph {
        True SpecInvalid contract "0.1.0" {
            meaning: "The graph cannot be used as it stands: no vertex has a usable key, or an id is one \
                      that a signature cannot cover.",
            investigate: [SPEC, REJECTED],
            resolve: "Correct the vertices or edges that the message names. Only a change of the spec helps.",
        }
        True Failed contract "0.1.0" was ["ProjectionWriteFailed", "TimedOut"] {
            meaning: "The checked graph could not be written; the message has the error. What was published \
                      before stays.",
            investigate: [DESCRIBE, PROJECTION, CONTROLLER],
            resolve: "Mostly missing rights, a quota, or a graph too large for a ConfigMap. The controller \
                  tries again by itself.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing is known to fail.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
