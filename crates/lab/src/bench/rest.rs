//! What the operator costs when nothing happens, after its work and after a restart.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use tokio::time::sleep;

use super::operator::{Memory, Operator};
use super::results::Row;
use super::workbench::Workbench;
use crate::audit::Request;

/// Memory is looked at this long after the last write.
pub(super) const CALM: Duration = Duration::from_secs(60);

/// What was seen of an operator that has nothing to do.
pub(super) struct Rest {
    pub(super) memory: Memory,
    pub(super) memory_after_restart: Memory,
    pub(super) writes: usize,
    pub(super) writes_over_restart: usize,
    /// Seconds of processor time.
    pub(super) busy: f64,
}

impl Rest {
    /// Watches an operator that has settled, for this long, then another one that takes over.
    pub(super) async fn of(bench: &Workbench, operator: Operator, length: Duration) -> Result<Self> {
        sleep(CALM).await;
        let memory = operator.memory()?;
        let (since, busy) = (Timestamp::now(), operator.cpu_seconds()?);
        sleep(length).await;
        let busy = operator.cpu_seconds()? - busy;
        let writes = counted("at rest", &bench.writes(since)?);
        operator.stop().await?;
        let since = Timestamp::now();
        let operator = bench.program.start().await?;
        bench.settle(&operator).await?;
        sleep(CALM).await;
        let memory_after_restart = operator.memory()?;
        let writes_over_restart = counted("over a restart", &bench.writes(since)?);
        operator.stop().await?;
        Ok(Self { memory, memory_after_restart, writes, writes_over_restart, busy })
    }
}

/// How many, and for a person which.
pub(super) fn counted(when: &str, writes: &[Request]) -> usize {
    for write in writes.iter().take(10) {
        eprintln!("lab: {when} the operator wrote: {}", write.describe());
    }
    writes.len()
}

pub(super) fn memory_row(measure: &str, target: f64, held: &str, Memory { rss, anonymous }: Memory) -> Row {
    Row::at_most(measure, target, "MiB", rss).because(format!("{held}, RssAnon {anonymous:.1} MiB"))
}
