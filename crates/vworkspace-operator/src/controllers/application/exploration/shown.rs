//! What the caches show, as `decide` reads it.

use std::rc::Rc;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use operator_kit::{Cause, Deed, Refusal, Sight};
use serde_json::json;
use vworkspace_api::application_instance::{ApplicationInstance, ApplicationInstanceStatus, Values};

use super::flux::{Action, FetchFailed, Mark, Ready, Reconciling, Release, Released, Remediated, Trouble};
use super::world::{Change, Config, Instance, Marks, Memory, Running, Spec};
use super::{ApplicationPlan, Look, flux, newest};
use crate::controllers::application::children::{FluxSpecs, flux_specs};
use crate::controllers::application::decide::testing::{desired, empty, instance, noon, rules};
use crate::controllers::application::decide::{self, Rules};
use crate::controllers::application::leftovers::{Left, Leftovers};
use crate::controllers::application::observe::{
    Asking, ChartReading, Dependency, Drift, NamedCheck, Seen, Version as ObjectVersion, World,
};
use crate::controllers::application::polls::chart_archive::ArtifactRef;
use crate::controllers::application::polls::probe::{Check, Destination};
use crate::controllers::application::polls::readiness::{Checked, ReadinessPoll};
use crate::external::flux::{Artifact, FluxCondition, HelmRelease, Snapshot, Source};

/// Marks of new values are told from requests to try again.
pub(super) const VALUES_MARK: u16 = 1000;

pub(super) const CANDIDATE: &str = "web-candidate";

pub(super) fn time(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

/// Objects that are changed in place, because building them anew costs more than deciding.
pub(super) struct Desk {
    rules: Rules,
    /// The digests of each change and of what it asks of the source.
    digests: Vec<(String, String)>,
    /// What Flux is given for it.
    specs: Vec<Result<Arc<FluxSpecs>, String>>,
    values: [Values; 3],
    check: NamedCheck,
    pub(super) app: ApplicationInstance,
    status: Option<Rc<ApplicationInstanceStatus>>,
    asked: Option<(Spec, Marks)>,
    pub(super) world: World,
    source: Option<flux::Source>,
    release: Option<Release>,
}

impl Desk {
    pub(super) fn new() -> Self {
        let values = |value| serde_json::from_value(value).unwrap();
        let values: [Values; 3] = [
            values(json!({"source": "inline", "inline": {"replicas": 2}})),
            values(json!({"source": "inline", "inline": {"replicas": 3}})),
            values(json!({"source": "secretRef", "secretRef": {"name": "v", "key": "values.yaml"}})),
        ];
        let check = json!({"name": "web", "tcp": {"service": "web", "port": 80}});
        let check = Check::new("shop", &serde_json::from_value(check).unwrap()).unwrap();
        let poll = ReadinessPoll {
            check,
            to: Destination::Pods,
            interval: std::time::Duration::from_secs(30),
            threshold: 3,
        };
        let mut desk = Self {
            rules: rules(),
            digests: Vec::new(),
            specs: Vec::new(),
            values,
            check: NamedCheck {
                name: "web".to_owned(),
                asking: Asking::Poll(poll),
                looks_at: None,
                checked: None,
            },
            app: instance(),
            status: None,
            asked: None,
            world: empty(),
            source: None,
            release: None,
        };
        for change in Change::all() {
            desk.ask_for(change);
            let desired = desired(&desk.app);
            desk.digests.push((desired.change().to_owned(), desired.source().unwrap().to_owned()));
            desk.specs.push(flux_specs(&desk.app, None));
        }
        desk
    }

    fn ask_for(&mut self, change: Change) {
        use vworkspace_api::application_instance::AfterFailedUpgrade;
        let spec = &mut self.app.spec;
        spec.chart.as_mut().unwrap().version = change.version.text().to_owned();
        spec.values = Some(self.values[change.config as usize].clone());
        spec.upgrade.on_failure =
            if change.keeps_failed { AfterFailedUpgrade::Keep } else { AfterFailedUpgrade::Rollback };
        spec.upgrade.retries = i32::from(change.retries);
        spec.install.retries = i32::from(change.retries);
    }

    pub(super) fn decide(&mut self, seen: &Look<'_>, memory: &Memory, now: i64) -> ApplicationPlan {
        self.show(seen, memory);
        self.world.specs.clone_from(&self.specs[seen.app.spec.change.index()]);
        decide::plan(&self.app, &self.world, &self.rules, time(now))
    }

    fn show(&mut self, seen: &Look<'_>, memory: &Memory) {
        self.show_instance(seen.app);
        if self.source != seen.source {
            self.source = seen.source;
            let source = seen.source.map(|source| self.source_of(source));
            self.world.source = Seen::Known(source.map_or(Sight::Absent, Sight::Present));
        }
        if self.release != seen.release {
            self.release = seen.release;
            let release = seen.release.map(|release| self.release_of(release));
            self.world.release = release.map_or(Sight::Absent, Sight::Present);
        }
        let world = &mut self.world;
        let spec = &seen.app.spec;
        world.dependencies.clear();
        if spec.depends {
            let lacks = (!seen.dependency_ready).then(|| "does not exist".to_owned());
            world.dependencies.push(Dependency { name: "db".to_owned(), lacks });
        }
        world.checks.clear();
        if spec.check {
            let checked = memory.check.map(|passes| match passes {
                true => Checked::Passes,
                false => Checked::Fails("connection refused".to_owned()),
            });
            world.checks.push(NamedCheck { checked, ..self.check.clone() });
        }
        world.drift = seen
            .drift
            .map(|at| Drift { message: "ConfigMap/shop/web changed".to_owned(), seen_at: time(at) });
        let secret = memory.listed_values.and_then(|listed| newest(seen.secret, listed));
        world.values_object = secret
            .map(|version| ObjectVersion { uid: "secret".to_owned(), resource_version: version.to_string() });
        world.leftovers = match memory.listed_leftovers.map(|listed| newest(seen.leftovers, listed)) {
            None => Leftovers::NotYet,
            Some(0) => Leftovers::Known(Left::default()),
            Some(_) => Leftovers::Known(Left {
                terminating: vec!["ConfigMap web (held by a/b)".to_owned()],
                standing: Vec::new(),
            }),
        };
        world.refusals.clear();
        if memory.is_denied {
            let message = "failed to apply OCIRepository shop/web: is forbidden".to_owned();
            let object = "OCIRepository shop/web".to_owned();
            world.refusals.push(Refusal { object, deed: Deed::Make, cause: Cause::Forbidden, message });
        }
        world.chart = match seen.source.and_then(|source| source.artifact) {
            None => ChartReading::Absent,
            Some(version) => {
                let artifact = ArtifactRef {
                    url: "http://source-controller/web.tgz".to_owned(),
                    digest: version.digest().to_owned(),
                    size: None,
                };
                if memory.chart == Some(version) {
                    ChartReading::Done(artifact, None)
                } else {
                    ChartReading::Pending(artifact)
                }
            }
        };
    }

    fn show_instance(&mut self, seen: &Instance) {
        let asked = (seen.spec, seen.marks);
        if self.asked != Some(asked) {
            self.asked = Some(asked);
            self.show_asked(seen);
        }
        let meta = &mut self.app.metadata;
        meta.generation = Some(seen.generation);
        meta.deletion_timestamp = seen.deleting.then(|| Time(noon()));
        let is_same = match (&self.status, &seen.status) {
            (Some(known), Some(seen)) => Rc::ptr_eq(known, seen),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.status.clone_from(&seen.status);
            self.app.status = seen.status.as_deref().cloned();
        }
    }

    fn show_asked(&mut self, seen: &Instance) {
        use vworkspace_api::application_instance::DeletionPolicy;
        self.ask_for(seen.spec.change);
        let spec = &mut self.app.spec;
        spec.suspend = seen.spec.suspend;
        spec.approvals.required = seen.spec.approval;
        spec.deletion_policy = if seen.spec.orphan { DeletionPolicy::Orphan } else { DeletionPolicy::Delete };
        spec.maintenance_windows = if seen.spec.window {
            let window = json!([{"name": "noon", "schedule": "0 11 * * *", "duration": "2h"}]);
            serde_json::from_value(window).unwrap()
        } else {
            Vec::new()
        };
        let marks = [
            ("apps.vworkspace.io/reconcile", seen.marks.paused.then(|| "disabled".to_owned())),
            ("apps.vworkspace.io/retry", (seen.marks.retry != 0).then(|| retry_mark(seen.marks.retry))),
        ];
        let marks = marks.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        self.app.metadata.annotations = Some(marks.collect());
    }

    pub(super) fn source_of(&self, source: flux::Source) -> Source {
        let asked =
            Change { version: source.version, config: Config::Two, keeps_failed: false, retries: false };
        let (_, digest) = &self.digests[asked.index()];
        let metadata = meta(source.uid, source.generation, None, digest);
        let mut shown = Source { metadata, ..Source::default() };
        let status = &mut shown.status;
        status.observed_generation = source.observed;
        status.artifact = source.artifact.map(|version| Artifact {
            revision: format!("{}@{}", version.text(), version.digest()),
            url: "http://source-controller/web.tgz".to_owned(),
            digest: version.digest().to_owned(),
            size: None,
        });
        status.conditions.extend(source.fetch_failed.map(fetch_failed));
        if source.reconciling {
            status.conditions.push(condition("Reconciling", "True", "Progressing", "building artifact"));
        }
        shown
    }

    pub(super) fn release_of(&self, release: Release) -> HelmRelease {
        let (change, source) = &self.digests[release.change.index()];
        let mut shown = HelmRelease {
            metadata: meta(release.uid, release.generation, Some(change), source),
            spec: spec_of(release),
            ..HelmRelease::default()
        };
        // Nobody else suspends it here.
        if release.suspend {
            let marks = shown.metadata.annotations.get_or_insert_default();
            marks.insert("apps.vworkspace.io/suspended".to_owned(), "true".to_owned());
        }
        if release.requested != 0 {
            let requested = match release.requested.checked_sub(VALUES_MARK) {
                Some(version) => format!("values-secret-{version}"),
                None => retry_mark(u8::try_from(release.requested).unwrap_or(u8::MAX)),
            };
            let marks = shown.metadata.annotations.get_or_insert_default();
            marks.insert("reconcile.fluxcd.io/requestedAt".to_owned(), requested);
            if release.reset != 0 {
                marks.insert("reconcile.fluxcd.io/resetAt".to_owned(), retry_mark(release.reset));
            }
        }
        if release.deleting {
            shown.metadata.deletion_timestamp = Some(Time(noon()));
        }
        let status = &mut shown.status;
        status.observed_generation = release.observed;
        status.last_attempted_generation = release.attempted;
        status.failures = i64::from(release.failures);
        if let Some(attempted) = release.attempted_running {
            status.last_attempted_revision_digest = attempted.version.digest().to_owned();
        }
        status.history = release.history.iter().flatten().map(snapshot).collect();
        status.conditions = conditions_of(&release);
        shown
    }
}

fn spec_of(release: Release) -> serde_json::Value {
    let mut spec = json!({"interval": "5m"});
    if release.suspend {
        spec["suspend"] = true.into();
    }
    if release.change.config == Config::FromSecret {
        spec["valuesFrom"] = json!([{"kind": "Secret", "name": "v", "valuesKey": "values.yaml"}]);
    }
    spec
}

fn retry_mark(retry: u8) -> String {
    format!("retry-{retry}")
}

fn snapshot(known: &flux::Snapshot) -> Snapshot {
    let Running { version, config } = known.running;
    Snapshot {
        chart_version: version.text().to_owned(),
        config_digest: match config {
            Config::Two => "c2",
            Config::Three => "c3",
            Config::FromSecret => "cs",
        }
        .to_owned(),
        oci_digest: version.digest().to_owned(),
        status: match known.mark {
            Mark::Deployed => "deployed",
            Mark::Superseded => "superseded",
            Mark::Failed => "failed",
            Mark::Uninstalling => "uninstalling",
        }
        .to_owned(),
        version: i64::from(known.number),
        last_deployed: None,
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> FluxCondition {
    FluxCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: None,
        last_transition_time: None,
    }
}

fn meta(uid: u8, generation: i64, change: Option<&String>, source: &str) -> ObjectMeta {
    let change = change.map(|change| ("apps.vworkspace.io/change-digest".to_owned(), change.clone()));
    let source = ("apps.vworkspace.io/source-digest".to_owned(), source.to_owned());
    ObjectMeta {
        name: Some("web".to_owned()),
        namespace: Some("shop".to_owned()),
        uid: Some(uid.to_string()),
        generation: Some(generation),
        annotations: Some(change.into_iter().chain([source]).collect()),
        ..ObjectMeta::default()
    }
}

fn fetch_failed(failed: FetchFailed) -> FluxCondition {
    let message = match failed.trouble {
        Trouble::Missing => "GET https://registry.example/v2/: MANIFEST_UNKNOWN: manifest unknown",
        Trouble::Unreachable => "dial tcp: connect: connection refused",
    };
    FluxCondition {
        observed_generation: Some(failed.observed),
        last_transition_time: Some(Time(time(failed.since))),
        ..condition("FetchFailed", "True", "OCIArtifactPullFailed", message)
    }
}

fn running(action: Action) -> &'static str {
    match action {
        Action::Install => "Running 'install' action with timeout of 5m0s",
        Action::Upgrade => "Running 'upgrade' action with timeout of 5m0s",
        Action::Rollback => "Running 'rollback' action with timeout of 5m0s",
        Action::Uninstall => "Running 'uninstall' action with timeout of 5m0s",
    }
}

const DEADLINE: &str = "Helm upgrade failed for release shop/web: context deadline exceeded";
const BOOM: &str = "Helm upgrade failed for release shop/web: execution error: boom";
/// Stands for a value of a Secret.
pub(super) const SECRET: &str = "hunter2";
const QUOTING: &str = "Helm upgrade failed for release shop/web: invalid value \"hunter2\"";
const NO_SECRET: &str = "could not resolve Secret chart values reference 'shop/v': secrets \"v\" not found";

fn conditions_of(release: &Release) -> Vec<FluxCondition> {
    let cause = match release.released {
        _ if release.quotes_secret => QUOTING,
        Released::NotRendered => BOOM,
        _ => DEADLINE,
    };
    let ready = match release.ready {
        Ready::Unsaid => None,
        Ready::Fulfilling => Some(("Unknown", "Progressing", "Fulfilling prerequisites")),
        Ready::Running(action) => Some(("Unknown", "Progressing", running(action))),
        Ready::Succeeded => Some(("True", "UpgradeSucceeded", "Helm upgrade succeeded")),
        Ready::WithoutSource => Some(("False", "SourceNotReady", "OCIRepository 'shop/web' is not ready")),
        Ready::ArtifactFailed => Some(("False", "ArtifactFailed", "Source not ready: artifact not found")),
        Ready::ValuesError => Some(("False", "ValuesError", NO_SECRET)),
        Ready::ActionFailed => Some(("False", "UpgradeFailed", cause)),
        Ready::RollbackSucceeded => Some(("False", "RollbackSucceeded", "Helm rollback succeeded")),
        Ready::RollbackFailed => Some(("False", "RollbackFailed", "Helm rollback failed")),
        Ready::UninstallFailed => Some(("False", "UninstallFailed", cause)),
        Ready::UninstallSucceeded => Some(("False", "UninstallSucceeded", "Helm uninstall succeeded")),
    };
    let reconciling = match release.reconciling {
        Reconciling::No => None,
        Reconciling::Fulfilling => Some(("True", "Progressing", "Fulfilling prerequisites")),
        Reconciling::Running(action) => Some(("True", "Progressing", running(action))),
        Reconciling::WithRetry => Some(("True", "ProgressingWithRetry", cause)),
    };
    let released = match release.released {
        Released::Unsaid => None,
        Released::Yes => Some(("True", "UpgradeSucceeded", "Helm upgrade succeeded")),
        Released::NotRendered | Released::TimedOut => Some(("False", "UpgradeFailed", cause)),
    };
    let remediated = match release.remediated {
        Remediated::Unsaid => None,
        Remediated::RolledBack => Some(("True", "RollbackSucceeded", "Helm rollback succeeded")),
        Remediated::NotRolledBack => Some(("False", "RollbackFailed", "Helm rollback failed")),
        Remediated::Uninstalled => Some(("True", "UninstallSucceeded", "Helm uninstall succeeded")),
    };
    let stalled =
        release.stalled.then_some(("True", "RetriesExceeded", "Failed to upgrade after 1 attempt(s)"));
    let told = [
        ("Ready", ready),
        ("Reconciling", reconciling),
        ("Released", released),
        ("Remediated", remediated),
        ("Stalled", stalled),
    ];
    let mut told: Vec<_> = told
        .into_iter()
        .filter_map(|(type_, told)| {
            told.map(|(status, reason, words)| condition(type_, status, reason, words))
        })
        .collect();
    if let Some(ready) = told.first_mut().filter(|_| release.ready != Ready::Unsaid) {
        ready.observed_generation = Some(release.ready_observed);
    }
    told
}
