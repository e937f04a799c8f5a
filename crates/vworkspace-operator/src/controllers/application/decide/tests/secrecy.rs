//! Whose secrets a quoted message can hold: those of the release it speaks of, which need not be the one asked for now.

use serde_json::json;

use super::*;

const LEAK: &str = "Helm upgrade failed for release shop/web: invalid token \"hunter2\"";

fn inline(app: ApplicationInstance) -> ApplicationInstance {
    edited(app, |app| set(app, "values", json!({"source": "inline", "inline": {"replicas": 4}})))
}

fn paused(app: ApplicationInstance) -> ApplicationInstance {
    edited(app, |app| {
        let mark = ("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned());
        app.metadata.annotations = Some([mark].into());
    })
}

fn leaks(plan: &Plan<ApplicationInstanceStatus>) -> bool {
    serde_json::to_string(&plan.status).unwrap().contains("hunter2")
}

/// As it is handed over for an instance.
fn with_desired_digests(app: &ApplicationInstance, mut release: HelmRelease) -> HelmRelease {
    let children = desired(app).children();
    release.spec = children.last().unwrap().at("/spec").unwrap().clone();
    release.metadata.annotations = new_release(app).metadata.annotations;
    release
}

/// An instance with values from a Secret, whose release failed with words that quote them.
fn failed() -> (ApplicationInstance, World) {
    let (app, known) = running();
    let values = json!({"source": "secretRef", "secretRef": {"name": "v", "key": "prod.yaml"}});
    let app = edited(app, |app| set(app, "values", values));
    let handed_over = plan(&app, &known, noon());
    assert!(handed_over.status.secret_values, "said together with handing it over");
    let app = after(app, &handed_over);
    let mut release = with_desired_digests(&app, released(&app, "1.2.0", DIGEST_1_2));
    release.status.history[0].status = "failed".to_owned();
    release.status.conditions = says(&[
        ("Ready", "False", "UpgradeFailed", LEAK),
        ("Released", "False", "UpgradeFailed", LEAK),
        ("Stalled", "True", "RetriesExceeded", "Failed to upgrade after 1 attempt(s)"),
    ]);
    let known = world(fetched(&app, DIGEST_1_2), release);
    let told = plan(&app, &known, noon());
    assert!(!leaks(&told) && message(&told, "Ready").contains("invalid token \"***\""), "{told:?}");
    (after(app, &told), known)
}

/// The same after values without secrets were handed over, which Flux has not tried yet.
fn handed_over() -> (ApplicationInstance, World) {
    let (app, known) = failed();
    let app = inline(app);
    let app = after(app.clone(), &plan(&app, &known, noon()));
    let mut release = with_desired_digests(&app, known.release.present().unwrap().clone());
    release.metadata.generation = Some(2);
    (app, World { release: Sight::Present(release), ..known })
}

fn with_release(known: &World, edit: impl FnOnce(&mut HelmRelease)) -> World {
    let mut release = known.release.present().unwrap().clone();
    edit(&mut release);
    World { release: Sight::Present(release), ..known.clone() }
}

#[test]
fn words_about_the_release_that_is_there_are_told_without_its_secrets_while_other_values_wait() {
    let (app, known) = failed();
    let told = plan(&paused(inline(app)), &known, noon());
    assert_conditions!(told, { Ready: False/HelmReleaseFailed, Reconciling: True/ChangePending });
    assert!(!leaks(&told), "{told:?}");
    assert!(told.status.secret_values);
}

#[test]
fn words_about_the_release_before_are_told_without_its_secrets_until_another_succeeds() {
    let (app, known) = handed_over();
    let mut fetching = known.clone();
    let Seen::Known(Sight::Present(source)) = &mut fetching.source else { panic!("no source") };
    source.metadata.generation = Some(2);
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let suspended = with_release(&known, |release| release.spec["suspend"] = true.into());
    let refused = "denied the request: \"hunter2\"".to_owned();
    let refusal = Refusal {
        object: "HelmRelease shop/web".to_owned(),
        deed: Deed::Make,
        cause: Cause::Forbidden,
        message: refused,
    };
    let table = [
        ("not yet attempted", app.clone(), known.clone()),
        ("suspended before it was", edited(app.clone(), |app| app.spec.suspend = true), suspended),
        ("what failed before a chart that cannot be fetched", app.clone(), fetching),
        (
            // The result of the generation before is written with the number of this one.
            "attempted, with the former result",
            app.clone(),
            with_release(&known, |release| {
                (release.status.last_attempted_generation, release.status.observed_generation) = (2, 2);
            }),
        ),
        (
            "a pause that is refused",
            edited(app.clone(), |app| app.spec.suspend = true),
            World { refusals: vec![refusal.clone()], ..known.clone() },
        ),
        ("a child that is refused", app.clone(), World { refusals: vec![refusal], ..known.clone() }),
        (
            "deleted",
            deleted(app.clone()),
            with_release(&known, |release| {
                release.metadata.deletion_timestamp = Some(Time(noon()));
                release.status.conditions = says(&[("Ready", "False", "UninstallFailed", LEAK)]);
            }),
        ),
    ];
    for (name, app, world) in table {
        let told = plan(&app, &world, noon());
        assert!(!leaks(&told), "{name}: {:?}", told.status.conditions);
        assert!(told.status.secret_values, "{name}");
    }
}

#[test]
fn a_success_without_secrets_ends_it() {
    let (app, known) = handed_over();
    let success = with_release(&known, |release| {
        release.status = released(&app, "1.2.0", DIGEST_1_2).status;
        release.status.history[0].version = 2;
        (release.status.observed_generation, release.status.last_attempted_generation) = (2, 2);
    });
    let told = plan(&app, &success, noon());
    assert_conditions!(told, { Ready: True/HelmReleaseReady });
    assert!(!told.status.secret_values);
    let app = after(app, &told);
    let failed = with_release(&success, |release| {
        let words = "execution error at (web/x.yaml:1:2): replicas is \"four\"";
        release.status.conditions = says(&[
            ("Ready", "False", "UpgradeFailed", words),
            ("Released", "False", "UpgradeFailed", words),
        ]);
    });
    assert!(
        message(&plan(&app, &failed, noon()), "Ready").contains("\"four\""),
        "everybody reads these values"
    );
}

#[test]
fn the_success_of_a_release_with_secrets_does_not_end_it() {
    let (app, known) = failed();
    let success = with_release(&known, |release| release.status = released(&app, "1.2.0", DIGEST_1_2).status);
    assert!(plan(&app, &success, noon()).status.secret_values);
    // Nor while the next change waits.
    assert!(plan(&paused(inline(app)), &success, noon()).status.secret_values);
}

#[test]
fn words_about_a_release_of_which_nothing_is_known_are_not_quoted() {
    let (mut app, known) = handed_over();
    app.status = None;
    let attempted = with_release(&known, |release| {
        (release.status.last_attempted_generation, release.status.observed_generation) = (2, 2);
    });
    let told = plan(&app, &attempted, noon());
    assert_conditions!(told, { Ready: False/HelmReleaseFailed });
    assert!(!leaks(&told), "{told:?}");
}

#[test]
fn the_secret_of_the_release_that_is_there_is_named_while_other_values_wait() {
    let (app, known) = failed();
    let missing = "could not resolve Secret chart values reference 'shop/v' with key 'prod.yaml': secrets \"v\" not found";
    let known = with_release(&known, |release| {
        release.status.conditions = says(&[("Ready", "False", "ValuesError", missing)]);
    });
    let told = plan(&paused(inline(app)), &known, noon());
    assert_conditions!(told, { Ready: False/WaitingForSecret });
    assert_eq!(message(&told, "Blocked"), missing);
}
