//! What the controller looks at for one instance.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use operator_kit::{Found, ObjectKey, Refusal, Sight, View, decode};
use vworkspace_api::application_instance::{ApplicationInstance, Chart, ChartSource, ChartSourceKind, Ready};

use super::asking::{Asked, Checked, Question, Reply};
use super::{children, looking};
use crate::catalog_policy::CatalogPolicy;
use crate::certificates::Certificate;
use crate::errands::chart_archive::{ArtifactRef, ChartFacts};
use crate::errands::probe::Check;
use crate::external_secrets::ExternalSecret;
use crate::flux::{Artifact, HelmChart, HelmRelease, HelmRepository, OciRepository, Source};

/// The world around one instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) release: Sight<HelmRelease>,
    /// The source that the spec asks for.
    pub(crate) source: Seen<Source>,
    /// The source that only finds out which chart a change that needs an approval would get.
    pub(crate) candidate: Option<Source>,
    /// What Flux makes of a classic repository for the release.
    pub(crate) helm_chart: Option<Source>,
    /// Sources of ours from before the spec asked for this one.
    pub(crate) outdated_sources: Vec<(ChartSourceKind, Source)>,
    /// What the API server did not let us do.
    pub(crate) refusals: Vec<Refusal>,
    /// The id of the cluster.
    pub(crate) cluster: String,
    /// What the whole cluster agreed on.
    pub(crate) policy: CatalogPolicy,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) services: Vec<Service>,
    pub(crate) ingresses: Vec<Ingress>,
    /// Nothing without cert-manager.
    pub(crate) certificates: Option<Vec<Certificate>>,
    /// Nothing without external-secrets.
    pub(crate) external_secrets: Option<Vec<ExternalSecret>>,
    pub(crate) drift: Option<Drift>,
    /// The Secret or ConfigMap with the values, while it is looked at and if it is there.
    pub(crate) values_object: Option<Version>,
    pub(crate) leftovers: Leftovers,
    pub(crate) checks: Vec<NamedCheck>,
    pub(crate) chart: ChartReading,
}

/// Something that is looked at only for a while may not be known yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen<K> {
    NotYet,
    Known(Sight<K>),
}

impl<K> Seen<K> {
    pub(crate) fn present(&self) -> Option<&K> {
        match self {
            Seen::Known(sight) => sight.present(),
            Seen::NotYet => None,
        }
    }
}

/// Another instance that must be ready first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Why it is not.
    pub(crate) lacks: Option<String>,
}

/// Somebody changed an object of the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drift {
    pub(crate) message: String,
    pub(crate) seen_at: Timestamp,
}

/// Which object, and which version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

/// Objects of a release that is gone which have not gone yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// Not all kinds have been looked at.
    NotYet,
    /// These, by name and with what holds them.
    Known(Vec<String>),
}

/// A readiness check of the spec.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCheck {
    pub(crate) name: String,
    /// What is asked, or why it cannot be.
    pub(crate) asked: Result<Asked, String>,
    pub(crate) checked: Option<Checked>,
}

/// What the chart says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChartReading {
    /// There is no artifact.
    Absent,
    /// It is being read.
    Pending(ArtifactRef),
    /// Read, or not readable.
    Done(ArtifactRef, Option<ChartFacts>),
}

pub(crate) fn world(app: &ApplicationInstance, view: &View<'_, Question>, policy: &ObjectKey) -> World {
    let namespace = app.namespace().unwrap_or_default();
    let key = children::release_key(app);
    let release = own(app, view.caches.find::<HelmRelease>(&key));
    let oci = read(own(app, view.caches.find::<OciRepository>(&key)));
    let helm = read(own(app, view.caches.find::<HelmRepository>(&key)));
    let candidate = read(own(app, view.caches.find::<OciRepository>(&children::candidate_key(app))));
    let helm_chart = view
        .caches
        .find::<HelmChart>(&ObjectKey::namespaced(&namespace, &format!("{namespace}-{}", key.name)));
    let helm_chart = helm_chart.present().cloned().map(Source::from);
    let (source, outdated_sources) = match wanted_source(app) {
        Wanted::Own(ChartSourceKind::HelmRepository) => {
            (Seen::Known(helm), outdated([(ChartSourceKind::OciRepository, &oci)]))
        }
        Wanted::Own(ChartSourceKind::OciRepository) => {
            (Seen::Known(oci), outdated([(ChartSourceKind::HelmRepository, &helm)]))
        }
        Wanted::Referenced => (
            referenced(app, view),
            outdated([(ChartSourceKind::OciRepository, &oci), (ChartSourceKind::HelmRepository, &helm)]),
        ),
    };
    World {
        chart: chart(source.present(), helm_chart.as_ref(), view),
        source,
        candidate: candidate.present().cloned(),
        helm_chart,
        outdated_sources,
        refusals: view.refusals.to_vec(),
        cluster: view.cluster.to_owned(),
        policy: catalog_policy(view.caches.find(policy)),
        dependencies: dependencies(app, view, &namespace),
        // One that cannot be read is none that we know.
        services: view.caches.named(&key),
        ingresses: view.caches.named(&key),
        certificates: view.caches.is_installed::<Certificate>().then(|| view.caches.named(&key)),
        external_secrets: view.caches.is_installed::<ExternalSecret>().then(|| view.caches.named(&key)),
        drift: drift(view, &key),
        values_object: looking::values_object(app).and_then(|interest| version(&view.find(&interest))),
        leftovers: leftovers(app, view),
        checks: checks(app, view, &namespace),
        release,
    }
}

enum Wanted {
    Own(ChartSourceKind),
    Referenced,
}

fn wanted_source(app: &ApplicationInstance) -> Wanted {
    let source = app.spec.chart.as_ref().and_then(Chart::source);
    match (source, children::source_of(app)) {
        (Some(ChartSource::Reference(_)), _) => Wanted::Referenced,
        (_, Some((kind, _))) => Wanted::Own(kind),
        (_, None) => Wanted::Own(ChartSourceKind::OciRepository),
    }
}

fn outdated<const N: usize>(known: [(ChartSourceKind, &Sight<Source>); N]) -> Vec<(ChartSourceKind, Source)> {
    known.into_iter().filter_map(|(kind, sight)| Some((kind, sight.present()?.clone()))).collect()
}

fn referenced(app: &ApplicationInstance, view: &View<'_, Question>) -> Seen<Source> {
    let Some(interest) = looking::referenced_source(app) else { return Seen::Known(Sight::Absent) };
    Seen::Known(match view.find(&interest) {
        Found::NotYet => return Seen::NotYet,
        Found::NotInstalled => Sight::NotInstalled,
        Found::Objects(objects) => match objects.first() {
            None => Sight::Absent,
            // Both kinds of sources have the same shape.
            Some(object) => match decode::<OciRepository>(object) {
                Ok(source) => Sight::Present(source.into()),
                Err(error) => Sight::Unreadable(error.to_string()),
            },
        },
    })
}

fn read<K: Into<Source>>(sight: Sight<K>) -> Sight<Source> {
    match sight {
        Sight::NotInstalled => Sight::NotInstalled,
        Sight::Absent => Sight::Absent,
        Sight::Unreadable(why) => Sight::Unreadable(why),
        Sight::Present(source) => Sight::Present(source.into()),
    }
}

/// A namesake of somebody else tells nothing about this instance, and must never be deleted for it.
fn own<K: Resource>(app: &ApplicationInstance, sight: Sight<K>) -> Sight<K> {
    match sight {
        Sight::Present(object) if !belongs_to(app, object.meta()) => Sight::Absent,
        sight => sight,
    }
}

fn belongs_to(app: &ApplicationInstance, meta: &ObjectMeta) -> bool {
    let owners = meta.owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| Some(&owner.uid) == app.metadata.uid.as_ref())
}

/// The artifact that the release is made from, and what it says.
fn chart(source: Option<&Source>, helm_chart: Option<&Source>, view: &View<'_, Question>) -> ChartReading {
    let artifact = |source: &Source| source.status.artifact.clone().filter(|_| source.oci_digest().is_some());
    // The artifact of a classic repository is its index; the chart is Flux's own object.
    let chart = source.and_then(artifact).or_else(|| helm_chart?.status.artifact.clone());
    let Some(Artifact { url, digest, size, .. }) = chart else { return ChartReading::Absent };
    let artifact = ArtifactRef { url, digest, size };
    match view.answer(&Question::Chart(artifact.clone())) {
        Some(Reply::Chart(facts)) => ChartReading::Done(artifact, facts),
        Some(Reply::Check(_)) | None => ChartReading::Pending(artifact),
    }
}

/// Only one that is known to be absent forbids nothing.
fn catalog_policy(sight: Sight<ConfigMap>) -> CatalogPolicy {
    match sight {
        Sight::Present(policy) => CatalogPolicy::read(&policy.data.unwrap_or_default()),
        Sight::Absent => CatalogPolicy::default(),
        Sight::Unreadable(why) => CatalogPolicy::unreadable(&why),
        Sight::NotInstalled => CatalogPolicy::unreadable("the API server does not list ConfigMaps"),
    }
}

fn dependencies(app: &ApplicationInstance, view: &View<'_, Question>, namespace: &str) -> Vec<Dependency> {
    let lacks =
        |name: &str| match view.caches.find::<ApplicationInstance>(&ObjectKey::namespaced(namespace, name)) {
            Sight::Present(other) => not_ready(&other),
            Sight::Unreadable(why) => Some(format!("cannot be read: {why}")),
            Sight::Absent | Sight::NotInstalled => Some("does not exist".to_owned()),
        };
    let names = app.spec.depends_on.iter().map(|dependency| dependency.name.clone());
    names.map(|name| Dependency { lacks: lacks(&name), name }).collect()
}

/// Why another instance cannot be relied on.
fn not_ready(other: &ApplicationInstance) -> Option<String> {
    if other.metadata.deletion_timestamp.is_some() {
        return Some("is being deleted".to_owned());
    }
    let status = other.status.as_ref();
    if status.and_then(|status| status.observed_generation) != other.metadata.generation {
        return Some("has changed and was not looked at yet".to_owned());
    }
    match status.and_then(|status| status.conditions.read::<Ready>()) {
        Some(Ready::HelmReleaseReady | Ready::HelmReleaseReadyWithWarnings | Ready::Placeholder) => None,
        Some(reason) => Some(format!("is not ready: {}", reason.row().reason)),
        None => Some("is not ready".to_owned()),
    }
}

/// The newest word of Flux about drift.
fn drift(view: &View<'_, Question>, release: &ObjectKey) -> Option<Drift> {
    let told = view.caches.named::<Event>(release).into_iter().filter_map(|event| {
        let series = event.series.and_then(|series| series.last_observed_time).map(|time| time.0);
        let last = event.last_timestamp.map(|time| time.0);
        let seen_at = [series, last, event.event_time.map(|time| time.0)].into_iter().flatten().max()?;
        Some(Drift { message: event.message.unwrap_or_default(), seen_at })
    });
    told.max_by_key(|drift| drift.seen_at)
}

fn version(found: &Found) -> Option<Version> {
    let Found::Objects(objects) = found else { return None };
    let meta = &objects.first()?.metadata;
    Some(Version { uid: meta.uid.clone()?, resource_version: meta.resource_version.clone()? })
}

/// What of a release still terminates. An object that the chart keeps is none of it.
fn leftovers(app: &ApplicationInstance, view: &View<'_, Question>) -> Leftovers {
    if app.metadata.deletion_timestamp.is_none() {
        return Leftovers::NotYet;
    }
    let mut left = Vec::new();
    for interest in looking::leftovers(app) {
        match view.find(&interest) {
            Found::NotYet => return Leftovers::NotYet,
            Found::NotInstalled => {}
            Found::Objects(objects) => {
                let ending = objects.iter().filter(|object| object.metadata.deletion_timestamp.is_some());
                left.extend(ending.map(|object| described(interest.kind(), &object.metadata)));
            }
        }
    }
    Leftovers::Known(left)
}

fn described(kind: &str, meta: &ObjectMeta) -> String {
    let name = meta.name.as_deref().unwrap_or_default();
    match meta.finalizers.as_deref().unwrap_or_default() {
        [] => format!("{kind} {name}"),
        held => format!("{kind} {name} (held by {})", held.join(", ")),
    }
}

fn checks(app: &ApplicationInstance, view: &View<'_, Question>, namespace: &str) -> Vec<NamedCheck> {
    let check = |spec: &vworkspace_api::application_instance::ReadinessCheck| {
        let asked = Check::new(namespace, spec).map(|check| Asked {
            check,
            interval: spec.interval.into(),
            threshold: u32::try_from(spec.failure_threshold).unwrap_or(1).max(1),
        });
        let reply = asked.as_ref().ok().and_then(|asked| view.answer(&Question::Check(asked.clone())));
        let checked = reply.and_then(|reply| match reply {
            Reply::Check(checked) => Some(checked),
            Reply::Chart(_) => None,
        });
        NamedCheck { name: spec.name.clone(), asked, checked }
    };
    app.spec.readiness_checks.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::application::decide::testing::{instance, owned};

    #[test]
    fn a_release_of_another_instance_is_not_seen() {
        let app = instance();
        let mut other = instance();
        other.metadata.uid = Some("other".to_owned());
        let release = HelmRelease { metadata: owned(&other), ..HelmRelease::default() };
        assert_eq!(own(&app, Sight::Present(release.clone())), Sight::Absent);
        assert_eq!(own(&other, Sight::Present(release.clone())), Sight::Present(release));
    }

    #[test]
    fn only_a_policy_that_is_known_to_be_absent_forbids_nothing() {
        let table = [
            (Sight::Absent, true),
            (Sight::Present(ConfigMap::default()), true),
            (Sight::NotInstalled, false),
            (Sight::Unreadable("data is no map".to_owned()), false),
        ];
        for (sight, forbids_nothing) in table {
            let policy = catalog_policy(sight.clone());
            assert_eq!(policy.problem().is_none(), forbids_nothing, "{sight:?}");
            assert_eq!(policy.allows("oci://anywhere.example/x"), forbids_nothing, "{sight:?}");
        }
    }
}
