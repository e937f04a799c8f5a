//! The API of kars: group `kars.azure.com`. What belongs here: the kinds, and the vocabularies of their conditions.
//! What does not: what a controller or the router does with them, and how a condition list behaves (crate
//! `conditions`).

mod vocabulary;

pub use vocabulary::{
    a2a_agent, egress_approval, inference_policy, kars_eval, kars_memory, kars_sandbox, mcp_server,
    tool_policy, trust_graph,
};

use conditions::{Kind, Vocabulary};

/// The vocabularies of all kinds.
pub const VOCABULARIES: [&Vocabulary; 9] = [
    kars_sandbox::KarsSandbox::VOCABULARY,
    a2a_agent::A2AAgent::VOCABULARY,
    mcp_server::McpServer::VOCABULARY,
    tool_policy::ToolPolicy::VOCABULARY,
    inference_policy::InferencePolicy::VOCABULARY,
    kars_memory::KarsMemory::VOCABULARY,
    kars_eval::KarsEval::VOCABULARY,
    trust_graph::TrustGraph::VOCABULARY,
    egress_approval::EgressApproval::VOCABULARY,
];
