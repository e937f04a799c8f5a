//! `--wait`: until every object has the wanted status, or has failed, or time is up.

use std::io::Write;
use std::time::Instant;

use futures::StreamExt;
use kstatus::Status;

use super::follow::{RECONSIDER, options, watch_all};
use super::target::Target;
use super::tracked::{Progress, Tracked};
use super::{LiveError, Told};
use crate::exit::Exit;
use crate::status::StatusError;
use crate::status::args::StatusArgs;
use crate::status::report::{self, Report};
use crate::status::row::Row;

/// Progress is told, the final state goes to `out`.
pub(super) async fn until(
    wanted: Status,
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
    let started = Instant::now();
    let deadline = tokio::time::sleep(args.timeout);
    tokio::pin!(deadline);
    loop {
        let changed = tokio::select! {
            event = events.next() => match event {
                None => break,
                Some((target, Ok(event))) => tracked.apply(target, event, &options(args)),
                Some((target, Err(error))) => {
                    told.watch_failed(&mut tracked, target, &error)?;
                    Vec::new()
                }
            },
            _ = clock.tick() => tracked.reconsider(&options(args)),
            () = &mut deadline => {
                writeln!(told.err, "{}", timed_out(&tracked.rows(), wanted, args))?;
                break;
            }
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.map_err(LiveError::Runtime)?;
                break;
            }
        };
        if tracked.is_hopeless() {
            break;
        }
        if !tracked.is_synced() {
            continue;
        }
        let rows = tracked.rows();
        let progress = Progress::of(&rows, wanted);
        for row in if shown { &changed } else { &rows } {
            let seconds = started.elapsed().as_secs();
            writeln!(told.err, "{}", progress_line(seconds, progress, wanted, row, report))?;
        }
        shown = true;
        if progress.is_over(wanted) {
            break;
        }
    }
    let rows = tracked.rows();
    report.write_found(&rows, told.refused, out)?;
    Ok(exit(&rows, wanted, tracked.is_synced()))
}

/// Getting what was waited for is success, whatever it is.
fn exit(rows: &[Row], wanted: Status, synced: bool) -> Exit {
    let progress = Progress::of(rows, wanted);
    if synced && progress.is_over(wanted) && progress.reached == progress.total {
        return Exit::AllCurrent;
    }
    report::exit(rows).max(Exit::NotYetCurrent)
}

/// ` 12s  2/3 Current  shop Deployment/web  InProgress  Replicas: 1/3`
fn progress_line(seconds: u64, progress: Progress, wanted: Status, row: &Row, report: Report) -> String {
    let Progress { reached, total, .. } = progress;
    let line = report.line(row);
    format!("{seconds:>4}s  {reached}/{total} {wanted}  {line}")
}

fn timed_out(rows: &[Row], wanted: Status, args: &StatusArgs) -> String {
    let waiting: Vec<String> = rows
        .iter()
        .filter(|row| row.status != wanted)
        .map(|row| format!("{} is {} ({})", row.title(), row.status, row.text()))
        .collect();
    let seconds = args.timeout.as_secs();
    match waiting.as_slice() {
        [] => format!("error: nothing to wait for was found in {seconds}s"),
        waiting => format!("error: not {wanted} after {seconds}s: {}", waiting.join("; ")),
    }
}
