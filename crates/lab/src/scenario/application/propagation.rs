//! How the deletion of an instance is asked for: in the background, in the foreground, or leaving its children alone. That is
//! between a client and the garbage collector; what becomes of the application is `spec.deletionPolicy`'s word alone, also
//! when nobody is there to act on it before the garbage collector does.

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use kube::ResourceExt;
use kube::api::DeleteParams;

use super::super::chart::Chart;
use super::super::faults::installed;
use super::super::{Ground, Scenario, gone};
use super::instance::{FINALIZER, HELM, Instance, SOURCE, named};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario =
    scenario("application_propagation_does_not_change_what_the_deletion_policy_says", |ground| {
        Box::pin(run(ground))
    });

pub(in super::super) const OPERATOR_AWAY: Scenario = Scenario {
    // There is no operator for a while, for nobody.
    alone: true,
    ..scenario(
        "application_propagation_while_the_operator_is_away_does_not_change_what_the_deletion_policy_says",
        |ground| Box::pin(run_without_operator(ground)),
    )
};

/// One way to delete an instance.
struct Case {
    /// Of the instance and of its release.
    name: &'static str,
    policy: &'static str,
    params: fn() -> DeleteParams,
    /// What is added to the spec before the deletion, and what Suspended then says.
    pause: Option<(&'static str, &'static str)>,
}

const fn case(name: &'static str, policy: &'static str, params: fn() -> DeleteParams) -> Case {
    Case { name, policy, params, pause: None }
}

const BY_HAND: Option<(&str, &str)> = Some(("suspend: true", "True/ManuallySuspended"));
/// It opens every minute and stays open for an hour: it is always open.
const BY_WINDOW: Option<(&str, &str)> = Some((
    "maintenanceWindows: [{name: stocktaking, schedule: '* * * * *', duration: 1h}]",
    "True/MaintenanceWindow",
));

const CASES: [Case; 8] = [
    case("delete-background", "Delete", DeleteParams::background),
    case("delete-foreground", "Delete", DeleteParams::foreground),
    case("delete-orphan", "Delete", DeleteParams::orphan),
    case("orphan-background", "Orphan", DeleteParams::background),
    case("orphan-foreground", "Orphan", DeleteParams::foreground),
    case("orphan-orphan", "Orphan", DeleteParams::orphan),
    Case { pause: BY_HAND, ..case("delete-suspended", "Delete", DeleteParams::foreground) },
    Case { pause: BY_WINDOW, ..case("delete-in-window", "Delete", DeleteParams::orphan) },
];

async fn run(ground: &Ground) -> Result<()> {
    let instances = all_installed(ground).await?;
    try_join_all(instances.iter().map(async |(case, instance)| {
        instance.delete_with(&(case.params)()).await?;
        ended(ground, case, instance).await
    }))
    .await?;
    Ok(())
}

async fn run_without_operator(ground: &Ground) -> Result<()> {
    let instances = all_installed(ground).await?;
    installed::scale(ground, 0).await?;
    let told = deleted(ground, &instances).await;
    // Whatever the outcome: others need it.
    let restored = installed::scale(ground, 1).await;
    told.and(restored)?;
    try_join_all(instances.iter().map(|(case, instance)| ended(ground, case, instance))).await?;
    Ok(())
}

async fn all_installed(ground: &Ground) -> Result<Vec<(&'static Case, Instance<'_>)>> {
    let chart = Chart::published(ground, &[]).await?;
    try_join_all(CASES.iter().map(|case| installed(ground, &chart, case))).await
}

async fn installed<'a>(
    ground: &'a Ground,
    chart: &Chart,
    case: &'static Case,
) -> Result<(&'static Case, Instance<'a>)> {
    let mut instance = named(ground, case.name, case.name)
        .chart(chart)
        .with("values: {source: inline, inline: {replicas: 0}}")
        .with(&format!("deletionPolicy: {}", case.policy))
        .applied()
        .await?;
    instance.says("Ready", "True/HelmReleaseReady").await?;
    if let Some((spec, suspended)) = case.pause {
        instance.change(spec).await?;
        instance.says("Suspended", suspended).await?;
    }
    Ok((case, instance))
}

/// Deletes all while nobody looks after them; what the instances were made into must wait for the operator.
async fn deleted(ground: &Ground, instances: &[(&Case, Instance<'_>)]) -> Result<()> {
    for (case, instance) in instances {
        instance.delete_with(&(case.params)()).await?;
    }
    for (case, instance) in instances {
        // What the client asked the garbage collector for stands beside our finalizer until it is done.
        let is_settled = |finalizers: &[String]| finalizers == [FINALIZER];
        instance
            .until(|object| object.metadata.deletion_timestamp.is_some() && is_settled(object.finalizers()))
            .await?;
        for (api_version, kind) in [(HELM, "HelmRelease"), (SOURCE, "OCIRepository")] {
            let child = ground.objects(api_version, kind).get_opt(case.name).await?;
            ensure!(
                child.is_some_and(|child| child.metadata.deletion_timestamp.is_none()),
                "{kind} {} was deleted while no operator was there to heed spec.deletionPolicy",
                case.name
            );
        }
    }
    Ok(())
}

/// Nothing of ours is left; the application and Helm's record of it stay with an orphan and go otherwise.
async fn ended(ground: &Ground, case: &Case, instance: &Instance<'_>) -> Result<()> {
    let name = case.name;
    instance.is_gone().await?;
    for (api_version, kind) in [(HELM, "HelmRelease"), (SOURCE, "OCIRepository")] {
        gone(&ground.objects(api_version, kind), kind, name).await?;
    }
    for (api_version, kind, object) in [
        ("apps/v1", "Deployment", name.to_owned()),
        ("v1", "ConfigMap", format!("{name}-settings")),
        ("v1", "Secret", format!("sh.helm.release.v1.{name}.v1")),
    ] {
        let objects = ground.objects(api_version, kind);
        if case.policy == "Delete" {
            gone(&objects, kind, &object).await?;
        } else {
            let kept = objects.get_opt(&object).await?;
            ensure!(
                kept.is_some_and(|kept| kept.metadata.deletion_timestamp.is_none()),
                "{kind} {object} did not stay, although deletionPolicy is Orphan"
            );
        }
    }
    Ok(())
}
