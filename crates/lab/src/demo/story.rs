//! The acts of the demo.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use super::disaster::NOTES;
use super::style::{DIM, GOOD, STRONG, styled};
use super::watching::Watcher;
use super::{SECOND, THIRD, plugin_folder};
use crate::cluster::{Cluster, wait_until};
use crate::progress::seconds;

pub(super) const NAME: &str = "podinfo";
pub(super) const NAMESPACE: &str = "demo";
/// How long pods of an earlier revision may go on answering.
const ANSWER_DEADLINE: Duration = Duration::from_secs(45);
/// How long what is deleted may take to go.
pub(super) const GOODBYE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(250);

/// The cluster, and how its story is told.
pub(super) struct Story<'a> {
    pub(super) cluster: &'a Cluster,
    /// The tag of the image that works.
    tag: String,
    named: String,
    pub(super) watcher: Watcher,
    /// Where commands are run.
    pub(super) folder: PathBuf,
    acts: usize,
}

impl<'a> Story<'a> {
    pub(super) fn new(cluster: &'a Cluster, named: &str, tag: String) -> Self {
        let watcher = Watcher::new(instances(cluster), NAME);
        let folder = cluster.paths.state.join("demo");
        Self { cluster, tag, named: named.to_owned(), watcher, folder, acts: 0 }
    }

    /// Removes what an earlier demo left. One that was interrupted may have left no namespace.
    pub(super) async fn clear_the_stage(&self) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        let is_settled = |namespace: Option<&DynamicObject>| {
            namespace.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_none())
        };
        let namespaces = self.cluster.dynamic("v1", "Namespace", None);
        let stays = wait_until(&namespaces, NAMESPACE, Instant::now() + GOODBYE, is_settled);
        ensure!(stays.await.is_ok(), "namespace {NAMESPACE} of an earlier demo does not go");
        self.cluster.apply_yaml(include_str!("../../addons/demo/namespace.yaml")).await?;
        self.remove_instance().await?;
        self.kubectl(&["delete", "configmap", NOTES, "-n", NAMESPACE, "--ignore-not-found"], None).await?;
        Ok(())
    }

    async fn remove_instance(&self) -> Result<()> {
        let api = instances(self.cluster);
        match api.delete(NAME, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            other => other.context("failed to remove what an earlier demo left")?,
        };
        eprintln!("lab: removing the application of an earlier demo");
        let gone = wait_until(&api, NAME, Instant::now() + GOODBYE, |known| known.is_none());
        ensure!(
            gone.await.is_ok(),
            "the application of an earlier demo does not go; look: cargo lab{} kubectl describe appinst {NAME} -n {NAMESPACE}",
            self.named
        );
        Ok(())
    }

    pub(super) async fn tell(&mut self, instance: &str) -> Result<()> {
        println!(
            "\nCommands are run as shown. To type them yourself: eval \"$(cargo lab{} env)\"",
            self.named
        );
        let started = Instant::now();
        self.install(instance).await?;
        self.upgrade().await?;
        self.break_it().await?;
        self.repair().await?;
        let saved = self.back_up().await?;
        self.lose_it().await?;
        self.restore(&saved).await?;
        println!("\nThat took {}.", seconds(started.elapsed()));
        Ok(())
    }

    async fn install(&mut self, instance: &str) -> Result<()> {
        self.act(
            "Install an application",
            "One object says what to install, from where, and how to tell that it works.",
        );
        println!("{}\n", styled(DIM, instance.trim_end()));
        self.applied(instance).await?;
        self.show("kubectl get appinst -n demo").await?;
        println!();
        self.answers("Hello").await
    }

    async fn upgrade(&mut self) -> Result<()> {
        self.act("Upgrade it", "A new version of the chart, and another greeting.");
        let change = json!({"spec": {"chart": {"version": SECOND}, "values": {"inline": {"ui": {"message": "Hello again"}}}}});
        self.patched(&change, READY).await?;
        self.show("kubectl get appinst -n demo").await?;
        println!();
        self.answers("Hello again").await
    }

    async fn break_it(&mut self) -> Result<()> {
        self.act(
            "Break it",
            "The next version, with an image that does not exist: Flux waits 30 s for its pods, then goes back.",
        );
        let inline = json!({"image": {"tag": "misspelt"}, "ui": {"message": "Hello, world"}});
        let change = json!({"spec": {"chart": {"version": THIRD}, "values": {"inline": inline}}});
        let failed =
            [("Ready", "False/HelmReleaseFailed"), ("Degraded", "True/UpgradeFailed"), ("Stalled", "True")];
        self.patched(&change, &failed).await?;
        self.show("kubectl vworkspace status appinst/podinfo -n demo").await?;
        self.show("kubectl vworkspace explain appinst Degraded UpgradeFailed").await?;
        println!("\nWhat its users have is the version before.");
        self.answers("Hello again").await
    }

    async fn repair(&mut self) -> Result<()> {
        self.act("Repair it", "The tag of an image that exists; the greeting goes out with it.");
        let change = json!({"spec": {"values": {"inline": {"image": {"tag": self.tag}}}}});
        self.patched(&change, &[("Ready", "True/HelmReleaseReady"), ("Degraded", "False/Recovered")]).await?;
        self.show("kubectl get appinst -n demo").await?;
        println!();
        self.answers("Hello, world").await
    }

    /// Applies the instance and waits until it is ready.
    async fn applied(&mut self, instance: &str) -> Result<()> {
        let started = Instant::now();
        typed("kubectl apply -f podinfo.yaml");
        self.kubectl(&["apply", "-f", "-"], Some(instance)).await?;
        self.follow(started, READY).await
    }

    /// Changes the instance and waits until it says what is expected.
    pub(super) async fn patched(&mut self, change: &Value, wanted: &[(&str, &str)]) -> Result<()> {
        let change = change.to_string();
        let started = Instant::now();
        typed(&format!("kubectl patch appinst {NAME} -n {NAMESPACE} --type merge --patch '{change}'"));
        let patch = ["patch", "appinst", NAME, "-n", NAMESPACE, "--type", "merge", "--patch", &change];
        self.kubectl(&patch, None).await?;
        self.follow(started, wanted).await
    }

    pub(super) async fn follow(&mut self, started: Instant, wanted: &[(&str, &str)]) -> Result<()> {
        let followed = self.watcher.until(started, wanted).await;
        self.explained(followed)
    }

    pub(super) fn explained(&self, result: Result<()>) -> Result<()> {
        result.with_context(|| {
            format!(
                "act {} of the demo did not end as it should; look: cargo lab{} kubectl describe appinst {NAME} -n {NAMESPACE}",
                self.acts, self.named
            )
        })
    }

    pub(super) fn act(&mut self, title: &str, about: &str) {
        self.acts += 1;
        println!("\n{}\n{about}\n", styled(STRONG, &format!("{}. {title}", self.acts)));
    }

    /// Shows a command without quotes in it as a user would type it, and its answer. The plugin's exit code tells the
    /// object's status, not its own.
    pub(super) async fn show(&self, command: &str) -> Result<()> {
        println!();
        self.shown(command).await
    }

    /// The same without an empty line before it.
    pub(super) async fn shown(&self, command: &str) -> Result<()> {
        typed(command);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let said = self.kubectl(&words, None).await?;
        println!("{}", said.trim_end());
        Ok(())
    }

    pub(super) async fn kubectl(&self, arguments: &[&str], input: Option<&str>) -> Result<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut kubectl = self.cluster.tool("kubectl");
        kubectl
            .current_dir(&self.folder)
            .args(arguments)
            .env("PATH", format!("{}:{path}", plugin_folder()?.display()));
        kubectl.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut kubectl = kubectl.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some((stdin, input)) = kubectl.stdin.as_mut().zip(input) {
            stdin.write_all(input.as_bytes()).await?;
        }
        let output = kubectl.wait_with_output().await?;
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let is_status = arguments.starts_with(&["vworkspace", "status"]) && output.status.code() != Some(3);
        ensure!(
            output.status.success() || is_status,
            "kubectl {} failed: {}",
            arguments.join(" "),
            complained.trim()
        );
        Ok(if said.is_empty() { complained.into_owned() } else { said.into_owned() })
    }

    /// Asks the application through the API server, so that it works on every cluster.
    pub(super) async fn answers(&self, greeting: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{NAME}:http/proxy/api/info");
        let deadline = Instant::now() + ANSWER_DEADLINE;
        loop {
            let request = http::Request::get(&path).body(Vec::new())?;
            let answer = match self.cluster.client.request_text(request).await {
                Ok(answer) => answer,
                Err(error) => error.to_string(),
            };
            let answered: Value = serde_json::from_str(&answer).unwrap_or_default();
            // A pod of the revision before answers until it has ended.
            if answered.get("message").and_then(Value::as_str) == Some(greeting) {
                let hostname = answered.get("hostname").and_then(Value::as_str).unwrap_or_default();
                println!("The application answers: {} (pod {hostname})", styled(GOOD, greeting));
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the application does not answer '{greeting}' but: {answer}");
            }
            sleep(POLL).await;
        }
    }
}

pub(super) const READY: &[(&str, &str)] = &[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False")];

fn instances(cluster: &Cluster) -> Api<DynamicObject> {
    cluster.dynamic("apps.vworkspace.io/v1alpha1", "ApplicationInstance", Some(NAMESPACE))
}

pub(super) fn typed(command: &str) {
    println!("{}", styled(STRONG, &format!("$ {command}")));
}
