//! Words by which controllers say that something went wrong, or is under way.

/// In a reason or phase, as part of it and in any case: `InstallFailed`, `image-pull-error`.
const FAILING: [&str; 23] = [
    "abort",
    "backoff",
    "broken",
    "conflict",
    "crash",
    "degraded",
    "denied",
    "error",
    "exceeded",
    "fail",
    "fatal",
    "forbidden",
    "incompatible",
    "invalid",
    "lost",
    "misconfigured",
    "notfound",
    "rejected",
    "timedout",
    "timeout",
    "unauthorized",
    "unhealthy",
    "unsupported",
];

/// A phase that is exactly this, in any case.
const UNDER_WAY: [&str; 21] = [
    "creating",
    "deleting",
    "deploying",
    "initializing",
    "inprogress",
    "installing",
    "new",
    "notready",
    "pending",
    "processing",
    "progressing",
    "provisioning",
    "queued",
    "reconciling",
    "rollingout",
    "scaling",
    "starting",
    "syncing",
    "updating",
    "upgrading",
    "waiting",
];

/// Does `word` speak of failure? `NoErrors`, `NotFailed` and `Failover` do not, `ErrImagePull` does.
pub(super) fn is_failing(word: &str) -> bool {
    let word = letters(word).replace("failover", "");
    let denied = ["no", "not"].iter().any(|no| denies(&word, no));
    !denied && (word.starts_with("err") || FAILING.iter().any(|part| word.contains(part)))
}

/// Does `word` speak of work that goes on?
pub(super) fn is_under_way(word: &str) -> bool {
    UNDER_WAY.contains(&letters(word).as_str())
}

fn denies(word: &str, no: &str) -> bool {
    word.strip_prefix(no).is_some_and(|rest| FAILING.iter().any(|part| rest.starts_with(part)))
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_failure_are_told_from_their_denials() {
        for word in
            ["Failed", "InstallFailed", "ERROR", "ErrImagePull", "image-pull-error", "NotFound", "Degraded"]
        {
            assert!(is_failing(word), "{word}");
        }
        for word in ["NoErrors", "NotFailed", "FailoverDone", "Terraform", "Deferred", "Ready", "Running", ""]
        {
            assert!(!is_failing(word), "{word}");
        }
    }

    #[test]
    fn only_whole_words_speak_of_work_under_way() {
        assert!(is_under_way("in-progress") && is_under_way("Pending"));
        assert!(!is_under_way("NewVersionReady") && !is_under_way("Running"));
    }
}
