//! The reference page about precedence: which rule decides when several apply. Generated from the rules themselves.

use std::fmt::Write as _;
use std::path::Path;

use super::{application, operation};

const START: &str = "# Precedence: which rule decides when several apply

Generated from the operator's rules; do not edit. Each condition of an object says one thing. The rules are
asked from top to bottom, and the first that has something to say decides.
";

/// The rules of one condition type.
pub(crate) fn table<'a>(type_: &str, rows: impl Iterator<Item = (Vec<String>, &'a str)>) -> String {
    let mut text = format!("\n### {type_}\n\n| | says | when |\n| --- | --- | --- |\n");
    for (number, (reasons, when)) in (1_u8..).zip(rows) {
        let reasons = reasons.join(", ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {number} | {reasons} | {when} |");
    }
    text
}

fn page() -> String {
    [START, &application::precedence::section(), &operation::precedence::section()].concat()
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
