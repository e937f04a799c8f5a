//! The program as its users see it: output, problems and exit codes. Golden files: `UPDATE_GOLDEN=1` writes them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Parser;
use kubectl_vworkspace::cli::{Cli, Command};
use kubectl_vworkspace::paint::Colour;
use kubectl_vworkspace::status;
use serde_json::Value;

struct Run {
    out: String,
    err: String,
    exit: i32,
}

fn run(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .current_dir(folder("fixtures"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Run {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        exit: output.status.code().unwrap(),
    }
}

fn status_of(input: &str) -> Run {
    run(&["status", "-f", "-"], input.as_bytes())
}

fn json(arguments: &[&str], input: &str) -> (Vec<Value>, Run) {
    let arguments = [&["status", "-o", "json"], arguments].concat();
    let run = run(&arguments, input.as_bytes());
    (serde_json::from_str(&run.out).unwrap(), run)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn assert_golden(name: &str, found: &str) {
    let path = folder("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "{name} differs; UPDATE_GOLDEN=1 writes it anew");
}

#[test]
fn every_output_format_is_as_recorded() {
    for output in ["table", "wide", "json", "yaml"] {
        let found = run(&["status", "-f", "shop.yaml", "-o", output], b"");
        assert_golden(&format!("shop.{output}"), &found.out);
        assert_eq!((found.exit, found.err.as_str()), (3, ""), "{output}");
    }
    let strict = run(&["status", "-f", "shop.yaml", "-o", "wide", "--profile", "strict"], b"");
    assert_golden("shop.strict.wide", &strict.out);
}

/// What a person sees at a terminal.
#[test]
fn colour_is_as_recorded() {
    let file = folder("fixtures").join("shop.yaml");
    let arguments = ["kubectl-vworkspace", "status", "-f", file.to_str().unwrap()];
    let Command::Status(args) = Cli::parse_from(arguments).command else { panic!("not status") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    status::run(&args, &mut out, &mut err, Colour::Always).unwrap();
    assert_golden("shop.colour", &String::from_utf8(out).unwrap());
}

#[test]
fn help_is_as_recorded() {
    assert_golden("help", &run(&["--help"], b"").out);
    assert_golden("help.status", &run(&["status", "--help"], b"").out);
}

#[test]
fn the_worst_object_decides_the_exit_code() {
    let current = "apiVersion: v1\nkind: ConfigMap\n---\n";
    let waiting = "apiVersion: v1\nkind: Pod\n---\n";
    let failed =
        "apiVersion: a.b/v1\nkind: C\nstatus: {conditions: [{type: Stalled, status: 'True'}]}\n---\n";
    let refused = "apiVersion: v1\nkind: Pod\nstatus: 7\n---\n";
    assert_eq!(status_of(current).exit, 0);
    assert_eq!(status_of(&[current, waiting].concat()).exit, 1);
    assert_eq!(status_of(&[current, failed, waiting].concat()).exit, 2);
    assert_eq!(status_of(&[refused, failed, waiting].concat()).exit, 3);
    assert_eq!(status_of("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": []}").exit, 0);
}

#[test]
fn usage_errors_are_told_and_exit_with_3() {
    let cases: [(&[&str], &str); 9] = [
        (&["status"], "nothing to look at: expected -f FILE, or live objects"),
        (&["status", "-f"], "a value is required"),
        (&["status", "-f", "missing.yaml"], "missing.yaml: failed to read: No such file"),
        (&["status", "deploy/web", "-f", "shop.yaml"], "cannot be used with"),
        (&["status", "deploy/web", "pods"], "expected TYPE/NAME, found \"pods\""),
        (&["status", "deploy/web", "--wait=Done"], "invalid value 'Done'"),
        (&["status", "deploy/web", "--wait", "--timeout", "5"], "expected a duration such as 90s"),
        (&["status", "deploy/web"], "failed to find a cluster: expected --kubeconfig"),
        (&["nonsense"], "unrecognized subcommand 'nonsense'"),
    ];
    for (arguments, wanted) in cases {
        let found = run(arguments, b"");
        assert!(found.err.contains(wanted), "{arguments:?}: {}", found.err);
        assert_eq!((found.exit, found.out.as_str()), (3, ""), "{arguments:?}");
    }
}

/// Bad input: the place or the document's index, and what was expected.
#[test]
fn bad_input_is_told_with_its_place() {
    let cases = [
        ("", "standard input: expected at least one object"),
        ("# nothing\n---\n", "standard input: expected at least one object"),
        (
            "apiVersion: v1\nkind: Pod\n  name: [\n",
            "document 1, line 3, column 7: failed to read YAML: mapping values",
        ),
        (
            "a: 1\n---\nb: 1\n---\nx: y\n\tz: 1\n",
            "document 3, line 5, column 4: failed to read YAML: while scanning a plain scalar, found a tab",
        ),
        (
            "kind: A\nkind: B\n",
            "document 1, line 2, column 1: failed to read YAML: duplicate mapping key: kind",
        ),
        ("apiVersion: v1\n", "document 1: expected an object with apiVersion and kind, found no kind"),
        (
            "apiVersion: v1\nkind: 5\n",
            "document 1: expected an object with apiVersion and kind, found the number 5 as kind",
        ),
        ("hello\n", "document 1: expected an object with apiVersion and kind, found the text \"hello\""),
        ("- 5\n", "document 1, items[0]: expected an object, found the number 5"),
        (
            "{\"kind\": \"Pod\",\n  oops}",
            "document 1, line 2, column 3: failed to read JSON: key must be a string",
        ),
        (
            "{\"kind\": \"Pod\"",
            "document 1, line 1, column 14: failed to read JSON: EOF while parsing an object",
        ),
        (
            "{\"kind\": \"Pod\"} trailing",
            "document 2, line 1, column 17: failed to read JSON: expected an object",
        ),
        (
            "{\"kind\": \"List\", \"items\": [{}, 7]}",
            "document 1, items[1]: expected an object, found the number 7",
        ),
        ("{\"kind\": 1e999}", "document 1, line 1, column 14: failed to read JSON: number out of range"),
    ];
    for (input, wanted) in cases {
        let found = status_of(input);
        assert!(found.err.contains(wanted), "{input:?}: {}", found.err);
        assert_eq!(found.exit, 3, "{input:?}");
    }
    let binary = run(&["status", "-f", "-"], b"\x7fELF\x02\x01\x01\0\0\xff\xfe\0");
    assert!(
        binary.err.contains("document 1, line 1, column 10: expected YAML or JSON as UTF-8 text"),
        "{}",
        binary.err
    );
    assert_eq!(binary.exit, 3);
}

#[test]
fn good_documents_beside_bad_ones_are_reported() {
    let yaml = "kind: A\napiVersion: v1\n---\nbroken: [\n---\nkind: B\napiVersion: v1\n";
    let lines =
        "{\"kind\":\"A\",\"apiVersion\":\"v1\"}\n{\"kind\":\n{\"kind\":\"B\",\"apiVersion\":\"v1\"}\n";
    let truncated = "{\"kind\":\"List\",\"items\":[{\"kind\":\"A\",\"apiVersion\":\"v1\"},{\"kind\":\"B\",\"apiVersion\":\"v1\"},{\"k";
    for input in [yaml, lines, truncated] {
        let (rows, run) = json(&["-f", "-"], input);
        let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["A", "B"], "{input}");
        assert_eq!(run.exit, 3);
    }
}

#[test]
fn an_object_that_the_reference_refuses_has_an_error_and_is_unknown() {
    let (rows, run) =
        json(&["-f", "-"], "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"status\":{\"phase\":\"Lost\"}}");
    assert_eq!(
        (rows[0]["status"].as_str(), rows[0]["error"].as_str()),
        (Some("Unknown"), Some("unknown phase Lost"))
    );
    assert_eq!((run.exit, run.err.as_str()), (3, ""));
}

#[test]
fn lists_arrays_lines_and_nested_lists_are_flattened_in_order() {
    let object = |name: &str| {
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{{\"name\":\"{name}\"}}}}")
    };
    let (a, b, c) = (object("a"), object("b"), object("c"));
    let inputs = [
        format!("{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{a},{b},{c}]}}"),
        format!("{{\"apiVersion\":\"v1\",\"items\":[{a},{b},{c}],\"kind\":\"SecretList\"}}"),
        format!("{{\"kind\":\"List\",\"items\":[{a},{{\"kind\":\"SecretList\",\"items\":[{b}]}},{c}]}}"),
        format!("[{a},{b},{c}]"),
        format!("{a}{b} {c}"),
        format!("{a}\n{b}\n{c}\n"),
        format!("{a}\n---\n{b}\n---\n{c}\n"),
        "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n- metadata: {name: c}\n".to_owned(),
        "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}},{\"metadata\":{\"name\":\"c\"}}],\"apiVersion\":\"v1\",\"kind\":\"SecretList\"}".to_owned(),
    ];
    for input in inputs {
        let (rows, run) = json(&["-f", "-"], &input);
        let names: Vec<_> =
            rows.iter().map(|row| (row["kind"].as_str().unwrap(), row["name"].as_str().unwrap())).collect();
        assert_eq!(names, [("Secret", "a"), ("Secret", "b"), ("Secret", "c")], "{input}");
        assert_eq!((run.exit, run.err.as_str()), (0, ""), "{input}");
    }
}

/// `items` of something that is no List is just a field.
#[test]
fn an_object_with_items_is_no_list() {
    for input in [
        "{\"items\":[1],\"apiVersion\":\"a.b/v1\",\"kind\":\"Menu\"}",
        "{\"apiVersion\":\"a.b/v1\",\"kind\":\"Menu\",\"items\":{}}",
    ] {
        let (rows, run) = json(&["-f", "-"], input);
        assert_eq!((rows.len(), rows[0]["kind"].as_str(), run.exit), (1, Some("Menu"), 0), "{input}");
    }
}

#[test]
fn several_files_and_directories_come_in_the_order_given() {
    let (rows, _) = json(&["-f", "shop.yaml", "-f", "."], "");
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0]["name"], rows[6]["name"]);
}

/// As kubectl, which turns YAML 1.1 into JSON.
#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    let counts = |field: &str| {
        let yaml = format!(
            "apiVersion: apps/v1\nkind: ReplicaSet\nspec: {{replicas: 9}}\nstatus: {{fullyLabeledReplicas: {field}}}\n"
        );
        json(&["-f", "-"], &yaml).0[0]["message"].as_str().unwrap().to_owned()
    };
    for (written, read) in [
        ("3", "Labelled: 3/9"),
        ("3.0", "Labelled: 3/9"),
        ("0.3e1", "Labelled: 3/9"),
        ("003", "Labelled: 3/9"),
        ("0x3", "Labelled: 3/9"),
        ("\"3\"", "Labelled: 0/9"),
        ("3.5", "Labelled: 0/9"),
        ("~", "Labelled: 0/9"),
        ("yes", "Labelled: 0/9"),
        ("18446744073709551616", "Labelled: 0/9"),
        ("010", "Labelled: 8/9"),
    ] {
        assert_eq!(counts(written), read, "{written}");
    }
    let (rows, _) = json(
        &["-f", "-"],
        "apiVersion: v1\nkind: &k Pod\nmetadata: {name: *k}\nstatus: &s {phase: Running}\nspec: {<<: *s}\n",
    );
    assert_eq!((rows[0]["name"].as_str(), rows[0]["status"].as_str()), (Some("Pod"), Some("InProgress")));
    let (rows, _) = json(
        &["-f", "-"],
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, deletionTimestamp: 2026-01-01T00:00:00Z}\n",
    );
    assert_eq!(rows[0]["status"], "Terminating");
}

/// The whole way: the public cases of the reference as one List, in JSON and in YAML.
#[test]
fn public_cases_of_the_reference_go_through_the_program() {
    let corpus = include_str!("../../kstatus/tests/corpus/public.json");
    let corpus: Value = serde_json::from_str(corpus).unwrap();
    // Judged by the real clock here, and that is long after.
    let cases: Vec<&Value> = corpus["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["name"] != "podBeingScheduled")
        .collect();
    let items: Vec<&Value> = cases.iter().map(|case| &case["object"]).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    for input in [list.to_string(), serde_saphyr::to_string(&list).unwrap()] {
        let (rows, _) = json(&["-f", "-"], &input);
        assert_eq!(rows.len(), cases.len());
        for (row, case) in rows.iter().zip(&cases) {
            let name = &case["name"];
            assert_eq!(row["error"].is_string(), case["expectError"].as_bool().unwrap(), "{name}");
            if row["error"].is_string() {
                assert_eq!(row["status"], "Unknown", "{name}");
                continue;
            }
            assert_eq!(row["status"], case["expectedStatus"], "{name}");
            if let Some(message) = case["expectedMessage"].as_str() {
                assert_eq!(row["message"], message, "{name}");
            }
        }
    }
}

#[test]
fn output_to_a_pipe_has_no_colour_and_obeys_no_control_character() {
    let found = status_of(
        "apiVersion: a.b/v1\nkind: C\nmetadata: {name: \"x\\e[31m\"}\nstatus: {conditions: [{type: Stalled, status: 'True', message: \"a\\nb\\e]0;c\"}]}\n",
    );
    assert!(!found.out.contains('\x1b'), "{:?}", found.out);
    assert_eq!(found.out.lines().count(), 2);
}

#[test]
fn kubectl_gets_its_completions() {
    let complete = |words: &[&str]| run(&[&["__complete"], words].concat(), b"").out;
    assert_golden("complete", &complete(&[""]));
    assert_eq!(complete(&["status", "-o", "j"]), "json\tAn array, one element for each object\n:4\n");
    assert_eq!(
        complete(&["status", "--profile=s"]),
        "--profile=strict\tWith the reference's blind spots closed\n:4\n"
    );
    assert_eq!(complete(&["status", "-f", ""]), ":0\n");
    assert!(complete(&["status", "--wa"]).starts_with("--watch\t"));
    assert_eq!(complete(&["completion", "z"]), "zsh\n:4\n");
    assert_eq!(complete(&["status", "dep"]), ":4\n");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completion", shell], b"");
        assert!(script.out.contains("kubectl-vworkspace") && script.exit == 0, "{shell}");
    }
}
