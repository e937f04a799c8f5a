//! `vworkspace-operator`: turns ApplicationInstances into Flux releases and says truthfully how they are doing. What
//! belongs here: the controllers with their rules, what we read of other projects' kinds, and the program's flags. What
//! does not: how plans are carried out (`operator-kit`), the shape of our kinds (`vworkspace-api`).

mod catalog_policy;
mod certificates;
mod controllers;
mod endpoints;
mod external_secrets;
mod flux;
mod foreign;
mod inline_secrets;
mod one_line;
mod quotation;
mod windows;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent_protocol::PublicKeys;
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;
use operator_kit::logs::{self, Encoder, Verbosity};
use operator_kit::{Operator, Product, Settings};
use tracing::error;
use vworkspace_api::Duration;

use controllers::application::{Applications, Rules};

/// It mostly waits for the API server: on a node with many processors more threads would only take more memory.
const THREADS: usize = 2;
/// How field managers, annotations and metrics begin.
const PRODUCT: Product =
    Product { name: "vworkspace", domain: "vworkspace.io", metrics: "vworkspace_operator" };

/// The operator of one cluster.
#[derive(Debug, Parser)]
#[command(version)]
struct Flags {
    /// The namespace of the operator's own objects, such as its lease.
    #[arg(long, env = "POD_NAMESPACE", default_value = "vworkspace-system")]
    namespace: String,
    /// Where /healthz, /readyz and /metrics are served.
    #[arg(long, default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// How many objects of a kind are worked on at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// How long a chart source may be unreachable before Degraded says so.
    #[arg(long, default_value = "5m")]
    chart_unreachable_after: Duration,
    /// A file with the public keys that approval claims are verified with: one Ed25519 key in base64 a line.
    #[arg(long)]
    approval_keys_file: Option<PathBuf>,
    /// The service account in whose name Flux works for instances that name none; Flux's own rights if not given.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    default_service_account: Option<String>,
    /// The namespaces to look at, separated by commas; all if not given.
    #[arg(long, value_delimiter = ',')]
    watch_namespaces: Vec<String>,
    /// The id of the cluster; the uid of namespace kube-system if not given.
    #[arg(long, env = "CLUSTER_ID")]
    cluster_id: Option<String>,
    /// How much is logged: debug, info, warn or error.
    #[arg(long, default_value = "info")]
    zap_log_level: Verbosity,
    /// How it is logged: logfmt or json.
    #[arg(long, default_value = "logfmt")]
    zap_encoder: Encoder,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    logs::start(flags.zap_encoder, flags.zap_log_level, env!("CARGO_CRATE_NAME"));
    let approval_keys = match flags.approval_keys_file.as_deref().map(approval_keys).transpose() {
        Ok(keys) => keys.unwrap_or_default(),
        Err(reason) => {
            error!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    let rules = Rules {
        chart_unreachable_after: flags.chart_unreachable_after.into(),
        approval_keys,
        default_service_account: flags.default_service_account,
    };
    let is_namespaced = !flags.watch_namespaces.is_empty();
    let namespace = flags.namespace.clone();
    let settings = Settings {
        product: PRODUCT,
        namespace: flags.namespace,
        lease: "vworkspace-app-operator".to_owned(),
        address: flags.listen,
        workers: flags.workers.into(),
        watch_namespaces: flags.watch_namespaces,
        cluster_id: flags.cluster_id,
    };
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                error!(%error, "failed to start");
                return ExitCode::FAILURE;
            }
        };
    let operator =
        Operator::new(settings).with(|watches| Applications::new(watches, namespace, is_namespaced, rules));
    match runtime.block_on(operator.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn approval_keys(path: &Path) -> Result<PublicKeys, String> {
    let file = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("failed to read --approval-keys-file {file}: {error}"))?;
    PublicKeys::parse(&text).map_err(|error| format!("failed to read --approval-keys-file {file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// A row of the table in docs/operations.md.
    fn row(flag: &clap::Arg) -> Option<String> {
        let name = flag.get_long().filter(|name| !["help", "version"].contains(name))?;
        let defaults: Vec<_> =
            flag.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let default = if defaults.is_empty() { String::new() } else { format!("`{}`", defaults.join(",")) };
        let variable = flag.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        Some(format!("| `--{name}` | {default} | {variable} | {help} |"))
    }

    #[test]
    fn every_flag_is_documented_as_it_is() {
        let documented = include_str!("../../../docs/operations.md");
        let mut command = Flags::command();
        command.build();
        let rows: Vec<String> = command.get_arguments().filter_map(row).collect();
        assert!(!rows.is_empty());
        let missing = rows.iter().any(|row| !documented.lines().any(|line| line == row));
        let known = documented.lines().filter(|line| line.starts_with("| `--")).count();
        assert!(
            !missing && known == rows.len(),
            "expected in docs/operations.md exactly:\n{}",
            rows.join("\n")
        );
    }
}
