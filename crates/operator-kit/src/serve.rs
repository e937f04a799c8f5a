//! `/healthz`, `/readyz` and `/metrics`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tracing::{error, info};

use crate::cache::watch::Importance;
use crate::cache::{KindCache, Progress};
use crate::metrics::Metrics;

/// What the endpoints look at.
pub(crate) struct Health {
    pub(crate) metrics: Arc<Metrics>,
    /// Each watched kind with its name.
    pub(crate) kinds: Vec<(String, Importance, Arc<KindCache>)>,
}

/// Serves until it is dropped.
pub(crate) async fn serve(address: SocketAddr, health: Arc<Health>) {
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            error!(%address, %error, "failed to listen for health checks and metrics");
            return;
        }
    };
    // Port 0 asks for any: say which one it is.
    let bound = listener.local_addr().unwrap_or(address);
    info!(address = %bound, "serving /healthz, /readyz and /metrics");
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health);
    if let Err(error) = axum::serve(listener, router).await {
        error!(%error, "failed to serve health checks and metrics");
    }
}

async fn readyz(State(health): State<Arc<Health>>) -> impl IntoResponse {
    let waiting: Vec<String> = health
        .kinds
        .iter()
        .filter_map(|(name, importance, cache)| {
            obstacle(*importance, &cache.progress()).map(|why| format!("{name}: {why}\n"))
        })
        .collect();
    if waiting.is_empty() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, waiting.concat())
    }
}

/// Why the operator is not ready to work, as far as one kind is concerned.
fn obstacle(importance: Importance, progress: &Progress) -> Option<&str> {
    match (importance, progress) {
        (_, Progress::Starting) => Some("not listed yet"),
        // Without a kind of others only the objects that need it are held back, and say so.
        (_, Progress::Synced) | (Importance::Other | Importance::Passing, _) => None,
        (Importance::Own, Progress::NotInstalled) => Some("its CRD is not installed"),
        (Importance::Own, Progress::Unlisted(why)) => Some(why),
    }
}

async fn metrics(State(health): State<Arc<Health>>) -> impl IntoResponse {
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], health.metrics.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_others_bring_may_be_absent_and_our_own_may_not() {
        let table = [
            (Importance::Own, Progress::Synced, true),
            (Importance::Own, Progress::NotInstalled, false),
            (Importance::Own, Progress::Starting, false),
            (Importance::Other, Progress::NotInstalled, true),
            (Importance::Own, Progress::Unlisted("forbidden".into()), false),
            (Importance::Other, Progress::Starting, false),
            (Importance::Other, Progress::Unlisted("forbidden".into()), true),
        ];
        for (importance, progress, ready) in table {
            assert_eq!(obstacle(importance, &progress).is_none(), ready, "{importance:?} {progress:?}");
        }
    }
}
