//! What the fuzz target `compute` does; the tests of the crate compile and run it too, so that it does not rot.

use kstatus::{Options, Profile, compute};

/// Arbitrary JSON: an answer or a refusal in both profiles, never a panic.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(object) = serde_json::from_slice(bytes) else { return };
    for profile in [Profile::Compatible, Profile::Strict] {
        let options = Options { profile, now: jiff::Timestamp::UNIX_EPOCH };
        if let Ok(outcome) = compute(&object, &options) {
            let _ = (outcome.reason(), format!("{:?}", outcome.evidence));
        }
    }
}
