//! What the fuzz target `chart` does; the tests of the crate compile and run it too, so that it does not rot.

use super::facts;

/// Arbitrary bytes as the archive of a chart: facts of bounded size or a problem on one line, never a panic.
pub(crate) fn run(bytes: &[u8]) {
    match facts::of(bytes) {
        Ok(facts) => assert!(facts.name.len() + facts.version.len() < 2048),
        Err(problem) => assert!(!problem.contains('\n') && problem.len() < 200),
    }
}
