//! The commands of `cargo lab`, and which module does the work of each.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::addons::Addon;
use crate::node;
use crate::paths::Paths;
use crate::progress::{Progress, seconds};
use crate::up::{self, Wanted};

/// A real Kubernetes cluster on this machine, for the demo, the tests and the benches.
#[derive(Debug, Parser)]
#[command(name = "cargo lab", bin_name = "cargo lab", version)]
pub(crate) struct Cli {
    /// Which lab; several with different names can run at once.
    #[arg(long, global = true, default_value = "default", env = "LAB_NAME", value_parser = lab_name)]
    name: String,
    /// Use this existing cluster instead of starting one.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Start the cluster, or add to a running one what is missing.
    Up {
        /// Further sets: argo, cert-manager, external-secrets-crds, velero.
        #[arg(long, value_delimiter = ',', value_name = "SET")]
        with: Vec<String>,
        /// First of three ports on 127.0.0.1; without it the first free ones from 26443 on.
        #[arg(long)]
        port: Option<u16>,
    },
    /// Stop the cluster and remove all of it.
    Down,
    #[command(name = node::SUPERVISE, hide = true)]
    Supervise { state: PathBuf },
}

/// Short, because it is part of file names and cgroup names.
fn lab_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=20).contains(&name.len()) && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err("a lab's name has 1 to 20 lower-case letters, digits or dashes".to_owned())
    }
}

/// Does what the user asks.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    let paths = Paths::of(&cli.name)?;
    match cli.command {
        // Process 1 of the node: nothing of the asynchronous machinery below it.
        LabCommand::Supervise { state } => {
            node::supervise::run(&Paths { state, ..paths })?;
            Ok(ExitCode::FAILURE)
        }
        LabCommand::Down => down(&paths),
        command => {
            let runtime = tokio::runtime::Runtime::new()?;
            runtime.block_on(work(command, &paths, &cli.name, cli.kubeconfig.as_deref()))
        }
    }
}

async fn work(
    command: LabCommand,
    paths: &Paths,
    lab: &str,
    kubeconfig: Option<&std::path::Path>,
) -> Result<ExitCode> {
    match command {
        LabCommand::Up { with, port } => {
            let started = std::time::Instant::now();
            let addons = Addon::selected(&with, paths)?;
            up::up(
                paths,
                &Wanted {
                    lab,
                    addons: &addons,
                    port,
                    kubeconfig,
                },
            )
            .await?;
            eprintln!("lab: up after {}", seconds(started.elapsed()));
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Down | LabCommand::Supervise { .. } => Ok(ExitCode::SUCCESS),
    }
}

fn down(paths: &Paths) -> Result<ExitCode> {
    let progress = Progress::new(1);
    let _lock = up::lock(paths)?;
    let step = progress.begin("stopping the lab and removing what it left");
    node::stop(paths)?;
    step.done();
    Ok(ExitCode::SUCCESS)
}
