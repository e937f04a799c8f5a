//! What `explain` prints, word for word. After a change on purpose: INSTA_UPDATE=always cargo test -p kubectl-vworkspace
#![allow(missing_docs, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use clap::Parser;
use insta::assert_snapshot;
use kubectl_vworkspace::explain::{self, ExplainArgs};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ExplainArgs,
}

/// What `explain` with these words (and options) writes to stdout, or the error.
fn styled(words: &str) -> Result<String, String> {
    let line = ["explain"].into_iter().chain(words.split_whitespace());
    let line = Line::try_parse_from(line).map_err(|refusal| refusal.to_string())?;
    let mut out = Vec::new();
    explain::run(&line.args, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("text"))
}

fn explain(words: &str) -> String {
    anstream::adapter::strip_str(&styled(words).expect("explained")).to_string()
}

fn refused(words: &str) -> String {
    styled(words).expect_err("refused")
}

fn elements(words: &str) -> Vec<serde_json::Value> {
    serde_json::from_str(&explain(words)).expect("an array")
}

#[test]
fn without_words_the_kinds_are_listed_with_their_types() {
    assert_snapshot!(explain(""));
}

#[test]
fn a_kind_is_listed_with_its_types_and_reasons() {
    for vocabulary in explain::vocabularies() {
        assert_snapshot!(format!("kind_{}", vocabulary.kind), explain(vocabulary.kind));
    }
}

#[test]
fn a_type_is_listed_with_what_its_reasons_mean() {
    assert_snapshot!(explain("applicationinstance blocked"));
    assert_snapshot!("type_stalled", explain("operation stalled"));
}

#[test]
fn a_reason_is_explained() {
    assert_snapshot!(explain("ApplicationInstance Blocked MissingSecret"));
    assert_snapshot!("reason_of_stalled", explain("Operation Stalled VeleroBackupFailed"));
}

#[test]
fn a_reason_of_several_types_is_explained_for_each() {
    assert_snapshot!(explain("ApplicationInstance ChartUnreachable"));
}

#[test]
fn colour_is_for_terminals() {
    let styled = styled("cluster connected roundtripok").expect("explained");
    assert_snapshot!(styled.escape_debug().to_string().replace("\\n", "\n"));
}

#[test]
fn names_are_found_in_any_case_plural_short_and_with_their_group() {
    let reference = explain("ApplicationInstance Blocked MissingSecret");
    for kind in
        ["applicationinstance", "APPLICATIONINSTANCES", "appinst", "applicationinstances.apps.vworkspace.io"]
    {
        assert_eq!(explain(&format!("{kind} BLOCKED missingsecret")), reference, "{kind}");
    }
    for (short, kind) in
        [("op", "Operation"), ("cluster", "Cluster"), ("cs", "KarsSandbox"), ("tp", "ToolPolicy")]
    {
        assert_eq!(explain(short), explain(kind));
    }
}

#[test]
fn words_may_stand_without_what_belongs_before_them() {
    let both = explain("MissingSecret");
    assert_eq!(both, explain("applicationinstance missingsecret"));
    let everywhere = elements("speciNvalid -o json");
    assert!(everywhere.iter().all(|element| element["reason"] == "SpecInvalid"));
    assert!(everywhere.len() > 6, "{} kinds and types", everywhere.len());
    assert_eq!(explain("controllershealthy"), explain("cluster controllershealthy"));
    assert_eq!(explain("blocked missingsecret"), explain("appinst blocked missingsecret"));
}

#[test]
fn a_condition_may_be_written_as_documents_and_pages_write_it() {
    let reference = explain("ApplicationInstance Blocked PolicyDenied");
    let spellings = [
        "PolicyDenied",
        "Blocked/PolicyDenied",
        "Blocked=True/PolicyDenied",
        "blocked=true/policydenied",
        "Blocked=True PolicyDenied",
        "Blocked=True / PolicyDenied",
        "appinst Blocked=True/PolicyDenied",
        "appinst/Blocked/PolicyDenied",
    ];
    for words in spellings {
        // Without a type it is explained as Blocked and as what kstatus reads.
        assert!(explain(words).contains(reference.trim_end()), "{words}");
    }
    assert_eq!(explain("Blocked=True/PolicyDenied"), reference);
    assert!(explain("appinst degraded=false").contains("Recovered"));
    assert!(!explain("appinst degraded=false").contains("UpgradeFailed"));
}

#[test]
fn a_command_stays_on_one_line() {
    const BEGIN: [&str; 3] = ["kubectl ", "helm ", "curl "];
    let all = explain("--all");
    let text = explain("Ready=False/HelmReleaseFailed");
    let command = "kubectl annotate applicationinstance -n {namespace} {name} --overwrite apps.vworkspace.io/retry=\"$(date +%s)\"";
    assert!(text.lines().any(|line| line.trim() == command), "{text}");
    assert!(!all.contains('`'));
    let inside = all.lines().filter(|line| BEGIN.iter().any(|tool| line.contains(&format!(": {tool}"))));
    assert_eq!(inside.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_no_condition_is_refused_with_what_is_expected() {
    let refusals = [
        "Blocked=Yes/PolicyDenied",
        "Blocked=False/PolicyDenied",
        "Blocked=Unknown",
        "appinst=True",
        "=True/PolicyDenied",
        "Blocked=True/Ready=False",
        "/",
        "appinst/Blocked/PolicyDenied/again",
        "Blocked=True/PolicyDenid",
    ];
    let lines: Vec<_> = refusals.map(|words| format!("{words}\n  {}", refused(words))).into();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_former_name_leads_to_the_present_one() {
    assert_eq!(explain("karssandbox degraded ConformanceDrift"), explain("karssandbox degraded EvalDrift"));
}

#[test]
fn an_unknown_word_gets_the_nearest_ones_suggested() {
    let refusals = [
        "aplicationinstance",
        "MisingSecret",
        "aplicationinstance blocked",
        "aplicationinstance blocked missingsecret",
        "appinst blokced",
        "appinst blokced missingsecret",
        "appinst blocked misingsecret",
        "operation failed velero",
        "blocked misingsecret",
        "karssandbox redy failed",
    ];
    let lines: Vec<_> = refusals.map(|words| format!("{words}\n  {}", refused(words))).into();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn an_unknown_word_is_a_refusal_for_the_caller() {
    let main = |words: &str| {
        let line = ["kubectl-vworkspace", "explain"].into_iter().chain(words.split_whitespace());
        kubectl_vworkspace::cli::main(line.map(Into::into), &mut Vec::new(), &mut Vec::new())
    };
    assert!(main("aplicationinstance").is_err(), "main turns an error into exit code 3");
    assert_eq!(main("--al").expect("clap has said it") as u8, 3);
    assert_eq!(main("--all appinst").expect("clap has said it") as u8, 3);
}

#[test]
fn json_has_the_fields_of_the_interface_in_their_order() {
    assert_snapshot!(explain("operation failed timeout -o json"));
}

#[test]
fn json_of_all_is_one_element_per_kind_type_status_and_reason() {
    let all = elements("--all -o json");
    let text =
        |element: &serde_json::Value, field: &str| element[field].as_str().expect("a string").to_owned();
    let keys: Vec<_> = all
        .iter()
        .map(|element| {
            ["system", "kind", "type", "status", "reason", "origin"]
                .map(|field| text(element, field))
                .join(" ")
        })
        .collect();
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len());
    let of_contract =
        |system: &str| keys.iter().filter(|key| key.starts_with(system) && key.ends_with("contract")).count();
    assert_eq!((of_contract("vworkspace"), of_contract("kars")), (31 + 19 + 16, 89));
    for element in &all {
        assert!(!text(element, "meaning").is_empty() && !text(element, "resolve").is_empty());
        assert!(!element["investigate"].as_array().expect("an array").is_empty());
        assert_eq!(element["since"], "0.1.0");
    }
    assert_snapshot!(keys.join("\n"));
}

#[test]
fn text_of_all_explains_every_entry() {
    let pages = explain("--all").matches("How to resolve it").count();
    assert_eq!(pages, elements("--all -o json").len());
}
