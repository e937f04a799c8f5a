//! Applying and deleting children.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::json;
use tokio::time::timeout;
use tracing::{debug, info};

use super::{ANSWER, Error, Task, api, difference, refused};
use crate::cache::Caches;
use crate::fault::Fault;
use crate::freshness::Wrote;
use crate::object::ObjectId;
use crate::plan::{Child, Deletion, Dependents, Nudge};

impl Task<'_> {
    /// Brings a child to what is wanted, unless the cache shows that it is.
    pub(super) async fn apply(&mut self, child: &Child, caches: &Caches) -> Result<(), Error> {
        let (id, desired) = (child.id(), marked(child));
        let live = caches.of(&child.resource).and_then(|cache| cache.object(&id.key));
        match &live {
            Some(live) => {
                check_owner(&id, &desired, live)?;
                let Some(place) = difference::first(&desired, live) else {
                    debug!(child = %id, "is as wanted");
                    return Ok(());
                };
                info!(child = %id, place, "applying: it is not as wanted");
            }
            None => {
                self.check_stranger(&id, &desired).await?;
                info!(child = %id, "applying: it is not there");
            }
        }
        let api = api(&self.actor.client, &child.resource, &id.key);
        // Not forced: what somebody else has set is theirs until they let go of it.
        let params = PatchParams::apply(&self.actor.manager);
        let patch = Patch::Apply(&desired);
        let written = self.write("apply", &id, api.patch(&id.key.name, &params, &patch)).await?;
        if let Some(version) = written.metadata.resource_version {
            self.expect(id, Wrote::Version(version));
        }
        Ok(())
    }

    /// The caches show only children that carry our label: a namesake of somebody else must not be taken over.
    async fn check_stranger(&self, id: &ObjectId, desired: &DynamicObject) -> Result<(), Error> {
        let api = api(&self.actor.client, &id.resource, &id.key);
        match timeout(ANSWER, api.get_metadata_opt(&id.key.name)).await {
            Err(_) => Err(Error::NoAnswer { verb: "get", object: id.to_string() }),
            Ok(Err(error)) => Err(refused("get", id, &error)),
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(found))) => {
                let found =
                    DynamicObject { types: None, metadata: found.metadata, data: serde_json::Value::Null };
                check_owner(id, desired, &found)
            }
        }
    }

    /// Asks another controller to look again, unless the mark is there already.
    pub(super) async fn nudge(&mut self, nudge: &Nudge, caches: &Caches) -> Result<(), Error> {
        let id = nudge.id();
        let live = caches.of(&nudge.resource).and_then(|cache| cache.object(&id.key));
        let Some(live) = live else { return Ok(()) };
        let there = |key: &String| live.metadata.annotations.as_ref()?.get(key);
        if nudge.annotations.iter().all(|(key, value)| there(key) == Some(value)) {
            return Ok(());
        }
        info!(child = %id, annotations = ?nudge.annotations, "asking its controller to look again");
        let api = api(&self.actor.client, &nudge.resource, &id.key);
        let patch = Patch::Merge(json!({"metadata": {"annotations": nudge.annotations}}));
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let written: DynamicObject =
            self.write("annotate", &id, api.patch(&id.key.name, &params, &patch)).await?;
        if let Some(version) = written.metadata.resource_version {
            self.expect(id, Wrote::Version(version));
        }
        Ok(())
    }

    /// Deletes the child that was seen; one that is gone already is what was wanted.
    pub(super) async fn delete(&mut self, deletion: &Deletion) -> Result<(), Error> {
        let id = deletion.id();
        let params = DeleteParams {
            propagation_policy: Some(match deletion.dependents {
                Dependents::GoToo => PropagationPolicy::Background,
                Dependents::Stay => PropagationPolicy::Orphan,
            }),
            preconditions: Some(Preconditions { resource_version: None, uid: Some(deletion.uid.clone()) }),
            ..DeleteParams::default()
        };
        info!(child = %id, "deleting");
        let api = api(&self.actor.client, &deletion.resource, &id.key);
        match self.write("delete", &id, api.delete(&id.key.name, &params)).await {
            Ok(answer) => {
                // Still there when something holds it; otherwise the cache has to show that it is gone.
                let version = answer.left().and_then(|object| object.metadata.resource_version);
                let wrote = version.map_or_else(|| Wrote::Gone(deletion.uid.clone()), Wrote::Version);
                self.expect(id, wrote);
                Ok(())
            }
            Err(error) if is_gone_already(&error) => {
                self.expect(id, Wrote::Gone(deletion.uid.clone()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Only an answer that there is no such object says so. A conflict may mean a namesake, or only that somebody was faster:
/// to wait for the end of an object that is still there would be to wait for ever.
fn is_gone_already(error: &Error) -> bool {
    matches!(error, Error::Refused { fault: Fault::NotInstalled, .. })
}

/// A child that wants an owner must not have another one.
fn check_owner(id: &ObjectId, desired: &DynamicObject, live: &DynamicObject) -> Result<(), Error> {
    let theirs = live.metadata.owner_references.as_deref().unwrap_or_default();
    let lacks = |uid: &String| !theirs.iter().any(|owner| owner.uid == *uid);
    if desired.metadata.owner_references.iter().flatten().any(|ours| lacks(&ours.uid)) {
        let name = |owner: &OwnerReference| format!("{} {}", owner.kind, owner.name);
        let owner = theirs.first().map_or_else(|| "nobody".to_owned(), name);
        return Err(Error::Foreign { object: id.to_string(), owner });
    }
    Ok(())
}

/// The child with the hash of what is wanted.
fn marked(child: &Child) -> DynamicObject {
    let mut desired = child.object.clone();
    let hash = difference::hash(&desired);
    let annotations = desired.metadata.annotations.get_or_insert_default();
    annotations.insert(difference::HASH_ANNOTATION.to_owned(), hash);
    desired
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_that_met_a_conflict_is_tried_again_and_not_waited_for() {
        let refused = |fault| Error::Refused {
            verb: "delete",
            object: "HelmRelease shop/web".to_owned(),
            fault,
            message: String::new(),
        };
        let table = [(Fault::NotInstalled, true), (Fault::Conflict, false), (Fault::Unreachable, false)];
        for (fault, expected) in table {
            assert_eq!(is_gone_already(&refused(fault)), expected, "{fault:?}");
        }
        assert!(refused(Fault::Conflict).is_stale(), "it is tried again soon, and nothing is wrong");
    }
}
