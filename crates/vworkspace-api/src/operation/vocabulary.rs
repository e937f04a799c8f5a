//! What the conditions of an Operation can say.

use conditions::kstatus::NOT_YET_OBSERVED;
use conditions::{Kind, Reads, Vocabulary, conditions};

use super::Operation;

const DESCRIBE: &str = "kubectl describe operations.ops.vworkspace.io -n {namespace} {name}";
const SPEC: &str = "kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o yaml";
const ALL: &str = "kubectl get operations.ops.vworkspace.io -n {namespace}";
const TARGET: &str = "kubectl describe applicationinstance -n {namespace} $(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.spec.targetRef.name}')";
const TARGET_ANNOTATIONS: &str = "kubectl get applicationinstance -n {namespace} $(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.spec.targetRef.name}') -o jsonpath='{.metadata.annotations}'";
const ENGINE_REF: &str =
    "kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.status.engineRef}'";
const CHILDREN: &str = "kubectl get jobs,pods -n {namespace} -l ops.vworkspace.io/operation=$(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.metadata.uid}')";
const CHILD_LOGS: &str = "kubectl logs -n {namespace} -l ops.vworkspace.io/operation=$(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.metadata.uid}') --all-containers --tail=200";
const VELERO_OBJECTS: &str = "kubectl get backups.velero.io,restores.velero.io -n velero";
const VELERO_LOGS: &str = "kubectl logs -n velero deploy/velero --tail=200";
const WORKFLOWS: &str = "kubectl get workflows.argoproj.io -n {namespace} -l ops.vworkspace.io/operation=$(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.metadata.uid}') -o yaml";

impl Kind for Operation {
    const VOCABULARY: &'static Vocabulary = &Vocabulary {
        system: "vworkspace",
        group: "ops.vworkspace.io",
        kind: "Operation",
        plural: "operations",
        short_names: &["op"],
        investigate: &[DESCRIBE],
        types: &[
            Accepted::TABLE,
            Running::TABLE,
            Succeeded::TABLE,
            Failed::TABLE,
            Cancelled::TABLE,
            Blocked::TABLE,
        ],
        reads: &[
            Reads::Stalled(Failed::EngineFailed.entry()),
            Reads::Stalled(Failed::VeleroBackupFailed.entry()),
            Reads::Stalled(Failed::JobFailedBackoffExceeded.entry()),
            Reads::Stalled(Failed::WorkflowFailed.entry()),
            Reads::Stalled(Failed::Timeout.entry()),
            Reads::Stalled(Failed::PreconditionFailed.entry()),
            // A pipeline must not take a superseded backup for a finished one.
            Reads::Stalled(Cancelled::UserCancelled.entry()),
            Reads::Stalled(Cancelled::SupersededByOperation.entry()),
            Reads::Current(Succeeded::EngineCompleted.entry()),
            Reads::Reconciling(Running::EngineStarted.entry()),
            Reads::Reconciling(Blocked::ConflictingOperation.entry()),
            Reads::Reconciling(Blocked::AwaitingApproval.entry()),
            Reads::Reconciling(Blocked::TargetSuspended.entry()),
            Reads::Reconciling(Blocked::TargetNotReady.entry()),
            Reads::Reconciling(Blocked::DependencyMissing.entry()),
            Reads::Reconciling(Blocked::CapabilityMissing.entry()),
            Reads::Reconciling(Accepted::ValidationFailed.entry()),
            Reads::Reconciling(Accepted::AdmissionPassed.entry()),
        ],
        unobserved: &NOT_YET_OBSERVED,
    };
}

conditions! {
    /// The request is valid and stands in line; it stays accepted while it is blocked.
    Accepted for Operation {
        True AdmissionPassed contract "0.1.0" {
            meaning: "The operator has checked the request and will carry it out.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do. If it does not start, Blocked says why.",
        }
        False ValidationFailed contract "0.1.0" {
            meaning: "The request cannot be carried out as it stands: often the target does not exist (any \
                      more), or a parameter does not fit its engine. The message names it.",
            investigate: [SPEC, "kubectl get applicationinstances -n {namespace}"],
            resolve: "Create the target that the message names, or create a new operation with the right \
                  parameters. The operator looks again when the target appears.",
        }
    }
}

conditions! {
    /// The engine is at work.
    Running for Operation {
        True EngineStarted contract "0.1.0" {
            meaning: "The operator has created the engine's object and has seen it start.",
            investigate: [DESCRIBE, ENGINE_REF, CHILDREN, VELERO_OBJECTS],
            resolve: "Wait. To stop it, set spec.cancel: true: a Job or Workflow is stopped, a Velero backup is \
                  removed when it has ended; a restore that has started cannot be stopped.",
        }
        False EngineNotStarted contract "0.1.0" {
            meaning: "The engine has not started, mostly because Blocked is True.",
            investigate: [DESCRIBE, ENGINE_REF],
            resolve: "Look at Blocked. If nothing blocks and the engine's object exists, look at that: Velero \
                  takes one backup after the other, a Job may find no node.",
        }
        False EngineFinished extension "0.1.0" {
            meaning: "The engine has ended its work; Succeeded, Failed or Cancelled says how.",
            investigate: [DESCRIBE, "kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.status.outputs}'"],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The operation has ended well; it never changes again.
    Succeeded for Operation {
        True EngineCompleted contract "0.1.0" {
            meaning: "The engine reported success. Warnings, such as items that a backup had to leave out, \
                      are in status.outputs.",
            investigate: ["kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.status.outputs}'", DESCRIBE],
            resolve: "Nothing to do; read the warnings in the outputs if there are any.",
        }
        False NotYetSucceeded contract "0.1.0" {
            meaning: "It has not succeeded: it waits, runs, has failed or was cancelled.",
            investigate: [DESCRIBE],
            resolve: "Look at Running, Blocked, Failed and Cancelled.",
        }
    }
}

conditions! {
    /// The operation has ended badly; it never changes again and is never retried.
    Failed is warning for Operation {
        True EngineFailed contract "0.1.0" {
            meaning: "The engine reported a failure that has no reason of its own here. The message has the \
                      engine's words.",
            investigate: [DESCRIBE, ENGINE_REF, CHILD_LOGS, VELERO_LOGS],
            resolve: "Correct what the message names and create a new operation; this one is not tried again.",
        }
        True VeleroBackupFailed contract "0.1.0" {
            meaning: "Velero failed the Backup that belongs to this operation. The message has Velero's own \
                      reason (status.failureReason).",
            investigate: [
                "kubectl describe backups.velero.io -n velero -l ops.vworkspace.io/operation=$(kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.metadata.uid}')",
                "kubectl get backupstoragelocations.velero.io -n velero",
                VELERO_LOGS,
            ],
            resolve: "Mostly the storage location (credentials, bucket, reachability) or a snapshot class. \
                  Correct it and create a new operation.",
        }
        True JobFailedBackoffExceeded contract "0.1.0" {
            meaning: "The Job's pod failed more often than its backoffLimit allows. Exit code and the \
                      reference to the logs are in status.outputs.",
            investigate: [CHILDREN, CHILD_LOGS, "kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.status.outputs}'"],
            resolve: "Correct the command: a wrong image tag, a Secret mounted wrongly, a host that cannot be \
                  reached. Then create a new operation.",
        }
        True WorkflowFailed contract "0.1.0" {
            meaning: "A step of the Argo Workflow failed. The message names the first one.",
            investigate: [
                WORKFLOWS,
                CHILD_LOGS,
                "kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.status.outputs.runId}'",
            ],
            resolve: "Correct the step (its template, script or parameters) and create a new operation. In \
                  Argo's own pages the run has the id in status.outputs.runId.",
        }
        True Timeout contract "0.1.0" {
            meaning: "The engine was still at work when the time allowed for it ran out.",
            investigate: [DESCRIBE, CHILDREN, CHILD_LOGS, VELERO_OBJECTS],
            resolve: "Find out what took so long. If it was only slow, create a new operation with a longer \
                  timeout.",
        }
        True PreconditionFailed contract "0.1.0" {
            meaning: "Something that had to hold before the start (target Ready, no conflicting operation) \
                      did not come true within spec.policy.waitTimeout. Nothing was done.",
            investigate: [DESCRIBE, TARGET, ALL],
            resolve: "Make the precondition true and create a new operation, with a longer waitTimeout or none.",
        }
        False NotFailed extension "0.1.0" {
            meaning: "It has not failed.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The operation was ended before its time; it never changes again.
    Cancelled for Operation {
        True UserCancelled contract "0.1.0" was ["CancelledByUser"] {
            meaning: "An administrator or the control plane cancelled it (spec.cancel), or it was deleted before it \
                      had ended.",
            investigate: [DESCRIBE, "kubectl get events -n {namespace} --field-selector involvedObject.name={name}"],
            resolve: "Nothing to do. If it is still wanted, create a new operation.",
        }
        True SupersededByOperation contract "0.1.0" {
            meaning: "It had not started when the same was asked for again, and doing it twice would help \
                      nobody: the operation that the message names does it.",
            investigate: [ALL, DESCRIBE],
            resolve: "Follow the newer operation.",
        }
        False NotCancelled extension "0.1.0" {
            meaning: "Nobody has cancelled it.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}

conditions! {
    /// The engine may not start until something is put right; the operation waits or can be cancelled.
    Blocked is warning for Operation {
        True ConflictingOperation contract "0.1.0" {
            meaning: "Another operation on the same target runs, or is next in line, and must not run \
                      together with this one. The message names it.",
            investigate: [ALL, "kubectl get operations.ops.vworkspace.io -A -o json | jq '.items[] | select(.status.phase==\"Running\") | .metadata.name'"],
            resolve: "Wait for the other one to end. If it hangs and it is safe, set spec.cancel: true there: `kubectl edit \
                  operations.ops.vworkspace.io -n {namespace} <its name>`.",
        }
        True AwaitingApproval contract "0.1.0" {
            meaning: "spec.approvals.required is true, or policy demands it, and the approval claim is \
                      missing, expired or made for another operation.",
            investigate: ["kubectl get operations.ops.vworkspace.io -n {namespace} {name} -o jsonpath='{.spec.approvals}'", DESCRIBE],
            resolve: "Put a valid claim into spec.approvals.claim, or cancel the operation with spec.cancel: true. A \
                  claim cannot be copied from another operation.",
        }
        True TargetSuspended extension "0.1.0" {
            meaning: "The operation has to pause the target, and somebody wants the target to be left alone: it has \
                      the annotation apps.vworkspace.io/reconcile=disabled.",
            investigate: [TARGET_ANNOTATIONS],
            resolve: "Remove the annotation from the target when whoever set it agrees; the operation then starts by \
                  itself. Or cancel it with spec.cancel: true.",
        }
        True TargetNotReady contract "0.1.0" {
            meaning: "The target instance is not Ready and spec.policy.requireReady asks for it.",
            investigate: [TARGET],
            resolve: "Make the target Ready: its own conditions say what is wrong. If the operation is meant \
                  for a broken target, create it with spec.policy.requireReady: false.",
        }
        True DependencyMissing contract "0.1.0" {
            meaning: "What the engine needs is not there: its controller (Velero, Argo Workflows) is not installed on \
                      this cluster, or the storage location of the backup is absent or not Available. The message \
                      names it.",
            investigate: [
                "kubectl get crd | grep -E '(velero.io|argoproj.io)'",
                "kubectl get deploy -A | grep -E '(velero|workflow-controller)'",
                "kubectl get backupstoragelocations.velero.io -A",
            ],
            resolve: "Install or repair what the message names; the operation then starts by itself. Or \
                  cancel it with spec.cancel: true and use another engine.",
        }
        True CapabilityMissing contract "0.1.0" {
            meaning: "The target does not say that it can do this with this engine: the annotation \
                      ops.vworkspace.io/<verb> is missing or lists other engines.",
            investigate: [TARGET_ANNOTATIONS, SPEC],
            resolve: "If the application supports it, annotate the target, e.g. ops.vworkspace.io/backup: \
                  velero. Otherwise create the operation with an engine that it lists.",
        }
        False NotBlocked extension "0.1.0" {
            meaning: "Nothing has stood in the way so far.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
        False Unblocked extension "0.1.0" {
            meaning: "Something stood in the way and no longer does.",
            investigate: [DESCRIBE],
            resolve: "Nothing to do.",
        }
    }
}
