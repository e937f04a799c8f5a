//! What stands in the way, in the order in which a person would have to solve it.

use conditions::Reason;
use operator_kit::{Cause, Sight};
use tracing::debug;
use vworkspace_api::application_instance::{ApplicationInstance, Blocked};

use super::chart_source::SourceTrouble;
use super::reading::{Reading, said, values_complaint};
use super::{approval, pause};
use crate::catalog_policy::CatalogPolicy;
use crate::controllers::application::children::{Order, oci_tag};
use crate::controllers::application::observe::{Seen, World};
use crate::external_secrets;
use crate::inline_secrets;
use crate::quotation::{Quotes, safe};

/// Something that has to be put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocker {
    /// Nothing is handed over before it is put right.
    Before(Blocked, String),
    /// The API server does not let us write a child. It is offered again, in case it is not refused any more.
    Refused(Blocked, String),
    /// Flux has the change and cannot carry it out.
    AtFlux(Blocked, String),
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
            Blocker::NotWritten(_) => None,
        }
    }

    /// Whether there is nothing that could be handed over, or nobody to take it.
    pub(super) fn forbids_handing_over(&self) -> bool {
        matches!(self, Blocker::Before(..))
    }

    /// Whether Flux does not have the change because of it.
    pub(super) fn keeps_the_change_back(&self) -> bool {
        !matches!(self, Blocker::AtFlux(..))
    }
}

/// How a refusal begins that Flux met, not we.
const FLUX_SAYS: &str = "Flux reports: ";

/// What the blockers are looked for in.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) app: &'a ApplicationInstance,
    pub(super) world: &'a World,
    pub(super) order: Result<&'a Order<'a>, &'a str>,
    pub(super) seen: &'a Reading,
    /// Whether Flux already has what the spec asks for.
    pub(super) is_with_flux: bool,
    pub(super) approval: &'a approval::Approval,
}

/// A rule that finds one kind of blocker.
pub(super) struct Rule {
    pub(super) says: Blocked,
    /// In words, for the reference page.
    pub(super) when: &'static str,
    find: fn(Situation<'_>) -> Option<Blocker>,
}

const fn rule(says: Blocked, when: &'static str, find: fn(Situation<'_>) -> Option<Blocker>) -> Rule {
    Rule { says, when, find }
}

/// In the order in which they are reported.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(Blocked::MissingDependencies, "the reference's native SeaweedFS mode is asked for", native_storage),
    rule(Blocked::InvalidSpec, "the spec cannot be carried out", invalid_spec),
    rule(Blocked::MissingDependencies, "Flux is not installed", missing_flux),
    rule(Blocked::MissingDependencies, "a controller that `spec.integrations` asks for is not installed", missing_integration),
    rule(Blocked::PolicyDenied, "the catalog policy cannot be read, or a part of it", unreadable_policy),
    rule(Blocked::MissingChartSource, "the chart source is not allowed, or the referenced one is absent or has another version", forbidden_source),
    rule(Blocked::DependencyNotReady, "an instance of `spec.dependsOn` is not ready", unready_dependency),
    rule(Blocked::AwaitingApproval, "the change is not approved", missing_approval),
    rule(Blocked::PolicyDenied, "the API server refuses a child of the instance", refused),
    rule(Blocked::MissingChartSource, "the chart or its version does not exist", missing_chart),
    rule(Blocked::MissingSecret, "a Secret or ConfigMap with values, or its key, is missing", missing_values),
    rule(Blocked::MissingSecret, "an ExternalSecret of the release is not synced", unsynced_secret),
    rule(Blocked::PolicyDenied, "the API server refuses an object of the release", denied_at_flux),
];

/// The first one is reported.
pub(super) fn first(situation: Situation<'_>) -> Option<Blocker> {
    RULES.iter().find_map(|rule| {
        let blocker = (rule.find)(situation)?;
        debug!(says = ?rule.says, when = rule.when, "a rule applies");
        Some(blocker)
    })
}

fn native_storage(Situation { app, .. }: Situation<'_>) -> Option<Blocker> {
    (app.spec.app_ref.catalog_id == "seaweedfs" && app.spec.chart.is_none()).then(|| {
        let message =
            "This operator has no native SeaweedFS mode. Give spec.chart to install it by its chart.";
        Blocker::Before(Blocked::MissingDependencies, message.to_owned())
    })
}

/// What the schema cannot say.
fn invalid_spec(Situation { app, world, order, .. }: Situation<'_>) -> Option<Blocker> {
    let message = match order {
        Err(missing) => Some(missing.to_owned()),
        Ok(_) => pause::bad_window(app).or_else(|| inline_secret(app)).or_else(|| {
            world.checks.iter().find_map(|check| {
                let wrong = check.asked.as_ref().err()?;
                Some(format!("spec.readinessChecks '{}': {wrong}.", check.name))
            })
        }),
    };
    message.map(|message| Blocker::Before(Blocked::InvalidSpec, message))
}

fn inline_secret(app: &ApplicationInstance) -> Option<String> {
    let inline = app.spec.values.as_ref()?.inline.as_ref()?;
    let finding = inline_secrets::first(inline)?;
    Some(format!(
        "spec.values.inline has a secret at {}: {}; expected it in a Secret that spec.values.secretRef names.",
        finding.path, finding.why
    ))
}

fn missing_flux(Situation { world, .. }: Situation<'_>) -> Option<Blocker> {
    let missing = match (&world.release, &world.source) {
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

fn missing_integration(Situation { app, world, .. }: Situation<'_>) -> Option<Blocker> {
    let integrations = &app.spec.integrations;
    let missing = if integrations.cert_manager.enabled && world.certificates.is_none() {
        "cert-manager is not installed (no CRD certificates.cert-manager.io), and spec.integrations.certManager asks for it."
    } else if integrations.external_secrets.enabled && world.external_secrets.is_none() {
        "external-secrets is not installed (no CRD externalsecrets.external-secrets.io), and spec.integrations.externalSecrets asks for it."
    } else {
        return None;
    };
    Some(Blocker::Before(Blocked::MissingDependencies, missing.to_owned()))
}

/// What Flux has already was allowed when it was handed over.
fn unreadable_policy(Situation { world, is_with_flux, .. }: Situation<'_>) -> Option<Blocker> {
    let problem = world.policy.problem().filter(|_| !is_with_flux)?;
    Some(Blocker::Before(Blocked::PolicyDenied, problem))
}

/// The source must be allowed; one that somebody else keeps must be there and point to the version that is asked for.
fn forbidden_source(Situation { world, order, .. }: Situation<'_>) -> Option<Blocker> {
    let order = order.ok()?;
    let policy = &world.policy;
    let blocked = |message| Some(Blocker::Before(Blocked::MissingChartSource, message));
    let Some(reference) = order.referenced() else {
        let url = order.url()?;
        return refusal(policy, &url).and_then(|why| blocked(format!("spec.chart.url: {why}")));
    };
    let named = || format!("spec.chart.sourceRef: {} {}", order.source_kind_name(), reference.name);
    let source = match &world.source {
        Seen::Known(Sight::Absent) => {
            return blocked(format!("{} does not exist in this namespace.", named()));
        }
        Seen::Known(Sight::Unreadable(why)) => return blocked(format!("{} cannot be read: {why}", named())),
        Seen::Known(Sight::Present(source)) => source,
        Seen::Known(Sight::NotInstalled) | Seen::NotYet => return None,
    };
    if let Some(why) = refusal(policy, &source.spec.url) {
        return blocked(format!("{}: {why}", named()));
    }
    let (tag, wanted) = (&source.spec.reference.tag, oci_tag(&order.chart.version));
    (order.is_oci() && *tag != wanted).then(|| {
        let found = if tag.is_empty() { "no tag".to_owned() } else { format!("tag {tag}") };
        Blocker::Before(
            Blocked::MissingChartSource,
            format!(
                "{} points to {found}; expected tag {wanted}, because spec.chart.version is {}.",
                named(),
                order.chart.version
            ),
        )
    })
}

/// What was allowed may stand in a line that cannot be read: then nobody knows, and changes wait for that.
fn refusal(policy: &CatalogPolicy, url: &str) -> Option<String> {
    let allowed = || policy.allowed_sources().collect::<Vec<_>>().join(", ");
    (!policy.allows(url) && !policy.hides_sources()).then(|| {
        let url = safe(url, Quotes::Trusted);
        format!(
            "{url} is not allowed by the catalog policy (key allowedChartSources of ConfigMap \
             vworkspace-catalog-policy); expected an address below {}.",
            allowed()
        )
    })
}

fn unready_dependency(Situation { world, is_with_flux, .. }: Situation<'_>) -> Option<Blocker> {
    // What Flux has already does not wait any more.
    let lacking = world.dependencies.iter().filter(|_| !is_with_flux);
    let told: Vec<String> = lacking
        .filter_map(|dependency| Some(format!("{} {}", dependency.name, dependency.lacks.as_ref()?)))
        .collect();
    (!told.is_empty()).then(|| {
        Blocker::Before(Blocked::DependencyNotReady, format!("spec.dependsOn: {}.", told.join("; ")))
    })
}

fn missing_approval(Situation { approval, .. }: Situation<'_>) -> Option<Blocker> {
    match approval {
        approval::Approval::Missing(message) => {
            Some(Blocker::Before(Blocked::AwaitingApproval, message.clone()))
        }
        approval::Approval::NotNeeded | approval::Approval::Given | approval::Approval::Accepted(_) => None,
    }
}

/// The API server's answer to the last plan.
fn refused(Situation { app, world, .. }: Situation<'_>) -> Option<Blocker> {
    let refusal = world.refusals.first()?;
    let message = said(app, &refusal.message);
    Some(match refusal.cause {
        Cause::Forbidden => Blocker::Refused(Blocked::PolicyDenied, message),
        // Not InvalidSpec: that would be for ever, and Flux's schema is not ours.
        Cause::Invalid | Cause::Owned | Cause::Unavailable | Cause::StillThere => {
            Blocker::NotWritten(message)
        }
    })
}

/// A release that runs does not need its chart any more; a change does.
fn missing_chart(Situation { seen, .. }: Situation<'_>) -> Option<Blocker> {
    match seen {
        Reading::SourceTrouble(SourceTrouble::Missing(message)) => {
            Some(Blocker::AtFlux(Blocked::MissingChartSource, message.clone()))
        }
        _ => None,
    }
}

/// The Secret or ConfigMap that is waited for, also if something else is reported as the first blocker.
pub(super) fn missing_secret(situation: Situation<'_>) -> Option<String> {
    let blocker = missing_values(situation).or_else(|| unsynced_secret(situation))?;
    blocker.condition().map(|(_, message)| message.to_owned())
}

/// Flux tells which Secret, ConfigMap or key it misses; its other words can quote the values and are not copied.
fn missing_values(Situation { app, world, seen, .. }: Situation<'_>) -> Option<Blocker> {
    let release = world.release.present().filter(|_| *seen != Reading::Unseen)?;
    let message = match values_complaint(release) {
        Some(ready) => safe(&ready.message, Quotes::Trusted),
        // Flux looks again: until it has, they are still missing.
        None if *seen == Reading::NoNews => told_before(app, Blocked::MissingSecret)?,
        None => return None,
    };
    message.ends_with("not found").then_some(Blocker::AtFlux(Blocked::MissingSecret, message))
}

/// What was said of this very spec when Flux last had something to say.
fn told_before(app: &ApplicationInstance, reason: Blocked) -> Option<String> {
    let status = app.status.as_ref().filter(|status| status.conditions.read::<Blocked>() == Some(reason))?;
    let told = status.conditions.get(Blocked::TYPE.name)?;
    (told.observed_generation == app.metadata.generation).then(|| told.message.clone())
}

/// A Secret that external-secrets promised and has not written.
fn unsynced_secret(Situation { world, .. }: Situation<'_>) -> Option<Blocker> {
    let waiting = world.external_secrets.iter().flatten().find_map(external_secrets::waiting_for);
    waiting.map(|message| Blocker::AtFlux(Blocked::MissingSecret, message))
}

/// An admission policy, a quota or missing rights of Flux.
fn denied_at_flux(Situation { app, seen, .. }: Situation<'_>) -> Option<Blocker> {
    if *seen == Reading::NoNews {
        // Flux looks again: until it has, what it said still holds. Other refusals are seen anew each time.
        let told = told_before(app, Blocked::PolicyDenied).filter(|told| told.starts_with(FLUX_SAYS))?;
        return Some(Blocker::AtFlux(Blocked::PolicyDenied, told));
    }
    let failure = seen.failure()?;
    let says = |word: &str| failure.message.contains(word);
    let is_denied =
        ["is forbidden", "denied the request", "denied request", "exceeded quota"].into_iter().any(says);
    is_denied.then(|| Blocker::AtFlux(Blocked::PolicyDenied, format!("{FLUX_SAYS}{}", failure.message)))
}
