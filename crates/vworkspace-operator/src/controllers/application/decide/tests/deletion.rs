//! What is done and said when an instance goes.

use operator_kit::{Absence, ObjectKey};
use vworkspace_api::application_instance::{ChartSourceKind, DeletionPolicy};

use super::*;
use crate::controllers::application::leftovers::{Left, Leftovers};

fn deleting(plan: &Plan<ApplicationInstanceStatus>) -> &str {
    &plan.status.conditions.get("Deleting").unwrap().message
}

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
    assert_eq!(deleting(&waiting), "Flux is uninstalling the release.");
    let Sight::Present(mut busy) = known.release.clone() else { panic!("no release") };
    let running = "Running 'upgrade' action with timeout of 5m0s";
    busy.status.conditions.extend(says(&[("Reconciling", "True", "Progressing", running)]));
    let later = plan(&app, &World { release: Sight::Present(busy), ..known.clone() }, noon());
    assert!(deleting(&later).ends_with(&format!("when it has ended what it does: {running}")));

    let Sight::Present(mut failed) = known.release.clone() else { panic!("no release") };
    failed.status.conditions = says(&[("Ready", "False", "UninstallFailed", "a hook failed")]);
    let failed = plan(&app, &World { release: Sight::Present(failed), ..known.clone() }, noon());
    assert_eq!(deleting(&failed), "Flux tries again: a hook failed");
    let Sight::Present(mut large) = known.release.clone() else { panic!("no release") };
    let entries = serde_json::json!([{"id": "shop_web__Service"}, {"id": "shop_web_example.org_Queue"}]);
    large.status.inventory.entries = serde_json::from_value(entries).unwrap();
    let large = plan(&app, &World { release: Sight::Present(large), ..known.clone() }, noon());
    let expected = "Flux is uninstalling the release. Objects of these kinds are not waited for: Queue.";
    assert_eq!(deleting(&large), expected);

    let done = plan(&app, &World { release: Sight::Absent, ..known.clone() }, noon());
    assert_eq!((done.deletions.len(), done.finalizer), (0, Finalizer::Release));
    assert!(done.gone.contains(&Absence::of::<HelmRelease>(ObjectKey::namespaced("shop", "web"))));
    // A cache that is behind shows no release either: what the API server said of it is told.
    let refusal = Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Clear,
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

#[test]
fn our_own_sources_go_after_the_release_and_are_waited_for() {
    let (app, known) = running();
    let app = deleted(app);
    let Seen::Known(Sight::Present(source)) = known.source.clone() else { panic!("no source") };
    let own = |source: Source| Ok(vec![(ChartSourceKind::OciRepository, source)]);
    let with_release = plan(&app, &World { own_sources: own(source.clone()), ..known.clone() }, noon());
    assert_eq!(with_release.deletions.len(), 1, "the release first");
    assert!(with_release.deletions[0].id().to_string().starts_with("HelmRelease"));

    let gone = World { release: Sight::Absent, own_sources: own(source.clone()), ..known };
    let first = plan(&app, &gone, noon());
    assert_eq!((first.deletions.len(), first.finalizer), (1, Finalizer::Hold));
    assert!(first.deletions[0].id().to_string().starts_with("OCIRepository"));
    assert_eq!(deleting(&first), "The release and its objects are gone; its chart source is next.");
    let orphaned = edited(app.clone(), |app| app.spec.deletion_policy = DeletionPolicy::Orphan);
    assert_eq!(plan(&orphaned, &gone, noon()).deletions.len(), 1, "also if the application stays");

    let mut going = source;
    going.metadata.deletion_timestamp.clone_from(&app.metadata.deletion_timestamp);
    going.metadata.finalizers = Some(vec!["finalizers.fluxcd.io".to_owned()]);
    let waiting = plan(&app, &World { own_sources: own(going), ..gone.clone() }, noon());
    assert_eq!((waiting.deletions.len(), waiting.finalizer), (0, Finalizer::Hold));
    assert_conditions!(waiting, { Deleting: True/WaitingForChildResources });
    let message = &waiting.status.conditions.get("Deleting").unwrap().message;
    assert_eq!(message, "Still terminating: OCIRepository web (held by finalizers.fluxcd.io).");
    let last = plan(&app, &World { own_sources: Ok(Vec::new()), ..gone }, noon());
    assert_eq!((last.gone.len(), last.finalizer), (4, Finalizer::Release));
}

#[test]
fn what_cannot_be_seen_is_not_gone_unless_the_whole_namespace_goes() {
    let (app, known) = running();
    let app = deleted(app);
    let forbidden = || "helmreleases.helm.toolkit.fluxcd.io cannot be listed: forbidden".to_owned();
    let table = [
        ("the release", World { release: Sight::Unknown(forbidden()), ..known.clone() }),
        (
            "what is left of it",
            World {
                release: Sight::Absent,
                leftovers: Leftovers::Hidden(vec![forbidden()]),
                ..known.clone()
            },
        ),
        ("a source", World { release: Sight::Absent, own_sources: Err(forbidden()), ..known }),
    ];
    for (name, hidden) in table {
        let looks = |world: &World| {
            let namespace = crate::controllers::application::temporary_watches::namespace(&app).unwrap();
            plan(&app, world, noon()).temporary_watches.contains(&namespace)
        };
        assert!(!looks(&hidden), "{name}: where the rights do not go with the namespace it tells nothing");
        let hidden = World { has_rights_in_namespace_only: true, ..hidden };
        assert!(looks(&hidden), "{name}: the namespace is looked at");
        let held = plan(&app, &hidden, noon());
        let is_release_gone = hidden.release == Sight::Absent;
        assert_eq!(
            held.temporary_watches.len() > 1,
            is_release_gone,
            "{name}: what is left is looked for after the release"
        );
        assert_eq!(held.finalizer, Finalizer::Hold, "{name}");
        assert_conditions!(held, { Deleting: True/WaitingForChildResources });
        assert!(format!("{:?}", held.status.conditions).contains("forbidden"), "{name}");
        let going = World { is_namespace_ending: true, ..hidden };
        let done = plan(&app, &going, noon());
        assert_eq!((done.finalizer, done.gone.len()), (Finalizer::Release, 0), "{name}");
    }
}

#[test]
fn what_is_gone_is_left_to_an_ending_namespace_only_where_we_may_not_ask_for_it() {
    let refusal = |cause: Cause| Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Clear,
        cause,
        message: String::new(),
    };
    for policy in [DeletionPolicy::Delete, DeletionPolicy::Orphan] {
        let (app, known) = running();
        let app = deleted(edited(app, |app| app.spec.deletion_policy = policy));
        let namespace = crate::controllers::application::temporary_watches::namespace(&app).unwrap();
        let gone = World {
            release: Sight::Absent,
            own_sources: Ok(Vec::new()),
            has_rights_in_namespace_only: true,
            ..known.clone()
        };
        let table = [
            ("nothing was refused", vec![], false, 4),
            ("nothing was refused", vec![], true, 4),
            ("it is still there", vec![refusal(Cause::StillThere)], true, 4),
            ("we may not ask", vec![refusal(Cause::Forbidden)], false, 4),
            ("we may not ask", vec![refusal(Cause::Forbidden)], true, 0),
        ];
        for (name, refusals, is_namespace_ending, asked) in table {
            let plan = plan(&app, &World { refusals, is_namespace_ending, ..gone.clone() }, noon());
            assert_eq!((plan.finalizer, plan.gone.len()), (Finalizer::Release, asked), "{policy:?}: {name}");
            assert!(plan.temporary_watches.contains(&namespace), "{policy:?}: {name}");
        }
        let everywhere = World { has_rights_in_namespace_only: false, ..gone };
        assert!(!plan(&app, &everywhere, noon()).temporary_watches.contains(&namespace));
    }
}

#[test]
fn an_application_that_is_let_go_of_is_not_said_to_be_uninstalled() {
    let (app, known) = running();
    let app = deleted(edited(app, |app| app.spec.deletion_policy = DeletionPolicy::Orphan));
    let going = |suspended: bool| {
        let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
        release.spec = serde_json::json!({"suspend": suspended});
        release.metadata.deletion_timestamp.clone_from(&app.metadata.deletion_timestamp);
        let plan = plan(&app, &World { release: Sight::Present(release), ..known.clone() }, noon());
        plan.status.conditions.get("Deleting").unwrap().message.clone()
    };
    assert_eq!(going(true), "The release is let go of: it keeps running.");
    assert!(going(false).contains("although spec.deletionPolicy is Orphan"), "{}", going(false));
}

#[test]
fn a_release_is_deleted_only_as_it_was_seen() {
    let (app, known) = running();
    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.metadata.resource_version = Some("7".to_owned());
    let plan = plan(&deleted(app), &World { release: Sight::Present(release.clone()), ..known }, noon());
    let seen = crate::controllers::application::children::delete_release(&release).unwrap();
    assert_eq!(plan.deletions, [seen]);
    release.metadata.resource_version = Some("8".to_owned());
    let since = crate::controllers::application::children::delete_release(&release).unwrap();
    assert_ne!(plan.deletions, [since], "one that was resumed meanwhile would be uninstalled");
}

#[test]
fn a_release_that_flux_let_go_of_without_uninstalling_it_holds_the_instance() {
    let (app, known) = running();
    let app = deleted(after(app.clone(), &plan(&app, &known, noon())));
    let standing = vec!["Deployment web".to_owned(), "Service web".to_owned()];
    let terminating = vec!["ConfigMap web".to_owned()];
    let left = World {
        release: Sight::Absent,
        leftovers: Leftovers::Known(Left { standing, terminating }),
        own_sources: Ok(Vec::new()),
        ..known
    };
    let held = plan(&app, &left, noon());
    assert_eq!(held.finalizer, Finalizer::Hold);
    assert_conditions!(held, { Deleting: True/WaitingForChildResources, Ready: False/Uninstalling });
    let message = &held.status.conditions.get("Deleting").unwrap().message;
    assert!(message.contains("Still there: Deployment web, Service web. Remove them"), "{message}");
    assert!(message.contains("helm uninstall web --namespace shop"), "{message}");
    assert_eq!(
        held.temporary_watches,
        crate::controllers::application::temporary_watches::leftovers(&app),
        "they are watched"
    );

    let orphan = edited(app.clone(), |app| app.spec.deletion_policy = DeletionPolicy::Orphan);
    assert_eq!(plan(&orphan, &left, noon()).finalizer, Finalizer::Release, "the way out");
    let mut never_begun = app;
    never_begun.status.as_mut().unwrap().install_attempted = false;
    let told = plan(&never_begun, &left, noon()).status.conditions;
    assert_eq!(told.get("Deleting").unwrap().message, "Still terminating: ConfigMap web.");
}

#[test]
fn a_release_of_an_earlier_instance_of_this_name_holds_the_deletion() {
    let (app, known) = running();
    let restored = World {
        release: Sight::Absent,
        restored_release: Some("before".to_owned()),
        own_sources: Ok(Vec::new()),
        ..known
    };
    let held = plan(&deleted(app.clone()), &restored, noon());
    assert_eq!(held.finalizer, Finalizer::Hold);
    let message = &held.status.conditions.get("Deleting").unwrap().message;
    assert!(message.contains("with uid before") && message.contains("instance-uid"), "{message}");
    let gone = World { restored_release: None, ..restored };
    assert_eq!(plan(&deleted(app), &gone, noon()).finalizer, Finalizer::Release);
}

#[test]
fn a_namespace_that_ends_changes_nothing_about_what_can_be_seen() {
    let (app, known) = running();
    let seen = plan(&deleted(app), &World { is_namespace_ending: true, ..known }, noon());
    assert_eq!((seen.finalizer, seen.deletions.len()), (Finalizer::Hold, 1));
}

#[test]
fn an_instance_stays_until_the_last_object_of_its_release_is_gone() {
    let (mut app, _) = running();
    app.metadata.deletion_timestamp = Some(Time(noon()));
    let looking = plan(&app, &World { leftovers: Leftovers::NotYet, ..empty() }, noon());
    assert_eq!(looking.finalizer, Finalizer::Hold);
    assert_eq!(Some(&looking.status), app.status.as_ref());
    let terminating = vec!["ConfigMap web-held (held by x/y)".to_owned()];
    let held = Leftovers::Known(Left { terminating, ..Left::default() });
    let waiting = plan(&app, &World { leftovers: held, ..empty() }, noon());
    assert_conditions!(waiting, { Deleting: True/WaitingForChildResources, Ready: False/Uninstalling });
    assert!(message(&waiting, "Deleting").contains("web-held"));
    assert_eq!(waiting.finalizer, Finalizer::Hold);
    assert_eq!(plan(&app, &empty(), noon()).finalizer, Finalizer::Release);
    app.spec.deletion_policy = DeletionPolicy::Orphan;
    let left = World { leftovers: Leftovers::NotYet, ..empty() };
    assert_eq!(plan(&app, &left, noon()).finalizer, Finalizer::Release, "orphans are not waited for");
}

#[test]
fn a_deletion_that_is_refused_says_so() {
    let (mut app, world) = running();
    app.metadata.deletion_timestamp = Some(Time(noon()));
    let words = "failed to delete HelmRelease shop/web: no deletions on Sundays".to_owned();
    let refusals = vec![Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: words,
    }];
    let plan = plan(&app, &World { refusals, ..world }, noon());
    assert!(message(&plan, "Deleting").contains("no deletions on Sundays"));
}
