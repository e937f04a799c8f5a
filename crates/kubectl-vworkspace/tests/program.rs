//! The program as its users see it: output, problems and exit codes. Golden files: `UPDATE_GOLDEN=1` writes them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Parser;
use kubectl_vworkspace::cli::{Cli, Command};
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
        .env_remove("CLICOLOR_FORCE")
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
    status::run(&args, &mut out, &mut err).unwrap();
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
    let cases: [(&[&str], &str); 11] = [
        (&["status"], "nothing to look at: expected -f FILE, or live objects"),
        (&["status", "-f"], "a value is required"),
        (&["status", "-f", "missing.yaml"], "missing.yaml: failed to read: No such file"),
        (&["status", "deploy/web", "-f", "shop.yaml"], "cannot be used with"),
        (&["status", "deploy/web", "pods"], "expected TYPE/NAME, found \"pods\""),
        (&["status", "deploy/web", "--wait=Done"], "invalid value 'Done'"),
        (
            &["status", "deploy/web", "--wait", "--timeout", "5"],
            "'5' is no duration; expected one such as 30s",
        ),
        (&["status", "deploy/web"], "failed to find a cluster: expected --kubeconfig"),
        (&["status", "deploy/web", "--wait=notFOUND"], "failed to find a cluster: expected --kubeconfig"),
        (
            &["status", "-f", "-", "-f", "-"],
            "standard input can be read only once: expected -f - at most once",
        ),
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
            "{\"kind\": \"List\", \"items\": 5}",
            "document 1: expected a list as `items` of a List, found the number 5",
        ),
        ("kind: List\nitems: {a: b}\n", "document 1: expected a list as `items` of a List, found an object"),
        (
            "{\"kind\": \"List\", \"items\": [{\"kind\": \"List\", \"items\": \"x\"}]}",
            "document 1, items[0]: expected a list as `items` of a List, found the text \"x\"",
        ),
        ("~\n---\nnull\n", "standard input: expected at least one object"),
        ("apiVersion: v1\n", "document 1: expected an object with `kind`, found no kind"),
        (
            "apiVersion: v1\nkind: 5\n",
            "document 1: expected an object with `kind`, found the number 5 as kind",
        ),
        ("hello\n", "document 1: expected an object with `kind`, found the text \"hello\""),
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
    let one_line = "{\"kind\":\"A\"} {\"kind\": oops} {\"kind\":\"B\"}";
    let two_lines = "{\"kind\":\"A\"}\n{\"kind\":\n oops} {\"kind\":\"B\"}";
    let unbalanced = "{\"kind\":\"A\"} {{oops}\n{\"kind\":\"B\"}";
    for input in [yaml, lines, truncated, one_line, two_lines, unbalanced] {
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

/// A key order is as good as any other.
fn orders(fields: &[&str]) -> Vec<String> {
    let Some((first, rest)) = fields.split_first() else { return vec![String::new()] };
    let rest = orders(rest);
    let inserted = rest.iter().flat_map(|order| {
        let parts: Vec<&str> = order.split(';').filter(|part| !part.is_empty()).collect();
        (0..=parts.len()).map(move |at| [&parts[..at], &[*first], &parts[at..]].concat().join(";"))
    });
    inserted.collect()
}

/// Only `kind: List`, and what ends so, has items and no name, is a List; in whatever order it says so.
#[test]
fn a_list_is_told_from_an_object_in_any_order_of_keys() {
    let version = "\"apiVersion\":\"a.b/v1\"";
    let kind = |kind: &str| format!("\"kind\":\"{kind}\"");
    let (host, two) = ("\"items\":[{\"host\":\"a\"}]", "\"items\":[{\"kind\":\"A\"},{\"kind\":\"B\"}]");
    let named = "\"metadata\":{\"name\":\"n\"}";
    let plain = "\"metadata\":{\"resourceVersion\":\"1\"}";
    let cases: [(&str, &[&str], &[&str]); 15] = [
        ("Menu", &["\"items\":[1]"], &["Menu"]),
        ("Menu", &["\"items\":{}"], &["Menu"]),
        ("AllowList", &[], &["AllowList"]),
        ("AllowList", &[named], &["AllowList"]),
        ("AllowList", &["\"items\":null", plain], &["AllowList"]),
        ("AllowList", &["\"items\":7"], &["AllowList"]),
        ("DenyList", &[host, named], &["DenyList"]),
        ("DenyList", &[two, named], &["DenyList"]),
        ("DenyList", &["\"items\":[1,[]]", named], &["DenyList"]),
        ("DenyList", &[two, plain], &["A", "B"]),
        ("DenyList", &[host, plain], &["Deny"]),
        ("DenyList", &["\"items\":[]"], &[]),
        ("List", &[two, named], &["A", "B"]),
        ("List", &["\"items\":null", plain], &[]),
        ("List", &[], &[]),
    ];
    for (name, fields, wanted) in cases {
        let kind = kind(name);
        for order in orders(&[&[version, kind.as_str()], fields].concat()) {
            let input = format!("{{{}}}", order.replace(';', ","));
            // JSON in a flow mapping that starts on its own line is read as YAML.
            for input in [input.clone(), format!("# yaml\n{input}")] {
                let (rows, run) = json(&["-f", "-"], &input);
                let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
                assert_eq!((kinds.as_slice(), run.exit, run.err.as_str()), (wanted, 0, ""), "{input}");
            }
        }
    }
    let nested = "{\"kind\":\"List\",\"items\":[{\"kind\":\"AllowList\"},{\"kind\":\"List\"},{\"kind\":\"DenyList\",\"items\":[{}],\"metadata\":{\"name\":\"n\"}}]}";
    let (rows, _) = json(&["-f", "-"], nested);
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["AllowList", "DenyList"]);
}

/// As kubectl has it; to be strict is to ask which one was meant.
#[test]
fn of_a_key_given_twice_the_last_counts_unless_strict() {
    let twice = "apiVersion: v1\nkind: Secret\nkind: Pod\nstatus:\n  phase: Pending\n  phase: Succeeded\n";
    let (rows, run) = json(&["-f", "-"], twice);
    assert_eq!((rows[0]["kind"].as_str(), rows[0]["status"].as_str()), (Some("Pod"), Some("Current")));
    assert_eq!((run.exit, run.err.as_str()), (0, ""));
    let found = run_strict("apiVersion: v1\nkind: Pod\nstatus:\n  phase: Pending\n  phase: Succeeded\n");
    let wanted = "document 1, line 5, column 3: failed to read YAML: duplicate mapping key: phase\n";
    assert!(found.err.ends_with(wanted), "{}", found.err);
    assert_eq!(found.exit, 3);
    // A key that is merged in is not given twice.
    let merged = "a: &a {phase: Failed}\napiVersion: v1\nkind: Pod\nstatus:\n  phase: Succeeded\n  <<: *a\n";
    assert_eq!(
        (json(&["-f", "-"], merged).0[0]["status"].as_str(), run_strict(merged).exit),
        (Some("Current"), 0)
    );
    assert_eq!(json(&["-f", "-"], merged).0[0]["message"], "Pod has completed successfully");
    for items in ["items: [{kind: A}]\nitems: [{kind: B}]\n", "items: 5\nitems: [{kind: B}]\n"] {
        let (rows, run) = json(&["-f", "-"], &format!("kind: List\n{items}"));
        assert_eq!((rows.len(), rows[0]["kind"].as_str(), run.exit), (1, Some("B"), 0), "{items}");
    }
}

fn run_strict(input: &str) -> Run {
    run(&["status", "--profile", "strict", "-f", "-"], input.as_bytes())
}

#[test]
fn three_dots_end_a_document() {
    for input in [
        "kind: A\n...\nkind: B\n",
        "---\nkind: A\n...\n---\nkind: B\n...\n",
        "%YAML 1.2\n---\nkind: A\n... # done\n%YAML 1.2\n---\nkind: B\n",
        "{\"kind\": \"A\"}\n...\nkind: B\n",
    ] {
        let (rows, run) = json(&["-f", "-"], input);
        let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
        assert_eq!((kinds.as_slice(), run.exit, run.err.as_str()), (&["A", "B"][..], 0, ""), "{input:?}");
    }
    let found = status_of("kind: A\n... kind: B\n");
    assert_eq!(found.exit, 3, "{}", found.out);
    assert!(!found.err.contains("from_") && !found.err.contains("Options"), "{}", found.err);
}

/// `-0` is an integer to Go.
#[test]
fn negative_zero_is_an_integer() {
    for input in [
        "{\"kind\":\"C\",\"metadata\":{\"generation\":-0},\"status\":{\"observedGeneration\":1}}",
        "kind: C\nmetadata: {generation: -0}\nstatus: {observedGeneration: 1}\n",
    ] {
        let (rows, run) = json(&["-f", "-"], input);
        assert_eq!(rows[0]["message"], "C generation is 0, but latest observed generation is 1", "{input}");
        assert_eq!(rows[0]["evidence"][0].to_string(), "{\"path\":\"metadata.generation\",\"value\":0}");
        assert_eq!(run.exit, 1);
    }
}

/// `| head -1`: the work is done all the same, and the exit code is that of the work.
#[test]
fn a_reader_that_leaves_changes_nothing() {
    let failed =
        "{\"kind\":\"C\",\"status\":{\"conditions\":[{\"type\":\"Stalled\",\"status\":\"True\"}]}}\n";
    let cases: [(&[&str], String, i32); 7] = [
        (&["explain", "--all"], String::new(), 0),
        (&["explain", "--all", "-o", "json"], String::new(), 0),
        (&["completion", "bash"], String::new(), 0),
        (&["status", "-f", "-"], "kind: Secret\napiVersion: v1\n".to_owned(), 0),
        (&["status", "-f", "-"], failed.repeat(5000), 2),
        (&["status", "-f", "-", "-o", "json"], failed.repeat(5000), 2),
        (&["status", "-f", "-", "-o", "yaml"], format!("{failed}{{oops\n"), 3),
    ];
    for (arguments, input, wanted) in cases {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-vworkspace"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(wanted), "{arguments:?}: {err}");
        assert!(!err.contains("roken pipe") && !err.contains("panicked"), "{arguments:?}: {err}");
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
    let words = |words: &[&str]| -> Vec<String> {
        let found = complete(words);
        found.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(words(&["explain", "Appl"]), ["ApplicationInstance", ":4"]);
    assert_eq!(words(&["explain", "appl"]), ["applicationinstance", ":4"]);
    assert_eq!(words(&["explain", ""]).len(), 13);
    assert_eq!(words(&["explain", "-o", "json", "operation", "bl"]), ["blocked", ":4"]);
    assert_eq!(words(&["explain", "operation", "-o", "j"]), ["json", ":4"]);
    assert_eq!(words(&["explain", "operation", "blocked", "TargetNotR"]), ["TargetNotReady", ":4"]);
    assert_eq!(words(&["explain", "MissingS"]), ["MissingSecret", ":4"]);
    assert_eq!(words(&["explain", "blocked", "MissingS"]), ["MissingSecret", ":4"]);
    assert_eq!(words(&["explain", "operation", "blocked", "targetnotready", ""]), [":4"]);
    assert_eq!(words(&["explain", "nonsense", "nonsense", ""]), [":4"]);
    assert!(complete(&["explain", ""]).starts_with("ApplicationInstance\tvworkspace\n"));
    assert!(run(&["completion", "bash"], b"").out.contains("MissingSecret"));
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completion", shell], b"");
        assert!(script.out.contains("kubectl-vworkspace") && script.exit == 0, "{shell}");
    }
}
