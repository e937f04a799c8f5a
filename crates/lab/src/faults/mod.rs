//! Faults between a program and the real API server: a proxy that forwards every request as it is, and does one thing wrong
//! at a moment that the plan names. What belongs here: what can go wrong ([`Fault`]) and how it is done ([`Proxy`]). What
//! must hold all the same is told in `scenario/faults`.

mod fault;
mod proxy;
mod request;
mod watch_stream;

pub(crate) use fault::Fault;
pub(crate) use proxy::{Process, Proxy, Victim};
