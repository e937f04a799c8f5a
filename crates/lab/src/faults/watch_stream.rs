//! A watch on its way through the proxy: cut, expired, silent or late.

use std::io;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::fault::Kind;

/// What happens to watches from a moment on.
#[derive(Clone, Debug, Default)]
pub(crate) enum Disturbance {
    #[default]
    None,
    Cut,
    Expire(Option<Kind>),
    Freeze(Kind, Instant),
}

/// What a client is sent.
pub(crate) type Frames = UnboundedReceiver<io::Result<Frame<Bytes>>>;

/// Passes the events of a watch on, until it ends or is disturbed.
pub(crate) fn passed_on(
    upstream: Body,
    plural: String,
    late: Duration,
    disturbances: watch::Receiver<Disturbance>,
) -> Frames {
    let (to_client, frames) = unbounded();
    let (arrived, events) = unbounded();
    tokio::spawn(collect(upstream, arrived));
    tokio::spawn(async move {
        // When the client is gone there is nobody to tell.
        let _ = pass_on(&to_client, events, &plural, late, disturbances).await;
    });
    frames
}

/// Notes when each piece came, so that a late one is late by as much as it should be, however many there are.
async fn collect(upstream: Body, arrived: UnboundedSender<(Instant, Bytes)>) {
    let mut pieces = upstream.into_data_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        if arrived.unbounded_send((Instant::now(), piece)).is_err() {
            return;
        }
    }
}

struct Gone;

async fn pass_on(
    client: &UnboundedSender<io::Result<Frame<Bytes>>>,
    mut events: UnboundedReceiver<(Instant, Bytes)>,
    plural: &str,
    late: Duration,
    mut disturbances: watch::Receiver<Disturbance>,
) -> Result<(), Gone> {
    let send = |item| client.unbounded_send(item).map_err(|_| Gone);
    let is_mine = |kind: Kind| kind.plural() == plural;
    // An error of ours stands on a line of its own.
    let mut is_between_lines = true;
    loop {
        tokio::select! {
            biased;
            changed = disturbances.changed(), if is_between_lines => {
                changed.map_err(|_| Gone)?;
                let what = disturbances.borrow_and_update().clone();
                match what {
                    Disturbance::Cut => return send(Err(io::ErrorKind::ConnectionReset.into())),
                    Disturbance::Expire(kind) if kind.is_none_or(is_mine) => {
                        return send(Ok(Frame::data(Bytes::from_static(EXPIRED))));
                    }
                    Disturbance::Freeze(kind, until) if is_mine(kind) => sleep_until(until).await,
                    Disturbance::None | Disturbance::Expire(_) | Disturbance::Freeze(..) => {}
                }
            }
            event = events.next() => {
                let Some((at, piece)) = event else { return Ok(()) };
                is_between_lines = piece.ends_with(b"\n");
                sleep_until(at + late).await;
                send(Ok(Frame::data(piece)))?;
            }
        }
    }
}

/// As the API server says it within a watch.
const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version (a fault of the lab)","reason":"Expired","code":410}}
"#;
