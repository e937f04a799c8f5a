//! The kubectl plugin `kubectl vworkspace`. What belongs here: reading objects from files or from a cluster,
//! showing people and scripts what the libraries say about them, and asking for operations. What does not: rules that
//! decide a status (crate `kstatus`), the vocabulary of conditions and what an operation can be asked for (crates
//! `conditions`, `vworkspace-api`, `kars-api`), and what an approval claim is (crate `agent-protocol`).

pub mod cli;
mod columns;
pub mod completion;
pub mod exit;
pub mod explain;
pub mod op;
pub mod pipe;
pub mod status;
pub mod style;
