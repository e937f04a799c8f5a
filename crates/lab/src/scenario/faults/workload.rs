//! What is asked of an instance while something goes wrong.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Result;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::super::Ground;
use super::super::application::instance::{APPS, KIND, REGISTRY};
use super::super::chart::NAME;
use super::super::text_at;
use super::history::{RELEASE, Recorder, Version};

/// A piece of an instance's life.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Workload {
    Install,
    Upgrade,
    ChangeDuringUpgrade,
    Suspend,
    Delete,
    DeleteDuringInstall,
}

impl Workload {
    pub(super) const ALL: [Self; 6] = [
        Self::Install,
        Self::Upgrade,
        Self::ChangeDuringUpgrade,
        Self::Suspend,
        Self::Delete,
        Self::DeleteDuringInstall,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::ChangeDuringUpgrade => "change-during-upgrade",
            Self::Suspend => "suspend",
            Self::Delete => "delete",
            Self::DeleteDuringInstall => "delete-during-install",
        }
    }

    /// Whether there is one way only to the end. A change that comes while another is under way may find it done, not begun
    /// or half done: how many releases Helm made on the way is then no matter of right or wrong.
    pub(super) fn has_one_way(self) -> bool {
        self != Self::ChangeDuringUpgrade
    }

    pub(super) fn ends_deleted(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteDuringInstall)
    }

    /// Whether something is installed before anything goes wrong.
    fn begins_installed(self) -> bool {
        !matches!(self, Self::Install | Self::DeleteDuringInstall)
    }
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
#[derive(Clone, Debug)]
pub(in super::super) struct Charts {
    pub(in super::super) old: String,
    pub(in super::super) new: String,
}

/// An instance whose every version is recorded.
pub(in super::super) struct Subject<'a> {
    ground: &'a Ground,
    recorder: &'a Recorder,
    pub(in super::super) charts: &'a Charts,
    /// How long each step may take.
    patience: Duration,
    /// The generation of what was asked for last.
    wished: AtomicI64,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(in super::super) struct Wish<'a> {
    pub(in super::super) version: &'a str,
    pub(in super::super) greeting: &'a str,
    /// Seconds that the application takes to get ready; nothing is started if there are none.
    pub(in super::super) delay: u32,
    pub(in super::super) is_suspended: bool,
}

impl<'a> Subject<'a> {
    pub(in super::super) fn new(
        ground: &'a Ground,
        recorder: &'a Recorder,
        charts: &'a Charts,
        patience: Duration,
    ) -> Self {
        Self { ground, recorder, charts, patience, wished: AtomicI64::default() }
    }
}

impl Subject<'_> {
    /// Up to the moment at which things may go wrong.
    pub(super) async fn prepare(&self, workload: Workload) -> Result<()> {
        if workload.begins_installed() {
            self.wish(&self.first()).await?;
            self.is_done().await?;
        }
        Ok(())
    }

    /// The rest, to its end.
    pub(super) async fn perform(&self, workload: Workload) -> Result<()> {
        let (first, new) = (self.first(), self.charts.new.as_str());
        match workload {
            Workload::Install => self.wish(&first).await?,
            Workload::Upgrade => self.wish(&Wish { version: new, ..first }).await?,
            Workload::ChangeDuringUpgrade => {
                self.wish(&Wish { version: new, delay: 3, ..first }).await?;
                self.is_running("upgrade").await?;
                self.wish(&Wish { version: new, greeting: "second", delay: 1, ..first }).await?;
            }
            Workload::Suspend => {
                let changed = Wish { greeting: "second", ..first };
                self.wish(&Wish { is_suspended: true, ..changed }).await?;
                self.is("suspended, with the change waiting", |instance| {
                    instance.says("Suspended") == "True/ManuallySuspended"
                        && instance.says("Reconciling") == "True/ChangePending"
                })
                .await?;
                self.wish(&changed).await?;
            }
            Workload::Delete => return self.is_deleted().await,
            Workload::DeleteDuringInstall => {
                self.wish(&Wish { delay: 4, ..first }).await?;
                self.is_running("install").await?;
                return self.is_deleted().await;
            }
        }
        self.is_done().await
    }

    pub(in super::super) fn first(&self) -> Wish<'_> {
        Wish { version: &self.charts.old, greeting: "first", delay: 0, is_suspended: false }
    }

    pub(in super::super) async fn wish(&self, wish: &Wish<'_>) -> Result<()> {
        let instance: DynamicObject = serde_json::from_value(manifest(&self.ground.namespace, wish))?;
        let params = PatchParams { force: true, ..PatchParams::apply("lab") };
        let written = self.api().patch("shop", &params, &Patch::Apply(&instance)).await?;
        self.wished.store(written.metadata.generation.unwrap_or_default(), Ordering::Relaxed);
        Ok(())
    }

    /// Everything that was asked for is there.
    pub(in super::super) async fn is_done(&self) -> Result<()> {
        let wished = self.wished.load(Ordering::Relaxed);
        self.is("Ready=True and at rest", |instance| {
            instance.generation() == wished
                && instance.says("Ready") == "True/HelmReleaseReady"
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
        match self.api().delete("shop", &DeleteParams::background()).await {
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

fn manifest(namespace: &str, wish: &Wish<'_>) -> Value {
    let replicas = i32::from(wish.delay > 0);
    json!({
        "apiVersion": APPS,
        "kind": KIND,
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {
            "appRef": {"catalogId": NAME},
            "interval": "10s",
            "timeout": "40s",
            "suspend": wish.is_suspended,
            "chart": {"sourceType": "oci", "url": REGISTRY, "name": NAME, "version": wish.version,
                "insecure": true},
            "release": {"name": "web", "namespace": namespace},
            "values": {"source": "inline", "inline":
                {"greeting": wish.greeting, "replicas": replicas, "delay": wish.delay}},
        },
    })
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
}
