//! The program `vworkspace-operator`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    vworkspace_operator::run()
}
