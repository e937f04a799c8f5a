//! Whether the spec has been carried out: the rules of Reconciling.

use conditions::Verdict;
use vworkspace_api::application_instance::Reconciling;

use super::Change;
use super::blocker::Blocker;
use super::release_state::{Left, ReleaseState, Then};
use super::status::{Facts, Rule, rule};

/// In the order in which they are asked; the first that has something to say decides.
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Reconciling>] = &[
    rule(&[Reconciling::ChangePending], "the release could not be suspended, or whether it is suspended is not known", not_paused),
    rule(&[Reconciling::ChangePending], "the change waits: for a person, for the end of a pause, or because a child could not be written", waits),
    rule(&[Reconciling::ChartSourceSyncing], "Flux is fetching the chart, or tries to", fetching),
    rule(&[Reconciling::HelmReleaseInstalling, Reconciling::HelmReleaseUpgrading], "a Helm action runs, or will run again after a failure", acting),
    rule(&[Reconciling::Reconciling], "released, and the first answer of a check or about a Secret is awaited", awaited),
    rule(&[Reconciling::HelmReleaseInstalling, Reconciling::HelmReleaseUpgrading, Reconciling::Stable], "Flux has just begun another reconcile: what was concluded before still holds", no_news),
    rule(&[Reconciling::ChangePending], "the release was suspended before Flux was done with it", halted),
    rule(&[Reconciling::Stable], "released, or Flux has given up", done),
];

const RESUMED: &str = "The change waits until reconciliation is resumed: see Suspended.";

fn not_paused(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    Some(Verdict::This(Reconciling::ChangePending, facts.refused_pause.clone()?))
}

fn waits(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    if facts.change != Change::Waits {
        return None;
    }
    let why = match (&facts.blocker, &facts.pause) {
        (Some(Blocker::NotWritten(message)), _) => message.clone(),
        (_, Some(_)) => RESUMED.to_owned(),
        (Some(blocker), None) => blocker.condition().map_or_else(String::new, |(reason, message)| {
            format!("The change waits: {}: {message}", reason.entry().reason)
        }),
        (None, None) => "The change waits.".to_owned(),
    };
    Some(Verdict::This(Reconciling::ChangePending, why))
}

fn fetching(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    let message = match facts.state {
        ReleaseState::Unseen | ReleaseState::Fetching(_) => "Flux is fetching the chart.".to_owned(),
        ReleaseState::SourceTrouble(trouble) => {
            format!("Flux tries again to fetch the chart: {}", trouble.message())
        }
        _ => return None,
    };
    Some(Verdict::This(Reconciling::ChartSourceSyncing, message))
}

/// What Helm does.
fn action(facts: &Facts<'_>) -> Reconciling {
    if facts.history.was_released {
        Reconciling::HelmReleaseUpgrading
    } else {
        Reconciling::HelmReleaseInstalling
    }
}

fn acting(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    let message = match facts.state {
        ReleaseState::InProgress(message) => message.clone(),
        ReleaseState::Failed(failure) if failure.then == Then::Retried => {
            let next = if failure.left == Left::Untouched {
                "tries again"
            } else {
                "goes on, with a rollback or another try"
            };
            format!("Flux {next}: {}", failure.message)
        }
        _ => return None,
    };
    Some(Verdict::This(action(facts), message))
}

fn awaited(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    let is_new = matches!(facts.state, ReleaseState::Released(_)) && !facts.history.has_verdict_of_release;
    let awaited = facts.awaited().filter(|_| is_new)?;
    Some(Verdict::This(Reconciling::Reconciling, awaited.to_owned()))
}

fn no_news(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    let history = facts.history;
    (*facts.state == ReleaseState::NoNews).then(|| {
        if history.has_verdict_of_release {
            Verdict::This(Reconciling::Stable, String::new())
        } else if history.has_word_of_flux && !history.was_pending {
            Verdict::AsBefore
        } else {
            Verdict::This(action(facts), "Flux is looking at the release.".to_owned())
        }
    })
}

fn halted(facts: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    let is_halted = matches!(facts.state, ReleaseState::Halted(_));
    is_halted.then(|| Verdict::This(Reconciling::ChangePending, RESUMED.to_owned()))
}

fn done(_: &Facts<'_>) -> Option<Verdict<Reconciling>> {
    Some(Verdict::This(Reconciling::Stable, String::new()))
}
