//! Arbitrary JSON: an answer or a refusal in both profiles, never a panic. Run with `cargo +nightly fuzz run compute`
//! in `crates/kstatus`; `tests/corpus` makes good seeds.

#![no_main]

use kstatus::{Options, Profile, compute};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = serde_json::from_slice(bytes) else { return };
    for profile in [Profile::Compatible, Profile::Strict] {
        let options = Options { profile, now: jiff::Timestamp::UNIX_EPOCH };
        if let Ok(outcome) = compute(&object, &options) {
            let _ = (outcome.reason(), format!("{:?}", outcome.evidence));
        }
    }
});
