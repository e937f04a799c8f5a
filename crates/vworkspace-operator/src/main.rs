//! `vworkspace-operator`: turns ApplicationInstances into Flux releases and says truthfully how they are doing. What
//! belongs here: the controllers with their rules, what we read of other projects' kinds, and the program's flags. What
//! does not: how plans are carried out (`operator-kit`), the shape of our kinds (`vworkspace-api`).

// Not wired yet: the application controller reads it once it watches cert-manager's kinds.
#[allow(dead_code)]
mod certificates;
#[allow(dead_code, reason = "wired in by the next commit")]
mod catalog_policy;
mod controllers;
// Not wired yet: the kit's scheduling of errands is being written.
#[allow(dead_code, unused_imports)]
mod errands;
// Not wired yet: the application controller reads it once it watches external-secrets' kinds.
#[allow(dead_code)]
mod external_secrets;
mod flux;
mod foreign;
#[allow(dead_code, reason = "wired in by the next commit")]
mod inline_secrets;
#[allow(dead_code, reason = "wired in by the next commit")]
mod windows;
mod one_line;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use operator_kit::logs::{self, Encoder, Verbosity};
use operator_kit::{Operator, Settings};
use tracing::error;

use controllers::application::Applications;

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
    logs::start(flags.zap_encoder, flags.zap_log_level);
    let settings = Settings {
        namespace: flags.namespace,
        lease: "vworkspace-app-operator".to_owned(),
        address: flags.listen,
        workers: flags.workers.into(),
        watch_namespaces: flags.watch_namespaces,
        cluster_id: flags.cluster_id,
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            error!(%error, "failed to start");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(Operator::new(settings).with(Applications).run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}
