//! Requests about one object. Of the answers only the head is read: no more matters, and not every object can be read.

use kube::api::{DynamicObject, GetParams, ListParams, ObjectMeta};
use kube::core::Request;
use kube::core::request::Error as Unbuildable;
use kube::{Client, Resource};

use crate::cache::incoming::{Incoming, Page};
use crate::object::ObjectId;

/// A request that is ready to be sent, or why it is not.
pub(super) type Prepared = Result<http::Request<Vec<u8>>, Unbuildable>;

/// Where objects of this kind are asked for.
pub(super) fn request(id: &ObjectId) -> Request {
    Request::new(DynamicObject::url_path(&id.resource, id.key.namespace.as_deref()))
}

/// What the API server has after a write. Of an object that is gone by it that is a Status, without a version.
pub(super) async fn send(client: &Client, request: Prepared) -> kube::Result<ObjectMeta> {
    let text = client.request_text(request.map_err(kube::Error::BuildRequest)?).await?;
    Incoming::read(&text).map(|incoming| incoming.head.metadata).map_err(kube::Error::SerdeError)
}

/// The same with the status.
pub(super) async fn send_status(client: &Client, request: Prepared) -> kube::Result<DynamicObject> {
    let text = client.request_text(request.map_err(kube::Error::BuildRequest)?).await?;
    Incoming::read(&text).map(|incoming| incoming.with_status()).map_err(kube::Error::SerdeError)
}

/// What the API server has. That it does not know the kind is an error.
pub(super) async fn find(client: &Client, id: &ObjectId) -> kube::Result<Option<ObjectMeta>> {
    match send(client, request(id).get_metadata(&id.key.name, &GetParams::default())).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        found => found.map(Some),
    }
}

/// The same by a list, which is a right that every controller has to its own kind.
pub(super) async fn find_listed(client: &Client, id: &ObjectId) -> kube::Result<Option<ObjectMeta>> {
    let named = ListParams::default().fields(&format!("metadata.name={}", id.key.name));
    let listed = request(id).list_metadata(&named).map_err(kube::Error::BuildRequest)?;
    let text = client.request_text(listed).await?;
    let page: Page<'_> = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
    let Some(item) = page.items.iter().flatten().next() else { return Ok(None) };
    Incoming::read(item.get()).map(|incoming| Some(incoming.head.metadata)).map_err(kube::Error::SerdeError)
}
