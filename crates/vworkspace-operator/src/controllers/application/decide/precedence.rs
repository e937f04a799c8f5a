//! The reference page about precedence: which rule decides when several apply. Generated from the rules themselves.

use std::fmt::Write as _;
use std::path::Path;

use conditions::described;

use super::{blocker, degraded, pause, ready, reconciling, status};

const START: &str = "# Precedence: which rule decides when several apply

Generated from the operator's rules; do not edit. Each condition of an ApplicationInstance says one thing. The rules are
asked from top to bottom, and the first that has something to say decides. Several types can report the same problem:
a missing Secret shows as `Ready=False/WaitingForSecret` and as `Blocked=True/MissingSecret`.

An instance that is being deleted is `Ready=False/Uninstalling` whatever else holds. A placeholder is always
`Ready=True/Placeholder`.
";

fn table<'a>(type_: &str, rows: impl Iterator<Item = (Vec<String>, &'a str)>) -> String {
    let mut text = format!("\n## {type_}\n\n| | says | when |\n| --- | --- | --- |\n");
    for (number, (reasons, when)) in (1_u8..).zip(rows) {
        let reasons = reasons.join(", ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {number} | {reasons} | {when} |");
    }
    text
}

fn page() -> String {
    [
        START.to_owned(),
        table("Ready", described(ready::RULES)),
        table("Reconciling", described(reconciling::RULES)),
        table("Degraded", described(degraded::RULES)),
        // The first of these asks the rules of the blockers.
        table("Blocked", described(blocker::RULES).chain(described(status::BLOCKED).skip(1))),
        table("Suspended", described(pause::RULES)),
        table("Deleting", described(status::DELETING)),
    ]
    .concat()
}

#[test]
fn the_reference_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/precedence.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found,
        page(),
        "stale: UPDATE=1 cargo test -p vworkspace-operator the_reference_page_is_fresh"
    );
}
