//! Read your writes: a cache that has not seen our own last write is too old to decide on.

use std::time::Duration;

use kube::api::DynamicObject;
use tokio::time::Instant;

use crate::cache::{KindCache, Progress};
use crate::object::ObjectId;

/// The watch should show our own write at once, and wakes us up. A list that makes it moot wakes nobody.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The same for who waits for what others in its lane have written.
pub(crate) const LOOK_AGAIN_IN_LANE: Duration = Duration::from_millis(100);

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

/// A DELETE is locked by uid, so to go on without having seen its end harms nothing. It never shows if the cluster was
/// restored from a backup that has the object.
const LONGEST_END: Duration = Duration::from_secs(60);

/// What a cache shows of an object, as far as it matters here.
struct Shown<'a> {
    /// Whose it is, if it is there.
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
        // Only an end asks for the object.
        let object: Option<DynamicObject> = match &self.wrote {
            Wrote::Gone(_) => cache.object(&self.id.key),
            Wrote::Version(_) => None,
        };
        let uid = object.as_ref().and_then(|object| object.metadata.uid.as_deref());
        self.is_met(&Shown { uid, newest: age.newest, went_back_at: age.went_back_at }, Instant::now())
    }

    fn is_met(&self, shown: &Shown<'_>, now: Instant) -> bool {
        // The cluster was restored from a backup: our write is not part of what it has now.
        let is_undone = shown.went_back_at.is_some_and(|went_back| went_back > self.at);
        is_undone
            || match &self.wrote {
                Wrote::Gone(uid) => {
                    shown.uid != Some(uid) || now.saturating_duration_since(self.at) > LONGEST_END
                }
                // What happens to a kind is shown in its order. One whose versions are no numbers cannot be waited for.
                Wrote::Version(written) => {
                    version_number(written).is_none_or(|written| shown.newest >= written)
                }
            }
    }
}

/// Versions of one kind count upwards.
pub(crate) fn version_number(version: &str) -> Option<u64> {
    version.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Past;
    use crate::object::ObjectKey;

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
    fn a_cache_is_fresh_when_it_has_come_as_far_as_the_write() {
        let at = Instant::now();
        let (before, after) = (at - Duration::from_secs(1), at + Duration::from_secs(1));
        let version = |version: &str| Wrote::Version(version.to_owned());
        let gone = || Wrote::Gone("u".to_owned());
        let table = [
            ("not as far", version("10"), None, 9, before, after, false),
            ("as far", version("10"), None, 10, before, after, true),
            ("as a number, not as a text", version("9"), None, 100, before, after, true),
            ("restored from a backup", version("10"), None, 9, after, after, true),
            ("restored when it was written", version("10"), None, 9, at, after, false),
            ("a version that is no number", version("x"), None, 9, before, after, true),
            ("still shown after its deletion", gone(), Some("u"), 9, before, after, false),
            ("gone", gone(), None, 9, before, after, true),
            ("a namesake came after it", gone(), Some("v"), 12, before, after, true),
            ("back from a backup", gone(), Some("u"), 5, after, after, true),
            ("shown for ever", gone(), Some("u"), 12, before, after + LONGEST_END, true),
        ];
        for (name, wrote, uid, newest, went_back_at, now, expected) in table {
            let shown = Shown { uid, newest, went_back_at: Some(went_back_at) };
            assert_eq!(expectation(wrote, at).is_met(&shown, now), expected, "{name}");
        }
    }
}
