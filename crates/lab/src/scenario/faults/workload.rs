//! What is asked of an instance while something goes wrong.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::Ground;
use super::super::application::instance::{APPS, HELM, KIND, REGISTRY, SOURCE};
use super::super::application::{approval, source_reference};
use super::super::application_crd::merge;
use super::super::chart::NAME;
use super::super::text_at;
use super::history::{RELEASE, REPOSITORY, Recorder, Version};
use super::program::{Operator, REST};

/// A piece of an instance's life.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Workload {
    Install,
    Upgrade,
    ChangeDuringUpgrade,
    /// An installation and a change after it, which is made while somebody sleeps if that is the fault.
    InstallAndChange,
    UpgradeAndChange,
    Suspend,
    Window,
    Approval,
    /// It fails at once, and is given up.
    FailedInstall,
    /// It fails, is rolled back, and mended by the next version.
    FailedUpgrade,
    /// From a classic repository.
    HelmRepository,
    /// From a source that somebody else keeps.
    SourceRef,
    Delete,
    DeleteForeground,
    DeleteOrphanPropagation,
    DeleteDuringInstall,
    /// The application stays.
    Orphan,
    OrphanForeground,
    OrphanOrphanPropagation,
}

impl Workload {
    pub(super) const ALL: [Self; 19] = [
        Self::Install,
        Self::Upgrade,
        Self::ChangeDuringUpgrade,
        Self::InstallAndChange,
        Self::UpgradeAndChange,
        Self::Suspend,
        Self::Window,
        Self::Approval,
        Self::FailedInstall,
        Self::FailedUpgrade,
        Self::HelmRepository,
        Self::SourceRef,
        Self::Delete,
        Self::DeleteForeground,
        Self::DeleteOrphanPropagation,
        Self::DeleteDuringInstall,
        Self::Orphan,
        Self::OrphanForeground,
        Self::OrphanOrphanPropagation,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::ChangeDuringUpgrade => "change-during-upgrade",
            Self::InstallAndChange => "install-and-change",
            Self::UpgradeAndChange => "upgrade-and-change",
            Self::Suspend => "suspend",
            Self::Window => "window",
            Self::Approval => "approval",
            Self::FailedInstall => "failed-install",
            Self::FailedUpgrade => "failed-upgrade",
            Self::HelmRepository => "helm-repository",
            Self::SourceRef => "source-ref",
            Self::Delete => "delete",
            Self::DeleteForeground => "delete-foreground",
            Self::DeleteOrphanPropagation => "delete-orphan-propagation",
            Self::DeleteDuringInstall => "delete-during-install",
            Self::Orphan => "orphan",
            Self::OrphanForeground => "orphan-foreground",
            Self::OrphanOrphanPropagation => "orphan-orphan-propagation",
        }
    }

    /// Whether there is one way only to the end. A change that comes while another is under way may find it done, not begun
    /// or half done, and one of chart and values may be seen in two steps: how many releases Helm made on the way is then no
    /// matter of right or wrong.
    pub(super) fn has_one_way(self) -> bool {
        !matches!(
            self,
            Self::ChangeDuringUpgrade | Self::InstallAndChange | Self::UpgradeAndChange | Self::FailedUpgrade
        )
    }

    /// What it begins with, if it is there for a process that falls asleep during that. Everything else that can go wrong
    /// is tried in other workloads.
    pub(super) fn with_sleeper(self) -> Option<Self> {
        match self {
            Self::InstallAndChange => Some(Self::Install),
            Self::UpgradeAndChange => Some(Self::Upgrade),
            _ => None,
        }
    }

    /// Whether it is so close to another one that one fault of each class is enough, besides every crash point.
    pub(super) fn is_variant(self) -> bool {
        !matches!(
            self,
            Self::Install
                | Self::Upgrade
                | Self::ChangeDuringUpgrade
                | Self::Suspend
                | Self::Delete
                | Self::DeleteDuringInstall
        )
    }

    /// What is to be left when it has ended.
    pub(super) fn leaves(self) -> Left {
        match self {
            Self::Delete
            | Self::DeleteForeground
            | Self::DeleteOrphanPropagation
            | Self::DeleteDuringInstall => Left::Nothing,
            Self::Orphan | Self::OrphanForeground | Self::OrphanOrphanPropagation => Left::Application,
            _ => Left::Instance,
        }
    }

    /// What the API server is to do with dependents of an instance that is deleted: none of it may make a difference.
    fn deletion(self) -> DeleteParams {
        match self {
            Self::DeleteForeground | Self::OrphanForeground => DeleteParams::foreground(),
            Self::DeleteOrphanPropagation | Self::OrphanOrphanPropagation => DeleteParams::orphan(),
            _ => DeleteParams::background(),
        }
    }

    /// Whether something is installed before anything goes wrong.
    fn begins_installed(self) -> bool {
        !matches!(
            self,
            Self::Install
                | Self::InstallAndChange
                | Self::DeleteDuringInstall
                | Self::FailedInstall
                | Self::HelmRepository
        )
    }
}

/// What is there when a workload has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    Instance,
    /// The application without its instance.
    Application,
    Nothing,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = || Self::ALL.map(Self::word).join(", ");
        let found = Self::ALL.into_iter().find(|workload| workload.word() == text);
        found.ok_or_else(|| format!("'{text}' is no workload; expected one of {}", words()))
    }
}

/// The versions of the chart that are installed and upgraded to.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Charts {
    pub(in super::super) old: String,
    pub(in super::super) new: String,
    /// A classic repository that has both too; empty if there is none.
    pub(in super::super) site: String,
}

/// An instance whose every version is recorded.
pub(in super::super) struct Subject<'a> {
    ground: &'a Ground,
    recorder: &'a Recorder,
    pub(in super::super) charts: &'a Charts,
    /// How long each step may take.
    patience: Duration,
    /// The generation of what was asked for last.
    asked: AtomicI64,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(in super::super) struct Asked<'a> {
    pub(in super::super) version: &'a str,
    pub(in super::super) greeting: &'a str,
    /// Seconds that the application takes to get ready; nothing is started if there are none.
    pub(in super::super) delay: u32,
    pub(in super::super) is_suspended: bool,
    /// More of the spec, as YAML.
    pub(in super::super) more: &'a str,
}

/// The API server refuses the Deployment, so that Helm's action fails at once; nobody tries again.
const BROKEN: &str =
    "{install: {retries: 0}, upgrade: {retries: 0}, values: {inline: {greeting: broken, replicas: -1}}}";
/// The same rules for an application that is well.
const MENDED: &str = "{install: {retries: 0}, upgrade: {retries: 0}}";
/// It opens every minute and stays open for an hour: it is always open.
const WINDOW: &str = "maintenanceWindows: [{name: stocktaking, schedule: '* * * * *', duration: 1h}]";
const APPROVALS: &str = "approvals: {required: true}";
const ORPHAN: &str = "deletionPolicy: Orphan";
/// What an application has, by kind and name.
const APPLICATION: [(&str, &str, &str); 3] = [
    ("apps/v1", "Deployment", "web"),
    ("v1", "ConfigMap", "web-settings"),
    ("v1", "Secret", "sh.helm.release.v1.web.v1"),
];

impl<'a> Subject<'a> {
    pub(in super::super) fn new(
        ground: &'a Ground,
        recorder: &'a Recorder,
        charts: &'a Charts,
        patience: Duration,
    ) -> Self {
        Self { ground, recorder, charts, patience, asked: AtomicI64::default() }
    }
}

impl Subject<'_> {
    /// Up to the moment at which things may go wrong.
    pub(super) async fn prepare(&self, workload: Workload) -> Result<()> {
        if workload == Workload::SourceRef {
            self.theirs(&self.charts.old).await?;
        }
        if workload.begins_installed() {
            self.ask(&Asked { more: &self.rules(workload), ..self.first() }).await?;
            self.is_done().await?;
        }
        Ok(())
    }

    /// The rest, to its end.
    pub(super) async fn perform(&self, workload: Workload, operator: &Operator) -> Result<()> {
        let rules = self.rules(workload);
        let first = Asked { more: &rules, ..self.first() };
        let new = Asked { version: &self.charts.new, ..first };
        match workload {
            Workload::Install => self.ask(&first).await?,
            Workload::Upgrade => self.ask(&new).await?,
            Workload::ChangeDuringUpgrade => {
                self.ask(&Asked { delay: 3, ..new }).await?;
                self.is_running("upgrade").await?;
                self.ask(&Asked { greeting: "second", delay: 1, ..new }).await?;
            }
            Workload::InstallAndChange => return self.changed_in_sleep(&first, operator).await,
            Workload::UpgradeAndChange => return self.changed_in_sleep(&new, operator).await,
            Workload::Suspend => self.paused(&first, "True/ManuallySuspended").await?,
            Workload::Window => self.paused(&first, "True/MaintenanceWindow").await?,
            Workload::Approval => self.approved(&Asked { greeting: "second", ..first }).await?,
            Workload::FailedInstall => {
                self.ask(&Asked { more: BROKEN, ..first }).await?;
                return self.is_given_up().await;
            }
            Workload::FailedUpgrade => {
                self.ask(&Asked { more: BROKEN, ..first }).await?;
                self.is_given_up().await?;
                self.is("degraded", |instance| instance.says("Degraded") == "True/UpgradeFailed").await?;
                self.ask(&new).await?;
            }
            Workload::HelmRepository => {
                self.ask(&first).await?;
                self.is_done().await?;
                self.ask(&new).await?;
            }
            Workload::SourceRef => {
                self.ask(&new).await?;
                let waits = |instance: &Version| instance.says("Blocked") == "True/MissingChartSource";
                self.is("blocked until the source has the version", waits).await?;
                self.theirs(&self.charts.new).await?;
            }
            Workload::Delete | Workload::DeleteForeground | Workload::DeleteOrphanPropagation => {
                return self.is_deleted_by(&workload.deletion()).await;
            }
            Workload::DeleteDuringInstall => {
                self.ask(&Asked { delay: 4, ..first }).await?;
                self.is_running("install").await?;
                return self.is_deleted().await;
            }
            Workload::Orphan | Workload::OrphanForeground | Workload::OrphanOrphanPropagation => {
                self.is_deleted_by(&workload.deletion()).await?;
                return self.is_orphaned().await;
            }
        }
        self.is_done().await
    }

    /// What of the spec stays the same in a workload, as YAML.
    fn rules(&self, workload: Workload) -> String {
        match workload {
            Workload::FailedUpgrade => MENDED.to_owned(),
            Workload::HelmRepository => {
                format!("chart: {{sourceType: helm, url: '{}', insecure: null}}", self.charts.site)
            }
            Workload::SourceRef => "chart: {sourceType: null, url: null, insecure: null, \
                sourceRef: {kind: OCIRepository, name: theirs}}"
                .to_owned(),
            Workload::Orphan | Workload::OrphanForeground | Workload::OrphanOrphanPropagation => {
                ORPHAN.to_owned()
            }
            _ => String::new(),
        }
    }

    /// A change that waits for the end of a pause, by the reason that is told meanwhile.
    async fn paused(&self, first: &Asked<'_>, reason: &str) -> Result<()> {
        let changed = Asked { greeting: "second", ..*first };
        let is_window = reason == "True/MaintenanceWindow";
        let more = if is_window { WINDOW } else { changed.more };
        self.ask(&Asked { is_suspended: !is_window, more, ..changed }).await?;
        self.is("paused, with the change waiting", |instance| {
            instance.says("Suspended") == reason && instance.says("Reconciling") == "True/ChangePending"
        })
        .await?;
        self.ask(&changed).await
    }

    /// A change that waits until somebody approves it.
    async fn approved(&self, changed: &Asked<'_>) -> Result<()> {
        self.ask(&Asked { more: APPROVALS, ..*changed }).await?;
        // What there is to approve is known when the chart's digest has been looked up.
        let asks = |instance: &Version| {
            let blocked = instance.condition("Blocked");
            blocked.is_some_and(|known| text_at(known, "/message").contains("To approve:"))
        };
        let waits = |instance: &Version| {
            instance.says("Blocked") == "True/AwaitingApproval"
                && instance.says("Reconciling") == "True/ChangePending"
                && asks(instance)
        };
        self.is("waiting for an approval", waits).await?;
        let claim = approval::claim_for(self.ground, &self.api().get("shop").await?)?;
        let more = format!("approvals: {{required: true, claim: '{claim}'}}");
        self.ask(&Asked { more: &more, ..*changed }).await
    }

    /// A change that comes after another one is done, or while the process that was about it sleeps. Then another one
    /// carries it out before the sleeper wakes up with its plans of before.
    async fn changed_in_sleep(&self, first: &Asked<'_>, operator: &Operator) -> Result<()> {
        self.ask(first).await?;
        let done = async {
            self.is_done().await?;
            // Its last writes come after the instance was told to be done.
            operator.is_quiet(REST, self.patience).await
        };
        tokio::select! {
            () = operator.sleeps() => {}
            done = done => done?,
        }
        self.ask(&Asked { greeting: "second", ..*first }).await?;
        self.is_done().await?;
        operator.wake()
    }

    /// The source that somebody else keeps.
    async fn theirs(&self, version: &str) -> Result<()> {
        self.ground.apply(&source_reference::theirs(version)).await
    }

    /// Takes away what is not the operator's to take.
    pub(super) async fn tidy(&self, workload: Workload) -> Result<()> {
        let mut left = Vec::new();
        if workload == Workload::SourceRef {
            left.push((SOURCE, REPOSITORY, "theirs"));
        }
        if workload.leaves() == Left::Application {
            left.extend(APPLICATION);
        }
        for (api_version, kind, name) in left {
            self.ground.delete(api_version, kind, name).await?;
        }
        Ok(())
    }

    /// The application is as it was, and nothing that Flux was given is there any more.
    async fn is_orphaned(&self) -> Result<()> {
        for (api_version, kind, name) in APPLICATION {
            let object = self.ground.objects(api_version, kind).get_opt(name).await?;
            let object = object.with_context(|| format!("{kind} {name} of an orphan is gone"))?;
            ensure!(
                object.metadata.deletion_timestamp.is_none(),
                "{kind} {name} of an orphan is being deleted"
            );
        }
        for (api_version, kind) in [(HELM, RELEASE), (SOURCE, REPOSITORY)] {
            let left = self.ground.objects(api_version, kind).get_opt("web").await?;
            ensure!(left.is_none(), "{kind} web outlived its instance");
        }
        Ok(())
    }

    pub(in super::super) fn first(&self) -> Asked<'_> {
        Asked { version: &self.charts.old, greeting: "first", delay: 0, is_suspended: false, more: "" }
    }

    pub(in super::super) async fn ask(&self, asked: &Asked<'_>) -> Result<()> {
        let instance: DynamicObject = serde_json::from_value(manifest(&self.ground.namespace, asked)?)?;
        let params = PatchParams { force: true, ..PatchParams::apply("lab") };
        let written = self.api().patch("shop", &params, &Patch::Apply(&instance)).await?;
        self.asked.store(written.metadata.generation.unwrap_or_default(), Ordering::Relaxed);
        Ok(())
    }

    /// Everything that was asked for is there.
    pub(in super::super) async fn is_done(&self) -> Result<()> {
        let asked = self.asked.load(Ordering::Relaxed);
        self.is("Ready=True and at rest", |instance| {
            instance.generation() == asked
                && instance.says("Ready") == "True/HelmReleaseReady"
                && instance.says("Reconciling") == "False/Stable"
                // What runs is ready also while a change cannot go out.
                && !instance.is_true("Stalled")
        })
        .await
    }

    /// Flux has failed at what was asked for, and tries no more.
    async fn is_given_up(&self) -> Result<()> {
        let asked = self.asked.load(Ordering::Relaxed);
        self.is("given up", |instance| {
            instance.generation() == asked
                && instance.says("Ready") == "False/HelmReleaseFailed"
                && instance.says("Stalled") == "True/HelmReleaseFailed"
                && instance.says("Reconciling") == "False/Stable"
        })
        .await
    }

    /// Waits until the instance says something of its present generation.
    pub(in super::super) async fn is(&self, what: &str, wanted: impl Fn(&Version) -> bool) -> Result<()> {
        self.recorder
            .until(what, self.patience, |recorder| {
                recorder.newest(KIND).is_some_and(|instance| {
                    instance.number_at("/status/observedGeneration") == instance.generation()
                        && wanted(&instance)
                })
            })
            .await
    }

    /// Waits until Flux is in the middle of something.
    pub(in super::super) async fn is_running(&self, action: &str) -> Result<()> {
        let begins = format!("Running '{action}'");
        let is_running = |release: &Version| {
            release
                .condition("Reconciling")
                .is_some_and(|known| text_at(known, "/message").starts_with(&begins))
        };
        self.recorder
            .until(&format!("Flux is {begins}"), self.patience, |recorder| {
                recorder.newest(RELEASE).is_some_and(|release| is_running(&release))
            })
            .await
    }

    /// Deletes the instance, if there is one, and waits until it is gone.
    pub(in super::super) async fn is_deleted(&self) -> Result<()> {
        self.is_deleted_by(&DeleteParams::background()).await
    }

    async fn is_deleted_by(&self, params: &DeleteParams) -> Result<()> {
        match self.api().delete("shop", params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            other => other.map(|_| ())?,
        }
        let gone = |recorder: &Recorder| recorder.newest(KIND).is_none();
        self.recorder.until("the instance is gone", self.patience, gone).await
    }

    fn api(&self) -> Api<DynamicObject> {
        self.ground.objects(APPS, KIND)
    }
}

fn manifest(namespace: &str, asked: &Asked<'_>) -> Result<Value> {
    let replicas = i32::from(asked.delay > 0);
    let mut manifest = json!({
        "apiVersion": APPS,
        "kind": KIND,
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {
            "appRef": {"catalogId": NAME},
            "interval": "10s",
            "timeout": "40s",
            "suspend": asked.is_suspended,
            "chart": {"sourceType": "oci", "url": REGISTRY, "name": NAME, "version": asked.version,
                "insecure": true},
            "release": {"name": "web", "namespace": namespace},
            "values": {"source": "inline", "inline":
                {"greeting": asked.greeting, "replicas": replicas, "delay": asked.delay}},
        },
    });
    if !asked.more.is_empty() {
        let more: Value = serde_saphyr::from_str(asked.more)?;
        merge(&mut manifest, &json!({ "spec": more }));
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_read_from_what_is_printed() {
        for workload in Workload::ALL {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        assert!("sleep".parse::<Workload>().is_err());
    }

    #[test]
    fn what_a_workload_asks_for_more_is_part_of_the_spec_or_takes_something_out_of_it() {
        let asked = |more| Asked { version: "1", greeting: "first", delay: 0, is_suspended: false, more };
        let spec = |more| manifest("shop", &asked(more)).expect("a manifest")["spec"].clone();
        assert_eq!(spec("")["values"]["inline"]["replicas"], 0);
        assert_eq!(spec(BROKEN)["values"]["inline"]["replicas"], -1);
        assert_eq!(spec(BROKEN)["upgrade"]["retries"], 0);
        assert_eq!(spec("chart: {insecure: null}")["chart"].get("insecure"), None);
        assert!(spec(WINDOW)["maintenanceWindows"].is_array() && spec(APPROVALS)["approvals"].is_object());
        assert_eq!(spec(ORPHAN)["deletionPolicy"], "Orphan");
        assert!(manifest("shop", &asked("{")).is_err());
    }
}
