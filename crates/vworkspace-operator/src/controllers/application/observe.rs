//! What the controller looks at for one instance.

use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use operator_kit::{NoErrand, ObjectKey, Refusal, Sight, View};
use vworkspace_api::application_instance::{ApplicationInstance, SourceType};

use super::children;
use crate::flux::{HelmRelease, HelmRepository, OciRepository, Source};

/// The world around one instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) release: Sight<HelmRelease>,
    /// The source that the spec asks for.
    pub(crate) source: Sight<Source>,
    /// One of the other kind, left from before the spec asked for this one.
    pub(crate) outdated_source: Option<Source>,
    /// What the API server did not let us do.
    pub(crate) refusals: Vec<Refusal>,
}

pub(crate) fn world(app: &ApplicationInstance, view: &View<'_, NoErrand>) -> World {
    let namespace = app.namespace().unwrap_or_default();
    let name = app.spec.release.as_ref().map_or_else(|| app.name_any(), |release| release.name.clone());
    let key = ObjectKey::namespaced(&namespace, &name);
    let oci = read(own(app, view.caches.find::<OciRepository>(&key)));
    let helm = read(own(app, view.caches.find::<HelmRepository>(&key)));
    let (source, other) = match children::source_type(app) {
        Some(SourceType::Helm) => (helm, oci),
        Some(SourceType::Oci) | None => (oci, helm),
    };
    World {
        release: own(app, view.caches.find::<HelmRelease>(&key)),
        source,
        outdated_source: other.present().cloned(),
        refusals: view.refusals.to_vec(),
    }
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
}
