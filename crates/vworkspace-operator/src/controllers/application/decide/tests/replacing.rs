//! Another chart, which Flux installs only after it has uninstalled the release that runs.

use serde_json::json;

use super::*;

fn named(app: ApplicationInstance, name: &str, replace: Option<&str>) -> ApplicationInstance {
    edited(app, |app| {
        let chart = app.spec.chart.as_mut().unwrap();
        (chart.name, chart.replace) = (name.to_owned(), replace.map(str::to_owned));
    })
}

#[test]
fn another_chart_goes_out_only_if_the_same_change_says_that_it_replaces_what_runs() {
    let (app, known) = running();
    let table = [
        ("web", None, true),
        ("web", Some("web"), true),
        ("shop", None, false),
        ("shop", Some("web"), false),
        ("shop", Some("shop"), true),
    ];
    for (name, replace, goes_out) in table {
        let told = plan(&named(app.clone(), name, replace), &known, noon());
        assert_eq!(told.children.is_empty(), !goes_out, "{name} {replace:?}");
        let applied = told.status.last_applied_chart.as_ref().unwrap();
        assert_eq!(applied.name, if goes_out { name } else { "web" });
        if !goes_out {
            assert_conditions!(told, { Ready: True/HelmReleaseReady, Blocked: True/InvalidSpec, Stalled: True/InvalidSpec });
            let words = message(&told, "Blocked");
            assert!(words.contains("spec.chart.name was 'web' and is now 'shop'"), "{words}");
            assert!(words.contains("set spec.chart.replace to 'shop'"), "{words}");
        }
    }
}

#[test]
fn what_was_replaced_needs_no_word_any_more() {
    let (app, known) = running();
    let replaced = named(app, "shop", Some("shop"));
    let handed_over = plan(&replaced, &known, noon());
    let plain = named(after(replaced.clone(), &handed_over), "shop", None);
    assert_conditions!(plan(&plain, &known, noon()), { Blocked: False/NotBlocked });
    // Also if the operator died before it could say that it was handed over.
    let with_flux = world(fetched(&replaced, DIGEST_1_2), released(&replaced, "1.2.0", DIGEST_1_2));
    let unsaid = named(replaced, "shop", None);
    let told = plan(&unsaid, &with_flux, noon());
    assert_conditions!(told, { Blocked: False/NotBlocked });
    assert_eq!(told.status.last_applied_chart.unwrap().name, "shop");
}

#[test]
fn a_referenced_source_must_point_to_the_chart_and_by_its_tag_to_the_version_that_are_asked_for() {
    let mut app = instance();
    let reference = json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.2.0+a"});
    set(&mut app, "chart", reference);
    let here = "oci://registry.example/charts/web";
    let table = [
        (here, json!({"tag": "1.2.0_a"}), None),
        ("oci://registry.example/charts/web/", json!({"tag": "1.2.0_a"}), None),
        (
            "oci://registry.example/charts/shop",
            json!({"tag": "1.2.0_a"}),
            Some("points to oci://registry.example/charts/shop; expected an address that ends in /web"),
        ),
        (
            "oci://registry.example/charts/myweb",
            json!({"tag": "1.2.0_a"}),
            Some("expected an address that ends in /web"),
        ),
        (here, json!({"tag": "1.1.0"}), Some("points to tag 1.1.0; expected tag 1.2.0_a")),
        (here, json!({}), Some("points to no tag; expected tag 1.2.0_a")),
        (
            here,
            json!({"tag": "1.2.0_a", "semver": ">=1.0.0"}),
            Some("has ref.semver >=1.0.0, which Flux takes before ref.tag; expected only ref.tag 1.2.0_a"),
        ),
        (
            here,
            json!({"tag": "1.2.0_a", "digest": DIGEST_1_2, "semver": "1.x"}),
            Some("has ref.digest sha256:12, which Flux takes before ref.tag; expected only ref.tag 1.2.0_a"),
        ),
    ];
    for (url, reference, refused) in table {
        let mut source = Source::default();
        source.spec.url = url.to_owned();
        source.spec.reference = serde_json::from_value(reference.clone()).unwrap();
        let told = plan(&app, &World { source: Seen::Known(Sight::Present(source)), ..empty() }, noon());
        assert_eq!(told.children.is_empty(), refused.is_some(), "{url} {reference}");
        if let Some(words) = refused {
            assert_conditions!(told, { Blocked: True/MissingChartSource });
            assert!(message(&told, "Blocked").contains(words), "{}", message(&told, "Blocked"));
        }
    }
}
