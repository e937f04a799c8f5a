//! The Job that runs a command: as little as a pod can be allowed to do.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, PodSecurityContext, PodSpec, PodTemplateSpec,
    SeccompProfile, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use operator_kit::ObjectKey;
use vworkspace_api::operation::{Operation, RunCommandParameters};

use super::RUNNER;
use crate::controllers::operation::{MANAGED_BY, OPERATION_LABEL};

/// What the container is called.
pub(super) const CONTAINER: &str = "runner";
/// Nobody: what most images without a shell use, too.
const USER: i64 = 65532;
/// The one place that a command may write to.
const SCRATCH: &str = "tmp";

pub(super) fn job(operation: &Operation, parameters: &RunCommandParameters, key: ObjectKey) -> Job {
    let labels = labels(operation);
    Job {
        metadata: ObjectMeta {
            name: Some(key.name),
            namespace: key.namespace,
            labels: Some(labels.clone()),
            // Who deletes an operation that has ended does not want its Job either.
            owner_references: Some(vec![owner(operation)]),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            // A command that failed may have done half of its work: nobody runs it again unless the operation says so.
            backoff_limit: Some(parameters.backoff_limit.unwrap_or(0)),
            active_deadline_seconds: parameters.active_deadline_seconds,
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(pod(parameters)),
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}

fn pod(parameters: &RunCommandParameters) -> PodSpec {
    let list = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        service_account_name: Some(RUNNER.to_owned()),
        // Whoever made the account.
        automount_service_account_token: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![Container {
            name: CONTAINER.to_owned(),
            image: Some(parameters.image.clone()),
            command: list(&parameters.command),
            args: list(&parameters.args),
            env: (!parameters.env.is_empty()).then(|| parameters.env.clone()),
            resources: parameters.resources.clone(),
            volume_mounts: Some(vec![VolumeMount {
                name: SCRATCH.to_owned(),
                mount_path: format!("/{SCRATCH}"),
                ..VolumeMount::default()
            }]),
            security_context: Some(SecurityContext {
                allow_privilege_escalation: Some(false),
                read_only_root_filesystem: Some(true),
                capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
                ..SecurityContext::default()
            }),
            ..Container::default()
        }],
        volumes: Some(vec![Volume {
            name: SCRATCH.to_owned(),
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

/// On the Job and on its pods: pods are found by the operation's uid.
fn labels(operation: &Operation) -> BTreeMap<String, String> {
    let (name, value) = MANAGED_BY;
    [
        (name.to_owned(), value.to_owned()),
        (OPERATION_LABEL.to_owned(), operation.uid().unwrap_or_default()),
        // A command that comes back from a backup would run again.
        ("velero.io/exclude-from-backup".to_owned(), "true".to_owned()),
    ]
    .into()
}

fn owner(operation: &Operation) -> OwnerReference {
    OwnerReference {
        api_version: Operation::api_version(&()).into_owned(),
        kind: Operation::kind(&()).into_owned(),
        name: operation.name_any(),
        uid: operation.uid().unwrap_or_default(),
        ..OwnerReference::default()
    }
}
