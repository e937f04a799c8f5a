//! The last lines of a command's log, which no object tells.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client};
use operator_kit::{Poll, Quotes, redact};
use tokio::time::timeout;

use super::shape::CONTAINER;

/// So many lines are wanted, and no more bytes than this are read for them.
const LINES: usize = 20;
const BYTES: i64 = 64 * 1024;
/// How many characters of all lines together are kept: they stand in a status.
const KEPT: usize = 4000;
const PATIENCE: Duration = Duration::from_secs(10);

/// What did a pod that has ended print last?
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LogPoll {
    pub(crate) namespace: String,
    pub(crate) pod: String,
}

/// The lines, without what looks like a credential, or why they cannot be read.
pub(crate) type LastLines = Result<Vec<String>, String>;

impl Poll for LogPoll {
    type Answer = LastLines;
    type Context = Client;
    const AT_ONCE: usize = 16;
    const AT_ONCE_PER_NAMESPACE: usize = 4;

    async fn ask(&self, client: &Client, _: Option<LastLines>) -> LastLines {
        let wanted = LogParams {
            container: Some(CONTAINER.to_owned()),
            tail_lines: i64::try_from(LINES).ok(),
            limit_bytes: Some(BYTES),
            ..LogParams::default()
        };
        let pods: Api<Pod> = Api::namespaced(client.clone(), &self.namespace);
        match timeout(PATIENCE, pods.logs(&self.pod, &wanted)).await {
            Ok(Ok(log)) => Ok(last_lines(&log)),
            Ok(Err(error)) => Err(redact(&error.to_string(), Quotes::Trusted)),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// Nothing is added to it any more, and the operation ends with the first answer.
    fn again_after(&self, _: &LastLines) -> Option<Duration> {
        None
    }
}

/// Of a long log the end is worth most.
fn last_lines(log: &str) -> Vec<String> {
    let mut room = KEPT;
    let lines = log.lines().rev().filter(|line| !line.trim().is_empty()).take(LINES);
    let mut kept: Vec<String> = lines
        .map(|line| redact(line, Quotes::Trusted))
        .take_while(|line| {
            let fits = room.checked_sub(line.chars().count());
            room = fits.unwrap_or_default();
            fits.is_some()
        })
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_kept_without_credentials() {
        let log: String = (0..30).map(|number| format!("line {number}\n\n")).collect();
        let lines = last_lines(&log);
        assert_eq!((lines.len(), lines[0].as_str(), lines[19].as_str()), (20, "line 10", "line 29"));
        assert_eq!(last_lines("password=hunter2 x"), ["password=*** x"]);
        assert_eq!(last_lines(""), [""; 0]);
        let long = format!("{}\n{}\nend\n", "a".repeat(900), "b ".repeat(1900));
        let lines = last_lines(&[long.as_str(); 9].concat());
        let size: usize = lines.iter().map(|line| line.chars().count()).sum();
        assert!(
            size <= KEPT && lines.len() > 5 && lines.last().is_some_and(|line| line == "end"),
            "{lines:?}"
        );
    }
}
