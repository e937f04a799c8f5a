//! The last lines of a command's log, which no object tells.

use std::time::Duration;

use futures::AsyncReadExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client};
use operator_kit::{Poll, Quotes, redact, redact_lines};
use tokio::time::{sleep, timeout};

use super::shape::CONTAINER;

/// So many lines are wanted. The runtime cuts longer ones into pieces of 16 KiB, so that no more bytes than this come.
const LINES: usize = 20;
const BYTES: i64 = 512 * 1024;
/// How many characters of all lines together are kept: they stand in a status.
const KEPT: usize = 4000;
const PATIENCE: Duration = Duration::from_secs(10);
/// So often it is tried, with a pause between.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_secs(2);

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
    const AT_ONCE: usize = 8;
    const AT_ONCE_PER_NAMESPACE: usize = 2;

    async fn ask(&self, client: &Client, _: Option<LastLines>) -> LastLines {
        let mut answer = Err("it was not tried".to_owned());
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE).await;
            }
            answer = match timeout(PATIENCE, self.read(client)).await {
                Ok(Ok(log)) => Ok(last_lines(&String::from_utf8_lossy(&log))),
                Ok(Err(why)) => Err(redact(&why, Quotes::Trusted)),
                Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
            };
            if answer.is_ok() {
                break;
            }
        }
        answer
    }

    /// Nothing is added to it any more, and the operation ends with the first answer.
    fn again_after(&self, _: &LastLines) -> Option<Duration> {
        None
    }
}

impl LogPoll {
    async fn read(&self, client: &Client) -> Result<Vec<u8>, String> {
        let wanted = LogParams {
            container: Some(CONTAINER.to_owned()),
            tail_lines: i64::try_from(LINES).ok(),
            limit_bytes: Some(BYTES),
            ..LogParams::default()
        };
        let pods: Api<Pod> = Api::namespaced(client.clone(), &self.namespace);
        let mut stream = pods.log_stream(&self.pod, &wanted).await.map_err(|error| in_words(&error))?;
        let mut log = Vec::new();
        stream.read_to_end(&mut log).await.map_err(|error| error.to_string())?;
        Ok(log)
    }
}

/// The API server's own words, if it has answered.
fn in_words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

/// Of a long log the end is worth most.
fn last_lines(log: &str) -> Vec<String> {
    let lines = redact_lines(log);
    let mut room = KEPT;
    let last = lines.iter().rev().take(LINES).take_while(|line| {
        let fits = room.checked_sub(line.chars().count());
        room = fits.unwrap_or_default();
        fits.is_some()
    });
    let kept = last.count();
    lines.into_iter().rev().take(kept).rev().collect()
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
        assert_eq!(last_lines("hunter2\n-----END PRIVATE KEY-----\nx"), ["***", "x"], "it begins further up");
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
