//! Run with `cargo +nightly fuzz run read` in `crates/kubectl-vworkspace` (`cargo install cargo-fuzz`). What it does is in
//! `bodies/read.rs`.

#![no_main]

#[path = "../bodies/read.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
