//! The reference page is what the vocabularies say.
#![allow(missing_docs, clippy::expect_used)] // a test may panic

use std::path::Path;

use conditions::Vocabulary;
use kubectl_vworkspace::explain::vocabularies;

const COMMAND: &str = "UPDATE=1 cargo test -p kubectl-vworkspace --test reference_page";

#[test]
fn the_reference_page_is_what_the_vocabularies_say() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/conditions.md");
    let all: Vec<&Vocabulary> = vocabularies().collect();
    let page = conditions::reference::page(&all, COMMAND);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&place, &page).expect("failed to write the page");
    }
    let stored = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(stored == page, "docs/reference/conditions.md is stale; write it anew with: {COMMAND}");
}
