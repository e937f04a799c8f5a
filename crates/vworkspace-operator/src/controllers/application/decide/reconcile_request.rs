//! When Flux is asked to look again although its own timer has not come.

use std::collections::BTreeMap;

use kube::ResourceExt;
use operator_kit::{ObjectKey, ReconcileRequest};
use vworkspace_api::application_instance::ApplicationInstance;

use super::pause::Pause;
use super::release_state::values_complaint;
use crate::controllers::application::observe::World;
use crate::external::flux::HelmRelease;

/// A user's request to try again; any value that was not there before.
pub(super) const RETRY: &str = "apps.vworkspace.io/retry";
const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";
/// With the same value: forget the failures, and try again although the retries are used up.
const RESET: &str = "reconcile.fluxcd.io/resetAt";

/// Whether Flux complains about the values, so that their object is worth a look.
pub(super) fn values_are_in_trouble(world: &World) -> bool {
    world.release.present().is_some_and(|release| values_complaint(release).is_some())
}

pub(super) fn reconcile_requests(
    app: &ApplicationInstance,
    world: &World,
    pause: Option<&Pause>,
) -> Vec<ReconcileRequest> {
    let release = world.release.present().filter(|release| pause.is_none() && !release.is_being_deleted());
    let Some(release) = release else { return Vec::new() };
    let reconcile_request = retry(app, release).or_else(|| new_values(world, release));
    reconcile_request
        .map(|marks| ReconcileRequest::new::<HelmRelease>(ObjectKey::of_meta(&release.metadata), marks))
        .into_iter()
        .collect()
}

/// The user asks for another try that Flux has not made yet.
fn retry(app: &ApplicationInstance, release: &HelmRelease) -> Option<BTreeMap<String, String>> {
    let retry = app.annotations().get(RETRY)?;
    let is_marked = release.annotations().get(RESET) == Some(retry);
    (!is_marked).then(|| marks([(REQUESTED, retry.clone()), (RESET, retry.clone())]))
}

/// Flux does not notice that a Secret or ConfigMap that it misses has come, or changed.
fn new_values(world: &World, release: &HelmRelease) -> Option<BTreeMap<String, String>> {
    let found = world.values_object.as_ref().filter(|_| values_are_in_trouble(world))?;
    let mark = format!("values-{}-{}", found.uid, found.resource_version);
    (release.annotations().get(REQUESTED) != Some(&mark)).then(|| marks([(REQUESTED, mark)]))
}

fn marks<const N: usize>(marks: [(&str, String); N]) -> BTreeMap<String, String> {
    marks.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
