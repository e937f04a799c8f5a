//! ApplicationInstance: turns an instance into a Flux release and says truthfully how it is doing.
//!
//! A new rule about conditions goes into `decide/`, one about what we look at into `observe.rs`, one about what Flux is
//! given into `children.rs`. Nothing here talks to the API server: the kit carries plans out.

mod children;
mod decide;
mod observe;

use jiff::Timestamp;
use operator_kit::{Controller, NoErrand, Plan, View, Watches};
use vworkspace_api::application_instance::{ApplicationInstance, ApplicationInstanceStatus};

use crate::flux::{HelmRelease, HelmRepository, OciRepository};
use observe::World;

/// Names the instance that a child belongs to.
const INSTANCE_LABEL: &str = "app.vworkspace.io/application-instance";

/// The controller of ApplicationInstances.
pub(crate) struct Applications;

impl Controller for Applications {
    const NAME: &'static str = "application";
    const FINALIZER: &'static str = "apps.vworkspace.io/finalizer";
    const CLOCKS: &'static [&'static str] = &["lastReconcileTime"];

    type Object = ApplicationInstance;
    type World = World;
    type Status = ApplicationInstanceStatus;
    type Errand = NoErrand;

    fn watches(&self) -> Watches {
        Watches::new()
            .labelled::<HelmRelease>(INSTANCE_LABEL) // how the release is doing
            .labelled::<OciRepository>(INSTANCE_LABEL) // whether the chart can be had
            .labelled::<HelmRepository>(INSTANCE_LABEL) // the same for a classic repository
    }

    fn observe(&self, app: &ApplicationInstance, view: &View<'_, NoErrand>) -> World {
        observe::world(app, view)
    }

    fn decide(
        &self,
        app: &ApplicationInstance,
        world: &World,
        now: Timestamp,
    ) -> Plan<ApplicationInstanceStatus> {
        decide::plan(app, world, now)
    }
}
