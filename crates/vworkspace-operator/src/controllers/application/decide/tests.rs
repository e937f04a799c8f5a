//! The life of an instance, situation by situation.

macro_rules! assert_conditions {
    ($plan:expr, { $($type_:ident: $status:ident / $reason:ident),+ $(,)? }) => {{
        let told = told(&$plan);
        for wanted in [$(concat!(stringify!($type_), ": ", stringify!($status), "/", stringify!($reason))),+] {
            assert!(told.iter().any(|known| known == wanted), "no {wanted} in {told:?}");
        }
    }};
}

mod approvals;
mod blocking;
mod chart_trouble;
mod degrading;
mod deletion;
mod explored;
mod flux_looks_again;
mod pausing;
mod readiness;
mod replacing;
mod secrecy;
mod unlisted;

use operator_kit::{Cause, Refusal, Sight};

use super::testing::{
    DIGEST_1_2, DIGEST_1_3, after, at_version, edited, empty, fetched, instance, new_release, noon, released,
    revision, rules, says, told, world,
};
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::catalog_policy::CatalogPolicy;
use crate::controllers::application::observe::Drift;
use crate::flux::{HelmRelease, Source};

fn plan(
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Plan<ApplicationInstanceStatus, Question> {
    super::plan(app, world, &rules(), now)
}

/// An instance whose version 1.2.0 runs and was reported.
fn running() -> (ApplicationInstance, World) {
    let app = instance();
    let world = world(fetched(&app, DIGEST_1_2), released(&app, "1.2.0", DIGEST_1_2));
    let plan = plan(&app, &world, noon());
    (after(app, &plan), world)
}

/// The same with another field of the spec.
fn with(field: &str, value: serde_json::Value) -> (ApplicationInstance, World) {
    let (app, world) = running();
    (edited(app, |app| set(app, field, value)), world)
}

fn set(app: &mut ApplicationInstance, field: &str, value: serde_json::Value) {
    let mut spec = serde_json::to_value(&app.spec).unwrap();
    spec[field] = value;
    app.spec = serde_json::from_value(spec).unwrap();
}

fn message(plan: &Plan<ApplicationInstanceStatus, Question>, type_: &str) -> String {
    plan.status.conditions.get(type_).unwrap().message.clone()
}

/// The same after version 1.3.0 was asked for and handed to Flux, which has not noticed.
fn upgrading() -> (ApplicationInstance, Source, HelmRelease) {
    let (app, _) = running();
    let app = at_version(app, "1.3.0");
    let app = after(app.clone(), &plan(&app, &running().1, noon()));
    let mut source = fetched(&app, DIGEST_1_2);
    source.metadata.generation = Some(2);
    let release = released(&app, "1.2.0", DIGEST_1_2);
    (app, source, release)
}

#[test]
fn the_release_is_named_from_the_moment_that_it_goes_out() {
    let app = instance();
    assert!(plan(&app, &empty(), noon()).status.helm_release_ref.is_some());
    let waits = edited(app, |app| app.spec.suspend = true);
    assert_eq!(plan(&waits, &empty(), noon()).status.helm_release_ref, None, "there is none yet");
    let (app, known) = running();
    let runs = plan(&app, &known, noon());
    assert!(runs.status.helm_release_ref.is_some());
    let message = |plan: &Plan<ApplicationInstanceStatus, Question>| {
        plan.status.conditions.get("Ready").unwrap().message.clone()
    };
    assert_eq!(message(&runs), "Chart version 1.2.0 is released as revision 1.");
    // Suspended before Flux has looked at it.
    let app = edited(instance(), |app| app.spec.suspend = true);
    let mut release = new_release(&app);
    release.spec = serde_json::json!({"suspend": true});
    let halted = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_eq!(message(&halted), "The release was suspended before Flux was done with it.");
}

#[test]
fn every_condition_is_there_from_the_first_visit() {
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
    let order = Order::of(&app).unwrap();
    let (change, label) = (order.change(), order.change().get(..16).unwrap());
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
fn a_first_installation_that_failed_for_good_is_failed_and_stalled() {
    let app = instance();
    let mut release = released(&app, "1.2.0", DIGEST_1_2);
    release.status.history[0].status = "failed".to_owned();
    release.status.conditions = says(&[
        ("Ready", "Unknown", "Progressing", "Fulfilling prerequisites"),
        ("Released", "False", "InstallFailed", "context deadline exceeded"),
        ("Stalled", "True", "RetriesExceeded", "Failed to install after 2 attempt(s)"),
    ]);
    let plan = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(plan, { Ready: False/HelmReleaseFailed, Reconciling: False/Stable,
        Degraded: False/NotDegraded, Stalled: True/HelmReleaseFailed });
    assert_eq!(plan.status.conditions.get("Ready").unwrap().message, "context deadline exceeded");
}

#[test]
fn a_failure_that_is_retried_is_failed_and_not_stalled_also_during_the_retry() {
    let app = instance();
    let retry = "Running 'install' action with timeout of 5m0s";
    let table = [
        ("it has just failed", vec![("Ready", "False", "InstallFailed", "boom")]),
        (
            "between two tries",
            vec![
                ("Ready", "Unknown", "Progressing", ""),
                ("Reconciling", "True", "ProgressingWithRetry", ""),
            ],
        ),
        (
            "during the next",
            vec![("Ready", "Unknown", "Progressing", retry), ("Reconciling", "True", "Progressing", retry)],
        ),
    ];
    for (name, mut conditions) in table {
        conditions.push(("Released", "False", "InstallFailed", "boom"));
        let mut release = released(&app, "1.2.0", DIGEST_1_2);
        release.status.history.clear();
        release.status.failures = 1;
        release.status.conditions = says(&conditions);
        let plan = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
        println!("{name}");
        assert_conditions!(plan, { Ready: False/HelmReleaseFailed, Reconciling: True/HelmReleaseInstalling, Stalled: False/NotStalled });
    }
}

#[test]
fn an_upgrade_that_flux_rolled_back_is_degraded_not_ready() {
    let (app, mut source, mut release) = upgrading();
    source.status = fetched(&app, DIGEST_1_3).status;
    source.status.observed_generation = 2;
    release.status.last_attempted_revision_digest = DIGEST_1_3.to_owned();
    release.status.history =
        vec![revision(3, "1.2.0", DIGEST_1_2, "deployed"), revision(2, "1.3.0", DIGEST_1_3, "failed")];
    release.status.conditions = says(&[
        ("Ready", "False", "RollbackSucceeded", "Helm rollback succeeded"),
        ("Released", "False", "UpgradeFailed", "context deadline exceeded"),
        ("Remediated", "True", "RollbackSucceeded", ""),
        ("Stalled", "True", "RetriesExceeded", ""),
    ]);
    let failed = plan(&app, &world(source.clone(), release.clone()), noon());
    assert_conditions!(failed, { Ready: False/HelmReleaseFailed, Degraded: True/UpgradeFailed, Reconciling: False/Stable, Stalled: True/HelmReleaseFailed });
    assert!(failed.status.conditions.get("Degraded").unwrap().message.contains("1.2.0 runs"));

    let app = after(app, &failed);
    // Flux looks again: what weighs less does not come to the front until it has found something.
    release.status.conditions = says(&[
        ("Ready", "Unknown", "Progressing", ""),
        ("Released", "False", "UpgradeFailed", "context deadline exceeded"),
        ("Remediated", "True", "RollbackSucceeded", ""),
    ]);
    let drift = Some(Drift { seen_at: noon(), message: "ConfigMap/shop/web changed".to_owned() });
    let looking = World { drift, ..world(source.clone(), release.clone()) };
    assert_conditions!(plan(&app, &looking, noon()), { Ready: False/HelmReleaseFailed, Degraded: True/UpgradeFailed });
    // Nor is it forgotten while the next version cannot be fetched.
    let mut silent = fetched(&app, DIGEST_1_3);
    silent.metadata.generation = Some(3);
    silent.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    silent.status.conditions[0].last_transition_time = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
    let silent = World { drift: None, ..world(silent, release.clone()) };
    assert_conditions!(plan(&app, &silent, noon()), { Ready: False/ChartUnreachable, Degraded: True/UpgradeFailed });
    release.status = released(&app, "1.3.0", DIGEST_1_3).status;
    let recovered = plan(&app, &world(source, release), noon());
    assert_conditions!(recovered, { Ready: True/HelmReleaseReady, Degraded: False/Recovered, Stalled: False/NotStalled });
}

#[test]
fn a_stall_of_the_previous_generation_says_nothing_about_this_one() {
    let (app, mut source, mut release) = upgrading();
    source.status.observed_generation = 2;
    release.metadata.generation = Some(2);
    release.status.conditions =
        says(&[("Stalled", "True", "RetriesExceeded", ""), ("Ready", "Unknown", "Progressing", "")]);
    let plan = plan(&app, &world(source, release), noon());
    assert_conditions!(plan, { Ready: False/Upgrading, Stalled: False/NotStalled });
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
fn without_flux_an_instance_is_blocked_and_says_what_is_missing() {
    let world = World { release: Sight::NotInstalled, ..empty() };
    let blocked = plan(&instance(), &world, noon());
    assert_conditions!(blocked, { Ready: False/Blocked, Blocked: True/MissingDependencies, Reconciling: True/ChangePending });
    assert_eq!(blocked.children, []);
    let unblocked = plan(&after(instance(), &blocked), &empty(), noon());
    assert_conditions!(unblocked, { Blocked: False/Unblocked });
}

#[test]
fn a_version_that_does_not_exist_is_blocked_for_good() {
    let app = instance();
    let mut source = fetched(&app, DIGEST_1_2);
    source.status.artifact = None;
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN: manifest unknown")]);
    let plan = plan(&app, &world(source, new_release(&app)), noon());
    assert_conditions!(plan, { Ready: False/Blocked, Blocked: True/MissingChartSource, Stalled: True/MissingChartSource });
    assert_eq!(plan.children.len(), 2);
}

#[test]
fn a_new_version_that_does_not_exist_blocks_the_change_although_the_old_artifact_is_still_there() {
    let (app, mut source, release) = upgrading();
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN: manifest unknown")]);
    let plan = plan(&app, &world(source, release), noon());
    assert_conditions!(plan, { Ready: False/ChartUnreachable, Blocked: True/MissingChartSource, Stalled: True/MissingChartSource, Degraded: False/NotDegraded });
}

#[test]
fn a_failure_to_fetch_the_previous_version_says_nothing_about_this_one() {
    let (app, mut source, release) = upgrading();
    source.status.conditions = says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN")]);
    source.status.conditions[0].observed_generation = Some(1);
    let plan = plan(&app, &world(source, release), noon());
    assert_conditions!(plan, { Ready: False/Upgrading, Reconciling: True/ChartSourceSyncing, Blocked: False/NotBlocked });
}

#[test]
fn values_that_are_missing_do_not_degrade_what_runs() {
    let (app, known) = running();
    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.status.conditions = says(&[
        ("Ready", "False", "ValuesError", "secrets \"v\" not found"),
        ("Released", "True", "InstallSucceeded", ""),
    ]);
    let plan = plan(&app, &World { release: Sight::Present(release), ..known }, noon());
    assert_conditions!(plan, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret, Degraded: False/NotDegraded });
}

#[test]
fn a_registry_that_does_not_answer_is_no_stall_and_a_running_release_stays_ready() {
    let app = instance();
    let failing = says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let mut source = fetched(&app, DIGEST_1_2);
    (source.status.artifact, source.status.conditions) = (None, failing.clone());
    let first = plan(&app, &world(source, new_release(&app)), noon());
    assert_conditions!(first, { Ready: False/ChartUnreachable, Reconciling: True/ChartSourceSyncing, Stalled: False/NotStalled });

    let (app, world) = running();
    let Seen::Known(Sight::Present(mut source)) = world.source.clone() else { panic!("no source") };
    source.status.conditions = failing;
    let world = World { source: Seen::Known(Sight::Present(source)), ..world };
    assert_conditions!(plan(&app, &world, noon()), { Ready: True/HelmReleaseReady });
}

#[test]
fn a_missing_values_secret_is_named_and_broken_values_are_not_quoted() {
    let app = instance();
    let mut release = new_release(&app);
    let missing = "could not resolve Secret chart values reference 'shop/v': secrets \"v\" not found";
    release.status.conditions = says(&[("Ready", "False", "ValuesError", missing)]);
    let waiting = plan(&app, &world(fetched(&app, DIGEST_1_2), release.clone()), noon());
    assert_conditions!(waiting, { Ready: False/WaitingForSecret, Blocked: True/MissingSecret, Stalled: False/NotStalled });

    release.status.conditions =
        says(&[("Ready", "False", "ValuesError", "error converting YAML: password: hunter2")]);
    let broken = plan(&app, &world(fetched(&app, DIGEST_1_2), release), noon());
    assert_conditions!(broken, { Ready: False/HelmReleaseFailed });
    assert!(!serde_json::to_string(&broken.status).unwrap().contains("hunter2"));
}

#[test]
fn a_child_that_is_refused_is_told_and_offered_again() {
    let refusal = |cause| Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Make,
        cause,
        message: "no".to_owned(),
    };
    let table = [
        (Cause::Forbidden, "Blocked: True/PolicyDenied"),
        (Cause::Owned, "Reconciling: True/ChangePending"),
        (Cause::Unavailable, "Reconciling: True/ChangePending"),
    ];
    for (cause, expected) in table {
        let world = World { refusals: vec![refusal(cause)], ..empty() };
        let plan = plan(&instance(), &world, noon());
        assert!(told(&plan).contains(&expected.to_owned()), "{cause:?}: {:?}", told(&plan));
        assert_eq!(plan.children.len(), 2);
    }
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

fn deleted(mut app: ApplicationInstance) -> ApplicationInstance {
    app.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    app
}
