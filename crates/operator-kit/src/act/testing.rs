//! An API server for tests that answers as told and remembers what it was asked.

use std::sync::{Arc, Mutex};

use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Collected};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::{Client, Resource};
use serde_json::{Value, json};

use super::requests::Terms;
use super::{Actor, Announcer};
use crate::cache::{Caches, Declared, KindCache};
use crate::election::Term;
use crate::object::resource_of;
use crate::ownership::Ownership;
use crate::product::TESTED;

/// The method of each request, and what was sent with it: the address and the body.
pub(crate) type Asked = Arc<Mutex<Vec<(Method, (String, Value))>>>;

/// A client of an API server that gives these answers.
pub(crate) fn answering(
    answer: impl Fn(&Method) -> (StatusCode, Value) + Clone + Send + Sync + 'static,
) -> (Client, Asked) {
    answering_text(move |request| {
        let (status, told) = answer(&request.method);
        (status, told.to_string())
    })
}

/// The same to what is asked for, with answers that no value can hold.
pub(crate) fn answering_text(
    answer: impl Fn(&Parts) -> (StatusCode, String) + Clone + Send + Sync + 'static,
) -> (Client, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let client = serving(move |request, body| {
        let sent = serde_json::from_slice(body).unwrap_or_default();
        log.lock().unwrap().push((request.method.clone(), (request.uri.to_string(), sent)));
        answer(request)
    });
    (client, asked)
}

/// A client of an API server that answers to what it is asked for.
pub(crate) fn serving(
    answer: impl Fn(&Parts, &[u8]) -> (StatusCode, String) + Clone + Send + Sync + 'static,
) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = answer.clone();
        async move {
            let (request, body) = request.into_parts();
            let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
            let (status, told) = answer(&request, &body);
            let mut response = Response::new(Body::from(told.into_bytes()));
            *response.status_mut() = status;
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    Client::new(service, "shop")
}

/// A refusal with this code.
pub(crate) fn status(code: u16) -> (StatusCode, Value) {
    let reason = if code == 404 { "NotFound" } else { "Forbidden" };
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": reason, "details": {"name": "web"}});
    (StatusCode::from_u16(code).unwrap(), body)
}

/// The caches of a controller that has declared children of kind `K`, and sees them in these namespaces.
pub(crate) fn seeing<K: Resource<DynamicType = ()>>(namespaces: &[Option<&str>]) -> Caches {
    let parts = namespaces.iter().map(|namespace| namespace.map(str::to_owned));
    let cache = Arc::new(KindCache::of_parts(parts));
    Caches::new(vec![Declared { resource: resource_of::<K>(), is_written: true, cache }])
}

/// Acts for ConfigMaps, with a lease that does not end.
pub(crate) fn actor(client: Client) -> Actor {
    Actor {
        announcer: Announcer::new(client.clone(), "test".to_owned(), |type_| type_ == "Blocked", [].into()),
        client,
        manager: "test".to_owned(),
        terms: Terms {
            resource: resource_of::<ConfigMap>(),
            finalizer: Some("example.org/finalizer"),
            clocks: &[],
            ownership: Ownership::Label("example.org/owner"),
            product: TESTED,
        },
        term: Term::endless(),
    }
}
