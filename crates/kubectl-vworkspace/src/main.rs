//! The `kubectl-vworkspace` program: reads the command line, runs one command, turns its result into an exit code.

use std::process::ExitCode;

use kubectl_vworkspace::cli;
use kubectl_vworkspace::exit::Exit;

fn main() -> ExitCode {
    match cli::main(std::env::args_os()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            // A reader that has seen enough (`| head`) is no failure of ours.
            if !is_broken_pipe(&error) {
                eprintln!("error: {}", cli::describe(&error));
            }
            Exit::Refused.into()
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}
