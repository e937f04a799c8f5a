use super::*;
use crate::controllers::application::decide::testing::{desired, instance};

#[test]
fn the_chart_name_is_appended_once() {
    let table = [
        ("oci://r.example/charts", "oci://r.example/charts/web"),
        ("oci://r.example/charts/web", "oci://r.example/charts/web"),
        ("oci://r.example/charts/", "oci://r.example/charts/web"),
        ("r.example/charts", "oci://r.example/charts/web"),
    ];
    for (url, expected) in table {
        assert_eq!(oci_url(url, "web"), expected);
    }
}

#[test]
fn an_oci_chart_becomes_a_repository_and_a_release_that_refers_to_it() {
    let app = instance();
    let children = desired(&app).children();
    let [source, release] = children.as_slice() else { panic!("{children:?}") };
    assert_eq!(source.id().to_string(), "OCIRepository shop/web");
    assert_eq!(source.at("/spec/ref/tag").unwrap(), "1.2.0");
    assert_eq!(release.id().to_string(), "HelmRelease shop/web");
    assert_eq!(release.at("/spec/chartRef/kind").unwrap(), "OCIRepository");
    assert_eq!(release.at("/spec/values/replicas").unwrap(), 2);
    assert_eq!(release.at("/spec/suspend"), None);
}

#[test]
fn a_secret_with_values_is_named_and_not_read() {
    let mut app = instance();
    app.spec.values =
        Some(serde_json::from_value(json!({"source": "secretRef", "secretRef": {"name": "v"}})).unwrap());
    let children = desired(&app).children();
    let from = children[1].at("/spec/valuesFrom/0").unwrap();
    assert_eq!(*from, json!({"kind": "Secret", "name": "v", "valuesKey": "values.yaml"}));
}

#[test]
fn a_change_of_values_is_none_of_the_source() {
    let app = instance();
    let mut changed = app.clone();
    changed.spec.values.as_mut().unwrap().inline =
        Some([("replicas".to_owned(), 3.into())].into_iter().collect());
    let [before, after] = [&app, &changed].map(|app| desired(app).children());
    assert_eq!(before[0], after[0], "the source is not written");
    assert_ne!(before[1], after[1]);
    changed.spec.chart.as_mut().unwrap().version = "1.3.0".to_owned();
    assert_ne!(desired(&changed).children()[0], before[0]);
}

#[test]
fn suspending_is_no_change_and_another_version_is() {
    let mut app = instance();
    let change = desired(&app).change().to_owned();
    app.spec.suspend = true;
    assert_eq!(desired(&app).change(), change);
    app.spec.chart.as_mut().unwrap().version = "1.3.0".to_owned();
    assert_ne!(desired(&app).change(), change);
}

/// Whose rights Flux uses is a change like any other: it waits for windows and approvals.
#[test]
fn an_instance_without_an_account_gets_the_one_of_the_flags_as_a_change() {
    let mut app = instance();
    let account = |app: &ApplicationInstance, default: Option<&str>| {
        let desired = DesiredRelease::of(app, &flux_specs(app, default)).unwrap();
        let release = &desired.children()[1];
        (release.at("/spec/serviceAccountName").cloned(), desired.change().to_owned())
    };
    let (none, before) = account(&app, None);
    let (default, after) = account(&app, Some("tenant"));
    assert_eq!((none, default), (None, Some(json!("tenant"))));
    assert_ne!(before, after);
    app.spec.service_account_name = Some("own".to_owned());
    assert_eq!(account(&app, Some("tenant")).0, Some(json!("own")));
    assert_eq!(account(&app, Some("tenant")), account(&app, None), "its own is all that counts");
}

#[test]
fn another_chart_is_a_change_and_the_word_that_it_is_meant_is_none() {
    let mut app = instance();
    let change = desired(&app).change().to_owned();
    app.spec.chart.as_mut().unwrap().replace = Some("web".to_owned());
    assert_eq!(desired(&app).change(), change);
    let reference =
        json!({"sourceRef": {"kind": "OCIRepository", "name": "c"}, "name": "web", "version": "1.2.0"});
    app.spec.chart = Some(serde_json::from_value(reference).unwrap());
    let change = desired(&app).change().to_owned();
    app.spec.chart.as_mut().unwrap().name = "shop".to_owned();
    assert_ne!(desired(&app).change(), change, "also where no child has the name");
}

#[test]
fn a_child_carries_the_whole_digest_and_keeps_it_while_it_is_paused() {
    let app = instance();
    let desired = desired(&app);
    let children = desired.children();
    let [source, release] = children.as_slice() else { panic!("{children:?}") };
    assert_eq!(desired.change().len(), 64);
    assert_eq!(release.annotation(CHANGE.annotation), Some(desired.change()));
    assert_eq!(source.annotation(CHANGE.annotation), None);
    for child in [source, release] {
        assert_eq!(child.annotation(SOURCE.annotation), desired.source());
    }
    let live = crate::controllers::application::decide::testing::new_release(&app);
    let paused = as_it_is(&app, &live, Suspension::On);
    assert_eq!(paused.annotation(CHANGE.annotation), Some(desired.change()));
    assert_eq!(paused.annotation(SOURCE.annotation), desired.source());
}

#[test]
fn the_chart_that_was_approved_is_pinned_as_long_as_the_change_is_asked_for() {
    let mut app = instance();
    let (change, source) = {
        let desired = desired(&app);
        (desired.change().to_owned(), desired.source().map(str::to_owned))
    };
    let approved = |change: &str, chart: Option<&str>| {
        let approved =
            json!({"digest": "d", "change": change, "chartDigest": chart, "time": "2026-01-01T12:00:00Z"});
        Some(serde_json::from_value(json!({ "lastApprovedChange": approved })).unwrap())
    };
    let table = [
        (approved(&change, Some("sha256:12")), json!({"tag": "1.2.0", "digest": "sha256:12"})),
        (approved("another", Some("sha256:12")), json!({"tag": "1.2.0"})),
        (approved(&change, None), json!({"tag": "1.2.0"})),
        (None, json!({"tag": "1.2.0"})),
    ];
    for (status, expected) in table {
        app.status = status;
        let desired = desired(&app);
        assert_eq!(*desired.children()[0].at("/spec/ref").unwrap(), expected);
        assert_eq!(
            (desired.change(), desired.source()),
            (change.as_str(), source.as_deref()),
            "it is the same change"
        );
    }
}

#[test]
fn only_a_chart_of_a_registry_has_a_candidate_and_no_release_refers_to_it() {
    let mut app = instance();
    let own = desired(&app);
    let (candidate, children) = (own.candidate().unwrap(), own.children());
    assert_eq!(candidate.id().to_string(), "OCIRepository shop/web-candidate");
    assert_eq!(candidate.at("/spec"), children[0].at("/spec"));
    assert_eq!(candidate.annotation(SOURCE.annotation), own.source());
    assert_eq!(children[1].at("/spec/chartRef/name").unwrap(), "web");
    for chart in [
        json!({"sourceType": "helm", "url": "https://charts.example", "name": "web", "version": "1.2.0"}),
        json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.2.0"}),
    ] {
        app.spec.chart = Some(serde_json::from_value(chart).unwrap());
        assert_eq!(desired(&app).candidate(), None);
    }
}

#[test]
fn a_null_in_values_reaches_helm() {
    let mut app = instance();
    app.spec.values =
        Some(serde_json::from_value(json!({"source": "inline", "inline": {"a": null}})).unwrap());
    assert_eq!(*desired(&app).children()[1].at("/spec/values").unwrap(), json!({"a": null}));
}

/// An instance that sets everything that Flux is given.
fn with_everything() -> ApplicationInstance {
    let mut app = instance();
    let spec = json!({
        "interval": "1m", "timeout": "7m", "serviceAccountName": "deployer",
        "install": {"timeout": "1m", "retries": 2, "onFailure": "Uninstall"},
        "upgrade": {"timeout": "2m", "retries": 3, "onFailure": "Rollback", "rollbackTimeout": "3m", "cleanupOnFailure": true},
        "uninstall": {"timeout": "4m", "disableHooks": true},
        "tests": {"enabled": true, "timeout": "5m", "ignoreFailures": true},
        "driftDetection": {"mode": "Report", "ignore": [{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}]},
    });
    let mut whole = serde_json::to_value(&app.spec).unwrap();
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let chart = json!({"secretRef": {"name": "login"}, "certSecretRef": {"name": "ca"}, "insecure": true});
    whole["chart"].as_object_mut().unwrap().extend(chart.as_object().unwrap().clone());
    app.spec = serde_json::from_value(whole).unwrap();
    app
}

/// The whole specs: what is left out matters as much as what is there, and a change of it is a change of every release.
#[test]
fn flux_is_given_exactly_this() {
    let mut of_a_repository = with_everything();
    let chart = of_a_repository.spec.chart.as_mut().unwrap();
    (chart.source_type, chart.insecure) = (Some(SourceType::Helm), false);
    chart.url = Some("https://charts.example.org".to_owned());
    of_a_repository.spec.upgrade.on_failure = AfterFailedUpgrade::Keep;
    let cases = [
        ("the least", instance()),
        ("everything", with_everything()),
        ("everything, of a HelmRepository", of_a_repository),
    ];
    let given = cases.map(|(name, app)| {
        let desired = desired(&app);
        let specs = desired.children().iter().map(|child| child.at("/spec").cloned()).collect::<Vec<_>>();
        (name, json!({"specs": specs, "change": desired.change()}))
    });
    let given = serde_json::to_string_pretty(&BTreeMap::from(given)).unwrap() + "\n";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/controllers/application/children/given_to_flux.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &given).unwrap();
    }
    let recorded = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        given, recorded,
        "every release changes with it; if that is meant: UPDATE_GOLDEN=1 cargo test flux_is_given"
    );
}
