//! One file per kind: what its conditions can say, and how kstatus reads it.

pub mod application_instance;
pub mod cluster;
pub mod operation;
