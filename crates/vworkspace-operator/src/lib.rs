//! `vworkspace-operator`: turns ApplicationInstances into Flux releases and says truthfully how they are doing. What
//! belongs here: the controllers with their rules, what we read of other projects' kinds, and the program's flags. What
//! does not: how plans are carried out (`operator-kit`), the shape of our kinds (`vworkspace-api`).

mod controllers;
mod external;
mod flags;
mod policy;

use std::process::ExitCode;

use agent_protocol::SharedSecret;
use clap::Parser;
use operator_kit::{Operator, Product, Settings, logs};
use tracing::error;

use controllers::{application, operation};
use flags::{Flags, approval_keys};

/// After so many steps of tasks sockets are looked at, also when there is more to do: the lease has to be renewed while
/// thousands of objects are due.
const EVENT_INTERVAL: u32 = 7;
/// That of the program: what tests measure of memory has to be true of it.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
/// How field managers, annotations and metrics begin.
const PRODUCT: Product =
    Product { name: "vworkspace", domain: "vworkspace.io", metrics: "vworkspace_operator" };

/// The program: runs until it is told to stop.
pub fn run() -> ExitCode {
    let flags = Flags::parse();
    logs::start(flags.zap_encoder, flags.zap_log_level, env!("CARGO_CRATE_NAME"));
    let approval_keys = match flags.approval_keys_file.as_deref().map(approval_keys).transpose() {
        Ok(keys) => keys.unwrap_or_default(),
        Err(reason) => {
            error!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    let claim_secret = match flags.approval_claim_secret.as_deref().map(SharedSecret::from_text).transpose() {
        Ok(secret) => secret,
        Err(reason) => {
            error!("failed to read --approval-claim-secret: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let operations = operation::Rules { approval_keys: approval_keys.clone(), claim_secret };
    let applications = application::Rules {
        chart_unreachable_after: flags.chart_unreachable_after.into(),
        approval_keys,
        default_service_account: flags.default_service_account,
    };
    let is_namespaced = !flags.watch_namespaces.is_empty();
    let namespace = flags.namespace.clone();
    let velero_namespace = flags.velero_namespace;
    let settings = Settings {
        product: PRODUCT,
        namespace: flags.namespace,
        lease: "vworkspace-app-operator".to_owned(),
        address: flags.listen,
        workers: flags.workers.into(),
        watch_namespaces: flags.watch_namespaces,
        cluster_id: flags.cluster_id,
    };
    // One thread: it mostly waits for the API server.
    let runtime =
        tokio::runtime::Builder::new_current_thread().event_interval(EVENT_INTERVAL).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            error!(%error, "failed to start");
            return ExitCode::FAILURE;
        }
    };
    let counted = operation::Metrics::new();
    let registered = counted.clone();
    let operator = Operator::new(settings)
        .counting(move |registry| registered.register(registry))
        .telling(move |object, status| counted.written(object, status))
        .with(|watches| application::Applications::new(watches, namespace, is_namespaced, applications))
        .with(|watches| operation::Operations::new(watches, operations, velero_namespace));
    match runtime.block_on(operator.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_others_know_us_by_stay() {
        let Product { name, domain, metrics } = PRODUCT;
        assert_eq!((name, domain, metrics), ("vworkspace", "vworkspace.io", "vworkspace_operator"));
    }
}
