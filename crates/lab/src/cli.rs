//! The commands of `cargo lab`, and which module does the work of each.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::addons::Addon;
use crate::cluster::Cluster;
use crate::node::{self, Node};
use crate::paths::Paths;
use crate::progress::seconds;
use crate::scenario::{FAULTS, Faults};
use crate::unmet::Unmet;
use crate::up::{self, Wanted};
use crate::verify::{self, Chosen, Tier};
use crate::{bench, demo, image, machine, maturity, mutants, reasons, status, table};

/// A real Kubernetes cluster on this machine, for the demo, the tests and the benches.
#[derive(Debug, Parser)]
#[command(name = "lab", bin_name = "cargo lab", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Which lab; several with different names can run at once.
    #[arg(long, global = true, default_value = DEFAULT_LAB, env = "LAB_NAME", value_parser = lab_name)]
    name: String,
    /// Use this existing cluster instead of starting one.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(subcommand)]
    command: LabCommand,
}

/// The lab that is meant when none is named.
pub(crate) const DEFAULT_LAB: &str = "default";

const EXAMPLES: &str = "\
Examples:
  cargo lab demo                          the life of an application, on a real cluster
  cargo lab test                          everything that must hold, on a real cluster
  cargo lab up --with velero,argo         a cluster with more in it
  eval \"$(cargo lab env)\"; kubectl get nodes
  cargo lab down                          stop it; nothing is left";

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start the cluster, or add to a running one what is missing.
    Up {
        /// Further sets: argo, cert-manager, external-secrets-crds, operator, velero.
        #[arg(long, value_delimiter = ',', value_name = "SET,...")]
        with: Vec<String>,
        /// First of three ports on 127.0.0.1 (API server, registry, demo); without it the first free ones from 26443 on.
        #[arg(long, value_parser = clap::value_parser!(u16).range(1024..=65533))]
        port: Option<u16>,
    },
    /// Stop the cluster and remove all of it.
    Down,
    /// What runs, since when, how big, and ready or why not. Exit code 1 if something is not well.
    Status,
    /// The log of a process of the node or of an add-on's controller.
    Logs {
        /// A process of the node, such as kubelet, or a controller of an add-on, such as source-controller.
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
    /// Prints what a shell must export to use the cluster: KUBECONFIG, and PATH with kubectl, helm and our kubectl plugin.
    Env,
    /// Images without a container engine.
    #[command(subcommand)]
    Image(ImageCommand),
    /// Check what the lab needs of this machine.
    Doctor,
    /// The life of an application under the operator: installed, upgraded, broken, repaired, removed.
    Demo,
    /// Everything that must hold: formatting, lints, dependencies, unit tests, scenarios on a real cluster.
    Test {
        /// Leave out what needs a cluster.
        #[arg(long)]
        quick: bool,
        /// Only the faults between the operator and the API server: `all` of them, those of a seed, or one such as
        /// upgrade/kill-after:3.
        #[arg(long, value_name = "all|all:SEED|SEED|RUN", conflicts_with_all = ["quick", "filter"])]
        faults: Option<Faults>,
        /// Only plant defects (cargo-mutants) into the code that decides and acts: nine of ten must be noticed by its tests.
        /// Takes most of an hour and needs no cluster; a number plants so many instead of 150.
        #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true,
            default_missing_value = mutants::DRAWN, conflicts_with_all = ["quick", "faults", "filter"])]
        mutants: Option<usize>,
        /// Only checks, tests and scenarios with this in their name.
        filter: Option<String>,
    },
    /// Which documented reasons the last test runs made the operator give, and which not.
    Reasons {
        /// Write docs/reference/reasons.json and docs/reference/maturity.md anew, after a full run.
        #[arg(long)]
        update: bool,
    },
    /// Measurements on the real cluster.
    #[command(subcommand)]
    Bench(BenchCommand),
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
    /// What the operator promises about time, memory and requests. All of it takes about an hour.
    Application(bench::application::Wanted),
    /// What the operator promises about day-2 operations: time, order, memory and requests.
    Operation(bench::operation::Wanted),
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

    /// How to name this lab or cluster on the command line.
    fn named(&self) -> String {
        match (self.kubeconfig, self.paths.lab()) {
            (Some(kubeconfig), _) => format!(" --kubeconfig {}", quoted(kubeconfig)),
            (None, lab) if lab == DEFAULT_LAB => String::new(),
            (None, lab) => format!(" --name {lab}"),
        }
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
    // Later this is said to other programs, which may run elsewhere.
    let kubeconfig = cli.kubeconfig.map(std::path::absolute).transpose()?;
    let subject = Subject { paths: &paths, kubeconfig: kubeconfig.as_deref() };
    let wait = |work| tokio::runtime::Runtime::new()?.block_on(work);
    let work: Pin<Box<dyn Future<Output = Result<ExitCode>>>> = match cli.command {
        LabCommand::Down => return down(&subject),
        LabCommand::Doctor => return doctor(&paths),
        LabCommand::Env => return env(&subject),
        LabCommand::Reasons { update } => return reasons(update),
        LabCommand::Logs { part, follow, tail } => return logs(&subject, &part, follow, tail),
        LabCommand::Kubectl { arguments } => return kubectl(&subject, &arguments),
        LabCommand::Up { with, port } => Box::pin(up(&subject, with, port)),
        LabCommand::Status => Box::pin(status(&subject)),
        LabCommand::Image(ImageCommand::Load { path, image, entrypoint, user }) => {
            Box::pin(load_image(&subject, path, image, entrypoint, user))
        }
        LabCommand::Demo => Box::pin(demo(&subject)),
        LabCommand::Test { mutants: Some(count), .. } => return plant(&paths, count),
        LabCommand::Test { quick, faults, filter, .. } => Box::pin(test(&subject, quick, faults, filter)),
        LabCommand::Bench(BenchCommand::Api { samples }) => Box::pin(bench_api(&subject, samples)),
        LabCommand::Bench(BenchCommand::Application(wanted)) => Box::pin(bench_application(&subject, wanted)),
        LabCommand::Bench(BenchCommand::Operation(wanted)) => Box::pin(bench_operation(&subject, wanted)),
        LabCommand::Bench(BenchCommand::Cycles { count }) => Box::pin(bench_cycles(&subject, count)),
    };
    wait(work)
}

async fn up(subject: &Subject<'_>, with: Vec<String>, port: Option<u16>) -> Result<ExitCode> {
    let started = Instant::now();
    let addons = Addon::selected(&with, subject.paths)?;
    let wanted = Wanted { addons: &addons, port, kubeconfig: subject.kubeconfig };
    up::up(subject.paths, &wanted).await?;
    eprintln!(
        "lab: up after {}; next: eval \"$(cargo lab{} env)\"",
        seconds(started.elapsed()),
        subject.named()
    );
    Ok(ExitCode::SUCCESS)
}

async fn status(subject: &Subject<'_>) -> Result<ExitCode> {
    let report = status::of(&subject.running().await?).await?;
    print(&report.text)?;
    Ok(if report.is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn demo(subject: &Subject<'_>) -> Result<ExitCode> {
    demo::run(subject.paths, subject.kubeconfig, &subject.named()).await?;
    Ok(ExitCode::SUCCESS)
}

async fn test(
    subject: &Subject<'_>,
    quick: bool,
    faults: Option<Faults>,
    filter: Option<String>,
) -> Result<ExitCode> {
    let tier = if quick { Tier::Quick } else { Tier::All };
    let filter = filter.or_else(|| faults.as_ref().map(|_| FAULTS.to_owned()));
    let faults = faults.unwrap_or_default();
    let chosen = Chosen { kubeconfig: subject.kubeconfig, tier, filter: filter.as_deref(), faults };
    let tally = verify::run(subject.paths, &chosen).await?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn bench_api(subject: &Subject<'_>, samples: usize) -> Result<ExitCode> {
    println!("{}", bench::api_latency(&subject.running().await?, samples).await?);
    Ok(ExitCode::SUCCESS)
}

async fn bench_application(subject: &Subject<'_>, wanted: bench::application::Wanted) -> Result<ExitCode> {
    bench::application::run(&measured(subject).await?, &wanted).await?;
    Ok(ExitCode::SUCCESS)
}

async fn bench_operation(subject: &Subject<'_>, wanted: bench::operation::Wanted) -> Result<ExitCode> {
    bench::operation::run(&measured(subject).await?, &wanted).await?;
    Ok(ExitCode::SUCCESS)
}

/// The cluster that the operator is measured on.
async fn measured(subject: &Subject<'_>) -> Result<Cluster> {
    if subject.kubeconfig.is_some() {
        let text = "the bench stops Flux and reads the API server's audit log: it runs on a lab only, chosen with --name";
        return Err(Unmet::new(text).into());
    }
    subject.running().await
}

async fn bench_cycles(subject: &Subject<'_>, count: usize) -> Result<ExitCode> {
    if subject.kubeconfig.is_some() || Node::find(subject.paths).is_some() {
        let text =
            "cycles start and stop a lab of their own; stop this one first, or choose another with --name";
        return Err(Unmet::new(text).into());
    }
    bench::cycles(subject.paths, count).await?;
    Ok(ExitCode::SUCCESS)
}

fn down(subject: &Subject<'_>) -> Result<ExitCode> {
    if let Some(kubeconfig) = subject.kubeconfig {
        let text = format!(
            "down stops a lab, by --name; {} is used as a cluster of somebody else's",
            kubeconfig.display()
        );
        return Err(Unmet::new(text).into());
    }
    machine::must_be_root()?;
    let _lock = up::lock(subject.paths)?;
    let (started, lab) = (Instant::now(), subject.paths.lab());
    if node::stop(subject.paths)? {
        eprintln!("lab: {lab} stopped and removed after {}", seconds(started.elapsed()));
    } else {
        eprintln!("lab: {lab} was not running, and nothing of it was there");
    }
    Ok(ExitCode::SUCCESS)
}

fn doctor(paths: &Paths) -> Result<ExitCode> {
    let checks = machine::checks(paths, up::minutes_to_build(paths)?);
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let (mark, text) = check.found.as_ref().map_or_else(|lack| ("FAIL", lack), |found| ("ok", found));
            vec![mark.to_owned(), check.what.to_owned(), text.clone()]
        })
        .collect();
    print!("{}", table::lines(&["", "WHAT", "FOUND"], &rows));
    let is_well = checks.iter().all(|check| check.found.is_ok());
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(crate::UNMET) })
}

fn plant(paths: &Paths, count: usize) -> Result<ExitCode> {
    let report = mutants::run(paths, count)?;
    Ok(if report.is_enough() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn reasons(update: bool) -> Result<ExitCode> {
    if update {
        maturity::update()?;
    }
    print(&reasons::summary(&reasons::load(&reasons::file())?)?)?;
    Ok(ExitCode::SUCCESS)
}

fn env(subject: &Subject<'_>) -> Result<ExitCode> {
    subject.require()?;
    println!("export KUBECONFIG={}", quoted(&subject.kubeconfig()));
    let (tools, plugin) = (up::tools(subject.paths)?, demo::plugin_folder()?);
    println!("export PATH={}:{}:\"$PATH\"", quoted(&tools), quoted(&plugin));
    Ok(ExitCode::SUCCESS)
}

/// For a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

fn kubectl(subject: &Subject<'_>, arguments: &[String]) -> Result<ExitCode> {
    subject.require()?;
    become_kubectl(subject, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// This process becomes kubectl, so that signals, input and exit code are its own.
fn become_kubectl(subject: &Subject<'_>, arguments: &[&str]) -> Result<ExitCode> {
    let mut kubectl = Command::new(up::tools(subject.paths)?.join("kubectl"));
    // `kubectl vworkspace` works if the plugin was built here.
    let path = format!("{}:{}", demo::plugin_folder()?.display(), std::env::var("PATH").unwrap_or_default());
    let error = kubectl.env("KUBECONFIG", subject.kubeconfig()).env("PATH", path).args(arguments).exec();
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
    let folder = std::fs::read_dir(subject.paths.log()).into_iter().flatten();
    let mut files: Vec<String> = folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".log").map(str::to_owned))
        .collect();
    files.sort();
    files.extend(names);
    Err(Unmet::new(format!("nothing named '{part}' has a log; there are {}", files.join(", "))).into())
}

async fn load_image(
    subject: &Subject<'_>,
    path: PathBuf,
    name: Option<String>,
    entrypoint: Vec<String>,
    user: String,
) -> Result<ExitCode> {
    let cluster = subject.running().await?;
    let Some(node) = &cluster.node else {
        return Err(Unmet::new("images can be loaded only into the lab's own cluster").into());
    };
    let name = match &name {
        Some(name) => name.as_str(),
        None => {
            path.file_name().and_then(|name| name.to_str()).context("the path has no name; give --image")?
        }
    };
    let reference = image::reference(name)?;
    let image = image::from_path(&path, &reference, entrypoint, &user)?;
    let tar = cluster.paths.state.join(format!("image-{}.tar", std::process::id()));
    image.write(&tar)?;
    let imported = image::import(node, &tar).await;
    std::fs::remove_file(&tar)?;
    imported?;
    println!("{reference}");
    Ok(ExitCode::SUCCESS)
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
    fn a_path_is_safe_in_a_shell() {
        assert_eq!(quoted(Path::new("/it's here")), r"'/it'\''s here'");
    }

    #[test]
    fn a_lab_has_a_short_plain_name() {
        assert!(lab_name("test-2").is_ok());
        for bad in ["", "Upper", "a/b", "..", "a_b", "a-name-that-is-much-too-long-for-a-lab"] {
            assert!(lab_name(bad).is_err(), "{bad}");
        }
    }
}
