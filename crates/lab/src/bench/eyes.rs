//! What a bench sees of the cluster: its own watch, and how long it takes until a request shows there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::timeout;

/// How long one write may take to show up.
const DEADLINE: Duration = Duration::from_secs(20);

/// What a watch shows.
pub(super) struct Eyes(BoxStream<'static, watcher::Result<DynamicObject>>);

/// How long it took until something was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Took {
    pub(super) from_request: Duration,
    /// Nothing, if it was seen before the answer came.
    pub(super) from_answer: Duration,
}

impl Eyes {
    pub(super) fn on(api: Api<DynamicObject>) -> Self {
        Self(watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed())
    }

    /// Waits for an object that is as wanted.
    pub(super) async fn until(&mut self, wanted: impl Fn(&DynamicObject) -> bool) -> Result<DynamicObject> {
        let shown = async {
            loop {
                let object = self.next().await?;
                if wanted(&object) {
                    return Ok(object);
                }
            }
        };
        timeout(DEADLINE, shown).await.context("nothing as wanted was seen in time")?
    }

    /// The next object that is shown.
    pub(super) async fn next(&mut self) -> Result<DynamicObject> {
        loop {
            match timeout(DEADLINE, self.0.next()).await.context("nothing more was seen in time")? {
                Some(Ok(object)) => return Ok(object),
                // A watch that breaks is taken up again by itself.
                Some(Err(_)) => {}
                None => bail!("the watch ended"),
            }
        }
    }

    /// Looks at what has come already, so that it does not stand before what comes next.
    fn catch_up(&mut self) {
        while self.0.next().now_or_never().flatten().is_some() {}
    }

    /// From a request until something as wanted is seen, and what that is.
    pub(super) async fn timed(
        &mut self,
        request: impl Future<Output = Result<()>>,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<(Took, DynamicObject)> {
        self.catch_up();
        let started = Instant::now();
        let answered = async {
            request.await?;
            anyhow::Ok(Instant::now())
        };
        let shown = async {
            let object = self.until(wanted).await?;
            Ok((Instant::now(), object))
        };
        let (answered, (shown, object)) = futures::future::try_join(answered, shown).await?;
        let took = Took {
            from_request: shown.duration_since(started),
            from_answer: shown.saturating_duration_since(answered),
        };
        Ok((took, object))
    }
}
