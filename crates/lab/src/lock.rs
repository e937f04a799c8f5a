//! Kernel locks between labs. Who has to wait for one is told for what; who gets it at once is told nothing.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Longer than any lock is held by who does not build or start something.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes a lock. The kernel frees it when its file is closed, also by the end of a process that was killed.
pub(crate) fn take(file: &File, waiting_for: &str) -> io::Result<()> {
    unless_quick(PATIENCE, || eprintln!("lab: waiting for {waiting_for}"), || file.lock())
}

/// Does some work; if it takes longer than that, says so meanwhile.
fn unless_quick<T>(patience: Duration, say: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (done, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_long_is_told_while_it_waits() {
        let (say, said) = channel();
        let told = unless_quick(
            Duration::ZERO,
            move || say.send("waiting").expect("somebody listens"),
            // Ends only by what is said.
            || said.recv(),
        );
        assert_eq!(told, Ok("waiting"));
    }

    #[test]
    fn who_waits_for_nothing_is_told_nothing() {
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(unless_quick(day, || unreachable!("it was quick"), || "done"), "done");
    }
}
