//! The flags of the program.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use agent_protocol::PublicKeys;
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;
use operator_kit::logs::{Encoder, Verbosity};
use vworkspace_api::Duration;

/// The operator of one cluster.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Flags {
    /// The namespace of the operator's own objects, such as its lease.
    #[arg(long, env = "POD_NAMESPACE", default_value = "vworkspace-system")]
    pub(crate) namespace: String,
    /// Where /healthz, /readyz and /metrics are served.
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub(crate) listen: SocketAddr,
    /// How many objects of a kind are worked on at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) workers: u16,
    /// How long a chart source may be unreachable before Degraded says so.
    #[arg(long, default_value = "5m")]
    pub(crate) chart_unreachable_after: Duration,
    /// A file with the public keys that approval claims are verified with: one Ed25519 key in base64 a line.
    #[arg(long)]
    pub(crate) approval_keys_file: Option<PathBuf>,
    /// The secret that approval claims of the older form (vws1) are verified with; Operations take none if not given.
    #[arg(long, env = "VWORKSPACE_APPROVAL_CLAIM_SECRET", hide_env_values = true)]
    pub(crate) approval_claim_secret: Option<String>,
    /// The service account in whose name Flux works for instances that name none; Flux's own rights if not given.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) default_service_account: Option<String>,
    /// The namespace of Velero: its Backups, Restores and storage locations are there.
    #[arg(long, env = "VELERO_NAMESPACE", default_value = "velero", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) velero_namespace: String,
    /// The namespaces to look at, separated by commas; all if not given.
    #[arg(long, value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,
    /// The id of the cluster; the uid of namespace kube-system if not given.
    #[arg(long, env = "CLUSTER_ID")]
    pub(crate) cluster_id: Option<String>,
    /// How much is logged: debug, info, warn or error.
    #[arg(long, default_value = "info")]
    pub(crate) zap_log_level: Verbosity,
    /// How it is logged: logfmt or json.
    #[arg(long, default_value = "logfmt")]
    pub(crate) zap_encoder: Encoder,
}

/// Reads the keys that approval claims are verified with.
pub(crate) fn approval_keys(path: &Path) -> Result<PublicKeys, String> {
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
