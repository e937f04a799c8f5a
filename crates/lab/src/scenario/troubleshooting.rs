//! The commands that the published troubleshooting guide tells people to type, exactly as it prints them, each in the
//! situation that it is for. Left out: `kubectl top`, for which the lab has no metrics server, the grep for `Last Applied`,
//! which Flux does not say any more, and webhooks. Those about operations are in `operation/troubleshooting.rs`.

mod operator;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::application::instance::{HELM, Instance, named};
use super::chart::{Chart, NAME};
use super::shell::Shell;
use super::{Ground, Scenario};

pub(super) use operator::OPERATOR;

pub(super) const APPLICATION: Scenario = Scenario {
    name: "troubleshooting_application_the_commands_of_the_guide_show_what_it_promises",
    needs: &["external-secrets-crds", "flux", "operator", "registry"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(application(ground)),
};

/// The guide has one name for an instance and its release.
const SHOP: &str = "shop";

async fn application(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let shell = Shell::of(ground)?.filling("<name>", SHOP).filling("<chart-name>", NAME);
    let mut shop = named(ground, SHOP, SHOP).chart(&chart);
    shop = shop
        .with("{timeout: 8s, upgrade: {retries: 0}, values: {source: inline, inline: {stumble: true}}}")
        .applied()
        .await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;
    upgrade_failed(&shell, &mut shop).await?;
    paused(&shell, &shop).await?;
    shop.delete().await?;
    shop.is_gone().await?;

    let mut shop = named(ground, SHOP, SHOP).chart(&chart);
    stuck(ground, &shell, &mut shop).await?;
    missing_secret(ground, &shell, &mut shop).await
}

/// ApplicationInstance.status.conditions[Degraded]=True, reason UpgradeFailed
async fn upgrade_failed(shell: &Shell<'_>, shop: &mut Instance<'_>) -> Result<()> {
    shop.change("values: {inline: {ready: false}}").await?;
    shop.says("Degraded", "True/UpgradeFailed").await?;
    shell.shows("kubectl describe helmrelease -n <ns> <name>", &["UpgradeFailed", "rollback"]).await?;
    // Of the pod that runs, which is of the previous revision.
    let logs = "kubectl logs -n <ns> -l app.kubernetes.io/name=<chart-name> --previous --tail=200";
    shell.shows(logs, &["it stumbled"]).await?;
    // Most often: the new chart version requires a values change.
    shop.change("values: {inline: {ready: true, greeting: mended}}").await?;
    shop.says("Degraded", "False/Recovered").await.map(|_| ())
}

/// ApplicationInstance.status.conditions[Suspended]=True, reason ReconcilePaused
async fn paused(shell: &Shell<'_>, shop: &Instance<'_>) -> Result<()> {
    shell
        .shows("kubectl annotate applicationinstance/<name> apps.vworkspace.io/reconcile=disabled", &[])
        .await?;
    shop.says("Suspended", "True/ReconcilePaused").await?;
    shell
        .shows(
            // The guide leaves out which one: ...
            "kubectl get applicationinstance -n <ns> <name> -o yaml | grep annotations -A5",
            &["apps.vworkspace.io/reconcile: disabled"],
        )
        .await?;
    shell
        .shows("kubectl annotate applicationinstance/<name> apps.vworkspace.io/reconcile-", &["annotated"])
        .await?;
    shop.says("Suspended", "False/Active").await.map(|_| ())
}

/// ApplicationInstance stuck in Reconciling=True
async fn stuck(ground: &Ground, shell: &Shell<'_>, shop: &mut Instance<'_>) -> Result<()> {
    shop.change("{timeout: 15s, values: {source: inline, inline: {ready: false}}}").await?;
    let is_installing = |data: &Value| data.to_string().contains("Running 'install' action");
    ground.until(HELM, "HelmRelease", SHOP, is_installing).await?;
    shop.says("Reconciling", "True/HelmReleaseInstalling").await?;
    let guide: [(&str, &[&str]); 4] = [
        (
            "kubectl get applicationinstance -n <ns> <name> -o yaml | grep -A40 status:",
            &["type: Reconciling", "reason: HelmReleaseInstalling"],
        ),
        ("kubectl get helmrelease -n <ns>", &[SHOP]),
        ("kubectl describe helmrelease -n <ns> <name>", &["Conditions:", "Running 'install' action"]),
        (
            "kubectl get helmrepository,ocirepository -n <ns>",
            &["ocirepository.source.toolkit.fluxcd.io/shop"],
        ),
    ];
    for (command, promised) in guide {
        shell.shows(command, promised).await?;
    }
    // Adjust ApplicationInstance.spec.values and let the operator push the change.
    shop.change("values: {inline: {ready: true}}").await?;
    shop.says("Ready", "True/HelmReleaseReady").await.map(|_| ())
}

/// ApplicationInstance.status.conditions[Blocked]=True, reason MissingSecret
async fn missing_secret(ground: &Ground, shell: &Shell<'_>, shop: &mut Instance<'_>) -> Result<()> {
    shop.change("values: {source: secretRef, inline: null, secretRef: {name: settings, key: shop.yaml}}")
        .await?;
    shop.says("Blocked", "True/MissingSecret").await?;
    let secrets = shell.shows("kubectl get secret -n <ns>", &["sh.helm.release.v1.shop"]).await?;
    ensure!(!secrets.contains("settings"), "the missing Secret is listed: {secrets}");
    shell.shows("kubectl get externalsecret -n <ns>", &[]).await?;
    // Create the Secret.
    ground.apply(SECRET).await?;
    shop.says("Blocked", "False/Unblocked").await.map(|_| ())
}

const SECRET: &str = "
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: NAMESPACE}
stringData: {shop.yaml: 'greeting: hello'}
";
