//! What cannot be watched and may not block a reconcile: whether a Service answers, and what a chart says of itself. Nothing
//! here decides about conditions.

pub(crate) mod chart_archive;
mod get;
pub(crate) mod probe;
pub(crate) mod readiness;
mod unverified_tls;
