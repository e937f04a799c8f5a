//! What is done and said when an instance goes.

use operator_kit::{Absence, ObjectKey};
use vworkspace_api::application_instance::DeletionPolicy;

use super::*;

#[test]
fn deletion_deletes_the_release_waits_for_flux_and_lets_go() {
    let (app, known) = running();
    let app = deleted(app);
    let first = plan(&app, &known, noon());
    assert_conditions!(first, { Deleting: True/Uninstalling, Ready: False/Uninstalling });
    assert_eq!((first.deletions.len(), first.finalizer), (1, Finalizer::Hold));

    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.metadata.deletion_timestamp.clone_from(&app.metadata.deletion_timestamp);
    let known = World { release: Sight::Present(release), ..known };
    let waiting = plan(&app, &known, noon());
    assert_eq!((waiting.deletions.len(), waiting.finalizer), (0, Finalizer::Hold));

    let done = plan(&app, &World { release: Sight::Absent, ..known.clone() }, noon());
    assert_eq!((done.deletions.len(), done.finalizer), (0, Finalizer::Release));
    assert_eq!(done.gone, [Absence::of::<HelmRelease>(ObjectKey::namespaced("shop", "web"))]);
    // A cache that is behind shows no release either: what the API server said of it is told.
    let refusal = Refusal {
        object: "HelmRelease shop/web".to_owned(),
        cause: Cause::StillThere,
        message: "HelmRelease shop/web is still there".to_owned(),
    };
    let held = World { release: Sight::Absent, refusals: vec![refusal], ..known };
    let told = plan(&app, &held, noon()).status.conditions;
    assert!(format!("{told:?}").contains("is still there"), "{told:?}");
}

#[test]
fn deletion_wins_over_pausing_and_unsuspends_first() {
    let (app, known) = running();
    let app = deleted(edited(app, |app| app.spec.suspend = true));
    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.spec = serde_json::json!({"suspend": true, "interval": "5m"});
    let plan = plan(&app, &World { release: Sight::Present(release), ..known }, noon());
    let [child] = plan.children.as_slice() else { panic!("{:?}", plan.children) };
    let [suspend, interval] = ["/spec/suspend", "/spec/interval"].map(|field| child.at(field).unwrap());
    assert_eq!((suspend, interval), (&false.into(), &"5m".into()));
    assert_eq!(plan.deletions, []);
}

#[test]
fn an_orphaned_release_is_suspended_before_it_is_deleted() {
    let (app, known) = running();
    let app = deleted(edited(app, |app| app.spec.deletion_policy = DeletionPolicy::Orphan));
    let first = plan(&app, &known, noon());
    assert_eq!((first.children.len(), first.deletions.len()), (1, 0));
    assert_eq!(first.children[0].at("/spec/suspend").unwrap(), true);

    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.spec = serde_json::json!({"suspend": true});
    let second = plan(&app, &World { release: Sight::Present(release), ..known }, noon());
    assert_eq!((second.children.len(), second.deletions.len()), (0, 1));
}
