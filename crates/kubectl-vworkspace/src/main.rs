//! The `kubectl-vworkspace` program: reads the command line, runs one command, turns its result into an exit code.

use std::io::{BufWriter, Write, stderr, stdout};
use std::process::ExitCode;

use anstream::AutoStream;
use kubectl_vworkspace::cli;
use kubectl_vworkspace::exit::Exit;
use kubectl_vworkspace::pipe::{UntilClosed, or_closed};

fn main() -> ExitCode {
    let mut out = BufWriter::new(UntilClosed::new(AutoStream::auto(stdout().lock())));
    let mut err = UntilClosed::new(AutoStream::auto(stderr().lock()));
    let result = cli::main(std::env::args_os(), &mut out, &mut err);
    let exit = result.and_then(|exit| Ok(or_closed(out.flush()).map(|()| exit)?));
    let exit = exit.unwrap_or_else(|error| {
        // If even this cannot be written, the exit code says it.
        let _ = writeln!(err, "error: {}", cli::describe(&error));
        Exit::Refused
    });
    exit.into()
}
