//! `op create`: what is sent, and what is said.

use serde_json::{Value, json};

use crate::server::{Answer, Cluster, OPERATIONS, refusal, run, scratch};

/// Takes what it is given, but for the first `taken` names.
fn accepting(taken: usize) -> Cluster {
    Cluster::start(move |asked, number| match asked.method.as_str() {
        "POST" if number < taken => {
            refusal(409, "AlreadyExists", "operations.ops.vworkspace.io already exists")
        }
        "POST" => {
            let mut created = asked.body.clone();
            created["metadata"]["namespace"] = json!("shop");
            Answer::Json(201, created)
        }
        _ => refusal(403, "Forbidden", "no"),
    })
}

#[test]
fn what_is_asked_for_is_what_is_sent() {
    let cluster = accepting(0);
    let run = cluster.run(&[
        "create",
        "Backup.Velero",
        "--target",
        "web",
        "-p",
        "retention=30d",
        "-p",
        "snapshotVolumes=false",
        "-p",
        "excludedResources=events,secrets",
        "-p",
        "excludedResources=pods",
        "--name",
        "nightly",
        "--timeout",
        "2h",
        "--ttl",
        "168h",
        "--exclusive",
        "--require-ready=false",
        "--capture-logs",
        "--approval-required",
    ]);
    assert_eq!(
        (run.out.as_str(), run.err.as_str(), run.exit),
        ("operation.ops.vworkspace.io/nightly created\n", "", Some(0))
    );
    let wanted = json!({
        "apiVersion": "ops.vworkspace.io/v1alpha1", "kind": "Operation", "metadata": {"name": "nightly"},
        "spec": {
            "targetRef": {"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance", "name": "web"},
            "type": "Backup", "engine": "velero",
            "parameters": {"retention": "30d", "snapshotVolumes": false, "excludedResources": ["events", "secrets", "pods"]},
            "approvals": {"required": true},
            "policy": {"requireReady": false, "exclusive": true, "captureLogs": true},
            "timeout": "2h", "ttlAfterFinished": "168h",
        },
    });
    assert_eq!(cluster.written(), [wanted]);
    assert_eq!(cluster.asked()[0].path, OPERATIONS);
}

#[test]
fn a_name_that_is_taken_is_tried_with_a_number_and_a_given_one_is_not() {
    let cluster = accepting(2);
    let run = cluster.run(&["create", "backup.velero", "--target", "web", "-o", "name"]);
    assert_eq!((run.err.as_str(), run.exit), ("", Some(0)));
    let names: Vec<String> =
        cluster.written().iter().map(|body| body["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), 3);
    assert!(
        names[0].starts_with("web-backup-2") && names[0].len() == "web-backup-20260102-030405".len(),
        "{names:?}"
    );
    assert!(names[1].ends_with("-2") && names[2].ends_with("-3"), "{names:?}");
    assert_eq!(run.out, format!("operation.ops.vworkspace.io/{}\n", names[2]));

    let taken = accepting(9).run(&["create", "backup.velero", "--target", "web", "--name", "a"]);
    let wanted = "error: failed to create operations.ops.vworkspace.io/a in namespace shop: operations.ops.vworkspace.io already exists (409)\n";
    assert_eq!((taken.out.as_str(), taken.err.as_str(), taken.exit), ("", wanted, Some(3)));
}

#[test]
fn a_dry_run_needs_no_cluster() {
    let shown = run(&[
        "create",
        "runCommand.job",
        "--target",
        "web",
        "--name",
        "once",
        "-n",
        "shop",
        "-p",
        "image=tools:1",
        "-p",
        "command=sh,-c",
        "-p",
        "args=[\"echo a, b\"]",
        "-p",
        "env={\"LEVEL\": \"debug\"}",
        "--dry-run=client",
        "-o",
        "yaml",
    ]);
    assert_eq!((shown.err.as_str(), shown.exit), ("", Some(0)));
    insta::assert_snapshot!(shown.out);
    assert!(shown.out.ends_with("tools:1\n"), "{:?}", shown.out);
    let json =
        run(&["create", "backup.velero", "--target", "web", "--name", "a", "--dry-run=client", "-o", "json"]);
    let object: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (object["metadata"].clone(), object["spec"]["type"].clone()),
        (json!({"name": "a"}), json!("Backup"))
    );
    let said = run(&["create", "backup.velero", "--target", "web", "--name", "a", "--dry-run=client"]);
    assert_eq!(said.out, "operation.ops.vworkspace.io/a created (dry run)\n");
}

#[test]
fn values_of_an_object_may_come_from_a_file() {
    let file = scratch("values.yaml");
    std::fs::write(&file, "replicas: 2\nimage:\n  tag: '1.3'\n").unwrap();
    let patch = format!("valuesPatch=@{}", file.display());
    let cluster = accepting(0);
    let run = cluster.run(&["create", "upgrade.helm", "--target", "web", "-p", &patch]);
    assert_eq!((run.err.as_str(), run.exit), ("", Some(0)));
    assert_eq!(
        cluster.written()[0]["spec"]["parameters"],
        json!({"valuesPatch": {"replicas": 2, "image": {"tag": "1.3"}}})
    );
}

/// Nothing is sent, and nothing is read: there is no cluster.
#[test]
fn what_cannot_be_asked_for_is_told_before_anything_is_sent() {
    let told: [(&[&str], &str); 9] = [
        (&["backup.valero"], "invalid value 'backup.valero' for '<TEMPLATE>'"),
        (
            &["backup.valero"],
            "[possible values: backup.velero, restore.velero, upgrade.helm, runCommand.job]",
        ),
        (&["backup.valero"], "a similar value exists: 'backup.velero'"),
        (
            &["runbook.workflow"],
            "this version cannot run runbook.workflow; it runs backup.velero, restore.velero, upgrade.helm, runCommand.job",
        ),
        (
            &["backup.velero", "-p", "retension=1d"],
            "backup.velero has no parameter \"retension\"; did you mean retention?",
        ),
        (
            &["backup.velero", "-p", "snapshotVolumes=maybe"],
            "spec.parameters.snapshotVolumes: found 'maybe'; expected true or false",
        ),
        (&["restore.velero"], "spec.parameters.backupName: found nothing; expected the name of an object"),
        (&["backup.velero", "--timeout", "soon"], "'soon' is no duration"),
        (&["backup.velero", "--wait-timeout", "5m"], "--wait"),
    ];
    for (arguments, wanted) in told {
        let run = run(&[&["create", "--target", "web"], arguments].concat());
        assert!(run.err.contains(wanted), "{arguments:?}: {}", run.err);
        assert_eq!((run.out.as_str(), run.exit), ("", Some(3)), "{arguments:?}");
    }
}

#[test]
fn help_lists_the_templates() {
    let help = run(&["create", "--help"]).out;
    for template in vworkspace_api::operation::Template::supported() {
        assert!(help.contains(&format!("- {}:", template.name)), "{help}");
    }
    insta::assert_snapshot!(run(&["--help"]).out);
}
