//! What the controller looks at for one instance.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;
use kube::api::{DynamicObject, ObjectMeta};
use operator_kit::{Found, ObjectKey, Refusal, Sight, TemporaryWatch, View, decode};
use vworkspace_api::application_instance::{
    ApplicationInstance, Chart, ChartSource, ChartSourceKind, ReadinessCheck, Ready,
};

use super::children::FluxSpecs;
use super::leftovers::Leftovers;
use super::polls::readiness::{Checked, ReadinessPoll};
use super::restoring::{self, Restoring};
use super::{Applications, CATALOG_POLICY, INSTANCE_LABEL, Kinds, OWNER_LABEL, children, temporary_watches};
use crate::controllers::application::polls::chart_archive::{ArtifactRef, ChartFacts};
use crate::controllers::application::polls::probe::{Check, destination};
use crate::external::cert_manager::Certificate;
use crate::external::external_secrets::{ExternalSecret, Presence, Promised};
use crate::external::flux::{Artifact, HelmRelease, OciRepository, Source};
use crate::policy::catalog_policy::CatalogPolicy;

/// The world around one instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    /// What the spec asks of Flux, or what is missing in it.
    pub(crate) specs: Result<Arc<FluxSpecs>, String>,
    pub(crate) release: Sight<HelmRelease>,
    /// The source that the spec asks for.
    pub(crate) source: Seen<Source>,
    /// The source that only finds out which chart a change that needs an approval would get.
    pub(crate) candidate: Option<Source>,
    /// What Flux makes of a classic repository for the release.
    pub(crate) helm_chart: Option<Source>,
    /// Sources of ours from before the spec asked for this one.
    pub(crate) outdated_sources: Vec<(ChartSourceKind, Source)>,
    /// All sources of ours, or why that is not known.
    pub(crate) own_sources: Result<Vec<(ChartSourceKind, Source)>, String>,
    /// What the API server did not let us do.
    pub(crate) refusals: Vec<Refusal>,
    /// The id of the cluster.
    pub(crate) cluster: String,
    /// What the whole cluster agreed on.
    pub(crate) policy: CatalogPolicy,
    pub(crate) dependencies: Vec<Dependency>,
    /// The operation that brings back what was lost, if one has begun or is about to.
    pub(crate) restoring: Option<Restoring>,
    pub(crate) services: Found<Service>,
    pub(crate) ingresses: Found<Ingress>,
    pub(crate) certificates: Found<Certificate>,
    pub(crate) external_secrets: Found<Promised>,
    pub(crate) drift: Option<Drift>,
    /// Whether Flux's Events, which tell drift, can be seen.
    pub(crate) is_drift_seen: bool,
    /// The Secret or ConfigMap with the values, while it is looked at and if it is there.
    pub(crate) values_object: Option<Version>,
    pub(crate) leftovers: Leftovers,
    /// The uid that a HelmRelease of this instance's name names instead of this instance's: it came back from a backup.
    pub(crate) restored_release: Option<String>,
    /// Whether the whole namespace is seen to be deleted; looked at only where the rights to look at everything else go with
    /// it.
    pub(crate) is_namespace_ending: bool,
    /// Whether the rights to look at it go with the namespace.
    pub(crate) has_rights_in_namespace_only: bool,
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

/// A readiness check of the spec.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCheck {
    pub(crate) name: String,
    pub(crate) asking: Asking,
    /// Its Service, if it is not one of the release: those are watched anyway.
    pub(crate) looks_at: Option<TemporaryWatch>,
    pub(crate) checked: Option<Checked>,
}

/// What is asked for a readiness check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asking {
    /// Nothing: the spec is wrong.
    Invalid(String),
    /// Nothing yet: the Service has not been looked for.
    NotYet,
    /// Nothing: the Service does not exist, or is none that is asked.
    Refused(String),
    /// This.
    Poll(ReadinessPoll),
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

pub(super) fn world(app: &ApplicationInstance, view: &View<'_>, controller: &Applications) -> World {
    let kinds = &controller.kinds;
    let namespace = app.namespace().unwrap_or_default();
    let key = children::release_key(app);
    let release = view.child(kinds.releases, &key);
    let oci = view.child(kinds.oci_repositories, &key).map(Source::from);
    let helm = view.child(kinds.helm_repositories, &key).map(Source::from);
    let candidate = view.child(kinds.oci_repositories, &children::candidate_key(app)).map(Source::from);
    let own_sources = own_sources([
        (ChartSourceKind::OciRepository, &oci),
        (ChartSourceKind::OciRepository, &candidate),
        (ChartSourceKind::HelmRepository, &helm),
    ]);
    let helm_chart = view
        .caches
        .find(kinds.helm_charts, &ObjectKey::namespaced(&namespace, &format!("{namespace}-{}", key.name)));
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
    let events = view.caches.named(kinds.drift_events, &key);
    // One that cannot be read is none that we know.
    let services = view.caches.named(kinds.services, &key);
    let raw = view.caches.raw(kinds.releases, &key);
    let policy = ObjectKey::namespaced(&controller.namespace, CATALOG_POLICY);
    World {
        specs: specs(app, &controller.rules),
        chart: chart(source.present(), helm_chart.as_ref(), view, kinds),
        source,
        candidate: candidate.present().cloned(),
        helm_chart,
        outdated_sources,
        own_sources,
        refusals: view.refusals.to_vec(),
        cluster: view.cluster.to_owned(),
        policy: catalog_policy(view.caches.find(kinds.policy, &policy)),
        dependencies: dependencies(app, view, kinds, &namespace),
        restoring: restoring::of(app, view.caches, kinds.operations),
        ingresses: view.caches.named(kinds.ingresses, &key),
        certificates: view.caches.named(kinds.certificates, &key),
        external_secrets: promised(view, kinds, &key),
        drift: drift(&events),
        is_drift_seen: matches!(events, Found::Objects(_)),
        values_object: temporary_watches::values_object(app)
            .and_then(|temporary_watch| version(&view.find(&temporary_watch))),
        leftovers: leftovers(app, view),
        restored_release: raw.and_then(|raw| earlier_owner(&app.metadata, &raw.metadata)),
        is_namespace_ending: temporary_watches::namespace(app)
            .is_some_and(|watch| is_ending(&app.metadata, &view.find(&watch))),
        has_rights_in_namespace_only: controller.is_namespaced,
        checks: checks(app, view, kinds, &namespace, services.objects()),
        services,
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

fn referenced(app: &ApplicationInstance, view: &View<'_>) -> Seen<Source> {
    let Some(temporary_watch) = temporary_watches::referenced_source(app) else {
        return Seen::Known(Sight::Absent);
    };
    Seen::Known(match view.find(&temporary_watch) {
        Found::NotYet => return Seen::NotYet,
        Found::Unlisted(why) => Sight::Unknown(why),
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

fn own_sources<const N: usize>(
    known: [(ChartSourceKind, &Sight<Source>); N],
) -> Result<Vec<(ChartSourceKind, Source)>, String> {
    let sources = known.into_iter().filter_map(|(kind, sight)| match sight {
        Sight::Present(source) => Some(Ok((kind, source.clone()))),
        Sight::Unknown(why) => Some(Err(why.clone())),
        Sight::Absent | Sight::NotInstalled | Sight::Unreadable(_) => None,
    });
    sources.collect()
}

/// The artifact that the release is made from, and what it says.
fn chart(
    source: Option<&Source>,
    helm_chart: Option<&Source>,
    view: &View<'_>,
    kinds: &Kinds,
) -> ChartReading {
    let artifact = |source: &Source| source.status.artifact.clone().filter(|_| source.oci_digest().is_some());
    // The artifact of a classic repository is its index; the chart is Flux's own object.
    let chart = source.and_then(artifact).or_else(|| helm_chart?.status.artifact.clone());
    let Some(Artifact { url, digest, size, .. }) = chart else { return ChartReading::Absent };
    let artifact = ArtifactRef { url, digest, size };
    match view.answer(kinds.charts, &artifact) {
        Some(facts) => ChartReading::Done(artifact, facts),
        None => ChartReading::Pending(artifact),
    }
}

/// Nobody asks for them once it is being deleted.
fn specs(app: &ApplicationInstance, rules: &super::Rules) -> Result<Arc<FluxSpecs>, String> {
    match app.metadata.deletion_timestamp {
        Some(_) => Err("It is being deleted.".to_owned()),
        None => children::flux_specs(app, rules.default_service_account.as_deref()),
    }
}

/// Only one that is known to be absent forbids nothing.
fn catalog_policy(sight: Sight<ConfigMap>) -> CatalogPolicy {
    match sight {
        Sight::Present(policy) => CatalogPolicy::read(&policy.data.unwrap_or_default()),
        Sight::Absent => CatalogPolicy::default(),
        Sight::Unreadable(why) | Sight::Unknown(why) => CatalogPolicy::unreadable(&why),
        Sight::NotInstalled => CatalogPolicy::unreadable("the API server does not list ConfigMaps"),
    }
}

fn dependencies(
    app: &ApplicationInstance,
    view: &View<'_>,
    kinds: &Kinds,
    namespace: &str,
) -> Vec<Dependency> {
    let lacks = |name: &str| match view.caches.find(kinds.instances, &ObjectKey::namespaced(namespace, name))
    {
        Sight::Present(other) => not_ready(&other),
        Sight::Unreadable(why) | Sight::Unknown(why) => Some(format!("cannot be read: {why}")),
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
        Some(reason) => Some(format!("is not ready: {}", reason.entry().reason)),
        None => Some("is not ready".to_owned()),
    }
}

/// The newest word of Flux about drift.
fn drift(events: &Found<Event>) -> Option<Drift> {
    let told = events.objects().iter().filter_map(|event| {
        let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
        let at = [series, event.event_time.as_ref()].into_iter().flatten().map(|time| time.0);
        let seen_at = at.chain(event.last_timestamp.as_ref().map(|time| time.0)).max()?;
        Some(Drift { message: event.message.clone().unwrap_or_default(), seen_at })
    });
    told.max_by_key(|drift| drift.seen_at)
}

fn version(found: &Found<Arc<DynamicObject>>) -> Option<Version> {
    let meta = &found.objects().first()?.metadata;
    Some(Version { uid: meta.uid.clone()?, resource_version: meta.resource_version.clone()? })
}

fn leftovers(app: &ApplicationInstance, view: &View<'_>) -> Leftovers {
    if app.metadata.deletion_timestamp.is_none() {
        return Leftovers::NotYet;
    }
    Leftovers::of(
        temporary_watches::leftovers(app)
            .iter()
            .map(|temporary_watch| (temporary_watch.kind(), view.find(temporary_watch))),
    )
}

/// Whom a release belongs to that was made for an instance of the same name, and not for this one: a restore gives the
/// instance another uid, and its children keep their labels.
fn earlier_owner(app: &ObjectMeta, release: &ObjectMeta) -> Option<String> {
    let labels = release.labels.as_ref()?;
    let (instance, owner) = (labels.get(INSTANCE_LABEL)?, labels.get(OWNER_LABEL)?);
    (app.name.as_ref() == Some(instance) && app.uid.as_ref() != Some(owner)).then(|| owner.clone())
}

/// Only a namespace that is seen to end counts, and no former one of the same name: nothing is created in one that ends.
fn is_ending(app: &ObjectMeta, found: &Found<Arc<DynamicObject>>) -> bool {
    found.objects().iter().any(|namespace| {
        let ends = namespace.metadata.deletion_timestamp.as_ref();
        ends.zip(app.creation_timestamp.as_ref()).is_some_and(|(ends, created)| ends >= created)
    })
}

fn presence<K>(found: &Found<K>) -> Presence {
    match found {
        Found::Objects(objects) if objects.is_empty() => Presence::Absent,
        Found::Objects(_) => Presence::Present,
        Found::NotYet | Found::Unlisted(_) | Found::NotInstalled => Presence::NotYet,
    }
}

/// Whether the Secrets are there that ExternalSecrets of the release promise.
fn promised(view: &View<'_>, kinds: &Kinds, release: &ObjectKey) -> Found<Promised> {
    let secret = |external: &ExternalSecret| match temporary_watches::promised_secret(external) {
        Some(temporary_watch) => presence(&view.find(&temporary_watch)),
        None => Presence::NotYet,
    };
    let external = view.caches.named(kinds.external_secrets, release);
    external.map(|external| Promised { secret: secret(&external), external })
}

fn checks(
    app: &ApplicationInstance,
    view: &View<'_>,
    kinds: &Kinds,
    namespace: &str,
    of_release: &[Service],
) -> Vec<NamedCheck> {
    let check = |spec: &ReadinessCheck| {
        let (asking, looks_at) = match Check::new(namespace, spec) {
            Ok(check) => {
                let (service, looks_at) = checked_service(view, namespace, check.service(), of_release);
                (asking(spec, check, namespace, &service), looks_at)
            }
            Err(wrong) => (Asking::Invalid(wrong), None),
        };
        let checked = match &asking {
            Asking::Poll(poll) => view.answer(kinds.readiness, poll),
            Asking::Invalid(_) | Asking::NotYet | Asking::Refused(_) => None,
        };
        NamedCheck { name: spec.name.clone(), asking, looks_at, checked }
    };
    app.spec.readiness_checks.iter().map(check).collect()
}

fn named<'a>(services: &'a [Service], namespace: &str, name: &str) -> Option<&'a Service> {
    services.iter().find(|service| {
        let meta = &service.metadata;
        meta.namespace.as_deref() == Some(namespace) && meta.name.as_deref() == Some(name)
    })
}

/// A Service that a check names, and what has to be looked at for it.
fn checked_service(
    view: &View<'_>,
    namespace: &str,
    name: &str,
    of_release: &[Service],
) -> (Seen<Service>, Option<TemporaryWatch>) {
    if let Some(service) = named(of_release, namespace, name) {
        return (Seen::Known(Sight::Present(service.clone())), None);
    }
    let temporary_watch = temporary_watches::checked_service(namespace, name);
    let seen = match view.find(&temporary_watch) {
        Found::NotYet => Seen::NotYet,
        Found::Unlisted(why) => Seen::Known(Sight::Unknown(why)),
        Found::NotInstalled => Seen::Known(Sight::NotInstalled),
        Found::Objects(objects) => Seen::Known(match objects.first().map(|object| decode(object)) {
            None => Sight::Absent,
            Some(Ok(service)) => Sight::Present(service),
            Some(Err(error)) => Sight::Unreadable(error.to_string()),
        }),
    };
    (seen, Some(temporary_watch))
}

/// What is asked of a Service, as far as it is one that is asked.
fn asking(spec: &ReadinessCheck, check: Check, namespace: &str, service: &Seen<Service>) -> Asking {
    let named = || format!("Service {namespace}/{}", check.service());
    let service = match service {
        Seen::NotYet | Seen::Known(Sight::Unknown(_)) => return Asking::NotYet,
        Seen::Known(Sight::Absent | Sight::NotInstalled) => {
            return Asking::Refused(format!("{} does not exist", named()));
        }
        Seen::Known(Sight::Unreadable(why)) => {
            return Asking::Refused(format!("{} cannot be read: {why}", named()));
        }
        Seen::Known(Sight::Present(service)) => service,
    };
    match destination(service, check.port()) {
        Ok(to) => Asking::Poll(ReadinessPoll {
            check,
            to,
            interval: spec.interval.into(),
            threshold: u32::try_from(spec.failure_threshold).unwrap_or(1).max(1),
        }),
        Err(why) => Asking::Refused(why),
    }
}

#[cfg(test)]
mod tests;
