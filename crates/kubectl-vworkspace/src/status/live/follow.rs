//! `--watch`: everything once, then every change.

use std::io::Write;
use std::time::Duration;

use futures::stream::{SelectAll, StreamExt};
use futures::{FutureExt, Stream};
use jiff::Timestamp;
use kstatus::Options;
use kube::runtime::watcher::Event;
use serde_json::Value;

use super::target::Target;
use super::tracked::Tracked;
use super::{LiveError, Told};
use crate::exit::Exit;
use crate::pipe::{is_closed, or_closed};
use crate::status::StatusError;
use crate::status::args::StatusArgs;
use crate::status::report::{self, Report};

/// How often answers that depend on the time are looked at again. No request is made for it.
pub(super) const RECONSIDER: Duration = Duration::from_secs(1);

/// Which target, and what happened.
pub(super) type Change = (usize, Result<Event<Value>, LiveError>);

pub(super) fn watch_all(targets: &[Target]) -> SelectAll<impl Stream<Item = Change> + use<>> {
    let streams = targets.iter().enumerate();
    let streams = streams.map(|(index, target)| target.watch().map(move |event| (index, event)).boxed());
    streams.collect()
}

impl<W: Write> Told<'_, W> {
    /// Tells what went wrong, and whether there is hope.
    pub(super) fn watch_failed(
        &mut self,
        tracked: &mut Tracked,
        target: usize,
        error: &LiveError,
    ) -> std::io::Result<()> {
        if tracked.has_given_up(target) {
            return Ok(());
        }
        if is_final(tracked, target, error) {
            tracked.give_up(target);
            return self.refuse(error);
        }
        writeln!(self.err, "warning: {error}; trying again")
    }
}

/// A refusal before anything was seen will not heal; later ones are told, and the watch goes on.
fn is_final(tracked: &Tracked, target: usize, error: &LiveError) -> bool {
    match error {
        LiveError::Request { cause, .. } => {
            let refused = matches!(&**cause, kube::Error::Api(status) if (400..500).contains(&status.code));
            !tracked.has_synced(target) && refused
        }
        _ => !tracked.has_synced(target),
    }
}

pub(super) fn options(args: &StatusArgs) -> Options {
    Options { profile: args.profile.into(), now: Timestamp::now() }
}

/// Until interrupted.
pub(super) async fn changes(
    args: &StatusArgs,
    targets: Vec<Target>,
    report: Report,
    out: &mut impl Write,
    told: &mut Told<'_, impl Write>,
) -> Result<Exit, StatusError> {
    let mut tracked = Tracked::new(targets.iter().map(Target::missing));
    let mut events = watch_all(&targets);
    let mut clock = tokio::time::interval(RECONSIDER);
    let mut shown = false;
    // Whoever does not read this does not read the first row either, and that ends the watch.
    or_closed(report.write_heading(out))?;
    loop {
        let changed = tokio::select! {
            interrupted = tokio::signal::ctrl_c().fuse() => {
                interrupted.map_err(LiveError::Runtime)?;
                return Ok(report::exit(&tracked.rows()));
            }
            event = events.next() => match event {
                None => return Ok(report::exit(&tracked.rows())),
                Some((target, Ok(event))) => tracked.apply(target, event, &options(args)),
                Some((target, Err(error))) => {
                    told.watch_failed(&mut tracked, target, &error)?;
                    Vec::new()
                }
            },
            _ = clock.tick() => tracked.reconsider(&options(args)),
        };
        if tracked.is_hopeless() {
            return Ok(Exit::Refused);
        }
        if !tracked.is_synced() {
            continue;
        }
        let rows = if shown { changed } else { tracked.rows() };
        shown = true;
        let written = rows.iter().try_for_each(|row| report.write_change(row, out));
        if written.as_ref().is_err_and(is_closed) {
            return Ok(report::exit(&tracked.rows()));
        }
        written?;
    }
}
