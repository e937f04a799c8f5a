//! What stands while Flux is between two looks, and when it is asked for one.

use serde_json::json;

use super::*;
use crate::controllers::application::observe::Version;

#[test]
fn flux_is_asked_again_when_the_missing_secret_comes_and_when_the_user_wants_another_try() {
    let mut app = instance();
    set(&mut app, "values", json!({"source": "secretRef", "secretRef": {"name": "v"}}));
    let mut release = new_release(&app);
    let missing = "could not resolve Secret chart values reference 'shop/v' with key 'values.yaml': secrets \"v\" not found";
    release.status.conditions = says(&[("Ready", "False", "ValuesError", missing)]);
    let waiting = world(fetched(&app, DIGEST_1_2), release);
    let first = plan(&app, &waiting, noon());
    assert_eq!(
        (first.temporary_watches.len(), first.reconcile_requests.len()),
        (1, 0),
        "it is watched, and not there"
    );

    let there = Version { uid: "s".to_owned(), resource_version: "7".to_owned() };
    let found = plan(&app, &World { values_object: Some(there), ..waiting.clone() }, noon());
    let marks = |plan: &Plan<ApplicationInstanceStatus>| format!("{:?}", plan.reconcile_requests);
    let values = r#"{"reconcile.fluxcd.io/requestedAt": "values-s-7"}"#;
    assert!(found.reconcile_requests.len() == 1 && marks(&found).contains(values), "{}", marks(&found));

    app.metadata.annotations = Some([("apps.vworkspace.io/retry".to_owned(), "1".to_owned())].into());
    let retried = plan(&app, &waiting, noon());
    let both = r#"{"reconcile.fluxcd.io/requestedAt": "1", "reconcile.fluxcd.io/resetAt": "1"}"#;
    assert!(retried.reconcile_requests.len() == 1 && marks(&retried).contains(both), "{}", marks(&retried));
    let Sight::Present(mut release) = waiting.release.clone() else { panic!("no release") };
    release.metadata.annotations = Some([("reconcile.fluxcd.io/resetAt".to_owned(), "1".to_owned())].into());
    let handled = World { release: Sight::Present(release), ..waiting };
    assert_eq!(plan(&app, &handled, noon()).reconcile_requests, [], "once");
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
fn values_that_are_missing_are_missing_while_flux_looks_again() {
    let mut app = instance();
    set(&mut app, "values", json!({"source": "secretRef", "secretRef": {"name": "v"}}));
    let mut release = new_release(&app);
    release.status.conditions = says(&[("Ready", "False", "ValuesError", "secrets \"v\" not found")]);
    let first = plan(&app, &world(fetched(&app, DIGEST_1_2), release.clone()), noon());
    assert_conditions!(first, { Blocked: True/MissingSecret, Ready: False/WaitingForSecret });
    let looks = [("Ready", "Unknown", "Progressing", "Fulfilling prerequisites")];
    release.status.conditions = says(&looks);
    release.status.observed_generation = -1;
    let looking = world(fetched(&app, DIGEST_1_2), release);
    let again = plan(&after(app.clone(), &first), &looking, noon());
    assert_conditions!(again, { Blocked: True/MissingSecret, Ready: False/WaitingForSecret });
    // What was said of another spec says nothing of this one.
    let changed = edited(after(app.clone(), &first), |app| app.spec.timeout = app.spec.interval);
    let told = told(&plan(&changed, &looking, noon()));
    assert!(!told.iter().any(|said| said.contains("MissingSecret")), "{told:?}");
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
    assert_eq!(
        message(&away, "Reconciling"),
        "Flux tries again: the API server is away",
        "nothing was begun"
    );
    assert_eq!(message(&still, "Reconciling"), message(&away, "Reconciling"), "nothing is news");
    let back = plan(&after(app, &again), &with_ready("True", "InstallSucceeded", "installed"), noon());
    assert_conditions!(back, { Ready: True/HelmReleaseReady, Blocked: False/Unblocked });
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
