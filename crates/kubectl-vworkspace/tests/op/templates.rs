//! `op templates`, and completion.

use serde_json::Value;
use vworkspace_api::operation::TEMPLATES;

use crate::server::run;

#[test]
fn all_templates_are_told_with_their_parameters() {
    let text = run(&["templates"]).out;
    let json: Vec<Value> = serde_json::from_str(&run(&["templates", "-o", "json"]).out).unwrap();
    assert_eq!(json.len(), TEMPLATES.len());
    for (template, told) in TEMPLATES.iter().zip(&json) {
        assert!(text.contains(template.meaning), "{}", template.name);
        assert_eq!(told["name"], template.name);
        assert_eq!(told["parameters"].as_array().unwrap().len(), template.parameters.len());
    }
}

#[test]
fn one_template_is_as_recorded() {
    insta::assert_snapshot!(run(&["templates", "Restore.Velero"]).out);
    insta::assert_snapshot!(run(&["templates", "upgrade.helm", "-o", "json"]).out);
    let unknown = run(&["templates", "restore.valero"]);
    assert!(unknown.err.contains("a similar value exists: 'restore.velero'"), "{}", unknown.err);
    assert_eq!(unknown.exit, Some(3));
}

#[test]
fn commands_templates_and_parameters_are_completed() {
    let complete = |words: &[&str]| -> Vec<String> {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"))
            .arg("__complete")
            .args(words)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(
        complete(&["op", ""]),
        ["create", "templates", "list", "show", "logs", "cancel", "approve", "keygen", ":4"]
    );
    assert_eq!(complete(&["op", "create", "re"]), ["restore.velero", ":4"]);
    assert_eq!(complete(&["op", "create", "--target", "re"]), [":4"]);
    assert_eq!(complete(&["op", "create", "backup.velero", ""]), [":4"]);
    assert_eq!(complete(&["op", "templates", "run"]), ["runCommand.job", "runbook.workflow", ":4"]);
    assert_eq!(complete(&["op", "create", "backup.velero", "-p", "in"]), ["includedResources=", ":6"]);
    assert_eq!(
        complete(&["op", "create", "--target", "web", "restore.velero", "-p", "b"]),
        ["backupName=", ":6"]
    );
    assert_eq!(complete(&["op", "create", "-p", ""]), [":6"]);
    assert_eq!(complete(&["op", "approve", "a", "--kind", "App"]), ["ApplicationInstance", ":4"]);
    assert_eq!(complete(&["op", "approve", "a", "--key", ""]), [":0"]);
    // The scripts for fish know no words after a command.
    for shell in ["bash", "zsh"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"))
            .args(["completion", shell])
            .output()
            .unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("backup.velero"), "{shell}");
    }
}
