//! The kubectl plugin `kubectl vworkspace`. What belongs here: reading objects from files or from a cluster, and
//! showing people and scripts what the libraries say about them. What does not: rules that decide a status
//! (crate `kstatus`) and the vocabulary of conditions (crates `conditions`, `vworkspace-api`, `kars-api`).

pub mod cli;
pub mod completion;
pub mod exit;
pub mod explain;
pub mod pipe;
pub mod status;
pub mod style;
