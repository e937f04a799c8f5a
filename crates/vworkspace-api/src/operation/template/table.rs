//! The table of all templates.

use super::{Parameter, ParameterKind, RUNNER, Template};
use crate::operation::{Engine, OperationType};

/// Everything that an operation can be asked for.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "backup.velero",
        type_: OperationType::Backup,
        engine: Engine::Velero,
        verb: "backup",
        requires_ready: true,
        needs_approval: false,
        is_supported: true,
        meaning: "Velero saves the objects of the target's namespace, and its volumes.",
        parameters: &[
            optional(
                "retention",
                ParameterKind::Retention,
                "30d",
                "How long Velero keeps the backup, such as 720h, 30d or 30d12h; without it as long as Velero's own default. Wins over ttl.",
            ),
            optional("ttl", ParameterKind::Retention, "720h", "The same as retention, which wins."),
            optional(
                "snapshotVolumes",
                ParameterKind::Boolean,
                "true",
                "Whether volumes are saved as snapshots; without it as Velero decides.",
            ),
            optional(
                "storageLocation",
                ParameterKind::Name,
                "default",
                "The BackupStorageLocation; without it Velero's default.",
            ),
            INCLUDED_RESOURCES,
            EXCLUDED_RESOURCES,
            former("snapshotClassName", "csi-snapshots"),
            former("csiSnapshotClassName", "csi-snapshots"),
        ],
    },
    Template {
        name: "restore.velero",
        type_: OperationType::Restore,
        engine: Engine::Velero,
        verb: "restore",
        requires_ready: false,
        needs_approval: true,
        is_supported: true,
        meaning: "Velero brings a backup back. It always needs an approval, and starts although the target is not ready.",
        parameters: &[
            required(
                "backupName",
                ParameterKind::Name,
                "shop-nightly",
                "The Velero Backup that is brought back.",
            ),
            optional(
                "namespaceMapping",
                ParameterKind::TextMap,
                "{shop: shop-copy}",
                "From which namespace of the backup into which namespace.",
            ),
            optional(
                "restorePVs",
                ParameterKind::Boolean,
                "true",
                "Whether volumes are brought back; without it as Velero decides.",
            ),
            optional(
                "existingResourcePolicy",
                ParameterKind::OneOf(&["none", "update"]),
                "none",
                "What happens to objects that exist: none leaves them as they are, update changes them to what the backup has.",
            ),
            INCLUDED_RESOURCES,
            EXCLUDED_RESOURCES,
        ],
    },
    Template {
        name: "upgrade.helm",
        type_: OperationType::Upgrade,
        engine: Engine::Helm,
        verb: "upgrade",
        requires_ready: true,
        needs_approval: false,
        is_supported: true,
        meaning: "Another version of the chart or other values are written into the target's spec, and the operation follows the release. At least one of the two must be given.",
        parameters: &[
            optional("targetVersion", ParameterKind::Text, "1.3.0", "The version of the chart."),
            optional(
                "valuesPatch",
                ParameterKind::Object,
                "{replicas: 2}",
                "Values that replace those of the same name at the top level. No place for passwords: everybody who may read the operation reads them.",
            ),
        ],
    },
    Template {
        name: "runCommand.job",
        type_: OperationType::RunCommand,
        engine: Engine::Job,
        verb: "runcommand",
        requires_ready: true,
        needs_approval: false,
        is_supported: true,
        meaning: "A Job runs one command in the target's namespace.",
        parameters: &[
            required(
                "image",
                ParameterKind::Text,
                "registry.example.org/tools:1.0",
                "The image that the command runs in.",
            ),
            optional(
                "command",
                ParameterKind::TextList,
                "[/bin/sh, -c]",
                "The program and its first arguments; without it what the image says.",
            ),
            optional("args", ParameterKind::TextList, "[echo hello]", "The arguments."),
            optional(
                "env",
                ParameterKind::Env,
                "[{name: LEVEL, value: debug}]",
                "Variables: a list of name with value or valueFrom, as a pod has it, or a map from name to text.",
            ),
            optional(
                "resources",
                ParameterKind::Object,
                "{limits: {memory: 256Mi}}",
                "What the command may use: limits and requests, as a container has them.",
            ),
            SERVICE_ACCOUNT_NAME,
            BACKOFF_LIMIT,
            ACTIVE_DEADLINE_SECONDS,
            optional(
                "timeoutSeconds",
                ParameterKind::Number { least: 1 },
                "600",
                "The same as activeDeadlineSeconds, which wins.",
            ),
            TTL_SECONDS_AFTER_FINISHED,
        ],
    },
    Template {
        name: "migration.helmHookJob",
        type_: OperationType::Migration,
        engine: Engine::HelmHookJob,
        verb: "migration",
        requires_ready: true,
        needs_approval: false,
        is_supported: false,
        meaning: "A Job that the chart has as a hook runs once more.",
        parameters: &[
            required("hookName", ParameterKind::Text, "shop-migrate", "The name of the hook's Job."),
            optional(
                "image",
                ParameterKind::Text,
                "registry.example.org/shop:1.3.0",
                "The image that the hook runs in.",
            ),
            optional(
                "command",
                ParameterKind::TextList,
                "[/bin/migrate]",
                "The program and its first arguments.",
            ),
            optional("args", ParameterKind::TextList, "[--all]", "The arguments."),
            SERVICE_ACCOUNT_NAME,
            BACKOFF_LIMIT,
            ACTIVE_DEADLINE_SECONDS,
            TTL_SECONDS_AFTER_FINISHED,
        ],
    },
    Template {
        name: "runbook.workflow",
        type_: OperationType::Runbook,
        engine: Engine::Workflow,
        verb: "runbook",
        requires_ready: true,
        needs_approval: false,
        is_supported: false,
        meaning: "Argo Workflows runs the steps of a WorkflowTemplate.",
        parameters: WORKFLOW,
    },
    Template {
        name: "migration.workflow",
        type_: OperationType::Migration,
        engine: Engine::Workflow,
        verb: "migration",
        requires_ready: true,
        needs_approval: false,
        is_supported: false,
        meaning: "Argo Workflows runs the steps of a WorkflowTemplate that migrates the application's data.",
        parameters: WORKFLOW,
    },
    Template {
        name: "backup.snapshot",
        type_: OperationType::Backup,
        engine: Engine::Snapshot,
        verb: "backup",
        requires_ready: true,
        needs_approval: false,
        is_supported: false,
        meaning: "A CSI snapshot of one volume.",
        parameters: &[
            required("pvc", ParameterKind::Name, "data", "The PersistentVolumeClaim."),
            optional(
                "volumeSnapshotClassName",
                ParameterKind::Name,
                "csi-snapshots",
                "The VolumeSnapshotClass; without it the cluster's default.",
            ),
            optional(
                "quiesce",
                ParameterKind::Object,
                "{enabled: true, timeoutSeconds: 30}",
                "Whether writes are held back meanwhile, and for how long at most.",
            ),
        ],
    },
    Template {
        name: "backup.volsync",
        type_: OperationType::Backup,
        engine: Engine::Volsync,
        verb: "backup",
        requires_ready: true,
        needs_approval: false,
        is_supported: false,
        meaning: "VolSync copies a volume to a repository.",
        parameters: &[
            required("pvc", ParameterKind::Name, "data", "The PersistentVolumeClaim."),
            optional("direction", ParameterKind::Text, "source", "Which way the data goes."),
            optional("schedule", ParameterKind::Text, "0 2 * * *", "When it is copied again, in cron form."),
            REPOSITORY,
            optional(
                "retain",
                ParameterKind::Object,
                "{daily: 7}",
                "How many copies are kept: hourly, daily, weekly.",
            ),
            COPY_METHOD,
            optional(
                "source",
                ParameterKind::Object,
                "{}",
                "What else VolSync's ReplicationSource shall have.",
            ),
        ],
    },
    Template {
        name: "restore.volsync",
        type_: OperationType::Restore,
        engine: Engine::Volsync,
        verb: "restore",
        requires_ready: false,
        needs_approval: true,
        is_supported: false,
        meaning: "VolSync copies a volume back from a repository. It always needs an approval.",
        parameters: &[
            required("pvc", ParameterKind::Name, "data", "The PersistentVolumeClaim."),
            optional("direction", ParameterKind::Text, "destination", "Which way the data goes."),
            REPOSITORY,
            COPY_METHOD,
            optional(
                "destination",
                ParameterKind::Object,
                "{}",
                "What else VolSync's ReplicationDestination shall have.",
            ),
        ],
    },
];

const INCLUDED_RESOURCES: Parameter = optional(
    "includedResources",
    ParameterKind::TextList,
    "[deployments.apps, persistentvolumeclaims]",
    "Only these kinds of objects; without it all.",
);

const EXCLUDED_RESOURCES: Parameter =
    optional("excludedResources", ParameterKind::TextList, "[events]", "Not these kinds of objects.");

const SERVICE_ACCOUNT_NAME: Parameter = optional(
    "serviceAccountName",
    ParameterKind::OneOf(&[RUNNER]),
    RUNNER,
    "The service account that it runs as; there is no choice.",
);

const BACKOFF_LIMIT: Parameter = optional(
    "backoffLimit",
    ParameterKind::Number { least: 0 },
    "2",
    "How often a failed pod is replaced; without it never.",
);

const ACTIVE_DEADLINE_SECONDS: Parameter = optional(
    "activeDeadlineSeconds",
    ParameterKind::Number { least: 1 },
    "600",
    "After how many seconds Kubernetes stops the Job.",
);

const TTL_SECONDS_AFTER_FINISHED: Parameter = optional(
    "ttlSecondsAfterFinished",
    ParameterKind::Number { least: 0 },
    "86400",
    "How many seconds the Job is kept once it has ended, with its log; without it a day.",
);

const REPOSITORY: Parameter = optional(
    "repository",
    ParameterKind::Object,
    "{secretName: shop-restic, type: restic}",
    "Where the copies are: the Secret that tells it, and its type.",
);

const COPY_METHOD: Parameter =
    optional("copyMethod", ParameterKind::Text, "Snapshot", "How VolSync gets a state that stands still.");

const WORKFLOW: &[Parameter] = &[
    optional(
        "workflowTemplate",
        ParameterKind::Name,
        "shop-export",
        "The WorkflowTemplate. Wins over template; one of the two must be given.",
    ),
    optional("template", ParameterKind::Name, "shop-export", "The same as workflowTemplate, which wins."),
    optional(
        "workflowTemplateParameters",
        ParameterKind::TextMap,
        "{bucket: exports}",
        "The arguments of the workflow.",
    ),
    SERVICE_ACCOUNT_NAME,
    optional(
        "targetChartVersion",
        ParameterKind::Text,
        "1.3.0",
        "The version of the chart that it leads to.",
    ),
    former("snapshotClassName", "csi-snapshots"),
    optional(
        "timeoutSeconds",
        ParameterKind::Number { least: 1 },
        "3600",
        "After how many seconds the workflow is stopped.",
    ),
    former("failureAction", "stop"),
];

const fn optional(
    name: &'static str,
    kind: ParameterKind,
    example: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, kind, required: false, meaning, example, former: false }
}

const fn required(
    name: &'static str,
    kind: ParameterKind,
    example: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { required: true, ..optional(name, kind, example, meaning) }
}

/// A text that earlier versions took and no engine has a place for.
const fn former(name: &'static str, example: &'static str) -> Parameter {
    let meaning =
        "Accepted because earlier versions took it; it has no effect, because the engine has no such field.";
    Parameter { former: true, ..optional(name, ParameterKind::Text, example, meaning) }
}
