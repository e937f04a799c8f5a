//! What others would say of objects that the operator makes: a bench says it for them, because they do not run.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::instances::CONCURRENCY;

/// Somebody who speaks, for as long as this lives.
pub(super) struct Replay(AbortHandle);

impl Drop for Replay {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Replay {
    pub(super) fn start(who: &'static str, work: impl Future<Output = Result<()>> + Send + 'static) -> Self {
        let task = tokio::spawn(async move {
            if let Err(error) = work.await {
                eprintln!("lab: what {who} would say is not said any more: {error:#}");
            }
        });
        Self(task.abort_handle())
    }
}

/// Writes the status of each object with this label about which there is something to say. `within` is where an object of
/// the namespace is found.
pub(super) async fn follow(
    within: impl Fn(Option<&str>) -> Api<DynamicObject>,
    label: &str,
    say: impl Fn(&DynamicObject) -> Option<Value>,
) -> Result<()> {
    let ours = watcher::Config::default().labels(label);
    let seen = watcher(within(None), ours).default_backoff().applied_objects();
    // A watch that breaks is taken up again by itself.
    let news = seen.filter_map(|object| {
        let object = object.ok();
        std::future::ready(object.and_then(|object| Some((say(&object)?, object))))
    });
    let told = news.map(|(status, object)| {
        let api = within(object.namespace().as_deref());
        async move { write(&api, &object.name_any(), &status).await }
    });
    told.buffer_unordered(CONCURRENCY).try_for_each(async |()| Ok(())).await
}

/// Writes a status; what is gone needs none.
pub(super) async fn write(api: &Api<DynamicObject>, name: &str, status: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({ "status": status }));
    match api.patch_status(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(gone)) if gone.code == 404 => Ok(()),
        other => other.map(|_| ()).with_context(|| format!("failed to write the status of {name}")),
    }
}
