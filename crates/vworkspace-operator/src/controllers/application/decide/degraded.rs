//! Whether something that ran needs attention: the rules of Degraded.

use vworkspace_api::application_instance::Degraded;

use super::readiness::Checks;
use super::reading::{Failure, Left, Reading};
use super::status::{Facts, History, Rule, Said, rule};

/// In the order in which they are asked; the first that has something to say decides.
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Degraded>] = &[
    rule(&[Degraded::UpgradeFailed], "an upgrade failed and was rolled back", rolled_back),
    rule(&[Degraded::HelmReleaseDegraded], "a Helm action failed after a success, and what is there is not whole", damaged),
    rule(&[Degraded::ChartUnreachable], "the chart source has not answered for five minutes (`--chart-unreachable-after`)", chart_source),
    rule(&[Degraded::EndpointUnreachable], "a readiness check fails, or no Ingress serves the promised host", check_fails),
    rule(&[Degraded::Drifted], "Flux found objects that somebody changed, not longer than two intervals ago", drifted),
    rule(&[Degraded::Recovered, Degraded::NotDegraded], "nothing of this, and the release is in place", fine),
];

fn rolled_back(facts: &Facts<'_>, history: History) -> Option<Said<Degraded>> {
    let Failure { message, left: Left::RolledBackTo(version), .. } = facts.reading.failure()? else {
        return None;
    };
    let told = || format!("Rolled back: {version} runs. {message}");
    history.was_released.then(|| Said::This(Degraded::UpgradeFailed, told()))
}

fn damaged(facts: &Facts<'_>, history: History) -> Option<Said<Degraded>> {
    let Failure { message, left: Left::Damaged, .. } = facts.reading.failure()? else { return None };
    history.was_released.then(|| Said::This(Degraded::HelmReleaseDegraded, message.clone()))
}

fn chart_source(facts: &Facts<'_>, _: History) -> Option<Said<Degraded>> {
    Some(Said::This(Degraded::ChartUnreachable, facts.unreachable.clone()?))
}

fn check_fails(facts: &Facts<'_>, _: History) -> Option<Said<Degraded>> {
    match (&facts.reading, &facts.checks) {
        (Reading::Released(_), Checks::Fail(message)) => {
            Some(Said::This(Degraded::EndpointUnreachable, message.clone()))
        }
        _ => None,
    }
}

fn drifted(facts: &Facts<'_>, _: History) -> Option<Said<Degraded>> {
    let message = facts.drift.as_ref().filter(|_| matches!(facts.reading, Reading::Released(_)))?;
    Some(Said::This(Degraded::Drifted, message.clone()))
}

/// Only a success says that what was broken is whole again; that a chart source answers shows by itself.
fn fine(facts: &Facts<'_>, history: History) -> Option<Said<Degraded>> {
    let is_proven = matches!(facts.reading, Reading::Released(_)) && !facts.is_awaited();
    Some(match history.degraded {
        None | Some(Degraded::NotDegraded) => Said::This(Degraded::NotDegraded, String::new()),
        Some(Degraded::ChartUnreachable | Degraded::Recovered) => {
            Said::This(Degraded::Recovered, String::new())
        }
        Some(_) if is_proven => Said::This(Degraded::Recovered, String::new()),
        Some(_) => Said::AsBefore,
    })
}
