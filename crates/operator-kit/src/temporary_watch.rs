//! Objects that matter only for a while: watched from the plan that asks for them to the first one that does not.

use std::sync::Arc;

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Client, Resource};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::beside::Beside;
use crate::cache::watch::{Importance, KindWatch};
use crate::cache::{Found, KindCache};
use crate::driver::Trigger;
use crate::object::{ObjectKey, resource_of};
use crate::selection::Selection;

/// Some objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TemporaryWatch {
    resource: ApiResource,
    selection: Selection,
}

impl TemporaryWatch {
    /// These objects of kind `K`.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()>>(selection: Selection) -> Self {
        Self { resource: resource_of::<K>(), selection }
    }

    /// What the kind is called.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.resource.kind
    }
}

/// All temporary watches of one controller.
pub(crate) struct TemporaryWatches {
    client: Client,
    triggers: mpsc::UnboundedSender<Trigger>,
    watches: Arc<Beside<TemporaryWatch, Arc<KindCache>>>,
}

impl TemporaryWatches {
    pub(crate) fn new(client: Client, triggers: mpsc::UnboundedSender<Trigger>) -> Self {
        Self { client, triggers, watches: Arc::new(Beside::new()) }
    }

    /// From now on `object` wants these and nothing else.
    pub(crate) fn want(&self, object: &ObjectKey, wanted: &[TemporaryWatch]) {
        if self.watches.want(object, wanted, |temporary_watch| self.start(temporary_watch)) {
            // Nobody listens any more at shutdown.
            let _ = self.triggers.send(Trigger::Object(object.clone()));
        }
    }

    pub(crate) fn find(&self, temporary_watch: &TemporaryWatch) -> Found<Arc<DynamicObject>> {
        let Some(cache) = self.watches.get(temporary_watch) else { return Found::NotYet };
        let objects = || cache.all().iter().filter_map(|kept| kept.head().ok().map(Arc::new)).collect();
        Found::at(&cache.progress(), objects)
    }

    pub(crate) fn clear(&self) {
        self.watches.clear();
    }

    fn start(&self, temporary_watch: &TemporaryWatch) -> (Arc<KindCache>, AbortOnDropHandle<()>) {
        let part = temporary_watch.selection.namespace.clone();
        let cache = Arc::new(KindCache::of_parts([part.clone()]));
        let tell = {
            let (watches, triggers) = (Arc::downgrade(&self.watches), self.triggers.clone());
            let temporary_watch = temporary_watch.clone();
            Arc::new(move || {
                for object in
                    watches.upgrade().map(|known| known.wanted_by(&temporary_watch)).unwrap_or_default()
                {
                    // Nobody listens any more at shutdown.
                    let _ = triggers.send(Trigger::Object(object));
                }
            })
        };
        let told = Arc::clone(&tell);
        let watch = KindWatch {
            resource: temporary_watch.resource.clone(),
            selection: temporary_watch.selection.clone(),
            part,
            cache: Arc::clone(&cache),
            importance: Importance::Passing,
            changed: Box::new(move |_| tell()),
            appeared: Box::new(move || told()),
        };
        (cache, AbortOnDropHandle::new(tokio::spawn(watch.run(self.client.clone()))))
    }
}
