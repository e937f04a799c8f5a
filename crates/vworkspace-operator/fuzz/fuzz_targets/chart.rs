//! Run with `cargo +nightly fuzz run chart` in `crates/vworkspace-operator` (`cargo install cargo-fuzz`). What it does is in
//! `bodies/chart.rs`.

#![no_main]
#![allow(dead_code, reason = "the other target uses it")]

#[path = "../../src/controllers/application/polls/chart_archive/facts/mod.rs"]
mod facts;

#[path = "../bodies/chart.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
