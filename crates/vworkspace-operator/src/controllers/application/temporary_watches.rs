//! What is looked at only for a while, because it decides only then.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::{Resource, ResourceExt};
use operator_kit::{Selection, TemporaryWatch};
use vworkspace_api::application_instance::{
    ApplicationInstance, ChartSource, ChartSourceKind, Values, ValuesSource,
};

use super::{RELEASE_LABEL, RELEASE_NAMESPACE_LABEL};
use crate::external::cert_manager::Certificate;
use crate::external::external_secrets::ExternalSecret;
use crate::external::flux::{HelmRepository, OciRepository};

/// The source that somebody else keeps, while an instance refers to it.
pub(crate) fn referenced_source(app: &ApplicationInstance) -> Option<TemporaryWatch> {
    let ChartSource::Reference(reference) = app.spec.chart.as_ref()?.source()? else { return None };
    let selection = Selection::named(&reference.name).within(&app.namespace()?);
    Some(match reference.kind {
        ChartSourceKind::OciRepository => TemporaryWatch::of::<OciRepository>(selection),
        ChartSourceKind::HelmRepository => TemporaryWatch::of::<HelmRepository>(selection),
    })
}

/// The Secret or ConfigMap that the values come from, while Flux cannot use it or an approval has to name its version.
/// Nothing but its metadata: what is in it is no business of ours.
pub(crate) fn values_object(app: &ApplicationInstance) -> Option<TemporaryWatch> {
    let selection = Selection::named(values_name(app)?).within(&app.namespace()?).metadata_only();
    match app.spec.values.as_ref()?.source {
        ValuesSource::Inline => None,
        ValuesSource::SecretRef => Some(TemporaryWatch::of::<Secret>(selection)),
        ValuesSource::ConfigMapRef => Some(TemporaryWatch::of::<ConfigMap>(selection)),
    }
}

/// The name of that object.
pub(crate) fn values_name(app: &ApplicationInstance) -> Option<&str> {
    let Values { source, secret_ref, config_map_ref, .. } = app.spec.values.as_ref()?;
    let reference = match source {
        ValuesSource::Inline => None,
        ValuesSource::SecretRef => secret_ref.as_ref(),
        ValuesSource::ConfigMapRef => config_map_ref.as_ref(),
    };
    reference.map(|reference| reference.name.as_str())
}

/// The instance's namespace, while it is being deleted: the namespace may tell why something in it cannot be seen or asked.
pub(crate) fn namespace(app: &ApplicationInstance) -> Option<TemporaryWatch> {
    app.metadata.deletion_timestamp.as_ref()?;
    Some(TemporaryWatch::of::<Namespace>(Selection::named(&app.namespace()?).metadata_only()))
}

/// A Service that a readiness check names and that is not among those of the release, which are watched anyway.
pub(crate) fn checked_service(namespace: &str, name: &str) -> TemporaryWatch {
    TemporaryWatch::of::<Service>(Selection::named(name).within(namespace))
}

/// The Secret that an ExternalSecret promises, while it is not synced. Nothing but its metadata, as above.
pub(crate) fn promised_secret(external: &ExternalSecret) -> Option<TemporaryWatch> {
    let namespace = external.metadata.namespace.as_deref()?;
    let selection = Selection::named(external.target()).within(namespace).metadata_only();
    Some(TemporaryWatch::of::<Secret>(selection))
}

/// The release's objects of the kinds that charts are made of, while it is being uninstalled. Workloads stand for their
/// pods, because they are deleted in the foreground. Nothing but metadata is asked for, of Secrets too.
pub(crate) fn leftovers(app: &ApplicationInstance) -> Vec<TemporaryWatch> {
    let (Some(release), Some(namespace)) = (&app.spec.release, app.namespace()) else { return Vec::new() };
    let labels = format!("{RELEASE_LABEL}={},{RELEASE_NAMESPACE_LABEL}={namespace}", release.name);
    let selection = Selection::labels(&labels).within(&namespace).metadata_only();
    fn of<K: Resource<DynamicType = ()>>(selection: &Selection) -> TemporaryWatch {
        TemporaryWatch::of::<K>(selection.clone())
    }
    [
        of::<Deployment>,
        of::<StatefulSet>,
        of::<DaemonSet>,
        of::<Job>,
        of::<CronJob>,
        of::<Service>,
        of::<Ingress>,
        of::<ConfigMap>,
        of::<Secret>,
        of::<PersistentVolumeClaim>,
        of::<Certificate>,
        of::<ExternalSecret>,
    ]
    .map(|temporary_watch| temporary_watch(&selection))
    .to_vec()
}
