//! A Helm action that failed: retried, given up, rolled back.

use super::*;

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
    let temporary_watches = World { drift, ..world(source.clone(), release.clone()) };
    assert_conditions!(plan(&app, &temporary_watches, noon()), { Ready: False/HelmReleaseFailed, Degraded: True/UpgradeFailed });
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
