use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::operation::{Approvals, Policy, TEMPLATES, TargetRef};

fn spec(template: &str, parameters: Map<String, Value>) -> OperationSpec {
    let template = Template::named(template).expect("a template");
    OperationSpec {
        target_ref: TargetRef {
            api_version: "apps.vworkspace.io/v1alpha1".into(),
            kind: "ApplicationInstance".into(),
            name: "shop".into(),
        },
        type_: template.type_,
        engine: template.engine,
        parameters,
        approvals: Approvals::default(),
        policy: Policy::default(),
        timeout: None,
        cancel: false,
        ttl_after_finished: None,
    }
}

fn request(template: &str, parameters: &Value) -> Result<Request, Problems> {
    spec(template, parameters.as_object().expect("an object").clone()).request()
}

fn said(template: &str, parameters: &Value) -> String {
    match request(template, parameters) {
        Ok(request) => format!("accepted as {request:?}"),
        Err(problems) => problems.to_string(),
    }
}

fn backup(parameters: &Value) -> BackupParameters {
    match request("backup.velero", parameters) {
        Ok(Request::Backup(backup)) => backup,
        other => panic!("{parameters}: {other:?}"),
    }
}

fn command(parameters: &Value) -> RunCommandParameters {
    match request("runCommand.job", parameters) {
        Ok(Request::RunCommand(command)) => command,
        other => panic!("{parameters}: {other:?}"),
    }
}

#[test]
fn a_retention_is_written_in_hours_whoever_wrote_it_in_days() {
    let told = [
        (json!({"retention": "30d"}), Some("720h")),
        (json!({"ttl": "720h0m0s"}), Some("720h")),
        (json!({"ttl": "30d12h"}), Some("732h")),
        (json!({"ttl": "12h30m"}), Some("12h30m")),
        (json!({"retention": "1d", "ttl": "2d"}), Some("24h")),
        (json!({"retention": "", "ttl": "2d"}), Some("48h")),
        (json!({"retention": " "}), None),
        (json!({"ttl": "36500d"}), Some("876000h")),
        (json!({}), None),
    ];
    for (parameters, ttl) in told {
        assert_eq!(backup(&parameters).ttl.map(|ttl| ttl.to_string()).as_deref(), ttl, "{parameters}");
    }
}

#[test]
fn a_retention_that_velero_could_stumble_over_is_refused() {
    for text in
        ["three weeks", "30", "0s", "0d", "-1h", "1.5h", "1w", "30 d", "36501d", "99999999999999999h", "5ms"]
    {
        assert_eq!(
            said("backup.velero", &json!({"ttl": text})),
            format!("spec.parameters.ttl: found '{text}'; expected a duration such as 720h, 30d or 12h30m")
        );
    }
}

#[test]
fn a_backup_has_what_was_given() {
    let read = backup(&json!({"snapshotVolumes": false, "storageLocation": "offsite",
        "includedResources": ["secrets"], "excludedResources": ["events"],
        "snapshotClassName": "fast", "csiSnapshotClassName": "fast"}));
    let expected = BackupParameters {
        ttl: None,
        snapshot_volumes: Some(false),
        storage_location: Some("offsite".into()),
        included_resources: vec!["secrets".into()],
        excluded_resources: vec!["events".into()],
    };
    assert_eq!(read, expected);
    assert_eq!(backup(&json!({"storageLocation": ""})), BackupParameters::default());
}

#[test]
fn a_restore_has_what_was_given() {
    let read = request(
        "restore.velero",
        &json!({"backupName": "nightly", "namespaceMapping": {"shop": "copy"}, "restorePVs": true,
            "existingResourcePolicy": "update"}),
    );
    let expected = RestoreParameters {
        backup_name: "nightly".into(),
        namespace_mapping: [("shop".to_owned(), "copy".to_owned())].into(),
        restore_pvs: Some(true),
        existing_resource_policy: Some(ExistingResourcePolicy::Update),
        ..RestoreParameters::default()
    };
    assert_eq!(read, Ok(Request::Restore(expected)));
}

#[test]
fn an_upgrade_names_a_version_or_values() {
    let version = request("upgrade.helm", &json!({"targetVersion": "1.3.0"}));
    let expected = UpgradeParameters { target_version: Some("1.3.0".into()), values_patch: None };
    assert_eq!(version, Ok(Request::Upgrade(expected)));
    assert!(request("upgrade.helm", &json!({"valuesPatch": {"replicas": 2}})).is_ok());
    for nothing in [json!({}), json!({"targetVersion": " "})] {
        assert_eq!(
            said("upgrade.helm", &nothing),
            "spec.parameters: found neither targetVersion nor valuesPatch; expected at least one"
        );
    }
}

#[test]
fn a_command_has_what_was_given() {
    let read = command(&json!({"image": "tools:1", "command": ["sh", "-c"], "args": ["true"],
        "resources": {"limits": {"memory": "256Mi", "cpu": 1}}, "serviceAccountName": "vworkspace-operation-runner",
        "backoffLimit": 0, "activeDeadlineSeconds": 60, "timeoutSeconds": 90, "ttlSecondsAfterFinished": 10}));
    assert_eq!((read.image.as_str(), read.command.len(), read.args.len()), ("tools:1", 2, 1));
    assert_eq!((read.backoff_limit, read.ttl_seconds_after_finished), (Some(0), Some(10)));
    assert_eq!(read.active_deadline_seconds, Some(60));
    assert_eq!(read.service_account_name.as_deref(), Some("vworkspace-operation-runner"));
    assert_eq!(
        serde_json::to_value(read.resources).expect("resources are JSON"),
        json!({"limits": {"memory": "256Mi", "cpu": "1"}})
    );
    let alias = command(&json!({"image": "tools:1", "timeoutSeconds": 90}));
    assert_eq!(alias.active_deadline_seconds, Some(90));
}

#[test]
fn variables_are_a_list_or_a_map() {
    let list = json!([{"name": "A", "value": "1"}, {"name": "B"},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "shop", "key": "token"}}}]);
    let read = command(&json!({"image": "tools:1", "env": list}));
    assert_eq!(serde_json::to_value(read.env).expect("variables are JSON"), list);
    let read = command(&json!({"image": "tools:1", "env": {"A": "1"}}));
    assert_eq!(
        serde_json::to_value(read.env).expect("variables are JSON"),
        json!([{"name": "A", "value": "1"}])
    );
}

#[test]
fn what_is_wrong_is_told_with_field_found_and_expected() {
    let name = "the name of an object: lower case letters, digits, '-' and '.'";
    let long = "x".repeat(70);
    let told = [
        ("restore.velero", json!({}), format!("spec.parameters.backupName: found nothing; expected {name}")),
        ("restore.velero", json!({"backupName": ""}), format!("spec.parameters.backupName: found ''; expected {name}")),
        ("restore.velero", json!({"backupName": "../x"}), format!("spec.parameters.backupName: found '../x'; expected {name}")),
        ("restore.velero", json!({"backupName": 5}), format!("spec.parameters.backupName: found the number 5; expected {name}")),
        ("restore.velero", json!({"backupName": "a", "namespaceMapping": {"a": "b.c"}}),
            "spec.parameters.namespaceMapping.a: found 'b.c'; expected the name of a namespace on both sides".into()),
        ("restore.velero", json!({"backupName": "a", "namespaceMapping": {"a": 1}}),
            "spec.parameters.namespaceMapping.a: found the number 1; expected a text".into()),
        ("restore.velero", json!({"backupName": "a", "existingResourcePolicy": "delete"}),
            "spec.parameters.existingResourcePolicy: found 'delete'; expected one of none, update".into()),
        ("backup.velero", json!({"storageLocation": long}),
            format!("accepted as {:?}", Request::Backup(BackupParameters { storage_location: Some(long.clone()), ..BackupParameters::default() }))),
        ("backup.velero", json!({"ttl": long}),
            format!("spec.parameters.ttl: found '{}...'; expected a duration such as 720h, 30d or 12h30m", "x".repeat(60))),
        ("backup.velero", json!({"snapshotVolumes": "yes"}),
            "spec.parameters.snapshotVolumes: found 'yes'; expected true or false".into()),
        ("backup.velero", json!({"includedResources": ["a", null]}),
            "spec.parameters.includedResources[1]: found null; expected a text".into()),
        ("upgrade.helm", json!({"version": "1"}),
            "spec.parameters.version: found a parameter that upgrade.helm does not have; expected one of targetVersion, valuesPatch".into()),
        ("upgrade.helm", json!({"valuesPatch": "password"}),
            "spec.parameters.valuesPatch: found a text; expected an object such as {replicas: 2}".into()),
        ("runCommand.job", json!({"image": "a", "serviceAccountName": "admin"}),
            "spec.parameters.serviceAccountName: found 'admin'; expected vworkspace-operation-runner".into()),
        ("runCommand.job", json!({"image": "a", "backoffLimit": -1}),
            "spec.parameters.backoffLimit: found the number -1; expected a whole number from 0 to 2147483647".into()),
        ("runCommand.job", json!({"image": "a", "activeDeadlineSeconds": 1.5}),
            "spec.parameters.activeDeadlineSeconds: found the number 1.5; expected a whole number from 1 to 2147483647".into()),
        ("runCommand.job", json!({"image": "a", "env": {"A": 1}}),
            "spec.parameters.env.A: found a number; expected a text; write a number or true between quotes".into()),
        ("runCommand.job", json!({"image": "a", "env": [{"value": "secret"}]}),
            "spec.parameters.env[0].name: found nothing; expected the name of a variable, without spaces and '='".into()),
        ("runCommand.job", json!({"image": "a", "env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "a"}}}]}),
            "spec.parameters.env[0]: found both value and valueFrom; expected one of them".into()),
        ("runCommand.job", json!({"image": "a", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a"}}}]}),
            "spec.parameters.env[0].valueFrom: found an object; expected exactly one of configMapKeyRef (name, key), fieldRef (fieldPath), resourceFieldRef (resource), secretKeyRef (name, key)".into()),
        ("runCommand.job", json!({"image": "a", "resources": {"limit": {}}}),
            "spec.parameters.resources.limit: found a field that does not exist; expected only limits, requests".into()),
        ("runCommand.job", json!({"image": "a", "resources": {"limits": {"memory": "much"}}}),
            "spec.parameters.resources.limits.memory: found 'much'; expected a quantity such as 500m, 2 or 256Mi".into()),
    ];
    for (template, parameters, expected) in told {
        assert_eq!(said(template, &parameters), expected, "{parameters}");
    }
}

#[test]
fn an_engine_that_cannot_do_it_is_told_with_those_that_can() {
    let mut wrong = spec("backup.velero", Map::new());
    wrong.engine = Engine::Job;
    assert_eq!(
        wrong.request().map_err(|problems| problems.to_string()),
        Err("spec.engine: found 'job' for type Backup; expected one of velero, snapshot, volsync".into())
    );
}

#[test]
fn five_problems_are_told_and_the_others_counted() {
    let parameters: Map<String, Value> = (0..7).map(|number| (format!("x{number}"), json!(1))).collect();
    let problems = spec("backup.velero", parameters).request().expect_err("unknown names");
    assert_eq!(problems.all().len(), 7);
    let said = problems.to_string();
    assert!(said.contains("spec.parameters.x4: ") && !said.contains("x5"), "{said}");
    assert!(said.ends_with("csiSnapshotClassName. And 2 more"), "{said}");
}

#[test]
fn too_many_parameters_are_one_problem() {
    let parameters: Map<String, Value> = (0..65).map(|number| (format!("x{number}"), json!(1))).collect();
    let problems = spec("backup.velero", parameters).request().expect_err("too many");
    assert_eq!(problems.all(), ["spec.parameters: found 65 parameters; expected at most 64"]);
}

/// Any JSON, with the names and words that the rules look for.
fn anything() -> impl Strategy<Value = Value> {
    let words = ["none", "30d", "0s", "shop", "256Mi", "", " ", "vworkspace-operation-runner", "é\u{0}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        "\\PC{0,80}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    let inside = ["name", "value", "valueFrom", "secretKeyRef", "key", "limits", "requests", "memory"];
    let known = TEMPLATES.iter().flat_map(|template| template.parameters).map(|parameter| parameter.name);
    let known: Vec<&str> = known.chain(inside).collect();
    prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => "\\PC{0,80}"]
}

proptest! {
    #[test]
    fn whatever_the_parameters_there_is_an_answer(
        template in prop::sample::select(TEMPLATES),
        parameters in prop::collection::btree_map(name(), anything(), 0..70),
    ) {
        let spec = spec(template.name, parameters.into_iter().collect());
        if let Err(problems) = spec.request() {
            let said = problems.to_string();
            prop_assert!(!problems.all().is_empty());
            prop_assert!(!said.chars().any(char::is_control), "{}", said);
            prop_assert!(said.chars().count() < 3_000, "{}", said);
        }
    }
}
