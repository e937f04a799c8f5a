//! What a person has to put right before a change goes out.

use serde_json::json;

use super::*;
use crate::controllers::application::observe::Dependency;

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
fn a_referenced_source_must_be_there_and_have_the_version_that_is_asked_for() {
    let mut app = instance();
    let reference =
        json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.2.0"});
    set(&mut app, "chart", reference);
    let look = plan(&app, &World { source: Seen::NotYet, ..empty() }, noon());
    assert_eq!((look.children.len(), look.temporary_watches.len()), (0, 1));
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
fn only_native_storage_is_what_this_operator_cannot_install() {
    let chart = || serde_json::to_value(instance().spec.chart).unwrap();
    let table = [
        ("seaweedfs", json!(null), "True/MissingDependencies"),
        ("seaweedfs", chart(), "False/NotBlocked"),
        ("another", json!(null), "True/InvalidSpec"),
        ("another", chart(), "False/NotBlocked"),
    ];
    for (catalog_id, chart, expected) in table {
        let mut app = instance();
        set(&mut app, "appRef", json!({"catalogId": catalog_id}));
        set(&mut app, "chart", chart.clone());
        let told = told(&plan(&app, &empty(), noon()));
        assert!(told.contains(&format!("Blocked: {expected}")), "{catalog_id} {chart}: {told:?}");
    }
}

#[test]
fn a_source_that_somebody_else_keeps_is_called_by_its_kind() {
    for kind in ["OCIRepository", "HelmRepository"] {
        let mut app = instance();
        let reference = json!({"kind": kind, "name": "charts"});
        set(&mut app, "chart", json!({"sourceRef": reference, "name": "web", "version": "1.2.0"}));
        let world = World { source: Seen::Known(Sight::Absent), ..empty() };
        let said = message(&plan(&app, &world, noon()), "Blocked");
        assert_eq!(said, format!("spec.chart.sourceRef: {kind} charts does not exist in this namespace."));
    }
}

#[test]
fn a_release_that_cannot_be_read_is_not_one_that_is_not_there() {
    let (app, world) = running();
    let world = World { release: Sight::Unreadable("it is nested too deeply".to_owned()), ..world };
    let blocked = plan(&app, &world, noon());
    assert_conditions!(blocked, { Blocked: True/MissingDependencies });
    assert!(message(&blocked, "Blocked").contains("it is nested too deeply"));
    assert_eq!(blocked.children, []);
    let paused = plan(&edited(app, |app| app.spec.suspend = true), &world, noon());
    assert_conditions!(paused, { Suspended: False/Active });
    assert!(message(&paused, "Suspended").contains("it is nested too deeply"));
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
        (Cause::NotInstalled, "Blocked: True/MissingDependencies"),
        (Cause::Owned, "Reconciling: True/ChangePending"),
        (Cause::Invalid, "Reconciling: True/ChangePending"),
        (Cause::StillThere, "Reconciling: True/ChangePending"),
        (Cause::NoNamespace, "Reconciling: True/ChangePending"),
        (Cause::Unavailable, "Reconciling: True/ChangePending"),
    ];
    for (cause, expected) in table {
        let world = World { refusals: vec![refusal(cause)], ..empty() };
        let plan = plan(&instance(), &world, noon());
        assert!(told(&plan).contains(&expected.to_owned()), "{cause:?}: {:?}", told(&plan));
        assert_eq!(plan.children.len(), 2);
    }
}
