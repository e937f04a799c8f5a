//! Whether the application runs: the rules of Ready.

use conditions::Verdict;
use vworkspace_api::application_instance::{Blocked, Ready};

use super::Change;
use super::readiness::Checks;
use super::release_state::{Failure, Left, ReleaseState, Then};
use super::status::{Facts, Rule, rule};
use crate::external::flux::Snapshot;

/// In the order in which they are asked; the first that has something to say decides. An instance that is being deleted
/// is `Uninstalling` before any of these.
#[rustfmt::skip]
pub(super) const RULES: &[Rule<Ready>] = &[
    rule(&[Ready::Blocked], "something has to be put right before the first installation", blocked_before_install),
    rule(&[Ready::ChartUnreachable], "the chart is needed and cannot be fetched", chart_source),
    rule(&[Ready::WaitingForSecret], "a Secret or ConfigMap with values, its key, or an ExternalSecret's target is missing", missing_secret),
    rule(&[Ready::WaitingForCertificate], "a Certificate of the release is not issued", missing_certificate),
    rule(&[Ready::HelmReleaseFailed], "the last Helm action failed", failed),
    rule(&[Ready::Installing, Ready::Upgrading], "a Helm action runs, or Flux has the change and has not begun", in_progress),
    rule(&[Ready::Reconciling], "Flux has reported nothing about the release yet, or the release is suspended", unseen),
    rule(&[Ready::EndpointUnreachable, Ready::Reconciling], "a readiness check fails, or no Ingress serves the promised host; or the first answer is awaited", check_fails),
    rule(&[Ready::HelmReleaseReadyWithWarnings], "released, with something that deserves attention", warned),
    rule(&[Ready::HelmReleaseReady], "released, and every check passes", released),
];

fn blocked_before_install(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let (reason, message) = facts.blocked().filter(|(reason, _)| *reason != Blocked::MissingSecret)?;
    (!facts.history.was_released)
        .then(|| Verdict::This(Ready::Blocked, format!("{}: {message}", reason.entry().reason)))
}

fn chart_source(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let ReleaseState::SourceTrouble(trouble) = &facts.state else { return None };
    Some(Verdict::This(Ready::ChartUnreachable, trouble.message().to_owned()))
}

fn missing_secret(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    Some(Verdict::This(Ready::WaitingForSecret, facts.awaited_secret.as_ref()?.message().to_owned()))
}

fn missing_certificate(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    // Once Flux has given up, the certificate alone does not help.
    if facts.state.failure().is_some_and(|failure| failure.then == Then::GivenUp) {
        return None;
    }
    Some(Verdict::This(Ready::WaitingForCertificate, facts.certificate.as_ref()?.message.clone()))
}

fn failed(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let Failure { message, left, .. } = facts.state.failure()?;
    let told = match left {
        Left::RolledBackTo(revision) => {
            format!("{}. Rolled back: {revision} runs.", message.trim_end_matches('.'))
        }
        Left::Untouched | Left::Damaged => message.clone(),
    };
    Some(Verdict::This(Ready::HelmReleaseFailed, told))
}

fn in_progress(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let action = if facts.history.was_released { Ready::Upgrading } else { Ready::Installing };
    let message = match &facts.state {
        ReleaseState::InProgress(message) => message.clone(),
        ReleaseState::Unseen | ReleaseState::Fetching(_)
            if facts.history.was_released && facts.change != Change::Waits =>
        {
            "Flux has been given the change.".to_owned()
        }
        ReleaseState::NoNews if facts.history.has_word_of_flux => return Some(Verdict::AsBefore),
        ReleaseState::NoNews => "Flux is looking at the release.".to_owned(),
        _ => return None,
    };
    Some(Verdict::This(action, message))
}

fn unseen(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let message = match facts.state {
        ReleaseState::Released(_) => return None,
        ReleaseState::Halted(_) => "The release was suspended before Flux was done with it.",
        _ => match facts.blocked() {
            // Nothing can be seen of a release that may well be there.
            Some((Blocked::MissingDependencies, why)) => why,
            _ => "Flux has not begun with the release yet.",
        },
    };
    Some(Verdict::This(Ready::Reconciling, message.to_owned()))
}

fn check_fails(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    match &facts.checks {
        Checks::Fail(message) => Some(Verdict::This(Ready::EndpointUnreachable, message.clone())),
        // Nobody knows before the first answer.
        _ => facts.awaited().map(|awaited| match facts.history.has_verdict_of_release {
            true => Verdict::AsBefore,
            false => Verdict::This(Ready::Reconciling, awaited.to_owned()),
        }),
    }
}

fn warned(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let ReleaseState::Released(snapshot) = &facts.state else { return None };
    // While the chart cannot be read, what it said before still holds.
    if facts.warnings.is_none() && facts.history.was_warned_by_chart {
        return Some(Verdict::AsBefore);
    }
    let warnings = facts.warnings.as_ref().filter(|warnings| !warnings.all.is_empty())?;
    let message = format!("{} Warning: {}.", runs(snapshot), warnings.all.join("; "));
    Some(Verdict::This(Ready::HelmReleaseReadyWithWarnings, message))
}

fn released(facts: &Facts<'_>) -> Option<Verdict<Ready>> {
    let ReleaseState::Released(snapshot) = &facts.state else { return None };
    Some(Verdict::This(Ready::HelmReleaseReady, runs(snapshot)))
}

fn runs(snapshot: &Snapshot) -> String {
    format!("Chart version {} is released as revision {}.", snapshot.chart_version, snapshot.version)
}
