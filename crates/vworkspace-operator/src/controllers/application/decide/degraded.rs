//! Whether something that ran needs attention: the rules of Degraded.

use conditions::Verdict;
use vworkspace_api::application_instance::Degraded;

use super::pause::Pause;
use super::readiness::Checks;
use super::release_state::{Failure, Left, ReleaseState};
use super::status::{Facts, Rule, rule};

/// In the order in which they are asked; the first that has something to say decides.
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Degraded>] = &[
    rule(&[Degraded::UpgradeFailed], "an upgrade failed and was rolled back", rolled_back),
    rule(&[Degraded::HelmReleaseDegraded], "a Helm action failed after a success, and what is there is not whole", damaged),
    rule(&[Degraded::UpgradeFailed, Degraded::HelmReleaseDegraded], "one of these was said, and nothing has succeeded since", still_failed),
    rule(&[Degraded::ChartUnreachable], "the chart source has not answered for five minutes (`--chart-unreachable-after`)", chart_source),
    rule(&[Degraded::EndpointUnreachable], "a readiness check fails, or no Ingress serves the promised host", check_fails),
    rule(&[Degraded::Drifted], "Flux found objects that somebody changed, not longer than two intervals ago", drifted),
    rule(&[Degraded::Recovered, Degraded::NotDegraded], "none of these", fine),
];

/// The last action failed, or the one before a change that cannot begin.
fn failure<'a>(facts: &'a Facts<'_>) -> Option<&'a Failure> {
    facts.state.failure().or(facts.failed_before.as_ref())
}

fn rolled_back(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    let Failure { message, left: Left::RolledBackTo(version), .. } = failure(facts)? else {
        return None;
    };
    let told = || format!("Rolled back: {version} runs. {message}");
    facts.history.was_released.then(|| Verdict::This(Degraded::UpgradeFailed, told()))
}

fn damaged(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    let Failure { message, left: Left::Damaged, .. } = failure(facts)? else { return None };
    facts.history.was_released.then(|| Verdict::This(Degraded::HelmReleaseDegraded, message.clone()))
}

/// Only a success says that what failed is whole again. Until then what weighs less must not come to the front: when it
/// goes, nobody would know any more what it had hidden.
fn still_failed(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    let has_failed =
        matches!(facts.history.degraded, Some(Degraded::UpgradeFailed | Degraded::HelmReleaseDegraded));
    let is_whole = matches!(facts.state, ReleaseState::Released(_)) && !facts.is_awaited();
    (has_failed && !is_whole).then_some(Verdict::AsBefore)
}

fn chart_source(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    Some(Verdict::This(Degraded::ChartUnreachable, facts.unreachable.clone()?))
}

/// Services are asked once the release is in place, and after that until they answer.
fn check_fails(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    let Checks::Fail(message) = &facts.checks else { return None };
    let is_asked = matches!(facts.state, ReleaseState::Released(_))
        || facts.history.degraded == Some(Degraded::EndpointUnreachable);
    is_asked.then(|| Verdict::This(Degraded::EndpointUnreachable, message.clone()))
}

fn drifted(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    Some(Verdict::This(Degraded::Drifted, facts.drift.clone()?))
}

/// What is observed by itself has gone when it is not seen any more; nobody looks for drift while the release is suspended.
fn fine(facts: &Facts<'_>) -> Option<Verdict<Degraded>> {
    let is_over = match facts.history.degraded {
        None | Some(Degraded::NotDegraded) => {
            return Some(Verdict::This(Degraded::NotDegraded, String::new()));
        }
        Some(Degraded::ChartUnreachable) => facts.is_source_seen,
        Some(Degraded::Recovered | Degraded::UpgradeFailed | Degraded::HelmReleaseDegraded) => true,
        Some(Degraded::EndpointUnreachable) => facts.checks == Checks::Pass,
        Some(Degraded::Drifted) => {
            facts.is_drift_seen && !facts.pause.is_some_and(Pause::suspends_the_release)
        }
    };
    Some(if is_over { Verdict::This(Degraded::Recovered, String::new()) } else { Verdict::AsBefore })
}
