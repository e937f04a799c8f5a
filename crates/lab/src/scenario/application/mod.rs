//! ApplicationInstances under the running operator and real Flux: each documented reason with its cause, what kubectl and
//! the plugin make of it, and the way back. One file per cause; `instance.rs` has the words they are told in.

mod admission;
pub(super) mod allow_list;
pub(super) mod approval;
mod catalog_policy;
pub(super) mod certificate;
pub(super) mod chart_source;
pub(super) mod child_resources;
pub(super) mod deletion;
pub(super) mod dependency;
pub(super) mod drift;
pub(super) mod endpoint;
pub(super) mod external_secret;
pub(super) mod failed_install;
pub(super) mod failed_upgrade;
pub(super) mod foreign_condition;
pub(super) mod http_repository;
pub(super) mod install_and_upgrade;
pub(super) mod instance;
pub(super) mod maintenance_window;
pub(super) mod nothing_to_install;
pub(super) mod pause;
pub(super) mod policy;
pub(super) mod propagation;
pub(super) mod refused_write;
pub(super) mod restored;
pub(super) mod retry;
pub(super) mod secrecy;
pub(super) mod service_account;
pub(super) mod source_reference;
pub(super) mod unreachable_source;
pub(super) mod unreadable;
pub(super) mod values;
pub(super) mod warnings;

use super::{Ground, Running, Scenario};

const NEEDS: &[&str] = &["flux", "operator", "registry"];

/// A scenario that disturbs nobody.
const fn scenario(name: &'static str, run: for<'a> fn(&'a Ground) -> Running<'a>) -> Scenario {
    scenario_with(name, NEEDS, run)
}

/// One that needs more.
const fn scenario_with(
    name: &'static str,
    needs: &'static [&'static str],
    run: for<'a> fn(&'a Ground) -> Running<'a>,
) -> Scenario {
    Scenario { name, needs, needs_node: false, alone: false, run }
}
