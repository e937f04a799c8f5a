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
pub struct Interest {
    resource: ApiResource,
    selection: Selection,
}

impl Interest {
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

/// The watches of all interests of one controller.
pub(crate) struct Interests {
    client: Client,
    triggers: mpsc::UnboundedSender<Trigger>,
    watches: Arc<Beside<Interest, Arc<KindCache>>>,
}

impl Interests {
    pub(crate) fn new(client: Client, triggers: mpsc::UnboundedSender<Trigger>) -> Self {
        Self { client, triggers, watches: Arc::new(Beside::new()) }
    }

    /// From now on `object` is interested in these and nothing else.
    pub(crate) fn want(&self, object: &ObjectKey, wanted: &[Interest]) {
        if self.watches.want(object, wanted, |interest| self.start(interest)) {
            // Nobody listens any more at shutdown.
            let _ = self.triggers.send(Trigger::Object(object.clone()));
        }
    }

    pub(crate) fn find(&self, interest: &Interest) -> Found<Arc<DynamicObject>> {
        let Some(cache) = self.watches.get(interest) else { return Found::NotYet };
        let objects = || cache.all().iter().filter_map(|kept| kept.head().ok().map(Arc::new)).collect();
        Found::at(&cache.progress(), objects)
    }

    pub(crate) fn clear(&self) {
        self.watches.clear();
    }

    fn start(&self, interest: &Interest) -> (Arc<KindCache>, AbortOnDropHandle<()>) {
        let part = interest.selection.namespace.clone();
        let cache = Arc::new(KindCache::of_parts([part.clone()]));
        let tell = {
            let (watches, triggers) = (Arc::downgrade(&self.watches), self.triggers.clone());
            let interest = interest.clone();
            Arc::new(move || {
                for object in watches.upgrade().map(|known| known.wanted_by(&interest)).unwrap_or_default() {
                    // Nobody listens any more at shutdown.
                    let _ = triggers.send(Trigger::Object(object));
                }
            })
        };
        let told = Arc::clone(&tell);
        let watch = KindWatch {
            resource: interest.resource.clone(),
            selection: interest.selection.clone(),
            part,
            cache: Arc::clone(&cache),
            importance: Importance::Passing,
            changed: Box::new(move |_| tell()),
            appeared: Box::new(move || told()),
        };
        (cache, AbortOnDropHandle::new(tokio::spawn(watch.run(self.client.clone()))))
    }
}
