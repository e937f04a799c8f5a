//! The `kubectl-vworkspace` program: reads the command line, runs one command, turns its result into an exit code.

use std::process::ExitCode;

use kubectl_vworkspace::cli;

fn main() -> ExitCode {
    match cli::main(std::env::args_os()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            kubectl_vworkspace::exit::Exit::Refused.into()
        }
    }
}
