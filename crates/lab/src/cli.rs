//! The commands of `cargo lab`, and which module does the work of each.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::node::{self, Node};
use crate::paths::Paths;
use crate::progress::{Progress, seconds};
use crate::unmet::Unmet;
use crate::up::{self, Wanted};
use crate::verify::{self, Chosen, Tier};
use crate::{bench, demo, image, machine, status, table};

/// A real Kubernetes cluster on this machine, for the demo, the tests and the benches.
#[derive(Debug, Parser)]
#[command(name = "lab", bin_name = "cargo lab", version, after_help = EXAMPLES)]
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

const EXAMPLES: &str = "\
Examples:
  cargo lab demo                          a cluster with a real application on it
  cargo lab test                          everything that must hold, on a real cluster
  cargo lab up --with velero,argo         a cluster with more in it
  eval \"$(cargo lab env)\"; kubectl get nodes
  cargo lab down                          stop it; nothing is left";

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start the cluster, or add to a running one what is missing.
    Up {
        /// Further sets: argo, cert-manager, external-secrets-crds, velero.
        #[arg(long, value_delimiter = ',', value_name = "SET,...")]
        with: Vec<String>,
        /// First of three ports on 127.0.0.1 (API server, registry, demo); without it the first free ones from 26443 on.
        #[arg(long)]
        port: Option<u16>,
    },
    /// Stop the cluster and remove all of it.
    Down,
    /// What runs, since when, how big, and ready or why not. Exit code 1 if something is not well.
    Status,
    /// The log of a process of the node or of an add-on's controller.
    Logs {
        /// A name that `cargo lab status` shows, such as kubelet or source-controller.
        part: String,
        /// Go on as it grows.
        #[arg(short, long)]
        follow: bool,
        /// How many of the last lines.
        #[arg(long, default_value_t = 100)]
        tail: u32,
    },
    /// The lab's own kubectl on this cluster.
    #[command(disable_help_flag = true)]
    Kubectl {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Prints what a shell must export to use the cluster: KUBECONFIG, and PATH with kubectl and helm.
    Env,
    /// Images without a container engine.
    #[command(subcommand)]
    Image(ImageCommand),
    /// Check what the lab needs of this machine.
    Doctor,
    /// A real application, installed by Flux, answering over HTTP.
    Demo,
    /// Everything that must hold: formatting, lints, dependencies, unit tests, scenarios on a real cluster.
    Test {
        /// Leave out what needs a cluster.
        #[arg(long)]
        quick: bool,
        /// Only checks, tests and scenarios with this in their name.
        filter: Option<String>,
    },
    /// Measurements on the real cluster.
    #[command(subcommand)]
    Bench(BenchCommand),
    #[command(name = node::SUPERVISE, hide = true)]
    Supervise { state: PathBuf },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Make an image of a root folder or of one static program, load it into the cluster and print its name.
    Load {
        /// The folder or program.
        path: PathBuf,
        /// What to call it; without a registry it is put below lab.local/, without a tag it gets `1`.
        #[arg(long, value_name = "NAME[:TAG]")]
        image: Option<String>,
        /// The command that a container runs; for a program it is the program itself.
        #[arg(long, num_args = 1.., value_name = "WORD")]
        entrypoint: Vec<String>,
        /// Numeric user, and group after a colon.
        #[arg(long, default_value = "65532:65532")]
        user: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Latency of the bare API server: the baseline for everything else.
    Api {
        #[arg(long, default_value_t = 500)]
        samples: usize,
    },
    /// Up, one scenario, down, again and again.
    Cycles {
        #[arg(long, default_value_t = 20)]
        count: usize,
    },
}

/// Short, because it is part of file names and cgroup names.
fn lab_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=30).contains(&name.len()) && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err("a lab's name has 1 to 30 lower-case letters, digits or dashes".to_owned())
    }
}

/// Which lab or cluster a command is about.
struct Subject<'a> {
    paths: &'a Paths,
    kubeconfig: Option<&'a Path>,
}

impl Subject<'_> {
    async fn running(&self) -> Result<Cluster> {
        up::running(self.paths, self.kubeconfig).await
    }

    fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.map_or_else(|| self.paths.kubeconfig(), Path::to_path_buf)
    }

    /// The lab must run, unless another cluster is meant.
    fn require(&self) -> Result<()> {
        match (self.kubeconfig, Node::find(self.paths)) {
            (None, None) => Err(machine::not_running(self.paths)),
            _ => Ok(()),
        }
    }
}

/// Does what the user asks.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    let paths = Paths::of(&cli.name)?;
    let subject = Subject { paths: &paths, kubeconfig: cli.kubeconfig.as_deref() };
    match cli.command {
        // Process 1 of the node: nothing of the asynchronous machinery below.
        LabCommand::Supervise { state } => {
            node::supervise::run(&Paths { state, ..paths })?;
            Ok(ExitCode::FAILURE)
        }
        LabCommand::Down => down(&subject),
        LabCommand::Doctor => Ok(doctor(&paths)),
        LabCommand::Env => env(&subject),
        LabCommand::Kubectl { arguments } => {
            subject.require()?;
            become_kubectl(&subject, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
        }
        LabCommand::Logs { part, follow, tail } => logs(&subject, &part, follow, tail),
        command => tokio::runtime::Runtime::new()?.block_on(work(command, &subject)),
    }
}

async fn work(command: LabCommand, subject: &Subject<'_>) -> Result<ExitCode> {
    let Subject { paths, kubeconfig } = *subject;
    match command {
        LabCommand::Up { with, port } => {
            let started = Instant::now();
            let addons = Addon::selected(&with, paths)?;
            up::up(paths, &Wanted { addons: &addons, port, kubeconfig }).await?;
            eprintln!("lab: up after {}; next: eval \"$(cargo lab env)\"", seconds(started.elapsed()));
        }
        LabCommand::Status => {
            let report = status::of(&subject.running().await?).await?;
            print(&report.text)?;
            return Ok(if report.is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        LabCommand::Image(ImageCommand::Load { path, image, entrypoint, user }) => {
            let cluster = subject.running().await?;
            println!("{}", load_image(&cluster, &path, image, entrypoint, &user).await?);
        }
        LabCommand::Demo => demo::run(paths, kubeconfig).await?,
        LabCommand::Test { quick, filter } => {
            let tier = if quick { Tier::Quick } else { Tier::All };
            let tally = verify::run(paths, &Chosen { kubeconfig, tier, filter: filter.as_deref() }).await?;
            return Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        LabCommand::Bench(BenchCommand::Api { samples }) => {
            println!("{}", bench::api_latency(&subject.running().await?, samples).await?);
        }
        LabCommand::Bench(BenchCommand::Cycles { count }) => bench::cycles(paths, count).await?,
        other => bail!("{other:?} is done elsewhere"),
    }
    Ok(ExitCode::SUCCESS)
}

fn down(subject: &Subject<'_>) -> Result<ExitCode> {
    if let Some(kubeconfig) = subject.kubeconfig {
        let text = format!("{} is not a cluster of the lab's; down stops only those", kubeconfig.display());
        return Err(Unmet::new(text).into());
    }
    let progress = Progress::new(1);
    let _lock = up::lock(subject.paths)?;
    let step = progress.begin(format!("lab {} stopped and removed", subject.paths.lab()));
    node::stop(subject.paths)?;
    step.done();
    Ok(ExitCode::SUCCESS)
}

fn doctor(paths: &Paths) -> ExitCode {
    let checks = machine::checks(paths);
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let (mark, text) = check.found.as_ref().map_or_else(|lack| ("FAIL", lack), |found| ("ok", found));
            vec![mark.to_owned(), check.what.to_owned(), text.clone()]
        })
        .collect();
    print!("{}", table::lines(&["", "WHAT", "FOUND"], &rows));
    if checks.iter().all(|check| check.found.is_ok()) { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

fn env(subject: &Subject<'_>) -> Result<ExitCode> {
    subject.require()?;
    println!("export KUBECONFIG='{}'", subject.kubeconfig().display());
    println!("export PATH='{}':\"$PATH\"", up::tools(subject.paths)?.display());
    Ok(ExitCode::SUCCESS)
}

/// This process becomes kubectl, so that signals, input and exit code are its own.
fn become_kubectl(subject: &Subject<'_>, arguments: &[&str]) -> Result<ExitCode> {
    let mut kubectl = Command::new(up::tools(subject.paths)?.join("kubectl"));
    let error = kubectl.env("KUBECONFIG", subject.kubeconfig()).args(arguments).exec();
    Err(error).context("failed to run the lab's kubectl")
}

fn logs(subject: &Subject<'_>, part: &str, follow: bool, tail: u32) -> Result<ExitCode> {
    subject.require()?;
    let file = subject.paths.log_of(part);
    if subject.kubeconfig.is_none() && file.is_file() {
        let mut command = Command::new("tail");
        command.arg("-n").arg(tail.to_string()).args(follow.then_some("-F")).arg(&file);
        return Err(command.exec()).context("failed to run tail");
    }
    let tools = up::tools(subject.paths)?;
    let mut names = Vec::new();
    for addon in Addon::all(subject.paths)? {
        if addon.components.iter().any(|component| !component.is_built()) {
            continue;
        }
        for workload in addon.workloads(subject.paths, &tools)? {
            if workload.name == part {
                let target = format!("{}/{}", workload.kind.to_lowercase(), workload.name);
                let namespace = workload.namespace.unwrap_or_default();
                let (tail, follow) = (format!("--tail={tail}"), format!("--follow={follow}"));
                return become_kubectl(
                    subject,
                    &["logs", "--namespace", &namespace, &target, &tail, &follow],
                );
            }
            names.push(workload.name);
        }
    }
    let mut files: Vec<String> = std::fs::read_dir(subject.paths.log())?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".log").map(str::to_owned))
        .collect();
    files.sort();
    files.extend(names);
    Err(Unmet::new(format!("nothing named '{part}' has a log; there are {}", files.join(", "))).into())
}

async fn load_image(
    cluster: &Cluster,
    path: &Path,
    name: Option<String>,
    entrypoint: Vec<String>,
    user: &str,
) -> Result<String> {
    let Some(node) = &cluster.node else {
        return Err(Unmet::new("images can be loaded only into the lab's own cluster").into());
    };
    let name = match name {
        Some(name) => name,
        None => path
            .file_name()
            .and_then(|name| name.to_str())
            .context("the path has no name; give --image")?
            .to_owned(),
    };
    let reference = image::reference(&name)?;
    let image = image::from_path(path, &reference, entrypoint, user)?;
    let tar = cluster.paths.state.join(format!("image-{}.tar", std::process::id()));
    image.write(&tar)?;
    let imported = image::import(node, &tar).await;
    std::fs::remove_file(&tar)?;
    imported?;
    Ok(reference)
}

/// A reader that has seen enough (`| head`) is no failure.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_lab_has_a_short_plain_name() {
        assert!(lab_name("test-2").is_ok());
        for bad in ["", "Upper", "a/b", "..", "a_b", "a-name-that-is-much-too-long-for-a-lab"] {
            assert!(lab_name(bad).is_err(), "{bad}");
        }
    }
}
