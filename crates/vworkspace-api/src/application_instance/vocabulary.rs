//! What the conditions of an ApplicationInstance can say.

use conditions::{Kind, Reads, Vocabulary, conditions};

use super::ApplicationInstance;

const DESCRIBE: &str = "kubectl describe applicationinstance -n {namespace} {name}";
const SPEC: &str = "kubectl get applicationinstance -n {namespace} {name} -o yaml";
const CHILDREN: &str = "kubectl get helmrelease,ocirepository,helmrepository -n {namespace} -l app.vworkspace.io/application-instance={name}";
const RELEASE: &str =
    "kubectl describe helmrelease -n {namespace} -l app.vworkspace.io/application-instance={name}";
const SOURCE: &str = "kubectl describe ocirepository,helmrepository -n {namespace} -l app.vworkspace.io/application-instance={name}";
const PODS: &str = "kubectl get pods -n {namespace}";
const SERVICES: &str = "kubectl get svc,ingress,endpointslices -n {namespace}";
/// Not `get events --sort-by`: no field of an Event tells the time of all of them, this command knows which to take.
const EVENTS: &str = "kubectl events -n {namespace}";
/// Flux's labels name the release, which need not be called as the instance is. Pods do not have them.
const RELEASE_OBJECTS: &str = "kubectl get all,pvc,ingress -n {namespace} -l helm.toolkit.fluxcd.io/namespace={namespace},helm.toolkit.fluxcd.io/name=$(kubectl get applicationinstance -n {namespace} {name} -o jsonpath='{.spec.release.name}')";
const ANNOTATIONS: &str =
    "kubectl get applicationinstance -n {namespace} {name} -o jsonpath='{.metadata.annotations}'";
const TO_APPROVE: &str = "kubectl get applicationinstance -n {namespace} {name} -o jsonpath='{.status.conditions[?(@.type==\"Blocked\")].message}'";
const APPROVED: &str =
    "kubectl get applicationinstance -n {namespace} {name} -o jsonpath='{.status.lastApprovedChange}'";
const CATALOG_POLICY: &str = "kubectl get configmap -n vworkspace-system vworkspace-catalog-policy -o yaml";
const OPERATIONS: &str = "kubectl get operations.ops.vworkspace.io -n {namespace}";
const HELM_CONTROLLER: &str = "kubectl logs -n flux-system deploy/helm-controller --tail=200";
const SOURCE_CONTROLLER: &str = "kubectl logs -n flux-system deploy/source-controller --tail=200";
const OPERATOR: &str = "kubectl logs -n vworkspace-system deploy/vworkspace-app-operator --tail=200";

impl Kind for ApplicationInstance {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "vworkspace",
        group: "apps.vworkspace.io",
        kind: "ApplicationInstance",
        plural: "applicationinstances",
        short_names: &["appinst"],
        investigate: &[DESCRIBE],
        types: &[
            Ready::TABLE,
            Reconciling::TABLE,
            Degraded::TABLE,
            Suspended::TABLE,
            Blocked::TABLE,
            Deleting::TABLE,
        ],
        reads: &[
            Reads::Stalled(Blocked::InvalidSpec.entry()),
            Reads::Stalled(Blocked::MissingChartSource.entry()),
            Reads::Stalled(Blocked::PolicyDenied.entry()),
            Reads::Reconciling(Reconciling::HelmReleaseInstalling.entry()),
            Reads::Reconciling(Reconciling::HelmReleaseUpgrading.entry()),
            Reads::Reconciling(Reconciling::ChartSourceSyncing.entry()),
            Reads::Reconciling(Reconciling::ChangePending.entry()),
            Reads::Reconciling(Reconciling::Reconciling.entry()),
            // A failed release that will be retried is reconciling: down here the retries are used up.
            Reads::Stalled(Ready::HelmReleaseFailed.entry()),
            // Whatever Reconciling says: what is waited for has not come.
            Reads::Reconciling(Ready::ChartUnreachable.entry()),
            Reads::Reconciling(Ready::WaitingForCertificate.entry()),
            Reads::Reconciling(Ready::WaitingForSecret.entry()),
            Reads::Reconciling(Ready::Installing.entry()),
            Reads::Reconciling(Ready::Upgrading.entry()),
            Reads::Reconciling(Ready::Blocked.entry()),
            Reads::Reconciling(Ready::Uninstalling.entry()),
        ],
        unobserved: Reconciling::Reconciling.entry(),
    };
}

conditions! {
    /// The application is available: its release is in place and the checks that were asked for pass.
    Ready for ApplicationInstance {
        True HelmReleaseReady contract "0.1.0" {
            meaning: "Flux has released this generation, and every readiness check of the instance passes.",
            investigate: [DESCRIBE, CHILDREN],
            resolve: "Nothing to do.",
        }
        True HelmReleaseReadyWithWarnings contract "0.1.0" {
            meaning: "The application is available, but something deserves attention before the next \
                      change: a Helm test that failed and is ignored, an ExternalSecret that cannot be \
                      refreshed while its Secret is there, or a chart or values key marked as deprecated. \
                      The message has the text.",
            investigate: [DESCRIBE, RELEASE],
            resolve: "Read the message: replace the deprecated key or chart, repair the test, or see why the \
                  store of the ExternalSecret does not answer. The warning goes when it is put right.",
        }
        True Placeholder extension "0.1.0" {
            meaning: "The instance is a placeholder (spec.mode): there is nothing to install, it only \
                      stands as a target for operations.",
            investigate: [SPEC],
            resolve: "Nothing to do. To install an application here, set spec.mode to managed and fill in \
                  spec.chart.",
        }
        False HelmReleaseFailed contract "0.1.0" {
            meaning: "Flux could not install, upgrade or correct the release. The message has its error, \
                      and names the revision that runs if there is one.",
            investigate: [RELEASE, PODS, EVENTS, HELM_CONTROLLER],
            resolve: "Correct what the message names, mostly spec.values, spec.chart.version or an image that \
                  cannot be pulled. A changed spec starts a new attempt; while Reconciling is True, Flux \
                  tries again by itself. To try the same spec once more: `kubectl annotate \
                  applicationinstance -n {namespace} {name} --overwrite \
                  apps.vworkspace.io/retry=\"$(date +%s)\"`.",
        }
        False ChartUnreachable contract "0.1.0" {
            meaning: "The registry or repository that holds the chart does not answer, or refuses us, or \
                      Flux has not been able to load the chart for a minute. Nothing is installed yet, or a new version waits for it; a release that already runs \
                      is not touched.",
            investigate: [SOURCE, SOURCE_CONTROLLER],
            resolve: "Restore the way to the chart source: address, DNS, proxy, pull credentials, certificate. \
                  Flux goes on trying by itself.",
        }
        False WaitingForCertificate contract "0.1.0" {
            meaning: "A cert-manager Certificate of the release has not been issued yet. The message names \
                      it.",
            investigate: [
                "kubectl get certificates.cert-manager.io,certificaterequests.cert-manager.io,orders.acme.cert-manager.io,challenges.acme.cert-manager.io -n {namespace}",
                "kubectl describe certificates.cert-manager.io -n {namespace}",
                "kubectl logs -n cert-manager deploy/cert-manager --tail=200",
            ],
            resolve: "Usually wait: issuing takes a minute or two. If it does not come, the Certificate's \
                  events name the cause: an issuer that does not exist, a DNS record that does not point \
                  here, a rate limit.",
        }
        False WaitingForSecret contract "0.1.0" {
            meaning: "A Secret or ConfigMap that the values come from, or a key in it, is not there yet; \
                      often external-secrets has not synced it.",
            investigate: [
                "kubectl get secret,configmap -n {namespace}",
                "kubectl get externalsecret -n {namespace}",
                "kubectl describe externalsecret -n {namespace}",
            ],
            resolve: "Create what the message names, or let external-secrets sync it. The operator notices by \
                  itself.",
        }
        False Installing contract "0.1.0" {
            meaning: "The first installation is under way.",
            investigate: [RELEASE, PODS, EVENTS],
            resolve: "Wait. If pods do not become ready, look at their events and logs: Flux gives up after its \
                  timeout and then the reason is HelmReleaseFailed.",
        }
        False Upgrading contract "0.1.0" {
            meaning: "A change has been handed to Flux, which has not reported this generation yet. What \
                      runs meanwhile is the old revision, the new one, or some of each.",
            investigate: [RELEASE, PODS, EVENTS],
            resolve: "Wait. If pods of the new revision do not become ready, look at their events and logs.",
        }
        False EndpointUnreachable extension "0.1.0" {
            meaning: "The release is in place, but a readiness check of the instance (HTTP or TCP) does not \
                      get an answer from its Service, or no Ingress of the release serves the host that \
                      spec.integrations.ingress promises.",
            investigate: [SERVICES, PODS, EVENTS],
            resolve: "Find out why the Service does not answer: no ready pods behind it, wrong port or path in \
                  the check, a NetworkPolicy in between. Without an Ingress: switch it on in spec.values, or \
                  correct the host.",
        }
        False Blocked extension "0.1.0" {
            meaning: "Nothing has been installed yet, because something has to be put right first: the \
                      condition Blocked says what.",
            investigate: [DESCRIBE],
            resolve: "Solve what Blocked names; the installation then starts by itself.",
        }
        Unknown Reconciling contract "0.1.0" {
            meaning: "The operator has not seen enough of the release to decide, or a readiness check has \
                      not had its first answer. This lasts seconds.",
            investigate: [DESCRIBE, CHILDREN, OPERATOR],
            resolve: "Wait. If it lasts longer than a minute, Flux does not look at its objects, or the operator \
                  cannot read them: its log says why.",
        }
    }
    repeats { False Uninstalling of Deleting }
}

conditions! {
    /// The spec has not been carried out completely yet; kstatus reads True as InProgress.
    Reconciling for ApplicationInstance {
        True HelmReleaseUpgrading contract "0.1.0" {
            meaning: "Flux is carrying a change over to the running release, or will retry one that failed.",
            investigate: [RELEASE, PODS, HELM_CONTROLLER],
            resolve: "Wait. If it does not end, the HelmRelease names the resource that does not become ready.",
        }
        True HelmReleaseInstalling contract "0.1.0" {
            meaning: "Flux is installing the release for the first time, or will retry an installation that \
                      failed.",
            investigate: [RELEASE, PODS, HELM_CONTROLLER],
            resolve: "Wait. If it does not end, the HelmRelease names the resource that does not become ready.",
        }
        True ChartSourceSyncing contract "0.1.0" {
            meaning: "Flux is fetching the chart of the wanted version; the release follows.",
            investigate: [SOURCE, SOURCE_CONTROLLER],
            resolve: "Wait. If it does not end, the source's conditions say what is wrong with the address or \
                  the credentials.",
        }
        True ChangePending extension "0.1.0" {
            meaning: "The spec has a change that has not been handed to Flux: reconciliation is paused, or \
                      the change waits for an approval or for something that Blocked names. What runs is \
                      the old revision.",
            investigate: [DESCRIBE, ANNOTATIONS, CATALOG_POLICY],
            resolve: "Look at Suspended and Blocked: end the pause, wait for the window to close, or give what \
                  is missing. The change then goes out by itself.",
        }
        True Reconciling extension "0.1.0" {
            meaning: "The spec has not been carried out, or not enough has been seen to say that it has. The \
                      message, or Ready, says what is waited for.",
            investigate: [DESCRIBE, CHILDREN, OPERATOR],
            resolve: "Wait, or give what Ready waits for. If Ready is Unknown for longer than a minute, the \
                  operator cannot read Flux's objects: its log says why.",
        }
        False Stable contract "0.1.0" {
            meaning: "Nothing is in flight: the spec has been carried out, or the operator has stopped \
                      trying (then Stalled is True).",
            investigate: [DESCRIBE],
            resolve: "Nothing to do, unless Stalled is True.",
        }
    }
}

conditions! {
    /// Something needs attention, whether or not the application still runs.
    Degraded is warning for ApplicationInstance {
        True HelmReleaseDegraded contract "0.1.0" {
            meaning: "A Helm action failed after an earlier success, and nothing was put back: what runs is \
                      the new revision, or parts of it.",
            investigate: [RELEASE, PODS, EVENTS, HELM_CONTROLLER],
            resolve: "The message names the action that failed. Correct spec.values or spec.chart.version, which \
                  starts another attempt. If the cause was in the cluster, ask for one: `kubectl annotate \
                  applicationinstance -n {namespace} {name} --overwrite \
                  apps.vworkspace.io/retry=\"$(date +%s)\"`.",
        }
        True UpgradeFailed contract "0.1.0" {
            meaning: "The new revision did not come up, so Flux went back: users have the revision that the \
                      message names, and the change in the spec is not live.",
            investigate: [
                RELEASE,
                PODS,
                "kubectl logs -n {namespace} <pod> --all-containers --previous --tail=200",
                EVENTS,
                HELM_CONTROLLER,
            ],
            resolve: "Compare spec.values with what the chart expects in the new version and correct them; that \
                  starts another attempt. To stay where you are for now, put the version and the values \
                  that run back into the spec. If the cause was in the cluster, ask for another attempt: \
                  `kubectl annotate applicationinstance -n {namespace} {name} --overwrite \
                  apps.vworkspace.io/retry=\"$(date +%s)\"`.",
        }
        True ChartUnreachable contract "0.1.0" {
            meaning: "The chart source has not answered for five minutes, or for as long as the operator's \
                      flag --chart-unreachable-after says. A running release goes on, but no new version \
                      can reach it.",
            investigate: [SOURCE, SOURCE_CONTROLLER],
            resolve: "Restore the way to the chart source: address, DNS, proxy, pull credentials, certificate.",
        }
        True EndpointUnreachable contract "0.1.0" {
            meaning: "A readiness check of the instance (HTTP or TCP) fails, or no Ingress of the release \
                      serves the host that spec.integrations.ingress promises.",
            investigate: [SERVICES, PODS, EVENTS],
            resolve: "Find out why the Service does not answer: no ready pods behind it, wrong port or path in \
                  the check, a NetworkPolicy in between. Without an Ingress: switch it on in spec.values, or \
                  correct the host.",
        }
        True Drifted contract "0.1.0" {
            meaning: "Objects of the release were changed behind Helm's back. The operator reports it and \
                      leaves them as they are.",
            investigate: [
                "kubectl get events -n {namespace} --field-selector reason=DriftDetected",
                "helm get manifest -n {namespace} <release> | kubectl diff -n {namespace} -f -",
            ],
            resolve: "Take the change over into spec.values, undo it by hand, or list fields that another \
                  controller sets in spec.driftDetection.ignore. The condition clears when Flux has found no \
                  drift for two of its intervals (spec.interval).",
        }
        False NotDegraded extension "0.1.0" {
            meaning: "Nothing has been wrong so far.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Recovered contract "0.1.0" {
            meaning: "Something was wrong and no longer is.",
            investigate: [DESCRIBE, EVENTS],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// Reconciliation is paused: changes of the spec do not go out.
    Suspended for ApplicationInstance {
        True ReconcilePaused contract "0.1.0" {
            meaning: "apps.vworkspace.io/reconcile=disabled is set in the instance's metadata: until it goes, \
                      the operator reports here and changes nothing else.",
            investigate: [ANNOTATIONS],
            resolve: "To end the pause: `kubectl annotate applicationinstance -n {namespace} {name} \
                  apps.vworkspace.io/reconcile-`. Not while the operator is being uninstalled, which \
                  relies on the pause.",
        }
        True ManuallySuspended contract "0.1.0" {
            meaning: "spec.suspend is true, set by an administrator or by the control plane. The \
                      HelmRelease is suspended too.",
            investigate: [SPEC, "kubectl get applicationinstance -n {namespace} {name} --show-managed-fields -o yaml"],
            resolve: "Set spec.suspend to false where it was set: if the control plane owns the field, do it \
                  there.",
        }
        True OperationInProgress extension "0.1.0" {
            meaning: "A Restore is running on this instance; its release is suspended until that has ended.",
            investigate: [OPERATIONS],
            resolve: "Wait for the operation to end. Reconciliation then resumes by itself.",
        }
        True MaintenanceWindow contract "0.1.0" {
            meaning: "A maintenance window of the spec or of the catalog policy is open: inside it nothing \
                      is changed. Or it was open and cannot be read any more: the message says what is wrong.",
            investigate: [SPEC, CATALOG_POLICY],
            resolve: "Wait for the window to close; the message says when. To go on at once, change the window. \
                  One that cannot be read has to be corrected or removed.",
        }
        False Active contract "0.1.0" {
            meaning: "Reconciliation is not paused.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// Reconciliation cannot go on until something outside is put right.
    Blocked is warning for ApplicationInstance {
        True InvalidSpec extension "0.1.0" was ["ValidationFailed"] {
            meaning: "The spec contradicts itself in a way that the API server could not catch. The message \
                      names the field.",
            investigate: [SPEC],
            resolve: "Correct the field that the message names. Only a change of the spec helps.",
        }
        True MissingDependencies contract "0.1.0" {
            meaning: "The instance needs a controller that this cluster does not have, such as cert-manager \
                      or external-secrets. The message names it.",
            investigate: [
                "kubectl get pods -A | grep -E '(helm-controller|source-controller|cert-manager|external-secrets)'",
                "kubectl get crd | grep -E '(fluxcd.io|cert-manager.io|external-secrets.io)'",
            ],
            resolve: "Install the controller that the message names, or switch the integration off in \
                  spec.integrations.",
        }
        True MissingChartSource contract "0.1.0" {
            meaning: "The chart or its version does not exist at the source, the source is not on the list \
                      of allowed ones, or the source that spec.chart.sourceRef names is absent or points to \
                      another chart or version.",
            investigate: [SPEC, SOURCE, CATALOG_POLICY],
            resolve: "Correct spec.chart (url, name, version), publish the version, or have the source added to \
                  allowedChartSources in the catalog policy.",
        }
        True MissingSecret contract "0.1.0" {
            meaning: "The Secret or ConfigMap that holds the values, a key in it, or the target of an \
                      ExternalSecret does not exist yet.",
            investigate: [
                "kubectl get secret,configmap -n {namespace}",
                "kubectl get externalsecret -n {namespace}",
                "kubectl describe externalsecret -n {namespace}",
            ],
            resolve: "Put the Secret, the ConfigMap or the key in place that the message names. If an \
                  ExternalSecret should bring it, its status says why it has not. No restart is needed.",
        }
        True DependencyNotReady extension "0.1.0" {
            meaning: "The instance depends on another one that is not Ready.",
            investigate: ["kubectl get applicationinstances -n {namespace}", DESCRIBE],
            resolve: "Look at the instance that the message names; this one goes on when that one is Ready.",
        }
        True AwaitingApproval contract "0.1.0" {
            meaning: "The change needs an approval that has not been given, has expired, or was given for \
                      another change. A release that runs stays as it is.",
            investigate: [TO_APPROVE, APPROVED, CATALOG_POLICY],
            resolve: "The first command says what waits for an approval, the second what was approved last. \
                  Whoever has a private key whose public key the operator was given (the chart's value \
                  approvals.publicKeys) signs a claim about exactly that and puts it into \
                  spec.approvals.claim; docs/approvals.md shows how. There is no control plane yet that \
                  would do it. A change of the spec after the approval needs another one.",
        }
        True PolicyDenied contract "0.1.0" {
            meaning: "A policy of the cluster refuses: an admission policy, webhook, quota or role does not \
                      let the operator write the HelmRelease or its source, or Flux an object of the \
                      release; or the catalog policy cannot be read. The message has the words.",
            investigate: [
                RELEASE,
                "kubectl get validatingadmissionpolicy,validatingwebhookconfiguration",
                "kubectl get ns {namespace} -o yaml",
                "kubectl get serviceaccount,rolebinding -n {namespace}",
                "kubectl auth can-i --list -n {namespace} --as=system:serviceaccount:{namespace}:<account>",
                CATALOG_POLICY,
            ],
            resolve: "Change spec.values so that the policy is satisfied, or have the policy changed. If the \
                  message is that User \"system:serviceaccount:{namespace}:<account>\" cannot do something, \
                  mostly list secrets, then the service account in whose name Flux installs is missing or \
                  lacks rights: create it, and bind it to a Role that allows Secrets, where Helm stores \
                  its releases, and everything that the chart makes. The operator notices by itself; where \
                  Flux was refused and has given up, ask for another attempt: `kubectl annotate applicationinstance -n {namespace} {name} --overwrite \
                  apps.vworkspace.io/retry=\"$(date +%s)\"`.",
        }
        False NotBlocked extension "0.1.0" {
            meaning: "Nothing has stood in the way so far.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Unblocked contract "0.1.0" {
            meaning: "Something stood in the way and no longer does.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The application is being uninstalled.
    Deleting for ApplicationInstance {
        True Uninstalling contract "0.1.0" was ["Deleting"] {
            meaning: "The HelmRelease is being deleted and Helm removes what it had created.",
            investigate: [CHILDREN, RELEASE, HELM_CONTROLLER],
            resolve: "Wait. If it does not end, the HelmRelease says which hook or object Helm waits for. Do \
                  not remove finalizers: that leaves the application's objects behind.",
        }
        True WaitingForChildResources contract "0.1.0" {
            meaning: "The release is gone, but some of its objects, or pods of theirs, have not ended yet, or \
                      Flux did not delete them. The message names them.",
            investigate: [RELEASE_OBJECTS, PODS, EVENTS],
            resolve: "Look at the objects that the message names: a finalizer whose controller is gone, or a \
                  pod that does not stop, on a node that may be lost. If Flux did not uninstall the release, \
                  because its service account is gone, remove it with `helm uninstall RELEASE -n NAMESPACE`. \
                  To leave the objects, set spec.deletionPolicy to Orphan.",
        }
        False NotDeleting extension "0.1.0" {
            meaning: "Nobody has asked for the instance to be deleted.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
