//! What Flux is given: a source and a HelmRelease.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::ObjectMeta;
use operator_kit::{Child, Deletion, Dependents, ObjectKey};
use serde_json::{Map, Value, json, to_value};
use vworkspace_api::application_instance::{
    AfterFailedInstall, AfterFailedUpgrade, ApplicationInstance, Chart, ChartSource, ChartSourceKind,
    ChartSourceRef, DriftMode, ReleaseIdentity, SourceType, Values, ValuesSource,
};

use super::INSTANCE_LABEL;
use crate::external::flux::specs::{
    Action, ChartTemplate, DriftDetection, HelmReleaseSpec, HelmRepositorySpec, LayerSelector, OciReference,
    OciRepositorySpec, Reference, ReleaseChart, Remediation, SourceSecrets, Test, Uninstall, ValuesReference,
};
use crate::external::flux::{HelmRelease, HelmRepository, OciRepository, Source};

/// Says on a child which change of the spec it carries, so that one that waits is told apart from one that is handed over.
/// Not the generation: that also moves when only `suspend` does.
const CHANGE: Mark =
    Mark { annotation: "apps.vworkspace.io/change-digest", label: "apps.vworkspace.io/change" };
/// Names what the source is asked for. The release has it too: both tell whether they belong together, and a change that is
/// none of the source leaves it alone.
const SOURCE: Mark =
    Mark { annotation: "apps.vworkspace.io/source-digest", label: "apps.vworkspace.io/source" };
/// Says on a release that it is we who suspended it, and not somebody else.
const SUSPENDED: &str = "apps.vworkspace.io/suspended";
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const COPIED_LABELS: [&str; 2] = ["app.vworkspace.io/managed-by", "app.vworkspace.io/cluster-id"];

/// How a digest stands on a child.
struct Mark {
    /// The whole of it, which decides.
    annotation: &'static str,
    /// Its beginning, only for selecting: a label has no room for more, and so little of it can be forged.
    label: &'static str,
}

impl Mark {
    fn of<'a>(&self, meta: &'a ObjectMeta) -> Option<&'a str> {
        meta.annotations.as_ref()?.get(self.annotation).map(String::as_str)
    }
}

/// The digests that a child carries.
#[derive(Clone, Copy)]
struct Digests<'a> {
    change: Option<&'a str>,
    source: Option<&'a str>,
}

/// A managed instance that is complete: what the children are made of.
#[derive(Debug, Clone)]
pub(crate) struct DesiredRelease<'a> {
    parts: Parts<'a>,
    pub(crate) chart: &'a Chart,
    specs: Arc<FluxSpecs>,
}

/// What Flux is to be given: most of the work of a reconcile, and the same until the spec changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FluxSpecs {
    /// The fields of the source; nothing if somebody else keeps it.
    source: Option<Arc<Value>>,
    /// The fields of the release.
    release: Arc<Value>,
    digest: String,
    /// Of the source alone, if it is ours.
    source_digest: Option<String>,
}

/// What the spec asks of Flux, or what is missing in it. The account is for an instance that names none.
pub(crate) fn flux_specs(
    app: &ApplicationInstance,
    default_account: Option<&str>,
) -> Result<Arc<FluxSpecs>, String> {
    Parts::of(app).map(|parts| Arc::new(parts.flux_specs(default_account)))
}

/// The parts of the spec that it comes from.
#[derive(Debug, Clone, Copy)]
struct Parts<'a> {
    app: &'a ApplicationInstance,
    chart: &'a Chart,
    release: &'a ReleaseIdentity,
    source: ChartSource<'a>,
}

/// Under which the release and the sources made for it stand.
pub(crate) fn release_key(app: &ApplicationInstance) -> ObjectKey {
    let name = app.spec.release.as_ref().map_or_else(|| app.name_any(), |release| release.name.clone());
    ObjectKey::namespaced(&app.namespace().unwrap_or_default(), &name)
}

/// Under which a source stands that only finds out what a change would get: no release refers to it.
pub(crate) fn candidate_key(app: &ApplicationInstance) -> ObjectKey {
    let ObjectKey { namespace, name } = release_key(app);
    ObjectKey { namespace, name: format!("{name}-candidate") }
}

/// The kind and name of the source that the spec asks for, if it asks for one.
pub(crate) fn source_of(app: &ApplicationInstance) -> Option<(ChartSourceKind, &str)> {
    let source = app.spec.chart.as_ref()?.source()?;
    Some(match source {
        ChartSource::Reference(reference) => (reference.kind, reference.name.as_str()),
        ChartSource::Url(source_type, _) => {
            let release = app.spec.release.as_ref()?;
            (kind_of(source_type), release.name.as_str())
        }
    })
}

fn kind_of(source_type: SourceType) -> ChartSourceKind {
    match source_type {
        SourceType::Oci => ChartSourceKind::OciRepository,
        SourceType::Helm => ChartSourceKind::HelmRepository,
    }
}

impl<'a> DesiredRelease<'a> {
    /// With what was made of the spec before.
    pub(crate) fn of(
        app: &'a ApplicationInstance,
        specs: &Result<Arc<FluxSpecs>, String>,
    ) -> Result<Self, String> {
        let (parts, specs) = (Parts::of(app)?, specs.clone()?);
        Ok(Self { parts, chart: parts.chart, specs })
    }

    /// The source that somebody else keeps.
    pub(crate) fn referenced(&self) -> Option<&'a ChartSourceRef> {
        self.parts.referenced()
    }

    /// The address of the chart, if the source is ours.
    pub(crate) fn url(&self) -> Option<String> {
        match self.parts.source {
            ChartSource::Reference(_) => None,
            ChartSource::Url(SourceType::Oci, url) => Some(oci_url(url, &self.chart.name)),
            ChartSource::Url(SourceType::Helm, url) => Some(url.to_owned()),
        }
    }

    pub(crate) fn is_oci(&self) -> bool {
        self.parts.source_kind() == ChartSourceKind::OciRepository
    }

    /// What the source's kind is called.
    pub(crate) fn source_kind_name(&self) -> &'static str {
        self.parts.source_kind().name()
    }

    /// The digest of what the spec asks of Flux, pauses apart.
    pub(crate) fn change(&self) -> &str {
        &self.specs.digest
    }

    /// The digest of what the source is asked for; nothing if somebody else keeps it.
    pub(crate) fn source(&self) -> Option<&str> {
        self.specs.source_digest.as_deref()
    }

    /// A source with nothing but the task to find out which chart the change would get. Nothing where that cannot be
    /// pinned: in a classic repository, and with a source that somebody else keeps.
    pub(crate) fn candidate(&self) -> Option<Child> {
        let fields = self.source_fields().filter(|_| self.is_oci())?;
        let child = Child::new::<OciRepository>(&candidate_key(self.parts.app)).fields(fields);
        Some(marked(self.parts.app, child, Digests { change: None, source: self.source() }))
    }

    /// The source that is ours, with the very chart that was approved together with this change, whatever the tag points to
    /// by now. The tag stays, for people; Flux goes by the digest. It is no part of the change: that would be another one by
    /// being approved.
    fn source_fields(&self) -> Option<Arc<Value>> {
        let source = self.specs.source.clone()?;
        let approved = self.parts.app.status.as_ref().and_then(|status| status.last_approved_change.as_ref());
        let approved = approved.filter(|approved| approved.change.as_deref() == Some(self.change()));
        Some(match approved.and_then(|approved| approved.chart_digest.as_deref()) {
            Some(digest) => with_digest(&source, digest),
            None => source,
        })
    }

    /// Whether a source is asked for the same chart as our own.
    pub(crate) fn asks_the_same_of(&self, source: &Source) -> bool {
        self.source().is_some() && source_asked_of(&source.metadata) == self.source()
    }

    /// Source first: a release that sees a source in motion waits for it, and runs one upgrade instead of two.
    pub(crate) fn children(&self) -> Vec<Child> {
        self.children_from(self.source_fields())
    }

    /// The same for a change that Flux has: a chart that was pinned stays so, whatever was approved since.
    pub(crate) fn children_as_pinned(&self, live: Option<&Source>) -> Vec<Child> {
        let pinned =
            live.filter(|live| self.asks_the_same_of(live)).map(|live| live.spec.reference.digest.as_str());
        let pinned = pinned.filter(|digest| !digest.is_empty());
        self.children_from(self.source_fields().map(|source| match pinned {
            Some(digest) => with_digest(&source, digest),
            None => source,
        }))
    }

    fn children_from(&self, source: Option<Arc<Value>>) -> Vec<Child> {
        let Parts { app, release, .. } = self.parts;
        let key = ObjectKey::namespaced(&release.namespace, &release.name);
        let source = source.map(|fields| match self.parts.source_kind() {
            ChartSourceKind::OciRepository => Child::new::<OciRepository>(&key).fields(fields),
            ChartSourceKind::HelmRepository => Child::new::<HelmRepository>(&key).fields(fields),
        });
        let release = Child::new::<HelmRelease>(&key).fields(Arc::clone(&self.specs.release));
        let of_source = Digests { change: None, source: self.source() };
        let of_release = Digests { change: Some(self.change()), ..of_source };
        let source = source.map(|source| marked(app, source, of_source));
        source.into_iter().chain([marked(app, release, of_release)]).collect()
    }
}

impl<'a> Parts<'a> {
    fn of(app: &'a ApplicationInstance) -> Result<Self, String> {
        let missing = |field: &str| format!("{field} is missing; it is needed in mode managed.");
        let chart = app.spec.chart.as_ref().ok_or_else(|| missing("spec.chart"))?;
        let release = app.spec.release.as_ref().ok_or_else(|| missing("spec.release"))?;
        if app.namespace().as_deref() != Some(release.namespace.as_str()) {
            return Err(format!(
                "spec.release.namespace is {}; expected the instance's own namespace {}.",
                release.namespace,
                app.namespace().unwrap_or_default()
            ));
        }
        if app.name_any().len() > 63 {
            return Err("metadata.name has more than 63 characters and cannot be a label.".to_owned());
        }
        let source = chart.source();
        let source = source.ok_or("spec.chart has neither url with sourceType nor sourceRef.")?;
        Ok(Self { app, chart, release, source })
    }

    fn flux_specs(&self, default_account: Option<&str>) -> FluxSpecs {
        let (source, release) = (self.source_spec(), self.release_spec(default_account));
        // A source of somebody else has the version, and the children do not.
        let chart = [&self.chart.name, &self.chart.version];
        let digest = agent_protocol::digest_of(&json!([chart, source, release]));
        let source_digest = source.as_ref().map(agent_protocol::digest_of);
        let fields = |spec: Value| Arc::new(json!({ "spec": spec }));
        FluxSpecs { source: source.map(fields), release: fields(release), digest, source_digest }
    }

    fn referenced(&self) -> Option<&'a ChartSourceRef> {
        match self.source {
            ChartSource::Reference(reference) => Some(reference),
            ChartSource::Url(..) => None,
        }
    }

    fn source_kind(&self) -> ChartSourceKind {
        match self.source {
            ChartSource::Reference(reference) => reference.kind,
            ChartSource::Url(source_type, _) => kind_of(source_type),
        }
    }

    fn source_name(&self) -> &'a str {
        self.referenced().map_or(&self.release.name, |reference| &reference.name)
    }

    /// Nothing if somebody else keeps the source.
    fn source_spec(&self) -> Option<Value> {
        let ChartSource::Url(source_type, url) = self.source else { return None };
        let (chart, interval) = (self.chart, self.app.spec.interval);
        let secrets = SourceSecrets {
            secret_ref: chart.secret_ref.as_ref(),
            cert_secret_ref: chart.cert_secret_ref.as_ref(),
        };
        let spec = match source_type {
            SourceType::Helm => to_value(HelmRepositorySpec { interval, url, secrets }),
            SourceType::Oci => to_value(OciRepositorySpec {
                interval,
                url: oci_url(url, &chart.name),
                reference: OciReference { tag: oci_tag(&chart.version) },
                layer_selector: LayerSelector { media_type: CHART_LAYER, operation: "copy" },
                insecure: chart.insecure,
                secrets,
            }),
        };
        Some(spec.unwrap_or_default())
    }

    fn release_spec(&self, default_account: Option<&str>) -> Value {
        let spec = &self.app.spec;
        let (install, upgrade) = (&spec.install, &spec.upgrade);
        let (remediates, strategy) = match upgrade.on_failure {
            AfterFailedUpgrade::Rollback => (true, Some("rollback")),
            AfterFailedUpgrade::Uninstall => (true, Some("uninstall")),
            AfterFailedUpgrade::Keep => (false, None),
        };
        let values = spec.values.as_ref();
        let written = HelmReleaseSpec {
            interval: spec.interval,
            timeout: spec.timeout,
            release_name: &self.release.name,
            service_account_name: spec.service_account_name.as_deref().or(default_account),
            chart: self.release_chart(),
            install: Action {
                timeout: install.timeout,
                remediation: Some(Remediation {
                    retries: install.retries,
                    remediate_last_failure: install.on_failure == AfterFailedInstall::Uninstall,
                    strategy: None,
                }),
                cleanup_on_fail: false,
            },
            upgrade: Action {
                timeout: upgrade.timeout,
                remediation: Some(Remediation {
                    retries: if remediates { upgrade.retries } else { 0 },
                    remediate_last_failure: remediates,
                    strategy,
                }),
                cleanup_on_fail: upgrade.cleanup_on_failure,
            },
            rollback: Action {
                timeout: upgrade.rollback_timeout,
                remediation: None,
                cleanup_on_fail: upgrade.cleanup_on_failure,
            },
            // The application's workloads stay until their pods are gone, so that we know when everything is.
            uninstall: Uninstall {
                timeout: spec.uninstall.timeout,
                deletion_propagation: "foreground",
                disable_hooks: spec.uninstall.disable_hooks,
            },
            test: spec.tests.enabled.then_some(Test {
                enable: true,
                timeout: spec.tests.timeout,
                ignore_failures: spec.tests.ignore_failures,
            }),
            drift_detection: (spec.drift_detection.mode == DriftMode::Report)
                .then_some(DriftDetection { mode: "warn", ignore: &spec.drift_detection.ignore }),
            values: values.and_then(inline_values),
            values_from: values.and_then(values_from),
        };
        to_value(written).unwrap_or_default()
    }

    fn release_chart(&self) -> ReleaseChart<'a> {
        let name = self.source_name();
        match self.source_kind() {
            ChartSourceKind::OciRepository => ReleaseChart::Ref(Reference { kind: "OCIRepository", name }),
            ChartSourceKind::HelmRepository => ReleaseChart::Template {
                spec: ChartTemplate {
                    chart: &self.chart.name,
                    version: &self.chart.version,
                    interval: self.app.spec.interval,
                    source_ref: Reference { kind: "HelmRepository", name },
                },
            },
        }
    }
}

/// The release as it stands, only suspended or not.
pub(crate) fn as_it_is(app: &ApplicationInstance, live: &HelmRelease, suspension: Suspension) -> Child {
    let mut spec = live.spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        match suspension {
            Suspension::On => spec.insert("suspend".to_owned(), true.into()),
            // Not left out: somebody else may have set it, which then shows as a conflict.
            Suspension::Off => spec.insert("suspend".to_owned(), false.into()),
        };
    }
    let child = Child::new::<HelmRelease>(&ObjectKey::of_meta(&live.metadata));
    let digests = Digests { change: change_of(&live.metadata), source: source_asked_of(&live.metadata) };
    let child = marked(app, child, digests).spec(spec);
    match suspension {
        Suspension::On => child.annotated(SUSPENDED, "true"),
        Suspension::Off => child,
    }
}

/// Whether a release says that it was suspended by us.
pub(crate) fn is_suspended_by_us(meta: &ObjectMeta) -> bool {
    meta.annotations.as_ref().is_some_and(|known| known.contains_key(SUSPENDED))
}

/// Whether Flux leaves a release alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspension {
    On,
    Off,
}

/// The change that a release carries.
pub(crate) fn change_of(meta: &ObjectMeta) -> Option<&str> {
    CHANGE.of(meta)
}

/// What the source of a release is asked for, or a source itself.
pub(crate) fn source_asked_of(meta: &ObjectMeta) -> Option<&str> {
    SOURCE.of(meta)
}

fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

/// Deletes a source of ours that the spec does not ask for any more.
pub(crate) fn delete_source(source: &Source, kind: ChartSourceKind) -> Option<Deletion> {
    let key = ObjectKey::of_meta(&source.metadata);
    let uid = source.metadata.uid.as_deref()?;
    let deletion = match kind {
        ChartSourceKind::HelmRepository => Deletion::new::<HelmRepository>(key, uid, Dependents::GoToo),
        ChartSourceKind::OciRepository => Deletion::new::<OciRepository>(key, uid, Dependents::GoToo),
    };
    // One that was changed since may be the one that is wanted again.
    Some(deletion.unchanged_since(source.metadata.resource_version.as_ref()))
}

/// Deletes the release; Flux uninstalls it unless it is suspended.
pub(crate) fn delete_release(release: &HelmRelease) -> Option<Deletion> {
    let uid = release.metadata.uid.as_deref()?;
    let deletion =
        Deletion::new::<HelmRelease>(ObjectKey::of_meta(&release.metadata), uid, Dependents::GoToo);
    // Whether it is suspended decides about the application: it must still be as it was seen.
    Some(deletion.unchanged_since(release.metadata.resource_version.as_ref()))
}

/// Labels and annotations: the instance, and what the child carries.
fn marked(app: &ApplicationInstance, child: Child, digests: Digests<'_>) -> Child {
    let mut labels: BTreeMap<String, String> = [
        (INSTANCE_LABEL.to_owned(), app.name_any()),
        ("app.vworkspace.io/managed-by".to_owned(), "vworkspace-operator".to_owned()),
    ]
    .into();
    let mut annotations = BTreeMap::new();
    for (mark, digest) in [(CHANGE, digests.change), (SOURCE, digests.source)] {
        let Some(digest) = digest else { continue };
        labels.insert(mark.label.to_owned(), short(digest).to_owned());
        annotations.insert(mark.annotation.to_owned(), digest.to_owned());
    }
    for label in COPIED_LABELS {
        if let Some(value) = app.labels().get(label) {
            labels.insert(label.to_owned(), value.clone());
        }
    }
    child.labels(labels).annotations(annotations)
}

/// A source of a registry that is asked for this very chart.
fn with_digest(fields: &Value, digest: &str) -> Arc<Value> {
    let mut fields = fields.clone();
    if let Some(reference) = fields.pointer_mut("/spec/ref").and_then(Value::as_object_mut) {
        reference.insert("digest".to_owned(), digest.into());
    }
    Arc::new(fields)
}

/// A tag has no plus sign: helm writes an underscore.
pub(crate) fn oci_tag(version: &str) -> String {
    version.replace('+', "_")
}

fn oci_url(url: &str, chart: &str) -> String {
    let url = url.trim_end_matches('/');
    let url = if url.contains("://") { url.to_owned() } else { format!("oci://{url}") };
    if url.ends_with(&format!("/{chart}")) { url } else { format!("{url}/{chart}") }
}

fn inline_values(values: &Values) -> Option<&Map<String, Value>> {
    values.inline.as_ref().filter(|_| values.source == ValuesSource::Inline)
}

/// Secrets are named, never read.
fn values_from(values: &Values) -> Option<[ValuesReference<'_>; 1]> {
    let (kind, reference) = match values.source {
        ValuesSource::Inline => return None,
        ValuesSource::SecretRef => ("Secret", values.secret_ref.as_ref()?),
        ValuesSource::ConfigMapRef => ("ConfigMap", values.config_map_ref.as_ref()?),
    };
    Some([ValuesReference { kind, name: &reference.name, values_key: &reference.key }])
}

#[cfg(test)]
mod tests;
