//! Carries plans out: the one place that writes to the cluster. Every crash point lies between two requests here, and
//! the order is such that whoever comes after it can go on: the finalizer stands before the first child, and goes last.

mod children;
mod conflict;
mod difference;
mod events;
mod finalizer;
mod requests;
mod sent;
mod status;
#[cfg(test)]
pub(crate) mod testing;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use serde::Serialize;
use tokio::time::{Instant, timeout};
use tracing::debug;

pub(crate) use events::Announcer;

pub(crate) use requests::{Request, Terms};

use crate::cache::Caches;
use crate::election::Term;
use crate::fault::{self, Fault, fault};
use crate::freshness::{Expectation, Wrote};
use crate::object::{ObjectId, ObjectKey};
use crate::plan::Plan;

/// How long the API server may take to answer one request.
pub(crate) const ANSWER: Duration = Duration::from_secs(15);
/// A message of somebody else is copied up to this length.
const LONGEST_MESSAGE: usize = 1000;

/// Something that the API server did not let us do, for the next `observe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it was about.
    pub object: String,
    /// What was to be done with it.
    pub deed: Deed,
    /// Why.
    pub cause: Cause,
    /// The API server's words.
    pub message: String,
}

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// To make or to change it, or to hold our own object by its finalizer: nothing after it was tried.
    Make,
    /// To delete it, to ask its controller for another look, or to let go of our own object: everything else is done.
    Clear,
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// An admission policy, a quota or missing rights.
    Forbidden,
    /// Somebody else owns a field, or the whole object.
    Owned,
    /// The object does not fit its schema.
    Invalid,
    /// The cluster does not have the kind.
    NotInstalled,
    /// The API server, or a webhook that it asks, does not answer.
    Unavailable,
    /// It should be gone, and is there although no cache shows it.
    StillThere,
}

impl Refusal {
    /// Whether it is the same trouble, in whatever words.
    fn is_like(&self, other: &Self) -> bool {
        (&self.object, self.cause) == (&other.object, other.cause)
    }
}

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to {verb} {object}: {conflicts}")]
    Conflict { verb: &'static str, object: String, conflicts: String },
    #[error("failed to apply {object}: it exists and belongs to {owner}, not to this object")]
    Foreign { object: String, owner: String },
    #[error("failed to {verb} {object}: {message}")]
    Refused { verb: &'static str, object: String, fault: Fault, message: String },
    #[error("failed to {verb} {object}: no answer from the API server within {} s", ANSWER.as_secs())]
    NoAnswer { verb: &'static str, object: String },
    #[error("failed to let go: {object} should be gone and is still there, although no watch shows it")]
    StillThere { object: String },
    #[error("failed to write the status of {object} as JSON: {source}")]
    Status { object: String, source: serde_json::Error },
    #[error("failed to {verb} {object}: another process of this operator has made it meanwhile")]
    WithOurselves { verb: &'static str, object: String },
    #[error("did not apply {object}: it is there, and the watch does not show it yet")]
    Unshown { object: String },
    #[error("did not {verb} {object}: this process may not be the leader any more")]
    Deposed { verb: &'static str, object: String },
}

impl Error {
    /// The word in metrics.
    pub(crate) fn category(&self) -> &'static str {
        match self {
            Error::Conflict { .. } | Error::Foreign { .. } => "owned",
            Error::Refused { fault, .. } => fault.category(),
            Error::NoAnswer { .. } => Fault::Unreachable.category(),
            Error::StillThere { .. } => "still_there",
            Error::Status { .. } => "serialize",
            Error::WithOurselves { .. } | Error::Unshown { .. } => Fault::Conflict.category(),
            Error::Deposed { .. } => "deposed",
        }
    }

    /// What the next `observe` should know of it; that somebody was faster is no news.
    fn refusal(&self, deed: Deed) -> Option<Refusal> {
        let (object, cause) = match self {
            Error::Conflict { object, .. } | Error::Foreign { object, .. } => (object, Cause::Owned),
            Error::Refused { object, fault: Fault::Forbidden, .. } => (object, Cause::Forbidden),
            Error::Refused { object, fault: Fault::Invalid, .. } => (object, Cause::Invalid),
            Error::Refused { object, fault: Fault::NotInstalled, .. } => (object, Cause::NotInstalled),
            Error::Refused { object, fault: Fault::Unreachable | Fault::Other, .. }
            | Error::NoAnswer { object, .. } => (object, Cause::Unavailable),
            Error::StillThere { object } => (object, Cause::StillThere),
            Error::Refused { fault: Fault::Conflict | Fault::Gone, .. }
            | Error::Status { .. }
            | Error::WithOurselves { .. }
            | Error::Unshown { .. }
            | Error::Deposed { .. } => return None,
        };
        let message = self.to_string().chars().take(LONGEST_MESSAGE).collect();
        Some(Refusal { object: object.clone(), deed, cause, message })
    }

    /// Somebody was faster: the watch will show it, and nothing is wrong.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(
            self,
            Error::Refused { fault: Fault::Conflict | Fault::Gone, .. }
                | Error::WithOurselves { .. }
                | Error::Unshown { .. }
                | Error::Deposed { .. }
        )
    }
}

/// What became of a plan.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What the caches must show before the object is looked at again.
    pub(crate) expectations: Vec<Expectation>,
    /// What did not work.
    pub(crate) errors: Vec<Error>,
    /// The first request that did not work.
    pub(crate) failed: Option<String>,
    /// What was refused.
    pub(crate) refusal: Option<Refusal>,
    /// Whether the plan was made without knowing how its children would fare, so that its status was not written.
    pub(crate) is_news: bool,
    /// How many requests could have changed something.
    pub(crate) writes: u64,
}

/// Carries out the plans of one controller.
pub(crate) struct Actor {
    pub(crate) client: Client,
    /// The field manager.
    pub(crate) manager: String,
    pub(crate) terms: Terms,
    pub(crate) announcer: Announcer,
    /// Until when this process may act at all.
    pub(crate) term: Term,
}

impl Actor {
    /// What a plan asks for that is not so yet.
    pub(crate) fn requests<S: Serialize, E>(
        &self,
        object: &DynamicObject,
        plan: &Plan<S, E>,
        caches: &Caches,
    ) -> Result<Vec<Request>, Error> {
        let live = |id: &ObjectId| caches.written(&id.resource).and_then(|cache| cache.object(&id.key));
        requests::requests(&self.terms, object, plan, &live)
    }

    /// What has to be sent so that the object's status says this.
    pub(crate) fn saying<S: Serialize>(
        &self,
        object: &DynamicObject,
        status: &S,
    ) -> Result<Vec<Request>, Error> {
        Ok(requests::saying(&self.terms, object, status)?.into_iter().collect())
    }

    /// Sends these requests for `object`; `reconcile` names this visit. One that is refused holds back those after it, for
    /// they may rely on it, but not the status: that tells of it, if the plan was made with this in mind.
    pub(crate) async fn carry_out(
        &self,
        object: &DynamicObject,
        requests: &[Request],
        known: &[Refusal],
        reconcile: &str,
    ) -> Outcome {
        let mut task = Task::new(self, object, reconcile);
        if let Err(error) = task.run(requests, known).await {
            task.outcome.errors.push(error);
        }
        if let Err(error) = task.take_back().await {
            task.outcome.errors.push(error);
        }
        task.outcome
    }

    /// Sends only what is said of the object, because nothing else may be tried at the moment.
    pub(crate) async fn tell(&self, object: &DynamicObject, requests: &[Request]) -> Outcome {
        let mut task = Task::new(self, object, "");
        if let Err(error) = task.tell(requests).await {
            task.outcome.errors.push(error);
        }
        task.outcome
    }
}

/// One plan on its way.
struct Task<'a> {
    actor: &'a Actor,
    object: &'a DynamicObject,
    /// What a child that is made now says about where it comes from.
    creation: &'a str,
    /// The version of the object after our own last write.
    version: Option<String>,
    /// Children that did not exist before, each with its uid.
    made: Vec<(ObjectId, String)>,
    is_status_written: bool,
    outcome: Outcome,
}

impl<'a> Task<'a> {
    fn new(actor: &'a Actor, object: &'a DynamicObject, creation: &'a str) -> Self {
        Self {
            actor,
            object,
            creation,
            version: None,
            made: Vec::new(),
            is_status_written: false,
            outcome: Outcome::default(),
        }
    }

    async fn run(&mut self, requests: &[Request], known: &[Refusal]) -> Result<(), Error> {
        let (mut refused, mut refusal) = (None, None);
        for request in requests.iter().filter(|request| !request.is_status()) {
            if let Err(error) = self.send(request).await {
                self.outcome.failed = Some(request.deed());
                refusal = error.refusal(request.kind());
                refused = Some(error);
                break;
            }
            // The status of an object that ends with its finalizer is nobody's to read.
            if matches!(request, Request::LetGo { .. }) {
                return Ok(());
            }
        }
        let knows = knows(known, refused.as_ref(), refusal.as_ref());
        self.outcome.is_news = knows == Knows::Better;
        self.outcome.refusal = refusal;
        self.outcome.errors.extend(refused);
        match knows {
            Knows::Well => self.tell(requests).await,
            Knows::Better | Knows::Nothing => Ok(()),
        }
    }

    async fn tell(&mut self, requests: &[Request]) -> Result<(), Error> {
        for request in requests.iter().filter(|request| request.is_status()) {
            self.send(request).await?;
        }
        Ok(())
    }

    async fn send(&mut self, request: &Request) -> Result<(), Error> {
        match request {
            Request::Finalizers(finalizers) => self.set_finalizers(finalizers).await,
            Request::Apply(apply) => self.apply(apply).await,
            Request::Taken { id, owner } => {
                Err(Error::Foreign { object: id.to_string(), owner: owner.clone() })
            }
            Request::Delete(deletion) => self.delete(deletion).await,
            Request::Annotate { id, annotations, version } => {
                self.annotate(id, annotations, version.as_ref()).await
            }
            Request::LetGo { gone, finalizers } => {
                self.check_gone(gone).await?;
                self.set_finalizers(finalizers).await
            }
            Request::Status(status) => self.status(status).await,
        }
    }

    fn id(&self) -> ObjectId {
        ObjectId { resource: self.actor.terms.resource.clone(), key: ObjectKey::of(self.object) }
    }

    /// The object's version as far as we know it.
    fn version(&self) -> Option<&String> {
        self.version.as_ref().or(self.object.metadata.resource_version.as_ref())
    }

    fn reference(&self) -> ObjectReference {
        let meta = &self.object.metadata;
        ObjectReference {
            api_version: Some(self.actor.terms.resource.api_version.clone()),
            kind: Some(self.actor.terms.resource.kind.clone()),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: self.version().cloned(),
            ..ObjectReference::default()
        }
    }

    /// Sends one request that may change something. A process that has slept too long to be sure that it still leads sends
    /// nothing, and what it sends does not outlive its lease.
    async fn write<T>(
        &mut self,
        verb: &'static str,
        id: &ObjectId,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        let term = &self.actor.term;
        let deposed = || Error::Deposed { verb, object: id.to_string() };
        if !term.lasts() {
            return Err(deposed());
        }
        self.outcome.writes += 1;
        let answer = tokio::select! {
            answer = timeout(ANSWER, request) => answer,
            () = term.over() => return Err(deposed()),
        };
        debug!(verb, child = %id, ok = matches!(answer, Ok(Ok(_))), "asked the API server");
        match answer {
            Err(_) => Err(Error::NoAnswer { verb, object: id.to_string() }),
            Ok(Err(kube::Error::Api(status)))
                if conflict::is_with_ourselves(&status, &self.actor.manager) =>
            {
                Err(Error::WithOurselves { verb, object: id.to_string() })
            }
            Ok(Err(error)) => Err(refused(verb, id, &error)),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    /// The version that an object has since this plan wrote it.
    fn written_version(&self, id: &ObjectId) -> Option<String> {
        self.outcome.expectations.iter().find_map(|known| match &known.wrote {
            Wrote::Version(version) if known.id == *id => Some(version.clone()),
            Wrote::Version(_) | Wrote::Gone(_) => None,
        })
    }

    fn expect(&mut self, id: ObjectId, wrote: Wrote) {
        self.outcome.expectations.retain(|known| known.id != id);
        self.outcome.expectations.push(Expectation { id, wrote, at: Instant::now() });
    }

    /// Our own object has a new version.
    fn expect_own(&mut self, written: &DynamicObject) {
        self.version.clone_from(&written.metadata.resource_version);
        if let Some(version) = &written.metadata.resource_version {
            self.expect(self.id(), Wrote::Version(version.clone()));
        }
    }
}

/// What a plan's status knows of how its requests fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knows {
    /// It says how they fared.
    Well,
    /// It takes the children for applied, or for refused, and they are not: the next plan knows better, and is due at once.
    Better,
    /// Somebody was faster: the next plan will see who.
    Nothing,
}

/// Whether a plan that was made with these refusals in mind may write its status.
fn knows(known: &[Refusal], refused: Option<&Error>, refusal: Option<&Refusal>) -> Knows {
    match (refused, refusal) {
        (None, _) if known.is_empty() => Knows::Well,
        (Some(_), Some(refusal)) if known.iter().any(|known| known.is_like(refusal)) => Knows::Well,
        (Some(_), None) => Knows::Nothing,
        (None, _) | (Some(_), Some(_)) => Knows::Better,
    }
}

fn refused(verb: &'static str, id: &ObjectId, error: &kube::Error) -> Error {
    if let kube::Error::Api(status) = error
        && let Some(conflicts) = conflict::describe(status)
    {
        return Error::Conflict { verb, object: id.to_string(), conflicts };
    }
    Error::Refused { verb, object: id.to_string(), fault: fault(error), message: fault::words(error) }
}

pub(crate) fn api(client: &Client, resource: &ApiResource, key: &ObjectKey) -> Api<DynamicObject> {
    match &key.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Child, Finalizer};
    use http::{Method, StatusCode};
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    fn error(object: &str, fault: Fault) -> Error {
        Error::Refused { verb: "apply", object: object.to_owned(), fault, message: String::new() }
    }

    #[test]
    fn a_status_is_written_only_by_a_plan_that_knew_how_its_children_would_fare() {
        let away = || error("HelmRelease shop/web", Fault::Unreachable);
        let forbidden = error("HelmRelease shop/web", Fault::Forbidden);
        let faster = error("HelmRelease shop/web", Fault::Conflict);
        let deposed = Error::Deposed { verb: "apply", object: "HelmRelease shop/web".to_owned() };
        let known: Vec<Refusal> = away().refusal(Deed::Make).into_iter().collect();
        let table = [
            ("nothing was refused", &[][..], None, Knows::Well),
            ("refused as before", &known, Some(away()), Knows::Well),
            ("refused for the first time", &[], Some(away()), Knows::Better),
            ("refused otherwise than before", &known, Some(forbidden), Knows::Better),
            ("done at last", &known, None, Knows::Better),
            ("somebody was faster", &[], Some(faster), Knows::Nothing),
            ("somebody else leads", &[], Some(deposed), Knows::Nothing),
        ];
        for (name, known, refused, expected) in table {
            let refusal = refused.as_ref().and_then(|refused| refused.refusal(Deed::Make));
            assert_eq!(knows(known, refused.as_ref(), refusal.as_ref()), expected, "{name}");
        }
    }

    #[test]
    fn only_that_somebody_was_faster_is_no_error() {
        let faults =
            [(Fault::Conflict, true), (Fault::Gone, true), (Fault::Forbidden, false), (Fault::Other, false)];
        for (fault, expected) in faults {
            assert_eq!(error("HelmRelease shop/web", fault).is_stale(), expected, "{fault:?}");
        }
        assert!(!Error::StillThere { object: "HelmRelease shop/web".to_owned() }.is_stale());
    }

    fn object() -> DynamicObject {
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "shop", "uid": "ours", "resourceVersion": "1"}}))
        .unwrap()
    }

    fn plan() -> Plan<serde_json::Value> {
        let child = Child::new::<Pod>("shop", "web").spec(json!({"a": 1}));
        Plan { children: vec![child], ..Plan::only_status(Finalizer::Hold, json!({"said": true})) }
    }

    /// What becomes of a plan for a new object at an API server that answers so to a PATCH.
    async fn outcome(
        term: Term,
        known: &[Refusal],
        patch: (StatusCode, serde_json::Value),
    ) -> (Outcome, Vec<String>) {
        let (client, asked) = testing::answering(move |method| match *method {
            Method::PATCH => patch.clone(),
            _ => testing::status(404),
        });
        let actor = Actor { term, ..testing::actor(client) };
        let requests = actor.requests(&object(), &plan(), &Caches::default()).unwrap();
        let outcome = actor.carry_out(&object(), &requests, known, "r1").await;
        let asked = asked.lock().unwrap();
        (outcome, asked.iter().map(|(method, (address, _))| format!("{method} {address}")).collect())
    }

    #[tokio::test]
    async fn a_finalizer_that_is_refused_is_a_refusal_and_nothing_is_made() {
        let (outcome, asked) = outcome(Term::endless(), &[], testing::status(403)).await;
        assert_eq!(asked.len(), 1, "{asked:?}");
        let refusal = outcome.refusal.expect("a refusal");
        assert_eq!((refusal.cause, outcome.is_news), (Cause::Forbidden, true));
        assert!(refusal.message.contains("finalizers of ConfigMap shop/web"), "{}", refusal.message);
        // The next plan knows of it: its status may say so.
        let (again, asked) = self::outcome(Term::endless(), &[refusal], testing::status(403)).await;
        assert!(!again.is_news && asked.iter().any(|asked| asked.contains("/status")), "{asked:?}");
    }

    #[tokio::test]
    async fn a_process_that_may_have_lost_its_lease_writes_nothing() {
        let written = || (StatusCode::OK, json!({"metadata": {"name": "web", "resourceVersion": "2"}}));
        let (lost, asked) = outcome(Term::ended(), &[], written()).await;
        assert_eq!((asked, lost.writes), (Vec::<String>::new(), 0));
        assert!(lost.errors.iter().all(Error::is_stale) && lost.refusal.is_none(), "{:?}", lost.errors);
        let (held, asked) = outcome(Term::endless(), &[], written()).await;
        assert_eq!((held.writes, asked.len()), (3, 4), "finalizer, look, child, status: {asked:?}");
        let awaited: Vec<String> = held.expectations.iter().map(|known| known.id.to_string()).collect();
        assert!(awaited.contains(&"Pod shop/web".to_owned()), "{awaited:?}");
        assert!(awaited.contains(&"ConfigMap shop/web".to_owned()), "{awaited:?}");
    }

    /// What is asked of an API server on which the object is gone, or not, when its status is written.
    async fn asked_after(listed: serde_json::Value) -> Vec<Method> {
        let count = std::sync::Arc::new(std::sync::Mutex::new([0_usize; 2]));
        let (client, asked) = testing::answering(move |method| {
            let mut count = count.lock().unwrap();
            let made = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "child", "resourceVersion": "2"}});
            match *method {
                Method::PATCH => {
                    count[0] += 1;
                    if count[0] < 3 { (StatusCode::OK, made) } else { testing::status(404) }
                }
                Method::GET => {
                    count[1] += 1;
                    if count[1] == 1 { testing::status(404) } else { (StatusCode::OK, listed.clone()) }
                }
                _ => (StatusCode::OK, made),
            }
        });
        let actor = testing::actor(client);
        let requests = actor.requests(&object(), &plan(), &Caches::default()).unwrap();
        actor.carry_out(&object(), &requests, &[], "r1").await;
        let asked = asked.lock().unwrap();
        asked.iter().map(|(method, _)| method.clone()).collect()
    }

    #[tokio::test]
    async fn a_child_that_was_made_for_an_object_that_is_gone_is_deleted() {
        let list = |items: serde_json::Value| json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": items});
        // Finalizer, look for the child, child, status, look for the object.
        let before = [Method::PATCH, Method::GET, Method::PATCH, Method::PATCH, Method::GET];
        let own = json!([{"metadata": {"name": "web", "namespace": "shop", "uid": "ours"}}]);
        assert_eq!(asked_after(list(own)).await, before, "it is still there");
        let namesake = json!([{"metadata": {"name": "web", "namespace": "shop", "uid": "another"}}]);
        for gone in [json!([]), namesake] {
            assert_eq!(asked_after(list(gone)).await, [&before[..], &[Method::DELETE]].concat());
        }
    }

    /// What is asked for a child that no cache shows and that the API server has with these labels.
    async fn asked_for_unshown(labels: serde_json::Value) -> (Outcome, Vec<Method>) {
        let meta = json!({"name": "web", "namespace": "shop", "uid": "child", "resourceVersion": "2", "labels": labels});
        let (client, asked) = testing::answering(move |_| {
            (
                StatusCode::OK,
                json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": meta}),
            )
        });
        let actor = testing::actor(client);
        let mut plan = plan();
        plan.children = vec![
            Child::new::<Pod>("shop", "web")
                .labels([("app".to_owned(), "web".to_owned())].into())
                .spec(json!({"a": 1})),
        ];
        let requests = actor.requests(&object(), &plan, &Caches::default()).unwrap();
        let outcome = actor.carry_out(&object(), &requests, &[], "r1").await;
        let asked = asked.lock().unwrap();
        (outcome, asked.iter().map(|(method, _)| method.clone()).collect())
    }

    #[tokio::test]
    async fn a_plan_that_rests_on_a_cache_which_is_behind_says_nothing() {
        let owner = "example.org/owner";
        let (behind, asked) = asked_for_unshown(json!({owner: "ours", "app": "web"})).await;
        assert_eq!(asked, [Method::PATCH, Method::GET], "the finalizer, and a look");
        assert!(
            behind.errors.iter().all(Error::is_stale) && !behind.errors.is_empty(),
            "{:?}",
            behind.errors
        );
        // One that lost the label by which it is watched gets it back.
        let (mended, asked) = asked_for_unshown(json!({owner: "ours"})).await;
        assert!(asked.len() > 3 && mended.errors.is_empty(), "{asked:?} {:?}", mended.errors);
    }
}
