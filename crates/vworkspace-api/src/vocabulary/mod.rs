//! One file per kind that has no CRD here yet: what its conditions can say, and how kstatus reads it.

pub mod cluster;
