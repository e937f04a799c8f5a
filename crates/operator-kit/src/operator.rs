//! A whole operator: controllers, caches, election, endpoints, from the first request to the last.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Client, Config};
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{error, info};

use crate::act::{Actor, Announcer, StatusListener, Terms};
use crate::cache::watch::{Importance, KindWatch};
use crate::cache::{Caches, Declared, KindCache, Part};
use crate::cluster_id;
use crate::controller::{Concerns, Controller, Names, Watch, Watches};
use crate::driver::{Driver, Shared, Trigger};
use crate::election::{Election, Term};
use crate::metrics::{Metrics, Register};
use crate::object::{plural_name, resource_of};
use crate::product::Product;
use crate::selection::Selection;
use crate::serve::{self, Health};
use crate::temporary_watch::TemporaryWatches;

/// How an operator runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it belongs to.
    pub product: Product,
    /// Where its lease lives.
    pub namespace: String,
    /// What its lease is called.
    pub lease: String,
    /// Where `/healthz`, `/readyz` and `/metrics` are served.
    pub address: SocketAddr,
    /// How many objects of one controller are reconciled at once.
    pub workers: usize,
    /// The namespaces it looks at; all if there are none.
    pub watch_namespaces: Vec<String>,
    /// The id of the cluster; the uid of namespace kube-system if not given.
    pub cluster_id: Option<String>,
}

/// Why an operator cannot run at all; everything else is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is neither a kubeconfig nor a service account.
    #[error("failed to find out how to reach the API server: {0}")]
    Config(#[source] kube::config::InferConfigError),
    /// The configuration makes no client.
    #[error("failed to set up a client for the API server: {0}")]
    Client(#[source] kube::Error),
    /// The process cannot be told to stop.
    #[error("failed to listen for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A controller has declared something that cannot be.
    #[error("a controller is declared wrongly: {0}")]
    Declared(String),
    /// A part of the operator that never ends has ended.
    #[error("a part of the operator died: {0}")]
    Died(String),
}

/// Until a service that has panicked is begun anew.
const SERVICE_PAUSE: Duration = Duration::from_secs(10);

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
type Start = Box<dyn FnOnce(&Client, Arc<Caches>, Shared, Arc<[Arc<StatusListener>]>) -> Running + Send>;
type Service = Arc<dyn Fn(Client) -> Running + Send + Sync>;

/// Controllers that run in one process.
pub struct Operator {
    settings: Settings,
    kinds: Vec<Kind>,
    controllers: Vec<Registered>,
    listeners: Vec<Arc<StatusListener>>,
    counters: Vec<Register>,
    services: Vec<Service>,
    mistakes: Vec<String>,
}

/// A controller that is not started yet.
struct Registered {
    /// What it has declared, in that order: which kind, and whether it writes those objects.
    declared: Vec<(usize, bool)>,
    start: Start,
}

/// Objects that somebody watches.
struct Kind {
    resource: ApiResource,
    selection: Selection,
    is_cluster_scoped: bool,
    names: Vec<Names>,
    importance: Importance,
    listeners: Vec<Listener>,
}

/// Who wants to know of them.
struct Listener {
    concerns: Concerns,
    triggers: mpsc::UnboundedSender<Trigger>,
    /// Which of the controllers it is.
    controller: usize,
}

impl Operator {
    /// An operator without controllers.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            kinds: Vec::new(),
            controllers: Vec::new(),
            listeners: Vec::new(),
            counters: Vec::new(),
            services: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    /// Tells of each status that this process has written. It must not block.
    #[must_use]
    pub fn telling(mut self, listener: impl Fn(&DynamicObject, &Value) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Adds metrics of the product's own to those that are served.
    #[must_use]
    pub fn counting(mut self, register: impl FnOnce(&mut Registry) + Send + 'static) -> Self {
        self.counters.push(Box::new(register));
        self
    }

    /// Runs something beside the controllers for as long as this process leads. It is begun anew with each term, and dropped
    /// in the middle of what it does when a term ends. Unlike the writes of a plan its requests are not held back while the
    /// lease is in doubt: what it writes must be locked by what it has seen.
    #[must_use]
    pub fn serving<F>(mut self, service: impl Fn(Client) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.services.push(Arc::new(move |client| Box::pin(service(client))));
        self
    }

    /// Adds a controller, which declares what it looks at while it is made.
    #[must_use]
    pub fn with<C: Controller>(mut self, make: impl FnOnce(&mut Watches) -> C) -> Self {
        let (sender, triggers) = mpsc::unbounded_channel();
        let mut watches = Watches::of::<C::Object>();
        let controller = make(&mut watches);
        let Watches { kinds, polls, mistakes } = watches;
        self.mistakes.extend(mistakes.into_iter().map(|mistake| format!("{}: {mistake}", C::NAME)));
        for declared in kinds.iter().filter(|watch| !watch.concerns.may_be_of(C::OWNERSHIP)) {
            let kind = plural_name(&declared.resource);
            self.mistakes.push(format!(
                "{}: {kind} are declared with another ownership than the controller's",
                C::NAME
            ));
        }
        let (number, product) = (self.controllers.len(), self.settings.product);
        let declare = |watch: Watch| {
            let is_written = watch.concerns.are_written();
            let listener =
                Listener { concerns: watch.concerns.clone(), triggers: sender.clone(), controller: number };
            (self.watch(watch, listener), is_written)
        };
        let declared = kinds.into_iter().map(declare).collect();
        let start: Start = Box::new(move |client, caches, shared, listeners| {
            let manager = product.field_manager(C::NAME);
            let actor = Actor {
                client: client.clone(),
                announcer: Announcer::new(client.clone(), manager.clone(), C::is_warning, listeners),
                manager,
                terms: Terms {
                    resource: resource_of::<C::Object>(),
                    finalizer: C::FINALIZER,
                    clocks: C::CLOCKS,
                    ownership: C::OWNERSHIP,
                    product,
                },
                term: shared.term.clone(),
            };
            let polls = polls.begin(client, sender.clone());
            let temporary_watches = TemporaryWatches::new(client.clone(), sender);
            let own = caches.written(&resource_of::<C::Object>()).cloned();
            Box::pin(async move {
                // Its own kind is the first that is declared.
                if let Some(own) = own {
                    Driver { controller, actor, caches, own, temporary_watches, polls, shared }
                        .run(triggers)
                        .await;
                }
            })
        });
        self.controllers.push(Registered { declared, start });
        self
    }

    /// One watch for the same objects, whoever wants them. Tells which.
    fn watch(&mut self, watch: Watch, listener: Listener) -> usize {
        let Watch { resource, is_cluster_scoped, selection, concerns, names } = watch;
        let is_own = matches!(concerns, Concerns::Itself);
        let importance = if is_own { Importance::Own } else { Importance::Other };
        let mut known = self.kinds.iter_mut().enumerate();
        let Some((place, kind)) = known.find(|(_, kind)| kind.is_same(&resource, &selection, &names)) else {
            let listeners = vec![listener];
            self.kinds.push(Kind { resource, selection, is_cluster_scoped, names, importance, listeners });
            return self.kinds.len() - 1;
        };
        if is_own {
            kind.importance = importance;
        }
        if kind.names.is_empty() {
            kind.names = names;
        }
        kind.listeners.push(listener);
        place
    }

    /// Runs until the process is told to stop.
    pub async fn run(self) -> Result<(), Error> {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signals)?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let mut operator = tokio::spawn(async move { self.run_until(stopped).await });
        tokio::select! {
            ended = &mut operator => return ended.unwrap_or_else(|died| Err(Error::Died(died.to_string()))),
            _ = interrupt.recv() => info!(signal = "SIGINT", "stopping"),
            _ = terminate.recv() => info!(signal = "SIGTERM", "stopping"),
        }
        stop.cancel();
        operator.await.unwrap_or_else(|died| Err(Error::Died(died.to_string())))
    }

    async fn run_until(self, stop: CancellationToken) -> Result<(), Error> {
        let Self { settings, kinds, controllers, listeners, counters, services, mistakes } = self;
        if !mistakes.is_empty() {
            return Err(Error::Declared(mistakes.join("; ")));
        }
        let client = client().await?;
        let kept: Vec<Arc<KindCache>> = kinds.iter().map(|kind| kind.cache(&settings)).collect();
        let caches_of = |controller: &Registered| {
            let declared = controller.declared.iter().filter_map(|(place, is_written)| {
                let (resource, cache) = (kinds.get(*place)?.resource.clone(), Arc::clone(kept.get(*place)?));
                Some(Declared { resource, is_written: *is_written, cache })
            });
            Arc::new(Caches::new(declared.collect()))
        };
        let caches: Vec<Arc<Caches>> = controllers.iter().map(caches_of).collect();
        let metrics = Arc::new(Metrics::new(settings.product, counters));
        let (sender, leading) = watch::channel(false);
        let mut background = JoinSet::new();
        let health = Health { metrics: Arc::clone(&metrics), kinds: progress(&kinds, &kept) };
        background.spawn(serve::serve(settings.address, Arc::new(health)));
        background.spawn(count_leading(leading.clone(), Arc::clone(&metrics)));
        let cluster = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            id = cluster_id::find(&client, settings.cluster_id.as_deref()) => id,
        };
        let listening = Arc::new(AtomicBool::new(false));
        let watches =
            |(kind, cache): (Kind, &Arc<KindCache>)| kind.into_watches(cache, &caches, &settings, &listening);
        for watch in kinds.into_iter().zip(&kept).flat_map(watches) {
            background.spawn(watch.run(client.clone()));
        }
        // Nobody decides on half a world. What cannot be listed is known to be so after a while, and holds back only the
        // objects that need it.
        for cache in &kept {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = cache.settled() => {}
            }
        }
        let (term, workers) = (Term::ended(), settings.workers);
        let shared = Shared { metrics, leading, term: term.clone(), stop: stop.clone(), workers, cluster };
        // Each driver begins with all objects, so nothing that happened before is lost, nor kept.
        listening.store(true, Ordering::Release);
        let mut drivers: JoinSet<()> = JoinSet::new();
        let listeners: Arc<[Arc<StatusListener>]> = listeners.into();
        for (controller, caches) in controllers.into_iter().zip(caches) {
            drivers.spawn((controller.start)(&client, caches, shared.clone(), Arc::clone(&listeners)));
        }
        let mut serving = JoinSet::new();
        for service in services {
            serving.spawn(while_leading(shared.leading.clone(), client.clone(), service));
        }
        let mut election = Election::new(client, &settings.namespace, &settings.lease, &identity(), term);
        let died = tokio::select! {
            () = election.run(&sender, &stop) => None,
            died = first_panic(&mut drivers) => Some(died),
            died = first_panic(&mut background) => Some(died),
        };
        stop.cancel();
        // In this order: whoever comes next must not meet us at work.
        while drivers.join_next().await.is_some() {}
        serving.shutdown().await;
        sender.send_replace(false);
        election.release().await;
        info!("stopped");
        died.map_or(Ok(()), |died| Err(Error::Died(died)))
    }
}

impl Kind {
    /// Whether these are the same objects, found by the same names. Who looks for none does not mind some.
    fn is_same(&self, resource: &ApiResource, selection: &Selection, names: &[Names]) -> bool {
        let alike = |(one, other): (&Names, &Names)| std::ptr::fn_addr_eq(*one, *other);
        let is_found_alike = self.names.is_empty()
            || names.is_empty()
            || (self.names.len() == names.len() && self.names.iter().zip(names).all(alike));
        self.resource == *resource && self.selection == *selection && is_found_alike
    }

    fn cache(&self, settings: &Settings) -> Arc<KindCache> {
        let parts = self.parts(&settings.watch_namespaces);
        Arc::new(KindCache::of_parts(parts).found_by(&self.names))
    }

    /// A watch for each namespace that the operator looks at, unless the kind is looked for in one place only.
    fn parts(&self, namespaces: &[String]) -> Vec<Part> {
        match &self.selection.namespace {
            Some(_) => vec![self.selection.namespace.clone()],
            None if self.is_cluster_scoped || namespaces.is_empty() => vec![None],
            None => namespaces.iter().cloned().map(Some).collect(),
        }
    }

    fn into_watches(
        self,
        cache: &Arc<KindCache>,
        caches: &[Arc<Caches>],
        settings: &Settings,
        listening: &Arc<AtomicBool>,
    ) -> Vec<KindWatch> {
        let parts = self.parts(&settings.watch_namespaces);
        let known = |listener: &Listener| caches.get(listener.controller).cloned().unwrap_or_default();
        let listeners: Vec<(Listener, Arc<Caches>)> = self
            .listeners
            .into_iter()
            .map(|listener| {
                let known = known(&listener);
                (listener, known)
            })
            .collect();
        let listeners = Arc::new(listeners);
        let watch = |part| {
            let (told, everybody) = (Arc::clone(&listeners), Arc::clone(&listeners));
            let (hears, heard) = (Arc::clone(listening), Arc::clone(listening));
            KindWatch {
                resource: self.resource.clone(),
                selection: self.selection.clone(),
                part,
                cache: Arc::clone(cache),
                importance: self.importance,
                // Nobody listens any more at shutdown.
                changed: Box::new(move |object| {
                    for (listener, known) in told.iter().filter(|_| hears.load(Ordering::Acquire)) {
                        for trigger in listener.concerns.triggers(object, known) {
                            let _ = listener.triggers.send(trigger);
                        }
                    }
                }),
                appeared: Box::new(move || {
                    for (listener, _) in everybody.iter().filter(|_| heard.load(Ordering::Acquire)) {
                        let _ = listener.triggers.send(Trigger::Everything);
                    }
                }),
            }
        };
        parts.into_iter().map(watch).collect()
    }
}

async fn client() -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(Error::Config)?;
    // Retries inside one request would hide from the driver how long it takes; the driver tries again by itself.
    config.default_retry = false;
    info!(server = %config.cluster_url, "starting");
    Client::try_from(config).map_err(Error::Client)
}

fn progress(kinds: &[Kind], kept: &[Arc<KindCache>]) -> Vec<(String, Importance, Arc<KindCache>)> {
    let known = kinds.iter().zip(kept);
    known.map(|(kind, cache)| (plural_name(&kind.resource), kind.importance, Arc::clone(cache))).collect()
}

/// What the first task that panics said: a process without it would look healthy and do nothing.
async fn first_panic(tasks: &mut JoinSet<()>) -> String {
    while let Some(ended) = tasks.join_next().await {
        if let Err(died) = ended
            && died.is_panic()
        {
            return died.to_string();
        }
    }
    std::future::pending().await
}

/// Runs a service in each term of this process. One that comes to its end is not begun anew in the same term; one that
/// panics is, after a while.
async fn while_leading(leading: watch::Receiver<bool>, client: Client, service: Service) {
    while becomes(leading.clone(), true).await {
        let served = async {
            // Dropped with it: the task ends with the term.
            let begun = || {
                let (service, client) = (Arc::clone(&service), client.clone());
                AbortOnDropHandle::new(tokio::spawn(async move { service(client).await }))
            };
            while let Err(died) = begun().await {
                error!(reason = %died, "a service died");
                tokio::time::sleep(SERVICE_PAUSE).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = served => {}
            is_told = becomes(leading.clone(), false) => if !is_told { return },
        }
    }
}

/// Waits until this process leads, or does not; tells whether it can still be known.
async fn becomes(mut leading: watch::Receiver<bool>, wanted: bool) -> bool {
    leading.wait_for(|leads| *leads == wanted).await.is_ok()
}

async fn count_leading(mut leading: watch::Receiver<bool>, metrics: Arc<Metrics>) {
    loop {
        metrics.set_leading(*leading.borrow_and_update());
        if leading.changed().await.is_err() {
            return;
        }
    }
}

/// Another one for each process, also on the same machine.
fn identity() -> String {
    let host = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME"));
    let now = jiff::Timestamp::now().as_millisecond();
    format!("{}_{}_{now:x}", host.unwrap_or_else(|_| "operator".to_owned()), std::process::id())
}

#[cfg(test)]
mod tests;
