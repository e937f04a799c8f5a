//! The life of an instance, situation by situation.

macro_rules! assert_conditions {
    ($plan:expr, { $($type_:ident: $status:ident / $reason:ident),+ $(,)? }) => {{
        let told = told(&$plan);
        for wanted in [$(concat!(stringify!($type_), ": ", stringify!($status), "/", stringify!($reason))),+] {
            assert!(told.iter().any(|known| known == wanted), "no {wanted} in {told:?}");
        }
    }};
}

mod approvals;
mod blocking;
mod chart_trouble;
mod degrading;
mod deletion;
mod explored;
mod failing;
mod flux_looks_again;
mod pausing;
mod readiness;
mod replacing;
mod rolling_out;
mod secrecy;
mod unlisted;

use operator_kit::{Cause, Refusal, Sight};

use super::testing::{
    DIGEST_1_2, DIGEST_1_3, after, at_version, desired, edited, empty, fetched, instance, new_release, noon,
    released, revision, rules, says, told, world,
};
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::controllers::application::children::flux_specs;
use crate::controllers::application::observe::Drift;
use crate::external::flux::{HelmRelease, Source};
use crate::policy::catalog_policy::CatalogPolicy;

fn plan(app: &ApplicationInstance, world: &World, now: Timestamp) -> Plan<ApplicationInstanceStatus> {
    plan_by(&rules(), app, world, now)
}

fn plan_by(
    rules: &Rules,
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus> {
    let specs = flux_specs(app, rules.default_service_account.as_deref());
    super::plan(app, &World { specs, ..world.clone() }, rules, now)
}

/// An instance whose version 1.2.0 runs and was reported.
fn running() -> (ApplicationInstance, World) {
    let app = instance();
    let world = world(fetched(&app, DIGEST_1_2), released(&app, "1.2.0", DIGEST_1_2));
    let plan = plan(&app, &world, noon());
    (after(app, &plan), world)
}

/// The same with another field of the spec.
fn with(field: &str, value: serde_json::Value) -> (ApplicationInstance, World) {
    let (app, world) = running();
    (edited(app, |app| set(app, field, value)), world)
}

fn set(app: &mut ApplicationInstance, field: &str, value: serde_json::Value) {
    let mut spec = serde_json::to_value(&app.spec).unwrap();
    spec[field] = value;
    app.spec = serde_json::from_value(spec).unwrap();
}

fn message(plan: &Plan<ApplicationInstanceStatus>, type_: &str) -> String {
    plan.status.conditions.get(type_).unwrap().message.clone()
}

/// The same after version 1.3.0 was asked for and handed to Flux, which has not noticed.
fn upgrading() -> (ApplicationInstance, Source, HelmRelease) {
    let (app, _) = running();
    let app = at_version(app, "1.3.0");
    let app = after(app.clone(), &plan(&app, &running().1, noon()));
    let mut source = fetched(&app, DIGEST_1_2);
    source.metadata.generation = Some(2);
    let release = released(&app, "1.2.0", DIGEST_1_2);
    (app, source, release)
}

fn deleted(mut app: ApplicationInstance) -> ApplicationInstance {
    app.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    app
}
