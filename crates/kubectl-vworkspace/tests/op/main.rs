//! `op` as its users see it. The API server is a few lines of HTTP that answer as recorded, and remember what was asked.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod approve;
mod cancel;
mod create;
mod errors;
mod keygen;
mod list;
mod logs;
mod reference_page;
mod server;
mod show;
mod templates;
mod wait;
