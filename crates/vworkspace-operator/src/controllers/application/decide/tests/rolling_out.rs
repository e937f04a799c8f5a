//! A change on its way: from the first plan to the release that runs.

use super::*;

#[test]
fn the_release_is_named_from_the_moment_that_it_goes_out() {
    let app = instance();
    assert!(plan(&app, &empty(), noon()).status.helm_release_ref.is_some());
    let waits = edited(app, |app| app.spec.suspend = true);
    assert_eq!(plan(&waits, &empty(), noon()).status.helm_release_ref, None, "there is none yet");
    let (app, known) = running();
    let runs = plan(&app, &known, noon());
    assert!(runs.status.helm_release_ref.is_some());
    let message =
        |plan: &Plan<ApplicationInstanceStatus>| plan.status.conditions.get("Ready").unwrap().message.clone();
    assert_eq!(message(&runs), "Chart version 1.2.0 is released as revision 1.");
    // Suspended before Flux has looked at it.
    let app = edited(instance(), |app| app.spec.suspend = true);
    let mut release = new_release(&app);
    release.spec = serde_json::json!({"suspend": true});
    let halted = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_eq!(message(&halted), "The release was suspended before Flux was done with it.");
}

#[test]
fn every_condition_is_there_from_the_first_reconcile() {
    let plan = plan(&instance(), &empty(), noon());
    assert_eq!(
        told(&plan),
        [
            "Ready: Unknown/Reconciling",
            "Reconciling: True/ChartSourceSyncing",
            "Degraded: False/NotDegraded",
            "Suspended: False/Active",
            "Blocked: False/NotBlocked",
            "Deleting: False/NotDeleting",
            "Stalled: False/NotStalled",
        ]
    );
    assert_eq!(plan.status.conditions.unsaid(1).count(), 0);
    assert_eq!(plan.finalizer, Finalizer::Hold);
}

#[test]
fn the_source_is_applied_before_the_release() {
    let plan = plan(&instance(), &empty(), noon());
    let order: Vec<_> = plan.children.iter().map(|child| child.id().to_string()).collect();
    assert_eq!(order, ["OCIRepository shop/web", "HelmRelease shop/web"]);
}

#[test]
fn the_same_world_gives_the_same_plan_and_nothing_more_to_say() {
    let (app, world) = running();
    let first = plan(&app, &world, noon());
    let app = after(app, &first);
    let later = "2026-01-01T13:00:00Z".parse().unwrap();
    let mut second = plan(&app, &world, later);
    assert_ne!(second.status.last_reconcile_time, first.status.last_reconcile_time);
    second.status.last_reconcile_time.clone_from(&first.status.last_reconcile_time);
    assert_eq!(second, first);
}

#[test]
fn a_first_installation_goes_from_fetching_to_installing_to_ready() {
    let app = instance();
    let mut source = fetched(&app, DIGEST_1_2);
    (source.status.artifact, source.status.observed_generation) = (None, -1);
    let fetching = plan(&app, &world(source, new_release(&app)), noon());
    assert_conditions!(fetching, { Ready: Unknown/Reconciling, Reconciling: True/ChartSourceSyncing });

    let mut release = new_release(&app);
    let message = "Running 'install' action with timeout of 5m0s";
    release.status.conditions = says(&[
        ("Reconciling", "True", "Progressing", message),
        ("Ready", "Unknown", "Progressing", message),
    ]);
    release.status.last_attempted_generation = 1;
    release.status.last_attempted_revision_digest = DIGEST_1_2.to_owned();
    let installing = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(installing, { Ready: False/Installing, Reconciling: True/HelmReleaseInstalling, Stalled: False/NotStalled });

    let ready = plan(&app, &running().1, noon());
    assert_conditions!(ready, { Ready: True/HelmReleaseReady, Reconciling: False/Stable, Degraded: False/NotDegraded, Stalled: False/NotStalled });
    assert_eq!(ready.status.last_successful_release.unwrap().chart_version, "1.2.0");
}

#[test]
fn ready_that_flux_writes_before_its_proof_is_not_believed() {
    let app = instance();
    let source = fetched(&app, DIGEST_1_2);
    let full = released(&app, "1.2.0", DIGEST_1_2);
    type TakeAway = fn(&mut HelmRelease);
    let without: [(&str, TakeAway); 6] = [
        ("history", |release| release.status.history.clear()),
        ("observedGeneration", |release| release.status.observed_generation = -1),
        ("lastAttemptedGeneration", |release| release.status.last_attempted_generation = 0),
        ("the digest of the source", |release| release.status.history[0].oci_digest = DIGEST_1_3.to_owned()),
        ("a deployed revision", |release| release.status.history[0].status = "failed".to_owned()),
        ("rest", |release| {
            release.status.conditions.extend(says(&[("Reconciling", "True", "Progressing", "")]));
        }),
    ];
    for (name, take_away) in without {
        let mut release = full.clone();
        take_away(&mut release);
        let plan = plan(&app, &world(source.clone(), release), noon());
        assert!(!told(&plan).contains(&"Ready: True/HelmReleaseReady".to_owned()), "without {name}");
    }
}

#[test]
fn a_look_of_flux_at_a_running_release_changes_nothing() {
    let (app, world) = running();
    let before = plan(&app, &world, noon());
    let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
    let flickers = [
        ("Unknown", "Progressing", "Fulfilling prerequisites"),
        ("False", "SourceNotReady", "OCIRepository 'shop/web' is not ready"),
        ("False", "ArtifactFailed", "Source not ready"),
    ];
    for (status, reason, message) in flickers {
        release.status.conditions = says(&[
            ("Ready", status, reason, message),
            ("Reconciling", "True", "Progressing", message),
            ("Released", "True", "InstallSucceeded", ""),
        ]);
        let world = World { release: Sight::Present(release.clone()), ..world.clone() };
        assert_eq!(plan(&app, &world, noon()), before, "{reason}");
    }
}

#[test]
fn a_new_version_is_upgrading_as_soon_as_it_is_handed_to_flux() {
    let (app, world) = running();
    let app = at_version(app, "1.3.0");
    let plan = plan(&app, &world, noon());
    assert_conditions!(plan, { Ready: False/Upgrading, Reconciling: True/ChartSourceSyncing, Degraded: False/NotDegraded });
    assert_eq!(plan.children[0].at("/spec/ref/tag").unwrap(), "1.3.0");
    assert_eq!(plan.status.last_applied_chart.unwrap().version, "1.3.0");
}

#[test]
fn a_release_with_the_label_of_a_change_does_not_carry_it_without_its_whole_digest() {
    let (app, known) = running();
    let Sight::Present(with_flux) = known.release.clone() else { panic!("no release") };
    let desired = desired(&app);
    let (change, label) = (desired.change(), desired.change().get(..16).unwrap());
    let forged = format!("{label}{}", "0".repeat(48));
    // What the release has as label and as annotation, and whether it is handed over again.
    let table = [
        (Some(label), Some(change), false),
        (None, Some(change), false),
        (Some(label), None, true),
        (Some(label), Some(forged.as_str()), true),
    ];
    for (label, annotation, goes_out) in table {
        let mut release = with_flux.clone();
        let meta = &mut release.metadata;
        meta.labels = label.map(|label| [("apps.vworkspace.io/change".to_owned(), label.to_owned())].into());
        let annotations = meta.annotations.as_mut().unwrap();
        annotations.remove("apps.vworkspace.io/change-digest");
        annotations.extend(
            annotation.map(|digest| ("apps.vworkspace.io/change-digest".to_owned(), digest.to_owned())),
        );
        let plan = plan(&app, &World { release: Sight::Present(release), ..known.clone() }, noon());
        let is_ready = told(&plan).contains(&"Ready: True/HelmReleaseReady".to_owned());
        assert_eq!(is_ready, !goes_out, "{label:?} {annotation:?}");
        assert_eq!(plan.children[1].annotation("apps.vworkspace.io/change-digest"), Some(change));
    }
}

#[test]
fn an_upgrade_is_ready_only_when_the_new_digest_runs() {
    let (app, mut source, mut release) = upgrading();
    let not_noticed = plan(&app, &world(source.clone(), release.clone()), noon());
    assert_conditions!(not_noticed, { Ready: False/Upgrading, Reconciling: True/ChartSourceSyncing });

    source.status = fetched(&app, DIGEST_1_3).status;
    source.status.observed_generation = 2;
    let fetched_only = plan(&app, &world(source.clone(), release.clone()), noon());
    assert_conditions!(fetched_only, { Ready: False/Upgrading, Reconciling: True/HelmReleaseUpgrading });

    release.status = released(&app, "1.3.0", DIGEST_1_3).status;
    release.status.history[0].version = 2;
    let done = plan(&app, &world(source, release), noon());
    assert_conditions!(done, { Ready: True/HelmReleaseReady, Reconciling: False/Stable, Degraded: False/NotDegraded });
    assert_eq!(done.status.last_successful_release.unwrap().revision, 2);
}

#[test]
fn a_placeholder_is_ready_without_children() {
    let mut app = instance();
    app.spec.mode = Mode::Placeholder;
    (app.spec.chart, app.spec.values) = (None, None);
    let plan = plan(&app, &empty(), noon());
    assert_conditions!(plan, { Ready: True/Placeholder, Reconciling: False/Stable });
    assert_eq!((plan.children.len(), plan.finalizer), (0, Finalizer::Release));
}
