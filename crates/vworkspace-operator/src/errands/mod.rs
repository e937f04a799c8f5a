//! What cannot be watched and may not block a reconcile: it runs beside it and feeds its cache. Nothing here decides
//! about conditions.

pub(crate) mod chart_archive;
mod get;
pub(crate) mod probe;
mod unverified_tls;
