//! Whether the application answers, beyond what Flux knows.

use jiff::Timestamp;
use operator_kit::{AnyPoll, Found, TemporaryWatch};
use vworkspace_api::application_instance::{ApplicationInstance, Degraded, MissingCertificate};

use super::quoting::said;

use crate::controllers::application::observe::{Asking, ChartReading, NamedCheck, World};
use crate::controllers::application::polls::chart_archive;
use crate::controllers::application::polls::readiness::Checked;
use crate::controllers::application::temporary_watches;
use crate::external::cert_manager;
use crate::external::external_secrets::{Promised, Standing};
use crate::external::flux::condition;

/// How the checks of the spec stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checks {
    Pass,
    /// One has not been answered yet.
    Pending,
    /// In words.
    Fail(String),
}

/// All of them; one that fails is told, whatever the others do.
pub(super) fn checks(app: &ApplicationInstance, world: &World) -> Checks {
    let failing = world.checks.iter().find_map(failure).or_else(|| unserved_host(app, world));
    match failing {
        Some(message) => Checks::Fail(message),
        None if world.checks.iter().any(is_pending) || is_host_unseen(app, world) => Checks::Pending,
        None => Checks::Pass,
    }
}

fn failure(check: &NamedCheck) -> Option<String> {
    match (&check.asking, settled(check.checked.as_ref())) {
        (Asking::Refused(message), _) | (_, Some(Checked::Fails(message))) => {
            Some(format!("Check '{}' fails: {message}.", check.name))
        }
        _ => None,
    }
}

fn is_pending(check: &NamedCheck) -> bool {
    settled(check.checked.as_ref()).is_none()
}

/// What is known for sure.
fn settled(checked: Option<&Checked>) -> Option<&Checked> {
    match checked {
        Some(Checked::Shaky { before, .. }) => before.as_deref(),
        checked => checked,
    }
}

/// Whether nobody can see if the promised address is served.
fn is_host_unseen(app: &ApplicationInstance, world: &World) -> bool {
    app.spec.integrations.ingress.enabled && !matches!(world.ingresses, Found::Objects(_))
}

/// An address that the spec promises must be served.
fn unserved_host(app: &ApplicationInstance, world: &World) -> Option<String> {
    let wanted = &app.spec.integrations.ingress;
    // What cannot be listed says nothing.
    let Found::Objects(ingresses) = &world.ingresses else { return None };
    if !wanted.enabled {
        return None;
    }
    let rules = ingresses.iter().filter_map(|ingress| ingress.spec.as_ref()?.rules.as_ref()).flatten();
    let mut hosts = rules.filter_map(|rule| rule.host.as_deref());
    match wanted.host.as_deref().filter(|host| !host.is_empty()) {
        Some(host) => (!hosts.any(|known| serves(known, host)))
            .then(|| format!("No Ingress of the release serves {host} (spec.integrations.ingress.host).")),
        None => ingresses
            .is_empty()
            .then(|| "The release has no Ingress, and spec.integrations.ingress asks for one.".to_owned()),
    }
}

/// When the first certificate expires, which nobody tells.
pub(super) fn next_expiry(world: &World, now: Timestamp) -> Option<Timestamp> {
    let ends = world.certificates.objects().iter().filter_map(|known| known.status.not_after.as_ref());
    ends.map(|end| end.0).filter(|end| *end > now).min()
}

/// A wildcard stands for one label.
pub(super) fn serves(known: &str, host: &str) -> bool {
    let below =
        |parent: &str| host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == parent);
    known == host || known.strip_prefix("*.").is_some_and(below)
}

/// What to ask from now on: the chart as soon as there is one, the Services once the release is in place, and for as long as
/// one of them is said not to answer.
pub(super) fn polls(app: &ApplicationInstance, world: &World, is_released: bool) -> Vec<AnyPoll> {
    let chart = match &world.chart {
        ChartReading::Absent => None,
        ChartReading::Pending(artifact) | ChartReading::Done(artifact, _) => Some(artifact.clone().into()),
    };
    let asked = checks_to_make(app, world, is_released).filter_map(|check| match &check.asking {
        Asking::Poll(poll) => Some(poll.clone().into()),
        Asking::Invalid(_) | Asking::NotYet | Asking::Refused(_) => None,
    });
    chart.into_iter().chain(asked).collect()
}

/// The Services to look at, for as long as they are asked.
pub(super) fn services(
    app: &ApplicationInstance,
    world: &World,
    is_released: bool,
) -> impl Iterator<Item = TemporaryWatch> {
    checks_to_make(app, world, is_released).filter_map(|check| check.looks_at.clone())
}

fn checks_to_make<'a>(
    app: &ApplicationInstance,
    world: &'a World,
    is_released: bool,
) -> impl Iterator<Item = &'a NamedCheck> + use<'a> {
    let degraded = app.status.as_ref().and_then(|status| status.conditions.read::<Degraded>());
    let is_asked = is_released || degraded == Some(Degraded::EndpointUnreachable);
    world.checks.iter().filter(move |_| is_asked)
}

/// The first certificate of the release that has not been issued. While certificates cannot be listed, what was said of them
/// still holds.
pub(super) fn missing_certificate(
    app: &ApplicationInstance,
    world: &World,
    now: Timestamp,
) -> Option<MissingCertificate> {
    let certificates = match &world.certificates {
        Found::Objects(certificates) => certificates,
        Found::NotInstalled => return None,
        Found::NotYet | Found::Unlisted(_) => return app.status.as_ref()?.missing_certificate.clone(),
    };
    certificates
        .iter()
        .filter(|certificate| certificate.metadata.deletion_timestamp.is_none())
        .find_map(|certificate| cert_manager::waiting_for(certificate, now))
}

/// The Secrets to look at, because an ExternalSecret of the release is not synced.
pub(super) fn promised_secrets(world: &World) -> impl Iterator<Item = TemporaryWatch> {
    let promised = world.external_secrets.objects().iter();
    let unsynced = promised.filter(|promised| promised.standing() != Standing::Synced);
    unsynced.filter_map(|promised| temporary_watches::promised_secret(&promised.external))
}

/// Whether nobody knows yet if a Secret that an ExternalSecret promises is there.
pub(super) fn is_secret_unseen(world: &World) -> bool {
    standings(world).any(|standing| standing == Standing::Unseen)
}

fn standings(world: &World) -> impl Iterator<Item = Standing> {
    world.external_secrets.objects().iter().map(Promised::standing)
}

/// What deserves attention although everything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warnings {
    /// In words.
    pub(super) all: Vec<String>,
    /// Whether the chart alone has given them.
    pub(super) are_of_chart: bool,
}

/// `None` while something of it is not known.
pub(super) fn warnings(app: &ApplicationInstance, world: &World) -> Option<Warnings> {
    let is_unlisted = matches!(world.external_secrets, Found::NotYet | Found::Unlisted(_));
    if is_unlisted || is_secret_unseen(world) {
        return None;
    }
    let outdated = standings(world).filter_map(|standing| match standing {
        Standing::Outdated(message) => Some(message),
        Standing::Synced | Standing::Unseen | Standing::Missing(_) => None,
    });
    let known: Vec<_> = failed_test(app, world).into_iter().chain(outdated).collect();
    let of_chart = match &world.chart {
        ChartReading::Done(_, Some(facts)) => {
            let none = serde_json::Map::new();
            let inline = app.spec.values.as_ref().and_then(|values| values.inline.as_ref());
            chart_archive::warnings(facts, inline.unwrap_or(&none))
        }
        _ if !known.is_empty() => Vec::new(),
        ChartReading::Absent | ChartReading::Pending(_) | ChartReading::Done(_, None) => return None,
    };
    let are_of_chart = known.is_empty() && !of_chart.is_empty();
    Some(Warnings { all: known.into_iter().chain(of_chart).collect(), are_of_chart })
}

/// A Helm test that failed and is ignored.
fn failed_test(app: &ApplicationInstance, world: &World) -> Option<String> {
    let release = world.release.present().filter(|_| app.spec.tests.ignore_failures)?;
    let test = condition(&release.status.conditions, "TestSuccess")?;
    let told = || format!("a Helm test failed and is ignored: {}", said(app, world, &test.message));
    (test.status == "False").then(told)
}
