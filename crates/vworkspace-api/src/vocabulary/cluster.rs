//! What the conditions of a Cluster, the operator's report about itself, can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

/// The cluster as the operator sees it: the way to the control plane, its credential, the controllers it needs.
#[derive(Debug, Clone, Copy)]
pub enum Cluster {}

const STATUS: &str = "kubectl get clusters.ops.vworkspace.io -n vworkspace-system {name} -o yaml";
const DESCRIBE: &str = "kubectl describe clusters.ops.vworkspace.io -n vworkspace-system {name}";
const OPERATOR: &str = "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=200";
const NETWORK_LOGS: &str = "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=200 | grep -E '(odoo|proxy|http)'";
const REACH: &str = "kubectl exec -n vworkspace-system deploy/vworkspace-app-operator -- wget -O- -q $(kubectl get clusters.ops.vworkspace.io -n vworkspace-system {name} -o jsonpath='{.spec.controlPlaneBaseUrl}')/healthz || echo FAIL";
const RESOLVE: &str = "kubectl exec -n vworkspace-system deploy/vworkspace-app-operator -- nslookup $(kubectl get clusters.ops.vworkspace.io -n vworkspace-system {name} -o jsonpath='{.spec.controlPlaneBaseUrl}' | sed -E 's#^https?://([^:/]+).*#\\1#')";
const CREDENTIAL: &str =
    "kubectl get secret -n vworkspace-system vworkspace-operator-credentials -o jsonpath='{.metadata}'";
const CREDENTIAL_EVENTS: &str = "kubectl get events -n vworkspace-system | grep -i credential";
const CONTROLLER_PODS: &str = "kubectl get pods -A | grep -E '(helm-controller|source-controller|velero|cert-manager|external-secrets)'";
const CONTROLLER_DEPLOYMENTS: &str = "kubectl get deploy -A | grep -E '(helm-controller|source-controller|velero|cert-manager|external-secrets)'";

impl Kind for Cluster {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "vworkspace",
        group: "ops.vworkspace.io",
        kind: "Cluster",
        plural: "clusters",
        short_names: &["cluster"],
        investigate: &[DESCRIBE],
        types: &[
            Connected::TABLE,
            Disconnected::TABLE,
            Authenticated::TABLE,
            ControllersHealthy::TABLE,
            BufferOverflow::TABLE,
        ],
        reads: &[
            Reads::Stalled(Connected::RegistrationTokenInvalid.entry()),
            Reads::Stalled(Authenticated::CredentialRejected.entry()),
            Reads::Stalled(Authenticated::CredentialRevoked.entry()),
            Reads::Stalled(Authenticated::CredentialExpired.entry()),
            Reads::Reconciling(Connected::ControlPlaneUnreachable.entry()),
            Reads::Reconciling(Disconnected::NoRecentRoundTrip.entry()),
            Reads::Reconciling(Authenticated::ControlPlaneAuthenticationFailed.entry()),
            Reads::Reconciling(ControllersHealthy::ControllerMissing.entry()),
            Reads::Reconciling(ControllersHealthy::ControllerDegraded.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The last call to the control plane went through, within the heartbeat interval.
    Connected for Cluster {
        True RoundTripOK contract "0.1.0" {
            meaning: "The control plane answered the latest call.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        True ControlPlaneReachable contract "0.1.0" {
            meaning: "Registration went through; the first heartbeat follows.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False ControlPlaneUnreachable contract "0.1.0" {
            meaning: "Calls to spec.controlPlaneBaseUrl fail; the message has the network error. No new \
                      jobs arrive and events wait in the buffer; what is installed goes on.",
            investigate: [STATUS, NETWORK_LOGS, REACH, RESOLVE],
            resolve: "Open the way: DNS, firewall, egress proxy, the proxy's CA (operator.extraCaBundles). The \
                  operator retries by itself; no restart is needed.",
        }
        False RegistrationTokenInvalid contract "0.1.0" {
            meaning: "The control plane refused the one-time registration token: expired, already used, or \
                      not the one it issued.",
            investigate: [STATUS, "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=200 | grep 'registration failed'"],
            resolve: "Have the control plane issue a new token (Cluster Registry) and give it to the operator \
                  before its time runs out.",
        }
    }
}

conditions! {
    /// The control plane has been out of reach for longer than the disconnect window; only new intent waits.
    Disconnected is warning for Cluster {
        True NoRecentRoundTrip contract "0.1.0" {
            meaning: "No call has gone through within the disconnect window (5 minutes unless configured). \
                      Applications are kept as they were last wanted; no new jobs arrive.",
            investigate: [STATUS, NETWORK_LOGS, REACH, RESOLVE],
            resolve: "As for Connected=False: DNS, firewall, proxy, CA, or a refused credential. It clears when \
                  the connection has held for a minute.",
        }
        False Connected contract "0.1.0" {
            meaning: "The connection is alive, or has not been gone for as long as the disconnect window.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The control plane accepts the cluster's credential.
    Authenticated for Cluster {
        True CredentialAccepted contract "0.1.0" was ["RegistrationComplete"] {
            meaning: "The control plane accepted the token, and the client certificate if there is one.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False CredentialRejected contract "0.1.0" {
            meaning: "The control plane answered 401 or 403 to the credential. The operator has stopped \
                      calling until it gets a new one.",
            investigate: [CREDENTIAL, CREDENTIAL_EVENTS, OPERATOR],
            resolve: "Register again with a new token from the control plane. Check there too whether the \
                  cluster was removed or blocked.",
        }
        False CredentialRevoked contract "0.1.0" {
            meaning: "The control plane has revoked the credential, or a rotation failed and the old \
                      credential's grace time is over.",
            investigate: [
                CREDENTIAL,
                CREDENTIAL_EVENTS,
                "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=500 | grep -iE '(rotat|credential)'",
            ],
            resolve: "If it was revoked on purpose (a leak, say), settle that first. Then register again with a \
                  new token. If a rotation failed, the metric vworkspace_operator_credential_age_seconds \
                  shows since when.",
        }
        False CredentialExpired contract "0.1.0" {
            meaning: "The credential has reached its end, and the rotation that should have replaced it \
                      failed.",
            investigate: [CREDENTIAL, CREDENTIAL_EVENTS, OPERATOR],
            resolve: "Register again with a new token, then find out from the log why the rotation failed, lest \
                  it happens again.",
        }
        False ControlPlaneAuthenticationFailed contract "0.1.0" {
            meaning: "A heartbeat could not be authenticated, without a clear refusal of the credential: a \
                      TLS handshake that failed, a client certificate that could not be used. The message \
                      has the error.",
            investigate: [STATUS, OPERATOR, REACH],
            resolve: "Read the error: an unknown CA wants operator.extraCaBundles, a certificate that is not \
                  valid yet wants a right clock. The operator retries by itself.",
        }
    }
}

conditions! {
    /// The controllers that the operator relies on are there and well.
    ControllersHealthy for Cluster {
        True AllControllersReady contract "0.1.0" {
            meaning: "All that the operator hands work to (Flux, cert-manager, external-secrets, Velero) is \
                      installed and reports itself well.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False ControllerMissing contract "0.1.0" {
            meaning: "The message names controllers that cannot be found here: what would be handed to them \
                      waits.",
            investigate: [DESCRIBE, CONTROLLER_PODS, CONTROLLER_DEPLOYMENTS],
            resolve: "Install what is named. One that had come with the operator's own chart comes back when \
                  the chart is upgraded.",
        }
        False ControllerDegraded contract "0.1.0" {
            meaning: "At least one required controller is installed but not well; the message lists which \
                      and why.",
            investigate: [CONTROLLER_PODS, CONTROLLER_DEPLOYMENTS, "kubectl events -A --types=Warning"],
            resolve: "Look at the logs and events of the controller that the message names: the operator \
                  reports it and does not repair it.",
        }
    }
}

conditions! {
    /// Events for the control plane were dropped because the buffer was full.
    BufferOverflow is warning for Cluster {
        True EventBufferFull contract "0.1.0" {
            meaning: "The buffer of outgoing events is full and some were dropped; the message counts them. \
                      Statuses in the cluster are right, the control plane's history has gaps.",
            investigate: [STATUS, NETWORK_LOGS, REACH],
            resolve: "Restore the connection to the control plane; the buffer then drains by itself. What was \
                  dropped does not come back.",
        }
        False NoOverflow extension "0.1.0" {
            meaning: "No event has been dropped so far.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False BufferDrained contract "0.1.0" {
            meaning: "Events were dropped earlier; since then the buffer has been emptied.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
