//! Instances and worlds in the words of the domain, for tests.

use std::time::Duration;

use agent_protocol::PublicKeys;
use jiff::Timestamp;
use kube::api::ObjectMeta;
use operator_kit::{Found, Plan, Sight};
use serde_json::json;
use vworkspace_api::application_instance::{ApplicationInstance, ApplicationInstanceStatus};

use super::Rules;
use crate::controllers::application::children::{DesiredRelease, flux_specs};
use crate::controllers::application::leftovers::{Left, Leftovers};
use crate::controllers::application::observe::{ChartReading, Seen, World};
use crate::external::flux::{Artifact, FluxCondition, HelmRelease, Snapshot, Source};
use crate::policy::catalog_policy::CatalogPolicy;

pub(crate) const DIGEST_1_2: &str = "sha256:12";
pub(crate) const DIGEST_1_3: &str = "sha256:13";

pub(crate) fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// As the flags have it by default.
pub(crate) fn rules() -> Rules {
    Rules {
        chart_unreachable_after: Duration::from_secs(300),
        approval_keys: PublicKeys::default(),
        default_service_account: None,
    }
}

/// `shop/web` at chart version 1.2.0, as a user would write it.
pub(crate) fn instance() -> ApplicationInstance {
    serde_json::from_value(json!({
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "generation": 1},
        "spec": {
            "appRef": {"catalogId": "web"},
            "chart": {"sourceType": "oci", "url": "oci://registry.example/charts", "name": "web", "version": "1.2.0"},
            "release": {"name": "web", "namespace": "shop"},
            "values": {"source": "inline", "inline": {"replicas": 2}}}}))
    .unwrap()
}

/// What the operator says of it after a plan.
pub(crate) fn after(
    mut app: ApplicationInstance,
    plan: &Plan<ApplicationInstanceStatus>,
) -> ApplicationInstance {
    app.status = Some(plan.status.clone());
    app
}

/// Edits the spec, as the API server counts it.
pub(crate) fn edited(
    mut app: ApplicationInstance,
    edit: impl FnOnce(&mut ApplicationInstance),
) -> ApplicationInstance {
    edit(&mut app);
    app.metadata.generation = app.metadata.generation.map(|generation| generation + 1);
    app
}

pub(crate) fn at_version(app: ApplicationInstance, version: &str) -> ApplicationInstance {
    edited(app, |app| app.spec.chart.as_mut().unwrap().version = version.to_owned())
}

/// Nothing there yet.
pub(crate) fn empty() -> World {
    World {
        release: Sight::Absent,
        source: Seen::Known(Sight::Absent),
        candidate: None,
        helm_chart: None,
        outdated_sources: Vec::new(),
        own_sources: Ok(Vec::new()),
        refusals: Vec::new(),
        cluster: "cluster".to_owned(),
        policy: CatalogPolicy::default(),
        dependencies: Vec::new(),
        restoring: None,
        services: Found::Objects(Vec::new()),
        ingresses: Found::Objects(Vec::new()),
        certificates: Found::NotInstalled,
        external_secrets: Found::NotInstalled,
        drift: None,
        is_drift_seen: true,
        values_object: None,
        leftovers: Leftovers::Known(Left::default()),
        restored_release: None,
        specs: Err("nobody has asked".to_owned()),
        is_namespace_ending: false,
        has_rights_in_namespace_only: false,
        checks: Vec::new(),
        chart: ChartReading::Absent,
    }
}

/// What is made of an instance where the flags name no account.
pub(crate) fn desired(app: &ApplicationInstance) -> DesiredRelease<'_> {
    DesiredRelease::of(app, &flux_specs(app, None)).unwrap()
}

/// The metadata of a child that carries the present change of its instance.
pub(crate) fn owned(app: &ApplicationInstance) -> ObjectMeta {
    let desired = desired(app);
    let mut annotations = json!({"apps.vworkspace.io/change-digest": desired.change()});
    if let Some(source) = desired.source() {
        annotations["apps.vworkspace.io/source-digest"] = source.into();
    }
    serde_json::from_value(json!({
        "name": "web", "namespace": "shop", "uid": "child", "generation": 1,
        "annotations": annotations}))
    .unwrap()
}

/// A source that has fetched what it should.
pub(crate) fn fetched(app: &ApplicationInstance, digest: &str) -> Source {
    let mut source = Source { metadata: owned(app), ..Source::default() };
    source.status.observed_generation = 1;
    source.status.artifact = Some(Artifact { revision: format!("1@{digest}"), ..Artifact::default() });
    source
}

/// A release that Flux has not looked at.
pub(crate) fn new_release(app: &ApplicationInstance) -> HelmRelease {
    let spec = json!({"interval": "5m"});
    let mut release = HelmRelease { metadata: owned(app), spec, ..HelmRelease::default() };
    release.status.observed_generation = -1;
    release
}

/// A release that Flux has finished.
pub(crate) fn released(app: &ApplicationInstance, version: &str, digest: &str) -> HelmRelease {
    let mut release = new_release(app);
    let status = &mut release.status;
    (status.observed_generation, status.last_attempted_generation) = (1, 1);
    status.last_attempted_revision_digest = digest.to_owned();
    status.history = vec![revision(1, version, digest, "deployed")];
    status.conditions =
        says(&[("Ready", "True", "InstallSucceeded", ""), ("Released", "True", "InstallSucceeded", "")]);
    release
}

pub(crate) fn revision(version: i64, chart: &str, digest: &str, status: &str) -> Snapshot {
    Snapshot {
        version,
        chart_version: chart.to_owned(),
        oci_digest: digest.to_owned(),
        status: status.to_owned(),
        config_digest: "c".to_owned(),
        last_deployed: None,
    }
}

pub(crate) fn says(conditions: &[(&str, &str, &str, &str)]) -> Vec<FluxCondition> {
    let condition = |(type_, status, reason, message): &(&str, &str, &str, &str)| FluxCondition {
        type_: (*type_).to_owned(),
        status: (*status).to_owned(),
        reason: (*reason).to_owned(),
        message: (*message).to_owned(),
        observed_generation: None,
        last_transition_time: None,
    };
    conditions.iter().map(condition).collect()
}

pub(crate) fn world(source: Source, release: HelmRelease) -> World {
    World { release: Sight::Present(release), source: Seen::Known(Sight::Present(source)), ..empty() }
}

/// `Type: Status/Reason`, for each condition.
pub(crate) fn told(plan: &Plan<ApplicationInstanceStatus>) -> Vec<String> {
    let conditions = plan.status.conditions.iter();
    conditions.map(|known| format!("{}: {}/{}", known.type_, known.status, known.reason)).collect()
}
