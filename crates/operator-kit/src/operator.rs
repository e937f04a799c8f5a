//! A whole operator: controllers, caches, election, endpoints, from the first request to the last.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::core::ApiResource;
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::act::{Actor, Announcer, Terms};
use crate::cache::watch::{Importance, KindWatch};
use crate::cache::{Caches, KindCache, Part};
use crate::cluster_id;
use crate::controller::{Concerns, Controller, Names, Watch};
use crate::driver::{Driver, Shared, Trigger};
use crate::election::{Election, Term};
use crate::errand::Errands;
use crate::interest::Interests;
use crate::metrics::Metrics;
use crate::object::{plural_name, resource_of};
use crate::selection::Selection;
use crate::serve::{self, Health};

/// How an operator runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where its lease lives.
    pub namespace: String,
    /// What its lease is called.
    pub lease: String,
    /// Where `/healthz`, `/readyz` and `/metrics` are served.
    pub address: SocketAddr,
    /// How many objects of one controller are visited at once.
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
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;
type Start = Box<dyn FnOnce(&Client, Shared) -> Running + Send>;

/// Controllers that run in one process.
pub struct Operator {
    settings: Settings,
    kinds: Vec<Kind>,
    starts: Vec<Start>,
}

/// A kind that somebody watches.
struct Kind {
    resource: ApiResource,
    selection: Selection,
    importance: Importance,
    listeners: Vec<(Concerns, mpsc::UnboundedSender<Trigger>)>,
    names: Vec<Names>,
}

impl Operator {
    /// An operator without controllers.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, kinds: Vec::new(), starts: Vec::new() }
    }

    /// Adds a controller.
    #[must_use]
    pub fn with<C: Controller>(mut self, controller: C) -> Self {
        let (sender, triggers) = mpsc::unbounded_channel();
        self.watch(Watch::own::<C>(), Importance::Own, &sender);
        for watch in controller.watches().0 {
            self.watch(watch, Importance::Other, &sender);
        }
        self.starts.push(Box::new(move |client, shared| {
            let manager = format!("vworkspace-{}", C::NAME);
            let actor = Actor {
                client: client.clone(),
                announcer: Announcer::new(client.clone(), manager.clone()),
                manager,
                terms: Terms {
                    resource: resource_of::<C::Object>(),
                    finalizer: C::FINALIZER,
                    clocks: C::CLOCKS,
                    ownership: C::OWNERSHIP,
                },
                term: shared.term.clone(),
            };
            let interests = Interests::new(client.clone(), sender.clone());
            let errands = Errands::new(sender);
            let own = shared.caches.of(&resource_of::<C::Object>()).cloned();
            Box::pin(async move {
                // Its own kind is among the watched ones.
                if let Some(own) = own {
                    Driver { controller, actor, own, interests, errands, shared }.run(triggers).await;
                }
            })
        }));
        self
    }

    /// One watch per kind, whoever wants it.
    fn watch(&mut self, watch: Watch, importance: Importance, sender: &mpsc::UnboundedSender<Trigger>) {
        let listener = (watch.concerns, sender.clone());
        match self.kinds.iter_mut().find(|kind| kind.resource == watch.resource) {
            Some(kind) => {
                if kind.selection != watch.selection {
                    kind.selection = Selection::all();
                }
                if importance == Importance::Own {
                    kind.importance = importance;
                }
                kind.listeners.push(listener);
                kind.names.extend(watch.names);
            }
            None => self.kinds.push(Kind {
                resource: watch.resource,
                selection: watch.selection,
                importance,
                listeners: vec![listener],
                names: watch.names.into_iter().collect(),
            }),
        }
    }

    /// Runs until the process is told to stop.
    pub async fn run(self) -> Result<(), Error> {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signals)?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let mut operator = tokio::spawn(async move { self.run_until(stopped).await });
        tokio::select! {
            ended = &mut operator => return ended.unwrap_or(Ok(())),
            _ = interrupt.recv() => info!(signal = "SIGINT", "stopping"),
            _ = terminate.recv() => info!(signal = "SIGTERM", "stopping"),
        }
        stop.cancel();
        operator.await.unwrap_or(Ok(()))
    }

    async fn run_until(self, stop: CancellationToken) -> Result<(), Error> {
        let client = client().await?;
        let Self { settings, kinds, starts } = self;
        let mut caches = Caches::default();
        for kind in &kinds {
            let cache = KindCache::of_parts(kind.parts(&settings.watch_namespaces));
            caches.add(&kind.resource, cache.found_by(&kind.names));
        }
        let (caches, metrics) = (Arc::new(caches), Arc::new(Metrics::new()));
        let (sender, leading) = watch::channel(false);
        let mut background = JoinSet::new();
        let health = Health { metrics: Arc::clone(&metrics), kinds: progress(&kinds, &caches) };
        background.spawn(serve::serve(settings.address, Arc::new(health)));
        background.spawn(count_leading(leading.clone(), Arc::clone(&metrics)));
        let cluster = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            id = cluster_id::find(&client, settings.cluster_id.as_deref()) => id,
        };
        let settled: Vec<_> = kinds.iter().filter_map(|kind| caches.of(&kind.resource).cloned()).collect();
        let listening = Arc::new(AtomicBool::new(false));
        let watches = |kind: Kind| kind.into_watches(&caches, &settings.watch_namespaces, &listening);
        for watch in kinds.into_iter().flat_map(watches) {
            background.spawn(watch.run(client.clone()));
        }
        // Nobody decides on half a world. What cannot be listed is known to be so after a while, and holds back only the
        // objects that need it.
        for cache in &settled {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = cache.settled() => {}
            }
        }
        let (term, workers) = (Term::ended(), settings.workers);
        let shared =
            Shared { caches, metrics, leading, term: term.clone(), stop: stop.clone(), workers, cluster };
        // Each driver begins with all objects, so nothing that happened before is lost, nor kept.
        listening.store(true, Ordering::Release);
        let mut drivers: JoinSet<()> = JoinSet::new();
        for start in starts {
            drivers.spawn(start(&client, shared.clone()));
        }
        let mut election = Election::new(client, &settings.namespace, &settings.lease, &identity(), term);
        election.run(&sender, &stop).await;
        // In this order: whoever comes next must not meet us at work.
        while drivers.join_next().await.is_some() {}
        sender.send_replace(false);
        election.release().await;
        info!("stopped");
        Ok(())
    }
}

impl Kind {
    /// A watch for each namespace that the operator looks at, unless the kind is looked for in one place only.
    fn parts(&self, namespaces: &[String]) -> Vec<Part> {
        match &self.selection.namespace {
            Some(_) => vec![self.selection.namespace.clone()],
            None if namespaces.is_empty() => vec![None],
            None => namespaces.iter().cloned().map(Some).collect(),
        }
    }

    fn into_watches(
        self,
        caches: &Arc<Caches>,
        namespaces: &[String],
        listening: &Arc<AtomicBool>,
    ) -> Vec<KindWatch> {
        let Some(cache) = caches.of(&self.resource) else { return Vec::new() };
        let parts = self.parts(namespaces);
        let listeners = Arc::new(self.listeners);
        let watch = |part| {
            let (told, everybody, known) =
                (Arc::clone(&listeners), Arc::clone(&listeners), Arc::clone(caches));
            let (hears, heard) = (Arc::clone(listening), Arc::clone(listening));
            KindWatch {
                resource: self.resource.clone(),
                selection: self.selection.clone(),
                part,
                cache: Arc::clone(cache),
                importance: self.importance,
                // Nobody listens any more at shutdown.
                changed: Box::new(move |object| {
                    for (concerns, sender) in told.iter().filter(|_| hears.load(Ordering::Acquire)) {
                        for trigger in concerns.triggers(object, &known) {
                            let _ = sender.send(trigger);
                        }
                    }
                }),
                appeared: Box::new(move || {
                    for (_, sender) in everybody.iter().filter(|_| heard.load(Ordering::Acquire)) {
                        let _ = sender.send(Trigger::Everything);
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

fn progress(kinds: &[Kind], caches: &Caches) -> Vec<(String, Importance, Arc<KindCache>)> {
    let known = kinds.iter().filter_map(|kind| {
        Some((plural_name(&kind.resource), kind.importance, Arc::clone(caches.of(&kind.resource)?)))
    });
    known.collect()
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
