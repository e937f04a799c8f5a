//! Read your writes: a cache that has not seen our own last write is too old to decide on.

use std::time::Duration;

use kube::Client;
use kube::api::DynamicObject;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use crate::act::{ANSWER, api};
use crate::cache::{Caches, KindCache, Progress};
use crate::object::ObjectId;

/// The watch should show our own write at once; after this time it is looked for in case it was that which got lost.
pub(crate) const LOOK_FOR_OWN_WRITE: Duration = Duration::from_secs(5);

/// Something we wrote and a cache must show before we look again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) id: ObjectId,
    pub(crate) wrote: Wrote,
    /// When the API server's answer was here.
    pub(crate) at: Instant,
}

/// What we did to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// It has this version since.
    Version(String),
    /// The object with this uid is gone since.
    Gone(String),
}

/// What a cache shows of an object, as far as it matters here.
struct Shown<'a> {
    /// The version of the object, if it is there.
    version: Option<&'a str>,
    /// Whose it is.
    uid: Option<&'a str>,
    /// Everything up to this version has been seen.
    newest: u64,
    /// When the list was asked for on which the cache rests.
    listed_at: Option<Instant>,
}

impl Expectation {
    /// Whether the cache has come as far as our write. One that shows nothing cannot mislead.
    pub(crate) fn is_met_by(&self, cache: &KindCache) -> bool {
        if cache.progress_at(&self.id.key) != Progress::Synced {
            return true;
        }
        // In this order: a cache that moves on in between is taken for older than it is, never for newer.
        let age = cache.age(&self.id.key);
        let kept = cache.get(&self.id.key);
        // Only an end asks for the uid; the version is known without unpacking.
        let object: Option<DynamicObject> = match &self.wrote {
            Wrote::Gone(_) => kept.as_ref().and_then(|kept| kept.read().ok()),
            Wrote::Version(_) => None,
        };
        self.is_met(&Shown {
            version: kept.as_ref().map(|kept| &*kept.version),
            uid: object.as_ref().and_then(|object| object.metadata.uid.as_deref()),
            newest: age.newest,
            listed_at: age.listed_at,
        })
    }

    fn is_met(&self, shown: &Shown<'_>) -> bool {
        let listed_since = shown.listed_at.is_some_and(|listed| listed > self.at);
        match &self.wrote {
            Wrote::Gone(uid) => shown.uid != Some(uid),
            Wrote::Version(written) => match shown.version {
                // Gone again after our write, or not there yet: that depends on how far the cache has come.
                None => {
                    listed_since || version_number(written).is_some_and(|written| shown.newest >= written)
                }
                Some(seen) => listed_since || reaches(seen, written),
            },
        }
    }
}

/// Those that may still be met. What we wrote can be gone before a list shows it that was asked for before: then no event
/// ever tells, and only the API server knows.
pub(crate) async fn without_lost(
    expectations: Vec<Expectation>,
    caches: &Caches,
    client: &Client,
) -> Vec<Expectation> {
    let mut awaited = Vec::new();
    for expectation in expectations {
        let id = &expectation.id;
        let is_shown = caches.written(&id.resource).is_some_and(|cache| cache.get(&id.key).is_some());
        let is_late = expectation.at.elapsed() >= LOOK_FOR_OWN_WRITE;
        if !is_late || is_shown || !is_gone(id, client).await {
            debug!(child = %id, "waiting for the cache to show our own write");
            awaited.push(expectation);
        }
    }
    awaited
}

/// Whether the API server does not have an object.
async fn is_gone(id: &ObjectId, client: &Client) -> bool {
    let found = timeout(ANSWER, api(client, &id.resource, &id.key).get_metadata_opt(&id.key.name)).await;
    match found {
        Ok(Ok(None)) => true,
        Ok(Ok(Some(_))) => {
            warn!(child = %id, "the API server has it, and the watch does not show it");
            false
        }
        Ok(Err(error)) => {
            debug!(child = %id, %error, "failed to look for our own write");
            false
        }
        Err(_) => false,
    }
}

/// Versions of one kind count upwards; ones that are no numbers can only be compared for equality.
fn reaches(seen: &str, written: &str) -> bool {
    match (version_number(seen), version_number(written)) {
        (Some(seen), Some(written)) => seen >= written,
        _ => seen == written,
    }
}

pub(crate) fn version_number(version: &str) -> Option<u64> {
    version.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::testing::{answering, status};
    use crate::cache::{Declared, Past};
    use crate::object::ObjectKey;
    use http::StatusCode;
    use std::sync::Arc;

    fn object(uid: &str, version: &str) -> DynamicObject {
        serde_json::from_value(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "uid": uid, "resourceVersion": version}}))
        .unwrap()
    }

    fn expectation(wrote: Wrote, at: Instant) -> Expectation {
        let resource = crate::object::resource_of::<k8s_openapi::api::core::v1::ConfigMap>();
        Expectation { id: ObjectId { resource, key: ObjectKey::namespaced("shop", "a") }, wrote, at }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_gone_before_a_list_could_show_it_is_not_waited_for_for_ever() {
        let (cache, all) = (KindCache::of_parts([None]), None);
        cache.begin_list(&all);
        cache.end_list(&all, Past::Refused);
        cache.begin_list(&all);
        tokio::time::advance(Duration::from_millis(1)).await;
        let expected = expectation(Wrote::Version("10".to_owned()), Instant::now());
        // Another controller lets go of it, then the list is made.
        cache.end_list(&all, Past::Refused);
        assert!(!expected.is_met_by(&cache), "it may also not be there yet");
        let resource = expected.id.resource.clone();
        let caches = Caches::new(vec![Declared { resource, is_written: true, cache: Arc::new(cache) }]);
        let there = || {
            (
                StatusCode::OK,
                serde_json::json!({"apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadata", "metadata": {"name": "a", "namespace": "shop"}}),
            )
        };
        let left = async |answer: (StatusCode, serde_json::Value)| {
            let (client, asked) = answering(move |_| answer.clone());
            let left = without_lost(vec![expected.clone()], &caches, &client).await;
            (left.len(), asked.lock().unwrap().len())
        };
        assert_eq!(left(status(404)).await, (1, 0), "the watch has its time first");
        tokio::time::advance(LOOK_FOR_OWN_WRITE).await;
        assert_eq!(left(status(404)).await, (0, 1), "it is gone");
        assert_eq!(left(there()).await, (1, 1), "a cache that is behind");
        assert_eq!(left(status(403)).await, (1, 1), "nobody knows");
    }

    #[test]
    fn a_cache_is_fresh_when_it_shows_the_write_or_what_came_after_it() {
        let at = Instant::now();
        let (before, after) = (at - Duration::from_secs(1), at + Duration::from_secs(1));
        let version = |version: &str| Wrote::Version(version.to_owned());
        let table = [
            ("older version", version("10"), Some(object("u", "9")), 9, before, false),
            ("our version", version("10"), Some(object("u", "10")), 10, before, true),
            ("newer version", version("9"), Some(object("u", "10")), 10, before, true),
            ("as a number, not as a text", version("9"), Some(object("u", "100")), 100, before, true),
            ("not there yet", version("10"), None, 9, before, false),
            ("deleted after our write", version("10"), None, 11, before, true),
            ("list from before our write", version("10"), None, 9, before, false),
            ("list asked for after our write", version("10"), None, 9, after, true),
            (
                "still shown after its deletion",
                Wrote::Gone("u".into()),
                Some(object("u", "9")),
                9,
                before,
                false,
            ),
            ("gone", Wrote::Gone("u".into()), None, 9, before, true),
            ("a namesake came after it", Wrote::Gone("u".into()), Some(object("v", "12")), 12, before, true),
        ];
        for (name, wrote, object, newest, listed_at, expected) in table {
            let meta = object.as_ref().map(|object| &object.metadata);
            let shown = Shown {
                version: meta.and_then(|meta| meta.resource_version.as_deref()),
                uid: meta.and_then(|meta| meta.uid.as_deref()),
                newest,
                listed_at: Some(listed_at),
            };
            assert_eq!(expectation(wrote, at).is_met(&shown), expected, "{name}");
        }
    }
}
