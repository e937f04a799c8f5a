mod life;
mod testing;

use serde_json::json;
use vworkspace_api::operation::Failed;

use super::*;
use crate::controllers::operation::engines::Progress;
use testing::*;

#[test]
fn only_what_can_be_changed_is_changed() {
    let chart = |more: Value| json!({"spec": {"chart": more}});
    let values = |values: Value| json!({"spec": {"values": values}});
    let version = json!({"targetVersion": "2.0.0"});
    let patch = json!({"valuesPatch": {"replicas": 2}});
    let secret = json!({"source": "secretRef", "inline": null, "secretRef": {"name": "web-values", "key": "values.yaml"}});
    let map = json!({"source": "configMapRef", "inline": null, "configMapRef": {"name": "web-values", "key": "values.yaml"}});
    let reference = json!({"version": "", "url": null, "sourceType": null, "sourceRef": {"kind": "OCIRepository", "name": "charts"}});
    let table = [
        ("version", json!({}), version.clone(), ""),
        ("values", json!({}), patch.clone(), ""),
        ("values of an instance without", values(Value::Null), patch.clone(), ""),
        ("version, whatever holds the values", values(secret.clone()), version.clone(), ""),
        (
            "no chart",
            chart(Value::Null),
            version.clone(),
            "ApplicationInstance web has no spec.chart; expected one that is installed from a chart",
        ),
        (
            "no version",
            chart(reference),
            version,
            "has no spec.chart.version, OCIRepository charts decides it; expected one that names its version",
        ),
        (
            "a range",
            json!({}),
            json!({"targetVersion": "2.x"}),
            "spec.parameters.targetVersion: found '2.x'; expected an exact version such as 1.2.3",
        ),
        (
            "values in a Secret",
            values(secret),
            patch.clone(),
            "come from Secret web-values (spec.values.secretRef), which no operation changes; expected an instance with inline values",
        ),
        (
            "values in a ConfigMap",
            values(map),
            patch,
            "come from ConfigMap web-values (spec.values.configMapRef)",
        ),
        ("null at the top", json!({}), json!({"valuesPatch": {"replicas": null}}), ""),
        (
            "null below",
            json!({}),
            json!({"valuesPatch": {"image": {"tags": [1, {"a": null}]}}}),
            "spec.parameters.valuesPatch.image.tags[1].a: found null; expected null only at the top level",
        ),
    ];
    for (name, more, parameters, expected) in table {
        let operation = operation(&parameters);
        match upgrade(&operation, &instance(&more)).permission(&operation) {
            Permission::Granted => assert_eq!(expected, "", "{name} is granted"),
            Permission::Refused(why) => {
                assert!(!expected.is_empty() && why.contains(expected), "{name}: {why}");
            }
            Permission::Unseen => panic!("{name}"),
        }
    }
}

#[test]
fn a_version_is_exact_as_the_api_server_has_it() {
    for exact in ["1.2.3", "v1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3+a-b", "1.2.3-a+b", "10.20.30"] {
        assert!(change::is_exact(exact), "{exact}");
    }
    for other in [
        "", "1.2", "1.2.3.4", "1.2.x", "01.2.3", "latest", "1.2.3-", "1.2.3+", ">=1.2.3", "1..3", "1.2.3-ä",
        "vv1.2.3",
    ] {
        assert!(!change::is_exact(other), "{other}");
    }
}

#[test]
fn exactly_what_is_asked_for_is_written() {
    let annotations = json!({"annotations": {
        "ops.vworkspace.io/upgraded-by": UID,
        "ops.vworkspace.io/upgraded-from": r#"{"revision":1,"version":"1.0.0"}"#}});
    let none = json!({"spec": {"values": null}});
    let table = [
        ("version", json!({}), json!({"targetVersion": "2.0.0"}), json!({"chart": {"version": "2.0.0"}})),
        (
            "values, and those that are there stay",
            json!({}),
            json!({"valuesPatch": {"replicas": 2, "greeting": "hi"}}),
            json!({"values": {"inline": {"replicas": 2}}}),
        ),
        (
            "both",
            json!({}),
            json!({"targetVersion": "2.0.0", "valuesPatch": {"new": [1]}}),
            json!({"chart": {"version": "2.0.0"}, "values": {"inline": {"new": [1]}}}),
        ),
        (
            "a value is replaced as a whole",
            json!({}),
            json!({"valuesPatch": {"image": {"tag": "b", "pull": {"policy": "Always"}}}}),
            json!({"values": {"inline": {"image": {"tag": "b", "repository": null, "pull": {"policy": "Always", "secret": null}}}}}),
        ),
        (
            "by one of another kind",
            json!({}),
            json!({"valuesPatch": {"image": "web:b", "greeting": {}}}),
            json!({"values": {"inline": {"image": "web:b", "greeting": {}}}}),
        ),
        (
            "a value is removed",
            json!({}),
            json!({"valuesPatch": {"greeting": null, "absent": null}}),
            json!({"values": {"inline": {"greeting": null}}}),
        ),
        (
            "there were none",
            none,
            json!({"valuesPatch": {"replicas": 2}}),
            json!({"values": {"source": "inline", "inline": {"replicas": 2}}}),
        ),
    ];
    for (name, more, parameters, spec) in table {
        let instance = instance(&more);
        let expected = json!({"metadata": annotations, "spec": spec});
        let expected = Patch::of(&instance, expected.as_object().cloned().unwrap());
        assert_eq!(upgrade(&operation(&parameters), &instance).patches(), [expected], "{name}");
    }
}

#[test]
fn a_merge_of_what_is_written_gives_what_is_asked_for() {
    let patch = json!({"image": {"tag": "b", "pull": {"policy": "Always"}}, "greeting": null, "replicas": {"min": 1}});
    let asked = operation(&json!({ "valuesPatch": patch }));
    let before = instance(&json!({}));
    let spec = change::of(&upgrade(&asked, &before).parameters, &before);
    let mut after = json!(before.spec);
    merge(&mut after, &Value::Object(spec));
    assert_eq!(
        after.pointer("/values/inline"),
        Some(&json!({"image": {"tag": "b", "pull": {"policy": "Always"}}, "replicas": {"min": 1}}))
    );
    let after = ApplicationInstance { spec: serde_json::from_value(after).unwrap(), ..before };
    assert_eq!(change::undone(&upgrade(&asked, &after).parameters, "1.0.0", &after), None);
}

#[test]
fn what_the_instance_says_is_read() {
    let stable = ("Reconciling", "False/Stable", "");
    let ready = ("Ready", "True/HelmReleaseReady", "");
    let failed = ("Ready", "False/HelmReleaseFailed", "deadline exceeded, token=abc");
    let back = (
        "Degraded",
        "True/UpgradeFailed",
        "Rolled back: revision 3 with chart version 1.0.0 runs. deadline exceeded",
    );
    let stalled = ("Stalled", "True/HelmReleaseFailed", "deadline exceeded");
    let upgrading = ("Reconciling", "True/HelmReleaseUpgrading", "Running 'upgrade' action");
    let runs = |words: &str| Some(words.to_owned());
    let table = [
        (
            "not looked at",
            1,
            vec![ready, stable],
            runs("ApplicationInstance web says nothing about generation 2 yet."),
        ),
        (
            "fetching",
            2,
            vec![("Reconciling", "True/ChartSourceSyncing", "Flux is fetching the chart.")],
            runs("ApplicationInstance web is being changed. ChartSourceSyncing: Flux is fetching the chart."),
        ),
        (
            "upgrading",
            2,
            vec![("Ready", "False/Upgrading", ""), upgrading],
            runs("ApplicationInstance web is being changed. HelmReleaseUpgrading: Running 'upgrade' action"),
        ),
        (
            "failed, and tried again",
            2,
            vec![failed, back, upgrading],
            runs("ApplicationInstance web is being changed. HelmReleaseUpgrading: Running 'upgrade' action"),
        ),
        (
            "waits for a window",
            2,
            vec![
                ready,
                (
                    "Reconciling",
                    "True/ChangePending",
                    "The change waits until reconciliation is resumed: see Suspended.",
                ),
                ("Suspended", "True/MaintenanceWindow", "stocktaking until 14:00"),
            ],
            runs(
                "Flux has not been given the change. The change waits until reconciliation is resumed: see Suspended. Suspended: MaintenanceWindow: stocktaking until 14:00",
            ),
        ),
        (
            "waits for an approval",
            2,
            vec![
                ready,
                ("Reconciling", "True/ChangePending", "The change waits: AwaitingApproval: digest x"),
            ],
            runs("Flux has not been given the change. The change waits: AwaitingApproval: digest x"),
        ),
        (
            "a check fails",
            2,
            vec![("Ready", "False/EndpointUnreachable", "no answer"), stable],
            runs("ApplicationInstance web is not Ready. EndpointUnreachable: no answer"),
        ),
        ("no word about Ready", 2, vec![stable], runs("ApplicationInstance web is not Ready.")),
        (
            "ready, with the old version",
            2,
            vec![ready, stable],
            runs("ApplicationInstance web runs 1.0.0, and not yet 2.0.0."),
        ),
        ("rolled back", 2, vec![failed, back, stable, stalled], None),
    ];
    for (name, observed, said, expected) in table {
        let found = begun("2.0.0", &changed("2.0.0", observed, &said, "1.0.0", 1)).state();
        match (found, expected) {
            (State::Running(Progress { message, outputs, since: None, .. }), Some(expected)) => {
                assert_eq!(message, expected, "{name}");
                assert_eq!(Value::Object(outputs), known_outputs(), "{name}");
            }
            (State::Ended(_), None) => {}
            (state, _) => panic!("{name}: {state:?}"),
        }
    }
}

#[test]
fn how_it_ended_is_read() {
    let stable = ("Reconciling", "False/Stable", "");
    let failed = ("Ready", "False/HelmReleaseFailed", "deadline exceeded, token=abc.");
    let back = (
        "Degraded",
        "True/UpgradeFailed",
        "Rolled back: revision 3 with chart version 1.0.0 runs. deadline exceeded.",
    );
    let stalled = ("Stalled", "True/HelmReleaseFailed", "deadline exceeded, token=abc.");
    let missing = ("Stalled", "True/MissingChartSource", "no version 2.0.0");
    let table = [
        (
            "rolled back",
            vec![failed, back, stable, stalled],
            "ApplicationInstance web does not run version 2.0.0 as it was asked to. UpgradeFailed: Rolled back: revision 3 with chart version 1.0.0 runs. deadline exceeded. Released last: version 1.0.0 as revision 1.",
        ),
        (
            "left as it is",
            vec![failed, ("Degraded", "True/HelmReleaseDegraded", "deadline exceeded"), stable, stalled],
            "ApplicationInstance web does not run version 2.0.0 as it was asked to. HelmReleaseFailed: deadline exceeded, token=***. Released last: version 1.0.0 as revision 1.",
        ),
        (
            "no such chart, after an earlier failure",
            vec![("Ready", "True/HelmReleaseReady", ""), back, stable, missing],
            "ApplicationInstance web does not run version 2.0.0 as it was asked to. MissingChartSource: no version 2.0.0. Released last: version 1.0.0 as revision 1.",
        ),
        (
            "rolled back, as it was told before",
            vec![("Ready", "True/HelmReleaseReady", ""), back, stable],
            "ApplicationInstance web does not run version 2.0.0 as it was asked to. UpgradeFailed: Rolled back: revision 3 with chart version 1.0.0 runs. deadline exceeded. Released last: version 1.0.0 as revision 1.",
        ),
    ];
    for (name, said, expected) in table {
        let ending = ended(&begun("2.0.0", &changed("2.0.0", 2, &said, "1.0.0", 1)));
        assert_eq!(
            (ending.outcome, ending.message.as_str()),
            (Outcome::Failed(Failed::EngineFailed), expected),
            "{name}"
        );
        assert_eq!(Value::Object(ending.outputs), known_outputs(), "{name}");
    }
    let said = [("Ready", "True/HelmReleaseReady", ""), stable];
    for version in ["2.0.0", "2.0.0+0123456789ab"] {
        let ending = ended(&begun("2.0.0", &changed("2.0.0", 2, &said, version, 2)));
        assert_eq!(
            (ending.outcome, ending.message.as_str()),
            (Outcome::Succeeded, "ApplicationInstance web runs version 2.0.0 as revision 2.")
        );
        assert_eq!(ending.outputs.get("toRevision"), Some(&json!(2)));
        assert_eq!((ending.since, ending.at), (Some(at(STARTED)), Some(at(SETTLED))));
    }
}

#[test]
fn somebody_elses_edit_ends_it_and_another_change_does_not() {
    let said = [("Reconciling", "True/HelmReleaseUpgrading", "it runs")];
    let asked = operation(&json!({"targetVersion": "2.0.0", "valuesPatch": {"replicas": 2, "old": null}}));
    let good = json!({"greeting": "hi", "replicas": 2});
    let edited = |version: &str, values: &Value, by: &str| {
        let mut edited = changed(version, 5, &said, "1.0.0", 1);
        edited.metadata.generation = Some(5);
        edited.spec.values = serde_json::from_value(values.clone()).unwrap();
        edited.metadata.annotations.as_mut().unwrap().insert(UPGRADED_BY.to_owned(), by.to_owned());
        edited
    };
    let inline = |values: &Value| json!({"source": "inline", "inline": values});
    let elsewhere = json!({"source": "secretRef", "secretRef": {"name": "a", "key": "k"}});
    let table = [
        ("nothing of it", edited("2.0.0", &inline(&good), UID), None),
        (
            "the version",
            edited("1.0.0", &inline(&good), UID),
            Some("spec.chart.version is '1.0.0', not '2.0.0' any more"),
        ),
        (
            "a value",
            edited("2.0.0", &inline(&json!({"replicas": 3})), UID),
            Some("spec.values.inline.replicas has another value"),
        ),
        ("a value is gone", edited("2.0.0", &Value::Null, UID), Some("spec.values.inline.replicas is gone")),
        (
            "a value is back",
            edited("2.0.0", &inline(&json!({"replicas": 2, "old": 1})), UID),
            Some("spec.values.inline.old is there again"),
        ),
        (
            "where values are",
            edited("2.0.0", &elsewhere, UID),
            Some("the values come from Secret a (spec.values.secretRef) now"),
        ),
        (
            "another operation",
            edited("2.0.0", &inline(&good), "another"),
            Some("annotation ops.vworkspace.io/upgraded-by names operation another"),
        ),
    ];
    for (name, found, expected) in table {
        let upgrade = upgrade(&recorded(asked.clone()), &found);
        let Some(expected) = expected else {
            assert!(matches!(upgrade.state(), State::Running(_)), "{name}: {:?}", upgrade.state());
            continue;
        };
        let expected = format!("Somebody else changed ApplicationInstance web meanwhile: {expected}.");
        assert_eq!(ended(&upgrade).message, expected, "{name}");
    }
    let mut going = edited("2.0.0", &inline(&good), UID);
    going.metadata.deletion_timestamp = Some(serde_json::from_value(json!(STARTED)).unwrap());
    assert!(ended(&upgrade(&recorded(asked.clone()), &going)).message.contains("is being deleted"));
    let mut stripped = edited("2.0.0", &inline(&good), UID);
    stripped.metadata.annotations = None;
    assert!(matches!(upgrade(&recorded(asked), &stripped).state(), State::Running(_)), "the operation knows");
}

#[test]
fn of_values_alone_the_version_is_the_one_that_there_was() {
    let values = operation(&json!({"valuesPatch": {"replicas": 2}}));
    let mut found = changed("1.0.0", 1, &[], "1.0.0", 1);
    found.spec.values =
        serde_json::from_value(json!({"source": "inline", "inline": {"replicas": 2}})).unwrap();
    let State::Running(Progress { outputs, .. }) = upgrade(&values, &found).state() else { panic!() };
    let expected = json!({"fromVersion": "1.0.0", "fromRevision": 1, "toVersion": "1.0.0", "generation": 2});
    assert_eq!(Value::Object(outputs), expected);
    found.spec.chart.as_mut().unwrap().version = "1.1.0".to_owned();
    assert!(ended(&upgrade(&values, &found)).message.contains("spec.chart.version is '1.1.0'"));
}

#[test]
fn a_cache_that_is_behind_says_nothing() {
    let old = instance(&json!({}));
    let behind = begun("2.0.0", &old);
    assert!(matches!(behind.state(), State::Unknown(_)), "{:?}", behind.state());
    for unseen in [Sight::Unknown("forbidden".to_owned()), Sight::Unreadable("odd".to_owned())] {
        let asked = recorded(operation(&json!({"targetVersion": "2.0.0"})));
        assert!(matches!(of(&asked, unseen).state(), State::Unknown(_)));
    }
}
