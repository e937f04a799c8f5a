//! What the conditions of an EgressApproval can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::CONTROLLER;

/// A permission for a sandbox to reach more hosts, for a limited time.
#[derive(Debug, Clone, Copy)]
pub enum EgressApproval {}

const DESCRIBE: &str = "kubectl describe egressapproval -n {namespace} {name}";
const SPEC: &str = "kubectl get egressapproval -n {namespace} {name} -o yaml";
const SANDBOX: &str = "kubectl describe karssandbox -n {namespace} $(kubectl get egressapproval -n {namespace} {name} -o jsonpath='{.spec.sandbox}')";
const MERGED: &str = "kubectl get configmap -n kars-$(kubectl get egressapproval -n {namespace} {name} -o jsonpath='{.spec.sandbox}') karssandbox-$(kubectl get egressapproval -n {namespace} {name} -o jsonpath='{.spec.sandbox}')-egress-approvals -o yaml";
const ROUTER: &str = "kubectl logs -n kars-$(kubectl get egressapproval -n {namespace} {name} -o jsonpath='{.spec.sandbox}') deploy/$(kubectl get egressapproval -n {namespace} {name} -o jsonpath='{.spec.sandbox}') -c inference-router --tail=200";

impl Kind for EgressApproval {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "kars",
        group: "kars.azure.com",
        kind: "EgressApproval",
        plural: "egressapprovals",
        short_names: &["eappr"],
        investigate: &[DESCRIBE],
        types: &[Ready::TABLE, Progressing::TABLE, Degraded::TABLE],
        reads: &[
            Reads::Stalled(Degraded::TtlExceedsCeiling.entry()),
            Reads::Stalled(Degraded::TtlInvalid.entry()),
            Reads::Stalled(Degraded::ReasonInvalid.entry()),
            Reads::Stalled(Ready::TtlExceedsCeiling.entry()),
            Reads::Stalled(Ready::TtlInvalid.entry()),
            Reads::Stalled(Ready::ReasonInvalid.entry()),
            // Whoever waits for the permission must not wait on.
            Reads::Stalled(Degraded::Expired.entry()),
            Reads::Stalled(Ready::Expired.entry()),
            Reads::Reconciling(Progressing::AwaitingRouterEcho.entry()),
            Reads::Reconciling(Degraded::BlockedOnSandbox.entry()),
            Reads::Reconciling(Ready::BlockedOnSandbox.entry()),
            Reads::Reconciling(Ready::AwaitingRouterEcho.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The hosts can be reached now.
    Ready for EgressApproval {
        True RouterConfirmed contract "0.1.0" {
            meaning: "The router has confirmed the merged allowlist that has the hosts of this approval in \
                      it.",
            investigate: [DESCRIBE, MERGED],
            resolve: "Nothing to do. status.expiresAt says until when.",
        }
    }
    repeats {
        False AwaitingRouterEcho of Progressing,
        False BlockedOnSandbox of Degraded,
        False TtlExceedsCeiling of Degraded,
        False TtlInvalid of Degraded,
        False ReasonInvalid of Degraded,
        False Expired of Degraded,
    }
}

conditions! {
    /// The permission is on its way to the router.
    Progressing for EgressApproval {
        True AwaitingRouterEcho contract "0.1.0" {
            meaning: "The permission is compiled and published; the router has not confirmed it yet.",
            investigate: [MERGED, ROUTER],
            resolve: "Wait: it takes a minute or two to reach the pod. If it lasts, the router's log says why \
                  it refuses the list.",
        }
        False Reconciled extension "0.1.0" {
            meaning: "Nothing is being waited for: the permission is in force, or it has ended.",
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

conditions! {
    /// The permission cannot be given as it was asked for.
    Degraded is warning for EgressApproval {
        True TtlExceedsCeiling contract "0.1.0" {
            meaning: "spec.ttl is longer than this cluster allows (a day unless configured). Nothing was \
                      opened.",
            investigate: [SPEC, "kubectl get deploy -n kars-system kars-controller -o yaml | grep -A1 EGRESS_APPROVAL_MAX_TTL_SECONDS"],
            resolve: "Create an approval with a shorter ttl; the message has the limit.",
        }
        True TtlInvalid contract "0.1.0" {
            meaning: "spec.ttl is no duration that can be used: days, hours, minutes and seconds only, and \
                      not zero. Nothing was opened.",
            investigate: [SPEC],
            resolve: "Create an approval with a ttl such as PT2H or P1DT30M.",
        }
        True ReasonInvalid contract "0.1.0" {
            meaning: "spec.reason has control characters or is empty. Nothing was opened.",
            investigate: [SPEC],
            resolve: "Create an approval with a reason in plain text.",
        }
        False BlockedOnSandbox contract "0.1.0" {
            meaning: "The sandbox does not exist or is not running, so there is nobody to open the way for. \
                      The permission itself is in order.",
            investigate: [SANDBOX],
            resolve: "Make the sandbox Ready; the approval then goes on by itself.",
        }
        False Expired contract "0.1.0" {
            meaning: "The time is over and the hosts are closed again. This is final.",
            investigate: [DESCRIBE, MERGED],
            resolve: "Nothing to do. If the hosts are still needed, create a new approval, or have them put on \
                  the sandbox's allowlist.",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing is wrong with the permission.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
