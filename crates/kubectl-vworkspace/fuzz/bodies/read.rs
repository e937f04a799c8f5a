//! What the fuzz target `read` does; the tests of the crate compile and run it too, so that it does not rot.

use kstatus::{Options, Profile};
use kubectl_vworkspace::status::read::{Rows, text};

/// Arbitrary bytes as a file: rows or problems, never a panic or a hang.
pub(crate) fn run(bytes: &[u8]) {
    for profile in [Profile::Compatible, Profile::Strict] {
        let mut rows = Rows::new(Options { profile, now: jiff::Timestamp::UNIX_EPOCH });
        text("input", bytes, &mut rows);
    }
}
