//! What the fuzz target `schema` does; the tests of the crate compile and run it too, so that it does not rot.

use super::facts;

/// Arbitrary bytes as a values.schema.json: read like any JSON, and what is found has a bounded size.
pub(crate) fn run(bytes: &[u8]) {
    let found = facts::deprecated_in(bytes);
    // Whatever is JSON can be read; what is ignored is not looked at so closely.
    let is_json = serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    assert!(found.is_ok() || !is_json);
    let size = |value: &facts::DeprecatedValue| value.note.len() + value.path.concat().len();
    assert!(found.iter().flatten().map(size).sum::<usize>() <= 128 * 1024);
}
