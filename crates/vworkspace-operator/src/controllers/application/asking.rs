//! What is asked beside the visits: whether a Service answers, and what a chart says of itself.

use std::time::Duration;

use operator_kit::Errand;
use tokio::sync::Semaphore;

use crate::errands::chart_archive::{self, ArtifactRef, ChartFacts};
use crate::errands::probe::{self, Check, Destination};

/// A chart that could not be read is tried again after this time; until then nothing is known against it.
const READ_AGAIN: Duration = Duration::from_secs(300);

/// After a restart every chart is read and every Service asked; not all at once. The work itself is boxed when its turn has
/// come: thousands may wait for theirs, and each would keep the room for it.
static CHARTS_AT_ONCE: Semaphore = Semaphore::const_new(4);
static CHECKS_AT_ONCE: Semaphore = Semaphore::const_new(64);

/// A question about an application.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// Does it answer?
    Check(Asked),
    /// What does its chart say of itself?
    Chart(ArtifactRef),
}

/// A readiness check, and how it is tried.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) check: Check,
    pub(crate) to: Destination,
    pub(crate) interval: Duration,
    /// As many failures in a row count as one.
    pub(crate) threshold: u32,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Check(Checked),
    /// Nothing if it could not be read.
    Chart(Option<ChartFacts>),
}

/// How a check stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checked {
    Passes,
    /// It failed, but not often enough in a row; what was known before still holds.
    Shaky {
        failures: u32,
        before: Option<Box<Checked>>,
    },
    Fails(String),
}

impl Errand for Question {
    type Answer = Reply;

    async fn run(&self, before: Option<Reply>) -> Reply {
        match self {
            Question::Check(asked) => {
                // Nobody closes it.
                let _turn = CHECKS_AT_ONCE.acquire().await;
                let before = before.and_then(|reply| match reply {
                    Reply::Check(checked) => Some(checked),
                    Reply::Chart(_) => None,
                });
                let answer = Box::pin(probe::probe(&asked.check, &asked.to)).await;
                Reply::Check(after(before, answer, asked.threshold))
            }
            Question::Chart(artifact) => {
                let _turn = CHARTS_AT_ONCE.acquire().await;
                Reply::Chart(match Box::pin(chart_archive::read(artifact)).await {
                    Ok(facts) => Some(facts),
                    Err(reason) => {
                        tracing::warn!(reason, "failed to read a chart");
                        None
                    }
                })
            }
        }
    }

    fn again_after(&self, answer: &Reply) -> Option<Duration> {
        match (self, answer) {
            (Question::Check(asked), _) => Some(asked.interval),
            (Question::Chart(_), Reply::Chart(Some(_))) => None,
            (Question::Chart(_), _) => Some(READ_AGAIN),
        }
    }
}

/// One failure is no news, several in a row are.
fn after(before: Option<Checked>, answer: probe::Answer, threshold: u32) -> Checked {
    let message = match answer {
        probe::Answer::Passed => return Checked::Passes,
        probe::Answer::Failed(message) => message,
    };
    let (failures, settled) = match before {
        Some(Checked::Fails(_)) => return Checked::Fails(message),
        Some(Checked::Shaky { failures, before }) => (failures + 1, before),
        Some(Checked::Passes) => (1, Some(Box::new(Checked::Passes))),
        None => (1, None),
    };
    if failures >= threshold { Checked::Fails(message) } else { Checked::Shaky { failures, before: settled } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_waits_for_its_turn_takes_little_room() {
        let artifact = ArtifactRef { url: String::new(), digest: String::new(), size: None };
        let waiting = std::mem::size_of_val(&Question::Chart(artifact).run(None));
        assert!(waiting < 512, "{waiting} bytes for each instance at the start");
    }

    #[test]
    fn a_check_fails_after_as_many_failures_in_a_row_as_the_user_said() {
        let no = || probe::Answer::Failed("no".to_owned());
        let passes = after(None, probe::Answer::Passed, 2);
        assert_eq!(passes, Checked::Passes);
        let once = after(Some(passes), no(), 2);
        assert_eq!(once, Checked::Shaky { failures: 1, before: Some(Box::new(Checked::Passes)) });
        assert_eq!(after(Some(once.clone()), probe::Answer::Passed, 2), Checked::Passes, "the row is broken");
        let twice = after(Some(once), no(), 2);
        assert_eq!(twice, Checked::Fails("no".to_owned()));
        assert_eq!(after(Some(twice), no(), 2), Checked::Fails("no".to_owned()));
        assert_eq!(after(None, no(), 1), Checked::Fails("no".to_owned()));
    }
}
