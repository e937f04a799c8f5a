//! Read your writes: a cache that has not seen our own last write is too old to decide on.

use std::time::Duration;

use kube::api::DynamicObject;
use tokio::time::Instant;

use crate::cache::{KindCache, Progress};
use crate::object::ObjectId;

/// The watch should show our own write at once, and wakes us up. A list that makes it moot wakes nobody.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(5);

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
    /// When the cache last went back to an earlier version.
    went_back_at: Option<Instant>,
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
            went_back_at: age.went_back_at,
        })
    }

    fn is_met(&self, shown: &Shown<'_>) -> bool {
        // The cluster was restored from a backup: our write is not part of what it has now.
        let is_undone = shown.went_back_at.is_some_and(|went_back| went_back > self.at);
        match (&self.wrote, shown.version) {
            (Wrote::Gone(uid), _) => shown.uid != Some(uid),
            (Wrote::Version(written), Some(seen)) => is_undone || reaches(seen, written),
            // Gone again after our write, or not there yet: that depends on how far the cache has come.
            (Wrote::Version(written), None) => {
                is_undone || version_number(written).is_none_or(|written| shown.newest >= written)
            }
        }
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
    use crate::cache::Past;
    use crate::object::ObjectKey;

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
    async fn what_was_gone_before_a_list_could_show_it_is_not_waited_for() {
        let (cache, all) = (KindCache::of_parts([None]), None);
        let list = |version: &str, past: Past| {
            cache.begin_list(&all);
            cache.end_list(&all, version, past)
        };
        list("9", Past::Refused);
        let expected = expectation(Wrote::Version("10".to_owned()), Instant::now());
        assert!(!expected.is_met_by(&cache), "not there yet");
        // It was made and taken away while nobody watched.
        list("11", Past::Refused);
        assert!(expected.is_met_by(&cache));
        // A backup from before it.
        let expected = expectation(Wrote::Version("12".to_owned()), Instant::now());
        tokio::time::advance(Duration::from_millis(1)).await;
        list("5", Past::Accepted);
        assert!(expected.is_met_by(&cache), "it never was");
        let expected = expectation(Wrote::Version("6".to_owned()), Instant::now());
        assert!(!expected.is_met_by(&cache), "after the restoration it counts again");
        cache.reached(&all, "6");
        assert!(expected.is_met_by(&cache), "a bookmark tells how far the watch has come");
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
            (
                "shown as before although a later list came in",
                version("10"),
                Some(object("u", "9")),
                12,
                before,
                false,
            ),
            ("restored from a backup, and not in it", version("10"), None, 9, after, true),
            (
                "restored from a backup, and older in it",
                version("10"),
                Some(object("u", "8")),
                9,
                after,
                true,
            ),
            ("a version that is no number", version("x"), None, 9, before, true),
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
        for (name, wrote, object, newest, went_back_at, expected) in table {
            let meta = object.as_ref().map(|object| &object.metadata);
            let shown = Shown {
                version: meta.and_then(|meta| meta.resource_version.as_deref()),
                uid: meta.and_then(|meta| meta.uid.as_deref()),
                newest,
                went_back_at: Some(went_back_at),
            };
            assert_eq!(expectation(wrote, at).is_met(&shown), expected, "{name}");
        }
    }
}
