//! What every controller here shares, written once: watch -> observe -> decide -> act -> report. What belongs here:
//! caches and how they are kept, the queue, carrying plans out (server-side apply, deletes, status, finalizer, Events),
//! read-your-writes, back-off, leader election, health, metrics, logs. What does not: any rule about a kind, its
//! conditions or its children; those are a [`Controller`]'s, whose code is synchronous and sees no client.

mod act;
mod backoff;
mod beside;
mod cache;
mod cluster_id;
mod controller;
mod driver;
mod election;
mod fault;
mod freshness;
mod lane;
pub mod logs;
mod metrics;
mod object;
mod one_line;
mod operator;
mod ownership;
mod plan;
mod poll;
mod product;
mod queue;
mod redact;
mod selection;
mod serve;
mod temporary_watch;

pub use act::{Cause, Deed, Refusal, StatusListener};
pub use cache::{Caches, Found, Sight, decode};
pub use controller::{Controller, LaneOf, Names, Unreadable, View, Watched, Watches};
pub use object::ObjectKey;
pub use one_line::one_line;
pub use operator::{Error, Operator, Settings};
pub use ownership::Ownership;
pub use plan::{Absence, Child, Deletion, Dependents, Finalizer, Patch, Plan, ReconcileRequest, Step};
pub use poll::{AnyPoll, Poll, Polled};
pub use product::Product;
pub use redact::{Quotes, redact, redact_lines};
pub use selection::Selection;
pub use temporary_watch::TemporaryWatch;
