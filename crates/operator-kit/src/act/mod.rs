//! Carries plans out: the one place that writes to the cluster. Every crash point lies between two requests here, and
//! the order is such that whoever comes after it can go on: the finalizer stands before the first child, and goes last.

mod children;
mod conflict;
mod difference;
mod events;
mod exchange;
mod finalizer;
mod requests;
mod sent;
mod status;
#[cfg(test)]
pub(crate) mod testing;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{DynamicObject, ObjectMeta};
use serde::Serialize;
use tokio::time::{Instant, timeout};
use tracing::debug;

pub(crate) use events::Announcer;
pub use events::StatusListener;

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
    /// Its namespace does not exist, is being deleted, or is none that the operator watches.
    NoNamespace,
}

impl Refusal {
    /// Whether it is the same trouble, in whatever words.
    fn is_like(&self, other: &Self) -> bool {
        (&self.object, self.deed, self.cause) == (&other.object, other.deed, other.cause)
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
    #[error("failed to write down {object}: {why}")]
    Unwritable { object: String, why: String },
    #[error("did not apply {object}: its namespace is none that this operator watches")]
    Unwatched { object: String },
    #[error("failed to {verb} {object}: another process of this operator has made it meanwhile")]
    WithOurselves { verb: &'static str, object: String },
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
            Error::Status { .. } | Error::Unwritable { .. } => "serialize",
            Error::Unwatched { .. } => Fault::NoNamespace.category(),
            Error::WithOurselves { .. } => Fault::Conflict.category(),
            Error::Deposed { .. } => "deposed",
        }
    }

    /// What the next `observe` should know of it; that somebody else wrote first is no news.
    fn refusal(&self, deed: Deed) -> Option<Refusal> {
        let (object, cause) = match self {
            Error::Conflict { object, .. } | Error::Foreign { object, .. } => (object, Cause::Owned),
            Error::Refused { object, fault: Fault::Forbidden, .. } => (object, Cause::Forbidden),
            Error::Refused { object, fault: Fault::Invalid, .. } => (object, Cause::Invalid),
            Error::Refused { object, fault: Fault::NotInstalled, .. } => (object, Cause::NotInstalled),
            Error::Refused { object, fault: Fault::Unreachable | Fault::Other, .. }
            | Error::NoAnswer { object, .. } => (object, Cause::Unavailable),
            Error::StillThere { object } => (object, Cause::StillThere),
            Error::Unwatched { object } | Error::Refused { object, fault: Fault::NoNamespace, .. } => {
                (object, Cause::NoNamespace)
            }
            Error::Refused { fault: Fault::Conflict | Fault::Gone, .. }
            | Error::Status { .. }
            | Error::Unwritable { .. }
            | Error::WithOurselves { .. }
            | Error::Deposed { .. } => return None,
        };
        let message = self.to_string().chars().take(LONGEST_MESSAGE).collect();
        Some(Refusal { object: object.clone(), deed, cause, message })
    }

    /// Somebody else wrote first: the watch will show it, and nothing is wrong.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(
            self,
            Error::Refused { fault: Fault::Conflict | Fault::Gone, .. }
                | Error::WithOurselves { .. }
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
    pub(crate) fn requests<S: Serialize>(
        &self,
        object: &DynamicObject,
        plan: &Plan<S>,
        caches: &Caches,
    ) -> Result<Vec<Request>, Error> {
        requests::check(plan, caches)?;
        let live = |id: &ObjectId| caches.showing(id).and_then(|cache| cache.object(&id.key));
        let requests = requests::requests(&self.terms, object, plan, &live)?;
        let is_watched =
            |id: &ObjectId| caches.written(&id.resource).is_some_and(|cache| cache.covers(&id.key));
        let sent = requests.into_iter().map(|request| match request.made() {
            Some(id) if !is_watched(id) => Request::Unwatched { id: id.clone() },
            _ => request,
        });
        Ok(sent.collect())
    }

    /// What has to be sent so that the object's status says this.
    pub(crate) fn saying<S: Serialize>(
        &self,
        object: &DynamicObject,
        status: &S,
    ) -> Result<Vec<Request>, Error> {
        Ok(requests::saying(&self.terms, object, status)?.into_iter().collect())
    }

    /// Sends these requests for `object`; `reconcile` names this reconcile. One that is refused holds back those after it, for
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
    /// Something was refused before: nothing is tried that is likely to be refused again.
    was_refused: bool,
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
            was_refused: false,
            outcome: Outcome::default(),
        }
    }

    async fn run(&mut self, requests: &[Request], known: &[Refusal]) -> Result<(), Error> {
        let (mut refused, mut refusal) = (None, None);
        self.was_refused = !known.is_empty();
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
            Request::Create { id, desired } => self.create(id, desired).await,
            Request::Share { id, desired } => self.share(id, desired).await,
            Request::Patch(patch) => self.patch(patch).await,
            Request::Taken { id, owner } => {
                Err(Error::Foreign { object: id.to_string(), owner: owner.clone() })
            }
            Request::Unwatched { id } => Err(Error::Unwatched { object: id.to_string() }),
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
            Ok(Err(error)) => Err(self.refused(verb, id, &error)),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    /// A namespace that is gone takes our own object with it. Another one, which a child was meant for, is somebody's mistake.
    fn refused(&self, verb: &'static str, id: &ObjectId, error: &kube::Error) -> Error {
        match refused(verb, id, error) {
            Error::Refused { verb, object, fault: Fault::NoNamespace, message }
                if id.key.namespace == self.object.metadata.namespace =>
            {
                Error::Refused { verb, object, fault: Fault::Gone, message }
            }
            refused => refused,
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
    fn expect_own(&mut self, written: &ObjectMeta) {
        self.version.clone_from(&written.resource_version);
        if let Some(version) = &written.resource_version {
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
    /// Somebody else wrote first: the next plan will see who.
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

/// Sends one request that changes nothing.
async fn ask<T>(
    verb: &'static str,
    id: &ObjectId,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    match timeout(ANSWER, request).await {
        Err(_) => Err(Error::NoAnswer { verb, object: id.to_string() }),
        Ok(answer) => answer.map_err(|error| refused(verb, id, &error)),
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

#[cfg(test)]
mod tests;
