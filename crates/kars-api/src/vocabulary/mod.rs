//! One file per kind: what its conditions can say, and how kstatus reads it.
//!
//! The published contract lists, for most kinds, only what makes a type True. So that every type can be present from
//! the first reconcile, the tables add the other side: `Ready=False` repeats the reason of the condition that decides,
//! `Progressing=False` says whether the work is done or has come to a halt, `Degraded=False` that nothing is wrong.

pub mod a2a_agent;
pub mod egress_approval;
pub mod inference_policy;
pub mod kars_eval;
pub mod kars_memory;
pub mod kars_sandbox;
pub mod mcp_server;
pub mod tool_policy;
pub mod trust_graph;

/// The log of the controller, in which every refused object is named.
const CONTROLLER: &str = "kubectl logs -n kars-system deploy/kars-controller --tail=200";
