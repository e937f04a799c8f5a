//! An impossible (type, status, reason) does not compile, and the compiler says why.
//!
//! The `.stderr` files are the compiler's words; write them anew with `TRYBUILD=overwrite` and read the difference.
#![allow(missing_docs)]

#[test]
fn what_cannot_be_said_does_not_compile() {
    let cases = trybuild::TestCases::new();
    // With one case that compiles, the others are built and not only checked: that is what evaluates the constants.
    cases.pass("tests/does_not_compile/but_this_does.rs");
    cases.compile_fail("tests/does_not_compile/a*.rs");
}
