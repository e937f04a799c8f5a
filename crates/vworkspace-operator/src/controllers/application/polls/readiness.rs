//! A readiness check, tried again and again.

use std::time::Duration;

use operator_kit::Poll;

use super::probe::{self, Check, Destination};

/// Does a Service answer?
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReadinessPoll {
    pub(crate) check: Check,
    pub(crate) to: Destination,
    pub(crate) interval: Duration,
    /// As many failures in a row count as one.
    pub(crate) threshold: u32,
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

impl Poll for ReadinessPoll {
    type Answer = Checked;
    type Context = ();
    const AT_ONCE: usize = 256;
    /// A namespace whose checks hang leaves most of the turns to the others.
    const AT_ONCE_PER_NAMESPACE: usize = 32;

    async fn ask(&self, (): &(), before: Option<Checked>) -> Checked {
        after(before, probe::probe(&self.check, &self.to).await, self.threshold)
    }

    fn again_after(&self, _: &Checked) -> Option<Duration> {
        Some(self.interval)
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
