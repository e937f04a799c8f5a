//! What the lab is doing: step n of m, how long it took, and for long steps how far it is.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Where nobody sees a line being rewritten, a long step says this often that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(1);

/// The steps of one command. Steps may overlap; each is numbered when it ends.
pub(crate) struct Progress {
    total: usize,
    done: AtomicUsize,
    spoke: Mutex<Instant>,
    terminal: bool,
}

/// One step under way.
pub(crate) struct Step<'a> {
    progress: &'a Progress,
    what: String,
    started: Instant,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Self {
        let now = Instant::now();
        Self { total, done: AtomicUsize::new(0), spoke: Mutex::new(now), terminal: stderr().is_terminal() }
    }

    pub(crate) fn begin(&self, what: impl Into<String>) -> Step<'_> {
        let step = Step { progress: self, what: what.into(), started: Instant::now() };
        step.note("");
        step
    }

    fn say(&self, line: &str) {
        let mut spoke = self.spoke.lock().unwrap_or_else(PoisonError::into_inner);
        *spoke = Instant::now();
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        // A closed terminal must not stop the work.
        drop(writeln!(stderr(), "{clear}{line}"));
    }
}

impl Step<'_> {
    /// How far a long step is; shown in place on a terminal, now and then elsewhere.
    pub(crate) fn note(&self, how_far: &str) {
        let next = self.progress.done.load(Ordering::Relaxed) + 1;
        let line = format!("[{next:>2}/{}] {} … {how_far}", self.progress.total, self.what);
        let elapsed = seconds(self.started.elapsed());
        let mut spoke = self.progress.spoke.lock().unwrap_or_else(PoisonError::into_inner);
        if self.progress.terminal {
            drop(write!(stderr(), "\r\x1b[K{line} {elapsed}"));
            drop(stderr().flush());
        } else if spoke.elapsed() > HEARTBEAT {
            *spoke = Instant::now();
            drop(writeln!(stderr(), "{line} {elapsed}"));
        }
    }

    /// Does some work and says meanwhile that it goes on.
    pub(crate) fn ticking<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let (done, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    self.note(what);
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    pub(crate) fn done(self) {
        let number = self.progress.done.fetch_add(1, Ordering::Relaxed) + 1;
        let elapsed = seconds(self.started.elapsed());
        self.progress.say(&format!("[{number:>2}/{}] {:<58} {elapsed:>8}", self.progress.total, self.what));
    }
}

/// `0.4 s`, `12.3 s`, `2 min 05 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        whole => format!("{} min {:02} s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = [0.04, 12.34, 59.9, 60.0, 125.0].map(|s| seconds(Duration::from_secs_f64(s)));
        assert_eq!(shown, ["0.0 s", "12.3 s", "59.9 s", "1 min 00 s", "2 min 05 s"]);
    }
}
