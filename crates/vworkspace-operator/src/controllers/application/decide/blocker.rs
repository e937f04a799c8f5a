//! What stands in the way, in the order in which a person would have to solve it.

use conditions::Reason;
use conditions::{Finding, Subject};
use operator_kit::{Cause, Deed, Found, Sight};
use tracing::debug;
use vworkspace_api::application_instance::{ApplicationInstance, Blocked, ComplaintAbout, MissingSecret};

use super::chart_source::SourceTrouble;
use super::quoting::said;
use super::release_state::{ReleaseState, values_complaint};
use super::{approval, pause};
use crate::controllers::application::children::{DesiredRelease, oci_tag};
use crate::controllers::application::inline_secrets;
use crate::controllers::application::observe::{Asking, Seen, World};
use crate::external::external_secrets::{Promised, Standing};
use crate::external::flux::{HelmRelease, Source};
use crate::policy::catalog_policy::CatalogPolicy;
use operator_kit::{Quotes, redact};

/// Something that has to be put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocker {
    /// Nothing is handed over before it is put right.
    Before(Blocked, String),
    /// The API server does not let us write a child. It is offered again, in case it is not refused any more.
    Refused(Blocked, String),
    /// Flux has the change and cannot carry it out.
    AtFlux(Blocked, String),
    /// The same in its own words, which it takes back for a moment whenever it looks again.
    SaidByFlux(ComplaintAbout, String),
    /// A child that we cannot write although nothing forbids it: the change waits, and we try on.
    NotWritten(String),
}

impl Blocker {
    /// What the condition says, if there is a word for it.
    pub(super) fn condition(&self) -> Option<(Blocked, &str)> {
        match self {
            Blocker::Before(reason, message)
            | Blocker::Refused(reason, message)
            | Blocker::AtFlux(reason, message) => Some((*reason, message)),
            Blocker::SaidByFlux(ComplaintAbout::Values, message) => Some((Blocked::MissingSecret, message)),
            Blocker::SaidByFlux(ComplaintAbout::Denial, message) => Some((Blocked::PolicyDenied, message)),
            Blocker::NotWritten(_) => None,
        }
    }

    /// Whether there is nothing that could be handed over, or nobody to take it.
    pub(super) fn forbids_rollout(&self) -> bool {
        matches!(self, Blocker::Before(..))
    }

    /// Whether Flux does not have the change because of it.
    pub(super) fn keeps_the_change_back(&self) -> bool {
        !matches!(self, Blocker::AtFlux(..) | Blocker::SaidByFlux(..))
    }
}

/// What the blockers are looked for in.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) app: &'a ApplicationInstance,
    pub(super) world: &'a World,
    pub(super) desired: Result<&'a DesiredRelease<'a>, &'a str>,
    pub(super) seen: &'a ReleaseState,
    /// Whether Flux already has what the spec asks for.
    pub(super) is_with_flux: bool,
    pub(super) approval: &'a approval::Approval,
}

/// The blockers are looked for in a [`Situation`].
pub(super) struct Situations;

impl Subject for Situations {
    type Facts<'a> = Situation<'a>;
}

impl Finding<Blocked> for Blocker {
    fn reason(&self) -> Option<Blocked> {
        self.condition().map(|(reason, _)| reason)
    }
}

type Rule = conditions::Rule<Situations, Blocked, Blocker>;

const fn rule(
    says: &'static [Blocked],
    when: &'static str,
    find: for<'a> fn(&Situation<'a>) -> Option<Blocker>,
) -> Rule {
    Rule::new(says, when, find)
}

/// What the rules can say.
pub(super) const REASONS: &[Blocked] = &[
    Blocked::MissingDependencies,
    Blocked::InvalidSpec,
    Blocked::PolicyDenied,
    Blocked::MissingChartSource,
    Blocked::DependencyNotReady,
    Blocked::AwaitingApproval,
    Blocked::MissingSecret,
];

/// In the order in which they are reported.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(&[Blocked::MissingDependencies], "catalog entry `seaweedfs` without `spec.chart`: the first implementation of this API could install SeaweedFS without a chart, this operator cannot", native_storage),
    rule(&[Blocked::InvalidSpec], "the spec cannot be carried out", invalid_spec),
    rule(&[Blocked::MissingDependencies], "Flux is not installed, or its objects cannot be listed or read", missing_flux),
    rule(&[Blocked::MissingDependencies], "a controller that `spec.integrations` asks for is not installed", missing_integration),
    rule(&[Blocked::PolicyDenied], "the catalog policy cannot be read, or a part of it", unreadable_policy),
    rule(&[Blocked::MissingChartSource], "the chart source is not allowed, or the referenced one is absent or has another chart or version", forbidden_source),
    rule(&[Blocked::DependencyNotReady], "an instance of `spec.dependsOn` is not ready", unready_dependency),
    rule(&[Blocked::AwaitingApproval], "the change is not approved", missing_approval),
    rule(&[Blocked::PolicyDenied, Blocked::MissingDependencies], "the API server refuses a child of the instance, or does not know its kind", refused),
    rule(&[Blocked::MissingChartSource], "the chart or its version does not exist", missing_chart),
    rule(&[Blocked::MissingSecret], "a Secret or ConfigMap with values, or its key, is missing", missing_values),
    rule(&[Blocked::MissingSecret], "the Secret that an ExternalSecret of the release promises does not exist", unsynced_secret),
    rule(&[Blocked::PolicyDenied], "the API server refuses an object of the release", denied_at_flux),
];

/// The first one is reported.
pub(super) fn first(situation: Situation<'_>) -> Option<Blocker> {
    let (blocker, when) = conditions::first(RULES, &situation)?;
    debug!(condition = Blocked::TYPE.name, when, "a rule applies");
    Some(blocker)
}

fn native_storage(&Situation { app, .. }: &Situation<'_>) -> Option<Blocker> {
    (app.spec.app_ref.catalog_id == "seaweedfs" && app.spec.chart.is_none()).then(|| {
        let message =
            "This operator has no native SeaweedFS mode. Give spec.chart to install it by its chart.";
        Blocker::Before(Blocked::MissingDependencies, message.to_owned())
    })
}

/// What the schema cannot say.
fn invalid_spec(situation: &Situation<'_>) -> Option<Blocker> {
    let Situation { app, world, desired, .. } = *situation;
    let message = match desired {
        Err(missing) => Some(missing.to_owned()),
        Ok(desired) => unmeant_chart(*situation, desired)
            .or_else(|| pause::bad_window(app))
            .or_else(|| inline_secret(app))
            .or_else(|| {
                world.checks.iter().find_map(|check| {
                    let Asking::Invalid(wrong) = &check.asking else { return None };
                    Some(format!("spec.readinessChecks '{}': {wrong}.", check.name))
                })
            }),
    };
    message.map(|message| Blocker::Before(Blocked::InvalidSpec, message))
}

/// The API server refuses this too, unless its CRD is older than the rule. Flux takes another chart for another release:
/// it uninstalls the one that runs.
fn unmeant_chart(
    Situation { app, is_with_flux, .. }: Situation<'_>,
    desired: &DesiredRelease<'_>,
) -> Option<String> {
    let wanted = desired.chart;
    let last = app.status.as_ref()?.last_applied_chart.as_ref().filter(|_| !is_with_flux)?;
    let is_meant = last.name == wanted.name || wanted.replace.as_ref() == Some(&wanted.name);
    (!is_meant).then(|| {
        format!(
            "spec.chart.name was '{}' and is now '{}'; expected the same, because Flux would uninstall the running release \
             and its volumes would be lost. If that is meant, set spec.chart.replace to '{}'.",
            last.name, wanted.name, wanted.name
        )
    })
}

fn inline_secret(app: &ApplicationInstance) -> Option<String> {
    let inline = app.spec.values.as_ref()?.inline.as_ref()?;
    let finding = inline_secrets::first(inline)?;
    Some(format!(
        "spec.values.inline has a secret at {}: {}; expected it in a Secret that spec.values.secretRef names.",
        finding.path, finding.why
    ))
}

fn missing_flux(&Situation { world, .. }: &Situation<'_>) -> Option<Blocker> {
    let missing = match (&world.release, &world.source) {
        (Sight::Unknown(why), _) | (_, Seen::Known(Sight::Unknown(why))) => {
            return Some(Blocker::Before(Blocked::MissingDependencies, format!("{why}.")));
        }
        // What cannot be read cannot be kept as it should be; somebody else has written it.
        (Sight::Unreadable(why), _) => {
            let message = format!("The HelmRelease cannot be read: {why}. Correct it, or delete it.");
            return Some(Blocker::Before(Blocked::MissingDependencies, message));
        }
        (Sight::NotInstalled, _) => {
            "Flux's helm-controller is not installed (no CRD helmreleases.helm.toolkit.fluxcd.io)."
        }
        (_, Seen::Known(Sight::NotInstalled)) => {
            "Flux's source-controller is not installed, or older than 2.6 (no CRD of source.toolkit.fluxcd.io/v1)."
        }
        _ => return None,
    };
    Some(Blocker::Before(Blocked::MissingDependencies, missing.to_owned()))
}

fn missing_integration(&Situation { app, world, .. }: &Situation<'_>) -> Option<Blocker> {
    let integrations = &app.spec.integrations;
    let cert_manager = integrations.cert_manager.enabled.then(|| {
        unusable(&world.certificates, "cert-manager is not installed (no CRD certificates.cert-manager.io)")
            .map(|why| format!("{why}, and spec.integrations.certManager asks for it."))
    });
    let external_secrets = integrations.external_secrets.enabled.then(|| {
        unusable(
            &world.external_secrets,
            "external-secrets is not installed (no CRD externalsecrets.external-secrets.io)",
        )
        .map(|why| format!("{why}, and spec.integrations.externalSecrets asks for it."))
    });
    let missing = cert_manager.flatten().or_else(|| external_secrets.flatten())?;
    Some(Blocker::Before(Blocked::MissingDependencies, missing))
}

/// Why a kind of another controller tells nothing.
fn unusable<K>(found: &Found<K>, not_installed: &str) -> Option<String> {
    match found {
        Found::NotInstalled => Some(not_installed.to_owned()),
        Found::Unlisted(why) => Some(why.clone()),
        Found::NotYet | Found::Objects(_) => None,
    }
}

/// What Flux has already was allowed when it was handed over.
fn unreadable_policy(&Situation { world, is_with_flux, .. }: &Situation<'_>) -> Option<Blocker> {
    let problem = world.policy.problem().filter(|_| !is_with_flux)?;
    Some(Blocker::Before(Blocked::PolicyDenied, problem))
}

/// The source must be allowed; one that somebody else keeps must be there and point to the chart and the version that are
/// asked for.
fn forbidden_source(&Situation { world, desired, .. }: &Situation<'_>) -> Option<Blocker> {
    let desired = desired.ok()?;
    let policy = &world.policy;
    let blocked = |message| Some(Blocker::Before(Blocked::MissingChartSource, message));
    let Some(reference) = desired.referenced() else {
        let url = desired.url()?;
        return refusal(policy, &url).and_then(|why| blocked(format!("spec.chart.url: {why}")));
    };
    let named = || format!("spec.chart.sourceRef: {} {}", desired.source_kind_name(), reference.name);
    let source = match &world.source {
        Seen::Known(Sight::Absent) => {
            return blocked(format!("{} does not exist in this namespace.", named()));
        }
        Seen::Known(Sight::Unreadable(why)) => return blocked(format!("{} cannot be read: {why}", named())),
        Seen::Known(Sight::Present(source)) => source,
        Seen::Known(Sight::NotInstalled | Sight::Unknown(_)) | Seen::NotYet => return None,
    };
    if let Some(why) = refusal(policy, &source.spec.url) {
        return blocked(format!("{}: {why}", named()));
    }
    let other =
        other_chart(desired, source).or_else(|| other_version(desired, source)).filter(|_| desired.is_oci());
    other.and_then(|why| blocked(format!("{} {why}", named())))
}

/// Charts are pushed under their own names. To follow an address of another one is to give the release another chart.
fn other_chart(desired: &DesiredRelease<'_>, source: &Source) -> Option<String> {
    let (url, name) = (&source.spec.url, &desired.chart.name);
    let ending = format!("/{name}");
    (!url.trim_end_matches('/').ends_with(&ending)).then(|| {
        format!(
            "points to {}; expected an address that ends in {ending}, because spec.chart.name is {name} and Flux would \
             uninstall the release for another chart.",
            redact(url, Quotes::Trusted)
        )
    })
}

/// Only a tag names a version. Flux takes a digest or a range before it: the range moves by itself, and of a digest Flux
/// does not tell which version it is.
fn other_version(desired: &DesiredRelease<'_>, source: &Source) -> Option<String> {
    let (reference, version) = (&source.spec.reference, &desired.chart.version);
    let wanted = oci_tag(version);
    let first = [("digest", &reference.digest), ("semver", &reference.semver)];
    if let Some((field, found)) = first.into_iter().find(|(_, found)| !found.is_empty()) {
        return Some(format!(
            "has ref.{field} {found}, which Flux takes before ref.tag; expected only ref.tag {wanted}, because \
             spec.chart.version is {version} and nothing else tells which version Flux installs."
        ));
    }
    let found = if reference.tag.is_empty() { "no tag".to_owned() } else { format!("tag {}", reference.tag) };
    (reference.tag != wanted).then(|| {
        format!("points to {found}; expected tag {wanted}, because spec.chart.version is {version}.")
    })
}

/// What was allowed may stand in a line that cannot be read: then nobody knows, and changes wait for that.
fn refusal(policy: &CatalogPolicy, url: &str) -> Option<String> {
    let allowed = || policy.allowed_sources().collect::<Vec<_>>().join(", ");
    (!policy.allows(url) && !policy.hides_sources()).then(|| {
        let url = redact(url, Quotes::Trusted);
        format!(
            "{url} is not allowed by the catalog policy (key allowedChartSources of ConfigMap \
             vworkspace-catalog-policy); expected an address below {}.",
            allowed()
        )
    })
}

fn unready_dependency(&Situation { world, is_with_flux, .. }: &Situation<'_>) -> Option<Blocker> {
    // What Flux has already does not wait any more.
    let lacking = world.dependencies.iter().filter(|_| !is_with_flux);
    let told: Vec<String> = lacking
        .filter_map(|dependency| Some(format!("{} {}", dependency.name, dependency.lacks.as_ref()?)))
        .collect();
    (!told.is_empty()).then(|| {
        Blocker::Before(Blocked::DependencyNotReady, format!("spec.dependsOn: {}.", told.join("; ")))
    })
}

fn missing_approval(&Situation { approval, .. }: &Situation<'_>) -> Option<Blocker> {
    match approval {
        approval::Approval::Missing(message) => {
            Some(Blocker::Before(Blocked::AwaitingApproval, message.clone()))
        }
        approval::Approval::NotNeeded | approval::Approval::Given | approval::Approval::Accepted(_) => None,
    }
}

/// The API server's answer to the last plan.
fn refused(&Situation { app, world, .. }: &Situation<'_>) -> Option<Blocker> {
    let refusal = world.refusals.first()?;
    let message = said(app, world, &refusal.message);
    // What was only to be cleared away holds nothing back.
    if refusal.deed == Deed::Clear {
        let is_denied = refusal.cause == Cause::Forbidden;
        return is_denied.then_some(Blocker::AtFlux(Blocked::PolicyDenied, message));
    }
    Some(match refusal.cause {
        Cause::Forbidden => Blocker::Refused(Blocked::PolicyDenied, message),
        Cause::NotInstalled => Blocker::Refused(Blocked::MissingDependencies, message),
        // Not InvalidSpec: that would be for ever, and Flux's schema is not ours.
        Cause::Invalid | Cause::Owned | Cause::Unavailable | Cause::StillThere | Cause::NoNamespace => {
            Blocker::NotWritten(message)
        }
    })
}

/// A release that runs does not need its chart any more; a change does.
fn missing_chart(&Situation { seen, .. }: &Situation<'_>) -> Option<Blocker> {
    match seen {
        ReleaseState::SourceTrouble(SourceTrouble::Missing(message)) => {
            Some(Blocker::AtFlux(Blocked::MissingChartSource, message.clone()))
        }
        _ => None,
    }
}

/// What is waited for, also if something else is reported as the first blocker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AwaitedSecret {
    /// The Secret or ConfigMap with the values, or its key.
    OfValues(String),
    /// One that an ExternalSecret promises.
    Promised(MissingSecret),
}

impl AwaitedSecret {
    pub(super) fn message(&self) -> &str {
        match self {
            AwaitedSecret::OfValues(message) | AwaitedSecret::Promised(MissingSecret { message, .. }) => {
                message
            }
        }
    }
}

pub(super) fn awaited_secret(situation: &Situation<'_>) -> Option<AwaitedSecret> {
    let of_values = missing_values_message(situation).map(AwaitedSecret::OfValues);
    of_values.or_else(|| missing_secret(situation).map(AwaitedSecret::Promised))
}

fn missing_values(situation: &Situation<'_>) -> Option<Blocker> {
    missing_values_message(situation).map(|message| Blocker::SaidByFlux(ComplaintAbout::Values, message))
}

/// Flux tells which Secret, ConfigMap or key it misses; its other words can quote the values and are not copied.
fn missing_values_message(&Situation { app, world, seen, .. }: &Situation<'_>) -> Option<String> {
    let release = world.release.present().filter(|_| *seen != ReleaseState::Unseen)?;
    match values_complaint(release) {
        Some(ready) if ready.message.ends_with("not found") => Some(said(app, world, &ready.message)),
        // Flux looks again: until it has, they are still missing.
        None if *seen == ReleaseState::NoNews => said_before(app, ComplaintAbout::Values),
        _ => None,
    }
}

/// What Flux said of this very spec when it last had something to say.
fn said_before(app: &ApplicationInstance, about: ComplaintAbout) -> Option<String> {
    let said = app.status.as_ref()?.flux_complaint.as_ref()?;
    let holds = said.about == about && Some(said.generation) == app.metadata.generation;
    holds.then(|| said.message.clone())
}

fn unsynced_secret(situation: &Situation<'_>) -> Option<Blocker> {
    missing_secret(situation).map(|missing| Blocker::AtFlux(Blocked::MissingSecret, missing.message))
}

/// A Secret that external-secrets promised and has not written.
fn missing_secret(&Situation { app, world, .. }: &Situation<'_>) -> Option<MissingSecret> {
    let before = app.status.as_ref().and_then(|status| status.missing_secret.as_ref());
    let missing = |promised: &Promised| {
        let external_secret = promised.external.namespaced_name();
        match promised.standing() {
            Standing::Missing(message) => Some(MissingSecret { external_secret, message }),
            Standing::Unseen => before.filter(|before| before.external_secret == external_secret).cloned(),
            Standing::Synced | Standing::Outdated(_) => None,
        }
    };
    match &world.external_secrets {
        Found::Objects(promised) => promised.iter().find_map(missing),
        Found::NotInstalled => None,
        // What cannot be listed has not come.
        Found::NotYet | Found::Unlisted(_) => before.cloned(),
    }
}

/// An admission policy, a quota or missing rights of Flux.
fn denied_at_flux(&Situation { app, world, seen, .. }: &Situation<'_>) -> Option<Blocker> {
    if *seen == ReleaseState::NoNews {
        // Flux looks again: until it has, what it said still holds. Other refusals are seen anew each time.
        let told = said_before(app, ComplaintAbout::Denial)?;
        return Some(Blocker::SaidByFlux(ComplaintAbout::Denial, told));
    }
    let failure = seen.failure()?;
    let says = |word: &str| failure.message.contains(word);
    let is_denied =
        ["is forbidden", "denied the request", "denied request", "exceeded quota"].into_iter().any(says);
    // Of an account that does not exist Flux says only what it may not do.
    let account = world.release.present().and_then(HelmRelease::service_account);
    let hint = account.filter(|account| says(&format!(":{account}\" cannot"))).map(|account| {
        format!(". Flux works as ServiceAccount {account}: check that it exists, and what it may do.")
    });
    let told = format!("Flux reports: {}{}", failure.message, hint.unwrap_or_default());
    is_denied.then_some(Blocker::SaidByFlux(ComplaintAbout::Denial, told))
}
