//! What the controller looks at for one operation.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};
use operator_kit::{
    Caches, Cause, Deed, Found, ObjectKey, Refusal, Selection, Sight, TemporaryWatch, View, Watched, decode,
};
use serde::de::DeserializeOwned;
use tracing::Span;
use vworkspace_api::application_instance::{ApplicationInstance, Mode};
use vworkspace_api::operation::{BackupParameters, Operation, OperationType, Request, RestoreParameters};

use super::decide::Class;
use super::engines::{Engine, helm, job, velero};
use super::{Kinds, OPERATION_LABEL, Velero};

/// What an administrator lets be done in a namespace: a list of types.
const ALLOWED_TYPES: &str = "ops.vworkspace.io/allowed-types";

/// The world around one operation.
pub(crate) struct World {
    /// What carries it out, or what is wrong with what it asks for.
    pub(crate) engine: Result<Box<dyn Engine>, String>,
    /// What it works on.
    pub(crate) target: Sight<ApplicationInstance>,
    /// Who else wants to do something to that, and has not ended.
    pub(crate) others: Vec<Other>,
    pub(crate) allowed_types: AllowedTypes,
    /// Whether the whole namespace is seen to be deleted.
    pub(crate) is_namespace_ending: bool,
    /// What the API server did not let us do.
    pub(crate) refusals: Vec<Refusal>,
    /// The id of the cluster.
    pub(crate) cluster: String,
}

/// Another operation on the same target.
pub(crate) struct Other {
    pub(crate) operation: Operation,
    pub(crate) engine: Option<Box<dyn Engine>>,
}

/// What the namespace lets be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AllowedTypes {
    /// It has not been looked at yet.
    NotYet,
    /// It cannot be looked at; why.
    Unknown(String),
    /// Everything.
    All,
    /// These.
    Only(Vec<String>),
}

pub(super) fn world(operation: &Operation, view: &View<'_>, kinds: &Kinds) -> World {
    Span::current().record("operation_id", operation.uid());
    let namespace = operation.namespace().unwrap_or_default();
    let target = ObjectKey::namespaced(&namespace, &operation.spec.target_ref.name);
    // Nobody is in the way of one that is free.
    let others = match Class::of(operation) {
        Class::Free => Vec::new(),
        Class::Exclusive | Class::Shared => view.caches.named(kinds.operations, &target).into_objects(),
    };
    let others = others.into_iter().filter(|other| other.uid() != operation.uid());
    let target = view.caches.find(kinds.instances, &target);
    let namespace = view.find(&namespace_watch(operation));
    World {
        engine: engine(operation, &target, view, view.refusals, kinds),
        others: others
            .map(|other| Other { engine: engine(&other, &target, view, &[], kinds).ok(), operation: other })
            .collect(),
        target,
        allowed_types: allowed_types(&namespace),
        is_namespace_ending: is_ending(&namespace),
        refusals: view.refusals.to_vec(),
        cluster: view.cluster.to_owned(),
    }
}

/// The namespace, while the operation has not started: it may forbid it.
pub(super) fn namespace_watch(operation: &Operation) -> TemporaryWatch {
    let namespace = operation.namespace().unwrap_or_default();
    TemporaryWatch::of::<Namespace>(Selection::named(&namespace).metadata_only())
}

fn is_ending<O: AsRef<DynamicObject>>(namespaces: &Found<O>) -> bool {
    let namespace = namespaces.objects().first();
    namespace.is_some_and(|known| known.as_ref().metadata.deletion_timestamp.is_some())
}

impl AllowedTypes {
    /// Whether operations of this type are among them.
    pub(crate) fn allow(&self, type_: OperationType) -> bool {
        match self {
            AllowedTypes::NotYet | AllowedTypes::All => true,
            AllowedTypes::Unknown(_) => false,
            AllowedTypes::Only(types) => types.iter().any(|known| known == type_.as_str()),
        }
    }
}

fn allowed_types<O: AsRef<DynamicObject>>(found: &Found<O>) -> AllowedTypes {
    match found {
        Found::NotYet => AllowedTypes::NotYet,
        Found::Unlisted(why) => AllowedTypes::Unknown(why.clone()),
        Found::NotInstalled => AllowedTypes::Unknown("namespaces cannot be listed".to_owned()),
        Found::Objects(namespaces) => {
            let annotations =
                namespaces.first().and_then(|known| known.as_ref().metadata.annotations.as_ref());
            let list = annotations.and_then(|annotations| annotations.get(ALLOWED_TYPES));
            list.map_or(AllowedTypes::All, |list| {
                AllowedTypes::Only(list.split(',').map(|type_| type_.trim().to_owned()).collect())
            })
        }
    }
}

/// What is seen of the engine of any operation.
fn engine(
    operation: &Operation,
    target: &Sight<ApplicationInstance>,
    view: &View<'_>,
    refusals: &[Refusal],
    kinds: &Kinds,
) -> Result<Box<dyn Engine>, String> {
    let caches = view.caches;
    match operation.spec.request().map_err(|problems| problems.to_string())? {
        Request::RunCommand(parameters) => {
            let (namespace, uid) = (operation.namespace().unwrap_or_default(), operation.uid());
            let pods = ObjectKey::namespaced(&namespace, uid.as_deref().unwrap_or_default());
            let job = child(caches, kinds.jobs, &job::key(operation), operation);
            // Anybody can put our label on a pod: without a Job they count only if there was one.
            let has_begun = operation.status.as_ref().is_some_and(|status| status.engine_ref.is_some());
            let pods = match job {
                Sight::Present(_) => caches.named(kinds.pods, &pods).into_objects(),
                _ if has_begun => caches.named(kinds.pods, &pods).into_objects(),
                _ => Vec::new(),
            };
            let mut run = job::Run {
                parameters,
                job,
                pods,
                lacks_runner: matches!(
                    caches.find(kinds.runners, &job::runner_key(operation)),
                    Sight::Absent
                ),
                log: if operation.spec.policy.capture_logs { job::Log::Unread } else { job::Log::Unwanted },
            };
            if let Some(lines) = run.log_poll().and_then(|poll| view.answer(kinds.logs, &poll)) {
                run.log = job::Log::Read(lines);
            }
            Ok(Box::new(run))
        }
        Request::Backup(parameters) => {
            let mut work = backup(operation, parameters, caches, refusals, &kinds.velero);
            if let Some(watch) = work.volumes_watch() {
                work.volumes = typed(view.find(&watch));
            }
            Ok(Box::new(work))
        }
        Request::Restore(parameters) => {
            let lacks_pause = lacks_pause(operation, target);
            Ok(Box::new(velero::RestoreWork {
                lacks_pause,
                ..restore(operation, parameters, view, refusals, &kinds.velero)
            }))
        }
        Request::Upgrade(parameters) => {
            Ok(Box::new(helm::Upgrade::of(operation, parameters, target.clone())))
        }
    }
}

fn backup(
    operation: &Operation,
    parameters: BackupParameters,
    caches: &Caches,
    refusals: &[Refusal],
    velero: &Velero,
) -> velero::BackupWork {
    let removal = velero::removal_key(operation, &velero.namespace);
    let (key, backup) = velero_child(operation, caches, refusals, velero, velero.backups);
    velero::BackupWork {
        parameters,
        key,
        backup,
        locations: locations(caches, velero),
        removal: child(caches, velero.removals, &removal, operation),
        volumes: Found::NotYet,
    }
}

/// Those that can be read as what they should be.
fn typed<K: DeserializeOwned>(found: Found<Arc<DynamicObject>>) -> Found<K> {
    match found {
        Found::Objects(objects) => {
            Found::Objects(objects.iter().filter_map(|object| decode(object).ok()).collect())
        }
        Found::NotYet => Found::NotYet,
        Found::Unlisted(why) => Found::Unlisted(why),
        Found::NotInstalled => Found::NotInstalled,
    }
}

fn restore(
    operation: &Operation,
    parameters: RestoreParameters,
    view: &View<'_>,
    refusals: &[Refusal],
    velero: &Velero,
) -> velero::RestoreWork {
    let (key, restore) = velero_child(operation, view.caches, refusals, velero, velero.restores);
    let backup = match view.find(&velero::backup_watch(&parameters, &velero.namespace)) {
        Found::NotYet => None,
        Found::Unlisted(why) => Some(Sight::Unknown(why)),
        Found::NotInstalled => Some(Sight::NotInstalled),
        Found::Objects(backups) => Some(match backups.first().map(|backup| decode(backup)) {
            None => Sight::Absent,
            Some(Ok(backup)) => Sight::Present(backup),
            Some(Err(error)) => Sight::Unreadable(error.to_string()),
        }),
    };
    let own = operation.namespace().unwrap_or_default();
    let origin = backup.as_ref().and_then(Sight::present);
    let origin = origin.and_then(|backup| velero::namespace_watch(backup, &own));
    velero::RestoreWork {
        parameters,
        key,
        restore,
        locations: locations(view.caches, velero),
        backup,
        origin: origin.map_or(velero::Origin::NotYet, |watch| velero::Origin::of(&view.find(&watch))),
        lacks_pause: None,
    }
}

/// What of the target has to be brought to rest before a restore, and is not: Flux would undo it. The instance says for whom it
/// is paused.
fn lacks_pause(operation: &Operation, target: &Sight<ApplicationInstance>) -> Option<String> {
    let instance = target.present().filter(|instance| instance.spec.mode == Mode::Managed)?;
    let status = instance.status.as_ref();
    let is_paused = status.is_some_and(|status| status.paused_for == operation.uid());
    let suspended = status.and_then(|status| status.conditions.get("Suspended"));
    let words = suspended.map(|suspended| format!(" ({})", suspended.reason)).unwrap_or_default();
    (!is_paused)
        .then(|| format!("ApplicationInstance {} is not paused for it yet{words}.", instance.name_any()))
}

fn locations(caches: &Caches, velero: &Velero) -> velero::Locations {
    let found = caches.named(velero.locations, &velero::every_location(&velero.namespace));
    velero::Locations { namespace: velero.namespace.clone(), found }
}

/// The Velero object of an operation, under whichever of its names, and the name that it has or will have.
fn velero_child<K>(
    operation: &Operation,
    caches: &Caches,
    refusals: &[Refusal],
    velero: &Velero,
    children: Watched<K>,
) -> (ObjectKey, Sight<K>)
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let names = velero::names(operation).map(|name| ObjectKey::namespaced(&velero.namespace, &name));
    let is_taken = is_taken::<K>(refusals, names.each_ref());
    let [first, second] = names.map(|key| {
        let sight = child(caches, children, &key, operation);
        (key, sight)
    });
    if is_second(&first.1, &second.1, is_taken) { second } else { first }
}

/// Whether the object of an operation has its second name, or gets it.
fn is_second<K>(first: &Sight<K>, second: &Sight<K>, is_taken: bool) -> bool {
    matches!(first, Sight::Absent) && (is_taken || matches!(second, Sight::Present(_)))
}

/// Whether somebody else has something under the first of these names. That the second was refused came after that.
fn is_taken<K: Resource<DynamicType = ()>>(refusals: &[Refusal], names: [&ObjectKey; 2]) -> bool {
    let [first, second] = &names.map(|key| format!("{} {key}", K::kind(&())));
    refusals.iter().any(|refusal| {
        let is_of = |name: &str| refusal.deed == Deed::Make && refusal.object == name;
        is_of(second) || refusal.cause == Cause::Owned && is_of(first)
    })
}

/// A child of an operation; a namesake of somebody else is none.
fn child<K>(caches: &Caches, children: Watched<K>, key: &ObjectKey, operation: &Operation) -> Sight<K>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    match caches.find(children, key) {
        Sight::Present(found) if found.labels().get(OPERATION_LABEL) != operation.uid().as_ref() => {
            Sight::Absent
        }
        sight => sight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::velero::{Backup, Restore};

    #[test]
    fn the_object_of_an_operation_is_the_one_that_is_its_own() {
        let (absent, present) = (Sight::Absent, Sight::Present(()));
        let unknown = Sight::Unknown("forbidden".to_owned());
        let table = [
            ("neither is there", &absent, &absent, false, false),
            ("neither is there, and the first name is somebody else's", &absent, &absent, true, true),
            ("the first", &present, &absent, false, false),
            ("the first, whatever was refused", &present, &absent, true, false),
            ("the second, after a restart", &absent, &present, false, true),
            ("nothing can be seen", &unknown, &unknown, true, false),
        ];
        for (name, first, second, is_taken, expected) in table {
            assert_eq!(is_second(first, second, is_taken), expected, "{name}");
        }
    }

    #[test]
    fn a_name_is_taken_when_somebody_else_has_it() {
        let key = |name: &str| ObjectKey::namespaced("velero", name);
        let table = [
            ("Backup velero/web", Deed::Make, Cause::Owned, true),
            ("Backup velero/web-12345678", Deed::Make, Cause::Owned, true),
            ("Backup velero/web", Deed::Make, Cause::Forbidden, false),
            ("Backup velero/web", Deed::Clear, Cause::Owned, false),
            ("Backup elsewhere/web", Deed::Make, Cause::Owned, false),
            ("Restore velero/web", Deed::Make, Cause::Owned, false),
        ];
        for (object, deed, cause, expected) in table {
            let refusal = Refusal { object: object.to_owned(), deed, cause, message: String::new() };
            let names = [&key("web"), &key("web-12345678")];
            assert_eq!(is_taken::<Backup>(std::slice::from_ref(&refusal), names), expected, "{refusal:?}");
        }
        assert!(!is_taken::<Restore>(&[], [&key("web"), &key("web-12345678")]));
    }
}
