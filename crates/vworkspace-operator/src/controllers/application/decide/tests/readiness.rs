//! What an application is ready by besides its release: checks, certificates, Secrets, and warnings of its chart.

use serde_json::json;

use super::*;
use crate::controllers::application::observe::{Asking, ChartReading, NamedCheck};
use crate::controllers::application::polls::chart_archive::{ArtifactRef, ChartFacts};
use crate::controllers::application::polls::probe::{Check, Destination};
use crate::controllers::application::polls::readiness::{Checked, ReadinessPoll};
use crate::external::external_secrets::{Presence, Promised};

pub(super) fn check(checked: Option<Checked>) -> NamedCheck {
    let spec = serde_json::from_value(json!({"name": "web", "tcp": {"service": "web", "port": 80}})).unwrap();
    let check = Check::new("shop", &spec).unwrap();
    let poll = ReadinessPoll { check, to: Destination::Pods, interval: Duration::from_secs(1), threshold: 3 };
    NamedCheck { name: "web".to_owned(), asking: Asking::Poll(poll), looks_at: None, checked }
}

#[test]
fn a_check_decides_once_the_release_is_in_place_and_only_with_an_answer() {
    let (app, world) = running();
    let fails = || Checked::Fails("no connection".to_owned());
    let checked = |checked| plan(&app, &World { checks: vec![check(checked)], ..world.clone() }, noon());
    let failing = checked(Some(fails()));
    assert_conditions!(failing, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable, Reconciling: False/Stable });
    assert_eq!(failing.polls.len(), 1);
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
fn a_helm_test_that_failed_and_is_ignored_is_a_warning() {
    let (app, world) = running();
    let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
    release.status.conditions.extend(says(&[("TestSuccess", "False", "TestFailed", "web-fails")]));
    let world = World { release: Sight::Present(release), ..world };
    let ignoring = edited(app, |app| app.spec.tests.ignore_failures = true);
    let warned = plan(&ignoring, &world, noon());
    assert_conditions!(warned, { Ready: True/HelmReleaseReadyWithWarnings });
    assert!(message(&warned, "Ready").contains("a Helm test failed and is ignored: web-fails"), "{warned:?}");
}

#[test]
fn nothing_is_asked_of_an_application_that_is_not_installed() {
    let world = World { checks: vec![check(None)], ..empty() };
    assert_eq!(plan(&instance(), &world, noon()).polls, []);
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

/// An ExternalSecret `db` that is not synced.
pub(super) fn unsynced(secret: Presence) -> Found<Promised> {
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
    assert_eq!(plan.temporary_watches.len(), 1, "its Secret is looked for");
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
    assert_eq!(stale.temporary_watches.len(), 1, "until it is synced its Secret may go");

    let app = after(app, &stale);
    assert_conditions!(plan(&app, &world, noon()), { Ready: True/HelmReleaseReady });
    let gone = plan(&app, &seen(Presence::Absent), noon());
    assert_conditions!(gone, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret });
    assert_conditions!(plan(&after(app, &gone), &world, noon()), { Ready: True/HelmReleaseReady, Blocked: False/Unblocked });
    assert_eq!(plan(&instance(), &world, noon()).temporary_watches, [], "nothing is looked for without need");
}

#[test]
fn what_was_said_stays_while_nobody_knows_whether_the_secret_is_there() {
    let (app, world) = running();
    let seen = |secret| World { external_secrets: unsynced(secret), ..world.clone() };
    for secret in [Presence::Absent, Presence::Present] {
        let before = plan(&app, &seen(secret), noon());
        let restarted = plan(&after(app.clone(), &before), &seen(Presence::NotYet), noon());
        assert_eq!(restarted.status, before.status, "{secret:?}");
        assert_eq!(restarted.temporary_watches.len(), 1);
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
        let looks_at = Some(temporary_watches::checked_service("shop", "web"));
        World { checks: vec![NamedCheck { asking, looks_at, ..check(None) }], ..world.clone() }
    };
    let why = "Service shop/web is of type ExternalName and leads to 'db.other.svc'";
    let refused = plan(&app, &asking(Asking::Refused(why.to_owned())), noon());
    assert_conditions!(refused, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });
    assert_eq!(message(&refused, "Ready"), format!("Check 'web' fails: {why}."));
    assert_eq!((refused.polls.len(), refused.temporary_watches.len()), (0, 1), "watched, not asked");

    let unseen = plan(&app, &asking(Asking::NotYet), noon());
    assert_conditions!(unseen, { Ready: True/HelmReleaseReady });
    assert_eq!((unseen.polls.len(), unseen.temporary_watches.len()), (0, 1));
    let uninstalled = World { checks: asking(Asking::NotYet).checks, ..empty() };
    assert_eq!(
        plan(&instance(), &uninstalled, noon()).temporary_watches,
        [],
        "not looked for before it is asked"
    );
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
    assert_eq!(passes.polls.len(), 1, "asked until the release is another one");
}

#[test]
fn a_certificate_wakes_the_plan_when_it_expires() {
    let (app, world) = running();
    let certificate = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "status": {"notAfter": "2026-01-02T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}}))
    .unwrap();
    let plan = plan(&app, &World { certificates: Found::Objects(vec![certificate]), ..world }, noon());
    assert_eq!(plan.requeue_at, Some("2026-01-02T00:00:00Z".parse().unwrap()));
}

#[test]
fn a_wildcard_of_an_ingress_stands_for_one_label() {
    let table = [
        ("shop.example", "shop.example", true),
        ("*.shop.example", "web.shop.example", true),
        ("*.shop.example", "a.web.shop.example", false),
        ("*.shop.example", "shop.example", false),
        ("*.shop.example", ".shop.example", false),
        ("shop.example", "web.shop.example", false),
    ];
    for (known, host, expected) in table {
        assert_eq!(super::super::readiness::serves(known, host), expected, "{known} for {host}");
    }
}
