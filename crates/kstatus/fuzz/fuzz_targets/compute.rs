//! Run with `cargo +nightly fuzz run compute` in `crates/kstatus` (`cargo install cargo-fuzz`); `tests/corpus` makes good
//! seeds. What it does is in `bodies/compute.rs`.

#![no_main]

#[path = "../bodies/compute.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
