//! The finalizer: on before the first child is made, off when nothing is left.

use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;
use tokio::time::timeout;
use tracing::info;

use super::{ANSWER, Error, Task, api, refused};
use crate::plan::{Absence, Finalizer};

impl Task<'_> {
    pub(super) fn has_finalizer(&self) -> bool {
        let finalizers = self.object.metadata.finalizers.as_deref().unwrap_or_default();
        finalizers.iter().any(|known| known == self.actor.finalizer)
    }

    /// Asks the API server whether these are gone, whatever the caches show.
    pub(super) async fn check_gone(&self, gone: &[Absence]) -> Result<(), Error> {
        for Absence(id) in gone {
            let api = api(&self.actor.client, &id.resource, &id.key);
            let found = match timeout(ANSWER, api.get_metadata_opt(&id.key.name)).await {
                Err(_) => return Err(Error::NoAnswer { verb: "get", object: id.to_string() }),
                Ok(Err(error)) => return Err(refused("get", id, &error)),
                Ok(Ok(found)) => found,
            };
            if found.is_some_and(|found| is_owned(&found.metadata, self.object.metadata.uid.as_deref())) {
                return Err(Error::StillThere { object: id.to_string() });
            }
        }
        Ok(())
    }

    /// Locked by version, because the list is written as a whole: nobody else's entry may get lost.
    pub(super) async fn set_finalizer(&mut self, wanted: Finalizer) -> Result<(), Error> {
        let meta = &self.object.metadata;
        let current = meta.finalizers.as_deref().unwrap_or_default();
        // The API server lets nobody add one to an object that is being deleted.
        let Some(after) = after(current, self.actor.finalizer, wanted) else {
            return Ok(());
        };
        if wanted == Finalizer::Hold && meta.deletion_timestamp.is_some() {
            return Ok(());
        }
        let patch = Patch::Merge(json!({
            "metadata": {"uid": meta.uid, "resourceVersion": self.version(), "finalizers": after}}));
        let id = self.id();
        info!(finalizer = self.actor.finalizer, wanted = ?wanted, "changing the finalizer");
        let api = api(&self.actor.client, &self.actor.resource, &id.key);
        let params =
            PatchParams { field_manager: Some(self.actor.manager.clone()), ..PatchParams::default() };
        let written =
            self.write("patch the finalizers of", &id, api.patch(&id.key.name, &params, &patch)).await?;
        self.expect_own(&written);
        Ok(())
    }
}

/// Whether it belongs to the object with this uid.
fn is_owned(meta: &ObjectMeta, owner: Option<&str>) -> bool {
    meta.owner_references.iter().flatten().any(|known| Some(known.uid.as_str()) == owner)
}

/// The list as it should be, if it is not.
fn after(current: &[String], ours: &str, wanted: Finalizer) -> Option<Vec<String>> {
    let is_on = current.iter().any(|known| known == ours);
    match (wanted, is_on) {
        (Finalizer::Hold, true) | (Finalizer::Release, false) => None,
        (Finalizer::Hold, false) => Some(current.iter().cloned().chain([ours.to_owned()]).collect()),
        (Finalizer::Release, true) => Some(current.iter().filter(|known| *known != ours).cloned().collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response, StatusCode};
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube::Client;
    use kube::api::DynamicObject;
    use kube::client::Body;

    use super::*;
    use crate::act::{Actor, Announcer};
    use crate::cache::Caches;
    use crate::object::{ObjectKey, resource_of};
    use crate::plan::Plan;

    /// What was asked of an API server that answers so to a look at the child.
    async fn asked_of(answer: (StatusCode, serde_json::Value)) -> Vec<Method> {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            log.lock().unwrap().push(request.method().clone());
            let (status, body) = match *request.method() {
                Method::GET => answer.clone(),
                _ => (StatusCode::OK, json!({"metadata": {"name": "web", "resourceVersion": "2"}})),
            };
            let mut response = Response::new(Body::from(body.to_string().into_bytes()));
            *response.status_mut() = status;
            async move { Ok::<_, std::convert::Infallible>(response) }
        });
        let client = Client::new(service, "shop");
        let actor = Actor {
            announcer: Announcer::new(client.clone(), "test".to_owned()),
            client,
            manager: "test".to_owned(),
            finalizer: "example.org/finalizer",
            clocks: &[],
            resource: resource_of::<ConfigMap>(),
        };
        let object: DynamicObject = serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "shop", "uid": "ours", "resourceVersion": "1",
                "finalizers": ["example.org/finalizer"]}}))
        .unwrap();
        let gone = vec![Absence::of::<Pod>(ObjectKey::namespaced("shop", "web"))];
        let plan = Plan { gone, ..Plan::<_>::only_status(Finalizer::Release, json!({})) };
        actor.carry_out(&object, &plan, &Caches::default(), &[]).await;
        let asked = asked.lock().unwrap();
        asked.clone()
    }

    #[tokio::test]
    async fn the_finalizer_goes_only_when_the_api_server_itself_says_that_the_child_is_gone() {
        let status = |code: u16| {
            let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": if code == 404 { "NotFound" } else { "Forbidden" }});
            (StatusCode::from_u16(code).unwrap(), body)
        };
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
    fn a_namesake_of_somebody_else_does_not_hold_an_object_back() {
        let owned_by = |uid: &str| -> ObjectMeta {
            let owner = json!({"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid});
            serde_json::from_value(json!({"ownerReferences": [owner]})).unwrap()
        };
        assert!(is_owned(&owned_by("ours"), Some("ours")));
        assert!(!is_owned(&owned_by("theirs"), Some("ours")));
        assert!(!is_owned(&ObjectMeta::default(), Some("ours")));
    }

    #[test]
    fn finalizers_of_others_stay() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let table = [
            (vec!["x"], Finalizer::Hold, Some(vec!["x", "ours"])),
            (vec!["ours", "x"], Finalizer::Hold, None),
            (vec!["ours", "x"], Finalizer::Release, Some(vec!["x"])),
            (vec!["x"], Finalizer::Release, None),
            (vec!["ours"], Finalizer::Release, Some(vec![])),
        ];
        for (current, wanted, expected) in table {
            let expected = expected.map(|names| list(&names));
            assert_eq!(after(&list(&current), "ours", wanted), expected, "{current:?} {wanted:?}");
        }
    }
}
