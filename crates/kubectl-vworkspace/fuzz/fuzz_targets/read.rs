//! Arbitrary bytes as a file: rows or problems, never a panic or a hang. Run with `cargo +nightly fuzz run read` in
//! `crates/kubectl-vworkspace`.

#![no_main]

use kstatus::{Options, Profile};
use kubectl_vworkspace::status::read::{Rows, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rows = Rows::new(Options { profile: Profile::Compatible, now: jiff::Timestamp::UNIX_EPOCH });
    text("input", bytes, &mut rows);
});
