//! Whatever is in a file: rows or problems, never a panic or a hang.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use kstatus::{Options, Profile};
use kubectl_vworkspace::status::read::{Rows, text};
use proptest::prelude::*;

#[path = "../fuzz/bodies/read.rs"]
mod fuzz_body;

fn read(bytes: &[u8]) -> Rows {
    let mut rows =
        Rows::new(Options { profile: Profile::Strict, now: "2026-01-01T00:00:00Z".parse().unwrap() });
    text("input", bytes, &mut rows);
    rows
}

/// Pieces that bring a reader into every state it has.
const PIECES: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\n",
    "\n\n",
    " ",
    "  ",
    "\t",
    "---",
    "\n---\n",
    "...",
    "#",
    "- ",
    "? ",
    "| \n",
    "> \n",
    "&a ",
    "*a ",
    "<<: ",
    "!!str ",
    "%YAML 1.2\n",
    "\\",
    "\\u12",
    "kind",
    "\"kind\"",
    "items",
    "\"items\"",
    "apiVersion: v1\n",
    "kind: List\n",
    "items:\n",
    "- kind: Pod\n",
    "{\"kind\":\"List\",\"items\":[",
    "\"Pod\"",
    "1e999",
    "-0",
    "true",
    "null",
    "\u{feff}",
    "é",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let rows = read(&bytes);
        // An empty list is the only text that says nothing and is not wrong.
        let is_empty_list = bytes.iter().all(|byte| byte.is_ascii_whitespace() || b"[]".contains(byte))
            && bytes.contains(&b'[');
        prop_assert!(!rows.problems.is_empty() || !rows.rows.is_empty() || is_empty_list);
    }

    #[test]
    fn random_syntax(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        fuzz_body::run(pieces.concat().as_bytes());
    }
}

/// With the stack of a program's main thread; test threads have less.
#[test]
fn deep_nesting_is_refused_not_obeyed() {
    let nesting = || {
        for open in ["[", "{\"a\":", "- ", "? ", "a: {", "[{", "{a: "] {
            let rows = read(open.repeat(100_000).as_bytes());
            assert_eq!((rows.rows.len(), rows.problems.len()), (0, 1), "{open}");
        }
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(nesting).unwrap().join().unwrap();
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", "));
    }
    bomb += "kind: Bomb\nspec: *a11\n";
    assert_eq!(read(bomb.as_bytes()).problems.len(), 1);
}

#[test]
fn many_broken_documents_are_given_up_in_time() {
    for line in ["{\"kind\":\n", "{\"other\":\n", "{\"]\n", "[\n"] {
        let rows = read(line.repeat(20_000).as_bytes());
        assert_eq!(rows.rows.len(), 0, "{line}");
        assert_eq!(rows.problems.len(), 1002, "{line}");
        assert!(
            rows.problems.last().unwrap().to_string().contains("gave up after 1000 broken JSON documents")
        );
    }
}
