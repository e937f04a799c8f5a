//! Carries plans out: the one place that writes to the cluster. Every crash point lies between two requests here, and
//! the order is such that whoever comes after it can go on: the finalizer stands before the first child, and goes last.

mod children;
mod conflict;
mod difference;
mod events;
mod finalizer;
mod sent;
mod status;

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use serde::Serialize;
use tokio::time::{Instant, timeout};
use tracing::debug;

pub(crate) use events::Announcer;

use crate::cache::Caches;
use crate::fault::{self, Fault, fault};
use crate::freshness::{Expectation, Wrote};
use crate::object::{ObjectId, ObjectKey};
use crate::plan::{Finalizer, Plan};

/// How long the API server may take to answer one request.
const ANSWER: Duration = Duration::from_secs(15);
/// A message of somebody else is copied up to this length.
const LONGEST_MESSAGE: usize = 1000;

/// Something that the API server did not let us do, for the next `observe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it was about.
    pub object: String,
    /// Why.
    pub cause: Cause,
    /// The API server's words.
    pub message: String,
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
        }
    }

    /// What the next `observe` should know of it; that somebody was faster is no news.
    fn refusal(&self) -> Option<Refusal> {
        let (object, cause) = match self {
            Error::Conflict { object, .. } | Error::Foreign { object, .. } => (object, Cause::Owned),
            Error::Refused { object, fault: Fault::Forbidden, .. } => (object, Cause::Forbidden),
            Error::Refused { object, fault: Fault::Invalid, .. } => (object, Cause::Invalid),
            Error::Refused { object, fault: Fault::Unreachable | Fault::Other, .. }
            | Error::NoAnswer { object, .. } => (object, Cause::Unavailable),
            Error::StillThere { object } => (object, Cause::StillThere),
            Error::Refused { .. } | Error::Status { .. } => return None,
        };
        let message = self.to_string().chars().take(LONGEST_MESSAGE).collect();
        Some(Refusal { object: object.clone(), cause, message })
    }

    /// Somebody was faster: the watch will show it, and nothing is wrong.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Error::Refused { fault: Fault::Conflict | Fault::NotInstalled, .. })
    }
}

/// What became of a plan.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What the caches must show before the object is looked at again.
    pub(crate) expectations: Vec<Expectation>,
    /// What did not work.
    pub(crate) errors: Vec<Error>,
    /// The child that was refused.
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
    pub(crate) finalizer: &'static str,
    pub(crate) clocks: &'static [&'static str],
    /// The controller's own kind.
    pub(crate) resource: ApiResource,
    pub(crate) announcer: Announcer,
}

impl Actor {
    /// Carries out a plan for `object` as far as it can be; what does not depend on a failed step is done all the same.
    pub(crate) async fn carry_out<S: Serialize, E>(
        &self,
        object: &DynamicObject,
        plan: &Plan<S, E>,
        caches: &Caches,
        known: &[Refusal],
    ) -> Outcome {
        let mut task = Task::new(self, object);
        if let Err(error) = task.run(plan, caches, known).await {
            task.outcome.errors.push(error);
        }
        task.outcome
    }

    /// Writes only what the plan says of the object, because nothing else may be tried at the moment.
    pub(crate) async fn tell<S: Serialize, E>(&self, object: &DynamicObject, plan: &Plan<S, E>) -> Outcome {
        let mut task = Task::new(self, object);
        if let Err(error) = task.status(plan).await {
            task.outcome.errors.push(error);
        }
        task.outcome
    }
}

/// One plan on its way.
struct Task<'a> {
    actor: &'a Actor,
    object: &'a DynamicObject,
    /// The version of the object after our own last write.
    version: Option<String>,
    outcome: Outcome,
}

impl<'a> Task<'a> {
    fn new(actor: &'a Actor, object: &'a DynamicObject) -> Self {
        Self { actor, object, version: None, outcome: Outcome::default() }
    }

    async fn run<S: Serialize, E>(
        &mut self,
        plan: &Plan<S, E>,
        caches: &Caches,
        known: &[Refusal],
    ) -> Result<(), Error> {
        if plan.finalizer == Finalizer::Hold {
            self.set_finalizer(plan.finalizer).await?;
        }
        let releases = plan.finalizer == Finalizer::Release && self.has_finalizer();
        let mut refused = self.children(plan, caches).await.err();
        if releases && refused.is_none() {
            refused = self.check_gone(&plan.gone).await.err();
        }
        let refusal = refused.as_ref().and_then(Error::refusal);
        let knows = knows(known, refused.as_ref(), refusal.as_ref());
        self.outcome.is_news = knows == Knows::Better;
        self.outcome.refusal = refusal;
        self.outcome.errors.extend(refused);
        match knows {
            // The status of an object that ends with its finalizer is nobody's to read.
            Knows::Well if releases && self.outcome.errors.is_empty() => {
                self.set_finalizer(plan.finalizer).await
            }
            Knows::Well => self.status(plan).await,
            Knows::Better | Knows::Nothing => Ok(()),
        }
    }

    /// In order; one that is refused holds back those after it, for they may rely on it.
    async fn children<S, E>(&mut self, plan: &Plan<S, E>, caches: &Caches) -> Result<(), Error> {
        for child in &plan.children {
            self.apply(child, caches).await?;
        }
        for deletion in &plan.deletions {
            self.delete(deletion).await?;
        }
        for nudge in &plan.nudges {
            self.nudge(nudge, caches).await?;
        }
        Ok(())
    }

    fn id(&self) -> ObjectId {
        ObjectId { resource: self.actor.resource.clone(), key: ObjectKey::of(self.object) }
    }

    /// The object's version as far as we know it.
    fn version(&self) -> Option<&String> {
        self.version.as_ref().or(self.object.metadata.resource_version.as_ref())
    }

    fn reference(&self) -> ObjectReference {
        let meta = &self.object.metadata;
        ObjectReference {
            api_version: Some(self.actor.resource.api_version.clone()),
            kind: Some(self.actor.resource.kind.clone()),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: self.version().cloned(),
            ..ObjectReference::default()
        }
    }

    /// Sends one request that may change something, and remembers what the caches must show after it.
    async fn write<T>(
        &mut self,
        verb: &'static str,
        id: &ObjectId,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        self.outcome.writes += 1;
        let answer = timeout(ANSWER, request).await;
        debug!(verb, child = %id, ok = matches!(answer, Ok(Ok(_))), "asked the API server");
        match answer {
            Err(_) => Err(Error::NoAnswer { verb, object: id.to_string() }),
            Ok(Err(error)) => Err(refused(verb, id, &error)),
            Ok(Ok(answer)) => Ok(answer),
        }
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

/// What a plan's status knows of how its children fared.
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

fn api(client: &Client, resource: &ApiResource, key: &ObjectKey) -> Api<DynamicObject> {
    match &key.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(object: &str, fault: Fault) -> Error {
        Error::Refused { verb: "apply", object: object.to_owned(), fault, message: String::new() }
    }

    #[test]
    fn a_status_is_written_only_by_a_plan_that_knew_how_its_children_would_fare() {
        let away = || error("HelmRelease shop/web", Fault::Unreachable);
        let forbidden = error("HelmRelease shop/web", Fault::Forbidden);
        let faster = error("HelmRelease shop/web", Fault::Conflict);
        let known: Vec<Refusal> = away().refusal().into_iter().collect();
        let table = [
            ("nothing was refused", &[][..], None, Knows::Well),
            ("refused as before", &known, Some(away()), Knows::Well),
            ("refused for the first time", &[], Some(away()), Knows::Better),
            ("refused otherwise than before", &known, Some(forbidden), Knows::Better),
            ("done at last", &known, None, Knows::Better),
            ("somebody was faster", &[], Some(faster), Knows::Nothing),
        ];
        for (name, known, refused, expected) in table {
            let refusal = refused.as_ref().and_then(Error::refusal);
            assert_eq!(knows(known, refused.as_ref(), refusal.as_ref()), expected, "{name}");
        }
    }
}
