//! The lab: a real Kubernetes cluster on this machine, from one command. What belongs here: starting, inspecting
//! and stopping that cluster, its add-ons, the scenarios that run on it, the demo and the benches. What does not:
//! anything the shipped programs need; nothing here is released.

fn main() {}
