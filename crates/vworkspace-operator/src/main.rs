//! The program `vworkspace-operator`: see the library.

use std::process::ExitCode;

/// musl's own is slow, and a static program gets no other by itself: see docs/performance.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    vworkspace_operator::run()
}
