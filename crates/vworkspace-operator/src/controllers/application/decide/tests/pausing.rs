//! What keeps changes back for a while: maintenance windows, of the spec and of the policy, and pauses by hand.

use serde_json::json;
use vworkspace_api::application_instance::Suspended;

use super::*;
use crate::controllers::application::observe::Dependency;
use crate::controllers::application::restoring::Restoring;

#[test]
fn a_change_waits_inside_a_window_and_the_plan_wakes_when_it_closes() {
    let window = json!([{"name": "night", "schedule": "0 11 * * *", "duration": "2h"}]);
    let (app, world) = with("maintenanceWindows", window);
    let app = at_version(app, "1.3.0");
    let inside = plan(&app, &world, noon());
    assert_conditions!(inside, {
        Suspended: True/MaintenanceWindow, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending });
    assert_eq!(inside.requeue_at, Some("2026-01-01T13:00:00Z".parse().unwrap()));
    let [release] = inside.children.as_slice() else { panic!("{:?}", inside.children) };
    assert_eq!(release.at("/spec/suspend"), Some(&json!(true)));

    let after = plan(&app, &world, "2026-01-01T13:00:00Z".parse().unwrap());
    assert_conditions!(after, { Suspended: False/Active, Ready: False/Upgrading });
    assert_eq!(after.requeue_at, Some("2026-01-02T11:00:00Z".parse().unwrap()));
}

#[test]
fn a_window_of_the_policy_counts_like_one_of_the_spec() {
    let (app, mut world) = running();
    let windows = "[{name: all, schedule: '* * * * *', duration: 1h, namespaces: [shop]}]";
    let data = [("maintenanceWindows".to_owned(), windows.to_owned())].into();
    world.policy = CatalogPolicy::read(&data);
    assert_conditions!(plan(&app, &world, noon()), { Suspended: True/MaintenanceWindow });
}

/// A policy with this list of windows.
fn policy_of(windows: &str) -> CatalogPolicy {
    CatalogPolicy::read(&[("maintenanceWindows".to_owned(), windows.to_owned())].into())
}

/// Open from eleven to one, by the policy.
const FREEZE: &str = "{name: freeze, schedule: 0 11 * * *, duration: 2h}";
const BAD: &str = "{name: typo, schedule: 0 11 * * *, duration: 2h, timeZone: Mars/Base}";

#[test]
fn a_freeze_of_the_policy_is_not_lifted_by_a_bad_window_of_the_spec_or_of_the_policy() {
    let bad_of_spec =
        json!([{"name": "mine", "schedule": "0 1 * * *", "duration": "2h", "timeZone": "Mars/Base"}]);
    let bad_of_policy = format!("[{BAD}, {FREEZE}]");
    let table = [
        (json!([]), format!("[{FREEZE}]"), "False/NotBlocked"),
        (bad_of_spec, format!("[{FREEZE}]"), "True/InvalidSpec"),
        (json!([]), bad_of_policy, "True/PolicyDenied"),
    ];
    for (of_spec, of_policy, blocked) in table {
        let (app, world) = with("maintenanceWindows", of_spec);
        let world = World { policy: policy_of(&of_policy), ..world };
        let plan = plan(&at_version(app, "1.3.0"), &world, noon());
        assert_conditions!(plan, { Suspended: True/MaintenanceWindow, Ready: True/HelmReleaseReady });
        assert!(
            message(&plan, "Suspended").contains("policy's maintenance window 'freeze' is open"),
            "{of_policy}"
        );
        assert!(told(&plan).contains(&format!("Blocked: {blocked}")), "{:?}", told(&plan));
        let [release] = plan.children.as_slice() else { panic!("{:?}", plan.children) };
        assert_eq!(release.at("/spec/suspend"), Some(&json!(true)));
    }
}

#[test]
fn what_was_closed_when_the_policy_could_be_read_stays_closed_until_it_can_be_again() {
    let (app, world) = running();
    let frozen = World { policy: policy_of(&format!("[{FREEZE}]")), ..world };
    let app = after(app.clone(), &plan(&app, &frozen, noon()));
    let typo = FREEZE.replace("2h", "2h, timeZone: Mars/Base");
    // What the policy became; what the instance says then, and what the message names.
    let table = [
        (
            policy_of(&format!("[{typo}]")),
            "True/MaintenanceWindow",
            "line 1: maintenanceWindows['freeze'].timeZone",
        ),
        (policy_of("a: b"), "True/MaintenanceWindow", "key maintenanceWindows, line 1"),
        (CatalogPolicy::unreadable("it is no map"), "True/MaintenanceWindow", "it is no map"),
        (
            CatalogPolicy::read(&[("maintenanceWindow".to_owned(), FREEZE.to_owned())].into()),
            "True/MaintenanceWindow",
            "key maintenanceWindow:",
        ),
        // It can be read: only its own time decides.
        (policy_of(&format!("[{BAD}, {}]", FREEZE.replace("11", "15"))), "False/Active", ""),
        (policy_of("[]"), "False/Active", ""),
        // Deleted.
        (CatalogPolicy::default(), "False/Active", ""),
        // Another key says nothing about windows.
        (
            CatalogPolicy::read(&[("allowedChartSources".to_owned(), "[x]".to_owned())].into()),
            "False/Active",
            "",
        ),
    ];
    for (policy, said, named) in table {
        let world = World { policy, ..frozen.clone() };
        let first = plan(&app, &world, noon());
        assert!(
            told(&first).contains(&format!("Suspended: {said}")),
            "{:?} {:?}",
            told(&first),
            world.policy
        );
        let told = message(&first, "Suspended");
        assert!(told.contains(named), "no {named} in {told}");
        // Also on the next look, and long after the window would have closed.
        let app = after(app.clone(), &first);
        let later = plan(&app, &world, "2026-01-01T20:00:00Z".parse().unwrap());
        assert_eq!(message(&later, "Suspended"), told);
        // And it goes on when the policy can be read again.
        let mended = World { policy: frozen.policy.clone(), ..world };
        let mended = plan(&after(app, &later), &mended, "2026-01-01T20:00:00Z".parse().unwrap());
        assert_conditions!(mended, { Suspended: False/Active });
    }
}

#[test]
fn a_window_of_the_spec_opens_and_closes_although_the_policy_cannot_be_read() {
    let window = json!([{"name": "night", "schedule": "0 11 * * *", "duration": "2h"}]);
    let (app, world) = with("maintenanceWindows", window);
    let world = World { policy: policy_of(&format!("[{BAD}]")), ..world };
    let inside = plan(&app, &world, noon());
    assert_conditions!(inside, { Suspended: True/MaintenanceWindow });
    assert!(message(&inside, "Suspended").starts_with("The spec's maintenance window 'night' is open"));
    let app = after(app, &inside);
    let over = plan(&app, &world, "2026-01-01T14:00:00Z".parse().unwrap());
    assert_conditions!(over, { Suspended: False/Active, Blocked: False/NotBlocked });
    // Nobody lifts it by making it bad; taking it away does.
    let bad = |zone: &str| {
        let mut app = app.clone();
        app.spec.maintenance_windows[0].time_zone = zone.to_owned();
        plan(&app, &world, noon())
    };
    assert_conditions!(bad("Mars/Base"), { Suspended: True/MaintenanceWindow, Blocked: True/InvalidSpec });
    assert!(message(&bad("Mars/Base"), "Suspended").contains("spec.maintenanceWindows['night'].timeZone"));
    let removed = edited(app.clone(), |app| app.spec.maintenance_windows.clear());
    assert_conditions!(plan(&removed, &world, noon()), { Suspended: False/Active });
}

#[test]
fn what_a_window_suspended_goes_on_after_it_although_the_change_has_to_wait() {
    let window = json!([{"name": "night", "schedule": "0 11 * * *", "duration": "2h"}]);
    let (app, world) = with("maintenanceWindows", window);
    let app = after(app.clone(), &plan(&app, &world, noon()));
    let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
    release.spec = json!({"suspend": true, "interval": "5m"});
    let lacking = vec![Dependency { name: "db".to_owned(), lacks: Some("does not exist".to_owned()) }];
    let world = World { release: Sight::Present(release), dependencies: lacking, ..world };
    let app = at_version(app, "1.3.0");
    let over = plan(&app, &world, "2026-01-01T14:00:00Z".parse().unwrap());
    assert_conditions!(over, { Suspended: False/Active, Blocked: True/DependencyNotReady });
    let [release] = over.children.as_slice() else { panic!("{:?}", over.children) };
    assert_eq!(release.at("/spec/suspend"), Some(&json!(false)));
}

#[test]
fn what_pauses_is_told_in_the_order_of_the_reference_page() {
    let (mut app, mut world) = running();
    set(
        &mut app,
        "maintenanceWindows",
        json!([{"name": "always", "schedule": "* * * * *", "duration": "1h"}]),
    );
    let said = |app: &ApplicationInstance, world: &World| {
        let plan = plan(app, world, noon());
        plan.status.conditions.read::<Suspended>().unwrap()
    };
    let mut told = vec![said(&app, &world)];
    world.restoring = Some(Restoring { name: "bring-back".to_owned(), uid: "op".to_owned() });
    told.push(said(&app, &world));
    app.spec.suspend = true;
    told.push(said(&app, &world));
    app.metadata.annotations =
        Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    told.push(said(&app, &world));
    let page = pause::RULES.iter().skip(2).flat_map(|rule| rule.says).take(4);
    assert_eq!(told.iter().rev().collect::<Vec<_>>(), page.collect::<Vec<_>>());
}

#[test]
fn a_pause_that_flux_could_not_be_told_of_is_no_pause() {
    let (app, world) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    let words = "failed to apply HelmRelease shop/web: no changes on Sundays".to_owned();
    let refusals = vec![Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: words,
    }];
    let untold = plan(&app, &World { refusals, ..world.clone() }, noon());
    assert_conditions!(untold, { Suspended: False/Active });
    assert!(message(&untold, "Suspended").contains("no changes on Sundays"));
    assert_conditions!(plan(&app, &world, noon()), { Suspended: True/ManuallySuspended });
}

#[test]
fn a_release_that_we_suspended_goes_on_whatever_was_said_meanwhile_and_is_not_active_before_it_does() {
    let (app, known) = running();
    // Suspended by us, then paused by annotation, then blocked: only the release still knows.
    let Sight::Present(live) = known.release.clone() else { panic!("no release") };
    let ours = children::as_it_is(&app, &live, children::Suspension::On);
    assert_eq!(ours.annotation("apps.vworkspace.io/suspended"), Some("true"));
    let mut held = live.clone();
    held.spec = json!({"suspend": true});
    held.metadata
        .annotations
        .get_or_insert_default()
        .insert("apps.vworkspace.io/suspended".to_owned(), "true".to_owned());
    let suspended = World { release: Sight::Present(held), ..known.clone() };
    let blocked = edited(app, |app| set(app, "dependsOn", json!([{"name": "db"}])));
    let blocked = at_version(blocked, "1.3.0");
    let dependency = vec![Dependency { name: "db".to_owned(), lacks: Some("does not exist".to_owned()) }];
    let suspended = World { dependencies: dependency, ..suspended };
    let resumes = plan(&blocked, &suspended, noon());
    let [child] = resumes.children.as_slice() else { panic!("{:?}", resumes.children) };
    assert_eq!(child.at("/spec/suspend"), Some(&json!(false)));
    assert_eq!(child.annotation("apps.vworkspace.io/suspended"), None);

    let object = "HelmRelease shop/web".to_owned();
    let refusal =
        Refusal { object, deed: Deed::Make, cause: Cause::Unavailable, message: "no answer".to_owned() };
    let refused = plan(&blocked, &World { refusals: vec![refusal], ..suspended.clone() }, noon());
    assert_conditions!(refused, { Suspended: True/ManuallySuspended });
    assert!(message(&refused, "Suspended").contains("could not be resumed: no answer"));
    // Somebody else's pause is theirs.
    let mut theirs = live;
    theirs.spec = json!({"suspend": true});
    let theirs = World { release: Sight::Present(theirs), ..suspended };
    assert_eq!(plan(&blocked, &theirs, noon()).children, []);
}

#[test]
fn a_suspended_instance_suspends_its_release_and_stays_ready() {
    let (app, known) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    let suspended = plan(&app, &known, noon());
    assert_conditions!(suspended, { Ready: True/HelmReleaseReady, Suspended: True/ManuallySuspended, Reconciling: False/Stable });
    let [release] = suspended.children.as_slice() else { panic!("{:?}", suspended.children) };
    assert_eq!(release.at("/spec/suspend").unwrap(), true);

    // Flux notes the new generation without doing anything.
    let app = after(app, &suspended);
    let Sight::Present(mut live) = known.release.clone() else { panic!("no release") };
    live.spec = serde_json::json!({"suspend": true});
    (live.metadata.generation, live.status.observed_generation) = (Some(2), 2);
    let known = World { release: Sight::Present(live), ..known };
    assert_conditions!(plan(&app, &known, noon()), { Ready: True/HelmReleaseReady, Reconciling: False/Stable });
}

#[test]
fn the_end_of_a_pause_without_a_change_is_no_upgrade() {
    let (app, known) = running();
    let app = edited(app, |_| ());
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let Sight::Present(mut resumed) = known.release.clone() else { panic!("no release") };
    (resumed.metadata.generation, resumed.status.observed_generation) = (Some(3), 2);
    let known = World { release: Sight::Present(resumed.clone()), ..known };
    assert_conditions!(plan(&app, &known, noon()), { Ready: True/HelmReleaseReady, Reconciling: False/Stable });

    // But if the operator died between handing a change over and saying so, the old verdict is not trusted.
    let unreported = edited(app.clone(), |_| ());
    assert_conditions!(plan(&unreported, &known, noon()), { Ready: False/Upgrading });

    let message = "Running 'upgrade' action with timeout of 5m0s";
    resumed.status.conditions.extend(says(&[("Reconciling", "True", "Progressing", message)]));
    let known = World { release: Sight::Present(resumed), ..known };
    assert_conditions!(plan(&app, &known, noon()), { Ready: False/Upgrading });
}

#[test]
fn a_release_that_somebody_else_has_changed_and_holds_is_told() {
    let (app, known) = running();
    let message = "field .spec.interval is owned by alice".to_owned();
    let refusal = Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Make,
        cause: Cause::Owned,
        message: message.clone(),
    };
    let plan = plan(&app, &World { refusals: vec![refusal], ..known }, noon());
    assert_conditions!(plan, { Ready: True/HelmReleaseReady, Reconciling: True/ChangePending, Blocked: False/NotBlocked });
    assert_eq!(plan.status.conditions.get("Reconciling").unwrap().message, message);
}

#[test]
fn a_change_of_a_paused_instance_waits_and_nobody_takes_it_for_live() {
    let (app, world) = running();
    let app = at_version(app, "1.3.0");
    let paused = edited(app.clone(), |app| {
        app.metadata.annotations =
            Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    });
    let plan_of_paused = plan(&paused, &world, noon());
    assert_conditions!(plan_of_paused, { Ready: True/HelmReleaseReady, Reconciling: True/ChangePending, Suspended: True/ReconcilePaused });
    assert_eq!(plan_of_paused.children, []);
    assert_eq!(plan_of_paused.status.last_applied_chart.clone().unwrap().version, "1.2.0");

    let suspended = edited(app, |app| app.spec.suspend = true);
    let plan = plan(&suspended, &world, noon());
    assert_conditions!(plan, { Ready: True/HelmReleaseReady, Reconciling: True/ChangePending, Suspended: True/ManuallySuspended });
    assert_eq!(plan.children.len(), 1, "the source is left as it is");
}

#[test]
fn a_restore_gets_the_instance_when_flux_is_seen_to_leave_the_release_alone() {
    let (app, mut world) = running();
    world.restoring = Some(Restoring { name: "bring-back".to_owned(), uid: "op".to_owned() });
    let first = plan(&app, &world, noon());
    assert_conditions!(first, { Suspended: True/OperationInProgress });
    let [release] = first.children.as_slice() else { panic!("{:?}", first.children) };
    assert_eq!(release.at("/spec/suspend"), Some(&json!(true)));
    assert_eq!(first.status.paused_for, None, "Flux has not been seen to rest");

    let Sight::Present(release) = &mut world.release else { panic!("no release") };
    release.spec["suspend"] = json!(true);
    let rests = plan(&app, &world, noon());
    assert_eq!(rests.status.paused_for.as_deref(), Some("op"));
    let words =
        rests.status.conditions.get("Suspended").map(|known| known.message.clone()).unwrap_or_default();
    assert!(words.contains("Operation bring-back"), "{words}");

    let (by_hand, _) = with("suspend", json!(true));
    let by_hand = plan(&by_hand, &world, noon());
    assert_conditions!(by_hand, { Suspended: True/ManuallySuspended });
    assert_eq!(by_hand.status.paused_for.as_deref(), Some("op"), "it rests, whoever wanted it first");
    let disabled = edited(app.clone(), |app| {
        app.metadata.annotations =
            Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    });
    let hands_off = plan(&disabled, &world, noon());
    assert_conditions!(hands_off, { Suspended: True/ReconcilePaused });
    assert_eq!(hands_off.status.paused_for, None, "nobody may suspend the release");

    world.restoring = None;
    let mut app = app;
    app.status = Some(rests.status);
    let over = plan(&app, &world, noon());
    let Some(release) = over.children.last() else { panic!("{:?}", over.children) };
    assert_ne!(release.at("/spec/suspend"), Some(&json!(true)), "it goes on");
    assert_eq!(over.status.paused_for, None);
}
