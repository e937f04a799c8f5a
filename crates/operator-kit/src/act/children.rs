//! Children: applied, deleted, and marked for their controllers to look again. Each write is locked by what was seen, so
//! that one that comes late, from a process that has lost its lease, changes nothing.

use kube::api::{
    DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy, TypeMeta,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tracing::{info, warn};

use super::requests::{Apply, Seen};
use super::{Actor, Error, Task, ask, exchange};
use crate::fault::Fault;
use crate::freshness::Wrote;
use crate::object::ObjectId;
use crate::plan::{self, Deletion, Dependents};
use crate::product::Product;

/// The first revision of a cluster's store, in which there is no object yet.
pub(super) const VERSION_OF_NOTHING: &str = "1";

impl Task<'_> {
    /// Brings a child to what is wanted.
    pub(super) async fn apply(&mut self, apply: &Apply) -> Result<(), Error> {
        let Apply { id, desired, hash: _, seen, place } = apply;
        match place {
            Some(place) => info!(child = %id, place, "applying: it is not as wanted"),
            None => info!(child = %id, "applying: it is not there"),
        }
        let seen = match seen {
            Some(seen) => Some(seen.clone()),
            None => {
                self.check_owner("apply", id).await?;
                if !self.was_refused && self.make(id, desired).await? {
                    return Ok(());
                }
                self.find_unseen(id).await?
            }
        };
        let Actor { manager, terms, client, .. } = self.actor;
        let (body, manager) = locked(desired, seen.as_ref(), self.creation, manager, terms.product);
        let send = |params: &PatchParams| {
            exchange::send(client, exchange::request(id).patch(&id.key.name, params, &Patch::Apply(&body)))
        };
        // Not forced: what somebody else has set is theirs until they let go of it.
        let params = PatchParams::apply(&manager);
        let written = match self.write("apply", id, send(&params)).await {
            // Somebody has changed who made it, and the fields are ours under another name. It is still what was seen.
            Err(Error::WithOurselves { .. }) if seen.is_some() => {
                self.write("apply", id, send(&params.force())).await?
            }
            written => written?,
        };
        if seen.is_none() {
            self.made.extend(written.uid.map(|uid| (id.clone(), uid)));
        }
        self.expect_version(id, written.resource_version);
        Ok(())
    }

    /// Makes a child with one request; tells whether it could. If there is a namesake, the version is not its own, and nothing
    /// changes. Some kinds take no version of an object that is not there.
    async fn make(&mut self, id: &ObjectId, desired: &DynamicObject) -> Result<bool, Error> {
        let Actor { manager, terms, client, .. } = self.actor;
        let (mut body, manager) = locked(desired, None, self.creation, manager, terms.product);
        body.metadata.resource_version = Some(VERSION_OF_NOTHING.to_owned());
        let params = PatchParams::apply(&manager);
        let request = exchange::request(id).patch(&id.key.name, &params, &Patch::Apply(&body));
        match self.write("apply", id, exchange::send(client, request)).await {
            Ok(written) => {
                self.made.extend(written.uid.map(|uid| (id.clone(), uid)));
                self.expect_version(id, written.resource_version);
                Ok(true)
            }
            Err(error) if may_be_there(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a child that is not there. One of ours that is there after all is what was wanted.
    pub(super) async fn create(&mut self, id: &ObjectId, desired: &DynamicObject) -> Result<(), Error> {
        self.check_owner("create", id).await?;
        info!(child = %id, "creating");
        let params = PostParams { field_manager: Some(self.actor.manager.clone()), ..PostParams::default() };
        let body = serde_json::to_vec(desired).unwrap_or_default();
        let request = exchange::request(id).create(&params, body);
        match self.write("create", id, exchange::send(&self.actor.client, request)).await {
            Ok(written) => {
                self.made.extend(written.uid.map(|uid| (id.clone(), uid)));
                self.expect_version(id, written.resource_version);
                Ok(())
            }
            // It is there, or something else was in the way, such as a quota that two wanted to count at once.
            Err(conflict @ Error::Refused { fault: Fault::Conflict, .. }) => {
                let found = self.find_unseen(id).await?.ok_or(conflict)?;
                self.expect_version(id, Some(found.version));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes what several share. If somebody else was faster, it is there.
    pub(super) async fn share(&mut self, id: &ObjectId, desired: &DynamicObject) -> Result<(), Error> {
        info!(object = %id, "creating what is shared");
        let params = PostParams { field_manager: Some(self.actor.manager.clone()), ..PostParams::default() };
        let body = serde_json::to_vec(desired).unwrap_or_default();
        let request = exchange::request(id).create(&params, body);
        match self.write("create", id, exchange::send(&self.actor.client, request)).await {
            Ok(_) | Err(Error::Refused { fault: Fault::Conflict, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Changes what belongs to somebody else.
    pub(super) async fn patch(&mut self, patch: &plan::Patch) -> Result<(), Error> {
        let id = patch.id();
        info!(object = %id, "patching");
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let request = exchange::request(&id).patch(&id.key.name, &params, &Patch::Merge(patch.locked()));
        let written = self.write("patch", &id, exchange::send(&self.actor.client, request)).await?;
        self.expect_version(&id, written.resource_version);
        Ok(())
    }

    fn expect_version(&mut self, id: &ObjectId, version: Option<String>) {
        if let Some(version) = version {
            self.expect(id.clone(), Wrote::Version(version));
        }
    }

    /// Deletes what was made for an object that has gone meanwhile: whoever let it go did not see that child. If the status
    /// could be written after it, the object was still there, and its finalizer holds it.
    pub(super) async fn take_back(&mut self) -> Result<(), Error> {
        let made = std::mem::take(&mut self.made);
        if made.is_empty() || self.is_status_written || !self.is_gone().await? {
            return Ok(());
        }
        for (id, uid) in made {
            warn!(child = %id, "deleting what was made for an object that is gone");
            let ObjectId { resource, key } = id;
            let dependents = Dependents::GoToo;
            self.delete(&Deletion { resource, key, uid, version: None, dependents }).await?;
        }
        Ok(())
    }

    /// Nothing is made for an object that is gone: a cache that is behind may still show it. One that this plan has written
    /// is there.
    async fn check_owner(&self, verb: &'static str, child: &ObjectId) -> Result<(), Error> {
        let is_sure = self.version.is_some() || !self.made.is_empty();
        if is_sure || !self.is_gone().await? {
            return Ok(());
        }
        let message = format!("{} is gone", self.id());
        Err(Error::Refused { verb, object: child.to_string(), fault: Fault::Gone, message })
    }

    /// Whether the object itself is not there any more.
    async fn is_gone(&self) -> Result<bool, Error> {
        let id = self.id();
        let found = ask("list", &id, exchange::find_listed(&self.actor.client, &id)).await?;
        Ok(found.is_none_or(|found| found.uid != self.object.metadata.uid))
    }

    /// The caches show only children that carry our label, and may be behind: a namesake of somebody else must not be taken
    /// over, and one of ours that is there is locked by its version.
    async fn find_unseen(&self, id: &ObjectId) -> Result<Option<Seen>, Error> {
        let found = ask("get", id, exchange::find(&self.actor.client, id)).await?;
        let (ownership, owner) = (self.actor.terms.ownership, self.object.metadata.uid.as_deref());
        match found {
            Some(meta) if !ownership.holds(&meta, owner) => {
                Err(Error::Foreign { object: id.to_string(), owner: ownership.owner_of(&meta) })
            }
            found => Ok(found.map(|found| Seen::of(&found, self.actor.terms.product))),
        }
    }

    /// Asks another controller to look again.
    pub(super) async fn annotate(
        &mut self,
        id: &ObjectId,
        annotations: &BTreeMap<String, String>,
        version: Option<&String>,
    ) -> Result<(), Error> {
        info!(child = %id, ?annotations, "asking its controller to look again");
        // The plan may have applied it just before.
        let version = self.written_version(id).or(version.cloned());
        let patch =
            Patch::Merge(json!({"metadata": {"annotations": annotations, "resourceVersion": version}}));
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let request = exchange::request(id).patch(&id.key.name, &params, &patch);
        let written = self.write("annotate", id, exchange::send(&self.actor.client, request)).await?;
        self.expect_version(id, written.resource_version);
        Ok(())
    }

    /// Deletes the child that was seen; one that is gone already is what was wanted.
    pub(super) async fn delete(&mut self, deletion: &Deletion) -> Result<(), Error> {
        let id = deletion.id();
        let params = DeleteParams {
            propagation_policy: Some(match deletion.dependents {
                Dependents::GoToo => PropagationPolicy::Background,
                Dependents::GoFirst => PropagationPolicy::Foreground,
                Dependents::Stay => PropagationPolicy::Orphan,
            }),
            preconditions: Some(Preconditions {
                resource_version: deletion.version.clone(),
                uid: Some(deletion.uid.clone()),
            }),
            ..DeleteParams::default()
        };
        info!(child = %id, "deleting");
        let request = exchange::request(&id).delete(&id.key.name, &params);
        match self.write("delete", &id, exchange::send(&self.actor.client, request)).await {
            Ok(answer) => {
                // Still there when something holds it; otherwise the cache has to show that it is gone.
                let wrote =
                    answer.resource_version.map_or_else(|| Wrote::Gone(deletion.uid.clone()), Wrote::Version);
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

/// Only an answer that there is no such object says so. A conflict may mean a namesake, or only that somebody else wrote first:
/// to wait for the end of an object that is still there would be to wait for ever.
fn is_gone_already(error: &Error) -> bool {
    matches!(error, Error::Refused { fault: Fault::Gone | Fault::NotInstalled, .. })
}

/// What a namesake answers to who took it for absent, or a kind that takes no version then.
fn may_be_there(error: &Error) -> bool {
    match error {
        Error::Conflict { .. } | Error::WithOurselves { .. } => true,
        Error::Refused { fault, .. } => matches!(fault, Fault::Conflict | Fault::Invalid),
        _ => false,
    }
}

/// A child as it is sent; what is in it may be much, and is not copied.
#[derive(Debug, Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    types: Option<&'a TypeMeta>,
    metadata: ObjectMeta,
    #[serde(flatten)]
    data: &'a Value,
}

/// What is sent, and under which name. A child that is there is written only if it is still as it was seen; one that is not
/// only if nobody has made it meanwhile (see [`Product::creation_annotation`]).
fn locked<'a>(
    desired: &'a DynamicObject,
    seen: Option<&Seen>,
    now: &str,
    manager: &str,
    product: Product,
) -> (Body<'a>, String) {
    let DynamicObject { types, metadata, data } = desired;
    let mut body = Body { types: types.as_ref(), metadata: metadata.clone(), data };
    body.metadata.resource_version = seen.map(|seen| seen.version.clone());
    body.metadata.uid = seen.and_then(|seen| seen.uid.clone());
    let creation = match seen {
        Some(seen) => seen.creation.as_deref(),
        None => Some(now),
    };
    let Some(creation) = creation else { return (body, manager.to_owned()) };
    body.metadata
        .annotations
        .get_or_insert_default()
        .insert(product.creation_annotation(), creation.to_owned());
    (body, format!("{manager}-{creation}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::resource_of;
    use crate::product::TESTED;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn a_deletion_that_met_a_conflict_is_tried_again_and_not_waited_for() {
        let refused = |fault| Error::Refused {
            verb: "delete",
            object: "HelmRelease shop/web".to_owned(),
            fault,
            message: String::new(),
        };
        let table = [(Fault::Gone, true), (Fault::Conflict, false), (Fault::Unreachable, false)];
        for (fault, expected) in table {
            assert_eq!(is_gone_already(&refused(fault)), expected, "{fault:?}");
        }
        assert!(refused(Fault::Conflict).is_stale(), "it is tried again soon, and nothing is wrong");
    }

    #[test]
    fn two_that_make_the_same_child_do_not_share_a_name_and_who_changes_it_takes_the_name_of_its_maker() {
        let desired = DynamicObject::new("web", &resource_of::<ConfigMap>());
        let sent = |seen: Option<&Seen>, now| {
            let (body, manager) = locked(&desired, seen, now, "kit", TESTED);
            let creation =
                body.metadata.annotations.and_then(|known| known.get("test.example.org/creation").cloned());
            (body.metadata.resource_version, creation, manager)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(sent(None, "r1"), (None, text("r1"), "kit-r1".to_owned()));
        assert_eq!(sent(None, "r2"), (None, text("r2"), "kit-r2".to_owned()));
        let made_by_r1 = Seen { version: "7".to_owned(), uid: text("u"), creation: text("r1") };
        assert_eq!(sent(Some(&made_by_r1), "r2"), (text("7"), text("r1"), "kit-r1".to_owned()));
        let old = Seen { version: "7".to_owned(), uid: text("u"), creation: None };
        assert_eq!(sent(Some(&old), "r2"), (text("7"), None, "kit".to_owned()));
    }
}
