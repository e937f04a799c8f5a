//! The finalizer: on before the first child is made, off when nothing is left.

use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;
use tracing::info;

use super::{Error, Task, ask, exchange};
use crate::fault::Fault;
use crate::object::ObjectId;
use crate::plan::Finalizer;

/// The list as it should be, if it is not.
pub(super) fn change(meta: &ObjectMeta, ours: Option<&str>, wanted: Finalizer) -> Option<Vec<String>> {
    let ours = ours?;
    let current = meta.finalizers.as_deref().unwrap_or_default();
    let is_on = current.iter().any(|known| known == ours);
    match wanted {
        // The API server lets nobody add one to an object that is being deleted.
        Finalizer::Hold if !is_on && meta.deletion_timestamp.is_none() => {
            Some(current.iter().cloned().chain([ours.to_owned()]).collect())
        }
        Finalizer::Release if is_on => Some(current.iter().filter(|known| *known != ours).cloned().collect()),
        Finalizer::Hold | Finalizer::Release | Finalizer::AsItIs => None,
    }
}

impl Task<'_> {
    /// Asks the API server whether these are gone, whatever the caches show.
    pub(super) async fn check_gone(&self, gone: &[ObjectId]) -> Result<(), Error> {
        for id in gone {
            let found = match ask("get", id, exchange::find(&self.actor.client, id)).await {
                // Of a kind that the cluster does not have there is no object.
                Err(Error::Refused { fault: Fault::NotInstalled, .. }) => None,
                found => found?,
            };
            let owner = self.object.metadata.uid.as_deref();
            if found.is_some_and(|found| self.actor.terms.ownership.holds(&found, owner)) {
                return Err(Error::StillThere { object: id.to_string() });
            }
        }
        Ok(())
    }

    /// Locked by version, because the list is written as a whole: nobody else's entry may get lost.
    pub(super) async fn set_finalizers(&mut self, finalizers: &[String]) -> Result<(), Error> {
        let meta = &self.object.metadata;
        let patch = Patch::Merge(json!({
            "metadata": {"uid": meta.uid, "resourceVersion": self.version(), "finalizers": finalizers}}));
        let id = self.id();
        info!(?finalizers, "changing the finalizers");
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let request = exchange::request(&id).patch(&id.key.name, &params, &patch);
        let answer = exchange::send(&self.actor.client, request);
        let written = self.write("patch the finalizers of", &id, answer).await?;
        self.expect_own(&written);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, StatusCode};
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::DynamicObject;

    use crate::act::testing::{actor, answering, status};
    use crate::cache::Caches;
    use crate::object::ObjectKey;
    use crate::plan::{Absence, Plan};

    /// What was asked of an API server that answers so to a look at the child.
    async fn asked_of(answer: (StatusCode, serde_json::Value)) -> Vec<Method> {
        let (client, asked) = answering(move |method| match *method {
            Method::GET => answer.clone(),
            _ => (StatusCode::OK, json!({"metadata": {"name": "web", "resourceVersion": "2"}})),
        });
        let object: DynamicObject = serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "shop", "uid": "ours", "resourceVersion": "1",
                "finalizers": ["example.org/finalizer"]}}))
        .unwrap();
        let gone = vec![Absence::of::<Pod>(ObjectKey::namespaced("shop", "web"))];
        let plan = Plan { gone, ..Plan::<_>::only_status(Finalizer::Release, json!({})) };
        let actor = actor(client);
        let requests = actor.requests(&object, &plan, &Caches::default()).unwrap();
        actor.carry_out(&object, &requests, &[], "r1").await;
        let asked = asked.lock().unwrap();
        asked.iter().map(|(method, _)| method.clone()).collect()
    }

    #[tokio::test]
    async fn the_finalizer_goes_only_when_the_api_server_itself_says_that_the_child_is_gone() {
        let child = |owner: &str| {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": owner});
            (
                StatusCode::OK,
                json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                "metadata": {"name": "web", "namespace": "shop", "ownerReferences": [owner]}}),
            )
        };
        let table = [
            ("gone", status(404), true),
            ("the kind is not installed", (StatusCode::NOT_FOUND, json!("404 page not found")), true),
            ("a namesake", child("theirs"), true),
            ("still there", child("ours"), false),
            ("nobody may look", status(403), false),
        ];
        for (name, answer, lets_go) in table {
            let asked = asked_of(answer).await;
            let expected = if lets_go { &[Method::GET, Method::PATCH][..] } else { &[Method::GET] };
            assert_eq!(asked, expected, "{name}");
        }
    }

    #[test]
    fn finalizers_of_others_stay() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let table = [
            (vec!["x"], Finalizer::Hold, Some(list(&["x", "ours"]))),
            (vec!["ours", "x"], Finalizer::Hold, None),
            (vec!["ours", "x"], Finalizer::Release, Some(list(&["x"]))),
            (vec!["x"], Finalizer::Release, None),
            (vec!["ours"], Finalizer::Release, Some(vec![])),
            (vec!["ours"], Finalizer::AsItIs, None),
            (vec![], Finalizer::AsItIs, None),
        ];
        for (current, wanted, expected) in table {
            let meta = ObjectMeta { finalizers: Some(list(&current)), ..ObjectMeta::default() };
            assert_eq!(change(&meta, Some("ours"), wanted), expected, "{current:?} {wanted:?}");
        }
        let ending: ObjectMeta =
            serde_json::from_value(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})).unwrap();
        assert_eq!(change(&ending, Some("ours"), Finalizer::Hold), None, "too late");
    }
}
