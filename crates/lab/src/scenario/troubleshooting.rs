//! The commands that the published troubleshooting guide tells people to type, exactly as it prints them, each in the
//! situation that it is for. Left out: `kubectl top`, for which the lab has no metrics server, the grep for `Last Applied`,
//! which Flux does not say any more, and webhooks.

mod operator;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::application::instance::{HELM, Instance, named};
use super::chart::{Chart, NAME};
use super::{DEADLINE, Ground, Scenario};

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
    let shell = Shell::of(ground)?;
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

/// A shell with the lab's kubectl, in the scenario's namespace.
struct Shell<'a> {
    ground: &'a Ground,
    kubeconfig: PathBuf,
}

impl<'a> Shell<'a> {
    /// A person has chosen the namespace: some commands of the guide do not name it.
    fn of(ground: &'a Ground) -> Result<Self> {
        let kubeconfig = ground.cluster.paths.state.join(format!("{}.kubeconfig", ground.namespace));
        let text = fs::read_to_string(&ground.cluster.kubeconfig)?;
        let mut config: Value = serde_saphyr::from_str(&text)?;
        let contexts = config.pointer_mut("/contexts").and_then(Value::as_array_mut);
        for context in contexts.into_iter().flatten() {
            let context = context.get_mut("context").and_then(Value::as_object_mut);
            let context = context.context("a context of the kubeconfig is empty")?;
            context.insert("namespace".to_owned(), ground.namespace.clone().into());
        }
        // JSON is YAML.
        fs::write(&kubeconfig, config.to_string())?;
        Ok(Self { ground, kubeconfig })
    }

    /// Runs a command of the guide: it must end well and show what the guide promises.
    async fn shows(&self, command: &str, promised: &[&str]) -> Result<String> {
        let (is_well, said) = self.runs(command).await?;
        ensure!(is_well, "`{command}` failed: {said}");
        for words in promised {
            ensure!(said.contains(words), "`{command}` does not show '{words}': {said}");
        }
        Ok(said)
    }

    /// Whether it ended well, and what it said.
    async fn runs(&self, command: &str) -> Result<(bool, String)> {
        let filled = command
            .replace("<ns>", &self.ground.namespace)
            .replace("<name>", SHOP)
            .replace("<chart-name>", NAME);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &filled])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:{path}", self.ground.cluster.tools.display()))
            .kill_on_drop(true);
        let Ok(ended) = timeout(DEADLINE, shell.output()).await else {
            bail!("`{filled}` does not end");
        };
        let output = ended?;
        let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.kubeconfig) {
            eprintln!("lab: failed to remove {}: {error}", self.kubeconfig.display());
        }
    }
}

const SECRET: &str = "
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: NAMESPACE}
stringData: {shop.yaml: 'greeting: hello'}
";
