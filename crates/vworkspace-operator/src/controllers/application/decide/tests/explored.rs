//! Situations that nobody thought of before schedules ran into them (docs/explore.md): each was told wrongly once.

use super::*;
use crate::controllers::application::leftovers::Leftovers;
use crate::controllers::application::observe::ChartReading;
use crate::controllers::application::polls::chart_archive::ArtifactRef;
use serde_json::json;
use vworkspace_api::application_instance::{DeletionPolicy, Ready};

fn refusal() -> Vec<Refusal> {
    let object = "OCIRepository shop/web".to_owned();
    vec![Refusal { object, deed: Deed::Make, cause: Cause::Forbidden, message: "is forbidden".to_owned() }]
}

fn release_of(world: &World) -> HelmRelease {
    let Sight::Present(release) = world.release.clone() else { panic!("no release") };
    release
}

fn source_of(world: &World) -> Source {
    let Seen::Known(Sight::Present(source)) = world.source.clone() else { panic!("no source") };
    source
}

fn with_values(app: ApplicationInstance, replicas: u8) -> ApplicationInstance {
    edited(app, |app| {
        let values = json!({"source": "inline", "inline": {"replicas": replicas}});
        app.spec.values = Some(serde_json::from_value(values).unwrap());
    })
}

/// As Flux shows a release that was suspended when it was done.
fn suspended(mut release: HelmRelease) -> HelmRelease {
    release.spec = json!({"interval": "5m", "suspend": true});
    let generation = release.metadata.generation.map(|generation| generation + 1);
    release.metadata.generation = generation;
    release.status.observed_generation = generation.unwrap();
    release
}

fn ready_message(plan: &Plan<ApplicationInstanceStatus>) -> &str {
    &plan.status.conditions.get("Ready").unwrap().message
}

#[test]
fn a_success_that_is_first_seen_while_the_next_change_is_refused_is_ready_and_not_blocked_before_install() {
    let app = instance();
    let known = world(fetched(&app, DIGEST_1_2), released(&app, "1.2.0", DIGEST_1_2));
    let app = at_version(app, "1.3.0");
    let plan = plan(&app, &World { refusals: refusal(), ..known }, noon());
    assert!(plan.status.last_successful_release.is_some());
    assert_conditions!(plan, { Ready: True/HelmReleaseReady, Blocked: True/PolicyDenied });
}

#[test]
fn a_source_controller_that_lost_its_storage_is_no_upgrade() {
    let (app, known) = running();
    let before = plan(&app, &known, noon());
    let mut source = source_of(&known);
    source.status.artifact = None;
    let mut release = release_of(&known);
    for reason in ["UpgradeSucceeded", "ArtifactFailed"] {
        let status = if reason == "ArtifactFailed" { "False" } else { "True" };
        release.status.conditions =
            says(&[("Ready", status, reason, ""), ("Released", "True", "InstallSucceeded", "")]);
        let now = plan(&app, &world(source.clone(), release.clone()), noon());
        assert_eq!(now.status.conditions, before.status.conditions, "{reason}");
    }
    // Also while a change waits.
    let waiting = edited(at_version(app, "1.3.0"), |app| app.spec.approvals.required = true);
    let said = plan(&waiting, &known, noon());
    let still = plan(&after(waiting, &said), &world(source.clone(), release), noon());
    assert_eq!(still.status.conditions, said.status.conditions);
    // Also while the API server does not let us put right what somebody did to a child.
    let refused = World { refusals: refusal(), ..world(source.clone(), release_of(&known)) };
    let first = plan(&running().0, &refused, noon());
    assert_conditions!(first, { Ready: True/HelmReleaseReady, Blocked: True/PolicyDenied });
    let second = plan(&after(running().0, &first), &refused, noon());
    assert_eq!(second.status.conditions, first.status.conditions);
    // One that never had it is being fetched.
    assert_conditions!(plan(&instance(), &world(source, new_release(&instance())), noon()), {
        Ready: Unknown/Reconciling, Reconciling: True/ChartSourceSyncing });
}

#[test]
fn what_blocked_is_not_kept_as_ready_when_it_blocks_no_more() {
    let app = instance();
    let mut source = fetched(&app, DIGEST_1_2);
    source.status.artifact = None;
    source.status.conditions = says(&[("FetchFailed", "True", "X", "MANIFEST_UNKNOWN")]);
    let blocked = plan(&app, &world(source, new_release(&app)), noon());
    assert_conditions!(blocked, { Ready: False/Blocked });
    // The version has been published, and Flux has no verdict yet.
    let mut release = new_release(&app);
    release.status.last_attempted_generation = 1;
    release.status.last_attempted_revision_digest = DIGEST_1_2.to_owned();
    release.status.conditions = says(&[("Ready", "Unknown", "Progressing", "Fulfilling prerequisites")]);
    let next = plan(&after(app.clone(), &blocked), &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(next, { Ready: False/Installing, Blocked: False/Unblocked });
}

#[test]
fn a_change_that_was_suspended_before_flux_saw_it_is_not_live() {
    let (app, known) = running();
    let app = with_values(app, 3);
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let app = edited(app, |app| app.spec.suspend = true);
    // Two generations that Flux has not tried: the values, and the suspension.
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    release.metadata.generation = Some(2);
    let halted = plan(&app, &world(fetched(&app, DIGEST_1_2), suspended(release)), noon());
    assert_conditions!(halted, { Ready: Unknown/Reconciling, Reconciling: True/ChangePending, Suspended: True/ManuallySuspended });

    // One: Flux was done, and only the suspension came after it; also if the operator died before it said so.
    let (app, known) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    let done = plan(&app, &world(source_of(&known), suspended(release_of(&known))), noon());
    assert_conditions!(done, { Ready: True/HelmReleaseReady, Reconciling: False/Stable });
}

#[test]
fn a_failure_of_a_suspended_release_is_told_and_nobody_tries_again() {
    let (app, source, mut release) = upgrading();
    let app = edited(app, |app| app.spec.suspend = true);
    release.status.history[0].status = "failed".to_owned();
    release.status.conditions = says(&[("Released", "False", "UpgradeFailed", "context deadline exceeded")]);
    let mut source = Source { status: fetched(&app, DIGEST_1_2).status, ..source };
    source.status.observed_generation = 2;
    let plan = plan(&app, &world(source, suspended(release)), noon());
    assert_conditions!(plan, { Ready: False/HelmReleaseFailed, Reconciling: True/ChangePending, Degraded: True/HelmReleaseDegraded, Stalled: False/NotStalled });
}

#[test]
fn a_helm_test_that_failed_is_a_failure_also_while_the_release_is_suspended() {
    let (app, known) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    let test =
        [("Released", "True", "InstallSucceeded", ""), ("TestSuccess", "False", "TestFailed", "web-fails")];
    // Flux leaves the last word as it was, or forgets it at its next look and keeps that it has given up.
    let words = [
        ("Ready", "False", "TestFailed", "web-fails"),
        ("Ready", "Unknown", "Progressing", "Fulfilling prerequisites"),
    ];
    let stalled = ("Stalled", "True", "RetriesExceeded", "Failed to install after 1 attempt(s)");
    for ready in words {
        let mut release = suspended(release_of(&known));
        release.status.conditions = says(&[&[ready, stalled][..], &test[..]].concat());
        let plan = plan(&app, &world(source_of(&known), release), noon());
        assert_conditions!(plan, { Ready: False/HelmReleaseFailed, Reconciling: True/ChangePending });
        assert_eq!(ready_message(&plan), "web-fails");
    }
}

#[test]
fn values_that_a_suspended_release_misses_are_waited_for_on_every_look() {
    let (app, known) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let mut release = suspended(release_of(&known));
    release.metadata.generation = Some(3);
    release.status.conditions = says(&[
        ("Ready", "False", "ValuesError", "secrets \"v\" not found"),
        ("Released", "True", "InstallSucceeded", ""),
    ]);
    // Flux leaves its word as it was when a release is suspended.
    release.status.conditions[0].observed_generation = Some(2);
    let known = World { release: Sight::Present(release), ..known };
    let first = plan(&app, &known, noon());
    assert_conditions!(first, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret, Reconciling: True/ChangePending });
    assert_eq!(plan(&after(app, &first), &known, noon()).status.conditions, first.status.conditions);
}

#[test]
fn a_release_that_somebody_deletes_is_not_ready_whatever_it_says() {
    let (app, known) = running();
    let mut release = release_of(&known);
    release.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    release.metadata.generation = Some(2);
    let plan = plan(&app, &World { release: Sight::Present(release), ..known }, noon());
    assert_conditions!(plan, { Ready: False/Upgrading, Reconciling: True/HelmReleaseUpgrading });
    assert!(ready_message(&plan).starts_with("Somebody deleted the HelmRelease"), "{}", ready_message(&plan));
}

#[test]
fn the_correction_of_a_version_that_does_not_exist_is_not_stalled_by_it() {
    let (app, mut source, release) = upgrading();
    source.status.conditions = says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN")]);
    let blocked = plan(&app, &world(source.clone(), release.clone()), noon());
    assert_conditions!(blocked, { Stalled: True/MissingChartSource });
    let corrected = at_version(after(app, &blocked), "1.3.1");
    let plan = plan(&corrected, &world(source, release), noon());
    assert_conditions!(plan, { Blocked: False/Unblocked, Stalled: False/NotStalled, Ready: False/Upgrading });
    assert_eq!(plan.status.last_applied_chart.unwrap().version, "1.3.1");
}

#[test]
fn what_is_left_is_looked_for_only_after_the_release_has_gone() {
    let (app, known) = running();
    let app = deleted(app);
    assert_eq!(
        plan(&app, &known, noon()).temporary_watches,
        [],
        "a watch from now may lag behind what Helm deletes"
    );
    let gone = World { release: Sight::Absent, leftovers: Leftovers::NotYet, ..known };
    let look = plan(&app, &gone, noon());
    assert!(!look.temporary_watches.is_empty());
    assert_eq!(look.finalizer, Finalizer::Hold);
}

#[test]
fn the_end_of_a_look_that_found_nothing_to_do_is_no_upgrade() {
    let (mut app, known) = running();
    let mut release = release_of(&known);
    release.status.conditions.extend(says(&[(
        "Reconciling",
        "True",
        "Progressing",
        "Fulfilling prerequisites",
    )]));
    let known = World { release: Sight::Present(release), ..known };
    assert_conditions!(plan(&app, &known, noon()), { Ready: True/HelmReleaseReady });
    // Also while something else is awaited, so that there is no verdict to keep.
    let status = app.status.as_mut().unwrap();
    status.conditions.set(Ready::Reconciling, "", conditions::Moment { generation: 1, now: noon() });
    assert_conditions!(plan(&app, &known, noon()), { Ready: True/HelmReleaseReady });
}

#[test]
fn a_change_that_was_refused_and_then_taken_is_under_way_and_not_live() {
    let (app, known) = running();
    let app = with_values(app, 3);
    // The API server takes it this time, but the status of the same plan cannot know that.
    let offered = plan(&app, &World { refusals: refusal(), ..known.clone() }, noon());
    assert_conditions!(offered, { Ready: True/HelmReleaseReady, Blocked: True/PolicyDenied });
    assert_eq!(offered.children.len(), 2);
    let app = after(app, &offered);
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    release.metadata.generation = Some(2);
    let next = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(next, { Ready: False/Upgrading, Reconciling: True/HelmReleaseUpgrading });
}

#[test]
fn values_that_are_missing_before_helm_has_begun_damage_nothing() {
    let (app, _) = running();
    let mut made_again = new_release(&app);
    made_again.status.conditions = says(&[("Ready", "False", "ValuesError", "secrets \"v\" not found")]);
    let plan = plan(&app, &world(fetched(&app, DIGEST_1_2), made_again), noon());
    assert_conditions!(plan, { Ready: False/WaitingForSecret, Degraded: False/NotDegraded });
}

#[test]
fn missing_values_are_no_failed_release_although_something_else_blocks_first() {
    let (app, known) = running();
    let mut release = release_of(&known);
    release.status.conditions = says(&[
        ("Ready", "False", "ValuesError", "secrets \"v\" not found"),
        ("Released", "True", "InstallSucceeded", ""),
    ]);
    let known = World { release: Sight::Present(release), refusals: refusal(), ..known };
    let plan = plan(&at_version(app, "1.3.0"), &known, noon());
    assert_conditions!(plan, { Ready: False/WaitingForSecret, Blocked: True/PolicyDenied });
}

#[test]
fn other_values_need_no_registry() {
    let (app, known) = running();
    let app = with_values(app, 3);
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let mut source = fetched(&app, DIGEST_1_2);
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    release.metadata.generation = Some(2);
    let plan = plan(&app, &world(source, release), noon());
    assert_conditions!(plan, { Ready: False/Upgrading, Reconciling: True/HelmReleaseUpgrading });
}

#[test]
fn a_change_that_was_taken_back_does_not_wait_any_more_also_while_flux_looks() {
    let (app, known) = running();
    let paused = |app: &mut ApplicationInstance| {
        app.metadata.annotations =
            Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    };
    let waiting = edited(at_version(app, "1.3.0"), paused);
    let waiting = after(waiting.clone(), &plan(&waiting, &known, noon()));
    let back = at_version(waiting, "1.2.0");
    let mut release = release_of(&known);
    // Not what we know, so that nothing but the former verdict is left.
    release.status.history[0].version = 2;
    release.status.conditions = says(&[
        ("Ready", "Unknown", "Progressing", "Fulfilling prerequisites"),
        ("Released", "True", "InstallSucceeded", ""),
    ]);
    let plan = plan(&back, &World { release: Sight::Present(release), ..known }, noon());
    assert_conditions!(plan, { Ready: True/HelmReleaseReady, Reconciling: False/Stable });
}

#[test]
fn a_check_that_fails_is_an_answer_although_the_chart_is_not_read() {
    let app = instance();
    let artifact = ArtifactRef { url: "http://s/web.tgz".to_owned(), digest: "d".to_owned(), size: None };
    let asked = edited(app.clone(), |app| app.spec.integrations.ingress.enabled = true);
    let known = world(fetched(&app, DIGEST_1_2), released(&app, "1.2.0", DIGEST_1_2));
    let known = World { chart: ChartReading::Pending(artifact), ..known };
    let first = plan(&asked, &known, noon());
    assert_conditions!(first, { Ready: False/EndpointUnreachable, Reconciling: False/Stable });
    assert_eq!(plan(&after(asked, &first), &known, noon()).status.conditions, first.status.conditions);
}

#[test]
fn a_complaint_about_former_values_says_nothing_about_these() {
    let app = instance();
    let mut release = new_release(&app);
    release.metadata.generation = Some(2);
    release.status.conditions = says(&[("Ready", "False", "ValuesError", "secrets \"v\" not found")]);
    release.status.conditions[0].observed_generation = Some(1);
    let told = plan(&app, &world(fetched(&app, DIGEST_1_2), release.clone()), noon());
    assert_conditions!(told, { Ready: False/Installing, Blocked: False/NotBlocked });
    release.status.conditions[0].observed_generation = Some(2);
    let told = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(told, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret });
}

#[test]
fn what_flux_said_is_told_the_same_on_a_second_look_whatever_became_of_the_source() {
    let (app, known) = running();
    let message = "Running 'upgrade' action with timeout of 5m0s";
    let mut release = release_of(&known);
    release.metadata.generation = Some(2);
    release.status.conditions = says(&[
        ("Ready", "False", "SourceNotReady", ""),
        ("Reconciling", "True", "Progressing", message),
        ("Released", "True", "InstallSucceeded", ""),
    ]);
    let mut lost = source_of(&known);
    lost.status.artifact = None;
    lost.status.conditions = says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let mut waiting = release.clone();
    waiting.status.conditions = says(&[("Ready", "False", "ValuesError", "secrets \"v\" not found")]);
    let waiting = world(lost.clone(), waiting);
    let first = plan(&app, &waiting, noon());
    assert_conditions!(first, { Ready: False/WaitingForSecret });
    assert_eq!(
        plan(&after(app.clone(), &first), &waiting, noon()).status.conditions,
        first.status.conditions
    );
    for source in [source_of(&known), lost] {
        let known = world(source, release.clone());
        let first = plan(&app, &known, noon());
        assert_conditions!(first, { Ready: False/Upgrading, Reconciling: True/HelmReleaseUpgrading });
        let second = plan(&after(app.clone(), &first), &known, noon());
        assert_eq!(second.status.conditions, first.status.conditions);
    }
}

#[test]
fn an_instance_that_ends_is_not_degraded_by_a_source_that_answers_again() {
    let (app, known) = running();
    let mut silent = source_of(&known);
    silent.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    silent.status.conditions[0].last_transition_time =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    let silent = world(silent, release_of(&known));
    let later = noon() + jiff::SignedDuration::from_secs(301);
    let app = after(app.clone(), &plan(&app, &silent, later));
    let app = deleted(app);
    let still = plan(&app, &silent, later);
    assert_conditions!(still, { Degraded: True/ChartUnreachable, Deleting: True/Uninstalling });
    // Nobody looks at one of somebody else any more.
    let unseen = World { source: Seen::NotYet, ..silent.clone() };
    assert_conditions!(plan(&after(app.clone(), &still), &unseen, later), { Degraded: True/ChartUnreachable });
    let plan = plan(&after(app, &still), &known, later);
    assert_conditions!(plan, { Degraded: False/Recovered, Deleting: True/Uninstalling });
}

#[test]
fn a_suspended_release_is_not_ready_while_its_source_is_in_motion_as_it_would_not_be_without_the_pause() {
    let (app, known) = running();
    // To another version and back, before source-controller looked.
    let mut source = source_of(&known);
    source.metadata.generation = Some(3);
    let there = at_version(app, "1.3.0");
    let there = after(there.clone(), &plan(&there, &known, noon()));
    let back = at_version(there, "1.2.0");
    let moving = world(source.clone(), release_of(&known));
    let back = after(back.clone(), &plan(&back, &moving, noon()));
    assert_conditions!(plan(&back, &moving, noon()), { Ready: False/Upgrading });
    let paused = world(source, suspended(release_of(&known)));
    let resumed = edited(back, |_| ());
    let first = plan(&resumed, &paused, noon());
    assert_conditions!(first, { Ready: Unknown/Reconciling, Reconciling: True/ChangePending });
}

#[test]
fn a_suspended_release_that_was_made_again_does_not_inherit_that_the_former_one_was_ready() {
    let (app, known) = running();
    let app = edited(app, |app| app.spec.suspend = true);
    // Somebody deleted the release, which the cache did not show yet: suspending it made it anew.
    let first = plan(&app, &known, noon());
    assert_conditions!(first, { Ready: True/HelmReleaseReady, Suspended: True/ManuallySuspended });
    let app = after(app, &first);
    let mut anew = suspended(new_release(&app));
    anew.metadata.uid = Some("another".to_owned());
    let known = World { release: Sight::Present(anew), ..known };
    let told = plan(&app, &known, noon());
    assert_conditions!(told, { Ready: Unknown/Reconciling, Reconciling: True/ChangePending });
}

#[test]
fn the_end_of_a_pause_that_was_refused_and_then_taken_is_no_upgrade() {
    let (app, known) = running();
    let paused = edited(app, |app| app.spec.suspend = true);
    let paused = after(paused.clone(), &plan(&paused, &known, noon()));
    let resumed = edited(paused, |app| app.spec.suspend = false);
    let held = World { release: Sight::Present(suspended(release_of(&known))), ..known.clone() };
    let refused = plan(&resumed, &World { refusals: refusal(), ..held }, noon());
    assert_conditions!(refused, { Ready: True/HelmReleaseReady, Blocked: True/PolicyDenied });
    let mut release = release_of(&known);
    release.metadata.generation = Some(3);
    release.status.observed_generation = 2;
    let taken = plan(&after(resumed, &refused), &World { release: Sight::Present(release), ..known }, noon());
    assert_conditions!(taken, { Ready: True/HelmReleaseReady, Blocked: False/Unblocked });
}

#[test]
fn a_pause_of_a_release_whose_source_is_only_an_address_leaves_it_ready_whatever_else_is_edited() {
    let (app, mut known) = running();
    let Seen::Known(Sight::Present(source)) = &mut known.source else { panic!("no source") };
    source.spec.type_ = "oci".to_owned();
    source.status = Default::default();
    source.metadata.annotations = None;
    let paused = edited(app, |app| app.spec.suspend = true);
    let mut release = suspended(release_of(&known));
    release.metadata.generation = Some(2);
    let known = World { release: Sight::Present(release), ..known };
    let paused = after(paused.clone(), &plan(&paused, &known, noon()));
    let edited = edited(paused, |app| app.spec.deletion_policy = DeletionPolicy::Orphan);
    assert_conditions!(plan(&edited, &known, noon()), { Ready: True/HelmReleaseReady });
}
