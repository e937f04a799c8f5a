//! Until an operation has ended: one watch, one line for each change; on a terminal one line that changes.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use futures::StreamExt;
use kube::ResourceExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use vworkspace_api::operation::{Blocked, Engine, Operation, OperationStatus, Phase};

use super::OpError;
use super::access::Session;
use crate::columns::one_line;
use crate::exit::Exit;
use crate::status::live::LiveError;
use crate::style::{BAD, BUSY, GOOD, styled};

/// How often a terminal shows the time that has passed. No request is made for it.
const TICK: Duration = Duration::from_secs(1);

/// The exit code, and the operation as it was seen last.
pub(super) async fn until_ended(
    session: &Session,
    name: &str,
    timeout: Option<Duration>,
    err: &mut impl Write,
) -> Result<(Exit, Option<Operation>), OpError> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = watcher(session.operations(), config).default_backoff().boxed();
    let mut progress = Progress::new(err);
    let mut last: Option<Operation> = None;
    let mut clock = tokio::time::interval(TICK);
    let deadline = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let interrupt = tokio::signal::ctrl_c();
    tokio::pin!(deadline, interrupt);
    let place = format!("{name} -n {}", session.namespace);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = clock.tick(), if progress.redraws => {
                progress.redraw()?;
                continue;
            }
            () = &mut deadline => {
                let phase = last.as_ref().map_or(Phase::Pending, phase);
                let seconds = timeout.unwrap_or_default().as_secs();
                progress.tell(&format!(
                    "error: {name} has not ended after {seconds}s: it is {phase}, and goes on. More: kubectl vworkspace op show {place}"
                ))?;
                return Ok((Exit::NotYetCurrent, last));
            }
            interrupted = &mut interrupt => {
                interrupted.map_err(LiveError::Runtime)?;
                let how = match &last {
                    Some(operation) if operation.spec.cancel => "It was asked to end".to_owned(),
                    _ => format!("To cancel it: kubectl vworkspace op cancel {place}"),
                };
                progress.tell(&format!("{name} goes on; nobody waits for it any more. {how}"))?;
                return Ok((Exit::NotYetCurrent, last));
            }
        };
        match event {
            Some(Ok(Event::InitApply(operation) | Event::Apply(operation))) => {
                progress.show(&operation)?;
                let phase = phase(&operation);
                let is_new = last.as_ref().is_none_or(|last| reason(last) != reason(&operation));
                if let Some(hint) = hint(&operation, &place).filter(|_| is_new) {
                    progress.tell(&hint)?;
                }
                last = Some(operation);
                if phase.is_final() {
                    progress.end()?;
                    return Ok((exit(phase), last));
                }
            }
            Some(Ok(Event::Delete(operation))) => {
                progress.tell(&format!("error: {name} was deleted before it had ended"))?;
                return Ok((Exit::Failed, Some(operation)));
            }
            Some(Ok(Event::InitDone)) if last.is_none() => {
                progress.tell(&format!("error: {name} does not exist; it was deleted"))?;
                return Ok((Exit::Failed, last));
            }
            Some(Ok(Event::Init | Event::InitDone)) => {}
            Some(Err(error)) => {
                let error = session.failed("watch", name, cause(error));
                if last.is_none() {
                    return Err(error);
                }
                progress.tell(&format!("warning: {error}; trying again"))?;
            }
            None => return Ok((Exit::NotYetCurrent, last)),
        }
    }
}

pub(super) fn cause(error: watcher::Error) -> kube::Error {
    match error {
        watcher::Error::InitialListFailed(cause)
        | watcher::Error::WatchStartFailed(cause)
        | watcher::Error::WatchFailed(cause) => cause,
        watcher::Error::WatchError(status) => kube::Error::Api(status),
        watcher::Error::NoResourceVersion => {
            kube::Error::Service("the API server told no resourceVersion".into())
        }
    }
}

/// What the operator said last; Pending, as long as it has said nothing.
pub(super) fn phase(operation: &Operation) -> Phase {
    operation.status.as_ref().and_then(|status| status.phase).unwrap_or(Phase::Pending)
}

fn reason(operation: &Operation) -> Option<&str> {
    operation.status.as_ref()?.reason.as_deref()
}

/// What to type where nobody gets on by waiting.
fn hint(operation: &Operation, place: &str) -> Option<String> {
    let op = "kubectl vworkspace op";
    match phase(operation) {
        Phase::Failed if operation.spec.engine == Engine::Job => {
            Some(format!("Its log: {op} logs {place}\nMore: {op} show {place}"))
        }
        Phase::Failed => Some(format!("More: {op} show {place}")),
        Phase::Pending if reason(operation) == Some(Blocked::AwaitingApproval.entry().reason) => {
            Some(format!("To approve it: {op} approve {place} --key FILE"))
        }
        _ => None,
    }
}

fn exit(phase: Phase) -> Exit {
    match phase {
        Phase::Succeeded => Exit::AllCurrent,
        Phase::Failed | Phase::Cancelled => Exit::Failed,
        Phase::Pending | Phase::Running => Exit::NotYetCurrent,
    }
}

pub(super) fn style(phase: Phase) -> anstyle::Style {
    match phase {
        Phase::Succeeded => GOOD,
        Phase::Pending | Phase::Running => BUSY,
        Phase::Failed | Phase::Cancelled => BAD,
    }
}

/// `Running  EngineStarted  Backup shop/nightly runs.`
pub(super) fn state(operation: &Operation) -> String {
    let none = OperationStatus::default();
    let status = operation.status.as_ref().unwrap_or(&none);
    let phase = phase(operation);
    let reason = status.reason.as_deref().unwrap_or("-");
    let message = match &operation.status {
        None => "The operator has not looked at it yet.",
        Some(status) => status.message.as_deref().unwrap_or_default(),
    };
    format!("{}  {}  {}", styled(style(phase), phase), one_line(reason), one_line(message))
        .trim_end()
        .to_owned()
}

/// How it ended, or how far it came.
pub(super) fn write_end(operation: &Operation, out: &mut impl Write) -> io::Result<()> {
    let duration = operation.status.as_ref().and_then(|status| status.duration.as_deref());
    let took = duration.map(|duration| format!("  ({})", one_line(duration))).unwrap_or_default();
    writeln!(out, "{}  {}{took}", operation.name_any(), state(operation))
}

/// What is told while somebody waits.
struct Progress<'e, W> {
    err: &'e mut W,
    redraws: bool,
    started: Instant,
    line: String,
    is_open: bool,
}

impl<'e, W: Write> Progress<'e, W> {
    fn new(err: &'e mut W) -> Self {
        let terminal = io::stderr();
        let redraws = terminal.is_terminal() && AutoStream::choice(&terminal) != ColorChoice::Never;
        Progress { err, redraws, started: Instant::now(), line: String::new(), is_open: false }
    }

    fn show(&mut self, operation: &Operation) -> io::Result<()> {
        let line = state(operation);
        if line == self.line {
            return Ok(());
        }
        self.line = line;
        if self.redraws {
            return self.redraw();
        }
        writeln!(self.err, "{:>4}s  {}", self.started.elapsed().as_secs(), self.line)
    }

    /// The line anew. The terminal is told not to break it: what is too long is cut at the edge.
    fn redraw(&mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        self.is_open = true;
        let seconds = self.started.elapsed().as_secs();
        write!(self.err, "\r\x1b[2K\x1b[?7l{seconds:>4}s  {}\x1b[?7h", self.line)?;
        self.err.flush()
    }

    /// On a line of its own.
    fn tell(&mut self, text: &str) -> io::Result<()> {
        self.end()?;
        writeln!(self.err, "{text}")
    }

    fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) { writeln!(self.err) } else { Ok(()) }
    }
}
