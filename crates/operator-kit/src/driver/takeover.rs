//! Who begins to lead has written nothing yet, so it has no write of its own to wait for. But its caches may be of different
//! ages: an object may show what the former leader said of a child whose change is not seen here yet. Judged by the child as it
//! was before, the object would say again what is no longer true.

use std::time::Duration;

use tokio::time::Instant;

/// For so long a term is new: a watch that lags by seconds has begun to show events by then.
const NEW_TERM: Duration = Duration::from_secs(5);
/// For so long one version of an object waits. Of children of which nothing is new no cache ever comes as far, and what
/// changed meanwhile has to be said.
const CATCH_UP: Duration = Duration::from_millis(500);
/// How often to look whether the caches have come as far.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A version of an object that is newer than what is seen of its children, and since when that is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ahead {
    version: u64,
    since: Instant,
}

/// Whether an object has to wait for the caches of its children, and what to remember of it.
pub(super) fn wait(
    term_began: Instant,
    now: Instant,
    known: Option<Ahead>,
    own: Option<u64>,
    children: Option<u64>,
) -> (bool, Option<Ahead>) {
    let is_new = now.saturating_duration_since(term_began) < NEW_TERM;
    let (Some(own), Some(children)) = (own, children) else { return (false, None) };
    if !is_new || own <= children {
        return (false, None);
    }
    let ahead = known.filter(|known| known.version == own).unwrap_or(Ahead { version: own, since: now });
    (now.saturating_duration_since(ahead.since) < CATCH_UP, Some(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_leader_waits_a_moment_for_children_that_are_seen_older_than_their_owner() {
        let now = Instant::now();
        let ago = |past: Duration| now - past;
        let ahead = |version, since| Some(Ahead { version, since });
        let (new, old) = (now, ago(NEW_TERM));
        let table = [
            ("seen for the first time", new, None, Some(7), Some(6), true, ahead(7, now)),
            ("the children are as new", new, ahead(7, now), Some(7), Some(7), false, None),
            ("it waits", new, ahead(7, ago(LOOK)), Some(7), Some(6), true, ahead(7, ago(LOOK))),
            ("it has waited", new, ahead(7, ago(CATCH_UP)), Some(7), Some(6), false, ahead(7, ago(CATCH_UP))),
            ("changed since it waited", new, ahead(7, ago(CATCH_UP)), Some(8), Some(6), true, ahead(8, now)),
            ("this process has led for long", old, None, Some(7), Some(6), false, None),
            ("a version that is no number", new, None, None, Some(6), false, None),
            ("nothing is seen of any child", new, None, Some(7), None, false, None),
        ];
        for (name, began, known, own, children, waits, remembered) in table {
            assert_eq!(wait(began, now, known, own, children), (waits, remembered), "{name}");
        }
    }
}
