//! What Flux does not decide: windows, dependencies, checks, certificates, drift, leftovers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use vworkspace_api::application_instance::{Degraded, DeletionPolicy, Endpoint, Ready, Suspended};

use super::*;
use crate::controllers::application::asking::{Asked, Checked, Question};
use crate::controllers::application::decide::status::moment;
use crate::controllers::application::observe::{
    Asking, ChartReading, Dependency, Drift, Left, Leftovers, NamedCheck, Version,
};
use crate::errands::chart_archive::{ArtifactRef, ChartFacts};
use crate::errands::probe::{Check, Destination};
use crate::external_secrets::{Presence, Promised};

pub(super) fn set(app: &mut ApplicationInstance, field: &str, value: serde_json::Value) {
    let mut spec = serde_json::to_value(&app.spec).unwrap();
    spec[field] = value;
    app.spec = serde_json::from_value(spec).unwrap();
}

pub(super) fn with(field: &str, value: serde_json::Value) -> (ApplicationInstance, World) {
    let (app, world) = running();
    (edited(app, |app| set(app, field, value)), world)
}

pub(super) fn message(plan: &Plan<ApplicationInstanceStatus, Question>, type_: &str) -> String {
    plan.status.conditions.get(type_).unwrap().message.clone()
}

#[test]
fn a_change_waits_inside_a_window_and_the_plan_wakes_when_it_closes() {
    let window = json!([{"name": "night", "schedule": "0 11 * * *", "duration": "2h"}]);
    let (app, world) = with("maintenanceWindows", window);
    let app = at_version(app, "1.3.0");
    let inside = plan(&app, &world, noon());
    assert_conditions!(inside, {
        Suspended: True/MaintenanceWindow, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending });
    assert_eq!(inside.wake_at, Some("2026-01-01T13:00:00Z".parse().unwrap()));
    let [release] = inside.children.as_slice() else { panic!("{:?}", inside.children) };
    assert_eq!(release.at("/spec/suspend"), Some(&json!(true)));

    let after = plan(&app, &world, "2026-01-01T13:00:00Z".parse().unwrap());
    assert_conditions!(after, { Suspended: False/Active, Ready: False/Upgrading });
    assert_eq!(after.wake_at, Some("2026-01-02T11:00:00Z".parse().unwrap()));
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
fn what_runs_is_not_called_forbidden_because_a_line_of_the_allowed_sources_cannot_be_read() {
    let (app, world) = running();
    let sources =
        |text: &str| CatalogPolicy::read(&[("allowedChartSources".to_owned(), text.to_owned())].into());
    let table = [
        ("[oci://elsewhere.example, registry.example]", "False/NotBlocked", "True/PolicyDenied"),
        ("[oci://elsewhere.example]", "True/MissingChartSource", "True/MissingChartSource"),
        ("[oci://registry.example, elsewhere.example]", "False/NotBlocked", "True/PolicyDenied"),
    ];
    for (text, runs, changed) in table {
        let world = World { policy: sources(text), ..world.clone() };
        let plans = [plan(&app, &world, noon()), plan(&at_version(app.clone(), "1.3.0"), &world, noon())];
        for (plan, said) in plans.iter().zip([runs, changed]) {
            assert!(told(plan).contains(&format!("Blocked: {said}")), "{text}: {:?}", told(plan));
        }
    }
}

#[test]
fn a_time_zone_that_does_not_exist_is_an_invalid_spec() {
    let window =
        json!([{"name": "night", "schedule": "0 1 * * *", "duration": "2h", "timeZone": "Mars/Base"}]);
    let (app, world) = with("maintenanceWindows", window);
    let plan = plan(&app, &world, noon());
    assert_conditions!(plan, { Blocked: True/InvalidSpec, Stalled: True/InvalidSpec });
    let told = message(&plan, "Blocked");
    assert!(told.contains("spec.maintenanceWindows['night'].timeZone is 'Mars/Base'"), "{told}");
    assert_eq!(plan.children, []);
}

#[test]
fn a_secret_among_inline_values_is_refused_without_being_quoted() {
    let values = json!({"source": "inline", "inline": {"auth": {"password": "hunter2"}}});
    let (app, world) = with("values", values);
    let plan = plan(&app, &world, noon());
    assert_conditions!(plan, { Blocked: True/InvalidSpec });
    let told = message(&plan, "Blocked");
    assert!(told.contains("auth.password") && !told.contains("hunter2"), "{told}");
}

#[test]
fn a_source_that_is_not_allowed_blocks_and_one_that_is_does_not() {
    let allowing = |source: &str| {
        let data = [("allowedChartSources".to_owned(), format!("['{source}']"))].into();
        let policy = CatalogPolicy::read(&data);
        plan(&instance(), &World { policy, ..empty() }, noon())
    };
    let refused = allowing("oci://elsewhere.example");
    assert_conditions!(refused, { Blocked: True/MissingChartSource, Ready: False/Blocked, Stalled: True/MissingChartSource });
    assert!(message(&refused, "Blocked").contains("oci://elsewhere.example"));
    assert_eq!(refused.children, []);
    assert_conditions!(allowing("oci://registry.example/charts"), { Blocked: False/NotBlocked });
}

#[test]
fn a_policy_that_cannot_be_read_holds_changes_back() {
    let policy = CatalogPolicy::unreadable("its data is no map");
    let world = World { policy: policy.clone(), ..empty() };
    let plan = plan(&instance(), &world, noon());
    assert_conditions!(plan, { Blocked: True/PolicyDenied });
    assert_eq!(plan.children, []);

    let (app, world) = running();
    let world = World { policy, ..world };
    assert_conditions!(super::plan(&app, &world, noon()), { Blocked: False/NotBlocked, Ready: True/HelmReleaseReady });
}

#[test]
fn a_change_waits_for_what_it_depends_on_and_what_runs_does_not() {
    let lacking = vec![Dependency { name: "db".to_owned(), lacks: Some("does not exist".to_owned()) }];
    let first = plan(&instance(), &World { dependencies: lacking.clone(), ..empty() }, noon());
    assert_conditions!(first, { Blocked: True/DependencyNotReady, Ready: False/Blocked, Stalled: False/NotStalled });
    assert!(message(&first, "Blocked").contains("db does not exist"));
    assert_eq!(first.children, []);

    let (app, world) = running();
    let world = World { dependencies: lacking, ..world };
    assert_conditions!(plan(&app, &world, noon()), { Blocked: False/NotBlocked, Ready: True/HelmReleaseReady });
    let changed = plan(&at_version(app, "1.3.0"), &world, noon());
    assert_conditions!(changed, { Blocked: True/DependencyNotReady, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending });
}

fn check(checked: Option<Checked>) -> NamedCheck {
    let spec = serde_json::from_value(json!({"name": "web", "tcp": {"service": "web", "port": 80}})).unwrap();
    let check = Check::new("shop", &spec).unwrap();
    let asked = Asked { check, to: Destination::Pods, interval: Duration::from_secs(1), threshold: 3 };
    NamedCheck { name: "web".to_owned(), asking: Asking::Asked(asked), looks_at: None, checked }
}

#[test]
fn a_check_decides_once_the_release_is_in_place_and_only_with_an_answer() {
    let (app, world) = running();
    let fails = || Checked::Fails("no connection".to_owned());
    let checked = |checked| plan(&app, &World { checks: vec![check(checked)], ..world.clone() }, noon());
    let failing = checked(Some(fails()));
    assert_conditions!(failing, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable, Reconciling: False/Stable });
    assert_eq!(failing.errands.len(), 1);
    assert_conditions!(checked(Some(Checked::Passes)), { Ready: True/HelmReleaseReady, Degraded: False/NotDegraded });
    // What was said before holds until there is an answer: after a restart, and while a check only stumbles.
    assert_conditions!(checked(None), { Ready: True/HelmReleaseReady, Degraded: False/NotDegraded });
    let stumbling = Checked::Shaky { failures: 1, before: Some(Box::new(Checked::Passes)) };
    assert_conditions!(checked(Some(stumbling)), { Ready: True/HelmReleaseReady });

    let degraded = after(app.clone(), &failing);
    let back = World { checks: vec![check(Some(Checked::Passes))], ..world.clone() };
    assert_conditions!(plan(&degraded, &back, noon()), { Ready: True/HelmReleaseReady, Degraded: False/Recovered });
    let unknown = World { checks: vec![check(None)], ..world };
    assert_conditions!(plan(&degraded, &unknown, noon()), { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });
}

#[test]
fn nothing_is_asked_of_an_application_that_is_not_installed() {
    let world = World { checks: vec![check(None)], ..empty() };
    assert_eq!(plan(&instance(), &world, noon()).errands, []);
}

#[test]
fn a_first_installation_is_not_ready_before_its_checks_have_answered() {
    let app = instance();
    let installed = world(fetched(&app, DIGEST_1_2), released(&app, "1.2.0", DIGEST_1_2));
    let mut release = new_release(&app);
    let message = "Running 'install' action";
    release.status.conditions = says(&[
        ("Reconciling", "True", "Progressing", message),
        ("Ready", "Unknown", "Progressing", message),
    ]);
    let installing = after(app.clone(), &plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon()));
    let asked = World { checks: vec![check(None)], ..installed };
    let awaited = plan(&installing, &asked, noon());
    assert_conditions!(awaited, { Ready: Unknown/Reconciling, Reconciling: True/Reconciling });
    assert!(awaited.status.last_successful_release.is_some(), "so it is not being installed any more");
}

#[test]
fn a_certificate_that_is_not_issued_is_waited_for() {
    let (app, world) = running();
    let certificate = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"secretName": "web-tls", "issuerRef": {"name": "letsencrypt"}}}))
    .unwrap();
    let waiting = World { certificates: Found::Objects(vec![certificate]), ..world.clone() };
    let failed = |stalled: &str| {
        let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
        release.status.conditions = says(&[
            ("Ready", "False", "UpgradeFailed", "timed out"),
            ("Released", "False", "UpgradeFailed", "timed out"),
            ("Stalled", stalled, "RetriesExceeded", "Failed to upgrade"),
        ]);
        plan(&app, &World { release: Sight::Present(release), ..waiting.clone() }, noon())
    };
    assert_conditions!(failed("False"), { Ready: False/WaitingForCertificate });
    assert_conditions!(failed("True"), { Ready: False/HelmReleaseFailed });
    let plan_ = plan(&app, &waiting, noon());
    assert_conditions!(plan_, { Ready: False/WaitingForCertificate });
    assert!(message(&plan_, "Ready").contains("letsencrypt"));
    let none = World { certificates: Found::Objects(Vec::new()), ..world };
    assert_conditions!(plan(&after(app, &plan_), &none, noon()), { Ready: True/HelmReleaseReady });
}

#[test]
fn an_integration_that_is_not_installed_blocks() {
    for integration in ["certManager", "externalSecrets"] {
        let mut app = instance();
        set(&mut app, "integrations", json!({integration: {"enabled": true}}));
        let plan = plan(&app, &empty(), noon());
        assert_conditions!(plan, { Blocked: True/MissingDependencies });
        assert_eq!(plan.children, [], "{integration}");
    }
}

/// An ExternalSecret `db` that is not synced.
fn unsynced(secret: Presence) -> Found<Promised> {
    let ready =
        json!({"type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "no answer"});
    let external = json!({
        "metadata": {"name": "db", "namespace": "shop"},
        "status": {"conditions": [ready], "refreshTime": "2026-01-01T11:00:00Z"}});
    Found::Objects(vec![Promised { external: serde_json::from_value(external).unwrap(), secret }])
}

#[test]
fn an_external_secret_without_its_secret_blocks_and_is_named() {
    let (app, world) = running();
    let plan = plan(&app, &World { external_secrets: unsynced(Presence::Absent), ..world }, noon());
    assert_conditions!(plan, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret, Stalled: False/NotStalled });
    assert!(message(&plan, "Blocked").contains("ExternalSecret shop/db"));
    assert_eq!(plan.interests.len(), 1, "its Secret is looked for");
}

#[test]
fn an_external_secret_that_could_not_be_refreshed_is_a_warning_while_its_secret_is_there() {
    let (app, world) = running();
    let seen = |secret| World { external_secrets: unsynced(secret), ..world.clone() };
    let stale = plan(&app, &seen(Presence::Present), noon());
    assert_conditions!(stale, {
        Ready: True/HelmReleaseReadyWithWarnings, Blocked: False/NotBlocked, Reconciling: False/Stable });
    let told = message(&stale, "Ready");
    assert!(told.contains("ExternalSecret shop/db is not synced: SecretSyncedError, no answer"), "{told}");
    assert_eq!(stale.interests.len(), 1, "until it is synced its Secret may go");

    let app = after(app, &stale);
    assert_conditions!(plan(&app, &world, noon()), { Ready: True/HelmReleaseReady });
    let gone = plan(&app, &seen(Presence::Absent), noon());
    assert_conditions!(gone, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret });
    assert_conditions!(plan(&after(app, &gone), &world, noon()), { Ready: True/HelmReleaseReady, Blocked: False/Unblocked });
    assert_eq!(plan(&instance(), &world, noon()).interests, [], "nothing is looked for without need");
}

#[test]
fn what_was_said_stays_while_nobody_knows_whether_the_secret_is_there() {
    let (app, world) = running();
    let seen = |secret| World { external_secrets: unsynced(secret), ..world.clone() };
    for secret in [Presence::Absent, Presence::Present] {
        let before = plan(&app, &seen(secret), noon());
        let restarted = plan(&after(app.clone(), &before), &seen(Presence::NotYet), noon());
        assert_eq!(restarted.status, before.status, "{secret:?}");
        assert_eq!(restarted.interests.len(), 1);
    }
    let running = plan(&app, &seen(Presence::NotYet), noon());
    assert_eq!(Some(&running.status), app.status.as_ref(), "it ran before it could not be refreshed");
    // A Secret that was missing for another reason says nothing of this one.
    let first = instance();
    let installed = World {
        external_secrets: unsynced(Presence::NotYet),
        ..self::world(fetched(&first, DIGEST_1_2), released(&first, "1.2.0", DIGEST_1_2))
    };
    let unknown = plan(&first, &installed, noon());
    assert_conditions!(unknown, { Ready: Unknown/Reconciling, Reconciling: True/Reconciling, Blocked: False/NotBlocked });
}

#[test]
fn a_check_whose_service_is_not_asked_fails_and_one_whose_service_was_not_seen_yet_waits() {
    let (app, world) = running();
    let asking = |asking| {
        let looks_at = Some(looking::checked_service("shop", "web"));
        World { checks: vec![NamedCheck { asking, looks_at, ..check(None) }], ..world.clone() }
    };
    let why = "Service shop/web is of type ExternalName and leads to 'db.other.svc'";
    let refused = plan(&app, &asking(Asking::Refused(why.to_owned())), noon());
    assert_conditions!(refused, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });
    assert_eq!(message(&refused, "Ready"), format!("Check 'web' fails: {why}."));
    assert_eq!((refused.errands.len(), refused.interests.len()), (0, 1), "watched, not asked");

    let unseen = plan(&app, &asking(Asking::NotYet), noon());
    assert_conditions!(unseen, { Ready: True/HelmReleaseReady });
    assert_eq!((unseen.errands.len(), unseen.interests.len()), (0, 1));
    let uninstalled = World { checks: asking(Asking::NotYet).checks, ..empty() };
    assert_eq!(plan(&instance(), &uninstalled, noon()).interests, [], "not looked for before it is asked");
}

#[test]
fn drift_is_told_for_two_intervals_and_not_after_a_new_release() {
    let (app, world) = running();
    let drift = |seen_at: &str| {
        Some(Drift { message: "x\nConfigMap/shop/web changed".to_owned(), seen_at: seen_at.parse().unwrap() })
    };
    // The interval is five minutes.
    let fresh = World { drift: drift("2026-01-01T11:51:00Z"), ..world.clone() };
    let drifted = plan(&app, &fresh, noon());
    assert_conditions!(drifted, { Ready: True/HelmReleaseReady, Degraded: True/Drifted });
    assert_eq!(message(&drifted, "Degraded"), "ConfigMap/shop/web changed");
    assert_eq!(drifted.wake_at, Some("2026-01-01T12:01:00Z".parse().unwrap()));
    let app = after(app, &drifted);
    let old = World { drift: drift("2026-01-01T11:50:00Z"), ..world.clone() };
    assert_conditions!(plan(&app, &old, noon()), { Degraded: False/Recovered });

    let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
    release.status.history[0].last_deployed = Some(Time("2026-01-01T11:55:00Z".parse().unwrap()));
    let released_since = World { release: Sight::Present(release), ..fresh };
    assert_conditions!(plan(&app, &released_since, noon()), { Degraded: False/Recovered });
}

#[test]
fn a_source_that_stays_away_degrades_and_a_source_that_is_back_recovers() {
    let (app, world) = running();
    let Seen::Known(Sight::Present(mut source)) = world.source.clone() else { panic!("no source") };
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let since = |time: &str| {
        let mut source = source.clone();
        source.status.conditions[0].last_transition_time = Some(Time(time.parse().unwrap()));
        World { source: Seen::Known(Sight::Present(source)), ..world.clone() }
    };
    let short = plan(&app, &since("2026-01-01T11:56:00Z"), noon());
    assert_conditions!(short, { Ready: True/HelmReleaseReady, Degraded: False/NotDegraded });
    assert_eq!(short.wake_at, Some("2026-01-01T12:01:00Z".parse().unwrap()));
    let long = plan(&app, &since("2026-01-01T11:55:00Z"), noon());
    assert_conditions!(long, { Ready: True/HelmReleaseReady, Degraded: True/ChartUnreachable });
    assert_conditions!(plan(&after(app, &long), &world, noon()), { Degraded: False/Recovered });
}

#[test]
fn warnings_are_told_when_they_are_known_and_kept_while_the_chart_is_read_again() {
    let (app, world) = running();
    let artifact = || ArtifactRef { url: "http://x".to_owned(), digest: "sha256:0".to_owned(), size: None };
    let facts = ChartFacts {
        name: "web".to_owned(),
        version: "1.2.0".to_owned(),
        deprecated: true,
        deprecated_values: Vec::new(),
    };
    let read = World { chart: ChartReading::Done(artifact(), Some(facts)), ..world.clone() };
    let warned = plan(&app, &read, noon());
    assert_conditions!(warned, { Ready: True/HelmReleaseReadyWithWarnings, Reconciling: False/Stable });
    let app = after(app, &warned);
    let pending = World { chart: ChartReading::Pending(artifact()), ..world.clone() };
    assert_conditions!(plan(&app, &pending, noon()), { Ready: True/HelmReleaseReadyWithWarnings });
    let unreadable = World { chart: ChartReading::Done(artifact(), None), ..world };
    assert_conditions!(plan(&app, &unreadable, noon()), { Ready: True/HelmReleaseReadyWithWarnings });
}

#[test]
fn a_policy_that_refuses_an_object_of_the_release_is_told_as_such() {
    let app = instance();
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    let denied = "Helm install failed: 1 error occurred: * deployments.apps \"web\" is forbidden: \
                  ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
    release.status.history = vec![revision(1, "1.2.0", DIGEST_1_2, "failed")];
    release.status.conditions = says(&[
        ("Stalled", "True", "RetriesExceeded", "Failed to install after 1 attempt(s)"),
        ("Released", "False", "InstallFailed", denied),
        ("Ready", "False", "InstallFailed", denied),
    ]);
    let plan = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(plan, { Blocked: True/PolicyDenied, Ready: False/Blocked, Stalled: True/PolicyDenied });
}

#[test]
fn flux_is_asked_again_when_the_missing_secret_comes_and_when_the_user_wants_another_try() {
    let mut app = instance();
    set(&mut app, "values", json!({"source": "secretRef", "secretRef": {"name": "v"}}));
    let mut release = new_release(&app);
    let missing = "could not resolve Secret chart values reference 'shop/v' with key 'values.yaml': secrets \"v\" not found";
    release.status.conditions = says(&[("Ready", "False", "ValuesError", missing)]);
    let waiting = world(fetched(&app, DIGEST_1_2), release);
    let first = plan(&app, &waiting, noon());
    assert_eq!((first.interests.len(), first.nudges.len()), (1, 0), "it is watched, and not there");

    let there = Version { uid: "s".to_owned(), resource_version: "7".to_owned() };
    let found = plan(&app, &World { values_object: Some(there), ..waiting.clone() }, noon());
    let marks = |plan: &Plan<ApplicationInstanceStatus, Question>| format!("{:?}", plan.nudges);
    let values = r#"{"reconcile.fluxcd.io/requestedAt": "values-s-7"}"#;
    assert!(found.nudges.len() == 1 && marks(&found).contains(values), "{}", marks(&found));

    app.metadata.annotations = Some([("apps.vworkspace.io/retry".to_owned(), "1".to_owned())].into());
    let retried = plan(&app, &waiting, noon());
    let both = r#"{"reconcile.fluxcd.io/requestedAt": "1", "reconcile.fluxcd.io/resetAt": "1"}"#;
    assert!(retried.nudges.len() == 1 && marks(&retried).contains(both), "{}", marks(&retried));
    let Sight::Present(mut release) = waiting.release.clone() else { panic!("no release") };
    release.metadata.annotations = Some([("reconcile.fluxcd.io/resetAt".to_owned(), "1".to_owned())].into());
    let handled = World { release: Sight::Present(release), ..waiting };
    assert_eq!(plan(&app, &handled, noon()).nudges, [], "once");
}

#[test]
fn a_referenced_source_must_be_there_and_have_the_version_that_is_asked_for() {
    let mut app = instance();
    let reference =
        json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.2.0"});
    set(&mut app, "chart", reference);
    let look = plan(&app, &World { source: Seen::NotYet, ..empty() }, noon());
    assert_eq!((look.children.len(), look.interests.len()), (0, 1));
    assert_eq!(look.status, ApplicationInstanceStatus::default(), "nothing is said before it is seen");

    assert_conditions!(plan(&app, &empty(), noon()), { Blocked: True/MissingChartSource });
    let with_tag = |tag: &str| {
        let mut source = Source::default();
        source.spec.url = "oci://registry.example/charts/web".to_owned();
        source.spec.reference.tag = tag.to_owned();
        plan(&app, &World { source: Seen::Known(Sight::Present(source)), ..empty() }, noon())
    };
    let other = with_tag("1.1.0");
    assert_conditions!(other, { Blocked: True/MissingChartSource });
    assert!(message(&other, "Blocked").contains("tag 1.1.0"));
    let fits = with_tag("1.2.0");
    let children: Vec<_> = fits.children.iter().map(|child| child.id().to_string()).collect();
    assert_eq!(children, ["HelmRelease shop/web"]);
    assert_eq!(fits.children[0].at("/spec/chartRef/name"), Some(&json!("charts")));
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
fn a_version_that_the_referenced_source_does_not_have_needs_a_person_and_what_runs_stays() {
    let mut app = instance();
    let reference =
        json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.2.0"});
    set(&mut app, "chart", reference);
    let mut source = fetched(&app, DIGEST_1_2);
    source.spec.url = "oci://registry.example/charts/web".to_owned();
    source.spec.reference.tag = "1.2.0".to_owned();
    let world = world(source, released(&app, "1.2.0", DIGEST_1_2));
    let app = after(app.clone(), &plan(&app, &world, noon()));
    let app = at_version(app, "1.3.0");
    assert_conditions!(plan(&app, &world, noon()), {
        Blocked: True/MissingChartSource, Ready: True/HelmReleaseReady, Stalled: True/MissingChartSource });
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

#[test]
fn a_denial_that_flux_met_stands_while_it_looks_again() {
    let app = instance();
    let denied = "Could not determine release state: secrets is forbidden: User \"x\" cannot list resource";
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    release.status.history.clear();
    release.status.observed_generation = -1;
    release.status.conditions = says(&[("Ready", "False", "StateError", denied)]);
    let first = plan(&app, &world(fetched(&app, DIGEST_1_2), release.clone()), noon());
    assert_conditions!(first, { Blocked: True/PolicyDenied, Stalled: True/PolicyDenied });
    release.status.conditions = says(&[
        ("Ready", "Unknown", "Progressing", "Fulfilling prerequisites"),
        ("Reconciling", "True", "Progressing", "Fulfilling prerequisites"),
    ]);
    let again = plan(&after(app.clone(), &first), &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(again, { Blocked: True/PolicyDenied, Stalled: True/PolicyDenied });
}

#[test]
fn a_running_release_whose_service_account_is_gone_is_not_ready_each_time_flux_looks_again() {
    let (app, known) = running();
    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.spec = json!({"serviceAccountName": "tenant"});
    let denied = "Could not determine release state: secrets is forbidden: User \"system:serviceaccount:shop:tenant\" \
                  cannot list resource";
    let with_ready = |status: &str, reason: &str, message: &str| {
        let mut release = release.clone();
        release.status.conditions.retain(|known| known.type_ != "Ready");
        release.status.conditions.extend(says(&[("Ready", status, reason, message)]));
        World { release: Sight::Present(release), ..known.clone() }
    };
    let first = plan(&app, &with_ready("False", "StateError", denied), noon());
    assert_conditions!(first, { Ready: False/HelmReleaseFailed, Blocked: True/PolicyDenied });
    assert!(
        message(&first, "Blocked")
            .ends_with("Flux works as ServiceAccount tenant: check that it exists, and what it may do.")
    );
    let app = after(app, &first);
    let again = plan(&app, &with_ready("Unknown", "Progressing", "Fulfilling prerequisites"), noon());
    assert_conditions!(again, { Ready: False/HelmReleaseFailed, Blocked: True/PolicyDenied });
    // The same of a failure that nobody has to mend.
    let (well, _) = running();
    let away = plan(&well, &with_ready("False", "StateError", "the API server is away"), noon());
    let looks = with_ready("Unknown", "Progressing", "Fulfilling prerequisites");
    let still = plan(&after(well, &away), &looks, noon());
    assert_conditions!(still, { Ready: False/HelmReleaseFailed, Reconciling: True/HelmReleaseUpgrading });
    assert_eq!(message(&still, "Reconciling"), message(&away, "Reconciling"), "nothing is news");
    let back = plan(&after(app, &again), &with_ready("True", "InstallSucceeded", "installed"), noon());
    assert_conditions!(back, { Ready: True/HelmReleaseReady, Blocked: False/Unblocked });
}

#[test]
fn drift_and_checks_that_nobody_sees_any_more_do_not_stay_degraded() {
    let (app, world) = running();
    let fails = World { checks: vec![check(Some(Checked::Fails("no".to_owned())))], ..world.clone() };
    let degraded = after(app.clone(), &plan(&app, &fails, noon()));
    let upgrading = at_version(degraded, "1.3.0");
    let asked = plan(&upgrading, &fails, noon());
    assert_conditions!(asked, { Degraded: True/EndpointUnreachable });
    assert_eq!(asked.errands.len(), 1, "asked until it answers");
    let answers = World { checks: vec![check(Some(Checked::Passes))], ..world.clone() };
    assert_conditions!(plan(&after(upgrading, &asked), &answers, noon()), { Degraded: False/Recovered });

    let drift = Some(Drift { message: "x\ny".to_owned(), seen_at: noon() });
    let drifted = after(app.clone(), &plan(&app, &World { drift, ..world.clone() }, noon()));
    assert_conditions!(plan(&at_version(drifted, "1.3.0"), &world, noon()), { Degraded: False/Recovered });
}

#[test]
fn a_check_goes_on_while_the_source_has_lost_its_artifact() {
    let (app, known) = running();
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let answered = |world: &World, checked| World { checks: vec![check(Some(checked))], ..world.clone() };
    let fails = plan(&app, &answered(&known, Checked::Fails("no".to_owned())), noon());
    assert_conditions!(fails, { Ready: False/EndpointUnreachable });
    let Seen::Known(Sight::Present(mut source)) = known.source.clone() else { panic!("no source") };
    source.status.artifact = None;
    let lost = World { source: Seen::Known(Sight::Present(source)), ..known };
    let passes = plan(&after(app, &fails), &answered(&lost, Checked::Passes), noon());
    assert_conditions!(passes, { Ready: True/HelmReleaseReady, Degraded: False/Recovered });
    assert_eq!(passes.errands.len(), 1, "asked until the release is another one");
}

#[test]
fn a_change_that_waits_for_what_flux_does_says_so() {
    let app = instance();
    let running = "Running 'install' action with timeout of 5m0s";
    let told = |generation: i64| {
        let mut release = released(&app, "1.2.0", DIGEST_1_2);
        release.status.history.clear();
        release.metadata.generation = Some(2);
        let mut reconciling = says(&[("Reconciling", "True", "Progressing", running)]);
        reconciling[0].observed_generation = Some(generation);
        release.status.conditions = reconciling;
        release.status.conditions.extend(says(&[("Ready", "Unknown", "Progressing", running)]));
        let plan = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
        assert_conditions!(plan, { Ready: False/Installing });
        message(&plan, "Ready").clone()
    };
    assert_eq!(told(2), running);
    assert_eq!(told(1), format!("The change waits for what Flux has begun before it: {running}"));
}

#[test]
fn a_certificate_wakes_the_plan_when_it_expires() {
    let (app, world) = running();
    let certificate = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "status": {"notAfter": "2026-01-02T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}}))
    .unwrap();
    let plan = plan(&app, &World { certificates: Found::Objects(vec![certificate]), ..world }, noon());
    assert_eq!(plan.wake_at, Some("2026-01-02T00:00:00Z".parse().unwrap()));
}

#[test]
fn what_pauses_is_told_in_the_order_of_the_reference_page() {
    let (mut app, world) = running();
    set(
        &mut app,
        "maintenanceWindows",
        json!([{"name": "always", "schedule": "* * * * *", "duration": "1h"}]),
    );
    let said = |app: &ApplicationInstance| {
        let plan = plan(app, &world, noon());
        plan.status.conditions.read::<Suspended>().unwrap()
    };
    let mut told = vec![said(&app)];
    app.spec.suspend = true;
    told.push(said(&app));
    app.metadata.annotations =
        Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    told.push(said(&app));
    let page: Vec<_> = pause::ORDER.iter().map(|(reason, _)| *reason).take(3).collect();
    assert_eq!(told.into_iter().rev().collect::<Vec<_>>(), page);
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
fn a_release_that_cannot_be_listed_is_not_taken_for_absent() {
    let (app, known) = running();
    let why = || "helmreleases.helm.toolkit.fluxcd.io cannot be listed: forbidden".to_owned();
    let hidden = World { release: Sight::Unknown(why()), ..known };
    let plan = plan(&app, &hidden, noon());
    assert_conditions!(plan, { Ready: Unknown/Reconciling, Blocked: True/MissingDependencies });
    assert!(plan.children.is_empty() && plan.deletions.is_empty(), "nothing is done blindly");
    assert!(plan.status.conditions.get("Ready").unwrap().message.contains("cannot be listed"));
}

#[test]
fn an_optional_kind_that_cannot_be_listed_holds_back_only_who_asks_for_it() {
    let (app, known) = running();
    let why = || "the conversion webhook does not answer".to_owned();
    let hidden = World {
        certificates: Found::Unlisted(why()),
        external_secrets: Found::Unlisted(why()),
        services: Found::Unlisted(why()),
        ingresses: Found::Unlisted(why()),
        is_drift_seen: false,
        ..known
    };
    assert_conditions!(plan(&app, &hidden, noon()), { Ready: True/HelmReleaseReady, Blocked: False/NotBlocked });
    let asking = edited(app, |app| app.spec.integrations.cert_manager.enabled = true);
    let plan = plan(&asking, &hidden, noon());
    assert_conditions!(plan, { Blocked: True/MissingDependencies });
    let message = &plan.status.conditions.get("Blocked").unwrap().message;
    assert!(message.contains("webhook does not answer, and spec.integrations.certManager"), "{message}");
}

#[test]
fn what_was_seen_stays_said_while_it_cannot_be_listed() {
    let (app, known) = running();
    let endpoint =
        Endpoint { name: "web".to_owned(), url: "http://web".to_owned(), type_: None, notes: None };
    let app = edited(app, |app| app.status.as_mut().unwrap().endpoints = vec![endpoint.clone()]);
    let told = |world: &World| plan(&app, world, noon()).status.endpoints;
    let hidden = World { services: Found::Unlisted("no".to_owned()), ..known.clone() };
    assert_eq!((told(&hidden), told(&known)), (vec![endpoint], vec![]));

    let drifted = Drift { seen_at: noon(), message: "ConfigMap/shop/web changed".to_owned() };
    let app = after(app.clone(), &plan(&app, &World { drift: Some(drifted), ..known.clone() }, noon()));
    let unseen = World { is_drift_seen: false, ..known.clone() };
    assert_conditions!(plan(&app, &unseen, noon()), { Degraded: True/Drifted });
    assert_conditions!(plan(&app, &known, noon()), { Degraded: False/Recovered });

    let mut waiting = app.clone();
    let at = moment(&waiting, noon());
    waiting.status.as_mut().unwrap().conditions.set(
        Ready::WaitingForCertificate,
        "web-tls is not issued",
        at,
    );
    let unseen = World { certificates: Found::Unlisted("no".to_owned()), ..known.clone() };
    assert_conditions!(plan(&waiting, &unseen, noon()), { Ready: False/WaitingForCertificate });
    let none = World { certificates: Found::Objects(Vec::new()), ..known };
    assert_conditions!(plan(&waiting, &none, noon()), { Ready: True/HelmReleaseReady });
}

#[test]
fn what_is_refused_when_it_is_only_cleared_away_holds_no_change_back() {
    let (app, known) = running();
    let refused = |deed, cause| {
        let object = "OCIRepository shop/web-candidate".to_owned();
        let refusal = Refusal { object, deed, cause, message: "no".to_owned() };
        plan(&app, &World { refusals: vec![refusal], ..known.clone() }, noon())
    };
    assert_conditions!(refused(Deed::Clear, Cause::Unavailable), { Blocked: False/NotBlocked, Reconciling: False/Stable });
    assert_conditions!(refused(Deed::Clear, Cause::Forbidden), { Ready: True/HelmReleaseReady, Blocked: True/PolicyDenied });
    assert_conditions!(refused(Deed::Make, Cause::Unavailable), { Reconciling: True/ChangePending });
}

#[test]
fn trouble_that_was_seen_is_not_over_because_nobody_can_look() {
    let unlisted = || "cannot be listed".to_owned();
    let (app, known) = running();
    let missing = World { external_secrets: unsynced(Presence::Absent), ..known.clone() };
    let waiting = after(app.clone(), &plan(&app, &missing, noon()));
    let unseen = World { external_secrets: Found::Unlisted(unlisted()), ..known.clone() };
    assert_conditions!(plan(&waiting, &unseen, noon()), { Ready: False/WaitingForSecret, Blocked: True/MissingSecret });
    assert_conditions!(plan(&app, &unseen, noon()), { Ready: True/HelmReleaseReady, Blocked: False/NotBlocked });
    let first = instance();
    let installed = World {
        external_secrets: Found::Unlisted(unlisted()),
        ..world(fetched(&first, DIGEST_1_2), released(&first, "1.2.0", DIGEST_1_2))
    };
    assert_conditions!(plan(&first, &installed, noon()), { Ready: True/HelmReleaseReady });

    let (asking, known) = with("integrations", json!({"ingress": {"enabled": true}}));
    let unserved = plan(&asking, &known, noon());
    assert_conditions!(unserved, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });
    let unseen = World { ingresses: Found::Unlisted(unlisted()), ..known.clone() };
    let still = plan(&after(asking, &unserved), &unseen, noon());
    assert_conditions!(still, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });

    let mut degraded = app;
    let at = moment(&degraded, noon());
    let conditions = &mut degraded.status.as_mut().unwrap().conditions;
    conditions.set(Degraded::ChartUnreachable, "no answer", at);
    let unseen = World { source: Seen::Known(Sight::Unknown(unlisted())), ..known.clone() };
    assert_conditions!(plan(&degraded, &unseen, noon()), { Degraded: True/ChartUnreachable });
    assert_conditions!(plan(&degraded, &known, noon()), { Degraded: False/Recovered });
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
