//! The lab: a real Kubernetes cluster on this machine, from one command. What belongs here: starting, inspecting
//! and stopping that cluster, its add-ons, the scenarios that run on it, the demo and the benches. What does not:
//! anything the shipped programs need; nothing here is released.

mod addons;
mod audit;
mod bench;
mod cli;
mod cluster;
mod components;
mod content;
mod demo;
mod diagnosis;
mod existing_cluster;
mod faults;
mod image;
mod lock;
mod machine;
mod maturity;
mod mutants;
mod node;
mod node_images;
mod own_program;
mod paths;
mod process_table;
mod progress;
mod readiness;
mod reasons;
mod registry;
mod rights;
mod scenario;
mod status;
mod table;
mod tail;
mod unmet;
mod up;
mod verify;

use std::process::ExitCode;

use clap::Parser;

/// Arguments or prerequisites that are not as they must be; nothing was started.
pub(crate) const UNMET: u8 = 2;
/// The work was started and failed.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let result = match arguments.as_slice() {
        // Process 1 of a node, started by `up`: no command for people.
        [_, word, state] if word == node::SUPERVISE => supervise(state.into()),
        _ => cli::run(cli::Cli::parse()),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::from(if error.is::<unmet::Unmet>() { UNMET } else { FAILED })
        }
    }
}

fn supervise(state: std::path::PathBuf) -> anyhow::Result<ExitCode> {
    node::supervise::run(&paths::Paths { cache: state.clone(), lock: state.clone(), state })?;
    Ok(ExitCode::from(FAILED))
}
