//! What the whole cluster agreed on, and when changes may go out. Nothing here knows a kind.

pub(crate) mod catalog_policy;
pub(crate) mod windows;
