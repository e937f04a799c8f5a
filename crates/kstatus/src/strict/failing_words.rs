//! Words by which controllers say that something went wrong, or is under way.

/// A word of a reason or phase, or two of them in a row: `InstallFailed`, `image-pull-error`, `ImagePullBackOff`.
const FAILING: [&str; 46] = [
    "abort",
    "aborted",
    "aborting",
    "aborts",
    "backoff",
    "broken",
    "conflict",
    "conflicted",
    "conflicting",
    "conflicts",
    "crash",
    "crashed",
    "crashes",
    "crashing",
    "crashloop",
    "crashloopbackoff",
    "crashlooping",
    "degraded",
    "denied",
    "err",
    "errored",
    "error",
    "errors",
    "exceeded",
    "exceeds",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "fatal",
    "forbidden",
    "incompatible",
    "invalid",
    "lost",
    "misconfiguration",
    "misconfigured",
    "notfound",
    "rejected",
    "timedout",
    "timeout",
    "timeouts",
    "unauthorized",
    "unhealthy",
    "unsupported",
];

/// Before a word of failure: there is none.
const NONE: [&str; 5] = ["0", "no", "not", "without", "zero"];

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

/// Does `text` speak of failure? `NoErrors`, `FailedOver` and `ConflictResolved` do not, `ErrImagePull` does.
pub(super) fn is_failing(text: &str) -> bool {
    let words = words(text);
    (0..words.len()).any(|at| {
        let word = |at: usize| words.get(at).map(String::as_str).unwrap_or_default();
        let pair = format!("{}{}", word(at), word(at + 1));
        let length = if at + 1 < words.len() && FAILING.contains(&pair.as_str()) {
            2
        } else if FAILING.contains(&word(at)) {
            1
        } else {
            return false;
        };
        let denied = at > 0 && NONE.contains(&word(at - 1));
        !denied && !is_over(word(at), word(at + length))
    })
}

/// Does `word` speak of work that goes on?
pub(super) fn is_under_way(word: &str) -> bool {
    UNDER_WAY.contains(&letters(word).as_str())
}

/// `ConflictResolved`; and `FailedOver`, which is what a standby is for.
fn is_over(word: &str, next: &str) -> bool {
    next == "resolved" || (next == "over" && ["fail", "failed", "failing", "fails"].contains(&word))
}

/// `ErrImagePull`, `image-pull-error`, `HTTPError`, `0 errors`: cut where the letters change, in lower case.
fn words(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let starts = before.is_some_and(|before| match letter {
            letter if letter.is_uppercase() => {
                let ends_acronym = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
                !before.is_uppercase() || ends_acronym
            }
            letter => letter.is_numeric() != before.is_numeric(),
        });
        if (starts || !letter.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_failure_are_told_from_their_denials() {
        for (text, failing) in [
            ("Failed", true),
            ("InstallFailed", true),
            ("ERROR", true),
            ("INSTALL_FAILED", true),
            ("ErrImagePull", true),
            ("image-pull-error", true),
            ("HTTPError", true),
            ("Http500Error", true),
            ("NotFound", true),
            ("not found", true),
            ("SecretNotFound", true),
            ("ImagePullBackOff", true),
            ("CrashLoopBackOff", true),
            ("TimedOut", true),
            ("UpgradeTimeout", true),
            ("ProgressDeadlineExceeded", true),
            ("Degraded", true),
            ("3 errors", true),
            ("10 errors", true),
            ("NoMatchError", true),
            ("NoEndpointsError", true),
            ("ConflictNotResolved", true),
            ("FailedOverError", true),
            ("ErrorOverLimit", true),
            ("NoErrorsButFailed", true),
            ("NoErrors", false),
            ("no-errors", false),
            ("0 errors", false),
            ("0Errors", false),
            ("ZeroErrors", false),
            ("NotFailed", false),
            ("CompletedWithoutErrors", false),
            ("without failures", false),
            ("Failover", false),
            ("FailOver", false),
            ("FailoverDone", false),
            ("FailedOver", false),
            ("FailingOver", false),
            ("failed-over", false),
            ("ConflictResolved", false),
            ("ErrorsResolved", false),
            ("Terraform", false),
            ("Deferred", false),
            ("Inerrant", false),
            ("Lossless", false),
            ("Ready", false),
            ("Running", false),
            ("", false),
            ("é0É", false),
        ] {
            assert_eq!(is_failing(text), failing, "{text}");
        }
    }

    #[test]
    fn text_is_cut_into_its_words() {
        for (text, wanted) in [
            ("ErrImagePull", "err image pull"),
            ("HTTPError", "http error"),
            ("image-pull-error", "image pull error"),
            ("INSTALL_FAILED", "install failed"),
            ("Http500Error", "http 500 error"),
            (" 0  errors. ", "0 errors"),
            ("", ""),
        ] {
            assert_eq!(words(text).join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn only_whole_words_speak_of_work_under_way() {
        assert!(is_under_way("in-progress") && is_under_way("Pending"));
        assert!(!is_under_way("NewVersionReady") && !is_under_way("Running"));
    }
}
