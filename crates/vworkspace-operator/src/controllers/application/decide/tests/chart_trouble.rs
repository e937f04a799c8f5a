//! A chart that Flux cannot load although its source complains of nothing.

use jiff::SignedDuration;

use super::*;

const CAUSE: &str = "could not load chart: file 'web-1.2.0.tgz' does not appear to be a gzipped archive";

fn at(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

/// Flux cannot load the chart, and Flux while it looks again.
fn complaints(release: &HelmRelease, reason: &str) -> [HelmRelease; 2] {
    let looks = ("Reconciling", "True", "Progressing", "Fulfilling prerequisites");
    [("False", reason, CAUSE), ("Unknown", "Progressing", "Fulfilling prerequisites")].map(
        |(status, reason, words)| {
            let mut release = release.clone();
            release.status.conditions.retain(|known| known.type_ == "Released");
            release.status.conditions.extend(says(&[("Ready", status, reason, words), looks]));
            release
        },
    )
}

/// What is said, time of the reconcile apart.
fn said(plan: &Plan<ApplicationInstanceStatus>) -> ApplicationInstanceStatus {
    ApplicationInstanceStatus { last_reconcile_time: None, ..plan.status.clone() }
}

#[test]
fn a_chart_that_flux_cannot_load_is_a_trouble_after_a_minute_and_said_the_same_while_flux_looks_again() {
    let first = instance();
    let (second, mut source, upgraded) = upgrading();
    source.status = fetched(&second, DIGEST_1_3).status;
    source.status.observed_generation = 2;
    let behind = Source { status: fetched(&second, DIGEST_1_2).status, ..source.clone() };
    let table = [
        (
            "installation",
            &first,
            fetched(&first, DIGEST_1_2),
            new_release(&first),
            "ArtifactFailed",
            "Unknown/Reconciling",
        ),
        (
            "installation",
            &first,
            fetched(&first, DIGEST_1_2),
            new_release(&first),
            "SourceNotReady",
            "Unknown/Reconciling",
        ),
        ("upgrade", &second, source, upgraded.clone(), "ArtifactFailed", "False/Upgrading"),
        ("a source that is not looked at", &second, behind, upgraded, "SourceNotReady", "False/Upgrading"),
    ];
    for (name, app, source, release, reason, before) in table {
        let [complains, looks] = complaints(&release, reason).map(|release| world(source.clone(), release));
        let mut app = after(app.clone(), &plan(app, &complains, noon()));
        for (seconds, ready) in
            [(0, before), (59, before), (60, "False/ChartUnreachable"), (3600, "False/ChartUnreachable")]
        {
            let told = plan(&app, &complains, at(seconds));
            let conditions = super::told(&told);
            assert!(conditions.contains(&format!("Ready: {ready}")), "{name} at {seconds}: {conditions:?}");
            assert_conditions!(told, { Reconciling: True/ChartSourceSyncing, Stalled: False/NotStalled });
            assert_eq!(told.status.chart_trouble.as_ref().unwrap().since, Time(noon()), "{name}");
            assert_eq!(told.requeue_at, (seconds < 60).then_some(at(60)), "{name} at {seconds}");
            app = after(app, &told);
            for same in [&looks, &complains] {
                let again = plan(&app, same, at(seconds));
                assert_eq!(said(&again), said(&told), "{name} at {seconds}");
                assert_eq!(again.requeue_at, told.requeue_at);
                app = after(app, &again);
            }
        }
        for type_ in ["Ready", "Reconciling"] {
            assert!(message(&plan(&app, &looks, at(3600)), type_).contains("gzipped archive"), "{name}");
        }
    }
}

#[test]
fn the_trouble_is_over_when_flux_begins_and_when_something_else_is_asked_for() {
    let app = instance();
    let source = fetched(&app, DIGEST_1_2);
    let [complains, _] = complaints(&new_release(&app), "ArtifactFailed");
    let complains = world(source.clone(), complains);
    let app = after(app.clone(), &plan(&app, &complains, noon()));
    let app = after(app.clone(), &plan(&app, &complains, at(60)));
    assert!(app.status.as_ref().unwrap().chart_trouble.is_some());

    let running = "Running 'install' action with timeout of 5m0s";
    let mut begun = new_release(&app);
    begun.status.conditions = says(&[
        ("Ready", "Unknown", "Progressing", running),
        ("Reconciling", "True", "Progressing", running),
    ]);
    let begun = plan(&app, &world(source.clone(), begun), at(61));
    assert_conditions!(begun, { Ready: False/Installing, Reconciling: True/HelmReleaseInstalling });
    assert_eq!(begun.status.chart_trouble, None);

    let done = plan(&app, &world(source, released(&app, "1.2.0", DIGEST_1_2)), at(61));
    assert_conditions!(done, { Ready: True/HelmReleaseReady });
    assert_eq!(done.status.chart_trouble, None);

    let other = at_version(app, "1.3.0");
    let handed_over = plan(&other, &complains, at(61));
    assert_eq!(handed_over.status.chart_trouble, None);
    // Also if the operator died before it could say that: the minute is that of the change.
    let mut unsaid = complains.clone();
    let Sight::Present(release) = &mut unsaid.release else { panic!("no release") };
    release.metadata.annotations = new_release(&other).metadata.annotations;
    let mut source = fetched(&other, DIGEST_1_3);
    source.metadata.generation = Some(2);
    unsaid.source = Seen::Known(Sight::Present(source));
    assert_eq!(plan(&other, &unsaid, at(61)).status.chart_trouble.unwrap().since, Time(at(61)));
}

#[test]
fn a_release_that_runs_with_nothing_new_stays_ready_whatever_becomes_of_its_chart() {
    let (app, known) = running();
    let release = known.release.present().unwrap();
    for release in complaints(release, "ArtifactFailed") {
        let known = World { release: Sight::Present(release), ..known.clone() };
        let told = plan(&after(app.clone(), &plan(&app, &known, noon())), &known, at(3600));
        assert_conditions!(told, { Ready: True/HelmReleaseReady, Reconciling: False/Stable });
        assert_eq!(told.status.chart_trouble, None);
    }
}

#[test]
fn a_failure_of_the_source_is_told_in_its_own_words() {
    let app = instance();
    let mut source = fetched(&app, DIGEST_1_2);
    source.status.artifact = None;
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let [complains, _] = complaints(&new_release(&app), "ArtifactFailed");
    let told = plan(&app, &world(source, complains), noon());
    assert_eq!(message(&told, "Ready"), "connection refused");
    assert_eq!(told.status.chart_trouble, None);
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
